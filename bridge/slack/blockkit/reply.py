"""`Reply`: something to show in Slack, independent of how it's sent."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel

Block = dict[str, Any]
"""A Block Kit block in Slack's JSON: https://docs.slack.dev/reference/block-kit/blocks"""

View = dict[str, Any]
"""A modal or Home view in Slack's JSON: https://docs.slack.dev/reference/views"""


class Audience(StrEnum):
    """Who sees a reply."""

    THREAD = "thread"  # everyone, in the thread of the message it answers
    CHANNEL = "channel"  # everyone, as a new message in the channel
    PRIVATE = "private"  # only the person who sent the command, click or message


class Attachment(BaseModel, frozen=True):
    """A text file sent with a reply: *name* with its extension, and its whole *content*.

    Where files aren't allowed, *instead* is shown of it, or if that's ``""``, its content.
    """

    name: str
    content: str
    instead: str = ""


class Speaker(BaseModel, frozen=True):
    """The agent that a message is from: the *name* shown instead of the app's, and the *face*, such as ``:fox_face:``.

    https://docs.slack.dev/reference/methods/chat.postMessage#authorship
    """

    name: str
    face: str


class Reply(BaseModel, frozen=True):
    """The content of a reply: plain data, because it's stored in the journal before it's posted.

    It has either *markdown* (an agent's answer of any length: `bridge.slack.parts` cuts it and makes it harmless) or
    *blocks* (at most 50, within the limits of `bridge.slack.blockkit.kit`), and always *text* for notifications, screen
    readers and rejected blocks. Blocks and text are ready to send: text from outside is already escaped. *footer*
    follows the last part of a markdown answer. *plainer* are simpler forms of *blocks*, each tried if Slack rejects the
    one before. *replies* are messages with blocks in the thread of this one. *speaker* is the agent whose message this
    is, if the app may show that; None is the bridge itself.
    """

    text: str
    blocks: tuple[Block, ...] = ()
    plainer: tuple[tuple[Block, ...], ...] = ()
    markdown: str = ""
    footer: tuple[Block, ...] = ()
    files: tuple[Attachment, ...] = ()
    replies: tuple[Reply, ...] = ()
    speaker: Speaker | None = None
    audience: Audience = Audience.PRIVATE
    replaces_original: bool = False  # this reply replaces the message whose button was clicked

    def stored(self) -> dict[str, Any]:
        """Return its stored form, for a `bridge.inbound.Notice`."""
        return self.model_dump(mode="json", exclude_defaults=True)
