"""What a message has besides its text, in words for the agent; and what of it did not go along.

This is done in the turn, so after it was decided that the person may talk to the agent, and may be done again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from bridge.features.notices import NotRead
from bridge.inbound import Alert, LeftOut, MessagePart, Quotation, Table
from bridge.slack.blockkit import content_words
from bridge.slack.blockkit.content_words import Passage
from bridge.slack.blockkit.mrkdwn import mentions_in, message_text
from bridge.slack.people import Directory

_MOST_NAMES: Final = 30  # that are looked up for one message's parts; beyond, people are called by their ids


@dataclass(frozen=True, slots=True)
class Whole:
    """A message in words, its parts below its own text, and what is *missing* in it."""

    text: str
    missing: tuple[NotRead, ...] = ()


@dataclass(frozen=True, slots=True)
class PartReader:
    """Makes words of the parts of messages, as the bot *bot_user* sees people and channels."""

    directory: Directory
    bot_user: str

    async def text(self, text: str) -> str:
        """Write a message's own *text* as people read it: names, links as Markdown, and no mention of the bot."""
        if "<" in text or "&" in text:
            mentions = mentions_in(text)
            users = {user: await self.directory.user_name(user) for user in mentions.users if user != self.bot_user}
            channels = {channel: await self.directory.channel_name(channel) for channel in mentions.channels}
            text = message_text(text, bot_user=self.bot_user, user_names=users, channel_names=channels)
        return text.strip()

    async def below(self, text: str, parts: Sequence[MessagePart]) -> Whole:
        """Put *parts* below the message's own *text*; nothing where all of it is but names of files. Never fails."""
        resolve = await self._resolve(parts)
        passages: list[Passage] = []
        missing: list[NotRead] = []
        for part in parts:
            if (said := content_words.passage(part, resolve)) is not None:
                passages.append(said)
            if isinstance(part, LeftOut) or part.is_cut:
                missing.append(NotRead(why="full"))
            for file in content_words.files_in([part]):
                passages.append(content_words.named_file(file))
                missing.append(NotRead(why=_WHY_UNREAD.get(file.kind, "other"), name=file.name))
        if not text and all(one.is_name for one in passages):
            return Whole("", tuple(dict.fromkeys(missing)))
        made = content_words.composed(text, passages)
        if made.cut:
            missing.append(NotRead(why="full"))
        return Whole(made.text, tuple(dict.fromkeys(missing)))

    async def described_below(self, text: str, parts: Sequence[MessagePart]) -> str:
        """Put *parts* below a message's own *text*, with the files by name only. Never fails."""
        resolve = await self._resolve(parts)
        said = [content_words.passage(part, resolve) for part in parts]
        files = map(content_words.named_file, content_words.files_in(parts))
        return content_words.composed(text, [*(one for one in said if one is not None), *files]).text

    async def _resolve(self, parts: Sequence[MessagePart]) -> content_words.Resolve:
        """Look up who is named in *parts*."""
        mentions = mentions_in("\n".join(_words_in(parts)))
        users, channels = mentions.users[:_MOST_NAMES], mentions.channels[:_MOST_NAMES]
        user_names = await asyncio.gather(*map(self.directory.user_name, users))
        channel_names = await asyncio.gather(*map(self.directory.channel_name, channels))
        return partial(
            message_text,
            bot_user=self.bot_user,
            user_names=dict(zip(users, user_names, strict=True)),
            channel_names=dict(zip(channels, channel_names, strict=True)),
        )


_WHY_UNREAD: Final = {"image": "image", "video": "video", "clip": "silent", "gone": "gone", "link": "link"}


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
