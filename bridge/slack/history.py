"""Slack's history: find the bot's own messages, and read threads."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from bridge.errors import SlackError, SlackRefused, SlackUnreachable
from bridge.ids import TurnId
from bridge.slack import contents
from bridge.slack.api import Identity, SlackWeb
from bridge.slack.blockkit.content_words import files_in, with_escapes
from bridge.slack.pace import Deadline
from bridge.slack.parts import Place, tagged_parts
from bridge.slack.payloads import mapping, next_cursor, objects, text, timestamp
from bridge.slack.senders import Sender


@dataclass(frozen=True, slots=True)
class Recalled:
    """The *agent* and the *session* that the newest of the bot's messages in a thread has, and their *project*.

    Without a session, the next message starts a new one.
    """

    agent: int
    session: int | None
    project: str = ""


@dataclass(frozen=True, slots=True)
class ThreadMessage:
    """A message in a thread, by *user* (an ID), if it's shown as theirs, or by *app* (a name); *text* has escapes.

    Both are known of what an app posted with a person's own token, which is the person's, or as its own bot user.
    *is_own*: the bot wrote it, as an agent's earlier answer or a run's card.
    """

    user: str
    app: str
    text: str
    files: tuple[str, ...] = ()
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class ThreadRead:
    """A thread, read once: the session that the bot's answers *recalled*, and other people's messages.

    The *root*, by anyone, and the *newest* replies, oldest first; *left_out* counts the other replies (None: unknown).
    If reading was *cut_short* by an error, only the beginning was read; if it *stops_early*, the last replies are
    missing. *writers* is who has written there (`bridge.queue.records.Conversation`).
    """

    recalled: Recalled | None = None
    root: ThreadMessage | None = None
    newest: tuple[ThreadMessage, ...] = ()
    left_out: int | None = 0
    cut_short: SlackUnreachable | None = None
    stops_early: bool = False
    writers: str = ""

    @property
    def all(self) -> tuple[ThreadMessage, ...]:
        """The root and the newest replies."""
        return (*((self.root,) if self.root else ()), *self.newest)


@dataclass(slots=True)
class Search:
    """The progress of a search for the bot's messages since *since*: the parts *found*, and what's left to read.

    A thread is read from *oldest* on. Slack returns a channel newest first, so it's read down from *latest*; messages
    that arrive after the *newest* meanwhile are read last.
    """

    since: float
    oldest: str
    latest: str = ""
    newest: str = ""
    found: dict[str, str] = field(default_factory=dict)

    def add(self, page: Sequence[Mapping[str, Any]], *, is_thread: bool) -> None:
        """Record that *page* was read."""
        read = sorted(filter(None, (timestamp(message, "ts") for message in page)), key=float)
        if is_thread:
            self.oldest = max([self.oldest, *read], key=float)
        elif read:
            self.latest, self.newest = read[0], max([self.newest or read[-1], read[-1]], key=float)


@dataclass(slots=True)
class Pages:
    """How much Slack returns per call: if pages *are_short*, fifteen messages, once per minute.

    That's the limit for apps distributed outside of the Marketplace; a longer page shows that it doesn't apply.
    Interrupted *searches* continue where they stopped: otherwise a search through two pages would never finish.
    https://docs.slack.dev/apis/web-api/rate-limits
    """

    are_short: bool = False
    searches: dict[tuple[Place, TurnId], Search] = field(default_factory=dict)


_PAGE = "200"
_MOST_SEARCHES = 1000  # remembered, including abandoned ones
_SHORT = (15, 16)  # messages; the root may be added
_AIMED_AT = 8  # replies, on a page of fifteen: people write at uneven intervals
_CONTENT_SUBTYPES = frozenset({"", "file_share", "thread_broadcast", "me_message", "bot_message"})
_CONTROLS = frozenset({"actions", "context_actions"})
NEWEST = 20  # messages of a thread that an agent gets


@dataclass(frozen=True, slots=True)
class History:
    """Reads Slack's history as the bot *identity*, until *deadline*."""

    web: SlackWeb
    identity: Identity
    deadline: Deadline
    pages: Pages = field(default_factory=Pages)

    async def find(self, place: Place, turn: TurnId, since: datetime) -> dict[str, str]:
        """Find all messages the bot posted for *turn* in *place*: the ``ts`` of each by its part. Raises `SlackError`.

        If *place* is a channel, the files of its message are in that message's thread.
        """
        search = self.pages.searches.pop((place, turn), None)
        if search is None or since.timestamp() < search.since:
            search = Search(since.timestamp(), f"{since.timestamp():.6f}")
        is_thread = bool(place.thread_ts)
        try:
            is_over = False
            while not is_over:
                is_over = is_thread or not search.latest
                async for page, _ in self._read_pages(place, search.oldest, search.latest):
                    for message in page:
                        if self.identity.wrote(message):
                            search.found |= dict.fromkeys(tagged_parts(turn, message), str(message.get("ts", "")))
                    search.add(page, is_thread=is_thread)
                if not is_over:
                    search.oldest, search.latest = search.newest, ""
            if search.found and not is_thread:
                thread = Place(place.channel, min(search.found.values()))
                return await self.find(thread, turn, since) | search.found
        except SlackUnreachable:
            while len(self.pages.searches) >= _MOST_SEARCHES:
                self.pages.searches.pop(next(iter(self.pages.searches)))
            self.pages.searches[place, turn] = search
            raise
        return search.found

    async def read_thread(
        self, place: Place, after: str = "", before: str = "", *, with_own: bool = False
    ) -> ThreadRead:
        """Read the messages of a thread between two ``ts``; *with_own*: with the bot's answers. Raises `SlackError`.

        An empty *after* means from the root on, an empty *before* until now. Slack returns a thread oldest first. If
        Slack's pages are short, only one is read, starting shortly before the thread's end.
        """
        # Any of these scopes may be the right one: a channel's ID doesn't say whether it's private or a group.
        in_channels = {"channels:history", "groups:history", "mpim:history"}
        scopes = {"im:history"} if place.channel.startswith("D") else in_channels
        if self.identity.scopes and not self.identity.scopes & scopes:
            raise SlackRefused("conversations.replies", "missing_scope")  # Slack's answer to every such call
        is_one_page = self.pages.are_short
        begin = after or (await self._shortly_before_the_end(place, before) if is_one_page else "")
        read = await self._read_window(place, after, before, begin, with_own=with_own, is_one_page=is_one_page)
        if begin != after and not read.newest:  # there's no message after *begin*
            with suppress(SlackUnreachable):
                return await self._read_window(place, after, before, after, with_own=with_own, is_one_page=is_one_page)
        return read

    async def _read_window(
        self, place: Place, after: str, before: str, begin: str, *, with_own: bool, is_one_page: bool
    ) -> ThreadRead:
        """Read messages from *begin* on, and return those between *after* and *before*."""
        seen, root, count, replies, is_whole, stops_early = 0, None, 0, 0, begin == after, False
        recalled, cut_short = None, None
        newest: deque[ThreadMessage] = deque(maxlen=NEWEST)
        authors: dict[str, str] = {}
        answered: set[str] = set()
        try:
            async for page, has_more in self._read_pages(place, begin):
                for message in page:
                    seen += 1
                    is_own, ts = self.identity.wrote(message), timestamp(message, "ts")
                    # An answer that recalls a session counts even if it's later than *before*, but isn't quoted then.
                    is_between = bool(ts) and float(after or 0) < float(ts) < float(before or "inf")
                    is_answer = False
                    match message.get("metadata") if is_own else None:
                        case {
                            "event_type": "bridge_turn",
                            "event_payload": {"agent": int() | str() as agent, **payload},
                        } if _is_number(agent) and _is_number(session := str(payload.get("session", 0))):
                            is_answer = "session" in payload  # else it's about the next message's session
                            project = str(payload.get("project") or "")
                            recalled = Recalled(int(agent), int(session) if is_answer else None, project)
                            answered |= {str(payload.get("message"))} if is_answer else set()
                        case {"event_type": "bridge_run"}:
                            is_answer = True
                    content = _content(message, is_own=is_own)
                    if content and content.user and not (is_own or message.get("bot_id")):
                        authors[ts] = content.user
                    if ts == place.thread_ts:  # Slack returns the root with every page
                        root = content if not after else None
                        replies = message.get("reply_count") or 0
                    elif content and is_between and (not is_own or (with_own and is_answer)):
                        newest.append(replace(content, is_own=is_own))
                        count += 1
                if has_more and is_one_page and self.pages.are_short:
                    is_whole, stops_early = False, True
                    break
        except SlackUnreachable as exc:  # out of time, or 429 on a later page: part of a thread is better than none
            if not seen:
                raise
            cut_short, is_whole = exc, False
        if is_whole:
            left_out: int | None = count - len(newest)
        else:  # all replies but the one to be answered
            left_out = max(replies - len(newest) - bool(before), 1) if replies and not after else None
        writers = "\n".join(f"{ts} {user} {int(ts in answered)}" for ts, user in list(authors.items())[-NEWEST:])
        return ThreadRead(recalled, root, tuple(newest), left_out, cut_short, stops_early, writers)

    async def newest(
        self, place: Place, *wanted: Callable[[Mapping[str, Any]], bool], oldest: str = "", latest: str = ""
    ) -> Mapping[str, Any] | None:
        """Return the newest message in *place* between two ``ts`` that is *wanted* first, else second, …; or None.

        Of a channel, only the newest page is read. Raises `SlackError`.
        """
        newest: dict[int, Mapping[str, Any]] = {}
        async for page, _ in self._read_pages(place, oldest, latest):
            for message in page:
                for rank, is_wanted in enumerate(wanted):
                    if is_wanted(message) and float(message["ts"]) > float(newest.get(rank, {}).get("ts", 0)):
                        newest[rank] = message
            if not place.thread_ts:
                break
        return newest[min(newest)] if newest else None

    async def root(self, place: Place) -> Mapping[str, Any] | None:
        """Return the first message of a thread; None if it was deleted. Raises `SlackError`."""
        arguments = {"channel": place.channel, "ts": place.thread_ts, "limit": "1"}
        page = await self.web.read("conversations.replies", arguments, seconds=max(self.deadline.left(), 1.0))
        messages = objects(page.get("messages"))
        return messages[0] if messages and timestamp(messages[0], "ts") == place.thread_ts else None

    async def _shortly_before_the_end(self, place: Place, before: str) -> str:
        """Choose where to start in a thread of which only one page can be read; ``""`` for its beginning.

        https://docs.slack.dev/reference/methods/conversations.history (which has a separate limit)
        """
        only_root = {
            "channel": place.channel,
            "oldest": place.thread_ts,
            "latest": place.thread_ts,
            "inclusive": "true",
        }
        try:
            page = await self.web.read(
                "conversations.history", {**only_root, "limit": "1"}, seconds=max(self.deadline.left(), 1.0)
            )
            root, *_ = objects(page.get("messages"))
            begin, end = float(place.thread_ts), float(before or root["latest_reply"])
            replies = int(root["reply_count"])
        except (SlackError, KeyError, TypeError, ValueError):  # the thread's length is unknown
            return ""
        return f"{end - (end - begin) * _AIMED_AT / replies:.6f}" if replies >= min(_SHORT) else ""

    async def senders_in(self, channel: str) -> list[Sender] | None:
        """Return the other apps and bots that recently posted in *channel* (not in threads), as people see them.

        Returns None if the channel can't be read.

        https://docs.slack.dev/reference/methods/conversations.history
        """
        arguments = {"channel": channel, "limit": _PAGE}
        try:
            page = await self.web.read("conversations.history", arguments, seconds=max(self.deadline.left(), 1.0))
        except SlackError:
            return None
        posts = (post for post in objects(page.get("messages")) if not self.identity.wrote(post))
        return list(dict.fromkeys(sender for sender in map(Sender.of, posts) if sender.id))

    async def _read_pages(
        self, place: Place, oldest: str = "", latest: str = ""
    ) -> AsyncIterator[tuple[Sequence[Mapping[str, Any]], bool]]:
        """Yield each page, and whether there are more. Raises `SlackError`."""
        method = "conversations.replies" if place.thread_ts else "conversations.history"
        arguments = {"channel": place.channel, "include_all_metadata": "true", "limit": _PAGE}
        arguments |= {
            name: value for name, value in (("ts", place.thread_ts), ("oldest", oldest), ("latest", latest)) if value
        }
        while True:
            if (seconds := self.deadline.left()) <= 0:
                raise SlackUnreachable(method, "out of time", timedelta(0))
            page = await self.web.read(method, arguments, seconds=max(seconds, 1.0))
            messages = objects(page.get("messages"))
            arguments["cursor"] = next_cursor(page)
            if len(messages) > max(_SHORT) or arguments["cursor"]:
                self.pages.are_short = len(messages) in _SHORT
            yield messages, bool(arguments["cursor"])
            if not arguments["cursor"]:
                return


def _is_number(value: int | str) -> bool:
    """Whether *value* is an ID in a message's metadata (`MessageTag`): those beyond 2^53 are texts."""
    return re.fullmatch("-?[0-9]{1,1000}", str(value)) is not None


def _content(message: Mapping[str, Any], *, is_own: bool) -> ThreadMessage | None:
    """Read a message by a person or an app; None for messages about a join, a topic and the like."""
    if str(message.get("subtype") or "") not in _CONTENT_SUBTYPES or message.get("hidden"):
        return None
    if is_own:  # people press its buttons, and nobody reads them
        blocks = [block for block in objects(message.get("blocks")) if block.get("type") not in _CONTROLS]
        message = {**message, "blocks": blocks}
    chosen = text(message, "username")  # by the app, which is shown instead of its user's name
    own, parts = contents.read(message)
    content = ThreadMessage(
        user="" if chosen or message.get("subtype") == "bot_message" else text(message, "user"),
        app=chosen or text(mapping(message.get("bot_profile")), "name"),
        text=with_escapes(own, parts),
        files=tuple(file.name for file in files_in(parts)),
    )
    return content if content.text.strip() or content.files else None
