"""Finding our own messages again in Slack itself, by the mark that each of them carries."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bridge.errors import SlackUnreachable
from bridge.ids import TurnId
from bridge.slack.pace import Deadline
from bridge.slack.parts import number_in
from bridge.slack.web import Answer, Identity, SlackWeb
from bridge.turns.ports import Mark, Place, Recalled

_PAGE = "200"  # apps that are sold outside the Marketplace get 15 at most, whatever they ask for
_MARK_PREFIX = "bridge_"


def metadata(mark: Mark, number: int, count: int) -> Answer:
    """Write the mark of one message; anybody in the workspace can read it."""
    payload = {"turn": mark.turn, "part": number, "parts": count, "agent": mark.agent, "session": mark.session}
    known = {name: value for name, value in payload.items() if value is not None}
    return {"event_type": mark.kind, "event_payload": known}


@dataclass(frozen=True, slots=True)
class History:
    """What is written in Slack, as far as *identity* may read it and has time to."""

    web: SlackWeb
    identity: Identity
    deadline: Deadline

    async def find_parts(self, place: Place, turn: TurnId, since: datetime) -> dict[int, str]:
        """Look for all own messages of *turn* in *place*: the ``ts`` of each by its number. Raises `SlackError`.

        Where *place* is a channel, what goes with a message (files) is in the thread below it.
        """
        found = await self._parts_in(place, turn, since)
        if found and not place.thread_ts:
            found = await self._parts_in(Place(place.channel, min(found.values())), turn, since) | found
        return found

    async def recall(self, place: Place) -> Recalled | None:
        """Find the agent and session of the newest answer in a thread. Raises `SlackError`."""
        newest = None
        try:
            async for message in self._own_messages(place, None):
                newest = _session_in(message) or newest
        except SlackUnreachable:  # out of time, or 429 on a later page: what was found is better than nothing
            if newest is None:
                raise
        return newest

    async def root_of(self, channel: str, ts: str) -> str:
        """Find the root of the thread that an own message is in; itself where it is in none. Raises `SlackError`."""
        async for message in self._own_messages(Place(channel, ts), None):
            if message.get("ts") == ts:
                return str(message.get("thread_ts") or ts)
        return ts

    async def _parts_in(self, place: Place, turn: TurnId, since: datetime) -> dict[int, str]:
        found: dict[int, str] = {}
        async for message in self._own_messages(place, since):
            found |= dict.fromkeys(_numbers(message, turn), str(message.get("ts", "")))
        return found

    async def _own_messages(self, place: Place, since: datetime | None) -> AsyncIterator[Mapping[str, Any]]:
        """Go through all pages; believe only what is ours."""
        cursor = ""
        while True:
            page = await self._page(place, since, cursor)
            for message in page.get("messages") or []:
                if isinstance(message, dict) and self.identity.wrote(message):
                    yield message
            cursor = str((page.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                return

    async def _page(self, place: Place, since: datetime | None, cursor: str) -> Answer:
        method = "conversations.replies" if place.thread_ts else "conversations.history"
        if self.deadline.left() <= 0:
            raise SlackUnreachable(method, "out of time", timedelta(0))
        arguments = {
            "channel": place.channel,
            "include_all_metadata": "true",
            "limit": _PAGE,
            "ts": place.thread_ts,
            "oldest": f"{since.timestamp():.6f}" if since else "",
            "cursor": cursor,
        }
        given = {name: value for name, value in arguments.items() if value}
        return await self.web.read(method, given, seconds=max(self.deadline.left(), 1.0))


def _numbers(message: Mapping[str, Any], turn: TurnId) -> Iterator[int]:
    """Read which parts of *turn* a message of ours is: its own mark, or the names of its files."""
    match message.get("metadata"):
        case {"event_type": str() as kind, "event_payload": {"turn": str() as of, "part": int() as number}}:
            if kind.startswith(_MARK_PREFIX) and of == turn:
                yield number
    for file in message.get("files") or []:
        number_or_none = number_in(str(file.get("name") or ""), turn) if isinstance(file, dict) else None
        if number_or_none is not None:
            yield number_or_none


def _session_in(message: Mapping[str, Any]) -> Recalled | None:
    match message.get("metadata"):
        case {"event_type": "bridge_turn", "event_payload": {"agent": int() as agent, "session": int() as session}}:
            return Recalled(agent, session)
    return None
