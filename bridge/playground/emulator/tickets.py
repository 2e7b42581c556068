"""Slack's tickets: trigger IDs (once, within 3 s), response URLs (5 uses, 30 min), WebSockets (once).

https://docs.slack.dev/interactivity/handling-user-interaction
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final

from bridge.playground.emulator.changes import EntityTable
from bridge.playground.emulator.storage import Storage

TRIGGER_SECONDS: Final = 3.0
RESPONSE_SECONDS: Final = 30 * 60.0
RESPONSE_USES: Final = 5


_WINDOW: Final = ContextVar("window", default="")


@contextmanager
def in_window(window: str) -> Iterator[None]:
    """Attribute actions to one of a person's *window*s: Slack opens modals there only."""
    token = _WINDOW.set(window)
    try:
        yield
    finally:
        _WINDOW.reset(token)


@dataclass
class Trigger:
    """An action of *user*, in a *window* if known, and in the modal *view* if any."""

    user: str
    made: float
    view: str
    window: str
    used: bool = False


@dataclass
class ResponseTicket:
    """Where the responses to a command or click go. *ts* is the message with the button, if any."""

    user: str
    channel: str
    made: float
    ts: str = ""
    uses: int = 0


class TicketError(Exception):
    """The ticket is invalid; *error* is Slack's word."""

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


class Tickets:
    """All tickets. Response URLs are in *storage*, so they work after a restart."""

    def __init__(
        self, *, clock: Callable[[], float], new_id: Callable[[str], str], storage: Storage | None = None
    ) -> None:
        self._clock = clock
        self._new_id = new_id
        self._triggers: dict[str, Trigger] = {}
        self._responses = EntityTable("response_url", ResponseTicket, storage or Storage(), lambda: None)
        self._sockets: set[str] = set()
        for old in [made for made, ticket in self._responses.items() if self._is_old(ticket)]:
            self._responses.drop(old)

    def _is_old(self, ticket: ResponseTicket) -> bool:
        return self._clock() - ticket.made > RESPONSE_SECONDS

    def trigger(self, user: str, view: str = "") -> str:
        """A new trigger ID for an action of *user*, in the modal *view* if any."""
        made = self._new_id("")
        self._triggers[made] = Trigger(user, self._clock(), view, _WINDOW.get())
        return made

    def exchange(self, trigger_id: str) -> Trigger:
        trigger = self._triggers.get(trigger_id)
        if trigger is None:
            raise TicketError("invalid_trigger_id")
        if trigger.used:
            raise TicketError("exchanged_trigger_id")
        if self._clock() - trigger.made > TRIGGER_SECONDS:
            raise TicketError("expired_trigger_id")
        trigger.used = True
        return trigger

    def response(self, user: str, channel: str, *, ts: str = "") -> str:
        made = self._new_id("")
        self._responses.put(made, ResponseTicket(user, channel, self._clock(), ts))
        return made

    def peek(self, made: str) -> ResponseTicket:
        """The place of a response URL, without using it. Raises KeyError."""
        return self._responses[made]

    def use_response(self, made: str) -> ResponseTicket:
        """Use a response URL once, unless it is used up or expired."""
        ticket = self._responses.get(made)
        if ticket is None or self._is_old(ticket):
            raise TicketError("expired_url")
        if ticket.uses >= RESPONSE_USES:
            raise TicketError("used_url")
        ticket.uses += 1
        self._responses.put(made, ticket)
        return ticket

    def socket(self) -> str:
        made = self._new_id("")
        self._sockets.add(made)
        return made

    def use_socket(self, made: str) -> bool:
        """Use a WebSocket's ticket; False if it is unknown or already used."""
        is_valid = made in self._sockets
        self._sockets.discard(made)
        return is_valid
