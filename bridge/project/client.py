"""`ProjectClient`: the eight operations of the project service.

A library that's usable without Slack. Errors are the `ProjectError` tree of `bridge.errors`. It logs and reports names,
statuses, times and the service's own error messages; never the key, messages, inputs or outputs.

The transport (`bridge.project.transport`) raises `ConnectTimeout` for a refused connection, but also if the server
closed the connection after reading the request, so the exception's cause decides: only aiohttp's connector errors and
connection time-out mean that nothing was sent. aiohttp itself retries a GET once if the server closes the connection
without an answer (RFC 9112, 9.3.1), a POST never.

Reads are retried after any failure that may be temporary; other operations only if the request certainly didn't arrive:
no connection was made, or the service was too busy to start.

After a 401 or 403, the project and its lists are read: if all of them are refused, the key is rejected, which opens the
circuit breaker (`bridge.project.breaker`); else it's about that operation only, as for one agent.
"""

from __future__ import annotations

import asyncio
import json
import logging
import operator
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import timedelta
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import aiohttp
import httpx

from bridge.errors import (
    Busy,
    CannotConnect,
    CircuitOpen,
    ConfigurationError,
    ConnectionLost,
    Forbidden,
    NotSignedIn,
    NotUnderstood,
    Outage,
    ProjectError,
    TimedOut,
)
from bridge.names.listing import Listing
from bridge.project import models
from bridge.project.breaker import Breaker
from bridge.project.reading import API, AnswerShape, RowsShape, ServiceResponse, read_answer, read_rows, service_refusal
from bridge.project.transport import Requests
from bridge.setting_types import project_address

_log = logging.getLogger(__name__)

T = TypeVar("T")
S = TypeVar("S")

MOST_ATTEMPTS = 3
LONGEST_RETRY_WAIT = timedelta(seconds=5)
"""The longest Retry-After that the client waits for; after a longer one, it raises the error."""
READ_BUDGET = timedelta(seconds=8)
"""Reads aren't retried later than this after the first attempt: a person is waiting for a list."""
_FIRST_WAIT = timedelta(milliseconds=300)

_NO_HTTP = 0  # the status of an answer that isn't HTTP
_ERROR_BODY_SECONDS = 2.0  # an error's status matters more than its body
_SHORTLY = timedelta(seconds=1)  # when to try again if a probe is running
_MOST_COUNTED = 64 * 1024 * 1024  # bytes of a large response that are counted, if its length isn't known
_LARGEST_ON_LOOP = 256 * 1024  # larger responses are read in a thread: 4 MB take up to a second
_OWN = ("project", "agents", "workflows")  # what a key is for, if it's for anything
_READ_OFTEN = frozenset({"get_workflows", "get_agents", "get_project", "get_stats"})
_MOST_NOTED = 1000

_FOREIGN = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, aiohttp.ClientError, TimeoutError, OSError)

_WORKFLOWS = RowsShape(models.Workflow, "workflows")
_WORKFLOW = AnswerShape(models.WorkflowDetail)
_RUN = AnswerShape(models.RunResult, expected=("runId", "status"), partly="output")
_AGENTS = RowsShape(models.Agent, "agents")
_AGENT = AnswerShape(models.AgentDetail)
_CHAT = AnswerShape(models.ChatAnswer, needs=("message",), expected=("sessionId",), partly="message")
_PROJECT = AnswerShape(models.Project, expected=tuple(models.Project.model_fields))
_STATS = AnswerShape(models.Stats, expected=tuple(models.Stats.model_fields))


class ProjectClient:
    """The project service at *base_url*, with *api_key*; use it with ``async with``.

    Reads are retried after temporary failures; `run_workflow` and `send_message` only if they certainly didn't reach
    the service.
    While the service is down, operations raise `CircuitOpen` at once, and one probe at a time finds out whether it's
    back. *observe* is called once per finished operation with its name, its error (None: it succeeded) and seconds;
    *note* with what of a response couldn't be used, which is logged otherwise. *transport*, *sleep* and *monotonic* are
    for tests.
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
        observe: Callable[[str, ProjectError | None, float], None] | None = None,
        note: Callable[[str, Sequence[str]], None] | None = None,
    ) -> None:
        problems = []
        try:
            self._base_url = project_address(base_url)
        except ValueError as exc:
            problems.append(f"base_url: {exc}")
        if not api_key or not all("!" <= c <= "~" for c in api_key):
            problems.append("api_key: use visible ASCII characters without spaces")
        if problems:  # without their values
            raise ConfigurationError(problems)
        self._api_key = api_key
        self._chat_timeout = chat_timeout
        self._run_timeout = run_timeout
        self._read_timeout = read_timeout
        self._connect = connect_timeout.total_seconds()
        self._sleep = sleep
        self._monotonic = monotonic
        self._observe = observe or (lambda _operation, _error, _seconds: None)
        self._note = note or self._log_problems
        self._noted: set[tuple[str, str]] = set()
        self.unusable: dict[str, Sequence[str]] = {}
        """What of the last lists and statistics couldn't be used, by operation."""
        self._breaker = Breaker(monotonic)
        self._probing = asyncio.Lock()
        self._requests = Requests(f"{self._base_url}{API}/", api_key, transport)

    def __repr__(self) -> str:
        return f"ProjectClient({self._base_url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._requests.aclose()

    # The eight operations.

    async def get_workflows(self) -> Listing[models.Workflow]:
        """Read all workflows, or as many as the service lists at once (`Listing.is_part`)."""
        return await self._call("get_workflows", "workflows", read_rows, _WORKFLOWS)

    async def get_workflow(self, id: int) -> models.WorkflowDetail:  # noqa: A002 - the interface's own name for it
        """Read one workflow, with its nodes and edges."""
        return await self._call(
            "get_workflow", f"workflows/{operator.index(id)}", read_answer, _WORKFLOW, about=f"workflow {id}"
        )

    async def run_workflow(
        self,
        id: int,  # noqa: A002 - the interface's own names
        input: Any,  # noqa: A002
        *,
        headers: Mapping[str, str] | None = None,
    ) -> models.RunResult:
        """Run a workflow with *input*, any JSON value, and wait for its result; with these *headers*."""
        path = f"workflows/{operator.index(id)}/run"
        body, about = {"input": input}, f"workflow {id}"
        return await self._call(
            "run_workflow", path, read_answer, _RUN, about=about, body=body, timeout=self._run_timeout, headers=headers
        )

    async def get_agents(self) -> Listing[models.Agent]:
        """Read all agents, or as many as the service lists at once (`Listing.is_part`)."""
        return await self._call("get_agents", "agents", read_rows, _AGENTS)

    async def get_agent(self, id: int) -> models.AgentDetail:  # noqa: A002 - the interface's own name for it
        """Read one agent, with its tools."""
        return await self._call("get_agent", f"agents/{operator.index(id)}", read_answer, _AGENT, about=f"agent {id}")

    async def send_message(
        self,
        id: int,  # noqa: A002 - the interface's own name for it
        message: str,
        session_id: int | None = None,
        messages: Sequence[Any] | None = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> models.ChatAnswer:
        """Send *message* to an agent, in a new session or in that of an earlier answer, with these *headers*."""
        body: dict[str, Any] = {"message": message}
        if session_id is not None:
            body["sessionId"] = operator.index(session_id)
        if messages is not None:
            body["messages"] = list(messages)
        path = f"agents/{operator.index(id)}/chat"
        return await self._call(
            "send_message",
            path,
            read_answer,
            _CHAT,
            about=f"agent {id}",
            body=body,
            timeout=self._chat_timeout,
            headers=headers,
        )

    async def get_project(self) -> models.Project:
        """Read the project's own data."""
        return await self._call("get_project", "project", read_answer, _PROJECT)

    async def get_stats(self) -> models.Stats:
        """Read the project's statistics."""
        return await self._call("get_stats", "stats", read_answer, _STATS)

    # Availability.

    @property
    def is_up(self) -> bool:
        """Whether the service counts as available: the circuit breaker is closed."""
        return not self._breaker.is_open

    @property
    def down_for(self) -> timedelta | None:
        """How long the service has been down; None while it's up."""
        return self._breaker.open_for

    @property
    def was_reached(self) -> bool:
        """Whether the service has answered since the process started."""
        return self._breaker.was_reached

    @property
    def rejects_key(self) -> bool:
        """Whether the service is down because it rejects the key."""
        return self._breaker.rejects_key

    async def wait_until_up(self, is_used: Callable[[], bool] = lambda: True) -> None:
        """Return when the service counts as available, or nothing is used; until then, probe it every few seconds.

        One of the waiting callers probes. If that one is cancelled, the next one continues.
        """
        while self._breaker.is_open and is_used():
            async with self._probing:
                if self._breaker.is_open and is_used():
                    await self._sleep(self._breaker.retry_in.total_seconds())
                    await self._probe_if_due()

    async def _probe_if_due(self) -> None:
        if self._breaker.claim_probe():
            await self._probe()

    async def _probe(self) -> None:
        """Read the project, which is cheap and changes nothing, and report the outcome to the breaker.

        While that's refused, read its lists: a key that's refused everything is rejected.
        """
        started_at = self._monotonic()
        error: ProjectError | None = None
        for path in _OWN:
            try:
                await self._attempt("probe", path, None, self._read_timeout)
            except Forbidden as exc:
                error = NotSignedIn("probe", exc.status, exc.message)
                continue
            except ProjectError as exc:
                error = exc
            else:
                error = None
            break
        else:
            self._breaker.record(error)
        self._observe("probe", error, self._monotonic() - started_at)

    async def _is_key_rejected(self) -> bool:
        """Whether the service refuses everything with this key, and not only what it just refused."""
        async with self._probing:
            if not self._breaker.is_open:
                await self._probe()
        return self._breaker.rejects_key

    # One operation.

    async def _call(
        self,
        operation: str,
        path: str,
        read: Callable[[str, ServiceResponse, S], tuple[T, list[str]]],
        shape: S,
        *,
        about: str = "",
        body: dict[str, Any] | None = None,
        timeout: timedelta | None = None,  # noqa: ASYNC109 - of each attempt, not of the whole
        headers: Mapping[str, str] | None = None,
    ) -> T:
        """Call an *operation*, a read if it has no *body*, with as many attempts as it allows.

        Raises `ProjectError`, and ValueError or TypeError for values that JSON lacks.
        """
        # Not httpx's json=, which fails on lone surrogates (half an emoji).
        content = None if body is None else json.dumps(body, allow_nan=False, separators=(",", ":")).encode()
        started_at, attempts, timeouts = self._monotonic(), 0, 0
        try:
            if self._breaker.is_open:
                if not self._probing.locked():
                    async with self._probing:
                        await self._probe_if_due()
                if self._breaker.is_open:
                    retry_in = max(self._breaker.retry_in, _SHORTLY)
                    raise CircuitOpen(operation, retry_in, rejects_key=self._breaker.rejects_key)
            while True:
                try:
                    received = await self._attempt(operation, path, content, timeout or self._read_timeout, headers)
                    if len(received.body) > _LARGEST_ON_LOOP or received.is_compressed:
                        value, problems = await asyncio.to_thread(read, operation, received, shape)
                    else:
                        value, problems = read(operation, received, shape)
                    break
                except ProjectError as exc:
                    if isinstance(exc, Forbidden) and await self._is_key_rejected():
                        raise NotSignedIn(operation, exc.status, exc.message) from None
                    attempts += 1
                    timeouts += isinstance(exc, TimedOut)
                    wait = wait_before_retry(
                        exc,
                        is_read=content is None,
                        attempts=attempts,
                        timeouts=timeouts,
                        elapsed=timedelta(seconds=self._monotonic() - started_at),
                        jitter=random.random(),  # noqa: S311 - spreads load, keeps no secret
                    )
                    if wait is None or self._breaker.is_open:
                        raise
                    _log.info("retrying a project call", extra={"operation": operation, "after": exc.label})
                    await self._sleep(wait.total_seconds())
                    if self._breaker.is_open:  # other calls' failures opened it meanwhile
                        raise
        except ProjectError as exc:
            seconds = self._monotonic() - started_at
            exc.about, exc.took = about, timedelta(seconds=seconds)
            self._observe(operation, exc, seconds)
            if not isinstance(exc, CircuitOpen):  # its causes were logged
                facts = {"operation": operation, "about": about, "cause": exc.cause}
                _log.warning("project call failed", extra={name: fact for name, fact in facts.items() if fact})
            raise
        self._observe(operation, None, self._monotonic() - started_at)
        if operation in _READ_OFTEN:
            self.unusable[operation] = tuple(problems)
        if problems:
            self._note(operation, problems)
        return value

    def _log_problems(self, operation: str, problems: Sequence[str]) -> None:
        """Log what of an answer couldn't be used: of lists and the like, which are read every few seconds, once."""
        if operation in _READ_OFTEN:
            problems = [problem for problem in problems if (operation, problem) not in self._noted]
            self._noted = set() if len(self._noted) > _MOST_NOTED else self._noted
            self._noted |= {(operation, problem) for problem in problems}
        if problems:
            extra = {"operation": operation, "fields": list(problems)}
            _log.warning("part of a project response couldn't be used", extra=extra)

    async def _attempt(
        self,
        operation: str,
        path: str,
        content: bytes | None,
        timeout: timedelta,  # noqa: ASYNC109 - see `_call`
        headers: Mapping[str, str] | None = None,
    ) -> ServiceResponse:
        """Send once, read the whole answer, and report the outcome to the breaker. Raises `ProjectError`."""
        seconds = timeout.total_seconds()
        received: ServiceResponse | None = None
        try:
            async with (
                asyncio.timeout(self._connect + seconds),  # for an answer that arrives bit by bit
                self._requests.send(path, content, headers, connect=self._connect, read=seconds) as response,
            ):
                received = ServiceResponse(response.status_code, dict(response.headers.items()))
                await _read_body(response, received)
            if received.is_success:
                self._breaker.record(None)
                return received
            raise service_refusal(operation, received, secret=self._api_key, base_url=self._base_url, path=path)
        except ProjectError as exc:
            error, cause = exc, exc.__cause__
        except _FOREIGN as exc:
            if received is not None and received.is_complete():  # only the end of the transfer is missing
                self._breaker.record(None)
                return received
            error, cause = _translated(exc, operation, timeout), exc
            # The repr of aiohttp's response errors has the request's headers, and with them the key.
            if any(isinstance(link, aiohttp.ClientResponseError) for link in (exc, exc.__cause__)):
                cause = None
        self._breaker.record(error)
        raise error from cause


async def _read_body(response: httpx.Response, received: ServiceResponse) -> None:
    """Read the body, or of a large one its beginning and size; of an error as much as arrives soon.

    It's decompressed later (`bridge.project.reading`), by what it is.
    """
    length = received.headers.get("content-length", "")
    is_known = length.isascii() and length.isdigit() and len(length) < 16 and not received.is_compressed  # noqa: PLR2004
    try:
        async with asyncio.timeout(None if received.is_success else _ERROR_BODY_SECONDS):
            # As it arrives: httpx would decompress it by the headers.
            async for chunk in cast("httpx.AsyncByteStream", response.stream):
                received.add(chunk)
                if received.is_cut and (is_known or received.size > _MOST_COUNTED):
                    received.size = int(length) if is_known else 0
                    break
    except _FOREIGN:
        if received.is_success:
            raise


def _translated(error: Exception, operation: str, timeout: timedelta) -> ProjectError:
    """Translate a foreign exception; the class of the result says whether the request may have been sent."""
    cause = error.__cause__ if isinstance(error.__cause__, aiohttp.ClientError) else error
    name = type(cause).__name__
    match cause:
        case (
            aiohttp.ClientConnectorError()
            | aiohttp.ConnectionTimeoutError()
            | aiohttp.ClientHttpProxyError()
            | aiohttp.InvalidURL()
            | aiohttp.NonHttpUrlClientError()
            | httpx.InvalidURL()
        ):
            return CannotConnect(operation, name)
        case aiohttp.ClientResponseError():
            return NotUnderstood(operation, _NO_HTTP, "not HTTP")
        # Only other transports raise these, with httpx's documented meaning.
        case httpx.ConnectError() | httpx.ConnectTimeout() | httpx.PoolTimeout() | httpx.UnsupportedProtocol():
            return CannotConnect(operation, name)
        case TimeoutError() | httpx.TimeoutException():
            return TimedOut(operation, timeout)
        case _:
            return ConnectionLost(operation, name)


def wait_before_retry(
    error: ProjectError, *, is_read: bool, attempts: int, timeouts: int, elapsed: timedelta, jitter: float
) -> timedelta | None:
    """Return how long to wait before the next attempt, or None if there should be none.

    *attempts* is how many were made, *timeouts* how many of them timed out; *jitter* is from 0 to 1.
    """
    match error:
        case CannotConnect() | Busy():
            may_retry = True
        case ConnectionLost() | Outage():
            may_retry = is_read
        case TimedOut():
            may_retry = is_read and timeouts <= 1
        case _:
            may_retry = False
    wait = _FIRST_WAIT * 2.0 ** (attempts - 1) * (0.5 + jitter / 2)
    if isinstance(error, Busy) and error.retry_after is not None:
        may_retry = error.retry_after <= LONGEST_RETRY_WAIT
        wait = max(wait, error.retry_after)
    is_too_late = is_read and elapsed + wait > READ_BUDGET
    return wait if may_retry and attempts < MOST_ATTEMPTS and not is_too_late else None
