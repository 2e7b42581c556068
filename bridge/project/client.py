"""`ProjectClient`: the eight operations of the project service.

A library that's usable without Slack. Errors are the `ProjectError` tree of `bridge.errors`. It logs and reports names,
statuses and times; never the key, messages, inputs or outputs.

httpx's own pool scans all connections for each request, which is slow beyond a few hundred calls in flight, so requests
go through aiohttp (``httpx-aiohttp``). That transport raises `ConnectTimeout` for a refused connection, but also if the
server closed the connection after reading the request, so the exception's cause decides: only aiohttp's connector
errors and connection time-out mean that nothing was sent. aiohttp itself retries a GET once if the server closes the
connection without an answer (RFC 9112, 9.3.1), a POST never.

Reads are retried after any failure that may be temporary; other operations only if the request certainly didn't arrive:
no connection was made, or the service was too busy to start.

Five attempts in a row without a connection, or with a 502, 503 or 504, open the circuit breaker. Any other answer, even
a 500, shows that the service is up, resets the count and closes the breaker. Timeouts and broken answers change
nothing.
"""

from __future__ import annotations

import asyncio
import json
import logging
import operator
import random
import re
import ssl
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from http.cookiejar import CookieJar, DefaultCookiePolicy
from types import TracebackType
from typing import Annotated, Any, Self, TypeVar

import aiohttp
import httpx
from httpx_aiohttp import HttpxAiohttpClient
from pydantic import FailFast, TypeAdapter

from bridge import __version__
from bridge.errors import (
    Busy,
    CannotConnect,
    CircuitOpen,
    ConfigurationError,
    ConnectionLost,
    NotUnderstood,
    Outage,
    ProjectError,
    TimedOut,
)
from bridge.project import models
from bridge.proxies import proxy_for

_log = logging.getLogger(__name__)

T = TypeVar("T")

LARGEST_BODY = 16 * 1024 * 1024
MOST_ATTEMPTS = 3
LONGEST_RETRY_WAIT = timedelta(seconds=5)
"""The longest Retry-After that the client waits for; after a longer one, it raises the error."""
READ_BUDGET = timedelta(seconds=8)
"""Reads aren't retried later than this after the first attempt: a person is waiting for a list."""
OPENS_AFTER = 5
PROBE_EVERY = timedelta(seconds=5)
_FIRST_WAIT = timedelta(milliseconds=300)

_KEEP_ALIVE = 4.0
"""Seconds; less than the 5 s after which Node and uvicorn close an idle connection. If a POST meets a closing
connection, it's unknown whether the request arrived."""

_NO_HTTP = 0  # the status of an answer that isn't HTTP
_ERROR_BODY_SECONDS = 2.0  # an error's status matters more than its body
_SHORTLY = timedelta(seconds=1)  # when to try again if a probe is running
_LAST_PORT = 65_535

_FOREIGN = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, aiohttp.ClientError, TimeoutError, OSError)

# FailFast: the first problem in a list is enough.
_WORKFLOWS = TypeAdapter(Annotated[list[models.Workflow], FailFast()])
_WORKFLOW = TypeAdapter(models.WorkflowDetail)
_RUN = TypeAdapter(models.RunResult)
_AGENTS = TypeAdapter(Annotated[list[models.Agent], FailFast()])
_AGENT = TypeAdapter(models.AgentDetail)
_CHAT = TypeAdapter(models.ChatAnswer)
_PROJECT = TypeAdapter(models.Project)
_STATS = TypeAdapter(models.Stats)


class ProjectClient:
    """The project service at *base_url*, with *api_key*; use it with ``async with``.

    Reads are retried after temporary failures; `run_workflow` and `send_message` only if they certainly didn't reach
    the service.
    While the service is down, operations raise `CircuitOpen` at once, and one probe at a time finds out whether it's
    back. *observe* is called once per finished operation with its name, its outcome (``ok`` or the error's name) and
    seconds. *transport*, *sleep* and *monotonic* are for tests.
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
        observe: Callable[[str, str, float], None] | None = None,
    ) -> None:
        _check_configuration(base_url, api_key)
        self._base_url = base_url.rstrip("/")
        self._api_key = api_key
        self._chat_timeout = chat_timeout
        self._run_timeout = run_timeout
        self._read_timeout = read_timeout
        self._connect = connect_timeout.total_seconds()
        self._sleep = sleep
        self._monotonic = monotonic
        self._observe = observe or (lambda _operation, _outcome, _seconds: None)
        self._breaker = Breaker(monotonic)
        self._probing = asyncio.Lock()
        self._http = HttpxAiohttpClient(
            base_url=f"{self._base_url}/api/sdk/",
            headers={
                "Authorization": f"Bearer {api_key}",
                "Accept": "application/json",
                "Accept-Encoding": "gzip, deflate",  # encodings that can't expand a small body too far
                "User-Agent": f"slack-project-bridge/{__version__}",
            },
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),  # the key is enough; there's no session
            limits=httpx.Limits(max_connections=0, keepalive_expiry=_KEEP_ALIVE),  # 0: no limit; None would mean 100
            transport=transport,
            trust_env=False,  # proxies are read by `bridge.proxies`
            proxy=proxy_for(self._base_url) if transport is None else None,
            verify=_trusted() if transport is None else False,
        )

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
        return await self._call("get_workflows", "workflows", _WORKFLOWS, name="workflows")

    async def get_workflow(self, id: int) -> models.WorkflowDetail:  # noqa: A002 - the interface's own name for it
        """Read one workflow, with its nodes and edges."""
        return await self._call("get_workflow", f"workflows/{operator.index(id)}", _WORKFLOW)

    async def run_workflow(self, id: int, input: Any) -> models.RunResult:  # noqa: A002 - the interface's own names
        """Run a workflow with *input*, any JSON value, and wait for its result."""
        path = f"workflows/{operator.index(id)}/run"
        return await self._call("run_workflow", path, _RUN, body={"input": input}, timeout=self._run_timeout)

    async def get_agents(self) -> list[models.Agent]:
        """List the project's agents."""
        return await self._call("get_agents", "agents", _AGENTS, name="agents")

    async def get_agent(self, id: int) -> models.AgentDetail:  # noqa: A002 - the interface's own name for it
        """Read one agent, with its tools."""
        return await self._call("get_agent", f"agents/{operator.index(id)}", _AGENT)

    async def send_message(
        self,
        id: int,  # noqa: A002 - the interface's own name for it
        message: str,
        session_id: int | None = None,
        messages: Sequence[Any] | None = None,
    ) -> models.ChatAnswer:
        """Send *message* to an agent, in a new session or in that of an earlier answer."""
        body: dict[str, Any] = {"message": message}
        if session_id is not None:
            body["sessionId"] = operator.index(session_id)
        if messages is not None:
            body["messages"] = list(messages)
        path = f"agents/{operator.index(id)}/chat"
        return await self._call("send_message", path, _CHAT, body=body, timeout=self._chat_timeout)

    async def get_project(self) -> models.Project:
        """Read the project's own data."""
        return await self._call("get_project", "project", _PROJECT)

    async def get_stats(self) -> models.Stats:
        """Read the project's statistics."""
        return await self._call("get_stats", "stats", _STATS)

    # Availability.

    @property
    def is_up(self) -> bool:
        """Whether the service counts as available: the circuit breaker is closed."""
        return not self._breaker.is_open

    async def wait_until_up(self) -> None:
        """Return when the service counts as available; until then, probe it every few seconds.

        One of the waiting callers probes. If that one is cancelled, the next one continues.
        """
        while self._breaker.is_open:
            async with self._probing:
                if self._breaker.is_open:
                    await self._sleep(self._breaker.retry_in.total_seconds())
                    await self._probe_if_due()

    async def _probe_if_due(self) -> None:
        """Read the project, which is cheap and changes nothing, and report the outcome to the breaker."""
        if self._breaker.claim_probe():
            started_at, outcome = self._monotonic(), "ok"
            try:
                await self._attempt("probe", "project", None, self._read_timeout)
            except ProjectError as exc:
                outcome = _outcome(exc)
            self._observe("probe", outcome, self._monotonic() - started_at)

    # One operation.

    async def _call(
        self,
        operation: str,
        path: str,
        shape: TypeAdapter[T],
        *,
        name: str = "",
        body: dict[str, Any] | None = None,
        timeout: timedelta | None = None,  # noqa: ASYNC109 - of each attempt, not of the whole
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
                    raise CircuitOpen(operation, max(self._breaker.retry_in, _SHORTLY))
            while True:
                try:
                    response, answer = await self._attempt(operation, path, content, timeout or self._read_timeout)
                    kind = response.headers.get("content-type", "")
                    value = models.read_answer(operation, response.status_code, kind, answer, shape, name=name)
                    break
                except ProjectError as exc:
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
                    _log.info("retrying a project call", extra={"operation": operation, "after": _outcome(exc)})
                    await self._sleep(wait.total_seconds())
                    if self._breaker.is_open:  # other calls' failures opened it meanwhile
                        raise
        except ProjectError as exc:
            self._observe(operation, _outcome(exc), self._monotonic() - started_at)
            raise
        self._observe(operation, "ok", self._monotonic() - started_at)
        return value

    async def _attempt(
        self,
        operation: str,
        path: str,
        content: bytes | None,
        timeout: timedelta,  # noqa: ASYNC109 - see `_call`
    ) -> tuple[httpx.Response, bytes]:
        """Send once, read the whole answer, and report the outcome to the breaker. Raises `ProjectError`."""
        seconds = timeout.total_seconds()
        try:
            async with (
                asyncio.timeout(self._connect + seconds),  # for an answer that arrives bit by bit
                self._http.stream(
                    "GET" if content is None else "POST",
                    path,
                    content=content,
                    headers=None if content is None else {"Content-Type": "application/json"},
                    # The transport applies the pool timeout to everything before the request, including DNS.
                    timeout=httpx.Timeout(seconds, connect=self._connect, pool=self._connect),
                ) as response,
            ):
                body = await _read_body(response, operation)
                if not response.is_success:
                    raise models.refusal(operation, response.status_code, response.headers, body, secret=self._api_key)
        except ProjectError as exc:
            error, cause = exc, exc.__cause__
        except _FOREIGN as exc:
            error, cause = _translated(exc, operation, timeout), exc
            # The repr of aiohttp's response errors has the request's headers, and with them the key.
            if any(isinstance(link, aiohttp.ClientResponseError) for link in (exc, exc.__cause__)):
                cause = None
        else:
            self._breaker.record(None)
            return response, body
        self._breaker.record(error)
        raise error from cause


async def _read_body(response: httpx.Response, operation: str) -> bytes:
    """Read the whole body or, of an error, as much as arrives soon. Raises `NotUnderstood` if it's too large."""
    body = bytearray()
    try:
        async with asyncio.timeout(None if response.is_success else _ERROR_BODY_SECONDS):
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > LARGEST_BODY:
                    break
    except _FOREIGN as exc:
        if response.is_success:
            if isinstance(exc, httpx.DecodingError):
                raise NotUnderstood(operation, response.status_code, "not compressed as its header says") from exc
            raise
    if response.is_success and len(body) > LARGEST_BODY:
        raise NotUnderstood(operation, response.status_code, "larger than 16 MiB")
    return bytes(body)


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


def _outcome(error: ProjectError) -> str:
    """Name an error for metrics and logs: ``NotSignedIn`` becomes ``not_signed_in``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(error).__name__).lower()


def _trusted() -> ssl.SSLContext:
    """Return the trusted certificates. Raises `ConfigurationError` if the environment names others that can't be read.

    https://www.python-httpx.org/advanced/ssl/#working-with-ssl_cert_file-and-ssl_cert_dir
    """
    try:
        return httpx.create_ssl_context()
    except OSError as exc:  # ssl.SSLError, too
        raise ConfigurationError(
            [f"SSL_CERT_FILE can't be read ({exc.strerror}): set it to a file of certificates (PEM), or remove it"]
        ) from None


def _check_configuration(base_url: str, api_key: str) -> None:
    """Raise `ConfigurationError` for unusable settings, without their values."""
    problems = []
    try:
        url = httpx.URL(base_url)
        url.host.encode("idna")  # otherwise the resolver does it, and fails with a UnicodeError
        is_usable = (
            url.scheme in {"http", "https"}
            and re.fullmatch(r"[\w.:-]+", url.host) is not None
            and not url.userinfo
            and "?" not in base_url
            and "#" not in base_url
            and (url.port is None or 0 < url.port <= _LAST_PORT)
        )
    except (httpx.InvalidURL, UnicodeError):
        is_usable = False
    if not is_usable:
        problems.append("base_url: use an http:// or https:// address without user name, query or fragment")
    if not api_key or not all("!" <= c <= "~" for c in api_key):
        problems.append("api_key: use visible ASCII characters without spaces")
    if problems:
        raise ConfigurationError(problems)


class Breaker:
    """The circuit breaker for all operations of this process. While it *is_open*, the service counts as down."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self.is_open = False
        self._monotonic = monotonic
        self._failures_in_a_row = 0
        self._tried_at = 0.0  # when the breaker opened, or the last probe started

    @property
    def retry_in(self) -> timedelta:
        """Return how long until the service may be probed."""
        return max(timedelta(0), PROBE_EVERY - timedelta(seconds=self._monotonic() - self._tried_at))

    def claim_probe(self) -> bool:
        """Whether the caller should probe now; the next probe is due five seconds later."""
        if not self.is_open or self.retry_in:
            return False
        self._tried_at = self._monotonic()
        return True

    def record(self, error: ProjectError | None) -> None:
        """Count an attempt that succeeded (None), or failed with *error*."""
        match error:
            case CannotConnect() | Outage():
                self._failures_in_a_row += 1
                # Only for the fifth failure: calls that were running when the breaker opened fail one by one, and
                # mustn't delay the probe each time.
                if self._failures_in_a_row == OPENS_AFTER:
                    self.is_open, self._tried_at = True, self._monotonic()
                    _log.warning("project service is down", extra={"outcome": type(error).__name__})
            case TimedOut() | ConnectionLost():
                pass
            case _:
                self._failures_in_a_row = 0
                if self.is_open:
                    self.is_open = False
                    _log.warning("project service is back")
