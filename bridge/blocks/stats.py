"""The project's statistics: as charts and tables, as tables, and as text, each of which says all of it.

Slack does not take charts everywhere. `Reply.plainer` has the same without them, and then without tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from bridge.blocks import charts, kit
from bridge.blocks.changes import Changes, Difference, NamesChanged, change, name_change, news, since_words
from bridge.blocks.numbers import ENGLISH, Style, whole
from bridge.blocks.reply import Audience, Block, Reply
from bridge.project.models import NamedCount, Stats

NUMBERS: Final = ("prompts", "runs", "versions")
NAMES: Final = ("categories", "tags")
EVERYTHING: Final = frozenset({*NUMBERS, *NAMES})

_MOST_NAMED: Final = 30
_MOST_IN_TEXT: Final = 10
_NAME: Final = 60
_A_FEW_DAYS: Final = timedelta(days=3)
_MOST_OF_A_YEAR: Final = timedelta(days=300)


@dataclass(frozen=True, slots=True)
class Trend:
    """One of the numbers over time: *points* in order, the last of them now."""

    of: str
    points: Sequence[tuple[datetime, int]]


@dataclass(frozen=True, slots=True)
class _Named:
    """Categories or tags: what they are called, their counts with the largest first, and what changed in them."""

    what: str
    counts: charts.Counts
    changed: NamesChanged | None

    @property
    def title(self) -> str:
        return self.what.capitalize()


def stats_card(
    stats: Stats,
    *,
    changes: Sequence[Changes] = (),
    trend: Trend | None = None,
    only: AbstractSet[str] = EVERYTHING,
    style: Style = ENGLISH,
    note: str = "",
    audience: Audience = Audience.PRIVATE,
) -> Reply:
    """Show the statistics, or *only* some of `EVERYTHING`, with what changed; *note* is a line of our own words.

    The first of *changes* is the one that names and tables speak of.
    """
    main = changes[0] if changes else None
    named = [found for found in _named(stats, main) if found.what in only and found.counts]
    top = [kit.header("Statistics"), *_numbers(stats, changes, only, style), *_news(named, style)]
    end = [_small_print(stats, changes, note)]
    tables = _tables(named, style)
    plotted = trend if trend is not None and trend.of in only else None
    pictures = _charts(plotted, named)
    forms = [
        [*top, *pictures, *tables, *end],
        [*top, *_trend_table(plotted, style), *tables, *end],
        [*top, *_trend_text(plotted, style), *_lists(named, style), *end],
    ]
    distinct = [form for place, form in enumerate(forms) if form not in forms[:place]]
    reply = kit.reply(_spoken(stats, changes, named, plotted, only, style, note), *distinct[0], audience=audience)
    return reply.model_copy(update={"plainer": tuple(tuple(form) for form in distinct[1:])})


def numbers_of(stats: Stats) -> dict[str, int]:
    """Give the single numbers by their names in `NUMBERS`."""
    return {"prompts": stats.promptCount, "runs": stats.runCount, "versions": stats.versionCount}


def ordered(counts: Sequence[NamedCount]) -> list[tuple[str, int]]:
    """Sort categories or tags: the most frequent first."""
    return [(one.name, one.count) for one in sorted(counts, key=lambda one: (-one.count, one.name.casefold()))]


def _named(stats: Stats, main: Changes | None) -> Iterator[_Named]:
    yield _Named("categories", ordered(stats.categories), main and main.categories)
    yield _Named("tags", ordered(stats.tags), main and main.tags)


def _of(changes: Changes, name: str) -> Difference:
    difference: Difference = {"prompts": changes.prompts, "runs": changes.runs, "versions": changes.versions}[name]
    return difference


def _numbers(stats: Stats, changes: Sequence[Changes], only: AbstractSet[str], style: Style) -> list[Block]:
    shown = [(name, number) for name, number in numbers_of(stats).items() if name in only]
    texts = [
        kit.plain("\n".join([name.capitalize(), *_lines(name, number, changes, style)]), kit.FIELD_TEXT)
        for name, number in shown
    ]
    return [{"type": "section", "fields": texts}] if texts else []


def _lines(name: str, number: int, changes: Sequence[Changes], style: Style) -> list[str]:
    """Write a number with its change, or below it each of several."""
    written = whole(number, style)
    if len(changes) == 1:
        return [f"{written} ({change(_of(changes[0], name), style)})"]
    return [written, *(f"{change(_of(one, name), style)} {since_words(one)}" for one in changes)]


def _news(named: Sequence[_Named], style: Style) -> list[Block]:
    lines = [line for one in named if one.changed for line in news(one.what, one.changed, style)]
    return [kit.rich(kit.bullets([kit.paragraph(line) for line in lines]))] if lines else []


def _small_print(stats: Stats, changes: Sequence[Changes], note: str) -> Block:
    words = [f"Last updated {kit.date(stats.lastUpdated)}"]
    words += [f"changes {_since(one)}" for one in changes[:1]]
    return kit.trusted_context(" · ".join([*words, *([note] if note else [])]))


def _since(changes: Changes) -> str:
    named = f"since {changes.called}, " if changes.called else "since "
    return named + kit.date(changes.since)


def _charts(trend: Trend | None, named: Sequence[_Named]) -> list[Block]:
    """Draw what is worth a picture, the most telling first: as many as Slack takes."""
    shapes = {"categories": charts.pie, "tags": charts.bars}
    drawn = [charts.line(trend.of.capitalize(), _labelled(trend))] if trend else []
    drawn += [shapes[one.what](one.title, one.counts) for one in named]
    return [chart for chart in drawn if chart is not None][: kit.CHARTS]


def _tables(named: Sequence[_Named], style: Style) -> list[Block]:
    return [_table(one, style) for one in named]


def _table(named: _Named, style: Style) -> Block:
    head = [named.title, "Count", *(["Change"] if named.changed else [])]
    rows: list[list[str | int]] = []
    for name, count in charts.summed(named.counts, _MOST_NAMED, style):
        changed = [name_change(named.changed, name, style)] if named.changed else []
        rows.append([_name(name), count, *changed])
    return charts.table(named.title, head, rows, style)


def _lists(named: Sequence[_Named], style: Style) -> list[Block]:
    return [
        kit.rich(
            kit.paragraph(kit.words(one.title, bold=True)),
            kit.bullets(
                _bullet(name, count, one, style) for name, count in charts.summed(one.counts, _MOST_NAMED, style)
            ),
        )
        for one in named
    ]


def _bullet(name: str, count: int, named: _Named, style: Style) -> Block:
    changed = name_change(named.changed, name, style) if named.changed else ""
    ending = f" ({changed})" if changed else ""
    return kit.paragraph(_name(name), ": ", kit.words(whole(count, style), bold=True), ending)


def _name(name: str) -> str:
    return kit.one_line(name, _NAME) or "(no name)"


def _labelled(trend: Trend) -> list[tuple[str, int]]:
    """Name each point by its day, or by its hour where there are few days. Charts know no time zones: UTC."""
    length = trend.points[-1][0] - trend.points[0][0]
    form = "%d %b" if length > _A_FEW_DAYS else "%d %b %H:%M"
    form = "%d %b %Y" if length > _MOST_OF_A_YEAR else form
    return [*((f"{moment:{form}}", value) for moment, value in trend.points[:-1]), ("now", trend.points[-1][1])]


def _trend_table(trend: Trend | None, style: Style) -> list[Block]:
    if trend is None:
        return []
    title = trend.of.capitalize()
    return [charts.table(f"{title} over time", ["When (UTC)", title], _labelled(trend), style)]


def _trend_text(trend: Trend | None, style: Style) -> list[Block]:
    if trend is None:
        return []
    points = [kit.paragraph(f"{label}: {whole(value, style)}") for label, value in _labelled(trend)]
    return [kit.rich(kit.paragraph(kit.words(f"{trend.of.capitalize()} over time", bold=True)), kit.bullets(points))]


def _spoken(
    stats: Stats,
    changes: Sequence[Changes],
    named: Sequence[_Named],
    trend: Trend | None,
    only: AbstractSet[str],
    style: Style,
    note: str,
) -> str:
    """Say all of it in lines, for notifications and screen readers, and where Slack takes no blocks at all."""
    lines = ["Statistics: " + ", ".join(_spoken_numbers(stats, changes, only, style))]
    lines += [f"Changes are {since_words(one)}" for one in changes[:1]]
    lines += [line for one in named if one.changed for line in news(one.what, one.changed, style)]
    for one in named:
        counts = charts.summed(one.counts, _MOST_IN_TEXT, style)
        lines.append(f"{one.title}: " + ", ".join(f"{_name(name)} {whole(count, style)}" for name, count in counts))
    if trend:
        points = "; ".join(f"{label} {whole(value, style)}" for label, value in _labelled(trend))
        lines.append(f"{trend.of.capitalize()} over time: {points}")
    return "\n".join([*lines, *([note] if note else [])])


def _spoken_numbers(stats: Stats, changes: Sequence[Changes], only: AbstractSet[str], style: Style) -> Iterator[str]:
    for name, number in numbers_of(stats).items():
        if name in only:
            ending = f" ({change(_of(changes[0], name), style)})" if changes else ""
            yield f"{whole(number, style)} {name}{ending}"
