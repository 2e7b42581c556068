"""The only way out to Slack (`bridge.slack.ports.Say`).

Every call ends within `BUDGET`, whatever it has to wait for, because a turn's lease is longer than that and no longer.
A `post` that was cut short by it (`SlackUnreachable`) has noted in *there* what it did post, and is made again with
that; where its outcome is in doubt (`SlackAmbiguous`), `find` says what is there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta

from bridge.errors import SlackError, SlackRefused
from bridge.ids import TurnId
from bridge.slack import parts
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Attachment, Block, Reply, View
from bridge.slack.finding import History, history_scopes, is_about_metadata, metadata
from bridge.slack.hourglass import Hourglass
from bridge.slack.ladder import Ladder
from bridge.slack.pace import Deadline, Monotonic, Pace, Sleep
from bridge.slack.ports import Found, Mark, Place, ThreadRead, Whom
from bridge.slack.posting import Posting, Wire
from bridge.slack.status import Status
from bridge.slack.web import Answer, Identity, SlackWeb

BUDGET = 10.0
_AN_UPDATE_EARLIER = timedelta(hours=1)  # how far back a repeated update looks for the files of the first

_Send = Callable[[str, tuple[Block, ...]], Awaitable[None]]


class SlackSay:
    """Says things in Slack as the bot *identity*."""

    def __init__(
        self,
        web: SlackWeb,
        identity: Identity,
        *,
        monotonic: Monotonic = time.monotonic,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._web = web
        self._identity = identity
        self._pace = Pace(monotonic=monotonic, sleep=sleep)
        self._status = Status(web, monotonic=monotonic)
        self._hourglass = Hourglass(web, identity)
        self._ladder = Ladder()
        self._wire = Wire(web, identity, self._pace, sleep, web.now, self._ladder)
        self._monotonic = monotonic

    async def post(self, place: Place, reply: Reply, mark: Mark, there: Found) -> str:
        """Post a reply in *place*, except the parts that are *there*; return the ``ts`` of its first message.

        What it posts it adds to *there*. Raises `SlackError`.
        """
        return await Posting(self._wire, place, mark, there.parts, self._deadline()).post(reply)

    async def find(self, place: Place, turn: TurnId, since: datetime) -> Found:
        """Look for own messages with the mark of *turn*. Raises `SlackError`."""
        return Found(await self._history(self._deadline()).find_parts(place, turn, since))

    async def read_thread(self, place: Place, after: str = "", before: str = "") -> ThreadRead:
        """Read what a thread says: which session it continued last, and what others said. Raises `SlackError`."""
        if self._identity.scopes and not self._identity.scopes & history_scopes(place.channel):
            raise SlackRefused("conversations.replies", "missing_scope")  # as Slack would say, with every call
        return await self._history(self._deadline()).read_thread(place, after=after, before=before)

    async def whisper(self, whom: Whom, reply: Reply, there: Found | None = None) -> None:
        """Show a reply to one person, by response_url or, when that is used up, by an ephemeral message.

        Files cannot be private: they are shown as text. Of *there*, see `post`. Raises `SlackError`.
        """
        deadline = self._deadline()
        for part in _missing(reply, there):
            is_first = part.number == 0

            async def send(text: str, blocks: tuple[Block, ...], *, is_first: bool = is_first) -> None:
                replaces = reply.replaces_original and is_first
                await self._whisper_message(whom, text, blocks, deadline, replaces=replaces)

            await self._down_the_ladder(part, send)
            if there is not None:
                there.parts[part.number] = ""

    async def respond(self, response_url: str, reply: Reply, there: Found) -> None:
        """Show a reply to the channel by response_url. Of *there*, see `post`. Raises `SlackError`."""
        deadline = self._deadline()
        for part in _missing(reply, there):
            replaces = reply.replaces_original and part.number == 0

            async def send(text: str, blocks: tuple[Block, ...], *, replaces: bool = replaces) -> None:
                body = _response(text, blocks, "in_channel", replaces=replaces)
                await self._web.respond(response_url, body, seconds=max(deadline.left(), 1.0))

            await self._down_the_ladder(part, send)
            there.parts[part.number] = ""

    async def update(self, channel: str, ts: str, reply: Reply, mark: Mark) -> None:
        """Replace an own message by the first message of *reply*; files go into its thread. Raises `SlackError`."""
        deadline = self._deadline()
        part = next(parts.parts_of(reply), parts.Part(0, reply.text))

        async def send(text: str, blocks: tuple[Block, ...]) -> None:
            body: Answer = {
                "channel": channel,
                "ts": ts,
                "text": parts.cut(text),
                "blocks": list(blocks),
                "metadata": metadata(mark, 0, 1),
                "parse": "none",  # left out, Slack goes back to making links of bare words
            }
            try:
                await self._paced("chat.update", channel, body, deadline)
            except SlackRefused as exc:
                if not is_about_metadata(exc.error):
                    raise
                await self._paced("chat.update", channel, {**body, "metadata": None}, deadline)

        if not await self._ladder.down(part, send):
            await send(part.instead or part.text, ())
        if reply.files:
            await self._attach_once(Place(channel, ts), reply.files, mark, deadline)

    async def _attach_once(self, message: Place, files: Sequence[Attachment], mark: Mark, deadline: Deadline) -> None:
        """Send files into the thread of a message, except those that an earlier update sent there."""
        history = self._history(deadline)
        try:
            place = Place(message.channel, await history.root_of(message.channel, message.thread_ts))
            there = await history.find_parts(place, mark.turn, self._wire.now() - _AN_UPDATE_EARLIER)
        except SlackRefused:  # no permission to read: then a repeated update may repeat the file
            place, there = message, {}
        await Posting(self._wire, place, mark, there, deadline).attach(files)

    @property
    def is_accepted(self) -> bool:
        """Whether Slack accepts the bot's token."""
        return self._web.token.is_accepted

    async def until_accepted(self) -> None:
        """Wait until it does."""
        await self._web.token.until_accepted()

    async def open_form(self, trigger_id: str, view: View) -> None:
        """Open a modal. Raises `SlackError`."""
        await self._web.call("views.open", {"trigger_id": trigger_id, "view": view})

    async def publish_home(self, user: str, view: View, view_hash: str) -> None:
        """Show the Home tab of *user*. Raises `SlackError`. https://docs.slack.dev/reference/methods/views.publish."""
        await self._web.call("views.publish", {"user_id": user, "view": view, "hash": view_hash or None})

    async def working(self, place: Place, status: str) -> None:
        """Show that an agent works in a thread; best effort."""
        await self._status.working(place, status)

    async def idle(self, place: Place) -> None:
        """Take that sign away; best effort."""
        await self._status.idle(place)

    async def entitle(self, place: Place, title: str) -> None:
        """Name the conversation of a thread; best effort."""
        await self._status.entitle(place, title)

    async def suggest(self, channel: str, prompts: list[dict[str, str]]) -> None:
        """Offer prompts in a direct message; best effort."""
        await self._status.suggest(channel, prompts)

    async def waits(self, whom: Whom, ts: str, line: Reply) -> None:
        """Show at the message *ts* that it waits, or tell its author with *line*; best effort."""
        if not await self._hourglass.show(whom.channel, ts):
            with suppress(SlackError):
                await self.whisper(whom, line)

    async def waits_no_more(self, channel: str, ts: str) -> None:
        """Take that sign away; best effort."""
        await self._hourglass.take_away(channel, ts)

    async def _down_the_ladder(self, part: parts.Part, send: _Send) -> None:
        if not await self._ladder.down(part, send):
            for text in parts.pieces(part.instead or part.text):
                await send(text, ())

    async def _whisper_message(
        self, whom: Whom, text: str, blocks: tuple[Block, ...], deadline: Deadline, *, replaces: bool
    ) -> None:
        if whom.response_url:
            body = _response(text, blocks, "ephemeral", replaces=replaces)
            if whom.thread_ts and not replaces:
                body["thread_ts"] = whom.thread_ts
            try:
                return await self._web.respond(whom.response_url, body, seconds=max(deadline.left(), 1.0))
            except SlackRefused as exc:  # five uses, half an hour
                if exc.error in parts.BLOCKS_REFUSED or not (whom.channel and whom.user):
                    raise
        ephemeral = {
            "channel": whom.channel,
            "user": whom.user,
            "thread_ts": whom.thread_ts or None,
            "text": text,
            "blocks": list(blocks) or None,
            "parse": None if blocks else "none",
        }
        await self._paced("chat.postEphemeral", whom.channel, ephemeral, deadline)
        return None

    async def _paced(self, method: str, channel: str, body: Answer, deadline: Deadline) -> None:
        async def send() -> None:
            await self._web.call(method, body, seconds=max(deadline.left(), 1.0))

        await self._pace.run(method, channel, send, deadline.earlier(2.0))

    def _history(self, deadline: Deadline) -> History:
        return History(self._web, self._identity, deadline)

    def _deadline(self) -> Deadline:
        return Deadline.after(BUDGET, self._monotonic)


def _missing(reply: Reply, there: Found | None) -> list[parts.Part]:
    """Lay out a reply that has no files, but for what is there."""
    return [part for part in _with_files_as_text(reply) if there is None or part.number not in there.parts]


def _with_files_as_text(reply: Reply) -> list[parts.Part]:
    laid_out = parts.lay_out(reply)
    texts = [piece for attachment in reply.files for piece in parts.pieces(kit.escape(kit.quiet(attachment.content)))]
    return laid_out + [parts.Part(number, text) for number, text in enumerate(texts, start=len(laid_out))]


def _response(text: str, blocks: tuple[Block, ...], audience: str, *, replaces: bool) -> Answer:
    body: Answer = {
        "response_type": audience,
        "replace_original": replaces,
        "text": text,
        "unfurl_links": False,
        "unfurl_media": False,
    }
    return {**body, "blocks": list(blocks)} if blocks else body
