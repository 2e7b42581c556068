"""Adding up what agents and workflows did."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta

from bridge.engine.distinct import Distinct, token_of
from bridge.features.statistics.work import (
    DAILY_FOR,
    KEPT_FOR,
    MOST_BYTES,
    MOST_OUTAGES,
    Tally,
    bucket_of,
    field_of,
    folded,
    from_text,
    outages_since,
    period_of,
    span_of_field,
    to_text,
    with_outage,
)
from bridge.queue.scripting import epoch_ms
from support.store import START
from support.tables import each

TODAY = date(2026, 3, 4)


def entry(of: str = "agent 7", ms: int = 1000, how: str = "", **more: str) -> dict[str, str]:
    return {"at": str(epoch_ms(START)), "of": of, "ms": str(ms), "how": how, "project": "", **more}


def of_one(kind: str, *entries: dict[str, str], key: str = "a7") -> Tally:
    return period_of(kind, entries)[START.date()][key]


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
    work = of_one(of.split(maxsplit=1)[0], entry(of, how=how), key=f"{of[0]}7")

    assert (work.good, work.failed, work.stopped, work.unknown) == counts


@each(
    ("before", "how", "votes"), [("", "up", (1, 0)), ("", "down", (0, 1)), ("up", "down", (-1, 1))]
)  # fmt: skip
def test_a_changed_vote_counts_once(before: str, how: str, votes: tuple[int, int]) -> None:
    work = of_one("vote", entry(how=how, before=before))

    assert (work.up, work.down) == votes


def test_entries_of_another_version_are_left_out() -> None:
    assert period_of("agent", [{}, {"at": "x"}, {"at": "1", "of": "agent 7"}, entry(who="x")]) == {}
    assert period_of("vote", [entry(how="sideways")]) == {}


@each("share", [0.5, 0.95])
def test_percentiles_are_close(share: float) -> None:
    source = random.Random(7)  # noqa: S311 - it's a test
    times = sorted(source.lognormvariate(1.5, 0.8) for _ in range(2000))
    work = of_one("agent", *(entry(ms=round(1000 * one)) for one in times))

    found, real = work.percentile(share), times[round(share * len(times)) - 1]
    assert found is not None
    assert abs(found - real) < 0.1 * real
    assert Tally().percentile(share) is None


def test_any_duration_has_a_bucket() -> None:
    assert [bucket_of(one) for one in (0, 0.05, 0.051, 10**9)] == [0, 0, 1, 51]


def test_work_survives_its_stored_form() -> None:
    work = of_one("agent", *(entry(ms=1000 * n, who=str(token_of("s", f"U{n}"))) for n in range(1, 9)))

    again = Tally.from_text(work.to_text())
    assert again.to_text() == work.to_text()
    assert (again.turns, len(again.people), again.times) == (8, 8, work.times)


@each("text", ["", "{", "[]", '{"a7": "x"}', '{"a7": 7}'])
def test_an_unreadable_period_is_empty(text: str) -> None:
    assert from_text(text) == {}


def test_days_become_weeks_and_weeks_end() -> None:
    old, long_ago = TODAY - timedelta(days=DAILY_FOR), TODAY - timedelta(days=KEPT_FOR + 7)
    day = {"a7": Tally(good=3)}
    periods = {f"d{old}": to_text(day), field_of(old, TODAY): to_text(day), f"w{long_ago}": "{}", "agent": "1-1"}

    changed = folded(periods, {TODAY: day}, TODAY)

    assert changed[f"d{old}"] == changed[f"w{long_ago}"] == ""
    assert from_text(changed[field_of(old, TODAY)])["a7"].good == 6
    assert from_text(changed[f"d{TODAY}"])["a7"].good == 3
    assert span_of_field(field_of(old, TODAY)) == (date(2026, 2, 16), date(2026, 2, 22))


def test_a_period_has_a_limit_and_loses_nothing() -> None:
    busy = {
        f"a{n}": Tally(
            good=n, times=of_one("agent", *(entry(ms=2**m) for m in range(6, 20))).times,
            people=Distinct(range(40)), threads=Distinct(range(40)),
        )
        for n in range(1, 200)
    }  # fmt: skip

    text = to_text(busy)

    assert len(text) <= MOST_BYTES
    found = from_text(text)
    assert sum(one.good for one in found.values()) == sum(range(1, 200))
    assert "a199" in found
    assert "a*" in found


def test_outages_are_listed_by_project() -> None:
    text = with_outage("", "", START, START + timedelta(minutes=5))
    text = with_outage(text, "shop", START, START + timedelta(minutes=6))

    assert outages_since(text, "", START) == [(START, START + timedelta(minutes=5))]
    assert outages_since(text, "", START + timedelta(hours=1)) == []
    assert outages_since("{", "", START) == []
    for n in range(2 * MOST_OUTAGES):
        text = with_outage(text, "", START, START + timedelta(minutes=n))
    assert len(outages_since(text, "", datetime.min.replace(tzinfo=UTC))) == MOST_OUTAGES
