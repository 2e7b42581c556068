"""When a report is due: a table of schedules, time zones and times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from bridge.ends.failures import sentence
from bridge.errors import BadSchedule
from bridge.features.schedules.forms import COMPARED, CRON, HOW_OFTEN
from bridge.features.schedules.schedule import (
    ReportSpec,
    Schedule,
    StoredTask,
    is_too_late,
    last_due,
    next_due,
    read_report,
    span_of,
)
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
WRONG = [
    ("every monday at 9 " + "at " * 100, "often"),
    ("", "often"), ("hourly", "hourly"), ("every 30 minutes", "hourly"), ("every 2 hours", "hourly"),
    ("every evening at 8am", "time"), ("every morning at 15:00", "time"), ("yearly on jan 1 9:00", "often"),
    ("daily", "no_time"), ("daily 24:00", "time"),
    ("daily 13:00pm", "time"),
    ("weekly 09:00", "weekday"), ("weekly monk 9:00", "weekday"),
    ("monthly 0 09:00", "monthday"), ("monthly 32 09:00", "monthday"),
    ('cron "0 9 * *"', "cron"), ('cron "0 0 9 * * 1"', "cron"), ('cron "0 0 30 2 *"', "cron"), ("cron", "cron"),
    (f'cron "{"9" * 5000} 9 * * *"', "cron"), ("daily 09:00 Mars/Phobos", "zone"),
    ("daily 09:00 ../../etc/passwd", "zone"), ("daily 09:00 --compare", "compare"),
    ("daily 09:00 --compare 0d", "compare"), ("daily 09:00 --compare 401d", "compare"),
    ("daily 09:00 --only cats", "only"), ("daily 09:00 --loud", "options"),
    ("every blursday at 9", "weekday"),
    ("9:00", "often"), ("tomorrow at 9", "often"), ("every 2 weeks at 9", "often"), ("every other monday 9", "often"),
    ("every second monday at 9", "often"), ("every day monday 9", "often"), ("5th friday 9", "often"),
    ("every month at 9", "monthday"), ("the 32nd at 9", "monthday"), ("monday 13pm", "time"),
    ("monday 9 and 17:00", "times"), ("monday 9 GMT+5", "zone"), ("monday 9 pacific", "zone"),
    ("monday 9 utc berlin", "zone"), ("every 3 mondays", "often"), ("every 3 weekdays", "often"),
    ("1st to 15th of the month at 9", "often"), ("every monday at 9 until friday", "often"),
    ("last daily at 9", "often"),
    ('cron "0 9 * * 1" cron "0 9 * * 2"', "cron"), ("cron 0 9 * * FRI-MON", "cron"),
]  # fmt: skip
SAID = [
    # input, displayed text, time zone
    ("every monday at 9", "every Monday at 09:00", ""),
    ("monday 9am", "every Monday at 09:00", ""),
    *(
        (f'cron "0 9 * * {days}"', "every day at 09:00", "")
        for days in ("MON-SUN", "mon\u2013sun", "Mon\u2014Sun", "1\u20137")
    ),
    ('cron "0 9 * * TUE,THU-SUN"', "every Tuesday, Thursday, Friday, Saturday and Sunday at 09:00", ""),
    ("0 9\u201317 * * MON\u2013FRI", "cron 0 9-17 * * MON-FRI", ""),
    ("every sunday night at 11", "every Sunday at 23:00", ""),
    ("sunday nights 11:30pm", "every Sunday at 23:30", ""),
    ("every night at 9", "every day at 21:00", ""),
    ("nightly at 2", "every day at 02:00", ""),
    ("every night at 12", "every day at 00:00", ""),
    ("every night at midnight", "every day at 00:00", ""),
    ("mon 9", "every Monday at 09:00", ""),
    ("Mondays at 9:30", "every Monday at 09:30", ""),
    ("weekly mon 09:00", "every Monday at 09:00", ""),
    ("9 a.m. each Monday", "every Monday at 09:00", ""),
    ("every week on monday at 9 o'clock", "every Monday at 09:00", ""),
    ("daily 9", "every day at 09:00", ""),
    ("EVERY DAY AT 0930", "every day at 09:30", ""),
    ("daily noon", "every day at 12:00", ""),
    ("every day at midnight", "every day at 00:00", ""),
    ("weekdays 8:30", "every weekday at 08:30", ""),
    ("every weekday at 8.30", "every weekday at 08:30", ""),
    ("mon-fri 9", "every weekday at 09:00", ""),
    ("from monday to friday at 5 pm", "every weekday at 17:00", ""),
    ("mon – sun 9", "every day at 09:00", ""),  # noqa: RUF001 - as phones write it
    ("every monday and thursday at 9", "every Monday and Thursday at 09:00", ""),
    ("mon,thu 9", "every Monday and Thursday at 09:00", ""),
    ("mon, wed & fri 9", "every Monday, Wednesday and Friday at 09:00", ""),
    ("every weekend at 10", "every Saturday and Sunday at 10:00", ""),
    ("fri-mon 9", "every Monday, Friday, Saturday and Sunday at 09:00", ""),
    ("monthly 1 9", "every month on the 1st at 09:00", ""),
    ("every month on the 1st at 9", "every month on the 1st at 09:00", ""),
    ("1st of the month at 9", "every month on the 1st at 09:00", ""),
    ("monthly at 9 on the 22nd", "every month on the 22nd at 09:00", ""),
    ("25 of the month at 9", "every month on the 25th at 09:00", ""),
    ("last day of the month 17:00", "every month on the last day at 17:00", ""),
    ("monthly last 09:00", "every month on the last day at 09:00", ""),
    ("monthly 30 9", "every month on the 30th at 09:00", ""),
    ("1st, 15th and last day 9", "every month on the 1st, 15th and last day at 09:00", ""),
    ("first monday of the month at 9", "every month on the first Monday at 09:00", ""),
    ("every first monday at 9", "every month on the first Monday at 09:00", ""),
    ("every last friday 17:00", "every month on the last Friday at 17:00", ""),
    ("monday of the week at 9", "every Monday at 09:00", ""),
    ('cron "0 9 * * 1-5"', "every weekday at 09:00", ""),
    ("cron 00 09 * * MON,THU", "every Monday and Thursday at 09:00", ""),
    ('"0 9 * * 5L"', "every month on the last Friday at 09:00", ""),
    ("cron 0 9 1-7 * 1", "cron 0 9 1-7 * 1", ""),
    ("cron 0 9 30 * *", "cron 0 9 30 * *", ""),  # in words, it would cover February
    ("Ｄａｉｌｙ　９：３０", "every day at 09:30", ""),  # noqa: RUF001 - as keyboards send it
    ("daily\u00a0٩:٠٠\u200b", "every day at 09:00", ""),  # noqa: RUF001
    ("every day at 9 o’clock", "every day at 09:00", ""),  # noqa: RUF001
    ("cron “0 9 * * mon−fri”", "every weekday at 09:00", ""),  # noqa: RUF001
    ("daily 9 berlin", "every day at 09:00", BERLIN),
    ("daily 9 (Europe/Berlin)", "every day at 09:00", BERLIN),
    ("every monday in New York at 9", "every Monday at 09:00", NEW_YORK),
    ("daily 9 utc", "every day at 09:00", "UTC"),
    ("daily 9, port of spain", "every day at 09:00", "America/Port_of_Spain"),
    ("daily 9 istanbul", "every day at 09:00", "Europe/Istanbul"),  # listed twice in the time zone tables
    ("cron 0 9 1-7 * 1 berlin", "cron 0 9 1-7 * 1", BERLIN),
    ("every weekday at half past 8", "every weekday at 08:30", ""),
    ("weekdays at quarter to nine", "every weekday at 08:45", ""),
    ("weekdays at nine thirty", "every weekday at 09:30", ""),
    ("weekdays 8h30", "every weekday at 08:30", ""),
    ("Mo–Fr 8:30 Uhr", "every weekday at 08:30", ""),  # noqa: RUF001 - as phones write it
    ("Mi-Do @ 8h", "every Wednesday and Thursday at 08:00", ""),
    ("M-F 8:30:", "every weekday at 08:30", ""),
    ("mon/wed/fri 8:30…", "every Monday, Wednesday and Friday at 08:30", ""),
    ("every business day at 9 sharp", "every weekday at 09:00", ""),
    ("every morning at 8:30 my time", "every day at 08:30", ""),
    ("every evening at 6", "every day at 18:00", ""),
    ("every monday at 5 in the afternoon", "every Monday at 17:00", ""),
    ("30 8 * * 1-5", "every weekday at 08:30", ""),
    ("weekdays @8:30", "every weekday at 08:30", ""),
    ("daily at：\u200b 8:30", "every day at 08:30", ""),  # noqa: RUF001 - as keyboards send it
    ("daily 8:30\ufe0f am", "every day at 08:30", ""),
    ("day 24 of the month at 9", "every month on the 24th at 09:00", ""),
    ("each month on day 24 at 9", "every month on the 24th at 09:00", ""),
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


@each(("words", "part"), WRONG)
def test_an_unreadable_part_of_a_schedule_is_named(words: str, part: str) -> None:
    with pytest.raises(BadSchedule) as refused:
        read_report(words)

    assert refused.value.part == part


@each(
    ("typed", "said"),
    [
        ("daily 8:30 PST", "Did you mean America/Los_Angeles?"),
        ("daily 8:30 CEST", "Did you mean Europe/Berlin?"),
        ("daily 9 EST", "Did you mean America/New_York?"),
        ("MST daily 9", "time zone “MST”. Did you mean America/Denver or America/Phoenix?"),
        ("daily 9 gmt", "Did you mean Europe/London or UTC?"),
        ("first workday of the month 9", "such as 15th or last day."),
        ("every third day at 9", "“every third day”"),
        ("sunday nights at 1", "which night “sunday nights at 1” means."),
        ("every 15 minutes", 'such as cron "0 * * * *".'),
        ("daily 24:00", "such as 09:00."),
    ],
)
def test_the_nearest_right_schedule_is_shown(typed: str, said: str) -> None:
    with pytest.raises(BadSchedule) as refused:
        read_report(typed)

    assert said in sentence(refused.value)


@each(
    ("typed", "nearby"),
    [
        *((typed, "Monday") for typed in ("biweekly monday 9", "next monday at 9", "every monday at 9 until december")),
        *((typed, "weekday") for typed in ("weekdays except friday 9", "every weekday but friday at 9")),
        *(
            (typed, "every day")
            for typed in ("daily at 9 except sundays", "daily 9 GMT+1", "twice daily at 9", "daily 9 IST")
        ),
        *(
            (f"{word} monday at 9", "Monday")
            for word in ("not", "never", "once", "this", "every even", "bi-weekly", "minus")
        ),
        *(
            (f"every monday at 9 {words}", "Monday")
            for words in ("for 3 weeks", "or 10", "in january", "starting next week")
        ),
        ("quarterly on the 1st at 9", "1st"),
        *((typed, "Monday") for typed in ("monday week at 9", "a week from monday at 9", "in a week on monday at 9")),
        ("in a month on the 1st at 9", "1st"),
        *((typed, "Friday") for typed in ("last friday at 5pm", "at 17:00 the last friday")),
    ],
)
def test_what_is_not_understood_gets_no_nearby_schedule(typed: str, nearby: str) -> None:
    with pytest.raises(BadSchedule) as refused:
        read_report(typed)

    said = sentence(refused.value)
    assert nearby not in said.rpartition("”")[2]
    assert "such as" in said or "Examples: " in said


@each(("typed", "shown", "zone"), SAID)
def test_a_schedule_is_read_as_people_type_it(typed: str, shown: str, zone: str) -> None:
    spec = read_report(typed)

    assert (spec.schedule.words, spec.zone) == (shown, zone)


@each(
    ("typed", "quoted", "near"),
    [
        ("every mnoday at 9", "mnoday", []),
        ("daily 9 berln", "berln", ["Europe/Berlin"]),
        ("daily 9 Europe/Berln", "Europe/Berln", ["Europe/Berlin"]),
        ("daily berln 9", "berln", ["Europe/Berlin"]),
        ("daily 9 pacific", "pacific", ["Canada/Pacific", "US/Pacific"]),
        ("daily 9 GMT+5", "GMT+5", []),  # Etc/GMT+5 means five hours behind UTC
        ("daily 9 sales team", "sales team", []),
        ("daily 9 --onyl runs", "--onyl", ["--only"]),
        ("daily 25:00", "25:00", []),
    ],
)
def test_an_error_quotes_its_part_and_suggests_near_ones(typed: str, quoted: str, near: list[str]) -> None:
    with pytest.raises(BadSchedule) as refused:
        read_report(typed)

    assert (refused.value.typed, list(refused.value.choices)) == (quoted, near)


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


def test_options_come_in_any_order_and_with_the_dashes_of_phones() -> None:
    first = read_report("daily 9 am europe/berlin #sales --compare 7d --only tags,runs")
    second = read_report("daily 09:00 —only=runs,tags #sales –compare 7D Europe/Berlin")  # noqa: RUF001 - phones

    assert first == second
    assert (first.zone, first.channel, first.compare, first.only) == (BERLIN, "#sales", "7d", ("runs", "tags"))
    assert first.schedule.words == "every day at 09:00"
    assert span_of("2w") == timedelta(days=14)


def test_every_choice_in_the_form_is_valid() -> None:
    assert all(read_report(f"{often} 09:00") for often in HOW_OFTEN if often != CRON)
    assert all(span_of(span) for span in COMPARED if span != "-")


@each(
    ("typed", "agents", "only_if_changed"),
    [
        ("daily 9", False, False),
        ("daily 9 --agents", True, False),
        ("--only-if-changed daily 9 #ops", False, True),
        ("daily 9 --only-if-changed --only runs --agents", True, True),
    ],
)
def test_a_report_has_options_without_values(typed: str, *, agents: bool, only_if_changed: bool) -> None:
    found = read_report(typed)

    assert (found.agents, found.only_if_changed) == (agents, only_if_changed)
    assert found.schedule.crons == ("0 9 * * *",)
