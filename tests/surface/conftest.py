"""Fixtures of the contract tests: the page on an emulated Slack, a small app behind it, and Slack's own client."""

from __future__ import annotations

from collections.abc import AsyncIterator

import aiohttp
import httpx
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bridge.playground.emulator import EmulatedSlack, sample
from bridge.playground.page.routes import Page
from bridge.playground.sample_project import SampleProject
from support.page_client import FakeSupervisor, Window
from support.ports import NO_TLS
from support.processes import private_redis, system  # noqa: F401 - fixtures, found by their names
from support.slack_app import SECRET, TOKEN, App


@pytest.fixture
async def app() -> AsyncIterator[App]:
    app = App()
    async with app.server:
        yield app


@pytest.fixture
def project() -> SampleProject:
    return SampleProject(api_key="a-key")


@pytest.fixture
async def service(project: SampleProject) -> AsyncIterator[httpx.AsyncClient]:
    """The bridge's client for the sample project, which is running."""
    headers = {"Authorization": "Bearer a-key"}
    async with project, httpx.AsyncClient(base_url=project.base_url, headers=headers, verify=NO_TLS) as service:
        yield service


@pytest.fixture
def supervisor() -> FakeSupervisor:
    return FakeSupervisor()


@pytest.fixture
async def slack(app: App, project: SampleProject, supervisor: FakeSupervisor) -> AsyncIterator[EmulatedSlack]:
    slack = EmulatedSlack(signing_secret=SECRET, bot_token=TOKEN, events_url=app.url, retry_delays=())
    slack.events.echoes_own = False
    slack.serve_also(*Page(slack, supervisor, supervisor.trace, project=project).routes())
    async with slack:
        yield slack


@pytest.fixture
async def http(slack: EmulatedSlack) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=slack.url, timeout=30, verify=NO_TLS) as http:
        yield http


@pytest.fixture
async def client(slack: EmulatedSlack) -> AsyncIterator[AsyncWebClient]:
    async with aiohttp.ClientSession() as session:
        yield AsyncWebClient(TOKEN, base_url=slack.api_url, session=session, retry_handlers=[])


@pytest.fixture
def alice(http: httpx.AsyncClient) -> Window:
    return Window(http, sample.ALICE)


@pytest.fixture
def bob(http: httpx.AsyncClient) -> Window:
    return Window(http, sample.BOB)
