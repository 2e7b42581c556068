"""The eight operations: what is sent, what is repeated, what happens while the service is down."""

from __future__ import annotations

import asyncio
import json
import logging
import math
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest

from bridge.errors import Busy, CannotConnect, CircuitOpen, NotUnderstood, Outage, ProjectError, ServiceRefused
from bridge.project import ProjectClient

KEY = "key-0123456789"
WORKFLOW = {"id": 3, "name": "Import", "is_active": True, "trigger_type": "manual", "node_count": 5}
AGENT = {"id": 4, "name": "Support", "model": "m"}
MOMENT = "2026-01-02T03:04:05.678Z"
PROJECT = {
    "id": 1,
    "name": "P",
    "description": "",
    "visibility": "private",
    "promptCount": 2,
    "memberCount": 3,
    "createdAt": MOMENT,
}
STATS = {"promptCount": 1, "runCount": 2, "versionCount": 3, "categories": [], "tags": [], "lastUpdated": MOMENT}
RUN = {"runId": 7, "status": "completed", "output": "o", "nodeResults": {}}
CHAT = {"sessionId": 42, "message": "hello"}
ANSWERS: dict[str, Any] = {
    "workflows": [WORKFLOW],
    "workflows/3": {**WORKFLOW, "nodes": [], "edges": []},
    "workflows/3/run": RUN,
    "agents": [AGENT],
    "agents/4": {**AGENT, "tools": []},
    "agents/4/chat": CHAT,
    "project": PROJECT,
    "stats": STATS,
}


class Clock:
    """A time that goes on only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)


class Service(httpx.AsyncBaseTransport):
    """A service that answers as documented, unless *troubles* (one for each request to come) say otherwise."""

    def __init__(self) -> None:
        self.requests: list[httpx.Request] = []
        self.troubles: list[httpx.Response | Exception] = []
        self.always: httpx.Response | Exception | None = None
        self.gate = asyncio.Event()  # while it is shut, requests whose path ends with *held* get no answer
        self.gate.set()
        self.held = ""

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
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
        async with asyncio.timeout(5):
            while not self.requests:  # noqa: ASYNC110 - a poll by intention: nothing else is to be awaited
                await asyncio.sleep(0)

    @property
    def seen(self) -> list[str]:
        return [f"{request.method} {request.url.path}" for request in self.requests]


REFUSED = httpx.ConnectError("refused")


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def client(service: Service, clock: Clock, base_url: str = "http://project.example", **more: Any) -> ProjectClient:
    return ProjectClient(base_url, KEY, transport=service, sleep=clock.sleep, monotonic=clock, **more)


async def bring_down(project: ProjectClient, service: Service) -> None:
    """Let five attempts fail, and forget the requests."""
    service.always = REFUSED
    for operation in (project.get_stats, project.get_project):
        with pytest.raises(CannotConnect):
            await operation()
    assert not project.is_up
    service.requests.clear()


Operation = Callable[[ProjectClient], Awaitable[Any]]
READS: list[tuple[str, Operation]] = [
    ("GET /api/sdk/workflows", lambda project: project.get_workflows()),
    ("GET /api/sdk/workflows/3", lambda project: project.get_workflow(3)),
    ("GET /api/sdk/agents", lambda project: project.get_agents()),
    ("GET /api/sdk/agents/4", lambda project: project.get_agent(4)),
    ("GET /api/sdk/project", lambda project: project.get_project()),
    ("GET /api/sdk/stats", lambda project: project.get_stats()),
]
CHANGES: list[tuple[str, Operation]] = [
    ("POST /api/sdk/workflows/3/run", lambda project: project.run_workflow(3, "x")),
    ("POST /api/sdk/agents/4/chat", lambda project: project.send_message(4, "x")),
]


@pytest.mark.parametrize(("line", "operate"), READS + CHANGES)
async def test_each_operation_is_one_request_with_the_key(
    service: Service, clock: Clock, line: str, operate: Operation
) -> None:
    async with client(service, clock) as project:
        await operate(project)
    assert service.seen == [line]
    assert service.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert ("content-type" in service.requests[0].headers) is line.startswith("POST")


@pytest.mark.parametrize("base_url", ["http://h", "http://h/", "http://h/prefix", "http://h/prefix/"])
async def test_the_address_may_have_a_path_and_a_slash(service: Service, clock: Clock, base_url: str) -> None:
    async with client(service, clock, base_url) as project:
        await project.get_agents()
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
async def test_bodies_hold_what_was_given_and_no_more(
    service: Service, clock: Clock, operate: Operation, body: dict[str, Any]
) -> None:
    async with client(service, clock) as project:
        await operate(project)
    assert json.loads(service.requests[0].content) == body


@pytest.mark.parametrize("value", [math.nan, math.inf, {"a": [math.nan]}, {1, 2}, b"bytes"])
async def test_what_json_does_not_have_is_never_sent(service: Service, clock: Clock, value: Any) -> None:
    async with client(service, clock) as project:
        with pytest.raises((ValueError, TypeError)):
            await project.run_workflow(3, value)
    assert service.seen == []


@pytest.mark.parametrize("id_", ["3", "3/../../x", 3.0, None])
async def test_only_integers_become_part_of_a_path(service: Service, clock: Clock, id_: Any) -> None:
    async with client(service, clock) as project:
        with pytest.raises(TypeError):
            await project.get_agent(id_)
    assert service.seen == []


async def test_results_carry_the_wires_own_names(service: Service, clock: Clock) -> None:
    async with client(service, clock) as project:
        run = await project.run_workflow(3, "x")
        answer = await project.send_message(4, "x")
        workflows = await project.get_workflows()
    assert (run.runId, answer.sessionId, workflows[0].is_active) == (7, 42, True)


async def test_a_closed_client_refuses_calls(service: Service, clock: Clock) -> None:
    async with client(service, clock) as project:
        pass
    with pytest.raises(RuntimeError, match="closed"):
        await project.get_agents()


@pytest.mark.parametrize("trouble", [REFUSED, httpx.ReadError(""), httpx.Response(429), httpx.Response(503)])
async def test_a_read_is_tried_three_times(service: Service, clock: Clock, trouble: Any) -> None:
    service.troubles = [trouble] * 2
    async with client(service, clock) as project:
        assert (await project.get_project()).name == "P"
    assert len(service.requests) == 3


@pytest.mark.parametrize(("_line", "operate"), CHANGES)
@pytest.mark.parametrize("trouble", [REFUSED, httpx.Response(429), httpx.Response(503, headers={"retry-after": "2"})])
async def test_a_change_that_surely_did_not_arrive_is_tried_three_times(
    service: Service, clock: Clock, trouble: Any, _line: str, operate: Operation
) -> None:
    service.troubles = [trouble] * 2
    async with client(service, clock) as project:
        await operate(project)
    assert len(service.requests) == 3


@pytest.mark.parametrize(("_line", "operate"), CHANGES)
@pytest.mark.parametrize(
    "trouble",
    [
        httpx.ReadError(""),
        httpx.ReadTimeout(""),
        httpx.Response(500),
        httpx.Response(502),
        httpx.Response(503),
        httpx.Response(504),
        httpx.Response(200, content=b"{}"),
    ],
)
async def test_a_change_that_may_have_arrived_is_never_repeated(
    service: Service, clock: Clock, trouble: Any, _line: str, operate: Operation
) -> None:
    service.troubles = [trouble]
    async with client(service, clock) as project:
        with pytest.raises(ProjectError) as caught:
            await operate(project)
    assert caught.value.may_have_happened
    assert len(service.requests) == 1


async def test_a_retry_after_that_is_short_is_waited_out(service: Service, clock: Clock) -> None:
    service.troubles = [httpx.Response(429, headers={"retry-after": "4"})]
    async with client(service, clock) as project:
        await project.send_message(4, "x")
    assert clock.slept == [4]


async def test_a_retry_after_that_is_long_is_left_to_the_caller(service: Service, clock: Clock) -> None:
    service.troubles = [httpx.Response(429, headers={"retry-after": "60"})]
    async with client(service, clock) as project:
        with pytest.raises(Busy) as caught:
            await project.send_message(4, "x")
    assert caught.value.retry_after == timedelta(seconds=60)
    assert clock.slept == []


async def test_after_five_attempts_in_a_row_nothing_is_asked(service: Service, clock: Clock) -> None:
    async with client(service, clock) as project:
        await bring_down(project, service)
        clock.now += 2
        for _line, operate in READS + CHANGES:
            with pytest.raises(CircuitOpen) as caught:
                await operate(project)
            assert caught.value.retry_in == timedelta(seconds=3)
            assert not caught.value.may_have_happened
    assert service.requests == []


async def test_a_500_nonsense_or_a_refusal_does_not_count(service: Service, clock: Clock) -> None:
    async with client(service, clock) as project:
        for answer in (httpx.Response(500), httpx.Response(200, text="<html>"), httpx.Response(400)):
            service.always = answer
            for _ in range(6):
                with pytest.raises((ServiceRefused, NotUnderstood)):
                    await project.send_message(4, "x")
        assert project.is_up


async def test_whoever_comes_when_a_probe_is_due_makes_it_and_goes_on(service: Service, clock: Clock) -> None:
    async with client(service, clock) as project:
        await bring_down(project, service)
        clock.now += 5
        service.always = None
        assert (await project.send_message(4, "x")).sessionId == 42
        assert project.is_up
    assert service.seen == ["GET /api/sdk/project", "POST /api/sdk/agents/4/chat"]


async def test_a_probe_that_fails_leaves_the_others_unasked(service: Service, clock: Clock) -> None:
    async with client(service, clock) as project:
        await bring_down(project, service)
        clock.now += 5
        for _ in range(3):
            with pytest.raises(CircuitOpen):
                await project.send_message(4, "x")
    assert service.seen == ["GET /api/sdk/project"]


async def test_one_probe_at_a_time_and_the_others_do_not_wait_for_it(service: Service, clock: Clock) -> None:
    async with client(service, clock) as project:
        await bring_down(project, service)
        clock.now += 60
        service.always = None
        service.gate.clear()
        first = asyncio.create_task(project.get_agents())
        await service.asked()
        clock.now += 60  # it hangs for long
        with pytest.raises(CircuitOpen) as caught:
            await project.get_agents()
        assert caught.value.retry_in > timedelta(0)
        service.gate.set()
        await first
    assert service.seen == ["GET /api/sdk/project", "GET /api/sdk/agents"]


async def test_a_probe_that_was_cancelled_makes_room_for_the_next(service: Service, clock: Clock) -> None:
    async with client(service, clock) as project:
        await bring_down(project, service)
        clock.now += 5
        service.always = None
        service.gate.clear()
        first = asyncio.create_task(project.get_agents())
        await service.asked()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        service.gate.set()
        clock.now += 5
        await project.get_agents()


@pytest.mark.parametrize("answer", [httpx.Response(401), httpx.Response(500), httpx.Response(429)])
async def test_any_answer_to_a_probe_shows_that_the_service_is_back(
    service: Service, clock: Clock, answer: httpx.Response
) -> None:
    async with client(service, clock) as project:
        await bring_down(project, service)
        service.always = answer
        await project.wait_until_up()
        assert project.is_up


async def test_waiting_returns_at_once_while_the_service_is_up(service: Service, clock: Clock) -> None:
    async with client(service, clock) as project:
        await project.wait_until_up()
    assert (service.requests, clock.slept) == ([], [])


async def test_however_many_wait_there_is_one_probe_every_five_seconds(service: Service, clock: Clock) -> None:
    async with client(service, clock) as project:
        await bring_down(project, service)
        slept = len(clock.slept)
        service.troubles = [REFUSED, httpx.Response(503), httpx.ReadTimeout("")]
        service.always = None
        async with asyncio.timeout(5), asyncio.TaskGroup() as group:
            for _ in range(200):
                group.create_task(project.wait_until_up())
        assert project.is_up
    assert service.seen == ["GET /api/sdk/project"] * 4
    assert clock.slept[slept:] == [5] * 4


async def test_when_the_one_who_probes_is_cancelled_the_next_goes_on(service: Service, clock: Clock) -> None:
    async with client(service, clock) as project:
        await bring_down(project, service)
        service.always = None
        service.gate.clear()
        waiting = [asyncio.create_task(project.wait_until_up()) for _ in range(3)]
        await service.asked()
        waiting[0].cancel()
        service.gate.set()
        async with asyncio.timeout(5):
            outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [asyncio.CancelledError, type(None), type(None)]


async def test_a_late_answer_to_an_earlier_call_shows_that_the_service_is_back(service: Service, clock: Clock) -> None:
    async with client(service, clock) as project:
        service.held = "chat"
        service.gate.clear()
        early = asyncio.create_task(project.send_message(4, "x"))
        await service.asked()
        await bring_down(project, service)
        service.always = None
        service.gate.set()
        await early
        assert project.is_up


async def test_each_operation_is_observed_once_with_its_outcome(service: Service, clock: Clock) -> None:
    observed: list[tuple[str, str, float]] = []
    async with client(service, clock, observe=lambda *facts: observed.append(facts)) as project:
        await project.get_agents()
        service.always = httpx.Response(401)
        with pytest.raises(ServiceRefused):
            await project.get_stats()
        service.always = httpx.Response(200, text="<html>")
        with pytest.raises(NotUnderstood):
            await project.run_workflow(3, "x")
        await bring_down(project, service)
        with pytest.raises(CircuitOpen):
            await project.get_agent(4)
        clock.now += 5
        with pytest.raises(CircuitOpen):
            await project.get_agent(4)
    assert [facts[:2] for facts in observed] == [
        ("get_agents", "ok"),
        ("get_stats", "not_signed_in"),
        ("run_workflow", "not_understood"),
        ("get_stats", "cannot_connect"),
        ("get_project", "cannot_connect"),
        ("get_agent", "circuit_open"),
        ("probe", "cannot_connect"),
        ("get_agent", "circuit_open"),
    ]
    assert all(seconds >= 0 for _operation, _outcome, seconds in observed)


async def test_nothing_that_was_said_or_the_key_is_logged(
    service: Service, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with client(service, clock) as project:
        service.troubles = [REFUSED, httpx.Response(429, text="secret words")]
        await project.send_message(4, "secret words")
        await bring_down(project, service)
        clock.now += 5
        service.always = None
        await project.run_workflow(3, "secret words")
    own = [record for record in caplog.records if record.name.startswith("bridge.project")]
    assert {record.getMessage() for record in own} == {
        "repeating a project call",
        "project service is down",
        "project service is back",
    }
    for record in caplog.records:
        assert "secret words" not in str(vars(record))
        assert KEY not in str(vars(record))


async def test_an_outage_in_the_midst_of_the_tries_ends_them(service: Service, clock: Clock) -> None:
    async with client(service, clock) as project:
        service.always = httpx.Response(502)
        outcomes = await asyncio.gather(*(project.get_stats() for _ in range(10)), return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {Outage}
    assert len(service.requests) == 10
