"""The cached lists in which commands look up names."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest

from bridge.errors import ServiceRefused
from bridge.project import Catalog, ProjectClient

AGENT = {"id": 4, "name": "Support", "model": "m"}
WORKFLOW = {"id": 3, "name": "Import", "is_active": True, "trigger_type": "manual", "node_count": 5}


class Service:
    """A service with one agent and one workflow that answers while *gate* is open, and the catalog's clock."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.status = 200
        self.now = 100.0
        self.gate = asyncio.Event()
        self.gate.set()

    async def answer(self, request: httpx.Request) -> httpx.Response:
        self.paths.append(request.url.path)
        await asyncio.sleep(0)
        await self.gate.wait()
        return httpx.Response(self.status, json=[AGENT if request.url.path.endswith("agents") else WORKFLOW])

    async def asked(self, times: int) -> None:
        async with asyncio.timeout(30):
            while len(self.paths) < times:  # noqa: ASYNC110 - there is nothing to await
                await asyncio.sleep(0)


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
async def catalog(service: Service) -> AsyncIterator[Catalog]:
    transport = httpx.MockTransport(service.answer)
    async with ProjectClient("http://project.example", "key", transport=transport) as project:
        yield Catalog(project, monotonic=lambda: service.now)


async def test_a_list_is_cached_for_five_seconds(catalog: Catalog, service: Service) -> None:
    first = await catalog.get_agents()
    service.now += 4.9
    assert await catalog.get_agents() is first
    service.now += 0.1
    assert await catalog.get_agents() == first
    assert len(service.paths) == 2


async def test_the_two_lists_are_cached_separately(catalog: Catalog) -> None:
    agents, workflows = await catalog.get_agents(), await catalog.get_workflows()
    assert (agents[0].name, workflows[0].name) == ("Support", "Import")


async def test_concurrent_callers_share_one_request(catalog: Catalog, service: Service) -> None:
    lists = await asyncio.gather(*(catalog.get_workflows() for _ in range(50)))
    assert len(service.paths) == 1
    assert all(workflows is lists[0] for workflows in lists)


async def test_a_failure_is_shared_and_not_cached(catalog: Catalog, service: Service) -> None:
    service.status = 402
    outcomes = await asyncio.gather(*(catalog.get_workflows() for _ in range(50)), return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {ServiceRefused}
    assert len(service.paths) == 1
    service.status = 200
    assert (await catalog.get_workflows())[0].id == 3


async def test_a_failure_is_not_hidden_by_an_old_list(catalog: Catalog, service: Service) -> None:
    await catalog.get_agents()
    service.now += 5
    service.status = 402
    with pytest.raises(ServiceRefused):
        await catalog.get_agents()


async def test_a_cancelled_caller_does_not_cancel_the_others(catalog: Catalog, service: Service) -> None:
    service.gate.clear()
    first, second = (asyncio.create_task(catalog.get_agents()) for _ in range(2))
    await service.asked(1)
    first.cancel()
    await service.asked(2)
    service.gate.set()
    assert (await second)[0].name == "Support"
    assert first.cancelled()
