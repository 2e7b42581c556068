"""Turn a message's files, attachments and blocks into text for the agent, and list those that couldn't be read.

This happens in the turn, after the person's access was checked, and may run again.
"""

from __future__ import annotations

import asyncio
import html
import logging
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal, ParamSpec, TypeVar

from bridge.documents import AT_ONCE, MOST_BYTES, DocumentNotRead, Documents, DocumentText
from bridge.ends.notices import NotRead
from bridge.engine.results import TryLater
from bridge.errors import SlackError, SlackRefused, SlackTokenRefused
from bridge.inbound import Alert, LeftOut, MessageFile, MessagePart, Quotation, Table
from bridge.slack.blockkit import content_words
from bridge.slack.blockkit.content_words import FILE, Passage
from bridge.slack.blockkit.mrkdwn import mentions_in, message_text
from bridge.slack.directory import Directory
from bridge.slack.files import SIGN_IN, SNIFFED, FileContent, Files
from bridge.slack.pace import Sleep

log = logging.getLogger(__name__)

_MOST_READ: Final = 5  # files per message, without clips
_MOST_FETCHED: Final = 100  # files of 100 kB at once, in the whole process
_TRIES: Final = (1.0, 3.0)  # seconds before each retry of a file
_TRANSCRIPT: Final = (1.0, 2.0, 4.0, 8.0)  # seconds before each check whether Slack has finished it
_LONGEST: Final = 45.0  # seconds, for all files of one message
_TAG: Final = re.compile(r"</?(?:c|i|b|u|v|ruby|rt|lang)(?:[ .][^<>]*)?>|<\d[\d:.]*>")

_ENTITY: Final = re.compile(r"&[#\w]{1,32};")  # html.unescape raises ValueError for a number of 4,301 digits

_READ: Final = frozenset({"text", "mail", "document", "clip"})
_WHY_UNREAD: Final = {"image": "image", "video": "video", "gone": "gone", "link": "link", "unknown": "slack"}
_WHY_NOT: Final = {"broken": "broken", "locked": "locked", "missing": "extra", "slow": "slow"}
_CUT: Final = "cut here: these are the first 100 kB"

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ComposedMessage:
    """A message as text, with its parts below its own text, and the *missing* parts.

    *only_names*: it has no text but names of unreadable files.
    """

    text: str
    missing: tuple[NotRead, ...] = ()
    only_names: bool = False


@dataclass(frozen=True, slots=True)
class FileRead:
    """The result of reading a file: its text, or only its name and the reason *why*."""

    passage: Passage
    missing: NotRead | None = None


@dataclass(frozen=True, slots=True)
class PartReader:
    """Turns parts of messages into text; mentions of *bot_user* are left out.

    *mode* is ``BRIDGE_FILES``: whether *files* are included with their ``text``, by their ``names``, or not at all.
    Everyone whose files are read shares two limits: documents that *readers* fetch and read at once, and other files
    being *fetched*. A document is fetched only once a reader is free, so that no bytes wait for one.
    """

    directory: Directory
    bot_user: str
    files: Files
    documents: Documents
    mode: Literal["text", "names", "off"] = "text"
    sleep: Sleep = asyncio.sleep
    readers: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    fetched: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_MOST_FETCHED))

    def count_readable(self, parts: Sequence[MessagePart]) -> int:
        """Count the files in *parts* whose contents are read."""
        files = content_words.files_in(parts) if self.mode == "text" else ()
        return sum(file.kind in _READ or file.kind == "unknown" for file in files)

    async def text(self, text: str) -> str:
        """Return a message's own *text* as people read it: with names, Markdown links, and no mention of the bot."""
        if "<" in text or "&" in text:
            names = await self.directory.names(mentions_in(text, but=self.bot_user))
            text = message_text(text, bot_user=self.bot_user, names=names)
        return text.strip()

    async def below(self, text: str, parts: Sequence[MessagePart]) -> ComposedMessage:
        """Return the message's own *text* with its *parts* below.

        Raises `TryLater` if Slack rejects the bot's token.
        """
        resolve = await self._resolve(parts)
        read = await self._read_all(list(content_words.files_in(parts)))
        passages: list[Passage] = []
        missing: list[NotRead] = []
        for part in parts:
            if (passage := content_words.passage(part, resolve)) is not None:
                passages.append(passage)
            if isinstance(part, LeftOut) or part.is_cut:
                missing.append(NotRead("unknown" if isinstance(part, LeftOut) and part.is_unknown else "full"))
            for file in content_words.files_in([part]):
                result = read[file]
                passages += [result.passage] if self.mode != "off" else []
                missing += [result.missing] if result.missing else []
        only_names = not text and all(passage.is_name for passage in passages)
        if only_names and self.mode == "off":
            return ComposedMessage("", tuple(dict.fromkeys(missing)))
        composed = content_words.composed(text, passages)
        if composed.cut:
            missing.append(NotRead(why="full"))
        return ComposedMessage(composed.text, tuple(dict.fromkeys(missing)), only_names and self.mode == "text")

    async def described_below(self, text: str, parts: Sequence[MessagePart]) -> str:
        """Return a message's *text* with its *parts* below, with only the names of files."""
        resolve = await self._resolve(parts)
        passages = [content_words.passage(part, resolve) for part in parts]
        files = content_words.files_in(parts) if self.mode != "off" else ()
        return content_words.composed(
            text, [*(passage for passage in passages if passage is not None), *map(content_words.named_file, files)]
        ).text

    async def _read_all(self, files: Sequence[MessageFile]) -> dict[MessageFile, FileRead]:
        """Read a message's files concurrently."""
        read: dict[MessageFile, FileRead] = {}
        if self.mode != "text":
            for file in files:
                why = "off" if self.mode == "off" else _WHY_UNREAD.get(file.kind, "names")
                read[file] = _named(file, "names" if why == "slack" else why)
            return read
        looked_up = await asyncio.gather(*map(self._describe, files))
        count, waiting = 0, dict[MessageFile, MessageFile]()
        for file, described in zip(files, looked_up, strict=True):
            if file in read or file in waiting:
                continue
            if described is None:
                read[file] = _named(file, "slack" if self.files.may_read else "scope")
            elif described.kind not in _READ:
                read[file] = _named(described, _WHY_UNREAD.get(described.kind, "other"))
            elif count >= _MOST_READ and described.kind != "clip":
                read[file] = _named(described, "many")
            else:
                count += described.kind != "clip"
                waiting[file] = described
        reading = (self._read(described) for described in waiting.values())
        results = await asyncio.gather(*reading, return_exceptions=True)
        for file, result in zip(waiting, results, strict=True):
            if isinstance(result, BaseException):
                raise result
            read[file] = result
        return read

    async def _describe(self, file: MessageFile) -> MessageFile | None:
        """Return *file* with the details that its event lacked; None if Slack has none."""
        if file.kind != "unknown":
            return file
        try:
            described = await self._with_retries(self.files.describe, file.id)
        except SlackError as exc:
            log.info("file lookup failed", extra={"file": file.id, "detail": exc.detail})
            return None
        return None if described.kind == "unknown" else described

    async def _read(self, file: MessageFile) -> FileRead:
        """Return a file's text, or why it can't be read. Raises `TryLater` if Slack rejects the bot's token."""
        try:
            async with asyncio.timeout(_LONGEST):
                if file.kind == "clip":
                    return await self._clip(file)
                if file.is_whole:
                    return FileRead(content_words.file_with(file, file.words))
                if file.kind == "document":
                    return await self._document(file)
                fetched = await self._with_retries(self._fetch, file)
        except TimeoutError:
            return _named(file, "slow")
        except SlackTokenRefused as exc:
            raise TryLater from exc
        except SlackError as exc:
            log.info("file can't be read", extra={"file": file.id, "detail": exc.detail})
            if file.words:  # the beginning of an email, which came with the message
                return FileRead(
                    content_words.file_with(file, file.words, "only its beginning"), _missing(file, "slack")
                )
            return _named(file, "scope" if isinstance(exc, SlackRefused) and exc.error == SIGN_IN else "slack")
        words = fetched.text()
        if "\0" in words[:SNIFFED]:  # binary data
            return _named(file, "other")
        is_long = fetched.is_cut or len(words.encode()) > FILE
        if is_long:
            return FileRead(
                content_words.file_with(file, content_words.cut_bytes(words, FILE), _CUT), _missing(file, "cut")
            )
        return FileRead(content_words.file_with(file, words))

    async def _fetch(self, file: MessageFile) -> FileContent:
        async with self.fetched:
            return await self.files.fetch(file, FILE)

    async def _document(self, file: MessageFile) -> FileRead:
        try:
            read = None if file.size > MOST_BYTES else await self._with_retries(self._document_text, file)
        except DocumentNotRead as exc:
            log.info("document can't be read", extra={"file": file.id, "detail": exc.why})
            return _named(file, _WHY_NOT[exc.why])
        if read is None:
            return _named(file, "large")
        if not read.text:
            return _named(file, "empty")
        note, missing = ("cut here: there is more of it", _missing(file, "part")) if read.is_cut else ("", None)
        return FileRead(content_words.file_with(file, read.text, note), missing)

    async def _document_text(self, file: MessageFile) -> DocumentText | None:
        """Fetch and read a document; None if it's too large."""
        async with self.readers:
            fetched = await self.files.fetch(file, MOST_BYTES)
            return None if fetched.is_cut else await self.documents.read(fetched.content, file.format, FILE)

    async def _clip(self, file: MessageFile) -> FileRead:
        """Return Slack's transcript of a clip; Slack takes a moment to make it."""
        waits = iter(_TRANSCRIPT)
        while file.is_pending and (wait := next(waits, None)) is not None:
            await self.sleep(wait)
            try:
                file = await self.files.describe(file.id)
            except SlackTokenRefused:
                raise
            except SlackRefused as exc:
                log.info("clip lookup failed", extra={"file": file.id, "detail": exc.detail})
                return _named(file, "scope" if exc.error == SIGN_IN else "silent")
            except SlackError as exc:
                log.info("clip lookup failed for now", extra={"file": file.id, "detail": exc.detail})
        if not file.words:
            return _named(file, "unfinished" if file.is_pending else "silent")
        if file.is_whole:
            return FileRead(content_words.file_with(file, file.words))
        try:
            fetched = await self._with_retries(self._fetch, file)
            words = transcript(fetched.text())
        except SlackTokenRefused:
            raise
        except SlackError as exc:
            log.info("transcript can't be read", extra={"file": file.id, "detail": exc.detail})
            words = ""
        if words:
            return FileRead(content_words.file_with(file, words))
        note = "this is only the beginning of it"
        return FileRead(content_words.file_with(file, file.words, note), _missing(file, "beginning"))

    async def _with_retries(self, call: Callable[P, Awaitable[T]], *args: P.args, **kwargs: P.kwargs) -> T:
        """Make a call that only reads, and retry it after temporary failures."""
        for wait in _TRIES:
            try:
                return await call(*args, **kwargs)
            except SlackRefused:
                raise
            except SlackError as exc:
                await self.sleep(min(exc.retry_after.total_seconds(), _LONGEST) if exc.retry_after else wait)
        return await call(*args, **kwargs)

    async def _resolve(self, parts: Sequence[MessagePart]) -> content_words.Resolve:
        """Look up the people and channels named in *parts*, and return a function that writes text with their names."""
        names = await self.directory.names(mentions_in("\n".join(_words_in(parts))))
        return partial(message_text, bot_user=self.bot_user, names=names)


def transcript(vtt: str) -> str:
    """Return the words of a WebVTT file, which Slack makes for each clip: https://www.w3.org/TR/webvtt1/."""
    lines: list[str] = []
    for block in re.split(r"\n[ \t]*\n", "\n".join(vtt.splitlines())):  # cues; other blocks have no time
        _, arrow, cue = block.partition("-->")
        lines += [_TAG.sub("", line).strip().removeprefix("- ") for line in cue.split("\n")[1:]] if arrow else []
    return _ENTITY.sub(lambda entity: html.unescape(entity[0]), " ".join(filter(None, lines)))


def _missing(file: MessageFile, why: str) -> NotRead:
    return NotRead(why=why, name=file.name)


def _named(file: MessageFile, why: str) -> FileRead:
    return FileRead(content_words.named_file(file), _missing(file, why))


def _words_in(parts: Sequence[MessagePart]) -> Iterator[str]:
    for part in parts:
        match part:
            case Quotation():
                yield from (part.text, f"<@{part.author_id}>" if not part.author else "", f"<#{part.channel}>")
                yield from (cell for table in part.tables for row in table.rows for cell in row)
            case Table():
                yield from (cell for row in part.rows for cell in row)
            case Alert():
                yield part.text
