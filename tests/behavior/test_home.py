"""The Home tab: what each person sees, page by page, and when it is refreshed."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from bridge.engine.results import Form
from bridge.features.home.layout import AGENTS_A_PAGE, NEXT_WORKFLOWS, WORKFLOWS_A_PAGE, Home, HomePages, home_view
from bridge.inbound import Click
from bridge.playground.emulator.faults import Error, Fault, RateLimited
from bridge.playground.emulator.limits import check_view
from bridge.playground.emulator.sample import BOB, CAROL, DM_ALICE
from bridge.project.models import Agent, Workflow
from bridge.queue.inbox import Condition
from support.harness import SUPPORT, WORKFLOW, Harness
from support.store import CHANNEL, ROOT, TEAM, USER, message, ts


async def run(harness: Harness, user: str = USER) -> None:
    """Run a workflow."""
    await harness.type_command("/workflows run 3 x", user)
    await harness.work()


async def home_of(harness: Harness) -> dict[str, Any]:
    """Open Home as Alice; return what she sees."""
    await harness.slack.people.open_home(USER)
    await harness.work()
    return home_now(harness)


def home_now(harness: Harness) -> dict[str, Any]:
    home = harness.slack.home(USER)
    assert home is not None
    return home.content


async def pressed(harness: Harness, action: str, block: str = "") -> dict[str, Any]:
    """Press the first matching button in Alice's Home; return what she sees next."""
    home = harness.slack.home(USER)
    assert home is not None
    await harness.slack.ui.click_in_view(USER, home.id, action, block_id=block)
    await harness.work()
    return home_now(harness)


def words(view: dict[str, Any]) -> str:
    return json.dumps(view["blocks"], ensure_ascii=False)


def buttons(view: dict[str, Any], action: str) -> list[dict[str, Any]]:
    rows = [block.get("elements", []) for block in view["blocks"] if block["type"] == "actions"]
    rows += [[block["accessory"]] for block in view["blocks"] if "accessory" in block]
    return [element for row in rows for element in row if element["action_id"] == action]


def many(count: int) -> list[dict[str, Any]]:
    return [WORKFLOW | {"id": number, "name": f"flow {number:03d}"} for number in range(count)]


async def test_home_shows_numbers_workflows_and_agents(harness: Harness) -> None:
    view = await home_of(harness)

    assert "4,321" in words(view)
    assert buttons(view, "run:form")
    assert buttons(view, "workflow:find")
    assert [button["value"] for button in buttons(view, "ask:form")] == ["", "7"]
    assert "All systems are working." in words(view)


async def test_home_buttons_have_labels_for_screen_readers(harness: Harness) -> None:
    harness.service.workflows = [WORKFLOW | {"id": 3, "name": "x" * 100}]

    view = await home_of(harness)

    labels = [button.get("accessibility_label", "") for button in buttons(view, "run:form")]
    assert [(label[:6], len(label)) for label in labels] == [("", 0), ("Run… x", 75)]
    assert [button.get("accessibility_label") for button in buttons(view, "ask:form")] == [None, "Ask… Support"]


async def test_home_drawn_twice_asks_the_service_once(harness: Harness) -> None:
    await home_of(harness)
    asked = harness.service.requests
    await home_of(harness)

    assert asked == 4
    assert harness.seen.homes[1]["view"] == harness.seen.homes[0]["view"]


async def test_home_says_that_information_is_unavailable(harness: Harness) -> None:
    harness.service.always = httpx.Response(401)

    view = await home_of(harness)

    assert "The project service is unavailable right now." in words(view)
    assert not buttons(view, "workflow:find")


async def test_workflows_come_in_pages_which_home_remembers(harness: Harness) -> None:
    harness.service.workflows = many(300)
    first = await home_of(harness)
    second = await pressed(harness, NEXT_WORKFLOWS)

    assert len(first["blocks"]) <= 100
    assert "flow 000" in words(first)
    assert f"flow {WORKFLOWS_A_PAGE:03d}" in words(second)
    assert harness.seen.homes[-1]["hash"]
    assert buttons(second, "home:workflows:previous")
    again = await home_of(harness)
    assert HomePages.parse(again["private_metadata"]) == HomePages(channel=DM_ALICE, workflows=1)


async def test_home_shows_agents_before_workflows_between_dividers(harness: Harness) -> None:
    view = await home_of(harness)

    kinds = [block["text"]["text"] if block["type"] == "header" else block["type"] for block in view["blocks"]]
    sections = [kinds[place + 1] for place, kind in enumerate(kinds) if kind == "divider"]
    assert sections == ["Agents (1)", "Workflows (1)"]


@pytest.mark.parametrize("size", [0, 1, 12, 13, 1000])
@pytest.mark.parametrize("page", [-5, 0, 3, 10**9])
def test_every_page_keeps_slacks_limits(size: int, page: int) -> None:
    workflows = [Workflow.model_validate(one | {"description": "x" * 3000}) for one in many(size)]
    agents = [Agent.model_validate(SUPPORT | {"id": number, "name": "<!here> " * 40}) for number in range(size)]

    view = home_view(Home(None, None, workflows, agents), HomePages(workflows=page, agents=page), "1.0")

    check_view(view)
    shown = [block for block in view["blocks"] if str(block.get("block_id", "")).startswith("workflow:")]
    assert len(shown) <= WORKFLOWS_A_PAGE
    assert bool(shown) == bool(size)
    assert len(buttons(view, "ask:form")) <= 1 + AGENTS_A_PAGE


async def test_a_run_redraws_home_with_its_outcome(harness: Harness) -> None:
    await home_of(harness)
    await run(harness)

    assert len(harness.seen.homes) == 2, "refreshed without being opened"
    view, (card,) = harness.seen.homes[-1]["view"], harness.seen.replies("bridge_run")
    assert "Import · completed" in words(view)
    assert f"^{harness.slack.permalink(CHANNEL, card.ts)}|" in words(view)
    assert "hash" not in harness.seen.homes[-1]


async def test_a_conversation_appears_once_however_long(harness: Harness) -> None:
    await home_of(harness)
    for at in (ROOT, ts(1)):
        await harness.store.queue(message("hello", at, is_mention=True), condition=Condition.START, agent=7)
        await harness.work()

    assert len(harness.seen.homes) == 2, "the second result changes nothing"
    assert words(harness.seen.homes[-1]["view"]).count(harness.slack.permalink(CHANNEL, ROOT)) == 1
    assert "Your recent conversations" in words(harness.seen.homes[-1]["view"])


async def test_runs_of_another_person_are_not_shown(harness: Harness) -> None:
    await run(harness, BOB)

    assert "Your recent runs" not in words(await home_of(harness))


async def test_home_never_opened_is_not_drawn(harness: Harness) -> None:
    await run(harness)

    assert harness.seen.homes == []


async def test_a_person_can_delete_their_report_from_home(harness: Harness) -> None:
    await harness.type_command("/stats report daily 09:00")
    await harness.work()
    view = await home_of(harness)
    (delete,) = buttons(view, "report:delete")
    assert {"type": "channel", "channel_id": CHANNEL} in [
        run for block in view["blocks"] if block["type"] == "rich_text"
        for part in block["elements"] for run in part["elements"]
    ]  # fmt: skip
    assert "confirm" in delete

    after = await pressed(harness, "report:delete")

    assert "Your schedules" not in words(after)
    assert harness.seen.ephemerals[1:] == []


async def test_only_the_last_ten_runs_are_stored(harness: Harness, redis: Redis) -> None:
    for _ in range(13):
        await run(harness)

    assert await redis.llen(f"{{test}}:recent:r:{TEAM}:{USER}") == 10
    assert not await harness.store.contains_text("run 3")


async def test_a_refused_person_sees_only_the_reason(harness: Harness) -> None:
    harness.configure(BRIDGE_ALLOWED_USERS=BOB)
    view = await home_of(harness)

    assert len(view["blocks"]) == 1
    assert harness.service.requests == 0
    assert harness.seen.ephemerals == []


async def test_home_has_run_buttons_for_runners_only(harness: Harness) -> None:
    harness.configure(BRIDGE_RUNNERS=CAROL)
    view = await home_of(harness)

    assert not buttons(view, "run:form")
    assert buttons(view, "workflow:details")


@pytest.mark.parametrize("fault", [Error("hash_conflict"), RateLimited()])
async def test_a_refused_tab_brings_no_notice(harness: Harness, fault: Fault) -> None:
    harness.slack.faults.on("views.publish", fault)
    await harness.slack.people.open_home(USER)
    await harness.work()

    assert harness.seen.homes == []
    assert harness.seen.ephemerals == []
    assert "All systems are working." in words(await home_of(harness))


@pytest.mark.parametrize("may_run", [True, False])
async def test_details_open_a_page_with_a_button_for_runners(harness: Harness, *, may_run: bool) -> None:
    harness.configure(BRIDGE_RUNNERS=USER if may_run else BOB)
    view = await home_of(harness)
    harness.service.details = {"nodes": [{"id": 1, "type": "start"}, {"id": 2, "type": "end"}], "edges": [[1, 2]]}
    assert bool(buttons(view, "workflow:details")) is not may_run
    home = harness.slack.home(USER)
    assert home is not None
    chosen = Click(
        team=TEAM, channel=DM_ALICE, user=USER, action_id="workflow:find", value="3", view="home", view_hash=home.hash
    )

    page = await harness.answer(chosen)

    assert isinstance(page, Form)
    assert "start → end" in words(page.view)
    assert bool(buttons(page.view, "run:form")) is may_run


async def test_home_has_one_block_for_each_run_workflow_and_agent(harness: Harness) -> None:
    harness.service.workflows = many(3)
    harness.service.agents = [SUPPORT | {"id": number, "description": "Helps."} for number in range(2)]
    await harness.type_command("/workflows run 1 x")
    await harness.work()
    view = await home_of(harness)

    rows = [block for block in view["blocks"] if "accessory" in block]
    assert [block["block_id"] for block in rows] == [
        "recent:0", "agent:0", "agent:1", "workflow:0", "workflow:1", "workflow:2"
    ]  # fmt: skip
    assert [len(block["fields"]) for block in view["blocks"] if "fields" in block] == [4, 2]
    assert len(view["blocks"]) < 25


async def test_chat_opens_a_form_for_that_agent(harness: Harness) -> None:
    view = await home_of(harness)
    (block,) = [block["block_id"] for block in view["blocks"] if "'7'" in str(block) and "ask:form" in str(block)]
    await pressed(harness, "ask:form", block)

    (form,) = harness.seen.forms
    fields = {block["block_id"]: block["element"] for block in form["blocks"]}
    assert fields["where"]["initial_conversation"] == DM_ALICE
    assert fields["agent"]["initial_option"]["value"] == "7"
