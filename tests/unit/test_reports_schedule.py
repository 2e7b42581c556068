"""When a report is due: a table of schedules, time zones and moments."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from bridge.errors import BadSchedule
from bridge.features.reports.layout import COMPARED, CRON, HOW_OFTEN
from bridge.features.reports.schedule import is_too_late, last_due, next_due, read_report, span_of

BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"
DUE = [
    # every day, on either side of the time
    ("daily 09:00", "UTC", "2026-11-21T08:59:59.5", "2026-11-21T09:00"),
    ("daily 09:00", "UTC", "2026-11-21T09:00", "2026-11-22T09:00"),
    ("daily 09:00", BERLIN, "2026-11-21T07:00", "2026-11-21T08:00"),
    ("daily 9:00", BERLIN, "2026-07-21T06:00", "2026-07-21T07:00"),
    ("daily 00:00", NEW_YORK, "2026-11-21T04:59", "2026-11-21T05:00"),
    ("daily 5:30pm", "Asia/Kolkata", "2026-11-21T11:00", "2026-11-21T12:00"),
    # weekdays and weeks
    ("weekdays 08:30", "UTC", "2026-11-20T08:30", "2026-11-23T08:30"),
    ("weekly mon 09:00", "UTC", "2026-11-21T00:00", "2026-11-23T09:00"),
    ("weekly Sunday 23:59", "UTC", "2026-11-21T00:00", "2026-11-22T23:59"),
    ("weekly mon 00:30", "Pacific/Auckland", "2026-11-21T00:00", "2026-11-22T11:30"),
    # months and their ends
    ("monthly 1 09:00", "UTC", "2026-11-21T00:00", "2026-12-01T09:00"),
    ("monthly 1 09:00", "UTC", "2026-12-01T09:00", "2027-01-01T09:00"),
    ("monthly 31 09:00", "UTC", "2026-11-21T00:00", "2026-11-30T09:00"),
    ("monthly 31 09:00", "UTC", "2026-12-01T00:00", "2026-12-31T09:00"),
    ("monthly 30 09:00", "UTC", "2027-02-01T00:00", "2027-02-28T09:00"),
    ("monthly 30 09:00", "UTC", "2027-02-28T09:00", "2027-03-30T09:00"),
    ("monthly 29 09:00", "UTC", "2028-02-01T00:00", "2028-02-29T09:00"),
    ("monthly 29 09:00", "UTC", "2028-02-29T09:00", "2028-03-29T09:00"),
    ("monthly last 09:00", "UTC", "2028-02-10T00:00", "2028-02-29T09:00"),
    # cron, down to each minute, and the leap day
    ('cron "* * * * *"', "UTC", "2026-11-21T07:00:00.001", "2026-11-21T07:01"),
    ('cron "*/15 8-9 * * 1-5"', "UTC", "2026-11-20T09:45", "2026-11-23T08:00"),
    ("cron 0 9 * * 1-5", BERLIN, "2026-11-21T00:00", "2026-11-23T08:00"),
    ('cron "0 12 29 2 *"', "UTC", "2026-01-01T00:00", "2028-02-29T12:00"),
    # spring: 02:00-03:00 is not there on 29 March in Berlin; the next minute that is, is 03:00, 01:00 UTC
    ("daily 02:30", BERLIN, "2026-03-28T12:00", "2026-03-29T01:00"),
    ("daily 02:30", BERLIN, "2026-03-29T01:00", "2026-03-30T00:30"),
    ("daily 03:00", BERLIN, "2026-03-28T12:00", "2026-03-29T01:00"),
    ('cron "30 2,3 * * *"', BERLIN, "2026-03-29T01:00", "2026-03-29T01:30"),
    ('cron "*/20 * * * *"', BERLIN, "2026-03-29T00:40", "2026-03-29T01:00"),
    ('cron "*/20 * * * *"', BERLIN, "2026-03-29T01:00", "2026-03-29T01:20"),
    ("daily 02:30", NEW_YORK, "2026-03-08T05:00", "2026-03-08T07:00"),
    ("daily 02:15", LORD_HOWE, "2026-10-03T12:00", "2026-10-03T15:30"),  # half an hour, to 02:30
    # autumn: 02:00-03:00 is there twice on 25 October; the first counts
    ("daily 02:30", BERLIN, "2026-10-24T12:00", "2026-10-25T00:30"),
    ("daily 02:30", BERLIN, "2026-10-25T00:30", "2026-10-26T01:30"),
    ("daily 02:30", BERLIN, "2026-10-25T00:59", "2026-10-26T01:30"),  # between the two
    ('cron "* * * * *"', BERLIN, "2026-10-25T00:59", "2026-10-25T02:00"),
    ('cron "*/20 * * * *"', BERLIN, "2026-10-25T01:10", "2026-10-25T02:00"),
    ("daily 01:30", NEW_YORK, "2026-11-01T05:30", "2026-11-02T06:30"),
    ("daily 01:45", LORD_HOWE, "2026-04-04T12:00", "2026-04-04T14:45"),
]
LATE = [
    # half of a day, of a minute, of a long month; of the weekend for who reports on weekdays only
    ("daily 09:00", "2026-11-21T09:00", timedelta(hours=11, minutes=59), False),
    ("daily 09:00", "2026-11-21T09:00", timedelta(hours=12), True),
    ('cron "* * * * *"', "2026-11-21T09:00", timedelta(seconds=29), False),
    ('cron "* * * * *"', "2026-11-21T09:00", timedelta(seconds=30), True),
    ("monthly 1 09:00", "2026-12-01T09:00", timedelta(days=15), False),
    ("weekdays 09:00", "2026-11-20T09:00", timedelta(hours=35), False),
]
MISSED = [
    ("daily 09:00", "2026-11-18T09:00", "2026-11-18T09:00", "2026-11-18T09:00"),
    ("daily 09:00", "2026-11-18T09:00", "2026-11-19T08:59", "2026-11-18T09:00"),
    ("daily 09:00", "2026-11-18T09:00", "2026-11-21T09:00", "2026-11-21T09:00"),
    ('cron "* * * * *"', "2025-11-18T09:00", "2026-11-21T09:00:30", "2026-11-21T09:00"),
    ('cron "0-29 9 * * *"', "2026-11-18T09:00", "2026-11-21T08:00", "2026-11-20T09:29"),
    ("monthly 1 09:00", "2026-01-01T09:00", "2026-11-21T09:00", "2026-11-01T09:00"),
]
WRONG = [
    ("", "often"), ("hourly", "often"), ("daily", "time"), ("daily 24:00", "time"), ("daily 9", "time"),
    ("daily 13:00pm", "time"), ("daily ٩:٠٠", "time"),  # noqa: RUF001 - digits that are no digits here
    ("weekly 09:00", "weekday"), ("weekly monk 9:00", "weekday"),
    ("monthly 0 09:00", "monthday"), ("monthly 32 09:00", "monthday"), ("monthly ² 09:00", "monthday"),
    ('cron "0 9 * *"', "cron"), ('cron "0 0 9 * * 1"', "cron"), ('cron "0 0 30 2 *"', "cron"), ("cron", "cron"),
    (f'cron "{"9" * 5000} 9 * * *"', "cron"), ("daily 09:00 Mars/Phobos", "zone"),
    ("daily 09:00 ../../etc/passwd", "zone"), ("daily 09:00 --compare", "compare"),
    ("daily 09:00 --compare 0d", "compare"), ("daily 09:00 --compare 401d", "compare"),
    ("daily 09:00 --only cats", "only"), ("daily 09:00 --loud", "option"),
]  # fmt: skip


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(("words", "zone", "after", "due"), DUE)
def test_a_report_is_due_at_the_next_time_that_the_clock_of_its_zone_shows(
    words: str, zone: str, after: str, due: str
) -> None:
    assert next_due(read_report(words).schedule, ZoneInfo(zone), utc(after)) == utc(due)


@pytest.mark.parametrize("zone", ["UTC", BERLIN, NEW_YORK, LORD_HOWE, "Pacific/Apia", "Asia/Kathmandu"])
@pytest.mark.parametrize("words", ["daily 02:30", 'cron "*/30 1-3 * * *"', "monthly 31 01:15"])
def test_through_all_of_a_year_each_local_slot_comes_once_and_in_order(words: str, zone: str) -> None:
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


@pytest.mark.parametrize(("words", "slot", "late", "is_late"), LATE)
def test_a_slot_is_too_late_after_half_of_the_time_to_the_next(
    words: str, slot: str, late: timedelta, *, is_late: bool
) -> None:
    schedule = read_report(words).schedule

    assert is_too_late(schedule, ZoneInfo("UTC"), utc(slot), utc(slot) + late) is is_late


@pytest.mark.parametrize(("words", "first", "until", "last"), MISSED)
def test_of_many_missed_slots_the_last_is_found(words: str, first: str, until: str, last: str) -> None:
    assert last_due(read_report(words).schedule, ZoneInfo("UTC"), utc(first), utc(until)) == utc(last)


@pytest.mark.parametrize(("words", "part"), WRONG)
def test_what_is_not_understood_is_named(words: str, part: str) -> None:
    with pytest.raises(BadSchedule) as refused:
        read_report(words)

    assert refused.value.part == part


def test_the_options_follow_in_any_order_with_the_dashes_that_phones_make() -> None:
    first = read_report("daily 9 am europe/berlin #sales --compare 7d --only tags,runs")
    second = read_report("daily 09:00 —only=runs,tags #sales –compare 7D Europe/Berlin")  # noqa: RUF001 - phones

    assert first == second
    assert (first.zone, first.channel, first.compare, first.only) == (BERLIN, "#sales", "7d", ("runs", "tags"))
    assert first.schedule.words == "daily 09:00"
    assert span_of("2w") == timedelta(days=14)


def test_what_a_form_offers_is_understood_where_it_is_read() -> None:
    assert all(read_report(f"{often} 09:00") for often in HOW_OFTEN if often != CRON)
    assert all(span_of(span) for span in COMPARED if span != "-")
