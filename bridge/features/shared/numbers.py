"""The numbers in the statistics: the table everything else follows from.

A new number is one line of `NUMBERS`, a new list of names with counts one of `GROUPS`, and each a field of
`bridge.project.models.Stats`. ``/stats`` with its charts, the snapshots and changes, the parts of a report, Home, and
``bridge stats`` with its JSON and CSV follow from these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from bridge.project.models import Stats
from bridge.slack.blockkit import charts
from bridge.slack.blockkit.reply import Block


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number: its *name*, as people read and type it, and its *field* in the service's response.

    The chart over time shows the one that *leads_chart* or, if that isn't shown, the first. Home shows those *on_home*.
    """

    name: str
    field: str
    leads_chart: bool = False
    on_home: bool = True

    @property
    def title(self) -> str:
        """Return its name for the start of a line: ``Runs``."""
        return self.name.capitalize()

    def noun(self, number: int) -> str:
        """Return its noun for a count: ``run``, ``runs``."""
        return self.name.removesuffix("s") if number == 1 else self.name

    def of(self, stats: Stats) -> int:
        """Read it from the service's response."""
        return int(getattr(stats, self.field))


@dataclass(frozen=True, slots=True)
class NameGroup:
    """Names with their counts: the group's *name*, also its field, and that of *one*; drawn as *chart*."""

    name: str
    one: str
    chart: Callable[[str, charts.Counts], Block | None]

    @property
    def title(self) -> str:
        """Return its name for the start of a line: ``Tags``."""
        return self.name.capitalize()

    def of(self, stats: Stats) -> dict[str, int]:
        """Read the counts, in the service's order; a name may occur twice."""
        found: dict[str, int] = {}
        for one in getattr(stats, self.name):
            found[one.name] = found.get(one.name, 0) + one.count
        return found


NUMBERS: Final = (
    Number("prompts", "promptCount", on_home=False),  # Home has the project's own count
    Number("runs", "runCount", leads_chart=True),
    Number("versions", "versionCount"),
)
GROUPS: Final = (NameGroup("categories", "category", charts.pie), NameGroup("tags", "tag", charts.bars))
PARTS: Final = tuple(part.name for part in (*NUMBERS, *GROUPS))
"""The parts that statistics may be limited to."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A number *now* and *then*."""

    now: int
    then: int

    @property
    def by(self) -> int:
        """Return how much it grew."""
        return self.now - self.then


@dataclass(frozen=True, slots=True)
class NamesChanged:
    """Changes in a group: *new* with their counts now, *vanished* with their counts then.

    *moved* existed then and now. Names in none of them were too rare then to be recorded.
    """

    new: Sequence[tuple[str, int]] = ()
    vanished: Sequence[tuple[str, int]] = ()
    moved: Mapping[str, Difference] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed *since* a moment, which may be *called* something: ``yesterday``, ``the last report``.

    *numbers* and *groups* are by the names in `NUMBERS` and `GROUPS`, without those not recorded then.
    """

    since: datetime
    numbers: Mapping[str, Difference]
    groups: Mapping[str, NamesChanged] = field(default_factory=dict)
    called: str = ""


def by_count(counts: Iterable[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    """Order names by their counts, the largest first."""
    return tuple(sorted(counts, key=lambda one: (-one[1], one[0].casefold())))
