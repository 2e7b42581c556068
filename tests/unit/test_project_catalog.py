"""The lists that commands look names up in."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from bridge.errors import NotSignedIn
from bridge.project import Catalog, ProjectClient

AGENT = {"id": 4, "name": "Support", "model": "m"}
WORKFLOW = {"id": 3, "name": "Import", "is_active": True, "trigger_type": "manual", "node_count": 5}


class Service(httpx.AsyncBaseTransport):
    """A service with one agent and one workflow, which answers when *gate* is open."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.status = 200
        self.gate = asyncio.Event()
        self.gate.set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.paths.append(request.url.path)
        await asyncio.sleep(0)
        await self.gate.wait()
        body: Any = [AGENT] if request.url.path.endswith("agents") else [WORKFLOW]
        return httpx.Response(self.status, json=body)

    async def asked(self, times: int) -> None:
        async with asyncio.timeout(5):
            while len(self.paths) < times:  # noqa: ASYNC110 - a poll by intention: nothing else is to be awaited
                await asyncio.sleep(0)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def client(service: Service) -> ProjectClient:
    return ProjectClient("http://project.example", "key", transport=service)


async def test_a_list_is_kept_for_five_seconds(service: Service, clock: Clock) -> None:
    async with client(service) as project:
        catalog = Catalog(project, monotonic=clock)
        first = await catalog.get_agents()
        clock.now += 4.9
        assert await catalog.get_agents() is first
        clock.now += 0.1
        assert await catalog.get_agents() == first
    assert len(service.paths) == 2


async def test_the_two_lists_are_kept_apart(service: Service, clock: Clock) -> None:
    async with client(service) as project:
        catalog = Catalog(project, monotonic=clock)
        agents, workflows = await catalog.get_agents(), await catalog.get_workflows()
    assert (agents[0].name, workflows[0].name) == ("Support", "Import")


async def test_those_who_ask_at_once_share_one_request(service: Service, clock: Clock) -> None:
    async with client(service) as project:
        catalog = Catalog(project, monotonic=clock)
        lists = await asyncio.gather(*(catalog.get_workflows() for _ in range(50)))
    assert len(service.paths) == 1
    assert all(workflows is lists[0] for workflows in lists)


async def test_those_who_ask_at_once_share_its_failure_and_the_next_asks_again(service: Service, clock: Clock) -> None:
    service.status = 401
    async with client(service) as project:
        catalog = Catalog(project, monotonic=clock)
        outcomes = await asyncio.gather(*(catalog.get_workflows() for _ in range(50)), return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {NotSignedIn}
        assert len(service.paths) == 1
        service.status = 200
        assert (await catalog.get_workflows())[0].id == 3


async def test_an_old_list_is_not_shown_in_place_of_a_failure(service: Service, clock: Clock) -> None:
    async with client(service) as project:
        catalog = Catalog(project, monotonic=clock)
        await catalog.get_agents()
        clock.now += 5
        service.status = 401
        with pytest.raises(NotSignedIn):
            await catalog.get_agents()


async def test_when_the_one_who_asks_is_cancelled_the_others_get_their_list(service: Service, clock: Clock) -> None:
    service.gate.clear()
    async with client(service) as project:
        catalog = Catalog(project, monotonic=clock)
        first, second = (asyncio.create_task(catalog.get_agents()) for _ in range(2))
        await service.asked(1)
        first.cancel()
        await service.asked(2)
        service.gate.set()
        assert (await second)[0].name == "Support"
        assert first.cancelled()
