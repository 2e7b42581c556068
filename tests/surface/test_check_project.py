"""Checks of the project service, against a sample one on a real socket."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bridge.cli.check.project import project_rows
from bridge.cli.rows import FAILURE, OK, WARNING, Row
from bridge.playground.sample_project.answers import DropBefore, Planned, PlannedAnswer
from bridge.playground.sample_project.server import SampleProject

KEY = "the-key"
OPERATIONS = ["get_project", "get_workflows", "get_workflow", "get_agents", "get_agent", "get_stats"]


@pytest.fixture
async def project() -> AsyncIterator[SampleProject]:
    async with SampleProject(api_key=KEY) as project:
        yield project


async def look(project: SampleProject, key: str = KEY) -> dict[str, Row]:
    return {row.what: row for row in await project_rows(project.base_url, key)}


async def test_each_read_operation_is_probed_and_counted(project: SampleProject) -> None:
    rows = await look(project)

    assert list(rows) == OPERATIONS
    assert {row.state for row in rows.values()} == {OK}
    assert rows["get_workflows"].detail == f"{len(project.operations.workflows)} workflows"
    assert rows["get_agents"].detail == f"{len(project.operations.agents)} agents"
    assert {call.method for call in project.calls} == {"GET"}


async def test_no_contents_are_shown(project: SampleProject) -> None:
    shown = str(await look(project))

    names = [flow.name for flow in project.operations.workflows] + [agent.name for agent in project.operations.agents]
    assert [name for name in names if name in shown] == []


async def test_a_rejected_key_is_one_row(project: SampleProject) -> None:
    rows = await look(project, "wrong-key")

    assert list(rows) == ["get_project"]
    assert rows["get_project"].detail == "the key was rejected (401: “Invalid API key”)"
    assert "PROJECT_API_KEY" in rows["get_project"].cure
    assert "wrong-key" not in str(rows)


async def test_lists_that_are_a_part_are_named(project: SampleProject) -> None:
    rows_of = {"agents": [{"id": 1, "name": "Support", "model": "m"}], "total": 2}
    project.on("GET", "/api/sdk/agents", PlannedAnswer(json=rows_of))

    rows = await look(project)

    assert (rows["get_agents"].state, rows["get_workflows"].state) == (WARNING, OK)
    assert rows["get_agents"].detail == "1 agent, but the service says that there are more"


async def test_an_unreachable_service_is_one_row(project: SampleProject) -> None:
    await project.stop()

    rows = await look(project)

    assert list(rows) == ["get_project"]
    assert rows["get_project"].detail == "can't connect (connection refused or host unreachable)"
    assert "PROJECT_BASE_URL" in rows["get_project"].cure


async def test_a_wrong_path_is_one_row(project: SampleProject) -> None:
    [row] = await project_rows(f"{project.base_url}/path", KEY)

    assert (row.what, row.state) == ("get_project", FAILURE)
    assert row.detail == "nothing found at this address (404: “Not Found”); the other calls fail the same way"
    assert "check PROJECT_BASE_URL" in row.cure


@pytest.mark.parametrize(
    ("planned", "says", "cure"),
    [
        (
            PlannedAnswer(body=b"<html>", headers={"Content-Type": "text/html"}),
            "got a web page instead of JSON",
            "check PROJECT_BASE_URL",
        ),
        (PlannedAnswer(json={}), "unexpected response: 200, no documented field", "the service has a bug"),
        (PlannedAnswer(json={"id": 1}), "reachable, key accepted; not as documented: name: missing; ", "uses the rest"),
        (PlannedAnswer(status=302, json={}), "the address redirects elsewhere (302)", "check PROJECT_BASE_URL"),
        (
            PlannedAnswer(status=301, json={}, headers={"Location": "https://new.example/api/sdk/project"}),
            "the address redirects to https://new.example (301)",
            "set PROJECT_BASE_URL to https://new.example",
        ),
        (
            PlannedAnswer(status=404, body=b"<html>", headers={"Content-Type": "text/html"}),
            "the address shows a web page (404)",
            "check PROJECT_BASE_URL",
        ),
        (
            PlannedAnswer(status=500, json={"error": "kaput"}),
            "the request was refused (500: “kaput”)",
            "check the service",
        ),
        (PlannedAnswer(status=503, json={}), "the service is unavailable (503", "check the service"),
        (DropBefore(), "no complete answer (ServerDisconnectedError)", "check the service"),
    ],
)
async def test_a_failed_operation_hides_no_other(
    project: SampleProject, planned: Planned, says: str, cure: str
) -> None:
    project.on("GET", "/api/sdk/project", planned, times=None)

    rows = await look(project)

    assert says in rows["get_project"].detail
    assert cure in rows["get_project"].cure
    assert list(rows) == OPERATIONS
    assert {row.state for what, row in rows.items() if what != "get_project"} == {OK}


async def test_a_failed_list_skips_the_probe_of_its_entry(project: SampleProject) -> None:
    project.on("GET", "/api/sdk/agents", PlannedAnswer(json=3), times=None)

    rows = await look(project)

    assert rows["get_agents"].detail == "unexpected response: 200, agents: not a list but a number"
    assert "get_agent" not in rows


async def test_rows_that_cannot_be_used_are_named(project: SampleProject) -> None:
    agents = [{"id": "one"}, {"id": 1, "name": "Sorter"}, {"id": 3, "name": "Odd", "model": []}, *([7] * 9)]
    project.on("GET", "/api/sdk/agents", PlannedAnswer(json=agents), times=None)

    rows = await look(project)

    assert rows["get_agents"].state == WARNING
    assert rows["get_agents"].detail.startswith(
        "2 agents; not as documented: agents[0].id: not a number but a string (left out); "
        "agents[2].model: not a string but a list; agents[3]: not an object but a number (left out); "
    )
    assert rows["get_agents"].detail.endswith("; and 6 more")
    assert rows["get_agent"].state == OK


async def test_an_empty_list_skips_one_probe(project: SampleProject) -> None:
    project.operations.workflows.clear()

    rows = await look(project)

    assert rows["get_workflows"].detail == "0 workflows"
    assert rows["get_workflow"].state == WARNING


async def test_a_default_agent_that_does_not_exist_is_a_row(project: SampleProject) -> None:
    known = project.operations.agents[0]

    rows = [await project_rows(project.base_url, KEY, name) for name in ("Suport", known.name.upper(), f"#{known.id}")]

    assert [[row.what for row in each] for each in rows] == [[*OPERATIONS, "default agent"], OPERATIONS, OPERATIONS]
    assert (rows[0][-1].state, rows[0][-1].detail) == (WARNING, "no agent is called Suport")
