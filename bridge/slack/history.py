"""Finding our own messages again in Slack itself, by the mark that each of them carries."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from bridge.errors import SlackUnreachable
from bridge.ids import TurnId
from bridge.slack.api import Deadline, Identity, Json, SlackWeb
from bridge.slack.parts import number_in


@dataclass(frozen=True, slots=True)
class Place:
    """Where everybody sees a message: a *channel*, and a thread in it (``""``: the channel itself)."""

    channel: str
    thread_ts: str = ""


@dataclass(frozen=True, slots=True)
class MessageTag:
    """What a message carries as metadata, so that it is found again: ``event_type`` and its payload.

    *kind* is ``bridge_turn`` (an agent's answer, or a notice in its place), ``bridge_run`` or ``bridge_root``.
    Metadata is readable by everybody in the workspace: ids only.
    """

    kind: str
    turn: TurnId
    agent: int | None = None
    session: int | None = None


@dataclass(frozen=True, slots=True)
class Recalled:
    """What the metadata of a thread's answers says: the *agent* and the *session* of the newest one."""

    agent: int
    session: int


@dataclass(frozen=True, slots=True)
class ThreadMessage:
    """What somebody said in a thread: a person by id, or an *app* by its name; *text* has Slack's escapes."""

    user: str
    app: str
    text: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ThreadRead:
    """What a thread says, read once: what the bot's own answers *recalled*, and what others said.

    The *root*, whoever wrote it, and the *newest* after it, oldest first; *left_out* were more. A reading that was
    *cut_short* has only the beginning.
    """

    recalled: Recalled | None = None
    root: ThreadMessage | None = None
    newest: tuple[ThreadMessage, ...] = ()
    left_out: int = 0
    cut_short: SlackUnreachable | None = None

    @property
    def all(self) -> tuple[ThreadMessage, ...]:
        """Root and newest."""
        return (*((self.root,) if self.root else ()), *self.newest)


_PAGE = "200"  # apps that are sold outside the Marketplace get 15 at most, whatever they ask for
_MARK_PREFIX = "bridge_"
NEWEST = 20  # of what was said in a thread, this much is read for an agent
_SAID_BY_SOMEBODY = frozenset({"", "file_share", "thread_broadcast", "me_message", "bot_message"})


def metadata(tag: MessageTag, number: int, count: int) -> Json:
    """Write the mark of one message; anybody in the workspace can read it."""
    payload = {"turn": tag.turn, "part": number, "parts": count, "agent": tag.agent, "session": tag.session}
    known = {name: value for name, value in payload.items() if value is not None}
    return {"event_type": tag.kind, "event_payload": known}


def is_about_metadata(error: str) -> bool:
    """Whether Slack refuses a message's metadata, and not the message.

    https://docs.slack.dev/reference/methods/chat.postMessage#errors
    """
    return error.startswith(("metadata_", "invalid_metadata_"))


def marked_in_a_block(body: Json, tag: MessageTag, number: int) -> Json:
    """Write the mark of one message into the id of its first block, in the place of its metadata."""
    first, *more = body.get("blocks") or [None]
    blocks = [{**first, "block_id": f"{_MARK_PREFIX}{tag.turn}:{number}"}, *more] if first else None
    return {**body, "blocks": blocks, "metadata": None}


def history_scopes(channel: str) -> frozenset[str]:
    """Tell which permissions, any of them, may let the bot read a channel; whether one is private its id does not."""
    return frozenset({"im:history"} if channel.startswith("D") else {"channels:history", "groups:history"})


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

    async def read_thread(self, place: Place, *, after: str, before: str) -> ThreadRead:
        """Read what was said in a thread between two messages. Raises `SlackError`.

        *after* is ``""`` for all, the root among it; *before* is ``""`` for all until now.
        """
        seen, recalled, root, count, cut_short = 0, None, None, 0, None
        newest: deque[ThreadMessage] = deque(maxlen=NEWEST)
        try:
            async for message in self._messages(place, {"oldest": after} if after else {}):
                seen += 1
                is_own, ts = self.identity.wrote(message), str(message.get("ts") or "")
                recalled = (_session_in(message) if is_own else None) or recalled
                said = _said(message)
                if ts == place.thread_ts:  # Slack gives it with every window
                    root = said if not after else None
                elif said and not is_own and _is_between(ts, after, before):
                    newest.append(said)
                    count += 1
        except SlackUnreachable as exc:  # out of time, or 429 on a later page: what was read is better than nothing
            if not seen:
                raise
            cut_short = exc
        return ThreadRead(recalled, root, tuple(newest), count - len(newest), cut_short)

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
        window = {"oldest": f"{since.timestamp():.6f}"} if since else {}
        async for message in self._messages(place, window):
            if self.identity.wrote(message):
                yield message

    async def _messages(self, place: Place, window: Mapping[str, str]) -> AsyncIterator[Mapping[str, Any]]:
        """Go through all pages."""
        cursor = ""
        while True:
            page = await self._page(place, window, cursor)
            for message in page.get("messages") or []:
                if isinstance(message, dict):
                    yield message
            cursor = str((page.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                return

    async def _page(self, place: Place, window: Mapping[str, str], cursor: str) -> Json:
        method = "conversations.replies" if place.thread_ts else "conversations.history"
        if self.deadline.left() <= 0:
            raise SlackUnreachable(method, "out of time", timedelta(0))
        arguments = {
            "channel": place.channel,
            "include_all_metadata": "true",
            "limit": _PAGE,
            "ts": place.thread_ts,
            "cursor": cursor,
            **window,
        }
        given = {name: value for name, value in arguments.items() if value}
        return await self.web.read(method, given, seconds=max(self.deadline.left(), 1.0))


def _numbers(message: Mapping[str, Any], turn: TurnId) -> Iterator[int]:
    """Read which parts of *turn* a message of ours is: its own mark, that in a block, or the names of its files."""
    match message.get("metadata"):
        case {"event_type": str() as kind, "event_payload": {"turn": str() as of, "part": int() as number}}:
            if kind.startswith(_MARK_PREFIX) and of == turn:
                yield number
    for block in message.get("blocks") or []:
        said = str(block.get("block_id") or "") if isinstance(block, dict) else ""
        marked, _, part = said.removeprefix(_MARK_PREFIX).rpartition(":")
        if said.startswith(_MARK_PREFIX) and marked == turn and part.isdecimal():
            yield int(part)
    for file in message.get("files") or []:
        number_or_none = number_in(str(file.get("name") or ""), turn) if isinstance(file, dict) else None
        if number_or_none is not None:
            yield number_or_none


def _session_in(message: Mapping[str, Any]) -> Recalled | None:
    match message.get("metadata"):
        case {"event_type": "bridge_turn", "event_payload": {"agent": int() as agent, "session": int() as session}}:
            return Recalled(agent, session)
    return None


def _is_between(ts: str, after: str, before: str) -> bool:
    """Whether a message is to be quoted. An answer that recalls a session may be later than *before*."""
    try:
        return float(after or 0) < float(ts) < float(before or "inf")
    except ValueError:
        return False


def _said(message: Mapping[str, Any]) -> ThreadMessage | None:
    """Read what somebody, or another app, said; None for a message about something: a join, a topic."""
    if str(message.get("subtype") or "") not in _SAID_BY_SOMEBODY or message.get("hidden"):
        return None
    profile = message.get("bot_profile")
    app = str(message.get("username") or (profile.get("name") if isinstance(profile, dict) else "") or "")
    files = [one for one in message.get("files") or [] if isinstance(one, dict)]
    said = ThreadMessage(
        user="" if message.get("bot_id") and app else str(message.get("user") or ""),
        app=app,
        text=str(message.get("text") or "") or _text_of_attachments(message),
        files=tuple(str(one.get("title") or one.get("name") or "") for one in files),
    )
    return said if said.text.strip() or said.files else None


def _text_of_attachments(message: Mapping[str, Any]) -> str:
    """Find the words of an app that wrote no text of its own: those that it gave for where nothing else is shown."""
    attached = [one for one in message.get("attachments") or [] if isinstance(one, dict)]
    return "\n".join(str(one.get("fallback") or one.get("text") or "") for one in attached)
