"""`Ladder`: from the form that shows most to the plainest, as far down as Slack makes us go.

What Slack refuses, it refuses again: a kind of block without which the next form was taken is left out from then on,
for the life of the process. So a workspace without charts costs one refused call, not one for each message.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator

from bridge.errors import SlackRefused
from bridge.slack.blockkit.reply import Block
from bridge.slack.parts import BLOCKS_REFUSED, NOT_KNOWN, Part

log = logging.getLogger(__name__)

Form = tuple[Block, ...]


class Ladder:
    """Which kinds of blocks this workspace does not take, as far as that has shown."""

    def __init__(self) -> None:
        self._refused: set[str] = set()

    async def down(self, part: Part, send: Callable[[str, Form], Awaitable[None]]) -> bool:
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
