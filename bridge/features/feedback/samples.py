"""Samples of votes (`bridge.slack.blockkit.samples`)."""

from __future__ import annotations

from collections.abc import Iterator

from bridge.features.feedback.commands import thanks
from bridge.slack.blockkit.samples import Sample, sample


def samples(_text: str, _many: int) -> Iterator[Sample]:
    """Yield samples of thanks."""
    for is_up in (True, False):
        yield sample(thanks, is_up=is_up)
