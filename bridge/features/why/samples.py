"""Samples of what `!why` says (`bridge.slack.blockkit.samples`)."""

from __future__ import annotations

from collections.abc import Iterator

from bridge.features.why.layout import explained
from bridge.slack.blockkit.samples import CHANNEL, NOON, PAGES, TS, TURN, Sample, sample


def samples(text: str, _many: int) -> Iterator[Sample]:
    """Yield samples of explanations."""
    yield sample(
        explained, text, text, since=NOON, button="again", value=TURN, workspace=PAGES, shown_at=(CHANNEL, TS, TS),
        reference=text,
    )  # fmt: skip
    yield sample(explained, text, "")
