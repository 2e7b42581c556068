"""What changed in the statistics, and the words for it. `bridge.features.stats.changes` finds it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from bridge import words
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.numbers import ENGLISH, Style, per_cent, signed, whole

_LEAST_SHARE: Final = 0.0005  # less would be written as 0.0 %
_MOST_NAMES: Final = 10
_NAME: Final = 60


@dataclass(frozen=True, slots=True)
class Difference:
    """A number *now* and *then*."""

    now: int
    then: int

    @property
    def by(self) -> int:
        """How much it grew."""
        return self.now - self.then

    @property
    def share(self) -> float | None:
        """How much it grew in relation to what it was; None where that says nothing."""
        return self.by / self.then if self.then > 0 else None


@dataclass(frozen=True, slots=True)
class NamesChanged:
    """What changed in categories or in tags: *new* with their counts now, *vanished* with their counts then.

    *moved* has what was there then and now; what is in none of them was too rare then to be known.
    """

    new: Sequence[tuple[str, int]] = ()
    vanished: Sequence[tuple[str, int]] = ()
    moved: Mapping[str, Difference] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed *since* a moment, which may be *called* something: ``yesterday``, ``the last report``."""

    since: datetime
    prompts: Difference
    runs: Difference
    versions: Difference
    categories: NamesChanged = NamesChanged()
    tags: NamesChanged = NamesChanged()
    called: str = ""


def change(difference: Difference, style: Style = ENGLISH) -> str:
    """Say how a number changed: ``+56, +4.8 %``."""
    if not difference.by:
        return words.NO_CHANGE
    share = difference.share
    if share is None or abs(share) < _LEAST_SHARE:
        return signed(difference.by, style)
    return f"{signed(difference.by, style)}, {per_cent(share, style)}"


def since_words(changes: Changes) -> str:
    """Say since when, in plain words."""
    return words.SINCE.format(moment=changes.called or words.DAY_AND_TIME.format(moment=changes.since))


def name_change(changes: NamesChanged, name: str, style: Style = ENGLISH) -> str:
    """Say how one category or tag changed; ``""`` where nothing is known of it then."""
    if name in changes.moved:
        difference = changes.moved[name]
        return signed(difference.by, style) if difference.by else "0"
    return words.NEW if any(name == new for new, _count in changes.new) else ""


def news(what: str, changes: NamesChanged, style: Style = ENGLISH) -> list[str]:
    """List what came and what went: ``New tags: alpha (3), beta (1)``."""
    lines = []
    if changes.new:
        lines.append(words.NEW_NAMES.format(what=what, names=_names(changes.new, style)))
    if changes.vanished:
        lines.append(words.VANISHED_NAMES.format(what=what, names=_names(changes.vanished, style)))
    return lines


def _names(counts: Sequence[tuple[str, int]], style: Style) -> str:
    listed, left = counts[:_MOST_NAMES], len(counts) - _MOST_NAMES
    shown = [f"{kit.named(name, _NAME) if name.strip() else words.NO_NAME} ({whole(n, style)})" for name, n in listed]
    names = ", ".join(shown)
    return words.NAMES_AND_MORE.format(names=names, count=whole(left, style)) if left > 0 else names
