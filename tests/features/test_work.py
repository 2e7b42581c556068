"""Counting what agents and workflows did."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta

from bridge.features.statistics.earlier import from_texts
from bridge.features.statistics.work import (
    MOST_OUTAGES,
    EndedTurn,
    Tally,
    bucket_of,
    outages_since,
    periods_of,
    periods_since,
    span_of,
    votes_of,
    with_outage,
)
from support.store import START
from support.tables import each

TODAY = date(2026, 3, 4)


def tally_of(*turns: EndedTurn) -> Tally:
    work = Tally()
    for turn in turns:
        for what in turn.counts:
            work.count(what, 1)
    return work


@each(
    ("of", "how", "counts"),
    [
        ("agent 7", "", (1, 0, 0, 0)),
        ("agent 7", "failed", (0, 1, 0, 0)),
        ("agent 7", "stopped", (0, 0, 1, 0)),
        ("agent 7", "unknown", (0, 0, 0, 1)),
        ("workflow 7", "completed", (1, 0, 0, 0)),
        ("workflow 7", "Error", (0, 1, 0, 0)),
        ("workflow 7", "outcome unknown", (0, 0, 0, 1)),
    ],
)
def test_each_end_is_counted(of: str, how: str, counts: tuple[int, ...]) -> None:
    turn = EndedTurn(START, of, 1.0, how)
    work = tally_of(turn)

    assert turn.key == f"{of[0]}7"
    assert (work.good, work.failed, work.stopped, work.unknown) == counts


@each(
    ("before", "given", "votes"), [("", "up", (1, 0)), ("", "down", (0, 1)), ("up", "down", (-1, 1))]
)  # fmt: skip
def test_a_changed_vote_counts_once(before: str, given: str, votes: tuple[int, int]) -> None:
    work = Tally()
    for what, number in votes_of(given, before):
        work.count(what, number)

    assert (work.up, work.down) == votes


def test_what_a_later_version_counts_is_left_out() -> None:
    work = Tally()
    for what in ("tomorrow", "people", "turns", "times"):
        work.count(what, 1)

    assert work == Tally()


@each("share", [0.5, 0.95])
def test_percentiles_are_close(share: float) -> None:
    source = random.Random(7)  # noqa: S311 - it's a test
    times = sorted(source.lognormvariate(1.5, 0.8) for _ in range(2000))
    work = tally_of(*(EndedTurn(START, "agent 7", one) for one in times))

    found, real = work.percentile(share), times[round(share * len(times)) - 1]
    assert found is not None
    assert abs(found - real) < 0.1 * real
    assert Tally().percentile(share) is None


def test_any_duration_has_a_bucket() -> None:
    assert [bucket_of(one) for one in (0, 0.05, 0.051, 10**9)] == [0, 0, 1, 51]


@each("ago", [0, 1, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 100, 399])
def test_each_day_is_in_one_period_that_is_stored(ago: int) -> None:
    first = TODAY - timedelta(days=ago)

    periods = periods_since(first, TODAY)

    for n in range(ago + 1):
        day = TODAY - timedelta(days=n)
        assert len({*periods_of(day)} & {*periods}) == 1, day
    assert all((TODAY - date.fromisoformat(one[1:])).days < 21 for one in periods if one[0] == "d")
    assert len(set(periods)) == len(periods)
    spans = [span_of(one) for one in periods]
    assert all(one is not None and one[1] >= first for one in spans)


TEXTS = {
    "d2026-03-02": '{"a7":"3.1.0.2.1.0;n1q1D1;F4IZ0yaS;DYUXQhiEKMExxA","w3@shop":"1.0.0.0.0.0"}',
    "w2026-02-23": '{"a7":"50.0.0.0.0.0;;MgIQghQTUmMGKCMBMiUDgQAwIRESMRJFAyIwdBIiQjEAARERIzIhUSIAIQITECEnMgQhM0EAIBIgA'
    'hEQOAAAMg"}',
    "d2026-01-01": '{"a7":"9.0.0.0.0.0"}',
    "agent": "1-1",
    "outages": "[]",
}
"""As the release before wrote them: 3 people in 5 threads on the day, and 200 in the week, among them those 3."""


def test_the_earlier_texts_are_read() -> None:
    work, begins = from_texts(TEXTS, date(2026, 2, 25))

    assert begins == date(2026, 2, 23)
    assert (work["a7"].turns, work["a7"].up, work["a7"].threads, sum(work["a7"].times.values())) == (56, 1, 5, 3)
    assert abs(work["a7"].people - 200) < 20
    assert work["w3@shop"].good == 1
    assert from_texts(TEXTS, date(2026, 3, 1))[0]["a7"].people - 200 < 20
    only = from_texts({"d2026-03-02": TEXTS["d2026-03-02"]}, date(2026, 3, 1))[0]
    assert (only["a7"].people, only["a7"].threads) == (3, 5)


@each("text", ["", "{", "[]", '{"a7": "x"}', '{"a7": 7}', '{"a7": "1.2"}', '{"a7": "1.0.0.0.0.0;;!"}'])
def test_an_unreadable_period_is_left_out(text: str) -> None:
    work, _begins = from_texts({f"d{TODAY}": text}, TODAY)

    assert all(one.people == 0 for one in work.values())


def test_outages_are_listed_by_project() -> None:
    text = with_outage("", "", START, START + timedelta(minutes=5))
    text = with_outage(text, "shop", START, START + timedelta(minutes=6))

    assert outages_since(text, "", START) == [(START, START + timedelta(minutes=5))]
    assert outages_since(text, "", START + timedelta(hours=1)) == []
    assert outages_since("{", "", START) == []
    for n in range(2 * MOST_OUTAGES):
        text = with_outage(text, "", START, START + timedelta(minutes=n))
    assert len(outages_since(text, "", datetime.min.replace(tzinfo=UTC))) == MOST_OUTAGES
