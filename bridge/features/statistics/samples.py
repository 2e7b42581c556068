"""Samples of statistics (`bridge.slack.blockkit.samples`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta

from bridge.features.statistics import layout
from bridge.features.statistics.layout import Trend, WorkRow
from bridge.features.statistics.numbers import NUMBERS, PARTS, Changes, Difference, NamesChanged
from bridge.features.statistics.past import Usual
from bridge.features.statistics.snapshots import Snapshot
from bridge.features.statistics.work import Tally
from bridge.project.models import Stats
from bridge.slack.blockkit.reply import Attachment
from bridge.slack.blockkit.samples import DAY, NOON, Sample, sample


def samples(text: str, many: int) -> Iterator[Sample]:
    """Yield samples of statistics."""
    names = [{"name": f"{text}{number or ''}", "count": 7 + number} for number in range(many)]
    stats = Stats.model_validate(
        {"promptCount": 1234, "runCount": 7, "versionCount": 1, "categories": names, "tags": names, "lastUpdated": NOON}
    )
    moved = NamesChanged([(text, 1)] * many, [(text, 7)] * many, {text: Difference(7, 1)})
    numbers = {number.name: Difference(7, then) for number, then in zip(NUMBERS, (1, 7, 9), strict=True)}
    fallen = {number.name: Difference(9, 7, has_fallen=True) for number in NUMBERS}
    changes = Changes(NOON - DAY, numbers, dict.fromkeys(PARTS, moved), text)
    trend = Trend(NUMBERS[1], [(NOON - number * DAY, 1000 * (21 - number)) for number in range(20, -1, -1)])
    few = Trend(NUMBERS[0], [(NOON - timedelta(hours=hours), 9 - hours) for hours in range(9, -1, -1)])
    note = layout.nothing_yet(NOON)
    for is_report in (True, False):
        yield sample(
            layout.stats_card, stats, changes=[changes, Changes(NOON - 7 * DAY, numbers)], trend=trend, note=note,
            is_report=is_report, project=text, usual=Usual(5, 0), failed=7,
        )  # fmt: skip
        for changed in (changes, Changes(NOON - DAY, fallen)):
            yield sample(layout.stats_card, stats, changes=[changed], trend=few, is_report=is_report, failed=0)
        yield sample(layout.stats_card, stats, only=["tags"], is_report=is_report)
        yield sample(layout.stats_card, Stats(), is_report=is_report)
    past = [Snapshot(NOON - number * DAY, {"runs": 7 - number}, {}) for number in range(1, 7)]
    yield sample(layout.home_line, stats, past, NOON)
    yield sample(layout.home_line, Stats(promptCount=1), [], NOON)
    tally = Tally(good=7, failed=2, stopped=1, unknown=1, up=1, people=7, threads=7, times=Counter({3: 7}))
    working = [WorkRow(f"agent {number}", text, tally) for number in range(many)]
    outages = [(NOON - number * DAY, NOON) for number in range(1, many + 1)]
    yield sample(layout.work_card, working, working, outages, NOON - DAY, project=text)
    yield sample(layout.work_card, [WorkRow("agent 7", text, Tally(good=1))], [], [], NOON - DAY)
    yield sample(layout.csv_file, Attachment(name="agents.csv", content=text))
