"""The cost of formatting adversarial text: milliseconds of the event loop."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

from bench.figures import Figure, at_most
from bench.stage import Stage
from bridge.features.conversations.answers import answer
from bridge.slack import parts
from bridge.slack.blockkit import kit
from support.adversarial import CONVERTERS, TEXTS, of_length

_UNIT = 100_000
_MOST_MS = 150  # these texts are crafted to be slow; prose takes a fiftieth


async def layout(stage: Stage) -> list[Figure]:
    """Measure some fifty texts, most of them crafted to be slow, and report the worst."""
    times = stage.length.times(5, 3)
    on_loop = {
        name: _milliseconds(_laid_out, of_length(unit, kit.MARKDOWN_PART), times) * kit.MARKDOWN_PART / _UNIT
        for name, unit in TEXTS.items()
    }
    others = {
        f"{converter}, {name}": _milliseconds(CONVERTERS[converter], of_length(unit, _UNIT), times)
        for converter in CONVERTERS.keys() - {"answer"}
        for name, unit in TEXTS.items()
    }
    return [
        at_most(
            "formatting the longest answer of one message",
            max(on_loop.values()),
            _MOST_MS,
            "ms",
            beside=_worst(on_loop),
        ),
        at_most("parsing or showing 100 kB of other text", max(others.values()), _MOST_MS, "ms", beside=_worst(others)),
    ]


def _laid_out(text: str) -> None:
    """Format an answer of the service as Slack messages; a longer one is formatted in a thread."""
    list(parts.parts_of(answer(text)))


def _milliseconds(work: Callable[[str], Any], text: str, times: int) -> float:
    """The median time per 100 kB over some *times*."""
    return median(_took(lambda: work(text)) for _ in range(times)) * _UNIT / len(text)


def _took(work: Callable[[], Any]) -> float:
    """CPU time in milliseconds, which other processes don't affect."""
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1000


def _worst(found: dict[str, float]) -> str:
    return f"{max(found, key=found.__getitem__)}; prose {median(found[name] for name in found if 'prose' in name):.1f}"
