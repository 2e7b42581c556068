"""The only way out to Slack (`bridge.slack.ports.Say`).

Every call ends within `BUDGET`, whatever it has to wait for, because a turn's lease is longer than that and no longer.
A `post` that was cut short by it (`SlackUnreachable`) has noted in *existing* what it did post, and is made again with
that; where its outcome is in doubt (`SlackAmbiguous`), `find` says what is there.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from bridge.errors import SlackAmbiguous, SlackError, SlackRefused, SlackUnreachable
from bridge.ids import TurnId
from bridge.slack import parts
from bridge.slack.api import Deadline, Identity, Json, Monotonic, Pace, SlackWeb, Sleep
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Attachment, Block, Reply, View
from bridge.slack.history import (
    History,
    MessageTag,
    Place,
    ThreadRead,
    history_scopes,
    is_about_metadata,
    marked_in_a_block,
    metadata,
)
from bridge.slack.parts import BLOCKS_REFUSED, NOT_KNOWN, Part


@dataclass(frozen=True, slots=True)
class Recipient:
    """Whom only one person's message reaches: *user* in *channel*, by *response_url* where there is one."""

    channel: str
    user: str
    thread_ts: str = ""
    response_url: str = ""

    @property
    def can_be_told(self) -> bool:
        """Whether there is any way to them."""
        return bool(self.response_url or self.channel)


ExistingParts = dict[int, str]
"""Own messages that carry a turn's tag: the ``ts`` of each by its part number."""


BUDGET = 10.0
_AN_UPDATE_EARLIER = timedelta(hours=1)  # how far back a repeated update looks for the files of the first

_Send = Callable[[str, tuple[Block, ...]], Awaitable[None]]


class Say:
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
        self.token = web.token
        self._identity = identity
        self._pace = Pace(monotonic=monotonic, sleep=sleep)
        self._ladder = BlockFallback()
        self._wire = Wire(web, identity, self._pace, sleep, web.now, self._ladder)
        self._monotonic = monotonic

    async def post(self, place: Place, reply: Reply, tag: MessageTag, existing: ExistingParts) -> str:
        """Post a reply in *place*, except the parts that are *existing*; return the ``ts`` of its first message.

        What it posts it adds to *existing*. Raises `SlackError`.
        """
        return await Posting(self._wire, place, tag, existing, self._deadline()).post(reply)

    async def find(self, place: Place, turn: TurnId, since: datetime) -> ExistingParts:
        """Look for own messages with the mark of *turn*. Raises `SlackError`."""
        return ExistingParts(await self._history(self._deadline()).find_parts(place, turn, since))

    async def read_thread(self, place: Place, after: str = "", before: str = "") -> ThreadRead:
        """Read what a thread says: which session it continued last, and what others said. Raises `SlackError`."""
        if self._identity.scopes and not self._identity.scopes & history_scopes(place.channel):
            raise SlackRefused("conversations.replies", "missing_scope")  # as Slack would say, with every call
        return await self._history(self._deadline()).read_thread(place, after=after, before=before)

    async def whisper(self, recipient: Recipient, reply: Reply, existing: ExistingParts | None = None) -> None:
        """Show a reply to one person, by response_url or, when that is used up, by an ephemeral message.

        Files cannot be private: they are shown as text. Of *existing*, see `post`. Raises `SlackError`.
        """
        deadline = self._deadline()
        for part in _missing(reply, existing):
            is_first = part.number == 0

            async def send(text: str, blocks: tuple[Block, ...], *, is_first: bool = is_first) -> None:
                replaces = reply.replaces_original and is_first
                await self._whisper_message(recipient, text, blocks, deadline, replaces=replaces)

            await self._down_the_ladder(part, send)
            if existing is not None:
                existing[part.number] = ""

    async def respond(self, response_url: str, reply: Reply, existing: ExistingParts) -> None:
        """Show a reply to the channel by response_url. Of *existing*, see `post`. Raises `SlackError`."""
        deadline = self._deadline()
        for part in _missing(reply, existing):
            replaces = reply.replaces_original and part.number == 0

            async def send(text: str, blocks: tuple[Block, ...], *, replaces: bool = replaces) -> None:
                body = _response(text, blocks, "in_channel", replaces=replaces)
                await self._web.respond(response_url, body, seconds=max(deadline.left(), 1.0))

            await self._down_the_ladder(part, send)
            existing[part.number] = ""

    async def update(self, channel: str, ts: str, reply: Reply, tag: MessageTag) -> None:
        """Replace an own message by the first message of *reply*; files go into its thread. Raises `SlackError`."""
        deadline = self._deadline()
        part = next(parts.parts_of(reply), parts.Part(0, reply.text))

        async def send(text: str, blocks: tuple[Block, ...]) -> None:
            body: Json = {
                "channel": channel,
                "ts": ts,
                "text": parts.cut(text),
                "blocks": list(blocks),
                "metadata": metadata(tag, 0, 1),
                "parse": "none",  # left out, Slack goes back to making links of bare words
            }
            try:
                await self._paced("chat.update", channel, body, deadline)
            except SlackRefused as exc:
                if not is_about_metadata(exc.error):
                    raise
                await self._paced("chat.update", channel, {**body, "metadata": None}, deadline)

        if not await self._ladder.send(part, send):
            await send(part.instead or part.text, ())
        if reply.files:
            await self._attach_once(Place(channel, ts), reply.files, tag, deadline)

    async def _attach_once(
        self, message: Place, files: Sequence[Attachment], tag: MessageTag, deadline: Deadline
    ) -> None:
        """Send files into the thread of a message, except those that an earlier update sent there."""
        history = self._history(deadline)
        try:
            place = Place(message.channel, await history.root_of(message.channel, message.thread_ts))
            existing = await history.find_parts(place, tag.turn, self._wire.now() - _AN_UPDATE_EARLIER)
        except SlackRefused:  # no permission to read: then a repeated update may repeat the file
            place, existing = message, {}
        await Posting(self._wire, place, tag, existing, deadline).attach(files)

    async def open_form(self, trigger_id: str, view: View) -> None:
        """Open a modal. Raises `SlackError`."""
        await self._web.call("views.open", {"trigger_id": trigger_id, "view": view})

    async def publish_home(self, user: str, view: View, view_hash: str) -> None:
        """Show the Home tab of *user*. Raises `SlackError`. https://docs.slack.dev/reference/methods/views.publish."""
        await self._web.call("views.publish", {"user_id": user, "view": view, "hash": view_hash or None})

    async def _down_the_ladder(self, part: parts.Part, send: _Send) -> None:
        if not await self._ladder.send(part, send):
            for text in parts.pieces(part.instead or part.text):
                await send(text, ())

    async def _whisper_message(
        self, recipient: Recipient, text: str, blocks: tuple[Block, ...], deadline: Deadline, *, replaces: bool
    ) -> None:
        if recipient.response_url:
            body = _response(text, blocks, "ephemeral", replaces=replaces)
            if recipient.thread_ts and not replaces:
                body["thread_ts"] = recipient.thread_ts
            try:
                return await self._web.respond(recipient.response_url, body, seconds=max(deadline.left(), 1.0))
            except SlackRefused as exc:  # five uses, half an hour
                if exc.error in parts.BLOCKS_REFUSED or not (recipient.channel and recipient.user):
                    raise
        ephemeral = {
            "channel": recipient.channel,
            "user": recipient.user,
            "thread_ts": recipient.thread_ts or None,
            "text": text,
            "blocks": list(blocks) or None,
            "parse": None if blocks else "none",
        }
        await self._paced("chat.postEphemeral", recipient.channel, ephemeral, deadline)
        return None

    async def _paced(self, method: str, channel: str, body: Json, deadline: Deadline) -> None:
        async def send() -> None:
            await self._web.call(method, body, seconds=max(deadline.left(), 1.0))

        await self._pace.run(method, channel, send, deadline.earlier(2.0))

    def _history(self, deadline: Deadline) -> History:
        return History(self._web, self._identity, deadline)

    def _deadline(self) -> Deadline:
        return Deadline.after(BUDGET, self._monotonic)


def _missing(reply: Reply, existing: ExistingParts | None) -> list[parts.Part]:
    """Lay out a reply that has no files, but for what is there."""
    return [part for part in _with_files_as_text(reply) if existing is None or part.number not in existing]


def _with_files_as_text(reply: Reply) -> list[parts.Part]:
    laid_out = parts.lay_out(reply)
    texts = [piece for attachment in reply.files for piece in parts.pieces(kit.escape(kit.quiet(attachment.content)))]
    return laid_out + [parts.Part(number, text) for number, text in enumerate(texts, start=len(laid_out))]


def _response(text: str, blocks: tuple[Block, ...], audience: str, *, replaces: bool) -> Json:
    body: Json = {
        "response_type": audience,
        "replace_original": replaces,
        "text": text,
        "unfurl_links": False,
        "unfurl_media": False,
    }
    return {**body, "blocks": list(blocks)} if blocks else body


log = logging.getLogger(__name__)

_CALL_RESERVE = 2.0  # what a call gets at least, after it has waited for its channel
_LEAST_TO_BEGIN = 1.0
_BEFORE_LOOKING = 1.0  # the call may still be on its way through Slack
_CLOCK_SKEW = timedelta(minutes=5)
_WHOLE_FILE = 999  # the number of the file that has a whole long answer; attachments come before it


@dataclass(frozen=True, slots=True)
class Wire:
    """What posting needs of the outside."""

    web: SlackWeb
    identity: Identity
    pace: Pace
    sleep: Sleep
    now: Callable[[], datetime]
    ladder: BlockFallback


@dataclass(slots=True)
class Posting:
    """Posts one reply, except what is *existing*, to which it adds what it has posted: the ``ts`` by its number."""

    wire: Wire
    place: Place
    tag: MessageTag
    existing: dict[int, str]
    deadline: Deadline
    count: int = 0

    @property
    def first(self) -> str:
        """The ``ts`` of the first message, ``""`` while there is none."""
        return self.existing[min(self.existing)] if self.existing else ""

    async def post(self, reply: Reply) -> str:
        """Post what is not there yet, and return the ``ts`` of the first message. Raises `SlackError`."""
        has_begun = parts.goes_on_as_messages(self.existing.keys())
        may_be_a_file = bool(reply.markdown) and self._may_upload() and not has_begun
        laid_out = await _laid_out(reply, parts.most_to_lay_out(reply) if may_be_a_file else None)
        is_too_long = may_be_a_file and len(laid_out) == parts.most_to_lay_out(reply)
        if not is_too_long or not await self._post_shortened(reply, laid_out[0]):
            laid_out = await _laid_out(reply) if is_too_long else laid_out
            self.count = len(laid_out)
            for part in laid_out:
                await self._post_part(part)
        await self.attach(reply.files)
        return self.first

    async def attach(self, files: Sequence[Attachment]) -> None:
        """Send the files that are not there yet. Raises `SlackError`."""
        for number, attachment in enumerate(files):
            await self._attach(number, attachment)

    async def _post_shortened(self, reply: Reply, beginning: parts.Part) -> bool:
        """Post the beginning and the whole as a file; False where it has to be messages after all."""
        self.count = 1
        await self._post_part(parts.shortened(reply, beginning))
        return await self._upload(parts.file_number(_WHOLE_FILE), parts.whole(reply))

    async def _post_part(self, part: parts.Part) -> None:
        """Step down the ladder: blocks, plainer ones, plain text, a file."""
        if part.number in self.existing:
            return
        if parts.has_begun_as_text(part.number, self.existing.keys()) or not await self._post_as_blocks(part):
            await self._post_as_text(part.number, part.instead or part.text)

    async def _post_as_blocks(self, part: parts.Part) -> bool:
        """Post a part; False where Slack does not like its blocks in any form."""

        async def send(text: str, form: Form) -> None:
            await self._message(part.number, text, form)

        return await self.wire.ladder.send(part, send)

    async def _post_as_text(self, part_number: int, text: str) -> None:
        try:
            for number, piece in enumerate(parts.pieces(text)):
                await self._message(parts.text_number(part_number, number), piece)
        except SlackRefused as exc:
            whole = Attachment(name="answer.txt", content=text)
            if exc.error not in parts.BLOCKS_REFUSED or not await self._upload(
                parts.text_file_number(part_number), whole
            ):
                raise

    async def _attach(self, number: int, attachment: Attachment) -> None:
        """Send an attachment as a file, or as text where files are not allowed."""
        has_begun_as_text = parts.file_text_number(number, 0) in self.existing
        if not has_begun_as_text and await self._upload(parts.file_number(number), attachment):
            return
        for piece, text in enumerate(parts.pieces(kit.escape(kit.quiet(attachment.content)))):
            await self._message(parts.file_text_number(number, piece), text)

    async def _message(self, number: int, text: str, blocks: tuple[Block, ...] = ()) -> None:
        if number in self.existing:
            return
        body = {
            "channel": self.place.channel,
            "thread_ts": self.place.thread_ts or None,
            "text": text,
            "blocks": list(blocks) or None,
            "metadata": metadata(self.tag, number, self.count),
            "unfurl_links": False,
            "unfurl_media": False,
            # Without blocks the text is what is shown, and Slack would make links and mentions of bare words in it.
            "parse": None if blocks else "none",
        }
        self.existing[number] = await self._surely(number, lambda: self._post_marked(body, number))

    async def _post_marked(self, body: Json, number: int) -> str:
        """Post a message with its metadata, or where Slack does not take that, once more without."""
        try:
            return await self._post_message(body)
        except SlackRefused as exc:
            if not is_about_metadata(exc.error):
                raise
            log.warning("slack refused the metadata of a message, posting it without", extra={"error": exc.error})
        return await self._post_message(marked_in_a_block(body, self.tag, number))

    async def _post_message(self, body: Json) -> str:
        answer = await self._paced("chat.postMessage", self.place.channel, lambda seconds: self._call(body, seconds))
        return str(answer.get("ts") or "")

    async def _call(self, body: Json, seconds: float) -> Json:
        return await self.wire.web.call("chat.postMessage", body, seconds=seconds)

    async def _surely(self, number: int, send: Callable[[], Awaitable[str]]) -> str:
        """Send; if nobody knows whether Slack took it, look, and send again only if it is surely not there."""
        try:
            return await send()
        except SlackAmbiguous as doubt:
            log.warning("looking whether a message was posted", extra={"detail": doubt.detail})
            found = await self._look(doubt)
            return found[number] if number in found else await send()

    async def _look(self, doubt: SlackAmbiguous) -> dict[int, str]:
        if self.deadline.left() < _BEFORE_LOOKING + 2 * _LEAST_TO_BEGIN:
            raise doubt
        await self.wire.sleep(_BEFORE_LOOKING)
        history = History(self.wire.web, self.wire.identity, self.deadline.earlier(_LEAST_TO_BEGIN))
        try:
            return await history.find_parts(self.place, self.tag.turn, self.wire.now() - _CLOCK_SKEW)
        except SlackError:
            raise doubt from None  # what could not be looked up stays in doubt

    async def _upload(self, number: int, attachment: Attachment) -> bool:
        """Send a file; False where Slack does not let us. An empty one is there already, in a way."""
        if number in self.existing or not attachment.content:
            return True
        if not self._may_upload():
            return False
        try:
            ts = await self._surely(number, lambda: self._share(number, attachment))
        except SlackRefused as exc:
            log.warning("slack refused a file", extra={"error": exc.error})
            return False
        self.existing[number] = ts
        return True

    def _may_upload(self) -> bool:
        return "files:write" in self.wire.identity.scopes

    async def _share(self, number: int, attachment: Attachment) -> str:
        """Upload and share. Until the last of the three calls nobody sees anything, so that they may be repeated.

        Slack shares when it is ready to, and does not say as what message.
        """
        content = attachment.content.encode(errors="replace")
        name = parts.file_name(attachment.name, self.tag.turn, number)
        wanted = {"filename": name, "length": str(len(content))}
        try:
            granted = await self._paced(
                "files.getUploadURLExternal",
                "",
                lambda seconds: self.wire.web.read("files.getUploadURLExternal", wanted, seconds=seconds),
            )
            await self.wire.web.upload(str(granted.get("upload_url")), content, seconds=self._seconds())
        except SlackAmbiguous as exc:
            raise SlackUnreachable(exc.method, exc.detail) from exc
        shared = {
            "files": [{"id": granted.get("file_id"), "title": attachment.name}],
            "channel_id": self.place.channel,
            "thread_ts": self.place.thread_ts or self.first or None,
        }
        await self._paced(
            "files.completeUploadExternal",
            "",
            lambda seconds: self.wire.web.call("files.completeUploadExternal", shared, seconds=seconds),
        )
        return ""

    async def _paced(self, method: str, channel: str, call: Callable[[float], Awaitable[Json]]) -> Json:
        """Call when the channel is free, with the time that is left then; do not begin what cannot be ended."""
        if self.deadline.left() < _LEAST_TO_BEGIN:
            raise SlackUnreachable(method, "out of time", timedelta(0))
        return await self.wire.pace.run(
            method, channel, lambda: call(self._seconds()), self.deadline.earlier(_CALL_RESERVE)
        )

    def _seconds(self) -> float:
        return max(self.deadline.left(), _LEAST_TO_BEGIN)


async def _laid_out(reply: Reply, most: int | None = None) -> list[parts.Part]:
    """Lay out a reply, or no more than *most* messages of it; others have their turn after each."""
    found = []
    for part in islice(parts.parts_of(reply), most):
        found.append(part)
        await asyncio.sleep(0)
    return found


log = logging.getLogger(__name__)

Form = tuple[Block, ...]


class BlockFallback:
    """Which kinds of blocks this workspace does not take, as far as that has shown."""

    def __init__(self) -> None:
        self._refused: set[str] = set()

    async def send(self, part: Part, send: Callable[[str, Form], Awaitable[None]]) -> bool:
        """Send the first form of *part* that Slack takes; False where it takes none, and plain text is left.

        Raises what *send* raises, except that Slack does not like the blocks.
        """
        if not part.blocks:
            await send(part.text, ())
            return True
        disliked: set[str] = set()
        for form in self._forms(part):
            try:
                await send(part.text, form)
            except SlackRefused as exc:
                if exc.error not in BLOCKS_REFUSED:
                    raise
                log.warning("slack refused the blocks of a message", extra={"error": exc.error})
                disliked |= _kinds(form) if exc.error in NOT_KNOWN else set()
            else:
                self._refused |= disliked - _kinds(form)
                return True
        return False

    def _forms(self, part: Part) -> Iterator[Form]:
        return (form for form in (part.blocks, *part.plainer) if not _kinds(form) & self._refused)


def _kinds(form: Form) -> set[str]:
    return {str(block.get("type")) for block in form}
