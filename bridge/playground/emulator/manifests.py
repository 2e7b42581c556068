"""Validates an app's manifest like Slack, as far as the app that it installs depends on it, and derives that app.

What a schema expresses (lengths, unknown fields, texts that nobody reads here), the tests check, with Slack's own
schema. Here are the rules that no schema expresses, and the types of what is read.
https://docs.slack.dev/reference/app-manifest · https://docs.slack.dev/reference/methods/apps.manifest.validate

An optional scope must be listed in ``bot`` too (https://docs.slack.dev/authentication/installing-with-oauth), and an
event needs its scope. Errors are in Slack's words where its documentation shows them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from pydantic import BaseModel, Field, ValidationError

from bridge.playground.emulator.entities import Json

_BY_SCOPES: Final[Mapping[tuple[str, ...], str]] = {
    (): "app_home_opened app_uninstalled function_executed tokens_revoked",
    ("app_mentions:read",): "app_mention",
    ("assistant:write",): "app_context_changed assistant_thread_context_changed assistant_thread_started",
    ("channels:history",): "message.channels",
    ("channels:read",): "channel_archive channel_created channel_deleted channel_rename channel_unarchive",
    ("channels:read", "groups:read"): "member_joined_channel member_left_channel",
    ("channels:read", "groups:read", "im:read", "mpim:read"): "channel_id_changed channel_shared channel_unshared",
    ("chat:write",): "agent_session_stopped agent_session_title_changed",
    ("emoji:read",): "emoji_changed",
    ("files:read",): "file_change file_created file_deleted file_shared",
    ("groups:history",): "message.groups",
    ("groups:read",): "group_archive group_left group_rename group_unarchive",
    ("im:history",): "message.im",
    ("links:read",): "link_shared",
    ("mpim:history",): "message.mpim",
    ("pins:read",): "pin_added pin_removed",
    ("reactions:read",): "reaction_added reaction_removed",
    ("usergroups:read",): "subteam_created subteam_members_changed subteam_updated",
    ("users:read",): "team_join user_change",
}
EVENTS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {event: scopes for scopes, events in _BY_SCOPES.items() for event in events.split()}
)
"""What a bot may subscribe to; any one of the scopes will do. https://docs.slack.dev/reference/events, page by page."""


class InvalidManifest(ValueError):
    """The manifest is invalid: *errors* say why."""

    def __init__(self, errors: list[Json]) -> None:
        super().__init__("; ".join(f"{error['message']} ({error['pointer']})" for error in errors))
        self.errors = errors


class _Display(BaseModel):
    name: str


class _Command(BaseModel):
    command: str = Field(pattern="^/")
    url: str = ""
    should_escape: bool = False


class _Features(BaseModel):
    bot_user: dict[str, Any] = {}
    shortcuts: tuple[dict[str, Any], ...] = ()
    slash_commands: tuple[_Command, ...] = ()


class _Scopes(BaseModel):
    bot: tuple[str, ...] = ()
    bot_optional: tuple[str, ...] = ()
    user: tuple[str, ...] = ()
    user_optional: tuple[str, ...] = ()


class _OAuth(BaseModel):
    scopes: _Scopes = _Scopes()


class _Subscriptions(BaseModel):
    request_url: str = ""
    bot_events: tuple[str, ...] = ()
    user_events: tuple[str, ...] = ()


class _Interactivity(BaseModel):
    is_enabled: bool = False
    request_url: str = ""


class _Settings(BaseModel):
    event_subscriptions: _Subscriptions = _Subscriptions()
    interactivity: _Interactivity = _Interactivity()
    socket_mode_enabled: bool = False


class _Manifest(BaseModel):
    display_information: _Display
    features: _Features = _Features()
    oauth_config: _OAuth = _OAuth()
    settings: _Settings = _Settings()


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
        app = _read(manifest)
        scopes = app.oauth_config.scopes
        self.scopes.clear()
        self.scopes.update(set(scopes.bot) - (set(declined) & set(scopes.bot_optional)))
        self.unsubscribed.clear()
        self.unsubscribed.update(EVENTS.keys() - set(app.settings.event_subscriptions.bot_events))
        self.commands = {command.command: command.should_escape for command in app.features.slash_commands}

    def is_subscribed(self, event: str) -> bool:
        """Whether the app is subscribed to the event and has its scope."""
        needed = EVENTS.get(event, ())
        return event not in self.unsubscribed and (not needed or not self.scopes.isdisjoint(needed))


def _read(manifest: Json) -> _Manifest:
    """Read a valid manifest. Raises InvalidManifest with all errors, as in the response's ``errors``."""
    try:
        app = _Manifest.model_validate(manifest)
    except ValidationError as exc:
        raise InvalidManifest([_malformed(error["msg"], *error["loc"]) for error in exc.errors()]) from None
    if errors := [*_scopes(app), *_events(app), *_commands(app), *_addresses(app.settings, app.features)]:
        raise InvalidManifest(errors)
    return app


def _malformed(message: str, *place: str | int) -> Json:
    return _error(message, "".join(f"/{part}" for part in place), "failed_constraint")


def _scopes(app: _Manifest) -> Iterator[Json]:
    scopes = app.oauth_config.scopes
    for kind, granted, optional in (
        ("bot", scopes.bot, scopes.bot_optional),
        ("user", scopes.user, scopes.user_optional),
    ):
        for index, scope in enumerate(optional):
            if scope not in granted:
                pointer = f"/oauth_config/scopes/{kind}_optional/{index}"
                yield _error(f"Optional scope `{scope}` must also be listed in `{kind}`", pointer)
    if scopes.bot and not app.features.bot_user:
        yield _error("Bot scopes require a bot user", "/features/bot_user")


def _events(app: _Manifest) -> Iterator[Json]:
    granted = set(app.oauth_config.scopes.bot)
    pointer = "/settings/event_subscriptions/bot_events"
    for event in app.settings.event_subscriptions.bot_events:
        if event not in EVENTS:
            yield _error(f"invalid event type: {event}", pointer)
        elif EVENTS[event] and granted.isdisjoint(EVENTS[event]):
            yield _error(f"`{event}` requires the bot scope `{'` or `'.join(EVENTS[event])}`", pointer)


def _commands(app: _Manifest) -> Iterator[Json]:
    if "commands" in app.oauth_config.scopes.bot:
        return
    if app.features.slash_commands:
        message = "Slash Commands requires `commands` bot scope"
        yield _error(message, "/features/slash_commands", "requires_commands_bot_scope")
    if app.features.shortcuts:
        yield _error("Shortcuts requires `commands` bot scope", "/features/shortcuts", "requires_commands_bot_scope")


def _addresses(settings: _Settings, features: _Features) -> Iterator[Json]:
    """Without Socket Mode, Slack needs the request URLs."""
    if settings.socket_mode_enabled:
        return
    events, interactivity = settings.event_subscriptions, settings.interactivity
    if (events.bot_events or events.user_events) and not events.request_url:
        message = "Event Subscription requires either Request URL or Socket Mode Enabled"
        yield _error(message, "/settings/event_subscriptions")
    if interactivity.is_enabled and not interactivity.request_url:
        yield _error("Interactivity requires a Request URL", "/settings/interactivity")
        yield _error("Interactivity requires Socket Mode enabled", "/settings/interactivity")
    for index, command in enumerate(features.slash_commands):
        if not command.url:
            yield _error("Slash Command requires a URL or Socket Mode Enabled", f"/features/slash_commands/{index}")


def _error(message: str, pointer: str, code: str = "") -> Json:
    return {**({"code": code} if code else {}), "message": message, "pointer": pointer}
