"""What every Web API method has in common: its arguments, its refusals, and how it is registered."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from bridge.playground.emulator.entities import Channel, Json, Member, Message
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.tickets import Tickets
from bridge.playground.emulator.workspace import Workspace


@dataclass(frozen=True)
class MessagePosted:
    """A message has appeared."""

    message: Message


@dataclass(frozen=True)
class MessageEdited:
    """A message has changed; *before* is how it was shown."""

    message: Message
    before: Json


@dataclass(frozen=True)
class MessageDeleted:
    """A message has gone; *before* is how it was shown. A root with replies remains as a tombstone."""

    message: Message
    before: Json


@dataclass(frozen=True)
class ReactionChanged:
    """A reaction was added to a message, or removed from it."""

    message: Message
    user: str
    name: str
    is_added: bool


Happening = MessagePosted | MessageEdited | MessageDeleted | ReactionChanged


@dataclass
class MethodCall:
    """One call of a method, with the state that it reads and changes.

    *happened* collects what the call brought about, for the events that Slack sends because of it.
    """

    method: str
    args: Json
    workspace: Workspace
    tickets: Tickets
    base_url: str
    page_limit: int = 1000
    scopes: frozenset[str] = frozenset()
    hears: Callable[[str], bool] = lambda _: True
    manifest: Callable[[], Json] = dict
    happened: list[Happening] = field(default_factory=list)

    def text(self, name: str, default: str = "") -> str:
        """An optional string."""
        value = self.args.get(name)
        return default if value is None else str(value)

    def need(self, name: str) -> str:
        """A string that must be there."""
        value = self.text(name)
        if not value:
            raise Refusal("invalid_arguments", messages=[f"[ERROR] missing required field: {name}"])
        return value

    def flag(self, name: str, *, default: bool = False) -> bool:
        """A boolean, however it is spelled in a form."""
        value = self.args.get(name)
        return default if value is None else value not in (False, 0, "0", "false", "False", "")

    def number(self, name: str, default: int) -> int:
        """A whole number."""
        try:
            return int(self.args.get(name, default))
        except (TypeError, ValueError):
            raise Refusal("invalid_arguments", messages=[f"[ERROR] must be an integer: {name}"]) from None

    def json(self, name: str, *, error: str = "invalid_arguments") -> Any:
        """A structure, sent as it is in JSON or as text in a form; None where there is none."""
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
        """The person that an argument names."""
        found = self.workspace.people.get(self.text(name))
        if found is None:
            raise Refusal("user_not_found")
        return found

    def channel(self, name: str = "channel", *, member: bool = True) -> Channel:
        """The channel that an argument names, by its id; the bot must be in it where *member* says so.

        A private channel that the bot is not in does not exist for it.
        """
        found = self.workspace.channels.get(self.need(name))
        if found is None:
            raise Refusal("channel_not_found")
        if self.workspace.bot.id not in found.members:
            if found.is_private or found.is_im:
                raise Refusal("channel_not_found")
            if member:
                raise Refusal("not_in_channel")
        return found

    def message(self, channel: Channel, name: str = "ts") -> Message:
        """The message that an argument names."""
        found = self.workspace.messages.find(channel.id, self.need(name))
        if found is None:
            raise Refusal("message_not_found")
        return found

    def page(self, things: Sequence[Any], *, default: int = 100) -> tuple[list[Any], str]:
        """The part of *things* that ``cursor`` and ``limit`` ask for, and the cursor of the next part."""
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
Caller = Literal["bot", "app", "owner"]


@dataclass(frozen=True)
class Registered:
    """A method: what it does, and which scope it needs (any of *scopes*; none where that is empty).

    Most are called by the bot, a few by the ``app`` itself or its ``owner``, each with a token of their own, and one
    with or without any.
    """

    run: Method
    scopes: tuple[str, ...]
    caller: Caller = "bot"
    needs_token: bool = True


class Family:
    """The methods of one family, registered by their names."""

    def __init__(self) -> None:
        self.methods: dict[str, Registered] = {}

    def method(
        self, name: str, *scopes: str, caller: Caller = "bot", needs_token: bool = True
    ) -> Callable[[Method], Method]:
        """Register a method that needs any one of *scopes*."""

        def register(run: Method) -> Method:
            if name in self.methods:
                raise ValueError(name)
            self.methods[name] = Registered(run, scopes, caller, needs_token)
            return run

        return register


def paged(name: str, things: Sequence[Any], following: str) -> Json:
    """The answer of a list method."""
    return {"ok": True, name: list(things), "response_metadata": {"next_cursor": following}}
