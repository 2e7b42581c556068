"""The trace of one message: every request and every step of the bridge, in order."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from http import HTTPStatus
from itertools import pairwise
from typing import Any, Final

from bridge.playground.emulator import ApiCall, AppDelivery, EmulatedSlack
from bridge.playground.emulator.entities import Json, Message
from bridge.playground.page.story import api_calls_of, service_calls_of, story_of, told_by
from bridge.playground.page.supervisor import StoredTrace, Trace
from bridge.playground.page.viewer import Viewer
from bridge.playground.sample_project import ProjectCall, SampleProject

TO_BRIDGE: Final = "Slack → bridge"
TO_SLACK: Final = "bridge → Slack"
TO_SERVICE: Final = "bridge → service"
QUEUE: Final = "queue"
_REFUSED: Final = 400
_BAD_ENDS: Final = frozenset({"dead"})
_FRESH: Final = 2.0  # seconds: an open drawer asks with each refresh, and each trace is a process
_REMEMBERED: Final = 200
_ROUNDED: Final = 0.001  # seconds by which a step of the bridge may seem to be too early: it records milliseconds


class Traces:
    """The bridge's own records, fetched one at a time and cached briefly. *clock* is monotonic."""

    def __init__(self, trace: Trace, clock: Callable[[], float]) -> None:
        self._trace = trace
        self._clock = clock
        self._asking = asyncio.Lock()
        self._known: OrderedDict[str, tuple[float, StoredTrace]] = OrderedDict()

    async def of(self, permalink: str) -> StoredTrace:
        async with self._asking:
            asked_at, record = self._known.get(permalink, (float("-inf"), StoredTrace()))
            if self._clock() - asked_at < _FRESH:
                return record
            record = await self._trace(permalink)
            self._known[permalink] = self._clock(), record
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
            return record


async def steps_of(
    message: Message, viewer: Viewer, slack: EmulatedSlack, project: SampleProject | None, traces: Traces
) -> list[Json]:
    """Every step in the story of *message*, in order."""
    message = told_by(viewer, message)
    record = await traces.of(viewer.workspace.messages.permalink(message))
    story = story_of(slack, viewer, message, record)
    calls = service_calls_of(project.calls, story) if project is not None else []
    steps = [
        *map(_delivered, story.deliveries),
        *(_recorded(step, before) for before, step in pairwise([None, *record.steps]) if step),
        *map(_asked_of_service, calls),
        *map(_asked_of_slack, api_calls_of(slack, story)),
    ]
    return sorted(steps, key=lambda step: float(step["at"]) - (_ROUNDED if step["wire"] == TO_BRIDGE else 0))


def _step(wire: str, at: float, what: str, *, detail: str, ms: float | None, outcome: str, body: Any) -> Json:
    ms = None if ms is None else round(ms, 1)
    return {"at": at, "wire": wire, "what": what, "detail": detail, "ms": ms, "outcome": outcome, "body": body}


def _delivered(delivery: AppDelivery) -> Json:
    is_over = delivery.status is not None or bool(delivery.error)
    by = f"by socket {delivery.socket}" if delivery.socket else "over HTTP"
    again = f", retry {delivery.retry} ({delivery.repeats.error})" if delivery.repeats else ""
    outcome = "ok" if delivery.is_acked else delivery.error or "waiting"
    if delivery.error == "http_error":
        outcome = f"HTTP {delivery.status}"
    return _step(
        TO_BRIDGE,
        delivery.at,
        f"{delivery.kind} {delivery.name}",
        detail=by + again,
        ms=delivery.ms if is_over else None,
        outcome=outcome,
        body=delivery.payload,
    )


def _recorded(step: Json, before: Json | None) -> Json:
    """A step of the bridge; it names the process if it differs from the one *before*."""
    process = step.get("process")
    is_other = process and (before is None or before.get("process") != process)
    words = [str(step.get("detail") or ""), f"process {process}" if is_other else ""]
    what = str(step.get("what", ""))
    return _step(
        QUEUE,
        float(step["at"]),
        what,
        detail="; ".join(filter(None, words)),
        ms=None,
        outcome=what if what in _BAD_ENDS else "ok",
        body=None,
    )


def _asked_of_service(call: ProjectCall) -> Json:
    outcome = "waiting or cut off" if call.status is None else "ok" if call.status < _REFUSED else f"HTTP {call.status}"
    return _step(
        TO_SERVICE,
        call.at,
        f"{call.method} {call.path}",
        detail=f"session {call.session}" if call.session else "",
        ms=call.seconds * 1000 if call.status is not None else None,
        outcome=outcome,
        body=call.body,
    )


def _asked_of_slack(call: ApiCall) -> Json:
    return _step(
        TO_SLACK,
        call.at,
        call.method,
        detail=type(call.fault).__name__ if call.fault else "",
        ms=call.seconds * 1000 if call.status is not None else None,
        outcome=_outcome(call),
        body={"sent": call.args, **({} if call.method == "download" else {"answered": call.answer})},
    )


def _outcome(call: ApiCall) -> str:
    if call.is_ok:
        return "ok"
    if call.method == "download" and call.status == HTTPStatus.OK:
        return "ok" if call.token_ok else "sign-in page"
    if isinstance(call.answer, dict):
        return str(call.answer.get("error", call.status))
    return "no answer" if call.status is None else f"HTTP {call.status}"
