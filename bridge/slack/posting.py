"""One reply on its way into one place: part by part, down the ladder where Slack refuses, settled where in doubt."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from bridge.errors import SlackAmbiguous, SlackError, SlackRefused, SlackUnreachable
from bridge.slack import parts
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Attachment, Block, Reply
from bridge.slack.finding import History, is_about_metadata, marked_in_a_block, metadata
from bridge.slack.ladder import Form, Ladder
from bridge.slack.pace import Deadline, Pace, Sleep
from bridge.slack.ports import Mark, Place
from bridge.slack.web import Answer, Identity, SlackWeb

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
    ladder: Ladder


@dataclass(slots=True)
class Posting:
    """Posts one reply, except what is *there*, to which it adds what it has posted: the ``ts`` by its number."""

    wire: Wire
    place: Place
    mark: Mark
    there: dict[int, str]
    deadline: Deadline
    count: int = 0

    @property
    def first(self) -> str:
        """The ``ts`` of the first message, ``""`` while there is none."""
        return self.there[min(self.there)] if self.there else ""

    async def post(self, reply: Reply) -> str:
        """Post what is not there yet, and return the ``ts`` of the first message. Raises `SlackError`."""
        has_begun = parts.goes_on_as_messages(self.there.keys())
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
        if part.number in self.there:
            return
        if parts.has_begun_as_text(part.number, self.there.keys()) or not await self._post_as_blocks(part):
            await self._post_as_text(part.number, part.instead or part.text)

    async def _post_as_blocks(self, part: parts.Part) -> bool:
        """Post a part; False where Slack does not like its blocks in any form."""

        async def send(text: str, form: Form) -> None:
            await self._message(part.number, text, form)

        return await self.wire.ladder.down(part, send)

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
        has_begun_as_text = parts.file_text_number(number, 0) in self.there
        if not has_begun_as_text and await self._upload(parts.file_number(number), attachment):
            return
        for piece, text in enumerate(parts.pieces(kit.escape(kit.quiet(attachment.content)))):
            await self._message(parts.file_text_number(number, piece), text)

    async def _message(self, number: int, text: str, blocks: tuple[Block, ...] = ()) -> None:
        if number in self.there:
            return
        body = {
            "channel": self.place.channel,
            "thread_ts": self.place.thread_ts or None,
            "text": text,
            "blocks": list(blocks) or None,
            "metadata": metadata(self.mark, number, self.count),
            "unfurl_links": False,
            "unfurl_media": False,
            # Without blocks the text is what is shown, and Slack would make links and mentions of bare words in it.
            "parse": None if blocks else "none",
        }
        self.there[number] = await self._surely(number, lambda: self._post_marked(body, number))

    async def _post_marked(self, body: Answer, number: int) -> str:
        """Post a message with its metadata, or where Slack does not take that, once more without."""
        try:
            return await self._post_message(body)
        except SlackRefused as exc:
            if not is_about_metadata(exc.error):
                raise
            log.warning("slack refused the metadata of a message, posting it without", extra={"error": exc.error})
        return await self._post_message(marked_in_a_block(body, self.mark, number))

    async def _post_message(self, body: Answer) -> str:
        answer = await self._paced("chat.postMessage", self.place.channel, lambda seconds: self._call(body, seconds))
        return str(answer.get("ts") or "")

    async def _call(self, body: Answer, seconds: float) -> Answer:
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
            return await history.find_parts(self.place, self.mark.turn, self.wire.now() - _CLOCK_SKEW)
        except SlackError:
            raise doubt from None  # what could not be looked up stays in doubt

    async def _upload(self, number: int, attachment: Attachment) -> bool:
        """Send a file; False where Slack does not let us. An empty one is there already, in a way."""
        if number in self.there or not attachment.content:
            return True
        if not self._may_upload():
            return False
        try:
            ts = await self._surely(number, lambda: self._share(number, attachment))
        except SlackRefused as exc:
            log.warning("slack refused a file", extra={"error": exc.error})
            return False
        self.there[number] = ts
        return True

    def _may_upload(self) -> bool:
        return "files:write" in self.wire.identity.scopes

    async def _share(self, number: int, attachment: Attachment) -> str:
        """Upload and share. Until the last of the three calls nobody sees anything, so that they may be repeated.

        Slack shares when it is ready to, and does not say as what message.
        """
        content = attachment.content.encode(errors="replace")
        name = parts.file_name(attachment.name, self.mark.turn, number)
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

    async def _paced(self, method: str, channel: str, call: Callable[[float], Awaitable[Answer]]) -> Answer:
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
