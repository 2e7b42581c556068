"""What requests and arrivals count for, as the scripts get it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from bridge.queue.keys import milliseconds


@dataclass(frozen=True, slots=True)
class Quota:
    """What a request or an arrival counts for: the counter *id*, of which *most* is allowed in a *window*.

    The window begins with the first one. *words* name the limit; a setting's is *called* as `bridge.errors.TooOften`
    and notices say it. With *in_project*, each project has its own counter.
    """

    id: str
    most: int
    window: timedelta
    amount: int
    words: str
    called: str = ""
    in_project: bool = False


def as_arguments(limits: Sequence[Quota]) -> list[list[str | int | bool]]:
    """Return *limits* as scripts get them."""
    return [[limit.id, limit.most, milliseconds(limit.window), limit.amount, limit.in_project] for limit in limits]
