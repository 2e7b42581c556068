"""The numbers in the statistics.

A new number needs one line in `NUMBERS`, a new list of names with counts one in `GROUPS`, and each a field in
`bridge.project.models.Stats`. ``/stats`` with its charts, the snapshots and changes, the parts of a report, Home, the
conditions of alerts, and the placeholders of schedules follow from these tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Final

from bridge.names.listing import is_part
from bridge.project.models import Stats
from bridge.slack.blockkit import charts
from bridge.slack.blockkit.reply import Block


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number: its *name*, a plural of one word, as people type it, and its *field* in the service's response.

    The chart over time shows the number that *leads_chart*, or else the first one shown.
    """

    name: str
    field: str
    leads_chart: bool = False

    @property
    def title(self) -> str:
        """The capitalized name: ``Runs``."""
        return self.name.capitalize()

    def noun(self, number: int) -> str:
        """Return the noun for a count: ``run``, ``runs``."""
        return self.name.removesuffix("s") if number == 1 else self.name

    def of(self, stats: Stats) -> int | None:
        """Return the number from the service's response; None if it isn't usable there."""
        number = getattr(stats, self.field)
        return None if number is None else int(number)


@dataclass(frozen=True, slots=True)
class NameGroup:
    """A group of names with counts: its *name*, also its field, the name of *one* member, and its *chart*."""

    name: str
    one: str
    chart: Callable[[str, charts.Counts], Block | None]

    @property
    def title(self) -> str:
        """The capitalized name: ``Tags``."""
        return self.name.capitalize()

    def of(self, stats: Stats) -> dict[str, int]:
        """Return the counts, in the service's order; those of a name that occurs twice are added."""
        counts: dict[str, int] = {}
        for member in getattr(stats, self.name):
            counts[member.name] = counts.get(member.name, 0) + member.count
        return counts

    def is_part(self, stats: Stats) -> bool:
        """Whether there may be more names, since the service sent no list, or items that can't be used."""
        return is_part(getattr(stats, self.name))


NUMBERS: Final = (
    Number("prompts", "promptCount"),
    Number("runs", "runCount", leads_chart=True),
    Number("versions", "versionCount"),
)


def numbers_of(stats: Stats) -> dict[str, int]:
    """Return the numbers in the service's response that can be used, by name."""
    return {known.name: number for known in NUMBERS if (number := known.of(stats)) is not None}


GROUPS: Final = (NameGroup("categories", "category", charts.pie), NameGroup("tags", "tag", charts.bars))
PARTS: Final = tuple(part.name for part in (*NUMBERS, *GROUPS))
"""The names that statistics may be limited to."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A number *now* and *then*. It *has_fallen* meanwhile: what was added since then is unknown."""

    now: int
    then: int
    has_fallen: bool = False

    @classmethod
    def over(cls, numbers: Sequence[int]) -> Difference:
        """Return the difference between the first and the last of these *numbers*, in order."""
        has_fallen = any(after < before for before, after in pairwise(numbers))
        return cls(numbers[-1], numbers[0], has_fallen)

    @property
    def by(self) -> int | None:
        """What was added since then; None if that's unknown."""
        return None if self.has_fallen or self.now < self.then else self.now - self.then


@dataclass(frozen=True, slots=True)
class NamesChanged:
    """Changes in a group: *new* names with their counts now, *vanished* ones with their counts then.

    *moved* names existed then and now. Names in none of the three were too rare then to be recorded.
    """

    new: Sequence[tuple[str, int]] = ()
    vanished: Sequence[tuple[str, int]] = ()
    moved: Mapping[str, Difference] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes *since* a moment, which may be *called* ``yesterday`` or ``the last report``.

    The keys of *numbers* and *groups* are the names in `NUMBERS` and `GROUPS` that were recorded then.
    """

    since: datetime
    numbers: Mapping[str, Difference]
    groups: Mapping[str, NamesChanged] = field(default_factory=dict)
    called: str = ""

    @property
    def is_any(self) -> bool:
        """Whether anything has changed."""
        moved = [moves.by for group in self.groups.values() for moves in group.moved.values()]
        names = any(group.new or group.vanished for group in self.groups.values())
        return names or any(by != 0 for by in [*moved, *(number.by for number in self.numbers.values())])


def by_count(counts: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """Return names with their counts, the largest count first."""
    return tuple(sorted(counts, key=lambda item: (-item[1], item[0].casefold())))
