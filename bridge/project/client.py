"""`ProjectClient`: the eight operations of the project service.

It is a library in its own right and knows nothing of Slack. Errors are the `ProjectError` tree of
`bridge.errors`. It logs and reports names, statuses and times; never the key, a message, an input or an output.
"""

from __future__ import annotations

import asyncio
import json
import logging
import operator
import random
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Annotated, Any, Self, TypeVar

import httpx
from pydantic import FailFast, TypeAdapter

from bridge.errors import CircuitOpen, ProjectError, TimedOut
from bridge.project import models
from bridge.project.answers import Answer, read_value, refusal
from bridge.project.breaker import Breaker
from bridge.project.retrying import Tries, wait_before_retry
from bridge.project.wire import Call, check_configuration, exchange, open_http

_log = logging.getLogger(__name__)

T = TypeVar("T")

Observe = Callable[[str, str, float], None]
"""Called once for each finished operation with its name, its outcome (``ok`` or the error's name) and seconds."""

_SHORTLY = timedelta(seconds=1)  # when to come back while a probe is under way

# Of a list in which everything is wrong, the first thing is enough to know.
_WORKFLOWS = TypeAdapter(Annotated[list[models.Workflow], FailFast()])
_WORKFLOW = TypeAdapter(models.WorkflowDetail)
_RUN = TypeAdapter(models.RunResult)
_AGENTS = TypeAdapter(Annotated[list[models.Agent], FailFast()])
_AGENT = TypeAdapter(models.AgentDetail)
_CHAT = TypeAdapter(models.ChatAnswer)
_PROJECT = TypeAdapter(models.Project)
_STATS = TypeAdapter(models.Stats)


def _observe_nothing(operation: str, outcome: str, seconds: float) -> None:
    """Take note of nothing."""


class ProjectClient:
    """The project service at *base_url*, asked with *api_key*; use it with ``async with``.

    Reads are repeated on what may pass; `run_workflow` and `send_message` only where they surely did not
    arrive. While the service is down, operations raise `CircuitOpen` at once, and one probe at a time finds
    out whether it is back. *transport*, *sleep*, *monotonic* and *now* are for tests; *observe* is for metrics.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        *,
        chat_timeout: timedelta = timedelta(seconds=120),
        run_timeout: timedelta = timedelta(seconds=900),
        read_timeout: timedelta = timedelta(seconds=10),
        connect_timeout: timedelta = timedelta(seconds=5),
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        observe: Observe = _observe_nothing,
    ) -> None:
        self._base_url = check_configuration(base_url, api_key)
        self._api_key = api_key
        self._http = open_http(self._base_url, api_key, connect_timeout, transport)
        self._chat_timeout = chat_timeout
        self._run_timeout = run_timeout
        self._read_timeout = read_timeout
        self._sleep = sleep
        self._monotonic = monotonic
        self._now = now
        self._observe = observe
        self._breaker = Breaker(monotonic=monotonic)
        self._probing = asyncio.Lock()

    def __repr__(self) -> str:
        return f"ProjectClient({self._base_url!r})"

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._http.__aexit__(kind, error, traceback)

    # The eight operations.

    async def get_workflows(self) -> list[models.Workflow]:
        """List the project's workflows."""
        return await self._operate(self._read("get_workflows", "workflows"), _WORKFLOWS, "workflows")

    async def get_workflow(self, id: int) -> models.WorkflowDetail:  # noqa: A002 - the interface's own name for it
        """Read one workflow, with its nodes and edges."""
        return await self._operate(self._read("get_workflow", f"workflows/{operator.index(id)}"), _WORKFLOW)

    async def run_workflow(self, id: int, input: Any) -> models.RunResult:  # noqa: A002 - the interface's own names
        """Run a workflow with *input*, any JSON value, and wait for its result."""
        path = f"workflows/{operator.index(id)}/run"
        return await self._operate(
            Call("run_workflow", "POST", path, self._run_timeout, _to_json({"input": input})), _RUN
        )

    async def get_agents(self) -> list[models.Agent]:
        """List the project's agents."""
        return await self._operate(self._read("get_agents", "agents"), _AGENTS, "agents")

    async def get_agent(self, id: int) -> models.AgentDetail:  # noqa: A002 - the interface's own name for it
        """Read one agent, with its tools."""
        return await self._operate(self._read("get_agent", f"agents/{operator.index(id)}"), _AGENT)

    async def send_message(
        self,
        id: int,  # noqa: A002 - the interface's own name for it
        message: str,
        session_id: int | None = None,
        messages: Sequence[Any] | None = None,
    ) -> models.ChatAnswer:
        """Say *message* to an agent: in a new session, or in the one that an earlier answer named."""
        body: dict[str, Any] = {"message": message}
        if session_id is not None:
            body["sessionId"] = operator.index(session_id)
        if messages is not None:
            body["messages"] = list(messages)
        path = f"agents/{operator.index(id)}/chat"
        return await self._operate(Call("send_message", "POST", path, self._chat_timeout, _to_json(body)), _CHAT)

    async def get_project(self) -> models.Project:
        """Read the project's own data."""
        return await self._operate(self._read("get_project", "project"), _PROJECT)

    async def get_stats(self) -> models.Stats:
        """Read the project's statistics."""
        return await self._operate(self._read("get_stats", "stats"), _STATS)

    # Whether the service is there.

    @property
    def is_up(self) -> bool:
        """Whether the service counts as there; False after five attempts in a row that found none."""
        return not self._breaker.is_open

    async def wait_until_up(self) -> None:
        """Return when the service counts as there; until then, see that it is probed every few seconds.

        However many wait, one of them probes. When that one is cancelled, the next goes on.
        """
        while self._breaker.is_open:
            async with self._probing:
                if self._breaker.is_open:
                    await self._sleep(self._breaker.retry_in.total_seconds())
                    await self._probe_if_due()

    async def _pass_breaker(self, operation: str) -> None:
        if not self._breaker.is_open:
            return
        if self._breaker.is_probe_due and not self._probing.locked():
            async with self._probing:
                await self._probe_if_due()
        if self._breaker.is_open:
            raise CircuitOpen(operation, max(self._breaker.retry_in, _SHORTLY))

    async def _probe_if_due(self) -> None:
        """Ask once for the project, whose answer costs little and changes nothing."""
        if not self._breaker.is_probe_due:
            return
        self._breaker.begin_probe()
        began, outcome = self._monotonic(), "ok"
        try:
            await self._attempt(self._read("probe", "project"))
        except ProjectError as exc:
            outcome = _named(exc)  # the breaker knows
        self._observe("probe", outcome, self._monotonic() - began)

    # One operation.

    def _read(self, operation: str, path: str) -> Call:
        return Call(operation, "GET", path, self._read_timeout)

    async def _operate(self, call: Call, shape: TypeAdapter[T], called: str = "") -> T:
        """Carry *call* out in as many tries as it allows, and read its answer."""
        began, made, slow = self._monotonic(), 0, 0
        try:
            await self._pass_breaker(call.operation)
            while True:
                try:
                    value = read_value(call.operation, await self._attempt(call), shape, called)
                    break
                except ProjectError as exc:
                    made += 1
                    slow += isinstance(exc, TimedOut)
                    elapsed = timedelta(seconds=self._monotonic() - began)
                    tries = Tries(is_read=call.is_read, made=made, elapsed=elapsed, slow=slow)
                    wait = wait_before_retry(exc, tries, random.random())  # noqa: S311 - spreads load, keeps no secret
                    if wait is None or self._breaker.is_open:
                        raise
                    _log.info("repeating a project call", extra={"operation": call.operation, "after": _named(exc)})
                    await self._sleep(wait.total_seconds())
                    if self._breaker.is_open:  # by the failures of others, meanwhile
                        raise
        except ProjectError as exc:
            self._observe(call.operation, _named(exc), self._monotonic() - began)
            raise
        self._observe(call.operation, "ok", self._monotonic() - began)
        return value

    async def _attempt(self, call: Call) -> Answer:
        """Send once, and let the breaker know how that went."""
        try:
            answer = await exchange(self._http, call)
            if not answer.is_success:
                raise refusal(call.operation, answer, now=self._now(), secret=self._api_key)
        except ProjectError as exc:
            self._record(exc)
            raise
        self._record(None)
        return answer

    def _record(self, error: ProjectError | None) -> None:
        was_open = self._breaker.is_open
        self._breaker.record(error)
        if self._breaker.is_open and not was_open:
            _log.warning("project service is down", extra={"outcome": type(error).__name__})
        elif was_open and not self._breaker.is_open:
            _log.warning("project service is back")


def _to_json(body: dict[str, Any]) -> bytes:
    """Write a request's body. Raises ValueError or TypeError for what JSON does not have, NaN among it."""
    return json.dumps(body, allow_nan=False, separators=(",", ":")).encode()


def _named(error: ProjectError) -> str:
    """Name an error for metrics and logs: ``NotSignedIn`` is ``not_signed_in``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(error).__name__).lower()
