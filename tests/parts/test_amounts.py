"""Numbers, durations and times of day as people type them."""

from __future__ import annotations

from datetime import timedelta

from bridge.names.amounts import in_units
from support.tables import each


@each(
    ("span", "words"),
    [
        (timedelta(seconds=90), "90s"), (timedelta(minutes=5), "5m"), (timedelta(hours=24), "24h"),
        (timedelta(days=7), "7d"), (timedelta(hours=36), "36h"), (timedelta(seconds=0.5), "0.5s"),
    ],
)  # fmt: skip
def test_durations_are_written_as_typed(span: timedelta, words: str) -> None:
    assert in_units(span) == words
