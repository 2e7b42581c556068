"""The project's statistics: the numbers with their changes, and below them each group once, as a chart or as a table.

A chart stands where it says all that a table would: no name is cut or left out, and none has changed. Slack does not
take charts everywhere: `Reply.plainer` has the same with tables in their place, and then as text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from bridge import words
from bridge.features.stats.changes_shown import (
    Changes,
    Difference,
    NamesChanged,
    change,
    name_change,
    news,
    since_words,
)
from bridge.project.models import NamedCount, Stats
from bridge.slack.blockkit import charts, kit
from bridge.slack.blockkit.numbers import ENGLISH, Style, whole
from bridge.slack.blockkit.reply import Audience, Block, Reply

NUMBERS: Final = ("prompts", "runs", "versions")
NAMES: Final = ("categories", "tags")
EVERYTHING: Final = frozenset({*NUMBERS, *NAMES})

_ONE: Final = {"categories": words.CATEGORY, "tags": words.TAG}
_MOST_NAMED: Final = 30
_MOST_IN_TEXT: Final = 10
_NAME: Final = 60
_ABOUT: Final = timedelta(hours=1)
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
        return words.title(self.what)


@dataclass(frozen=True, slots=True)
class _Shown:
    """What a card shows, of what was asked for."""

    stats: Stats
    numbers: Sequence[tuple[str, int]]
    named: Sequence[_Named]
    changes: Sequence[Changes]
    trend: Trend | None
    style: Style
    note: str


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
    """Show the statistics, or *only* some of `EVERYTHING`, with what changed, and a *note* below.

    The first of *changes* is the one that tables and new names speak of.
    """
    main = changes[0] if changes else None
    shown = _Shown(
        stats=stats,
        numbers=[(name, number) for name, number in numbers_of(stats).items() if name in only],
        named=[one for one in _named(stats, main) if one.what in only and one.counts],
        changes=changes,
        trend=trend if trend is not None and trend.of in only else None,
        style=style,
        note=note,
    )
    first, *plainer = _forms(shown)
    reply = kit.reply("\n".join(_spoken(shown)), *first, audience=audience)
    return reply.model_copy(update={"plainer": tuple(tuple(form) for form in plainer)})


def taken(wanted: datetime, found: datetime) -> str:
    """Say which snapshot was compared with, where it is not of about the time that was asked for."""
    if abs(wanted - found) <= _ABOUT:
        return ""
    return words.NEAREST_NUMBERS.format(wanted=_utc(wanted), found=_utc(found))


def nothing_yet(since: datetime) -> str:
    """Say that there is nothing to compare with."""
    return words.NOTHING_TO_COMPARE.format(moment=_utc(since))


def numbers_of(stats: Stats) -> dict[str, int]:
    """Give the single numbers by their names in `NUMBERS`."""
    return {"prompts": stats.promptCount, "runs": stats.runCount, "versions": stats.versionCount}


def ordered(counts: Sequence[NamedCount]) -> list[tuple[str, int]]:
    """Sort categories or tags: the most frequent first."""
    return [(one.name, one.count) for one in sorted(counts, key=lambda one: (-one.count, one.name.casefold()))]


def _named(stats: Stats, main: Changes | None) -> Iterator[_Named]:
    yield _Named("categories", ordered(stats.categories), main.categories if main else None)
    yield _Named("tags", ordered(stats.tags), main.tags if main else None)


def _forms(shown: _Shown) -> list[list[Block]]:
    """Lay it out with charts, with tables only, and as text; what would be the same twice is there once."""
    top = [kit.header(words.STATISTICS), *_numbers(shown), *_news(shown)]
    tables, end = [_table(one, shown.style) for one in shown.named], _small_print(shown)
    forms = [
        [*top, *_pictures(shown), *end],
        [*top, *_trend_table(shown), *tables, *end],
        [*top, *_trend_text(shown), *_lists(shown), *end],
    ]
    return [form for place, form in enumerate(forms) if form not in forms[:place]]


def _difference(changes: Changes, name: str) -> Difference:
    return {"prompts": changes.prompts, "runs": changes.runs, "versions": changes.versions}[name]


def _numbers(shown: _Shown) -> list[Block]:
    texts = [
        kit.plain("\n".join([words.title(name), *_lines(name, number, shown)]), kit.FIELD_TEXT)
        for name, number in shown.numbers
    ]
    return [{"type": "section", "fields": texts}] if texts else []


def _lines(name: str, number: int, shown: _Shown) -> list[str]:
    """Write a number with its change, or below it each of several."""
    written = whole(number, shown.style)
    changed = [change(_difference(one, name), shown.style) for one in shown.changes]
    if len(changed) == 1:
        return [f"{written} ({changed[0]})"]
    return [written, *(f"{by} {since_words(one)}" for by, one in zip(changed, shown.changes, strict=True))]


def _news(shown: _Shown) -> list[Block]:
    lines = [kit.paragraph(line) for line in _news_lines(shown)]
    return [kit.rich(kit.bullets(lines))] if lines else []


def _news_lines(shown: _Shown) -> list[str]:
    return [line for one in shown.named if one.changed for line in news(one.what, one.changed, shown.style)]


def _small_print(shown: _Shown) -> list[Block]:
    """Say of when the numbers are, in the reader's own time zone."""
    updated = shown.stats.lastUpdated
    if not shown.changes:
        dates = kit.trusted_context(words.LAST_UPDATED, updated=updated)
    else:
        dates = kit.trusted_context(words.LAST_UPDATED_SINCE, updated=updated, since=shown.changes[0].since)
    notes = [words.COMPARED_WITH.format(what=one.called) for one in shown.changes[:1] if one.called]
    notes += [shown.note] if shown.note else []
    return [dates, *([kit.context(*notes)] if notes else [])]


def _pictures(shown: _Shown) -> list[Block]:
    """Show each group once: the first ones as charts, as many as Slack takes, and the others as tables."""
    trend = charts.line(_titled(shown.trend), _labelled(shown.trend)) if shown.trend else None
    blocks, left = [trend] if trend else _trend_table(shown), kit.CHARTS - bool(trend)
    for one in shown.named:
        picture = _picture(one) if left else None
        blocks.append(picture or _table(one, shown.style))
        left -= picture is not None
    return blocks


def _picture(named: _Named) -> Block | None:
    if named.changed and any(difference.by for difference in named.changed.moved.values()):
        return None
    return (charts.pie if named.what == "categories" else charts.bars)(named.title, named.counts)


def _table(named: _Named, style: Style) -> Block:
    head = [_ONE[named.what], words.COUNT, *([words.CHANGE] if named.changed else [])]
    rows: list[list[str | int]] = []
    for name, count in charts.summed(named.counts, _MOST_NAMED, style):
        changed = [name_change(named.changed, name, style)] if named.changed else []
        rows.append([_name(name), count, *changed])
    return charts.table(named.title, head, rows, style)


def _lists(shown: _Shown) -> list[Block]:
    return [kit.rich(kit.paragraph(kit.words(one.title, bold=True)), _list(one, shown.style)) for one in shown.named]


def _list(named: _Named, style: Style) -> Block:
    lines = []
    for name, count in charts.summed(named.counts, _MOST_NAMED, style):
        changed = name_change(named.changed, name, style) if named.changed else ""
        ending = f" ({changed})" if changed else ""
        lines.append(kit.paragraph(_name(name), ": ", kit.words(whole(count, style), bold=True), ending))
    return kit.bullets(lines)


def _utc(moment: datetime) -> str:
    return words.DAY_AND_TIME.format(moment=moment.astimezone(UTC))


def _name(name: str) -> str:
    return kit.one_line(name, _NAME) or words.NO_NAME


def _titled(trend: Trend) -> str:
    return words.OVER_TIME.format(what=words.title(trend.of))


def _labelled(trend: Trend) -> list[tuple[str, int]]:
    """Name each point by its day, or by its hour where there are few days. Charts know no time zones: UTC."""
    length = trend.points[-1][0] - trend.points[0][0]
    form = "%d %b" if length > _A_FEW_DAYS else "%d %b %H:%M"
    form = "%d %b %Y" if length > _MOST_OF_A_YEAR else form
    return [*((f"{moment:{form}}", value) for moment, value in trend.points[:-1]), (words.NOW, trend.points[-1][1])]


def _trend_table(shown: _Shown) -> list[Block]:
    if shown.trend is None:
        return []
    head = [words.WHEN_UTC, words.title(shown.trend.of)]
    return [charts.table(_titled(shown.trend), head, _labelled(shown.trend), shown.style)]


def _trend_text(shown: _Shown) -> list[Block]:
    if shown.trend is None:
        return []
    points = [kit.paragraph(f"{label}: {whole(value, shown.style)}") for label, value in _labelled(shown.trend)]
    return [kit.rich(kit.paragraph(kit.words(_titled(shown.trend), bold=True)), kit.bullets(points))]


def _spoken(shown: _Shown) -> Iterator[str]:
    """Say all of it in lines, for notifications and screen readers, and where Slack takes no blocks at all."""
    numbers = ", ".join(_spoken_number(name, number, shown) for name, number in shown.numbers)
    yield words.STATISTICS_SPOKEN.format(numbers=numbers) if numbers else words.STATISTICS
    yield from (words.CHANGES_SPOKEN.format(since=since_words(one)) for one in shown.changes[:1])
    yield from _news_lines(shown)
    for one in shown.named:
        counts = charts.summed(one.counts, _MOST_IN_TEXT, shown.style)
        yield f"{one.title}: " + ", ".join(f"{_name(name)} {whole(count, shown.style)}" for name, count in counts)
    if shown.trend:
        points = (f"{label} {whole(value, shown.style)}" for label, value in _labelled(shown.trend))
        yield f"{_titled(shown.trend)}: " + ", ".join(points)
    if shown.note:
        yield shown.note


def _spoken_number(name: str, number: int, shown: _Shown) -> str:
    changed = [f" ({change(_difference(one, name), shown.style)})" for one in shown.changes[:1]]
    return f"{whole(number, shown.style)} {words.noun(name, number)}{''.join(changed)}"
