"""The cost of formatting adversarial text: milliseconds of the event loop per 100 kB."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

from bench.figures import Figure, at_most
from bench.stage import Stage
from bridge.features.conversations.answers import answer
from bridge.slack import parts
from support.adversarial import CONVERTERS, TEXTS, of_length

_UNIT = 100_000
_LAID_OUT = 88_000  # a longer answer becomes a file, and only its beginning is formatted
_HUGE = 1_000_000
_MOST_MS = 50


async def layout(stage: Stage) -> list[Figure]:
    """Measure some fifty texts, most of them crafted to be slow, and report the worst."""
    times = stage.length.times(5, 3)
    answers = {name: _milliseconds(_laid_out, of_length(unit, _LAID_OUT), times) for name, unit in TEXTS.items()}
    others = {
        f"{converter}, {name}": _milliseconds(CONVERTERS[converter], of_length(unit, _UNIT), times)
        for converter in CONVERTERS.keys() - {"answer"}
        for name, unit in TEXTS.items()
    }
    steps = {name: _longest_step(of_length(unit, _HUGE), times) for name, unit in TEXTS.items()}
    return [
        at_most("formatting a 100 kB answer", max(answers.values()), _MOST_MS, "ms", beside=_worst(answers)),
        at_most("parsing or showing 100 kB of other text", max(others.values()), _MOST_MS, "ms", beside=_worst(others)),
        at_most("longest step with a 1 MB answer", max(steps.values()), _MOST_MS, "ms", beside=_worst(steps)),
    ]


def _laid_out(text: str) -> None:
    """Format an answer of the service as Slack messages."""
    list(parts.parts_of(answer(text)))


def _milliseconds(work: Callable[[str], Any], text: str, times: int) -> float:
    """The median time per 100 kB over some *times*."""
    return median(_took(lambda: work(text)) for _ in range(times)) * _UNIT / len(text)


def _longest_step(text: str, times: int) -> float:
    """The longest step, where each step counts with its fastest time."""
    return max(map(min, zip(*(_steps(text) for _ in range(times)), strict=True)))


def _steps(text: str) -> list[float]:
    """The duration of each uninterrupted step in formatting an answer."""
    reply = answer(text)
    found, laid_out = [_took(lambda: answer(text))], parts.parts_of(reply)
    is_over = False

    def step() -> None:
        nonlocal is_over
        is_over = next(laid_out, None) is None

    while not is_over:
        found.append(_took(step))
    return found


def _took(work: Callable[[], Any]) -> float:
    """CPU time in milliseconds, which other processes don't affect."""
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000


def _worst(found: dict[str, float]) -> str:
    return f"{max(found, key=found.__getitem__)}; prose {median(found[name] for name in found if 'prose' in name):.1f}"
