"""The project's statistics: the numbers with their changes, and below them each group once, as a chart or as a table.

A chart stands where it says all that a table would: no name is cut or left out, and none has changed. Slack does not
take charts everywhere: `Reply.plainer` has the same with tables in their place, and then as text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from bridge.features.stats.numbers import (
    GROUPS,
    NUMBERS,
    PARTS,
    Changes,
    Difference,
    NameGroup,
    NamesChanged,
    Number,
    by_count,
)
from bridge.project.models import Stats
from bridge.slack.blockkit import charts, kit
from bridge.slack.blockkit.numbers import ENGLISH, Style, per_cent, signed, whole
from bridge.slack.blockkit.reply import Audience, Block, Reply
from bridge.slack.blockkit.untyped_json import NAMES_AND_MORE

STATISTICS: Final = "Statistics"
YESTERDAY: Final = "yesterday"
A_WEEK_AGO: Final = "a week ago"
THE_LAST_REPORT: Final = "the last report"

_MOST_NAMED: Final = 30
_MOST_IN_TEXT: Final = 10
_MOST_CHANGED: Final = 10
_NAME: Final = 60
_LEAST_SHARE: Final = 0.0005  # less would be written as 0.0 %
_ABOUT: Final = timedelta(hours=1)
_A_FEW_DAYS: Final = timedelta(days=3)
_MOST_OF_A_YEAR: Final = timedelta(days=300)


@dataclass(frozen=True, slots=True)
class Trend:
    """One of the numbers over time: *points* in order, the last of them now."""

    of: Number
    points: Sequence[tuple[datetime, int]]

    @property
    def title(self) -> str:
        """What it is called."""
        return f"{self.of.title} over time"

    def chart(self) -> Block | None:
        """Draw it, as far as Slack can."""
        return charts.line(self.title, self._labelled())

    def table(self, style: Style) -> Block:
        """Write it as a table."""
        return charts.table(self.title, ["When (UTC)", self.of.title], self._labelled(), style)

    def text(self, style: Style) -> Block:
        """Write it as a list."""
        points = [kit.paragraph(f"{label}: {whole(value, style)}") for label, value in self._labelled()]
        return kit.rich(kit.paragraph(kit.words(self.title, bold=True)), kit.bullets(points))

    def line(self, style: Style) -> str:
        """Write it in one line."""
        return f"{self.title}: " + ", ".join(f"{label} {whole(value, style)}" for label, value in self._labelled())

    def _labelled(self) -> list[tuple[str, int]]:
        """Name each point by its day, or by its hour where there are few days. Charts know no time zones: UTC."""
        length = self.points[-1][0] - self.points[0][0]
        form = "%d %b" if length > _A_FEW_DAYS else "%d %b %H:%M"
        form = "%d %b %Y" if length > _MOST_OF_A_YEAR else form
        return [*((f"{moment:{form}}", value) for moment, value in self.points[:-1]), ("now", self.points[-1][1])]


@dataclass(frozen=True, slots=True)
class _ShownGroup:
    """A group as it is shown: its *counts*, the largest first, and what *changed* in it, where that is known."""

    of: NameGroup
    counts: charts.Counts
    changed: NamesChanged | None

    def chart(self) -> Block | None:
        if self.changed and any(difference.by for difference in self.changed.moved.values()):
            return None
        return self.of.chart(self.of.title, self.counts)

    def table(self, style: Style) -> Block:
        head = [self.of.one.capitalize(), "Count", *(["Change"] if self.changed else [])]
        rows: list[list[str | int]] = []
        for name, count in charts.summed(self.counts, _MOST_NAMED, style):
            rows.append([_name(name), count, *([name_change(self.changed, name, style)] if self.changed else [])])
        return charts.table(self.of.title, head, rows, style)

    def text(self, style: Style) -> Block:
        lines = []
        for name, count in charts.summed(self.counts, _MOST_NAMED, style):
            changed = name_change(self.changed, name, style) if self.changed else ""
            number, ending = kit.words(whole(count, style), bold=True), f" ({changed})" if changed else ""
            lines.append(kit.paragraph(_name(name), ": ", number, ending))
        return kit.rich(kit.paragraph(kit.words(self.of.title, bold=True)), kit.bullets(lines))

    def line(self, style: Style) -> str:
        counts = charts.summed(self.counts, _MOST_IN_TEXT, style)
        return f"{self.of.title}: " + ", ".join(f"{_name(name)} {whole(count, style)}" for name, count in counts)


def stats_card(
    stats: Stats,
    *,
    changes: Sequence[Changes] = (),
    trend: Trend | None = None,
    only: Collection[str] = PARTS,
    style: Style = ENGLISH,
    note: str = "",
    audience: Audience = Audience.PRIVATE,
) -> Reply:
    """Show the statistics, or *only* some of `PARTS`, with what changed, and a *note* below.

    The first of *changes* is the one that tables and new names speak of.
    """
    main = changes[0].groups if changes else {}
    counted = [(group, by_count(group.of(stats).items())) for group in GROUPS if group.name in only]
    groups = [_ShownGroup(group, counts, main.get(group.name)) for group, counts in counted if counts]
    numbers = [(number, number.of(stats)) for number in NUMBERS if number.name in only]
    trend = trend if trend and trend.of.name in only else None
    came_and_went = [line for one in groups if one.changed for line in news(one.of.name, one.changed, style)]

    top: list[Block] = [kit.header(STATISTICS)]
    if numbers:
        fields = [kit.plain("\n".join(_number(*one, changes, style)), kit.FIELD_TEXT) for one in numbers]
        top.append({"type": "section", "fields": fields})
    if came_and_went:
        top.append(kit.rich(kit.bullets(kit.paragraph(line) for line in came_and_went)))
    tables = [one.table(style) for one in groups]
    trend_table = [trend.table(style)] if trend else []
    text = [*([trend.text(style)] if trend else []), *(one.text(style) for one in groups)]
    end = _small_print(stats, changes, note)
    forms = [(*top, *form, *end) for form in (_pictured(trend, groups, style), [*trend_table, *tables], text)]

    said = [_spoken_numbers(numbers, changes, style), *came_and_went, *(one.line(style) for one in groups)]
    said += [trend.line(style)] if trend else []
    reply = kit.reply("\n".join([*said, *([note] if note else [])]), *forms[0], audience=audience)
    return reply.model_copy(
        update={"plainer": tuple(form for place, form in enumerate(forms) if form not in forms[:place])[1:]}
    )


def taken(wanted: datetime, found: datetime) -> str:
    """Say which snapshot was compared with, where it is not of about the time that was asked for."""
    if abs(wanted - found) <= _ABOUT:
        return ""
    return f"Asked for was {_utc(wanted)}; the nearest numbers that were kept are of {_utc(found)}"


def nothing_yet(since: datetime) -> str:
    """Say that there is nothing to compare with."""
    return f"Nothing to compare with yet: numbers are kept since {_utc(since)}"


def change(difference: Difference, style: Style = ENGLISH) -> str:
    """Say how a number changed: ``+56, +4.8 %``."""
    if not difference.by:
        return "no change"
    share = difference.by / difference.then if difference.then > 0 else 0
    said = signed(difference.by, style)
    return said if abs(share) < _LEAST_SHARE else f"{said}, {per_cent(share, style)}"


def name_change(changes: NamesChanged, name: str, style: Style = ENGLISH) -> str:
    """Say how one name of a group changed; ``""`` where nothing is known of it then."""
    if name in changes.moved:
        difference = changes.moved[name]
        return signed(difference.by, style) if difference.by else "0"
    return "new" if any(name == new for new, _count in changes.new) else ""


def news(what: str, changes: NamesChanged, style: Style = ENGLISH) -> list[str]:
    """List what came and what went: ``New tags: alpha (3), beta (1)``."""
    lines = []
    for title, counts in (("New", changes.new), ("Vanished", changes.vanished)):
        listed = [
            f"{kit.named(name, _NAME) if name.strip() else kit.NO_NAME} ({whole(count, style)})"
            for name, count in counts[:_MOST_CHANGED]
        ]
        names, left = ", ".join(listed), len(counts) - len(listed)
        names = NAMES_AND_MORE.format(names=names, count=whole(left, style)) if left else names
        lines += [f"{title} {what}: {names}"] if counts else []
    return lines


def _number(number: Number, value: int, changes: Sequence[Changes], style: Style) -> list[str]:
    """Write a number below its name, with its change, or below it each of several."""
    written, changed = whole(value, style), _changed(number, changes, style)
    if len(changes) == 1:
        return [number.title, *(f"{written} ({by})" for by, _since in changed), *([] if changed else [written])]
    return [number.title, written, *(f"{by} {since}" for by, since in changed)]


def _spoken_numbers(numbers: Sequence[tuple[Number, int]], changes: Sequence[Changes], style: Style) -> str:
    """Say the numbers in lines, for notifications and screen readers, and where Slack takes no blocks at all."""
    said = []
    for number, value in numbers:
        changed = [f" ({by})" for by, _since in _changed(number, changes[:1], style)]
        said.append(f"{whole(value, style)} {number.noun(value)}{''.join(changed)}")
    first = f"{STATISTICS}: {', '.join(said)}" if said else STATISTICS
    return "\n".join([first, *(f"Changes are {_since(one)}." for one in changes[:1])])


def _changed(number: Number, changes: Sequence[Changes], style: Style) -> list[tuple[str, str]]:
    """Say how a number changed, and since when, by each of *changes* that know it."""
    return [(change(one.numbers[number.name], style), _since(one)) for one in changes if number.name in one.numbers]


def _since(changes: Changes) -> str:
    return f"since {changes.called or _utc(changes.since)}"


def _pictured(trend: Trend | None, groups: Sequence[_ShownGroup], style: Style) -> list[Block]:
    """Show each once: the first ones as charts, as many as Slack takes, and the others as tables."""
    blocks: list[Block] = []
    all_shown: list[Trend | _ShownGroup] = [*([trend] if trend else []), *groups]
    left = kit.CHARTS
    for shown in all_shown:
        picture = shown.chart() if left else None
        blocks.append(picture or shown.table(style))
        left -= picture is not None
    return blocks


def _small_print(stats: Stats, changes: Sequence[Changes], note: str) -> list[Block]:
    """Say of when the numbers are, in the reader's own time zone."""
    if not changes:
        dates = kit.trusted_context("Last updated {updated}", updated=stats.lastUpdated)
    else:
        dates = kit.trusted_context(
            "Last updated {updated} · Changes since {since}", updated=stats.lastUpdated, since=changes[0].since
        )
    notes = [f"Compared with {one.called}" for one in changes[:1] if one.called]
    notes += [note] if note else []
    return [dates, *([kit.context(*notes)] if notes else [])]


def _utc(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%d %b %Y, %H:%M} UTC"


def _name(name: str) -> str:
    return kit.one_line(name, _NAME) or kit.NO_NAME
