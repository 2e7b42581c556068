"""The eight operations: requests, errors, retries, and behavior while the service is unavailable."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from typing import Any

import aiohttp
import httpx
import pytest
from aiohttp.client_reqrep import ConnectionKey
from yarl import URL

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
    ServiceRefused,
    TimedOut,
)
from bridge.project import ProjectClient
from support.tables import each

KEY = "key-0123456789"
WORKFLOW = {"id": 3, "name": "Import", "is_active": True, "trigger_type": "manual", "node_count": 5}
AGENT = {"id": 4, "name": "Support", "model": "m"}
MOMENT = "2026-01-02T03:04:05.678Z"
COUNTS = {"promptCount": 1, "runCount": 2, "versionCount": 3, "memberCount": 4}
ANSWERS: dict[str, Any] = {
    "workflows": [WORKFLOW],
    "workflows/3": {**WORKFLOW, "nodes": [], "edges": []},
    "workflows/3/run": {"runId": 7, "status": "completed", "output": "o", "nodeResults": {}},
    "agents": [AGENT],
    "agents/4": {**AGENT, "tools": []},
    "agents/4/chat": {"sessionId": 42, "message": "hello"},
    "project": {"id": 1, "name": "P", "description": "", "visibility": "private", **COUNTS, "createdAt": MOMENT},
    "stats": {**COUNTS, "categories": [], "tags": [], "lastUpdated": MOMENT},
}

Trouble = httpx.Response | Exception
Operation = Callable[[ProjectClient], Awaitable[Any]]
PROBE = "GET /api/sdk/project"
CHAT = "POST /api/sdk/agents/4/chat"
READS: list[tuple[str, Operation]] = [
    ("GET /api/sdk/workflows", lambda project: project.get_workflows()),
    ("GET /api/sdk/workflows/3", lambda project: project.get_workflow(3)),
    ("GET /api/sdk/agents", lambda project: project.get_agents()),
    ("GET /api/sdk/agents/4", lambda project: project.get_agent(4)),
    (PROBE, lambda project: project.get_project()),
    ("GET /api/sdk/stats", lambda project: project.get_stats()),
]
CHANGES: list[tuple[str, Operation]] = [
    ("POST /api/sdk/workflows/3/run", lambda project: project.run_workflow(3, "x")),
    (CHAT, lambda project: project.send_message(4, "x")),
]
REFUSED = httpx.ConnectError("refused")


class Service:
    """A service that answers as documented, except for *troubles* (one per coming request) or *always*.

    *project* is its client, whose clock advances only when it sleeps.
    """

    def __init__(self, base_url: str = "http://project.example") -> None:
        self.requests: list[httpx.Request] = []
        self.troubles: list[Trouble] = []
        self.always: Trouble | None = None
        self.gate = asyncio.Event()  # while closed, requests whose path ends with *held* hang
        self.gate.set()
        self.held = ""
        self.now = 1000.0
        self.slept: list[float] = []
        self.observed: list[tuple[str, ProjectError | None, float]] = []
        self.project = ProjectClient(
            base_url,
            KEY,
            transport=httpx.MockTransport(self.answer),
            sleep=self.sleep,
            monotonic=lambda: self.now,
            observe=lambda *facts: self.observed.append(facts),
        )

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    async def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        await asyncio.sleep(0)
        if request.url.path.endswith(self.held):
            await self.gate.wait()
        trouble = self.troubles.pop(0) if self.troubles else self.always
        if isinstance(trouble, Exception):
            raise trouble
        if trouble is not None:
            return httpx.Response(trouble.status_code, headers=trouble.headers, content=trouble.content)
        return httpx.Response(200, json=ANSWERS[request.url.path.rpartition("/api/sdk/")[2]])

    async def asked(self) -> None:
        async with asyncio.timeout(30):
            while not self.requests:  # noqa: ASYNC110 - there is nothing to await
                await asyncio.sleep(0)

    @property
    def seen(self) -> list[str]:
        return [f"{request.method} {request.url.path}" for request in self.requests]


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    it = Service()
    async with it.project:
        yield it


async def bring_down(service: Service) -> None:
    """Make five attempts fail, then clear the requests."""
    service.always = REFUSED
    for operation in (service.project.get_stats, service.project.get_project):
        with pytest.raises(CannotConnect):
            await operation()
    assert not service.project.is_up
    service.requests.clear()


# Requests


@pytest.mark.parametrize(("line", "operate"), READS + CHANGES)
async def test_each_operation_is_one_request_with_the_key(service: Service, line: str, operate: Operation) -> None:
    await operate(service.project)

    assert service.seen == [line]
    assert service.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert ("content-type" in service.requests[0].headers) is line.startswith("POST")


@pytest.mark.parametrize("base_url", ["http://h", "http://h/", "http://h/prefix", "http://h/prefix/"])
async def test_the_url_may_have_a_path_and_a_slash(base_url: str) -> None:
    service = Service(base_url)
    async with service.project:
        await service.project.get_agents()
    assert str(service.requests[0].url) == f"{base_url.rstrip('/')}/api/sdk/agents"


@pytest.mark.parametrize(
    ("operate", "body"),
    [
        (lambda project: project.send_message(4, "hi"), {"message": "hi"}),
        (lambda project: project.send_message(4, "hi", 42), {"message": "hi", "sessionId": 42}),
        (lambda project: project.send_message(4, "", 0, []), {"message": "", "sessionId": 0, "messages": []}),
        (lambda project: project.send_message(4, "a", messages=[{"b": 1}]), {"message": "a", "messages": [{"b": 1}]}),
        (lambda project: project.run_workflow(3, None), {"input": None}),
        (lambda project: project.run_workflow(3, "text ä \ud800"), {"input": "text ä \ud800"}),
        (lambda project: project.run_workflow(3, {"a": [1, 2.5]}), {"input": {"a": [1, 2.5]}}),
    ],
)
async def test_bodies_hold_only_the_given_fields(service: Service, operate: Operation, body: dict[str, Any]) -> None:
    await operate(service.project)
    assert json.loads(service.requests[0].content) == body


@pytest.mark.parametrize("value", [math.nan, math.inf, {"a": [math.nan]}, {1, 2}, b"bytes"])
async def test_values_json_lacks_are_never_sent(service: Service, value: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        await service.project.run_workflow(3, value)
    assert service.seen == []


@pytest.mark.parametrize("id_", ["3", "3/../../x", 3.0, None])
async def test_only_integers_become_part_of_a_path(service: Service, id_: Any) -> None:
    with pytest.raises(TypeError):
        await service.project.get_agent(id_)
    assert service.seen == []


async def test_a_closed_client_refuses_calls(service: Service) -> None:
    await service.project.__aexit__(None, None, None)
    with pytest.raises(RuntimeError, match="closed"):
        await service.project.get_agents()


@each(
    "base_url",
    [
        "", "host", "host:8080", "ftp://host", "http://", "http:///path", "http://user:secret@host",
        "http://host?x=secret", "http://host/#secret", "http://host:99999999", "http://host:0", "http://host:port",
        "http://a..b", "http://" + "a" * 64 + ".example", "http://ho st", "http://host/a path", "http://host/\x00",
    ],
)  # fmt: skip
def test_an_unusable_url_is_refused_without_showing_it(base_url: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ProjectClient(base_url, "key")
    assert caught.value.problems[0].startswith("base_url: ")
    assert "secret" not in str(caught.value)


@each("api_key", ["", "two words", "line\n", "ключ", "\x00"])
def test_an_unusable_key_is_refused_without_showing_it(api_key: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ProjectClient("http://host", api_key)
    assert caught.value.problems == ("api_key: use visible ASCII characters without spaces",)


@each(
    ("base_url", "used"),
    [
        ("http://host", "http://host"),
        ("https://host:8443/prefix/", "https://host:8443/prefix"),
        ("http://[::1]:8080", "http://[::1]:8080"),
        ("http://ä.example", "http://ä.example"),
        (" http://host\n", "http://host"),
        ("http://host///", "http://host"),
        ("http://host/api/sdk", "http://host"),
        ("http://host/prefix//api/sdk//", "http://host/prefix"),
    ],
)
def test_usable_urls_are_normalized(base_url: str, used: str) -> None:
    assert repr(ProjectClient(base_url, "key")) == f"ProjectClient({used!r})"


# Errors

PLACE = ConnectionKey("h", 1, is_ssl=True, ssl=True, proxy=None, proxy_auth=None, proxy_headers_hash=None)
INFO: Any = aiohttp.RequestInfo(URL("http://h"), "POST", headers={}, real_url=URL("http://h"))
BY_CAUSE: list[tuple[Exception, type[ProjectError]]] = [
    (aiohttp.ClientConnectorError(PLACE, OSError(111, "refused")), CannotConnect),
    (aiohttp.ClientConnectorDNSError(PLACE, OSError(-2, "unknown")), CannotConnect),
    (aiohttp.ClientConnectorSSLError(PLACE, ssl.SSLError(1, "wrong version")), CannotConnect),
    (aiohttp.ClientConnectorCertificateError(PLACE, ssl.CertificateError("self-signed")), CannotConnect),
    (aiohttp.ClientProxyConnectionError(PLACE, OSError(111, "refused")), CannotConnect),
    (aiohttp.ClientHttpProxyError(INFO, (), status=407), CannotConnect),
    (aiohttp.ConnectionTimeoutError(), CannotConnect),
    (aiohttp.InvalidUrlClientError("x"), CannotConnect),
    (aiohttp.NonHttpUrlClientError("x"), CannotConnect),
    (aiohttp.SocketTimeoutError(), TimedOut),
    (aiohttp.ServerTimeoutError(), TimedOut),
    (aiohttp.ServerDisconnectedError(), ConnectionLost),
    (aiohttp.ClientOSError(104, "reset"), ConnectionLost),
    (aiohttp.ClientConnectionResetError(), ConnectionLost),
    (aiohttp.ClientConnectionError(), ConnectionLost),
    (aiohttp.ClientPayloadError(), ConnectionLost),
    (aiohttp.ClientResponseError(INFO, ()), NotUnderstood),
]
BY_HTTPX: list[tuple[Exception, type[ProjectError]]] = [
    (httpx.ConnectError(""), CannotConnect),
    (httpx.ConnectTimeout(""), CannotConnect),
    (httpx.PoolTimeout(""), CannotConnect),
    (httpx.UnsupportedProtocol(""), CannotConnect),
    (httpx.InvalidURL(""), CannotConnect),
    (httpx.ReadTimeout(""), TimedOut),
    (httpx.WriteTimeout(""), TimedOut),
    (TimeoutError(), TimedOut),
    (httpx.ReadError(""), ConnectionLost),
    (httpx.WriteError(""), ConnectionLost),
    (httpx.RemoteProtocolError(""), ConnectionLost),
    (OSError(), ConnectionLost),
]


def told_by(httpx_error: type[httpx.TransportError], cause: Exception) -> Exception:
    error = httpx_error("")
    error.__cause__ = cause
    return error


@each(
    ("error", "kind"),
    [
        *BY_CAUSE,  # however httpx classifies them
        *((told_by(httpx.ConnectTimeout, cause), kind) for cause, kind in BY_CAUSE),
        *((told_by(httpx.ConnectError, cause), kind) for cause, kind in BY_CAUSE),
        *((told_by(httpx.ReadError, cause), kind) for cause, kind in BY_CAUSE),
        *BY_HTTPX,  # other transports raise what httpx documents
    ],
)
async def test_a_failure_is_classified_by_its_cause(error: Exception, kind: type[ProjectError]) -> None:
    service = Service()
    service.always = error
    async with service.project:
        with pytest.raises(ProjectError) as caught:
            await service.project.send_message(4, "x")
    assert type(caught.value) is kind


# Retries


def busy(status: int, seconds: str) -> httpx.Response:
    return httpx.Response(status, headers={"retry-after": seconds})


@each(
    ("trouble", "reads", "changes"),
    [
        (REFUSED, 3, 3),
        (httpx.Response(429), 3, 3),
        (busy(503, "2"), 3, 3),
        (busy(429, "5.1"), 1, 1),
        (httpx.ReadError(""), 3, 1),
        (httpx.Response(502), 3, 1),
        (httpx.Response(503), 3, 1),
        (httpx.Response(504), 3, 1),
        (httpx.ReadTimeout(""), 2, 1),
        (httpx.Response(404), 1, 1),
        (httpx.Response(500), 1, 1),
        (httpx.Response(200, content=b"{}"), 1, 1),
    ],
)
async def test_a_change_is_retried_only_if_it_certainly_did_not_arrive(
    *, trouble: Trouble, reads: int, changes: int
) -> None:
    for line, operate in [READS[0], *CHANGES]:
        service = Service()
        service.always = trouble
        async with service.project:
            with pytest.raises(ProjectError) as caught:
                await operate(service.project)
        assert len(service.requests) == (reads if line.startswith("GET") else changes)
        assert not (changes > 1 and caught.value.may_have_happened)


@pytest.mark.parametrize(("_line", "operate"), READS + CHANGES)
async def test_the_third_try_may_succeed(service: Service, _line: str, operate: Operation) -> None:
    service.troubles = [REFUSED, REFUSED]
    await operate(service.project)
    first, second = service.slept
    assert 0.15 <= first <= 0.3 <= second <= 0.6


async def test_no_read_is_retried_after_eight_seconds(service: Service) -> None:
    service.always = busy(429, "4.5")
    with pytest.raises(Busy):
        await service.project.get_agents()
    assert service.slept == [4.5]


async def test_an_outage_between_tries_ends_them(service: Service) -> None:
    service.always = httpx.Response(502)
    outcomes = await asyncio.gather(*(service.project.get_stats() for _ in range(10)), return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {Outage}
    assert len(service.requests) == 10


# While the service is unavailable


async def test_no_request_is_sent_after_five_failures_in_a_row(service: Service) -> None:
    await bring_down(service)
    service.now += 2
    for _line, operate in READS + CHANGES:
        with pytest.raises(CircuitOpen) as caught:
            await operate(service.project)
        assert caught.value.retry_in == timedelta(seconds=3)
        assert not caught.value.may_have_happened
    assert service.requests == []


async def test_the_first_caller_makes_a_due_probe(service: Service) -> None:
    await bring_down(service)
    service.now += 5
    service.always = None
    assert (await service.project.send_message(4, "x")).sessionId == 42
    assert service.project.is_up
    assert service.seen == [PROBE, CHAT]


async def test_a_failed_probe_fails_the_other_callers(service: Service) -> None:
    await bring_down(service)
    service.now += 5
    for _ in range(3):
        with pytest.raises(CircuitOpen):
            await service.project.send_message(4, "x")
    assert service.seen == [PROBE]


async def test_no_caller_waits_for_another_callers_probe(service: Service) -> None:
    await bring_down(service)
    service.now += 60
    service.always = None
    service.gate.clear()
    first = asyncio.create_task(service.project.get_agents())
    await service.asked()
    service.now += 60  # the request hangs for a minute
    with pytest.raises(CircuitOpen) as caught:
        await service.project.get_agents()
    assert caught.value.retry_in > timedelta(0)
    service.gate.set()
    await first
    assert service.seen == [PROBE, "GET /api/sdk/agents"]


async def test_a_cancelled_probe_makes_room_for_the_next(service: Service) -> None:
    await bring_down(service)
    service.now += 5
    service.always = None
    service.gate.clear()
    first = asyncio.create_task(service.project.get_agents())
    await service.asked()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    service.gate.set()
    service.now += 5
    await service.project.get_agents()


@pytest.mark.parametrize("answer", [httpx.Response(500), httpx.Response(429)])
async def test_any_answer_to_a_probe_ends_the_outage(service: Service, answer: httpx.Response) -> None:
    await bring_down(service)
    service.always = answer
    await service.project.wait_until_up()
    assert service.project.is_up


@pytest.mark.parametrize("status", [401, 403])
async def test_a_key_that_everything_refuses_is_an_outage_until_something_accepts_it(
    service: Service, status: int
) -> None:
    service.always = httpx.Response(status)
    with pytest.raises(NotSignedIn):
        await service.project.run_workflow(3, "x")
    assert (service.project.is_up, service.project.rejects_key) == (False, True)
    with pytest.raises(CircuitOpen):
        await service.project.run_workflow(3, "x")

    service.always, service.troubles = None, [httpx.Response(status)]  # it may read the lists, not the project
    await service.project.wait_until_up()

    assert (service.project.is_up, service.project.rejects_key) == (True, False)


@pytest.mark.parametrize("status", [401, 403])
async def test_one_operation_that_is_refused_is_no_outage(service: Service, status: int) -> None:
    service.troubles = [httpx.Response(status)]
    with pytest.raises(Forbidden):
        await service.project.run_workflow(3, "x")

    assert (service.project.is_up, service.project.rejects_key) == (True, False)


async def test_waiting_returns_at_once_while_the_service_is_up(service: Service) -> None:
    await service.project.wait_until_up()
    assert (service.requests, service.slept) == ([], [])


async def test_waiting_callers_share_one_probe_every_five_seconds(service: Service) -> None:
    await bring_down(service)
    slept = len(service.slept)
    service.troubles = [REFUSED, httpx.Response(503), httpx.ReadTimeout("")]
    service.always = None
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        for _ in range(200):
            group.create_task(service.project.wait_until_up())
    assert service.project.is_up
    assert service.seen == [PROBE] * 4
    assert service.slept[slept:] == [5] * 4


async def test_a_cancelled_waiter_hands_the_probe_to_the_next(service: Service) -> None:
    await bring_down(service)
    service.always = None
    service.gate.clear()
    waiting = [asyncio.create_task(service.project.wait_until_up()) for _ in range(3)]
    await service.asked()
    waiting[0].cancel()
    service.gate.set()
    async with asyncio.timeout(30):
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [asyncio.CancelledError, type(None), type(None)]


async def test_a_late_answer_to_an_earlier_call_ends_the_outage(service: Service) -> None:
    service.held = "chat"
    service.gate.clear()
    early = asyncio.create_task(service.project.send_message(4, "x"))
    await service.asked()
    await bring_down(service)
    service.always = None
    service.gate.set()
    await early
    assert service.project.is_up


# Metrics and logs


async def test_each_operation_is_observed_once_with_its_outcome(service: Service) -> None:
    await service.project.get_agents()
    for trouble, error in ((httpx.Response(402), ServiceRefused), (httpx.Response(200, text="<html>"), NotUnderstood)):
        service.always = trouble
        with pytest.raises(error):
            await service.project.run_workflow(3, "x")
    await bring_down(service)
    for pause in (0, 5):
        service.now += pause
        with pytest.raises(CircuitOpen):
            await service.project.get_agent(4)
    assert [(operation, error.kind if error else "ok") for operation, error, _ in service.observed] == [
        ("get_agents", "ok"),
        ("run_workflow", "service_refused"),
        ("run_workflow", "not_understood"),
        ("get_stats", "cannot_connect"),
        ("get_project", "cannot_connect"),
        ("get_agent", "circuit_open"),
        ("probe", "cannot_connect"),
        ("get_agent", "circuit_open"),
    ]
    assert all(seconds >= 0 for _operation, _outcome, seconds in service.observed)


async def test_neither_texts_nor_the_key_are_logged(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    service.troubles = [REFUSED, httpx.Response(429, text="secret words")]
    await service.project.send_message(4, "secret words")
    await bring_down(service)
    service.now += 5
    service.always = None
    await service.project.run_workflow(3, "secret words")
    own = [record for record in caplog.records if record.name.startswith("bridge.project")]
    assert {record.getMessage() for record in own} == {
        "project call failed",
        "retrying a project call",
        "project service is down",
        "project service is back",
    }
    for record in caplog.records:
        assert "secret words" not in str(vars(record))
        assert KEY not in str(vars(record))
