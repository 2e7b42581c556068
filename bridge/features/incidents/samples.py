"""Samples of incidents (`bridge.slack.blockkit.samples`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from bridge.features.episodes.episode import Does
from bridge.features.incidents import layout
from bridge.features.incidents.kinds import KINDS
from bridge.features.incidents.records import IncidentChange
from bridge.slack.blockkit.samples import CHANNEL, DAY, NOON, Sample, sample


def samples(text: str, _many: int) -> Iterator[Sample]:
    """Yield samples of incidents."""
    for kind in (*KINDS, "of a later release"):
        yield sample(layout.on, kind, text, NOON, text)
        yield sample(layout.on, kind, "", NOON)
        yield sample(layout.over, kind, text, NOON - DAY, NOON, text)
        yield sample(layout.over, kind, "", NOON - DAY, NOON)
    for does in get_args(Does):
        for detail in (text, ""):
            change = IncidentChange(
                team="T1", channel=CHANNEL, user="", incident="down", does=does, at=NOON, since=NOON - DAY,
                detail=detail,
            )  # fmt: skip
            yield sample(layout.news, change)
