"""When a report is due: a table of schedules, time zones and times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from bridge.features.schedules.forms import COMPARED, CRON, HOW_OFTEN
from bridge.features.schedules.schedule import ReportSpec, StoredTask, read_report, span_of
from bridge.features.standing.times import Schedule, is_too_late, last_due, next_due
from support.tables import each

BERLIN, NEW_YORK, LORD_HOWE = "Europe/Berlin", "America/New_York", "Australia/Lord_Howe"
DUE = [
    # daily, just before and at the time
    ("daily 09:00", "UTC", "2026-11-21T08:59:59.5", "2026-11-21T09:00"),
    ("daily 09:00", "UTC", "2026-11-21T09:00", "2026-11-22T09:00"),
    ("daily 09:00", BERLIN, "2026-11-21T07:00", "2026-11-21T08:00"),
    ("daily 9:00", BERLIN, "2026-07-21T06:00", "2026-07-21T07:00"),
    ("daily 00:00", NEW_YORK, "2026-11-21T04:59", "2026-11-21T05:00"),
    ("daily 5:30pm", "Asia/Kolkata", "2026-11-21T11:00", "2026-11-21T12:00"),
    ("daily 9", "UTC", "2026-11-21T08:59", "2026-11-21T09:00"),
    # weekdays and weeks
    ("weekdays 08:30", "UTC", "2026-11-20T08:30", "2026-11-23T08:30"),
    ("weekly mon 09:00", "UTC", "2026-11-21T00:00", "2026-11-23T09:00"),
    ("weekly Sunday 23:59", "UTC", "2026-11-21T00:00", "2026-11-22T23:59"),
    ("weekly mon 00:30", "Pacific/Auckland", "2026-11-21T00:00", "2026-11-22T11:30"),
    # months and month ends
    ("monthly 1 09:00", "UTC", "2026-11-21T00:00", "2026-12-01T09:00"),
    ("monthly 1 09:00", "UTC", "2026-12-01T09:00", "2027-01-01T09:00"),
    ("monthly 31 09:00", "UTC", "2026-11-21T00:00", "2026-11-30T09:00"),
    ("monthly 31 09:00", "UTC", "2026-12-01T00:00", "2026-12-31T09:00"),
    ("monthly 30 09:00", "UTC", "2027-02-01T00:00", "2027-02-28T09:00"),
    ("monthly 30 09:00", "UTC", "2027-02-28T09:00", "2027-03-30T09:00"),
    ("monthly 29 09:00", "UTC", "2028-02-01T00:00", "2028-02-29T09:00"),
    ("monthly 29 09:00", "UTC", "2028-02-29T09:00", "2028-03-29T09:00"),
    ("monthly last 09:00", "UTC", "2028-02-10T00:00", "2028-02-29T09:00"),
    # the nth Monday or Friday of a month
    ("first monday of the month at 9", "UTC", "2026-11-21T00:00", "2026-12-07T09:00"),
    ("last friday of the month 17:00", "UTC", "2026-11-21T00:00", "2026-11-27T17:00"),
    ("monthly 1,15 9", "UTC", "2026-11-01T09:00", "2026-11-15T09:00"),
    # cron: every minute, and leap day
    ('cron "* * * * *"', "UTC", "2026-11-21T07:00:00.001", "2026-11-21T07:01"),
    ('cron "*/15 8-9 * * 1-5"', "UTC", "2026-11-20T09:45", "2026-11-23T08:00"),
    ("cron 0 9 * * 1-5", BERLIN, "2026-11-21T00:00", "2026-11-23T08:00"),
    ('cron "0 12 29 2 *"', "UTC", "2026-01-01T00:00", "2028-02-29T12:00"),
    # spring: 02:00-03:00 doesn't exist on 29 March in Berlin; the next minute is 03:00, which is 01:00 UTC
    ("daily 02:30", BERLIN, "2026-03-28T12:00", "2026-03-29T01:00"),
    ("daily 02:30", BERLIN, "2026-03-29T01:00", "2026-03-30T00:30"),
    ("daily 03:00", BERLIN, "2026-03-28T12:00", "2026-03-29T01:00"),
    ('cron "30 2,3 * * *"', BERLIN, "2026-03-29T01:00", "2026-03-29T01:30"),
    ('cron "*/20 * * * *"', BERLIN, "2026-03-29T00:40", "2026-03-29T01:00"),
    ('cron "*/20 * * * *"', BERLIN, "2026-03-29T01:00", "2026-03-29T01:20"),
    ("daily 02:30", NEW_YORK, "2026-03-08T05:00", "2026-03-08T07:00"),
    ("daily 02:15", LORD_HOWE, "2026-10-03T12:00", "2026-10-03T15:30"),  # the gap is half an hour, up to 02:30
    # autumn: 02:00-03:00 occurs twice on 25 October; the first one counts, but for wildcards and steps
    ("daily 02:30", BERLIN, "2026-10-24T12:00", "2026-10-25T00:30"),
    ("daily 02:30", BERLIN, "2026-10-25T00:30", "2026-10-26T01:30"),
    ("daily 02:30", BERLIN, "2026-10-25T00:59", "2026-10-26T01:30"),  # between the two
    ('cron "* * * * *"', BERLIN, "2026-10-25T00:59", "2026-10-25T01:00"),
    ('cron "*/20 * * * *"', BERLIN, "2026-10-25T01:10", "2026-10-25T01:20"),
    ('cron "0 * * * *"', BERLIN, "2026-10-25T00:00", "2026-10-25T01:00"),
    ('cron "0,30 1-4 * * *"', BERLIN, "2026-10-25T00:30", "2026-10-25T02:00"),
    ("daily 01:30", NEW_YORK, "2026-11-01T05:30", "2026-11-02T06:30"),
    ("daily 01:45", LORD_HOWE, "2026-04-04T12:00", "2026-04-04T14:45"),
]
LATE = [
    # half of a day, of a minute and of a long month; the weekend for weekday reports
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


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@each(("words", "zone", "after", "due"), DUE)
def test_a_report_is_due_at_the_next_local_time_of_its_zone(words: str, zone: str, after: str, due: str) -> None:
    assert next_due(read_report(words).schedule, ZoneInfo(zone), utc(after)) == utc(due)


@each(("words", "slot", "late", "is_late"), LATE)
def test_a_slot_is_too_late_after_half_its_period(words: str, slot: str, late: timedelta, *, is_late: bool) -> None:
    schedule = read_report(words).schedule

    assert is_too_late(schedule, ZoneInfo("UTC"), utc(slot), utc(slot) + late) is is_late


@each(("words", "first", "until", "last"), MISSED)
def test_the_last_of_many_missed_slots_is_found(words: str, first: str, until: str, last: str) -> None:
    assert last_due(read_report(words).schedule, ZoneInfo("UTC"), utc(first), utc(until)) == utc(last)


@each(
    ("earlier", "crons", "shown"),
    [
        ("weekly mon 09:00", ("0 9 * * 1",), "every Monday at 09:00"),
        ("monthly 29 09:00", ("0 9 29 * *", "0 9 L 2 *"), "every month on the 29th at 09:00"),
        ('cron "*/5 * * * *"', ("*/5 * * * *",), "cron */5 * * * *"),
    ],
)
def test_a_report_of_an_earlier_release_is_described(earlier: str, crons: tuple[str, ...], shown: str) -> None:
    spec = ReportSpec(schedule=Schedule(earlier, crons), zone="UTC")

    assert StoredTask("r1", spec, utc("2026-11-21T09:00")).called == f"{shown} (UTC)"


def test_every_choice_in_the_form_is_valid() -> None:
    assert all(read_report(f"{often} 09:00") for often in HOW_OFTEN if often != CRON)
    assert all(span_of(span) for span in COMPARED if span != "-")
