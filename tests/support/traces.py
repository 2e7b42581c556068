"""A message's trace, as tests read it."""

from __future__ import annotations

from bridge.cli.trace import TraceStep, steps_of
from bridge.ids import MessageKey
from bridge.queue.trace import trace_of
from support.store import ROOT, Store, key_of


async def trace_steps(store: Store, key: MessageKey | None = None) -> list[TraceStep]:
    return steps_of(await trace_of(store.scripts, key or key_of(ROOT)))


def words(steps: list[TraceStep]) -> list[str]:
    return [step.what for step in steps]


def detail(steps: list[TraceStep], what: str) -> str:
    return next(step.detail for step in steps if step.what == what)
