"""How the installed Slack app differs from `bridge manifest`. Pure.

https://docs.slack.dev/reference/methods/apps.manifest.export
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from bridge.cli.manifest import app_manifest
from bridge.cli.rows import FAILURE, OK, WARNING, Row, State
from bridge.door.listeners.subscriptions import EVENTS
from bridge.slack import EVENTS_PATH
from bridge.slack.scopes import SCOPES

OF_APP: Final = "installed app"
_OPTIONAL: Final = frozenset(scope.name for scope in SCOPES if scope.is_optional)
_SWITCHES: Final = (
    "features.app_home.home_tab_enabled", "features.app_home.messages_tab_enabled",
    "features.app_home.messages_tab_read_only_enabled", "settings.interactivity.is_enabled",
    "settings.org_deploy_enabled", "settings.socket_mode_enabled", "settings.token_rotation_enabled",
)  # fmt: skip
_EVENTS_ADDRESS: Final = "settings.event_subscriptions.request_url"
_ADDRESSES: Final = (
    _EVENTS_ADDRESS, "settings.interactivity.request_url", "settings.interactivity.message_menu_options_url",
)  # fmt: skip


def drift_rows(area: str, installed: Mapping[str, Any], prefix: str, cure: str, *, uses_socket: bool) -> list[Row]:
    """Compare the *installed* manifest with ours, for slash commands with *prefix*; *cure* is the fix.

    Only Slack knows the bridge's public address, so over HTTP all addresses must equal that of the events.
    """
    events = {event for event, scopes in EVENTS.items() if not scopes or not _OPTIONAL.issuperset(scopes)}
    address = str(_at(installed, _EVENTS_ADDRESS) or "")
    wanted = app_manifest(None if uses_socket else address, prefix)
    both, needed = (wanted, installed), frozenset(scope.name for scope in SCOPES) - _OPTIONAL
    found = [
        *_compared("slash command", both, "features.slash_commands", "command"),
        *_compared("shortcut", both, "features.shortcuts", "callback_id"),
        *_compared("event", both, "settings.event_subscriptions.bot_events", needed=events),
        *_compared("scope", both, "oauth_config.scopes.bot", needed=needed),
        *_compared("optional scope", both, "oauth_config.scopes.bot_optional", needed=()),
        *([] if uses_socket else _addressed(wanted, installed, address)),
    ]
    for path in _SWITCHES:
        ours, theirs = (bool(_at(manifest, path)) for manifest in both)
        if ours is not theirs:
            name = path.rpartition(".")[2] if not path.endswith("is_enabled") else "interactivity"
            found.append((FAILURE, f"{name} is {'on' if theirs else 'off'}, but must be {'on' if ours else 'off'}"))
    if not _at(installed, "features.agent_view"):
        found.append((WARNING, "agent_view is missing: the app isn't shown as an agent"))
    rows = [Row(area, OF_APP, state, detail, cure) for state, detail in found]
    return rows or [Row(area, OF_APP, OK, "matches `bridge manifest`")]


def _compared(
    kind: str,
    both: tuple[Mapping[str, Any], Mapping[str, Any]],
    path: str,
    name: str = "",
    needed: Collection[str] | None = None,
) -> Iterator[tuple[State, str]]:
    """Compare the lists at *path* of *both* manifests: of names, or of objects whose key *name* has the name.

    Missing entries are failures if they're in *needed* or that's None, otherwise warnings.
    """
    ours, theirs = (_by_name(_at(manifest, path), name) for manifest in both)
    for one in sorted(ours.keys() - theirs.keys()):
        yield (FAILURE if needed is None or one in needed else WARNING), f"{kind} {one} is missing"
    for one in sorted(theirs.keys() - ours.keys()):
        yield WARNING, f"{kind} {one} isn't in `bridge manifest`"
    for one in sorted(ours.keys() & theirs.keys()):
        differing = [key for key, value in ours[one].items() if key != "url" and theirs[one].get(key) != value]
        if differing:
            yield WARNING, f"{kind} {one} has a different {', '.join(differing)}"


def _addressed(wanted: Mapping[str, Any], installed: Mapping[str, Any], address: str) -> Iterator[tuple[State, str]]:
    if not (address.startswith("https://") and address.endswith(EVENTS_PATH)):
        yield FAILURE, f"the events' request URL doesn't end with {EVENTS_PATH}"
        return
    for path in _ADDRESSES:
        if _at(installed, path) != _at(wanted, path):
            yield FAILURE, f"{path} isn't the events' request URL"
    for command in _by_name(_at(installed, "features.slash_commands"), "command").values():
        if command.get("url") != address:
            yield FAILURE, f"slash command {command['command']} isn't sent to the events' request URL"


def _at(manifest: Mapping[str, Any], path: str) -> Any:
    value: Any = manifest
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _by_name(listed: Any, name: str) -> dict[str, Mapping[str, Any]]:
    entries = listed if isinstance(listed, list) else []
    if not name:
        return {entry: {} for entry in entries if isinstance(entry, str)}
    return {str(entry[name]): entry for entry in entries if isinstance(entry, Mapping) and entry.get(name)}
