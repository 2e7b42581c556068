"""`bridge manifest`: the Slack app's manifest, made from the command registry. It needs no settings.

https://docs.slack.dev/reference/app-manifest
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

import typer

from bridge.cli.printing import out, to_json
from bridge.cli.running import values_or_exit
from bridge.door.listeners.subscriptions import EVENTS
from bridge.features.registry import features
from bridge.slack import EVENTS_PATH
from bridge.slack.scopes import SCOPES

_APP_PROMPTS: Final = {
    "What can you do?": "What can you do?",
    "!agents": "Which agents are there?",
    "!workflows": "List the workflows",
    "!stats": "Show the statistics",
}

_PLACEHOLDER: Final = "https://YOUR-HOST"


def manifest(
    *,
    url: Annotated[
        str, typer.Option("--url", metavar="URL", help="The bridge's public address; without it, a placeholder.")
    ] = "",
    socket: Annotated[bool, typer.Option("--socket", help="Use Socket Mode, which needs no public address.")] = False,
) -> None:
    """Print the Slack app manifest.

    It needs no settings; BRIDGE_COMMAND_PREFIX is used if it's set.
    """
    target = where_slack_sends(url, socket=socket)
    prefix = values_or_exit("BRIDGE_COMMAND_PREFIX ")["BRIDGE_COMMAND_PREFIX"]
    out(to_json(app_manifest(target, prefix), indent=2))


def app_manifest(url: str | None, prefix: str = "") -> dict[str, Any]:
    """Make the manifest; *url* is from `where_slack_sends`, *prefix* starts each command's name."""
    return {
        "display_information": {
            "name": "Bridge",
            "description": "Run workflows, read statistics and talk to your project's agents.",
            "long_description": (
                "Mention the bot in a channel, or send it a direct message, and one of the project's agents answers in "
                "a thread; reply there to continue. Slash commands list and run the project's workflows and show its "
                "statistics. In threads, where Slack has no slash commands, type ! instead of /, such as !stats."
            ),
        },
        "features": {
            "app_home": {
                "home_tab_enabled": True,
                "messages_tab_enabled": True,
                "messages_tab_read_only_enabled": False,
            },
            "bot_user": {"display_name": "bridge", "always_online": True},
            "agent_view": {
                "agent_description": (
                    "Talk with the project's agents. Start with an agent's name and a colon to pick one."
                ),
                "suggested_prompts": [{"title": title, "message": message} for message, title in _APP_PROMPTS.items()],
            },
            "slash_commands": [
                {
                    "command": command.name,
                    "description": command.description,
                    "usage_hint": command.usage_hint,
                    "should_escape": command.with_ids,
                    **_at("url", url),
                }
                for command in features.commands.slash_commands(prefix)
            ],
            "shortcuts": [asdict(shortcut) for shortcut in features.shortcuts()],
        },
        "oauth_config": {
            "scopes": {  # the optional ones in both lists: https://docs.slack.dev/authentication/installing-with-oauth
                "bot": [scope.name for scope in SCOPES],
                "bot_optional": [scope.name for scope in SCOPES if scope.is_optional],
            }
        },
        "settings": {
            "event_subscriptions": {**_at("request_url", url), "bot_events": list(EVENTS)},
            "interactivity": {
                "is_enabled": True,
                **_at("request_url", url),
                **_at("message_menu_options_url", url),  # the searchable menus of agents and workflows
            },
            "org_deploy_enabled": False,
            "socket_mode_enabled": url is None,
            "token_rotation_enabled": False,  # it can't be turned off again, and .env can't be updated
        },
    }


def where_slack_sends(url: str, *, socket: bool) -> str | None:
    """Return the URL that Slack sends requests to, or None with *socket*. *url* may lack the path.

    Raises `typer.BadParameter`.
    """
    if socket and url:
        raise typer.BadParameter("can't be used with --socket, which needs no address", param_hint="--url")
    if socket:
        return None
    address = (url or _PLACEHOLDER).strip().rstrip("/")
    try:
        parts = urlsplit(address)
        is_usable = bool(parts.scheme == "https" and parts.hostname)
        _ = parts.port  # raises ValueError
    except ValueError:
        is_usable = False
    if not is_usable or parts.query or parts.fragment or "@" in parts.netloc:
        raise typer.BadParameter(
            f"“{url}” isn't a public https:// address: use one such as https://bridge.example.com", param_hint="--url"
        )
    return address if parts.path.endswith(EVENTS_PATH) else address + EVENTS_PATH


def _at(name: str, url: str | None) -> dict[str, str]:
    return {} if url is None else {name: url}
