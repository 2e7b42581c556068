"""The sample project service: its eight operations, and failures on demand."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bridge.inbound import MessageFile
from bridge.playground.sample_project import Hang, PlannedAnswer, Proper, SampleAgent, SampleProject, scripted
from bridge.slack.blockkit import content_words
from bridge.slack.blockkit.content_words import Passage
from bridge.slack.blockkit.quotation import Quoted, with_quotation
from support.ports import NO_TLS

CHAT = "/api/sdk/agents/1/chat"


@pytest.fixture
async def project() -> AsyncIterator[SampleProject]:
    async with SampleProject(api_key="a-key") as project:
        yield project


@pytest.fixture
async def http(project: SampleProject) -> AsyncIterator[httpx.AsyncClient]:
    headers = {"Authorization": "Bearer a-key"}
    async with httpx.AsyncClient(base_url=project.base_url, headers=headers, timeout=30, verify=NO_TLS) as http:
        yield http


async def chat(http: httpx.AsyncClient, agent: int, message: str, session: int | None = None) -> dict[str, Any]:
    body = {"message": message} | ({} if session is None else {"sessionId": session})
    answer = await http.post(f"/api/sdk/agents/{agent}/chat", json=body)
    assert answer.status_code == 200
    return dict(answer.json())


@pytest.mark.parametrize("header", [None, "Bearer wrong", "a-key", "Basic a-key"])
async def test_requests_without_the_key_are_refused(project: SampleProject, header: str | None) -> None:
    async with httpx.AsyncClient(base_url=project.base_url, verify=NO_TLS) as http:
        answer = await http.get("/api/sdk/project", headers={"Authorization": header} if header else {})

    assert answer.status_code == 401
    assert not project.calls[0].key_ok


async def test_the_workflows_are_of_every_kind(http: httpx.AsyncClient) -> None:
    listed = (await http.get("/api/sdk/workflows")).json()

    required = {"id", "name", "is_active", "trigger_type", "node_count"}
    assert len(listed) == 12
    assert all(required <= set(one) <= required | {"description"} for one in listed)
    assert len({one["trigger_type"] for one in listed}) >= 5
    assert [one["name"] for one in listed if not one["is_active"]] == ["Old import"]
    assert any("description" not in one for one in listed)


async def test_a_workflow_has_as_many_nodes_as_its_list_item_says(http: httpx.AsyncClient) -> None:
    for listed in (await http.get("/api/sdk/workflows")).json():
        detail = (await http.get(f"/api/sdk/workflows/{listed['id']}")).json()
        assert len(detail["nodes"]) == listed["node_count"]
        assert len(detail["edges"]) == listed["node_count"] - 1
        assert {node["type"] for node in detail["nodes"]} <= {"start", "agent", "transform", "condition", "end"}


async def test_a_run_returns_its_result_and_is_counted(http: httpx.AsyncClient) -> None:
    before = (await http.get("/api/sdk/stats")).json()["runCount"]

    echoed = (await http.post("/api/sdk/workflows/1/run", json={"input": {"a": [1, 2]}})).json()
    failed = (await http.post("/api/sdk/workflows/10/run", json={"input": "x"})).json()
    huge = await http.post("/api/sdk/workflows/11/run", json={"input": None})

    assert set(echoed) == {"runId", "status", "output", "nodeResults"}
    assert (echoed["status"], echoed["output"]) == ("completed", {"a": [1, 2]})
    assert (failed["status"], failed["runId"]) == ("failed", echoed["runId"] + 1)
    assert len(huge.content) > 100_000
    assert (await http.get("/api/sdk/stats")).json()["runCount"] == before + 3


async def test_a_run_without_input_is_refused(http: httpx.AsyncClient) -> None:
    assert (await http.post("/api/sdk/workflows/1/run", json={})).status_code == 400


@pytest.mark.parametrize("path", ["/api/sdk/workflows/99", "/api/sdk/agents/99", "/api/sdk/agents/one"])
async def test_a_missing_object_isnt_found(http: httpx.AsyncClient, path: str) -> None:
    assert (await http.get(path)).status_code == 404


async def test_an_agent_remembers_only_within_its_session(http: httpx.AsyncClient) -> None:
    first = await chat(http, 1, "Hello, my name is Ada")
    session = first["sessionId"]
    await chat(http, 1, "remember 40 and 2", session)
    other = await chat(http, 1, "what is my name?")

    assert "Ada" in (await chat(http, 1, "What is my name?", session))["message"]
    assert "42" in (await chat(http, 1, "which numbers did I tell you?", session))["message"]
    assert "Ada" not in other["message"]
    assert other["sessionId"] != session


async def test_numbers_are_learned_from_what_a_person_says_not_from_parts(http: httpx.AsyncClient) -> None:
    files = (MessageFile(id="F1", name="notes-7.txt", type="Plain Text", size=21), MessageFile(id="F2", name="2.png"))
    passages = [
        content_words.file_with(files[0], "tea is due on\n\nMay 3"),
        content_words.file_with(MessageFile(id="F3", kind="clip", name="1.m4a", size=24_000), "water 5 plants\nnow"),
        content_words.named_file(files[1]),
        Passage("A forwarded message in #general (https://a.example/p16):", "Parcel 77\n\nis late", "quoted"),
    ]
    message = content_words.composed("please water the plants", passages).text
    earlier = with_quotation("hello", Quoted("Bob", "we sold 12"), [Quoted("Ada", "or 13", ("x4.txt",))], left_out=3)
    table = content_words.composed("remember 40 and", [Passage("A table:", "| Sold |\n| --- |\n| 2 |")]).text

    assert (await chat(http, 1, message))["message"].startswith("That was message 1 of our conversation")
    assert (await chat(http, 1, earlier))["message"].startswith("That was message 1 of our conversation")
    assert (await chat(http, 1, table))["message"] == "I'll remember 40, 2."


async def test_the_agents_read_the_files_they_are_given(http: httpx.AsyncClient) -> None:
    notes = content_words.file_with(MessageFile(id="F1", name="notes.txt"), "Tea is due on Monday.")
    table = content_words.file_with(MessageFile(id="F2", name="sold.csv"), "Product,Sold\nTeapot,40\nCup,```120")
    clip = content_words.file_with(MessageFile(id="F3", kind="clip", name="a.m4a"), "the parcel is late")
    alone, both = (content_words.composed(own, parts).text for own, parts in (("", [notes]), ("look", [table, clip])))

    for agent in (1, 2, 3, 4):
        assert (await chat(http, agent, alone))["message"] == "I read notes.txt: “Tea is due on Monday.”"
        answer = (await chat(http, agent, both))["message"]
        assert "I read sold.csv, 3 lines that begin with “Product,Sold”." in answer
        assert "I read a.m4a: “the parcel is late”" in answer


async def test_facts_are_remembered_until_asked_to_forget(http: httpx.AsyncClient) -> None:
    session = (await chat(http, 1, "My favorite color is dark blue."))["sessionId"]
    await chat(http, 1, "call me Ada", session)

    assert (await chat(http, 1, "what is my favorite color?", session))["message"].endswith("is dark blue.")
    known = (await chat(http, 1, "what do you know about me?", session))["message"]
    await chat(http, 1, "forget all that", session)

    assert "Ada" in known
    assert "dark blue" in known
    assert "haven't told me" in (await chat(http, 1, "What is my name?", session))["message"]
    assert "haven't told me" in (await chat(http, 1, "what is my favorite color", session))["message"]


async def test_support_looks_up_orders_and_pages(http: httpx.AsyncClient) -> None:
    answer = await chat(http, 4, "Where is order 1042, and what about shipping?")

    assert "Order 1042 " in answer["message"]
    assert "**Shipping**" in answer["message"]
    assert answer["toolsUsed"] == ["search_docs", "order_status"]


async def test_agents_answer_in_markdown_with_tools_or_fail(http: httpx.AsyncClient) -> None:
    rich = (await chat(http, 2, "tell me about tea"))["message"]
    used = await chat(http, 4, "what time is it?")
    news = await chat(http, 4, "What changed since yesterday?")  # as docs/how-to/let-it-watch.md has it asked
    failed = await http.post("/api/sdk/agents/5/chat", json={"message": "please fail 503"})

    assert all(mark in rich for mark in ("| --- |", "```python", "](https://", "1. ", "**"))
    assert used["toolsUsed"] == ["search_docs", "current_time"]
    assert news["message"].startswith("Since yesterday: 42 orders")
    assert "toolsUsed" not in await chat(http, 1, "hello")
    assert (failed.status_code, failed.json()["error"]) == (503, "The agent failed, as requested.")
    tools = (await http.get("/api/sdk/agents/4")).json()["tools"]
    assert [tool["name"] for tool in tools] == ["search_docs", "current_time", "order_status"]


async def test_statistics_change_as_the_project_is_used(http: httpx.AsyncClient) -> None:
    before = (await http.get("/api/sdk/stats")).json()
    await chat(http, 1, "hello")
    after = (await http.get("/api/sdk/stats")).json()

    assert after["promptCount"] == before["promptCount"] + 1
    assert after["lastUpdated"] >= before["lastUpdated"]
    assert after["lastUpdated"].endswith("Z")
    assert sum(one["count"] for one in after["categories"]) == 12
    assert (await http.get("/api/sdk/project")).json()["promptCount"] == after["promptCount"]


async def test_each_use_is_counted_under_its_tag(http: httpx.AsyncClient) -> None:
    async def tags() -> dict[str, int]:
        return {one["name"]: one["count"] for one in (await http.get("/api/sdk/stats")).json()["tags"]}

    before = await tags()
    await http.post("/api/sdk/workflows/6/run", json={"input": ["a teapot"]})
    await chat(http, 1, "hello")
    after = await tags()

    assert after["orders"] == before["orders"] + 1
    assert after["conversations"] == 1


async def test_sessions_and_runs_survive_a_restart(tmp_path: Path) -> None:
    headers = {"Authorization": "Bearer a-key"}
    seen = []
    for _ in range(2):
        async with (
            SampleProject(api_key="a-key", data_dir=tmp_path / "new") as project,
            httpx.AsyncClient(base_url=project.base_url, headers=headers, verify=NO_TLS) as http,
        ):
            session = seen[0]["sessionId"] if seen else None
            seen.append(await chat(http, 1, "what is my name?" if seen else "my name is Ada", session))
            run = (await http.post("/api/sdk/workflows/1/run", json={"input": 1})).json()
            seen[-1] |= {"runId": run["runId"], "stats": (await http.get("/api/sdk/stats")).json()}

    first, second = seen
    assert second["message"] == "Your name is Ada."
    assert second["runId"] == first["runId"] + 1
    assert second["stats"]["promptCount"] == first["stats"]["promptCount"] + 1


@pytest.mark.parametrize("content", ["", "{", "[]", '{"form": 99}'])
async def test_an_unreadable_file_is_replaced(tmp_path: Path, content: str) -> None:
    (tmp_path / "project.json").write_text(content)

    async with SampleProject(api_key="a-key", data_dir=tmp_path) as project:
        assert project.operations.talks == {}


async def test_agents_can_be_replaced(project: SampleProject, http: httpx.AsyncClient) -> None:
    project.operations.agents = [SampleAgent(1, "Parrot", None, "none", scripted("{count}: {message}"))]

    assert (await chat(http, 1, "hello"))["message"] == "1: hello"
    assert [one["name"] for one in (await http.get("/api/sdk/agents")).json()] == ["Parrot"]


async def test_a_planned_answer_is_given_as_often_as_planned(project: SampleProject, http: httpx.AsyncClient) -> None:
    project.on("POST", CHAT, PlannedAnswer(429, {"error": "slow down"}, headers={"Retry-After": "3"}))
    project.on("POST", CHAT, PlannedAnswer(body=b"<html>"))
    project.on("POST", CHAT, Proper(delay=0.2))

    busy, nonsense, proper = [await http.post(CHAT, json={"message": "x"}) for _ in range(3)]

    assert (busy.status_code, busy.headers["Retry-After"]) == (429, "3")
    assert nonsense.text == "<html>"
    assert proper.json()["sessionId"]
    assert [call.status for call in project.calls_to(CHAT)] == [429, 200, 200]
    assert project.calls[2].seconds >= 0.2
    assert len(project.operations.talks) == 1


async def test_a_service_that_hangs_can_be_stopped(project: SampleProject, http: httpx.AsyncClient) -> None:
    project.on("GET", "/api/sdk/stats", Hang())

    with pytest.raises(httpx.ReadTimeout):
        await http.get("/api/sdk/stats", timeout=0.2)

    assert (await http.get("/api/sdk/stats")).status_code == 200


async def test_a_customer_given_as_an_object_is_greeted_by_name(http: httpx.AsyncClient) -> None:
    answer = await http.post("/api/sdk/workflows/3/run", json={"input": {"name": "Ada"}})

    assert "Hello Ada, good to see you!" in answer.text
