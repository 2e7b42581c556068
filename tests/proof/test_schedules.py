"""Any schedule: its slots occur once and in order, and its description means the same schedule."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim
from hypothesis import given, settings, strategies as st

from bridge.errors import BadSchedule
from bridge.features.schedules.schedule import read_report
from bridge.features.standing.times import Schedule, next_due
from bridge.names.folding import fold
from support.spelling import spelled

PIECES = [
    "every", "each", "at", "on", "the", "of", "and", ",", "to", "-", "–", "monday", "Mondays", "mon", "thu", "mon-fri",  # noqa: RUF001
    "sun-", "weekdays", "weekend", "daily", "day", "weekly", "week", "monthly", "month", "1st", "31st", "99th", "last",
    "first", "second", "other", "9", "09:30", "8.30", "24:00", "31", "0", "5pm", "am", "p.m.", "noon", "midnight",
    "o'clock", "berlin", "new", "york", "utc", "pacific", "(Europe/Berlin)", "#ops", "--compare", "7d", "--only runs",
    "--", "—only=tags", "cron", '"', "“", "*", "0 9 * * 1-5", '"0 9 L * *"', "1#1", "5L", "\n", "²", "٩", "\x00",
]  # fmt: skip


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


FIXED = ["30 2 * * *", "0 0 * * *", "10,40 0-3 * * *", "59 23 * * *"]
ELAPSED = [
    "*/5 * * * *",
    "0 * * * *",
    "45 */2 * * *",
    "5-59/20 1-3 * * *",
    "*/10 2 * * *",
    "*/30 0 * * 0",
    "1 0-23/3 1-5 * *",
]


def changes_of(zone: ZoneInfo) -> Iterator[datetime]:
    """Yield when a zone's clock changes, in UTC, in 2026."""
    for day in range(365):
        begin = utc("2026-01-01T00:00") + timedelta(days=day)
        minutes = [begin + timedelta(minutes=minute) for minute in (0, 1440)]
        if len({one.astimezone(zone).utcoffset() for one in minutes}) > 1:
            steps = [begin + timedelta(minutes=minute) for minute in range(1441)]
            yield next(
                two for one, two in pairwise(steps) if len({x.astimezone(zone).utcoffset() for x in (one, two)}) > 1
            )


def expected(cron: str, zone: ZoneInfo, minutes: list[datetime]) -> list[datetime]:
    """Look at each minute: what has a wildcard or a step is due whenever the clock shows it, the rest once a time."""
    matches, found, shown = CronSim(cron, datetime(2026, 1, 1)), [], set[datetime]()  # noqa: DTZ001 - walls
    last = minutes[0].astimezone(zone).replace(tzinfo=None, fold=0) - timedelta(minutes=1)
    for moment in minutes:
        wall = moment.astimezone(zone).replace(tzinfo=None, fold=0)
        skipped = max(0, (wall - last) // timedelta(minutes=1) - 1)
        walls = [wall - timedelta(minutes=back) for back in range((skipped if cron in FIXED else 0) + 1)]
        if any(
            one.minute in matches.minutes and one.hour in matches.hours and matches.match_day(one.date())
            and one not in shown for one in walls
        ):  # fmt: skip
            found.append(moment)
        shown |= set(walls) if cron in FIXED else set()
        last = wall
    return found


def test_slots_are_those_of_debians_cron_in_every_zone() -> None:
    changes = {
        (change, *(at.astimezone(zone).replace(tzinfo=None) for at in (change - timedelta(minutes=1), change))): zone
        for zone in map(ZoneInfo, sorted(available_timezones()))
        for change in changes_of(zone)
    }
    assert len(changes) > 20
    for (change, *_walls), zone in changes.items():
        begin = change - timedelta(hours=5)
        minutes = [begin + timedelta(minutes=minute) for minute in range(600)]
        for cron in [*FIXED, *ELAPSED]:
            due, found = begin - timedelta(minutes=1), list[datetime]()
            while (due := next_due(Schedule("", (cron,)), zone, due)) <= minutes[-1]:
                found.append(due)
            assert found == expected(cron, zone, minutes), (cron, zone, change)


@given(typed=st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=9).map(" ".join))
def test_a_description_of_a_schedule_parses_to_the_same_schedule(typed: str) -> None:
    try:
        spec = read_report(typed)
    except BadSchedule:
        return

    again = read_report(f"{spec.schedule.words} ({spec.zone})" if spec.zone else spec.schedule.words)

    assert (again.schedule, again.zone) == (spec.schedule, spec.zone)
    assert next_due(spec.schedule, ZoneInfo("UTC"), utc("2026-11-21T09:00"))


@settings(max_examples=60)
@given(
    data=st.data(),
    days=st.sampled_from(["daily", "mon-fri", "every monday and thursday", "first monday of the month", "the 24th"]),
    time=st.sampled_from(["at 8:30", "@8:30", "at: 8.30", "8:30 am", "half past 8", "8h30", "08:30:"]),
    end=st.sampled_from(["", "berlin", "(Europe/Berlin) #ops", "#ops, --only runs,tags", "#ops: --compare=7d"]),
)
def test_a_schedule_means_the_same_in_any_spelling(data: st.DataObject, days: str, time: str, end: str) -> None:
    written = data.draw(spelled(f"{days} {time} {end}".strip()))

    read, plain = read_report(written), read_report(f"{days} 08:30 {end.replace(':', '')}")

    assert read.model_copy(update={"channel": fold(read.channel).text}) == plain


@given(
    minute=st.sampled_from(["0", "05", "59", "*/15", "0,30"]),
    hour=st.sampled_from(["0", "9", "09", "23", "*", "8-17"]),
    of_month=st.sampled_from(["*", "1", "L", "1,15", "15,L", "29", "30", "31", "1-7", "28"]),
    of_week=st.sampled_from(
        ["*", "1", "7", "0", "1-5", "MON-FRI", "sun", "1,4", "5-7", "0-6", "1#1", "3#5", "5L", "*/2"]
    ),
)
def test_a_described_cron_expression_is_due_at_the_same_times(
    minute: str, hour: str, of_month: str, of_week: str
) -> None:
    typed = f"{minute} {hour} {of_month} * {of_week}"
    spec = read_report(f"cron {typed}")

    again = read_report(spec.schedule.words)

    at, clock = utc("2026-11-21T09:00"), ZoneInfo("UTC")
    assert again.schedule == spec.schedule
    for _ in range(40):
        due = next_due(Schedule("", (typed,)), clock, at)
        assert next_due(spec.schedule, clock, at) == due
        at = due
