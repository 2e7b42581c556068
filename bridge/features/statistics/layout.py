"""The project's statistics: the numbers with their changes, then each group as a chart or a table.

A chart is used if it shows everything that a table would: no name is cut or left out, and none has changed. Slack
doesn't accept charts everywhere: `Reply.plainer` has tables instead, and then text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final, NamedTuple

from bridge.features.statistics.numbers import (
    GROUPS,
    NUMBERS,
    PARTS,
    Changes,
    Difference,
    NamesChanged,
    Number,
    by_count,
    numbers_of,
)
from bridge.features.statistics.past import Usual
from bridge.features.statistics.snapshots import Snapshot
from bridge.features.statistics.work import Tally
from bridge.names.amounts import NUMBER_WORDS
from bridge.project.models import Stats
from bridge.slack.blockkit import charts, kit
from bridge.slack.blockkit.card import card
from bridge.slack.blockkit.reply import Attachment, Audience, Block, Reply

STATISTICS: Final = "Statistics"
YESTERDAY: Final = "yesterday"
LAST_WEEK: Final = "last week"
THE_LAST_REPORT: Final = "the last report"

_MOST_NAMED: Final = 30
_MOST_IN_LINE: Final = 10
_MOST_CHANGED: Final = 10
NAME: Final = 60
_LEAST_SHARE: Final = 0.0005  # less would be shown as 0.0%
_HUGE_PER_CENT: Final = 1000
_ABOUT: Final = timedelta(hours=1)
_A_DAY: Final = timedelta(days=1)
_A_FEW_DAYS: Final = timedelta(days=3)
_MOST_OF_A_YEAR: Final = timedelta(days=300)


@dataclass(frozen=True, slots=True)
class Trend:
    """A number over time: *points* in order, the last one now."""

    of: Number
    points: Sequence[tuple[datetime, int]]


class Note(NamedTuple):
    """A sentence with times: its *block* shows them in the reader's time zone, its *text* in UTC."""

    text: str
    block: Block


@dataclass(frozen=True, slots=True)
class _Listing:
    """*counts* by name, as a *chart* if it shows everything, or else as a table or text."""

    title: str
    head: Sequence[str]
    counts: charts.Counts
    chart: Block | None
    changed: NamesChanged | None = None
    most_in_line: int = _MOST_IN_LINE

    def table(self) -> Block:
        if self.changed is None:
            return charts.table(self.title, self.head, [row[:2] for row in self._rows()])
        return charts.table(self.title, [*self.head, "Change"], self._rows())

    def text(self) -> Block:
        lines = []
        for name, count, changed in self._rows():
            number, ending = kit.words(f"{count:,}", bold=True), f" ({changed})" if changed else ""
            lines.append(kit.paragraph(name, ": ", number, ending))
        return kit.rich(kit.paragraph(kit.words(self.title, bold=True)), kit.bullets(lines))

    def line(self) -> str:
        counts = charts.summed(self.counts, self.most_in_line)
        return f"{self.title}: " + ", ".join(f"{_name(name)} {count:,}" for name, count in counts)

    def _rows(self) -> list[tuple[str, int, str]]:
        counts = charts.summed(self.counts, _MOST_NAMED)
        return [(_name(name), count, name_change(self.changed, name) if self.changed else "") for name, count in counts]


def stats_card(
    stats: Stats,
    *,
    changes: Sequence[Changes] = (),
    trend: Trend | None = None,
    only: Collection[str] = PARTS,
    note: Note | None = None,
    audience: Audience = Audience.PRIVATE,
    is_report: bool = False,
    project: str = "",
    usual: Usual | None = None,
    failed: int | None = None,
) -> Reply:
    """Show the statistics, or *only* some of `PARTS`, with the changes and a *note* below.

    Tables and new names refer to the first of *changes*. A report is a sentence with the numbers; everything else is a
    reply in its thread. *project* is the project's name if there are several. For the sentence, *usual* is by how much
    the leading number usually grows in this time, and *failed* how many of the bridge's own turns failed.
    """
    known = numbers_of(stats)
    numbers = [(number, known[number.name]) for number in NUMBERS if number.name in only and number.name in known]
    trends = _over_time(trend) if trend and trend.of.name in only else []
    groups, names_changed = [], []
    for group in GROUPS:
        if group.name in only and (counts := by_count(group.of(stats).items())):
            changed = changes[0].groups.get(group.name) if changes else None
            names_changed += news(group.name, changed) if changed else []
            has_moved = changed is not None and any(difference.by != 0 for difference in changed.moved.values())
            chart = None if has_moved else group.chart(group.title, counts)
            groups.append(_Listing(group.title, (group.one.capitalize(), "Count"), counts, chart, changed))

    top: list[Block] = [kit.header(kit.titled(STATISTICS, project))]
    pairs = [(number.title, _number(number, value, changes)) for number, value in numbers]
    fields = [kit.fields(pairs)] if pairs else []
    news_below = [kit.rich(kit.bullets(kit.paragraph(line) for line in names_changed))] if names_changed else []
    pictured: list[Block] = []
    left = kit.CHARTS
    for listing in [*trends, *groups]:
        chart = listing.chart if left else None
        pictured.append(chart or listing.table())
        left -= chart is not None
    tabled, written = ([form(listing) for listing in [*trends, *groups]] for form in (_Listing.table, _Listing.text))
    end = _small_print(stats, changes, note)
    lines = [*names_changed, *(listing.line() for listing in [*groups, *trends])]
    notes = [note.text] if note else []
    spoken = _spoken_numbers(numbers, changes)
    if not is_report:
        forms = [(*top, *fields, *news_below, *form, *end) for form in (pictured, tabled, written)]
        return _in_forms("\n".join([*spoken, *lines, *notes]), forms).model_copy(update={"audience": audience})
    headline = _headline(numbers, groups, changes, usual, failed)
    forms = [(*news_below, *form) for form in (pictured, tabled, written)]
    below = (_in_forms("\n".join(lines), forms),) if lines else ()
    head = kit.reply(
        "\n".join([headline, *spoken, *notes]), *top, kit.section(headline), *fields, *end, audience=audience
    )
    return head.model_copy(update={"replies": below})


def _in_forms(text: str, forms: Sequence[tuple[Block, ...]]) -> Reply:
    """Return the reply in the first of *forms*, with the others that differ as plainer ones."""
    plainer = tuple(form for place, form in enumerate(forms) if form not in forms[:place])[1:]
    return kit.reply(text, *forms[0]).model_copy(update={"plainer": plainer})


def leading(stats: Stats, only: Collection[str]) -> str:
    """Return the name of the number that a report's sentence is about; ``""`` if there's none."""
    names = [number for number in NUMBERS if number.name in only and number.name in numbers_of(stats)]
    return min(names, key=lambda number: not number.leads_chart).name if names else ""


def _headline(
    numbers: Sequence[tuple[Number, int]],
    groups: Sequence[_Listing],
    changes: Sequence[Changes],
    usual: Usual | None,
    failed: int | None,
) -> str:
    """Return the sentence of a report: ``142 runs, a fifth more than usual; two new tags; nothing failed``."""
    parts, known = list[str](), changes[0] if changes else None
    if numbers:
        number, value = min(numbers, key=lambda item: not item[0].leads_chart)
        difference = known.numbers.get(number.name) if known else None
        if difference is None:
            parts.append(f"{value:,} {number.noun(value)} so far")
        elif difference.by is None:
            parts.append(f"{value:,} {number.noun(value)} in total, {change(difference)}")
        elif not difference.by:
            parts.append(f"no new {number.name}")
        else:
            parts.append(f"{difference.by:,} {number.noun(difference.by)}{than_usual(difference.by, usual)}")
    elif groups:
        parts.append(" and ".join(f"{len(group.counts):,} {group.title.casefold()}" for group in groups) + " so far")
    for group in GROUPS:
        is_shown = any(group.title == listing.title for listing in groups)
        changed = known.groups.get(group.name) if known and is_shown else None
        for word, names in (("new", changed.new), ("removed", changed.vanished)) if changed else ():
            if names:
                count = _IN_WORDS[len(names)] if len(names) < len(_IN_WORDS) else f"{len(names):,}"
                parts.append(f"{count} {word} {group.one if len(names) == 1 else group.name}")
    if failed or (failed is not None and known):
        parts.append(f"{failed:,} failed" if failed else "nothing failed")
    return kit.capitalized("; ".join(parts or ["there's nothing to show yet"])) + "."


def than_usual(growth: float, usual: Usual | None) -> str:
    """Say how a number compares with what's *usual*: ``, a fifth more than usual``; ``""`` if that's unknown."""
    if usual is None or usual.median <= 0:
        return ""
    ratio = growth / usual.median
    if abs(ratio - 1) < _AS_USUAL or abs(growth - usual.median) <= usual.spread:
        return ", as usual"
    if ratio >= _TWICE:
        return f", {'twice' if round(ratio) == 2 else f'{round(ratio):,} times'} as many as usual"  # noqa: PLR2004
    way, share = ("more" if ratio > 1 else "fewer"), abs(ratio - 1)
    words, nearest_share = min(_SHARES.items(), key=lambda item: abs(item[1] - share))
    if abs(nearest_share - share) > _ABOUT_A_SHARE:
        return f", {per_cent(share).lstrip('+')} {way} than usual"
    return f", {words} {way} than usual"


_AS_USUAL: Final = 0.05
_TWICE: Final = 1.9
_SHARES: Final = {"a tenth": 0.1, "a fifth": 0.2, "a quarter": 0.25, "a third": 1 / 3}
_ABOUT_A_SHARE: Final = 0.035
_IN_WORDS: Final = NUMBER_WORDS[:11]


def home_line(stats: Stats, past: Sequence[Snapshot], now: datetime) -> list[Block]:
    """Return the line of Home: the numbers, how the leading one has changed since yesterday, and how it developed."""
    known = [(number, value) for number in NUMBERS if (value := number.of(stats)) is not None]
    if not known:
        return []
    known.sort(key=lambda item: not item[0].leads_chart)
    leading, value = known[0]
    points = [(then.at, then.numbers[leading.name]) for then in past if leading.name in then.numbers]
    yesterday = min(points, key=lambda point: abs(now - point[0] - _A_DAY), default=None)
    changed = ""
    if yesterday and abs(now - yesterday[0] - _A_DAY) <= _A_DAY / 2:
        since = Difference.over([*(count for at, count in points if at >= yesterday[0]), value])
        changed = f" ({change(since)} since yesterday)"
    numbers = [f"{value:,} {leading.noun(value)}{changed}"]
    numbers += [f"{count:,} {number.noun(count)}" for number, count in known[1:]]
    days = {at.date(): count for at, count in points} | {now.date(): value}
    drawn = charts.sparkline(list(days.values()))
    return [kit.context(f"📊 {' · '.join(numbers)}", *([f"{leading.title} in the last week {drawn}"] if drawn else []))]


def nearest_note(wanted: datetime, nearest: datetime) -> Note | None:
    """Say when the compared snapshot was taken, unless that's about the *wanted* time."""
    if abs(wanted - nearest) <= _ABOUT:
        return None
    return Note(
        f"The recorded numbers nearest to {_utc(wanted)} are from {_utc(nearest)}.",
        kit.trusted_context("The recorded numbers nearest to {wanted} are from {found}.", wanted=wanted, found=nearest),
    )


def nothing_yet(since: datetime) -> Note:
    """Say that there's nothing to compare with, and *since* when numbers are recorded."""
    return Note(
        f"There's nothing to compare with yet. Recording started on {_utc(since)}.",
        kit.trusted_context("There's nothing to compare with yet. Recording started on {since}.", since=since),
    )


def with_below(shown: Reply, *below: Block) -> Reply:
    """Put blocks below the statistics, in each form of the card."""
    plainer = tuple((*form, *below) for form in shown.plainer)
    return shown.model_copy(update={"blocks": (*shown.blocks, *below), "plainer": plainer})


def change(difference: Difference) -> str:
    """Return how a number changed: ``+56, +4.8%``; if that's unknown, what it was."""
    if difference.by is None:
        return f"down from {difference.then:,}" if difference.now < difference.then else "change unknown"
    if not difference.by:
        return "no change"
    share = difference.by / difference.then if difference.then > 0 else 0
    written = f"{difference.by:+,}"
    return written if abs(share) < _LEAST_SHARE else f"{written}, {per_cent(share)}"


def name_change(changes: NamesChanged, name: str) -> str:
    """Return how the count of a name changed; ``""`` if its earlier count is unknown."""
    if name in changes.moved:
        difference = changes.moved[name]
        if difference.by is None:
            return f"was {difference.then:,}"
        return f"{difference.by:+,}" if difference.by else "0"
    return "new" if any(name == new for new, _count in changes.new) else ""


def news(what: str, changes: NamesChanged) -> list[str]:
    """Return lines for added and removed names: ``New tags: alpha (3), beta (1)``."""
    lines = []
    for title, counts in (("New", changes.new), ("Removed", changes.vanished)):
        names = [f"{kit.named(name, NAME) if name.strip() else kit.NO_NAME} ({count:,})" for name, count in counts]
        lines += [f"{title} {what}: {kit.first_of(names, _MOST_CHANGED)}"] if counts else []
    return lines


def per_cent(share: float) -> str:
    """Write a relative difference with its sign: ``+4.8%``; large ones without decimals."""
    percentage = 100 * share
    return f"{round(percentage):+,}%" if abs(percentage) >= _HUGE_PER_CENT else f"{percentage:+.1f}%"


def _number(number: Number, value: int, changes: Sequence[Changes]) -> str:
    """Return a number's value with its change, or with several changes and their times."""
    written, changed = f"{value:,}", _changed(number, changes)
    if len(changes) == 1:
        return f"{written} ({changed[0][0]})" if changed else written
    return " · ".join([written, *(f"{by} {since}" for by, since in changed)])


def _spoken_numbers(numbers: Sequence[tuple[Number, int]], changes: Sequence[Changes]) -> list[str]:
    """Return the numbers as lines, for notifications, screen readers, and places without blocks."""
    written = []
    for number, value in numbers:
        changed = [f" ({by})" for by, _since in _changed(number, changes[:1])]
        written.append(f"{value:,} {number.noun(value)}{''.join(changed)}")
    first = f"{STATISTICS}: {', '.join(written)}" if written else STATISTICS
    return [first, *(f"Compared with {_then(change)}." for change in changes[:1])]


def _changed(number: Number, changes: Sequence[Changes]) -> list[tuple[str, str]]:
    """Return how a number changed, and since when, for each of *changes* that has it."""
    known = [then for then in changes if number.name in then.numbers]
    return [(change(then.numbers[number.name]), f"since {_then(then)}") for then in known]


def _then(changes: Changes) -> str:
    return changes.called or _utc(changes.since)


def _over_time(trend: Trend) -> list[_Listing]:
    """Return the trend's listing, labeled by day, or by hour over few days, in UTC: charts have no time zones.

    The leading number counts what happened, so its listing has what was added a day, or an hour: a total only rises.
    """
    length = trend.points[-1][0] - trend.points[0][0]
    unit, spoken = (_A_DAY, "a day") if length > _A_FEW_DAYS else (_ABOUT, "an hour")
    more = "" if length > _A_FEW_DAYS else " %H:%M"
    more = ", %Y" if length > _MOST_OF_A_YEAR else more
    followed, called = list(trend.points), trend.of.title
    if trend.of.leads_chart:
        called += f" {spoken}"
        if len(followed) > 2 and followed[-1][0] - followed[-2][0] < unit / 2:  # noqa: PLR2004 - too short to say
            del followed[-2]
        followed = [
            (begin, round((after - before) / ((end - begin) / unit)))
            for (begin, before), (end, after) in pairwise(followed)
            if end > begin and after >= before  # a total shrinks after a purge
        ]
    if len(followed) <= 1:
        return []
    points = [(f"{moment:%b} {moment.day}{moment.strftime(more)}", value) for moment, value in followed[:-1]]
    points.append(("now", followed[-1][1]))
    title = f"{trend.of.title} over time"
    chart = charts.line(title, points, unit=called)
    return [_Listing(title, ("When (UTC)", called), points, chart, most_in_line=len(points))]


def _small_print(stats: Stats, changes: Sequence[Changes], note: Note | None) -> list[Block]:
    """Say when the numbers are from, in the reader's time zone."""
    updated, since = stats.lastUpdated, changes[0].since if changes else None
    dates = []
    if updated and since:
        dates.append(
            kit.trusted_context("Last updated {updated} · Changes since {since}", updated=updated, since=since)
        )
    elif updated:
        dates.append(kit.trusted_context("Last updated {updated}", updated=updated))
    elif since:
        dates.append(kit.trusted_context("Changes since {since}", since=since))
    compared = [kit.context(f"Compared with {changes[0].called}")] if changes and changes[0].called else []
    return [*dates, *compared, *([note.block] if note else [])]


def _utc(moment: datetime) -> str:
    return kit.DATE_AND_TIME.format(moment=moment.astimezone(UTC))


def _name(name: str) -> str:
    return kit.one_line(name, NAME) or kit.NO_NAME


class WorkRow(NamedTuple):
    """The *work* of an agent or a workflow called *name*, with its *key* (`bridge.features.statistics.work.key_of`)."""

    key: str
    name: str
    work: Tally


AGENTS_HEAD: Final = (
    "Agent", "Messages", "People", "Threads", "Median", "p95", "Failed", "Stopped", "Unknown", "👍", "👎"
)  # fmt: skip
WORKFLOWS_HEAD: Final = ("Workflow", "Runs", "Done", "Failed", "Unknown", "Median", "p95")
_MOST_OUTAGES: Final = 10
_MOST_WORKING: Final = 20  # agents, and workflows; the file has all
CSV_FILE: Final = "csv_file"
"""The name of the notice with a file."""


def work_card(
    agents: Sequence[WorkRow],
    workflows: Sequence[WorkRow],
    outages: Sequence[tuple[datetime, datetime]],
    since: datetime,
    *,
    project: str = "",
    audience: Audience = Audience.PRIVATE,
) -> Reply:
    """Show what agents and workflows did *since* a day, and when the service couldn't be reached."""
    title = kit.titled("Agents and workflows", project)
    cells: list[list[str | int]] = [
        [_name(name), work.turns, work.people, work.threads, *_times(work),
         work.failed, work.stopped, work.unknown, work.up, work.down]
        for _key, name, work in agents[:_MOST_WORKING]
    ]  # fmt: skip
    of_workflows: list[list[str | int]] = [
        [_name(name), work.turns, work.good, work.failed, work.unknown, *_times(work)]
        for _key, name, work in workflows[:_MOST_WORKING]
    ]
    parts = [(head, rows) for head, rows in ((AGENTS_HEAD, cells), (WORKFLOWS_HEAD, of_workflows)) if rows]
    tables = [charts.table(f"{head[0]}s", head, rows) for head, rows in parts]
    lists = [
        kit.rich(
            kit.paragraph(kit.words(f"{head[0]}s", bold=True)),
            kit.bullets(kit.paragraph(_row_in_words(head, row)) for row in rows),
        )
        for head, rows in parts
    ]
    down = [
        kit.trusted_context("The service was unavailable for {time} from {begin}", time=end - begin, begin=begin)
        for begin, end in outages[-_MOST_OUTAGES:]
    ]
    top = (kit.header(title), kit.section(work_sentence(agents, workflows, outages)))
    end = (*down, kit.trusted_context("Since {since}", since=since))
    return card(*top, *tables, *end, plainer=[(*top, *lists, *end)] if parts else [], audience=audience)


def csv_file(file: Attachment) -> Reply:
    """Send a file to the person who asked for it, in a direct message: only there can it be private."""
    return kit.reply("Here's the file you asked for.", files=[file])


def work_sentence(
    agents: Sequence[WorkRow], workflows: Sequence[WorkRow], outages: Sequence[tuple[datetime, datetime]]
) -> str:
    """Say in a sentence what agents and workflows did, and whether something failed."""
    messages, runs = (sum(row.work.turns for row in rows) for rows in (agents, workflows))
    listed = [kit.counted(messages, "message")] if messages else []
    listed += [kit.counted(runs, "run")] if runs else []
    failed = sum(row.work.failed + row.work.unknown for row in (*agents, *workflows))
    listed = listed or ["No messages and no runs"]
    ending = f"; {failed:,} failed" if failed else "; nothing failed" if messages or runs else ""
    down = f"; {kit.counted(len(outages), 'outage')}" if outages else ""
    return f"{' and '.join(listed)}{ending}{down}."


def _row_in_words(head: Sequence[str], row: Sequence[str | int]) -> str:
    return f"{row[0]}: " + ", ".join(f"{title} {value}" for title, value in zip(head[1:], row[1:], strict=True))


def _times(work: Tally) -> list[str]:
    """Return the median and the 95th percentile of its times."""
    times = (work.percentile(0.5), work.percentile(0.95))
    return ["–" if took is None else kit.spoken(timedelta(seconds=took)) for took in times]  # noqa: RUF001
