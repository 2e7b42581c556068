"""`Reply`: something to show in Slack, before anybody has decided how it is sent."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

Block = dict[str, Any]
"""A Block Kit block, as Slack's JSON has it: https://docs.slack.dev/reference/block-kit/blocks"""

View = dict[str, Any]
"""A modal view, as Slack's JSON has it: https://docs.slack.dev/reference/views"""


class Audience(StrEnum):
    """Who sees a reply."""

    THREAD = "thread"  # everybody, in the thread of the message that it answers
    CHANNEL = "channel"  # everybody, as a message of its own in the channel
    PRIVATE = "private"  # only the person who asked


class Attachment(BaseModel):
    """A text file that goes with a reply: *name* with its extension, and its whole *content*."""

    model_config = ConfigDict(frozen=True)

    name: str
    content: str


class Reply(BaseModel):
    """What is shown. It is stored in the journal between deciding and posting, so it is plain data.

    Either *markdown* (an agent's answer of any length: `bridge.slack.parts` cuts it and makes it harmless) or *blocks*
    (at most 50, within the limits of `bridge.slack.blockkit.kit`), and in either case *text*, the plain words for
    notifications, screen readers and the case that Slack refuses the blocks. Blocks and text are ready to be sent:
    whatever came from outside is already escaped. *footer* follows the last part of a markdown answer. *plainer* are
    other forms of *blocks*, which say the same with simpler means: each is tried where Slack refuses the one before.
    """

    model_config = ConfigDict(frozen=True)

    text: str
    blocks: tuple[Block, ...] = ()
    plainer: tuple[tuple[Block, ...], ...] = ()
    markdown: str = ""
    footer: tuple[Block, ...] = ()
    files: tuple[Attachment, ...] = ()
    audience: Audience = Audience.PRIVATE
    replaces_original: bool = False  # the message whose button was pressed is replaced by this reply
