"""Everything the bot posts in Slack: messages, forms and Home tabs.

Every call ends within `BUDGET`, including waits, because a turn's lease isn't much longer. If that cuts a `Poster.post`
short (`SlackUnreachable`), *existing* has the parts that were posted, for the next attempt; if the outcome is in doubt
(`SlackAmbiguous`), `Poster.history` finds them.

A post may take several calls, and the process may be suspended before any of them. So those that show something for a
turn take a *guard*, which is asked immediately before each call and raises what forbids it.
"""

from __future__ import annotations

import asyncio
import html
import logging
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import islice

from bridge.errors import SlackAmbiguous, SlackError, SlackRefused, SlackUnreachable, ThreadGone
from bridge.json_reader import Json
from bridge.latest import Latest
from bridge.slack.api import Identity, SlackWeb
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Attachment, Block, Reply, Speaker, View
from bridge.slack.history import History, Pages
from bridge.slack.pace import Deadline, EffectCheck, Monotonic, Pace, Sleep
from bridge.slack.parts import (
    ANSWER_FILE,
    MOST_MESSAGES,
    TEXT,
    WHOLE,
    MessageTag,
    Part,
    Place,
    as_text,
    beginning_and_end,
    has_later_parts,
    in_words,
    is_posted_as_text,
    parts_of,
    replies_of,
    shortened,
)
from bridge.slack.scopes import CUSTOMIZE

log = logging.getLogger(__name__)

_MOST_DIRECTS = 50_000  # people

BUDGET = 10.0  # seconds
_PAUSE_BEFORE_SEARCH = 1.0  # seconds; Slack may still be processing the call
_RESERVE_AFTER_SEARCH = 1.0  # seconds that a search leaves for the call after it
CLOCK_SKEW = timedelta(minutes=5)  # by which a search for an earlier post begins before it
_RESPONSES = 5  # https://docs.slack.dev/interactivity/handling-user-interaction#message_responses
_NO_FILE = "A message like this can't have a file."
_DELETE_PAUSES = (0.0, 1.0, 2.0, 4.0, 8.0)  # seconds

BLOCKS_REFUSED = frozenset(
    {
        "invalid_blocks",
        "invalid_blocks_format",
        "block_mismatch",
        "markdown_text_conflict",
        "msg_blocks_too_long",
        "msg_too_long",
        "too_many_blocks",
        "invalid_arguments",
        "invalid_payload",  # from a response_url
    }
)
"""Slack's errors about blocks or length: a plainer message may be accepted."""

THREAD_GONE = "thread_not_found"
"""Slack's error about a thread whose first message was deleted."""

_UNSUPPORTED = re.compile(r"unsupported type: (\w+) \[json-pointer:/blocks/\d+/type\]")
"""How Slack names a kind of block that this workspace lacks, in ``response_metadata``."""

_METADATA_REFUSED = ("metadata_", "invalid_metadata_")
"""The prefixes of Slack's errors about a message's metadata.

https://docs.slack.dev/reference/methods/chat.postMessage#errors
"""

Blocks = tuple[Block, ...]

ExistingParts = dict[str, str]
"""The bot's messages that carry a turn's tag: the ``ts`` of each by the name of its part (`bridge.slack.parts`)."""


def first_of(existing: ExistingParts) -> str:
    """Return the ``ts`` of the first message, ``""`` if there's none. That of a shared file may be unknown."""
    return min(filter(None, existing.values()), default="")


@dataclass(frozen=True, slots=True)
class Recipient:
    """The recipient of a private message: *user* in *channel*, by *response_url* if there is one."""

    channel: str
    user: str
    thread_ts: str = ""
    response_url: str = ""

    @property
    def is_reachable(self) -> bool:
        """Whether there's a channel or a response_url to post to."""
        return bool(self.response_url or self.channel)


@dataclass(slots=True)
class _Posting:
    """One reply being posted in one place. Posted parts are added to *existing*; *count* is the number of messages.

    Each may become *most_texts* if Slack refuses its blocks. *refused_because* is Slack's error about a file. All are
    from *speaker*.
    """

    place: Place
    tag: MessageTag
    existing: ExistingParts
    deadline: Deadline
    speaker: Speaker | None = None
    count: int = 1
    most_texts: int = 1
    refused_because: str = ""
    channel: str = ""  # where Slack posted what's for a person: files need its ID

    @property
    def why(self) -> str:
        """Why something isn't posted as a file, and what to do."""
        if self.refused_because:
            return f"Slack didn't accept a file ({self.refused_because}). Ask your admin to allow files."
        return "To get everything as a file, ask your admin to give the app the permission files:write."


class Authorship:
    """Shows messages with an agent's name and face, if the bot *identity* may.

    Slack's pages on the scope and on each method name the arguments; ``chat.update`` has none, and can't change them.
    https://docs.slack.dev/reference/scopes/chat.write.customize
    """

    def __init__(self, identity: Identity) -> None:
        self.is_allowed = CUSTOMIZE in identity.scopes

    def of(self, speaker: Speaker | None) -> dict[str, str]:
        """Return the arguments that show *speaker*."""
        is_shown = speaker is not None and self.is_allowed
        return {"username": speaker.name, "icon_emoji": speaker.face} if is_shown and speaker else {}

    def is_refused(self, error: SlackRefused) -> bool:
        """Whether *error* says that the scope is missing; then it was taken away, and isn't used from now on."""
        if error.error != "missing_scope" or error.needed not in {"", CUSTOMIZE}:
            return False
        log.warning("Slack no longer lets the app show agents' names and faces", extra={"needed": error.needed})
        self.is_allowed = False
        return True


class Poster:
    """Posts in Slack as the bot *identity*."""

    def __init__(
        self, web: SlackWeb, identity: Identity, *, monotonic: Monotonic = time.monotonic, sleep: Sleep = asyncio.sleep
    ) -> None:
        self.token = web.token
        self._web = web
        self._identity = identity
        self._monotonic = monotonic
        self._sleep = sleep
        self._pace = Pace(monotonic=monotonic, sleep=sleep)
        self._fallback = BlockFallback()
        self._pages = Pages()
        self.may_upload = "files:write" in identity.scopes
        self.directs: Latest[str, str] = Latest(_MOST_DIRECTS)  # with people, by user ID, to whom it has posted
        self.authorship = Authorship(identity)

    async def post(
        self, place: Place, reply: Reply, tag: MessageTag, existing: ExistingParts, guard: EffectCheck | None = None
    ) -> str:
        """Post a reply in *place*, except its *existing* parts; return the ``ts`` of its first message.

        A long reply becomes several messages, or its beginning and a file. Posted parts are added to *existing*, so
        that the call can be repeated after an error. Raises `SlackError`, and what *guard* raises.
        """
        most = _without_files(reply, MOST_MESSAGES)
        posting = _Posting(place, tag, existing, self._deadline(guard), reply.speaker)
        may_be_a_file = not reply.blocks and self.may_upload and not (existing and has_later_parts(existing))
        laid_out = await _laid_out(reply, most + 1 if may_be_a_file else None)
        whole = None
        if may_be_a_file and len(laid_out) > most:
            content = reply.markdown or html.unescape(reply.text)
            laid_out = [shortened(reply, laid_out[0]), *replies_of(reply)]
            whole = Attachment(name=ANSWER_FILE, content=content)
        while True:
            if whole is None:
                if len(laid_out) > most:
                    laid_out = beginning_and_end(laid_out, most, posting.why)
                posting.most_texts = most // max(len(laid_out), 1)
            posting.count = len(laid_out)
            for part in laid_out:
                if part.name in existing:
                    continue
                if part.is_reply and not place.thread_ts:
                    posting.place = Place(place.channel, first_of(existing))
                is_partly_posted = bool(existing) and is_posted_as_text(part.name, existing)
                send = partial(self._post_message, posting, part.name)
                if is_partly_posted or not await self._fallback.send(part, send):
                    await self._post_as_text(posting, part)
            if whole is None or await self._upload(posting, WHOLE, whole):
                break
            laid_out, whole = await _laid_out(reply), None  # Slack rejected the file: post messages instead
        if reply.files:
            await self._attach(posting, reply.files)
        return first_of(existing)

    def channel_of(self, place: Place) -> str:
        """Return the channel of posts in *place*, as Slack answered; a person whom only earlier processes wrote to."""
        return self.directs.get(place.channel, place.channel)

    async def delete(self, channel: str, ts: str) -> None:
        """Delete one of the bot's messages, with a few attempts; if that's impossible, it's only logged."""
        for pause in _DELETE_PAUSES:
            await self._sleep(pause)
            try:
                return await self.remove(channel, ts)
            except SlackRefused as exc:
                log.info("can't delete a message", extra={"error": exc.error})
                return None
            except SlackError as exc:
                log.warning("can't delete a message yet", extra={"detail": exc.detail})
        return None

    async def call(self, method: str, arguments: Json) -> None:
        """Call a method that posts nothing. Raises `SlackError`."""
        await self._web.call(method, arguments)

    def history(self, deadline: Deadline | None = None) -> History:
        """Return a reader of Slack's history that stops after `BUDGET` or at *deadline*."""
        return History(self._web, self._identity, deadline or self._deadline(), self._pages)

    async def whisper(
        self,
        recipient: Recipient,
        reply: Reply,
        existing: ExistingParts | None = None,
        guard: EffectCheck | None = None,
    ) -> None:
        """Show a reply to one person, by response_url or, without one or if it's used up, as an ephemeral message.

        Files can't be private, so they're shown as text. For *existing* and errors, see `post`.
        """
        deadline = self._deadline(guard)

        async def send(text: str, blocks: Blocks, *, replaces: bool) -> None:
            if recipient.response_url:
                body = _response(text, blocks, "ephemeral", replaces=replaces)
                if recipient.thread_ts and not replaces:
                    body["thread_ts"] = recipient.thread_ts
                try:
                    return await self._respond(recipient.response_url, body, deadline)
                except SlackRefused as exc:  # after five uses or half an hour
                    if exc.error in BLOCKS_REFUSED or not (recipient.channel and recipient.user):
                        raise
            ephemeral = {
                "channel": recipient.channel,
                "user": recipient.user,
                "thread_ts": recipient.thread_ts or None,
                "text": text,
                "blocks": list(blocks) or None,
                "parse": None if blocks else "none",
            }
            await self._pace.call(self._web.call, "chat.postEphemeral", ephemeral, deadline, recipient.channel)
            return None

        await self._show(reply, {} if existing is None else existing, send)

    async def respond(
        self, response_url: str, reply: Reply, existing: ExistingParts, guard: EffectCheck | None = None
    ) -> None:
        """Show a reply to the channel by response_url, for when the bot can't post.

        For *existing* and errors, see `post`.
        """
        deadline = self._deadline(guard)

        async def send(text: str, blocks: Blocks, *, replaces: bool) -> None:
            await self._respond(response_url, _response(text, blocks, "in_channel", replaces=replaces), deadline)

        await self._show(reply, existing, send, _RESPONSES)

    async def update(
        self, channel: str, ts: str, reply: Reply, tag: MessageTag, guard: EffectCheck | None = None
    ) -> None:
        """Replace one of the bot's messages with the first message of *reply*. Its files aren't posted (`attach`).

        Repeatable. For errors, see `post`.
        """
        deadline = self._deadline(guard)
        part = next(parts_of(reply), Part("0", reply.text))

        async def send(text: str, blocks: Blocks) -> None:
            body: Json = {
                "channel": channel,
                "ts": ts,
                "text": kit.cut_escaped(text, TEXT),
                "blocks": list(blocks),
                "metadata": tag.metadata("0", 1),
                "parse": "none",  # otherwise Slack links bare words again
            }
            try:
                await self._pace.call(self._web.call, "chat.update", body, deadline, channel)
            except SlackRefused as exc:
                if not exc.error.startswith(_METADATA_REFUSED):
                    raise
                tagged = tag.in_blocks("0", blocks, body["text"])
                body |= {"metadata": None, "blocks": tagged}
                await self._pace.call(self._web.call, "chat.update", body, deadline, channel)

        if not await self._fallback.send(part, send):
            await send(part.instead or part.text, ())

    async def attach(
        self, place: Place, reply: Reply, tag: MessageTag, existing: ExistingParts, guard: EffectCheck | None = None
    ) -> None:
        """Post a reply's files, except the *existing* ones, in the thread of its first message, which exists.

        For *existing* and errors, see `post`.
        """
        if reply.files:
            await self._attach(_Posting(place, tag, existing, self._deadline(guard), reply.speaker), reply.files)

    async def remove(self, channel: str, message: str) -> None:
        """Delete one of the bot's messages, by its ``ts`` or its response_url. Raises `SlackError`."""
        if message.startswith("http"):
            await self._web.respond(message, {"delete_original": True})
        else:
            arguments = {"channel": channel, "ts": message}
            await self._pace.call(self._web.call, "chat.delete", arguments, self._deadline(), channel)

    async def open_form(self, trigger_id: str, view: View) -> None:
        """Open a modal. Raises `SlackError`."""
        await self._web.call("views.open", {"trigger_id": trigger_id, "view": view})

    async def publish_home(self, user: str, view: View, view_hash: str) -> None:
        """Show the Home tab of *user*, unless the tab has changed since *view_hash* (``hash_conflict``).

        Raises `SlackError`. https://docs.slack.dev/reference/methods/views.publish
        """
        await self._web.call("views.publish", {"user_id": user, "view": view, "hash": view_hash or None})

    async def _post_as_text(self, posting: _Posting, part: Part) -> None:
        """Post a part as plain text or, if Slack rejects even that, as a file."""
        try:
            for piece in in_words(part, posting.most_texts, posting.why):
                await self._post_message(posting, piece.name, piece.text)
        except SlackRefused as exc:
            whole = Attachment(name="answer.txt", content=part.instead or part.text)
            if exc.error not in BLOCKS_REFUSED or not await self._upload(posting, f"{part.name}.file", whole):
                raise

    async def _post_message(
        self, posting: _Posting, name: str, text: str, blocks: Blocks = (), *, is_tagged_in_a_block: bool = False
    ) -> None:
        """Post one message with its tag. If Slack may have accepted it, search for it, and post it again if missing.

        A reply to a deleted message is shown outside of its thread: it's removed at once. Raises `ThreadGone` then.
        """
        if name in posting.existing:
            return None
        place, shown_as = posting.place, self.authorship.of(posting.speaker)
        shown = posting.tag.in_blocks(name, blocks, text) if is_tagged_in_a_block else list(blocks)
        if posting.speaker and not shown_as and shown and not posting.existing and posting.tag.agent is not None:
            shown.append(kit.context(kit.answered_by(posting.speaker.name)))  # the scope was taken away since
        body = {
            "channel": place.channel,
            "thread_ts": place.thread_ts or None,
            "text": text,
            "blocks": shown or None,
            "metadata": None if is_tagged_in_a_block else posting.tag.metadata(name, posting.count),
            "unfurl_links": False,
            "unfurl_media": False,
            # Without blocks, Slack shows the text, and would turn bare words in it into links and mentions.
            "parse": None if shown else "none",
            **shown_as,
        }
        post = partial(self._pace.call, self._web.call, "chat.postMessage", body, posting.deadline, place.channel)
        try:
            try:
                answer = await post()
            except SlackAmbiguous as doubt:
                ts = await self._search(posting, name, doubt)
                answer = await post() if ts is None else {"ts": ts}
        except SlackRefused as exc:
            if shown_as and self.authorship.is_refused(exc):
                return await self._post_message(posting, name, text, blocks, is_tagged_in_a_block=is_tagged_in_a_block)
            if place.thread_ts and exc.error == THREAD_GONE:
                raise ThreadGone(exc.method, exc.error) from exc
            if is_tagged_in_a_block or not exc.error.startswith(_METADATA_REFUSED):
                raise
            log.warning("Slack rejected a message's metadata, posting without it", extra={"error": exc.error})
            return await self._post_message(posting, name, text, blocks, is_tagged_in_a_block=True)
        ts, posting.channel = str(answer.get("ts") or ""), str(answer.get("channel") or posting.channel)
        if posting.channel != place.channel:
            self.directs[place.channel] = posting.channel
        message = answer.get("message")
        if place.thread_ts and isinstance(message, dict) and not message.get("thread_ts"):
            await self.delete(place.channel, ts)
            raise ThreadGone("chat.postMessage", "shown outside of its thread")
        posting.existing[name] = ts
        return None

    async def _search(self, posting: _Posting, name: str, doubt: SlackAmbiguous) -> str | None:
        """Search the thread for the part *name*; returns its ``ts``, or None if Slack doesn't have it.

        Raises *doubt* if it can't search, or Slack may still be at the call.
        """
        log.warning("checking whether a message was posted", extra={"detail": doubt.detail})
        if posting.deadline.left() < _PAUSE_BEFORE_SEARCH + 2 * _RESERVE_AFTER_SEARCH:
            raise doubt
        began = self._monotonic()
        await self._sleep(_PAUSE_BEFORE_SEARCH)
        history = self.history(Deadline(posting.deadline.at - _RESERVE_AFTER_SEARCH, self._monotonic))
        try:
            parts = await history.find(posting.place, posting.tag.turn, self._web.now() - CLOCK_SKEW)
        except SlackError:
            raise doubt from None
        left = doubt.under_way - timedelta(seconds=self._monotonic() - began)
        if name not in parts and left > timedelta(0):
            raise SlackAmbiguous(doubt.method, doubt.detail, left) from doubt
        return parts.get(name)

    async def _attach(self, posting: _Posting, files: Sequence[Attachment]) -> None:
        """Upload the files that aren't posted yet, or post their beginning and end as text if files aren't allowed.

        Either goes into the thread of the reply's first message.
        """
        posting.place = Place(posting.place.channel, posting.place.thread_ts or first_of(posting.existing))
        posted = sum(not name.startswith("file") for name in posting.existing)
        most = (MOST_MESSAGES - max(posted, 1)) // len(files)
        for number, attachment in enumerate(files):
            name = f"file{number}"
            if is_posted_as_text(name, posting.existing) or not await self._upload(posting, name, attachment):
                for part in as_text(name, attachment, max(most, 1), posting.why):
                    await self._post_message(posting, part.name, part.text)

    async def _upload(self, posting: _Posting, name: str, attachment: Attachment) -> bool:
        """Upload a file; False if Slack doesn't allow it. An empty file counts as uploaded."""
        if name in posting.existing or not attachment.content:
            return True
        if not self.may_upload:
            return False
        ts: str | None = ""  # Slack shares files asynchronously, and doesn't return the message's ts
        try:
            try:
                await self._share(posting, name, attachment)
            except SlackAmbiguous as doubt:
                if (ts := await self._search(posting, name, doubt)) is None:
                    await self._share(posting, name, attachment)
        except SlackRefused as exc:
            log.warning("Slack rejected a file", extra={"error": exc.error})
            posting.refused_because = exc.error
            return False
        posting.existing[name] = ts or ""
        return True

    async def _share(self, posting: _Posting, name: str, attachment: Attachment) -> None:
        """Upload and share a file. Nothing is visible before the last of the three calls, so they may be repeated."""
        place, deadline, shown_as = posting.place, posting.deadline, self.authorship.of(posting.speaker)
        content = attachment.content.encode(errors="replace")
        wanted = {"filename": posting.tag.file_name(attachment.name, name), "length": str(len(content))}
        try:
            granted = await self._pace.call(self._web.read, "files.getUploadURLExternal", wanted, deadline)
            await deadline.check()
            await self._web.upload(str(granted.get("upload_url")), content, seconds=max(deadline.left(), 1.0))
        except SlackAmbiguous as exc:
            raise SlackUnreachable(exc.method, exc.detail) from exc
        shared = {
            "files": [{"id": granted.get("file_id"), "title": attachment.name}],
            "channel_id": posting.channel or place.channel,
            "thread_ts": place.thread_ts or None,
            **shown_as,
        }
        try:
            await self._pace.call(self._web.call, "files.completeUploadExternal", shared, deadline)
        except SlackRefused as exc:
            if not (shown_as and self.authorship.is_refused(exc)):
                raise
            await self._share(posting, name, attachment)

    async def _show(
        self, reply: Reply, existing: ExistingParts, send: Callable[..., Awaitable[None]], most: int = MOST_MESSAGES
    ) -> None:
        """Send the parts of a reply that aren't *existing*, with its files as text, in at most *most* messages."""
        parts = beginning_and_end(list(parts_of(reply)), _without_files(reply, most), _NO_FILE)
        for number, file in enumerate(reply.files):
            left = (most - len(parts)) // (len(reply.files) - number)
            parts += as_text(f"file{number}", file, left, _NO_FILE)
        for part in parts:
            if part.name in existing:
                continue
            send_part = partial(send, replaces=reply.replaces_original and part.name == "0")
            if not await self._fallback.send(part, send_part):
                for piece in in_words(part, max(most // len(parts), 1), _NO_FILE):
                    await send_part(piece.text, ())
            existing[part.name] = ""

    async def _respond(self, response_url: str, body: Json, deadline: Deadline) -> None:
        await deadline.check()
        await self._web.respond(response_url, body, seconds=max(deadline.left(), 1.0))

    def _deadline(self, guard: EffectCheck | None = None) -> Deadline:
        return Deadline(self._monotonic() + BUDGET, self._monotonic, guard)


class BlockFallback:
    """Tries the forms of a message from the richest to the plainest, until Slack accepts one.

    Slack would reject the same kind of block again, so one that Slack named is left out for as long as the process
    runs: a workspace without charts costs one rejected call, not one per message. Other rejections say nothing about
    the next message: ``invalid_blocks`` is also Slack's word for too many blocks, or too much text.
    """

    def __init__(self) -> None:
        self._refused: set[str] = set()  # kinds of blocks this workspace is known to reject

    async def send(self, part: Part, send: Callable[[str, Blocks], Awaitable[None]]) -> bool:
        """Send the first form of *part* that Slack accepts; False if it rejects all, and only plain text is left.

        Raises what *send* raises, except rejections of blocks.
        """
        if not part.blocks:
            await send(part.text, ())
            return True
        for form in (part.blocks, *part.plainer):
            if self._refused.intersection(block.get("type") for block in form):
                continue
            try:
                await send(part.text, form)
            except SlackRefused as exc:
                if exc.error not in BLOCKS_REFUSED:
                    raise
                log.warning("Slack rejected a message's blocks", extra={"error": exc.error})
                self._refused |= {match[1] for problem in exc.problems for match in _UNSUPPORTED.finditer(problem)}
            else:
                return True
        return False


def _without_files(reply: Reply, most: int) -> int:
    """Return how many of *most* messages are left for a reply if one file takes two, and several one each."""
    return max(most - max(len(reply.files), 2 * (len(reply.files) == 1)), 1)


async def _laid_out(reply: Reply, most: int | None = None) -> list[Part]:
    """Lay out a reply, or at most *most* of its messages; a long one in a thread, since 88 kB take up to 1.3 s."""
    if len(reply.markdown or reply.text) <= kit.MARKDOWN_PART:
        return list(islice(parts_of(reply), most))
    return await asyncio.to_thread(lambda: list(islice(parts_of(reply), most)))


def _response(text: str, blocks: Blocks, audience: str, *, replaces: bool) -> Json:
    body: Json = {
        "response_type": audience,
        "replace_original": replaces,
        "text": text,
        "unfurl_links": False,
        "unfurl_media": False,
    }
    return {**body, "blocks": list(blocks)} if blocks else body
