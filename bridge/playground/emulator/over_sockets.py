"""Envelopes to one of the app's sockets: https://docs.slack.dev/apis/events-api/using-socket-mode.

Two assumptions aren't documented: only the connection that an envelope went over can ack it, and a connection that was
told to disconnect still gets envelopes until it is closed.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Final

from bridge.playground.emulator.deliver import AppDelivery
from bridge.playground.emulator.entities import Json
from bridge.playground.emulator.sockets import Gone, SocketConnections

_TYPES: Final = {"event": "events_api", "command": "slash_commands", "interaction": "interactive"}
_ANSWERED: Final = frozenset({"view_submission", "block_suggestion"})  # interactions whose ack may have a payload
_ACKED: Final = 200


class OverSockets:
    """Sends each delivery to one connection in turn, and waits *ack_seconds* for its ack."""

    def __init__(self, sockets: SocketConnections, *, ack_seconds: float, new_id: Callable[[str], str]) -> None:
        self._sockets = sockets
        self._ack_seconds = ack_seconds
        self._new_id = new_id

    async def opened(self) -> None:
        await self._sockets.opened()

    async def reached(self) -> None:
        await self._sockets.opened()

    async def carry(self, delivery: AppDelivery) -> None:
        connection = self._sockets.take_turn(delivery.repeats.socket if delivery.repeats else 0)
        if connection is None:
            delivery.error = "connection_failed"
            return
        delivery.socket = connection.number
        envelope = envelope_of(delivery, self._new_id(""))
        try:
            async with asyncio.timeout(self._ack_seconds):
                answer = await connection.ask(envelope)
        except TimeoutError:
            delivery.error = "timeout"
        except Gone:
            delivery.error = "connection_failed"
        else:
            delivery.status = _ACKED
            delivery.body = json.dumps(answer) if answer and envelope["accepts_response_payload"] else ""


def envelope_of(delivery: AppDelivery, envelope_id: str) -> Json:
    """The envelope; only events have a retry count."""
    is_answered = delivery.kind == "command" or delivery.name in _ANSWERED
    envelope: Json = {
        "envelope_id": envelope_id,
        "payload": delivery.payload,
        "type": _TYPES[delivery.kind],
        "accepts_response_payload": is_answered,
    }
    if delivery.kind != "event":
        return envelope
    # "timeout" is the only reason ever seen, even for events while no connection was open.
    return envelope | {"retry_attempt": delivery.retry, "retry_reason": "timeout" if delivery.retry else ""}
