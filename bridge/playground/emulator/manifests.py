"""Validates an app's manifest like Slack, and derives the installed app from it.

Fields and limits are those of Slack's schema, plus the rules that no schema expresses.
https://docs.slack.dev/reference/app-manifest · https://docs.slack.dev/reference/methods/apps.manifest.validate

An optional scope must be listed in ``bot`` too (https://docs.slack.dev/authentication/installing-with-oauth), and an
event needs its scope. Errors are in Slack's words where its documentation shows them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from bridge.playground.emulator.entities import Json
from bridge.playground.emulator.rules import Rule, anything, boolean, items, located, one_of, problem, shape, string

_ANY_READ: Final = ("channels:read", "groups:read", "im:read", "mpim:read")
_AGENT: Final = ("assistant:write",)

EVENTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "agent_session_stopped": ("chat:write",),
        "agent_session_title_changed": ("chat:write",),
        "app_context_changed": _AGENT,
        "app_home_opened": (),
        "app_mention": ("app_mentions:read",),
        "app_uninstalled": (),
        "assistant_thread_context_changed": _AGENT,
        "assistant_thread_started": _AGENT,
        "channel_archive": ("channels:read",),
        "channel_created": ("channels:read",),
        "channel_deleted": ("channels:read",),
        "channel_id_changed": _ANY_READ,
        "channel_rename": ("channels:read",),
        "channel_shared": _ANY_READ,
        "channel_unarchive": ("channels:read",),
        "channel_unshared": _ANY_READ,
        "emoji_changed": ("emoji:read",),
        "file_change": ("files:read",),
        "file_created": ("files:read",),
        "file_deleted": ("files:read",),
        "file_shared": ("files:read",),
        "function_executed": (),
        "group_archive": ("groups:read",),
        "group_left": ("groups:read",),
        "group_rename": ("groups:read",),
        "group_unarchive": ("groups:read",),
        "link_shared": ("links:read",),
        "member_joined_channel": ("channels:read", "groups:read"),
        "member_left_channel": ("channels:read", "groups:read"),
        "message.channels": ("channels:history",),
        "message.groups": ("groups:history",),
        "message.im": ("im:history",),
        "message.mpim": ("mpim:history",),
        "pin_added": ("pins:read",),
        "pin_removed": ("pins:read",),
        "reaction_added": ("reactions:read",),
        "reaction_removed": ("reactions:read",),
        "subteam_created": ("usergroups:read",),
        "subteam_members_changed": ("usergroups:read",),
        "subteam_updated": ("usergroups:read",),
        "team_join": ("users:read",),
        "tokens_revoked": (),
        "user_change": ("users:read",),
    }
)
"""What a bot may subscribe to; any one of the scopes will do. https://docs.slack.dev/reference/events, page by page."""


class InvalidManifest(ValueError):
    """The manifest is invalid: *errors* say why."""

    def __init__(self, errors: list[Json]) -> None:
        super().__init__("; ".join(f"{one['message']} ({one['pointer']})" for one in errors))
        self.errors = errors


@dataclass
class Installation:
    """The installed app: its *scopes*, events and commands.

    *commands* maps each to whether it gets channels, people and links as IDs. Without a manifest it is None: any
    command exists, without IDs.
    """

    scopes: set[str]
    unsubscribed: set[str] = field(default_factory=lambda: {"reaction_removed"})
    commands: dict[str, bool] | None = None

    def install(self, manifest: Json, declined: Collection[str] = ()) -> None:
        """Install *manifest*, without the *declined* optional scopes. Raises InvalidManifest."""
        if errors := list(problems(manifest)):
            raise InvalidManifest(errors)
        scopes = _dig(manifest, "oauth_config", "scopes")
        events = _dig(manifest, "settings", "event_subscriptions").get("bot_events", [])
        refused = set(declined) & set(scopes.get("bot_optional", []))
        self.scopes.clear()
        self.scopes.update(set(scopes.get("bot", [])) - refused)
        self.unsubscribed.clear()
        self.unsubscribed.update(EVENTS.keys() - set(events))
        commands = _dig(manifest, "features").get("slash_commands", [])
        self.commands = {one["command"]: bool(one.get("should_escape")) for one in commands}

    def is_subscribed(self, event: str) -> bool:
        """Whether the app is subscribed to the event and has its scope."""
        needed = EVENTS.get(event, ())
        return event not in self.unsubscribed and (not needed or not self.scopes.isdisjoint(needed))


def problems(manifest: Any) -> Iterator[Json]:
    """The errors in a manifest, as in the response's ``errors``."""
    found = [_as_error(line) for line in _MANIFEST(manifest, "")]
    yield from found
    if not found:  # the rest reads the manifest
        for rule in (_scopes, _events, _commands, _addresses):
            yield from rule(manifest)


def _scopes(manifest: Json) -> Iterator[Json]:
    scopes = _dig(manifest, "oauth_config", "scopes")
    for kind in ("bot", "user"):
        for index, scope in enumerate(scopes.get(f"{kind}_optional", [])):
            if scope not in scopes.get(kind, []):
                pointer = f"/oauth_config/scopes/{kind}_optional/{index}"
                yield _error(f"Optional scope `{scope}` must also be listed in `{kind}`", pointer)
    if scopes.get("bot") and not _dig(manifest, "features").get("bot_user"):
        yield _error("Bot scopes require a bot user", "/features/bot_user")


def _events(manifest: Json) -> Iterator[Json]:
    granted = set(_dig(manifest, "oauth_config", "scopes").get("bot", []))
    pointer = "/settings/event_subscriptions/bot_events"
    for event in _dig(manifest, "settings", "event_subscriptions").get("bot_events", []):
        if event not in EVENTS:
            yield _error(f"invalid event type: {event}", pointer)
        elif EVENTS[event] and granted.isdisjoint(EVENTS[event]):
            yield _error(f"`{event}` requires the bot scope `{'` or `'.join(EVENTS[event])}`", pointer)


def _commands(manifest: Json) -> Iterator[Json]:
    features = _dig(manifest, "features")
    if "commands" in _dig(manifest, "oauth_config", "scopes").get("bot", []):
        return
    for kind, called in (("slash_commands", "Slash Commands"), ("shortcuts", "Shortcuts")):
        if features.get(kind):
            code = "requires_commands_bot_scope"
            yield _error(f"{called} requires `commands` bot scope", f"/features/{kind}", code)


def _addresses(manifest: Json) -> Iterator[Json]:
    """Without Socket Mode, Slack needs the request URLs."""
    settings = _dig(manifest, "settings")
    if settings.get("socket_mode_enabled"):
        return
    events, interactivity = _dig(settings, "event_subscriptions"), _dig(settings, "interactivity")
    if (events.get("bot_events") or events.get("user_events")) and not events.get("request_url"):
        message = "Event Subscription requires either Request URL or Socket Mode Enabled"
        yield _error(message, "/settings/event_subscriptions")
    if interactivity.get("is_enabled") and not interactivity.get("request_url"):
        yield _error("Interactivity requires a Request URL", "/settings/interactivity")
        yield _error("Interactivity requires Socket Mode enabled", "/settings/interactivity")
    for index, command in enumerate(_dig(manifest, "features").get("slash_commands", [])):
        if not command.get("url"):
            yield _error("Slash Command requires a URL or Socket Mode Enabled", f"/features/slash_commands/{index}")


def _error(message: str, pointer: str, code: str = "") -> Json:
    return {**({"code": code} if code else {}), "message": message, "pointer": pointer}


def _as_error(line: str) -> Json:
    message, pointer = located(line)
    return _error(message, pointer, "failed_constraint")


def _dig(value: Json, *names: str) -> Json:
    for name in names:
        value = value.get(name) or {}
    return value


def _address(value: Any, pointer: str) -> Iterator[str]:
    if not isinstance(value, str) or not re.match(r"https?://", value):
        yield problem("must match pattern: ^https?:\\/\\/", pointer)


def _command_name(value: Any, pointer: str) -> Iterator[str]:
    yield from string(32, least=2)(value, pointer)
    if isinstance(value, str) and not value.startswith("/"):
        yield problem("must match pattern: ^\\/", pointer)


def _scope_list() -> Rule:
    return items(string(50), most=255, least=0)


_PROMPT: Final = shape({"title": anything, "message": anything})
_AGENT_VIEW: Final = shape(
    {},
    {
        "agent_description": string(300),
        "suggested_prompts": items(_PROMPT, most=4, least=0),
        "actions": items(shape({"name": anything, "description": anything}), most=255, least=0),
    },
)
_FEATURES: Final = shape(
    {},
    {
        "app_home": shape(
            {},
            {
                "home_tab_enabled": boolean,
                "messages_tab_enabled": boolean,
                "messages_tab_read_only_enabled": boolean,
            },
        ),
        "bot_user": shape({"display_name": string(80, least=1)}, {"always_online": boolean}),
        "agent_view": _AGENT_VIEW,
        "assistant_view": anything,
        "functions": anything,
        "workflow_steps": anything,
        "unfurl_domains": items(string(255), most=5),
        "shortcuts": items(
            shape(
                {
                    "name": string(24, least=1),
                    "type": one_of("message", "global"),
                    "callback_id": string(255, least=1),
                    "description": string(150, least=1),
                }
            ),
            most=10,
        ),
        "slash_commands": items(
            shape(
                {"command": _command_name, "description": string(2000, least=1)},
                {"url": _address, "usage_hint": string(1000, least=1), "should_escape": boolean},
            ),
            most=50,
        ),
    },
)
_EVENT_LIST: Final = items(string(50), most=100, least=0)
_SETTINGS: Final = shape(
    {},
    {
        "allowed_ip_address_ranges": anything,
        "event_subscriptions": shape(
            {},
            {
                "request_url": _address,
                "bot_events": _EVENT_LIST,
                "user_events": _EVENT_LIST,
                "metadata_subscriptions": anything,
            },
        ),
        "interactivity": shape(
            {"is_enabled": boolean}, {"request_url": _address, "message_menu_options_url": _address}
        ),
        "incoming_webhooks": anything,
        "org_deploy_enabled": boolean,
        "socket_mode_enabled": boolean,
        "is_hosted": boolean,
        "token_rotation_enabled": boolean,
        "siws_links": anything,
        "hermes_app_type": anything,
        "function_runtime": anything,
        "is_mcp_enabled": boolean,
    },
)
_SCOPES: Final = shape({}, dict.fromkeys(("bot", "bot_optional", "user", "user_optional"), _scope_list()))
_MANIFEST: Final = shape(
    {
        "display_information": shape(
            {"name": string(35, least=1)},
            {
                "description": string(140, least=1),
                "long_description": string(4000, least=175),
                "background_color": string(7, least=4),
            },
        )
    },
    {
        **dict.fromkeys(
            (
                *("$schema", "_metadata", "app_directory", "functions", "workflows", "datastores", "outgoing_domains"),
                *("types", "external_auth_providers", "mcp_servers"),
            ),
            anything,
        ),
        "features": _FEATURES,
        "oauth_config": shape(
            {},
            {
                "scopes": _SCOPES,
                "redirect_urls": anything,
                "token_management_enabled": boolean,
                "pkce_enabled": boolean,
            },
        ),
        "settings": _SETTINGS,
    },
)
