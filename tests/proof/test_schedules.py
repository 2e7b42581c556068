"""Any schedule: its slots occur once and in order, and its description means the same schedule."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given, settings, strategies as st

from bridge.errors import BadSchedule
from bridge.features.schedules.schedule import Schedule, next_due, read_report
from bridge.slack.blockkit.folding import fold
from support.spelling import spelled
from support.tables import each

BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"
PIECES = [
    "every", "each", "at", "on", "the", "of", "and", ",", "to", "-", "–", "monday", "Mondays", "mon", "thu", "mon-fri",  # noqa: RUF001
    "sun-", "weekdays", "weekend", "daily", "day", "weekly", "week", "monthly", "month", "1st", "31st", "99th", "last",
    "first", "second", "other", "9", "09:30", "8.30", "24:00", "31", "0", "5pm", "am", "p.m.", "noon", "midnight",
    "o'clock", "berlin", "new", "york", "utc", "pacific", "(Europe/Berlin)", "#ops", "--compare", "7d", "--only runs",
    "--", "—only=tags", "cron", '"', "“", "*", "0 9 * * 1-5", '"0 9 L * *"', "1#1", "5L", "\n", "²", "٩", "\x00",
]  # fmt: skip


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@each("zone", ["UTC", BERLIN, NEW_YORK, LORD_HOWE, "Pacific/Apia", "Asia/Kathmandu"])
@each("words", ["daily 02:30", 'cron "*/30 1-3 * * *"', "monthly 31 01:15"])
def test_each_local_slot_of_a_year_occurs_once_in_order(words: str, zone: str) -> None:
    schedule, clock = read_report(words).schedule, ZoneInfo(zone)
    due, end, shown = utc("2026-01-01T00:00"), utc("2027-01-02T00:00"), []
    while (due := next_due(schedule, clock, due)) < end:
        shown.append(due)

    walls = [moment.astimezone(clock).replace(tzinfo=None) for moment in shown]
    assert shown == sorted(set(shown))
    assert len(set(walls)) == len(walls)
    assert {wall.date() for wall in walls} >= {
        (utc("2026-01-02T12:00") + timedelta(days=day)).date() for day in range(364) if not words.startswith("monthly")
    }


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
