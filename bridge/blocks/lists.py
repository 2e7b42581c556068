"""What lists of workflows and agents have in common: filtered, cut to one message, and saying what was left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from bridge.blocks import kit
from bridge.blocks.reply import Block, Reply

_MOST_WORDS = 20


class Listed(Protocol):
    """What both have."""

    @property
    def name(self) -> str:
        """What people call it."""
        ...

    @property
    def description(self) -> str | None:
        """What it is for."""
        ...


T = TypeVar("T", bound=Listed)


def matching(items: Sequence[T], words: str) -> list[T]:
    """Keep what has every one of *words* in its name or description."""
    wanted = dict.fromkeys(words.casefold().split()[:_MOST_WORDS])
    searched = [(f"{item.name} {item.description or ''}".casefold(), item) for item in items]
    return [item for text, item in searched if all(word in text for word in wanted)]


def list_reply(title: str, items: Sequence[T], line: Callable[[T], Block]) -> Reply:
    """Show as many items as fit into one message."""
    shown = _fitting([line(item) for item in items])
    blocks = [kit.header(title), kit.rich(kit.bullets(shown))]
    if left := len(items) - len(shown):
        blocks.append(kit.context(f"… and {left:,} more. Words behind “list” narrow it down."))
    names = ", ".join(kit.one_line(item.name, 60) for item in items[: len(shown)])
    return kit.reply(f"{title}: {names}", *blocks)


def _fitting(lines: Sequence[Block]) -> list[Block]:
    length, shown = 0, []
    for line in lines:
        length += kit.text_length(line) + 10  # a number of a Slack message is not only its text
        if length > kit.LIST_TEXT:
            break
        shown.append(line)
    return shown
