"""What all Web API methods share: arguments, errors and registration."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from bridge.playground.emulator.entities import Channel, Group, Json, Member, Message
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.tickets import Tickets
from bridge.playground.emulator.workspace import Workspace

_TS: Final = re.compile(r"[0-9]{1,10}\.[0-9]{6}", re.ASCII)


@dataclass(frozen=True)
class MessagePosted:
    """A message was added."""

    message: Message


@dataclass(frozen=True)
class MessageEdited:
    """A message was changed; *before* is its previous JSON."""

    message: Message
    before: Json


@dataclass(frozen=True)
class MessageDeleted:
    """A message was deleted; *before* is its previous JSON. A root with replies remains as a tombstone."""

    message: Message
    before: Json


@dataclass(frozen=True)
class ReactionChanged:
    """A reaction was added or removed."""

    message: Message
    user: str
    name: str
    is_added: bool


@dataclass(frozen=True)
class GroupChanged:
    """A user group was created, changed, disabled or enabled."""

    group: Group
    is_new: bool = False


Happening = MessagePosted | MessageEdited | MessageDeleted | ReactionChanged | GroupChanged


@dataclass
class MethodCall:
    """One call of a method, with the state that it reads and changes.

    *happened* collects its changes, for Slack's events.
    """

    method: str
    args: Json
    workspace: Workspace
    tickets: Tickets
    base_url: str
    page_limit: int = 1000
    scopes: frozenset[str] = frozenset()
    is_subscribed: Callable[[str], bool] = lambda _: True
    happened: list[Happening] = field(default_factory=list)

    def text(self, name: str, default: str = "") -> str:
        value = self.args.get(name)
        return default if value is None else str(value)

    def need(self, name: str) -> str:
        value = self.text(name)
        if not value:
            raise Refusal("invalid_arguments", messages=[f"[ERROR] missing required field: {name}"])
        return value

    def thread_ts(self, *, is_needed: bool = False) -> str:
        """The thread to write in, if one is named. A malformed ts isn't just unknown: jenkinsci/slack-plugin#584."""
        ts = self.need("thread_ts") if is_needed else self.text("thread_ts")
        if ts and not _TS.fullmatch(ts):
            raise Refusal("invalid_thread_ts")
        return ts

    def flag(self, name: str, *, default: bool = False) -> bool:
        """A boolean, in any spelling of a form."""
        value = self.args.get(name)
        return default if value is None else value not in (False, 0, "0", "false", "False", "")

    def number(self, name: str, default: int) -> int:
        try:
            return int(self.args.get(name, default))
        except (TypeError, ValueError):
            raise Refusal("invalid_arguments", messages=[f"[ERROR] must be an integer: {name}"]) from None

    def json(self, name: str, *, error: str = "invalid_arguments") -> Any:
        """A structure, as JSON or as text in a form; None if absent."""
        value = self.args.get(name)
        if not isinstance(value, str):
            return value
        if not value:
            return None
        try:
            return json.loads(value)
        except json.JSONDecodeError:
            raise Refusal(error, messages=[f"[ERROR] not valid JSON: {name}"]) from None

    def person(self, name: str = "user") -> Member:
        person = self.workspace.people.get(self.text(name))
        if person is None:
            raise Refusal("user_not_found")
        return person

    def channel(self, name: str = "channel", *, member: bool = True) -> Channel:
        """The channel named by an argument; with *member*, the bot must be in it.

        A private channel without the bot doesn't exist for it.
        """
        channel = self.workspace.channels.get(self.need(name))
        if channel is None:
            raise Refusal("channel_not_found")
        if self.workspace.bot.id not in channel.members:
            if channel.is_private or channel.is_im:
                raise Refusal("channel_not_found")
            if member:
                raise Refusal("not_in_channel")
        return channel

    def message(self, channel: Channel, name: str = "ts") -> Message:
        message = self.workspace.messages.find(channel.id, self.need(name))
        if message is None:
            raise Refusal("message_not_found")
        return message

    def page(self, things: Sequence[Any], *, default: int = 100) -> tuple[list[Any], str]:
        """The page of *things* at ``cursor``, and the next cursor."""
        limit = self.number("limit", default) or default
        if limit < 1:
            raise Refusal("invalid_limit")
        start, end = self._start(), min(limit, self.page_limit)
        rest = list(things[start:])
        following = base64.b64encode(f"next:{start + end}".encode()).decode() if len(rest) > end else ""
        return rest[:end], following

    def _start(self) -> int:
        cursor = self.text("cursor")
        if not cursor:
            return 0
        try:
            return int(base64.b64decode(cursor, validate=True).decode().removeprefix("next:"))
        except ValueError:
            raise Refusal("invalid_cursor") from None


Method = Callable[[MethodCall], Json]
Caller = Literal["bot", "app"]


@dataclass(frozen=True)
class Registered:
    """A method, and the *scopes* of which it needs one, if any.

    Most are called by the bot, a few by the ``app`` with its own token. *tier* is how many calls a
    minute Slack allows, None where there is no tier or a special one. "Content types" on the page of a method that
    doesn't take JSON lists only forms: Slack ignores a JSON body. *differs* says how this differs from Slack's.
    """

    run: Method
    scopes: tuple[str, ...]
    caller: Caller = "bot"
    tier: int | None = None
    takes_json: bool = True
    differs: str = ""


class Family:
    """A family of methods, by name."""

    def __init__(self) -> None:
        self.methods: dict[str, Registered] = {}

    def method(
        self,
        name: str,
        *scopes: str,
        caller: Caller = "bot",
        tier: int | None = None,
        takes_json: bool = True,
        differs: str = "",
    ) -> Callable[[Method], Method]:
        """Register a method that needs any one of *scopes*."""

        def register(run: Method) -> Method:
            if name in self.methods:
                raise ValueError(name)
            self.methods[name] = Registered(run, scopes, caller, tier, takes_json, differs)
            return run

        return register


def paged(name: str, things: Sequence[Any], following: str) -> Json:
    """The response of a list method."""
    return {"ok": True, name: list(things), "response_metadata": {"next_cursor": following}}
