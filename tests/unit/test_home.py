"""The Home tab: what it shows to whom, page by page, and when it is drawn anew."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from bridge.errors import SlackRefused, SlackUnreachable
from bridge.features.home.layout import AGENTS_A_PAGE, NEXT_WORKFLOWS, WORKFLOWS_A_PAGE, Home, Spot, home_view
from bridge.inbound import Click, HomeOpened, Inbound, SlashCommand
from bridge.playground.emulator.limits import check_view
from bridge.project.models import Agent, Workflow
from bridge.queue.inbox import Condition, Queued
from support.store import CHANNEL, ROOT, TEAM, USER, message
from support.turns import SUPPORT, WORKFLOW, Bench

DIRECT = "D1"
OPENED = HomeOpened(team=TEAM, channel=DIRECT, user=USER, view_hash="h1")


async def queue(bench: Bench, inbound: Inbound, event: str) -> None:
    assert isinstance(await bench.store.process().inbox.put(inbound, event=event), Queued)


async def run(bench: Bench, user: str = USER, event: str = "run") -> None:
    """Let somebody run a workflow."""
    typed = SlashCommand(team=TEAM, channel=CHANNEL, user=user, command="/workflows", text="run 3 x")
    await queue(bench, typed, event)
    await bench.work()


async def home_of(bench: Bench, inbound: Inbound = OPENED, event: str = "open") -> dict[str, Any]:
    """Let something happen that draws Home, and give what was published last."""
    await queue(bench, inbound, event)
    await bench.work()
    user, view, _ = bench.say.homes[-1]
    assert user == USER
    check_view(view)
    return view


def words(view: dict[str, Any]) -> str:
    return json.dumps(view["blocks"], ensure_ascii=False)


def buttons(view: dict[str, Any], action: str) -> list[dict[str, Any]]:
    rows = [block.get("elements", []) for block in view["blocks"] if block["type"] == "actions"]
    rows += [[block["accessory"]] for block in view["blocks"] if "accessory" in block]
    return [element for row in rows for element in row if element["action_id"] == action]


def pressed(view: dict[str, Any], action: str) -> Click:
    """Press the first such button in Home."""
    button = buttons(view, action)[0]
    return Click(
        team=TEAM, channel=Spot.parse(view["private_metadata"]).channel, user=USER, action_id=action,
        value=button["value"], view="home", view_hash="h2", trigger_id="trigger",
    )  # fmt: skip


def many(count: int) -> list[dict[str, Any]]:
    return [WORKFLOW | {"id": number, "name": f"flow {number:03d}"} for number in range(count)]


async def test_home_shows_numbers_workflows_and_agents(bench: Bench) -> None:
    view = await home_of(bench)

    assert "4,321" in words(view)
    assert buttons(view, "run:form")
    assert buttons(view, "workflow:details")[0]["value"] == "3"
    assert [button["value"] for button in buttons(view, "ask:form")] == ["", "7"]
    assert "Everything works" in words(view)
    assert bench.say.homes[-1][2] == "h1"


async def test_home_drawn_twice_asks_the_service_once(bench: Bench) -> None:
    await home_of(bench)
    asked = bench.service.requests
    await home_of(bench, event="again")

    assert asked == 4
    assert bench.say.homes[1][1] == bench.say.homes[0][1]


async def test_home_says_that_the_service_tells_less(bench: Bench) -> None:
    bench.service.always = httpx.Response(401)

    view = await home_of(bench)

    assert "does not tell everything" in words(view)
    assert not buttons(view, "workflow:details")


async def test_workflows_come_in_pages_which_home_remembers(bench: Bench) -> None:
    bench.service.workflows = many(300)
    first = await home_of(bench)
    second = await home_of(bench, pressed(first, NEXT_WORKFLOWS), "next")

    assert len(first["blocks"]) <= 100
    assert "flow 000" in words(first)
    assert f"flow {WORKFLOWS_A_PAGE:03d}" in words(second)
    assert bench.say.homes[-1][2] == "h2"
    assert buttons(second, "home:workflows:previous")
    again = await home_of(bench, event="again")
    assert Spot.parse(again["private_metadata"]) == Spot(channel=DIRECT, workflows=1)


@pytest.mark.parametrize("size", [0, 1, 12, 13, 1000])
@pytest.mark.parametrize("page", [-5, 0, 3, 10**9])
def test_every_page_keeps_slacks_limits(size: int, page: int) -> None:
    workflows = [Workflow.model_validate(one | {"description": "x" * 3000}) for one in many(size)]
    agents = [Agent.model_validate(SUPPORT | {"id": number, "name": "<!here> " * 40}) for number in range(size)]

    view = home_view(Home(None, None, workflows, agents), Spot(workflows=page, agents=page), "1.0")

    check_view(view)
    shown = [block for block in view["blocks"] if str(block.get("block_id", "")).startswith("workflow:")]
    assert len(shown) <= WORKFLOWS_A_PAGE
    assert bool(shown) == bool(size)
    assert len(buttons(view, "ask:form")) <= 1 + AGENTS_A_PAGE


async def test_a_run_redraws_home_with_its_outcome(bench: Bench) -> None:
    await home_of(bench)
    await run(bench)

    assert len(bench.say.homes) == 2, "nobody had to open it"
    _, view, view_hash = bench.say.homes[-1]
    assert " · completed · " in words(view)
    assert '"url": "https://acme.slack.com/archives/C1/p1700001000000000"' in words(view)
    assert view_hash == ""


async def test_a_conversation_appears_once_however_long(bench: Bench) -> None:
    await home_of(bench)
    for number, ts in enumerate((ROOT, f"{ROOT[:-3]}200")):
        said = message("hello", ts, is_mention=True)
        await bench.store.process().inbox.put(
            said, event=f"m{number}", message=said.key, thread=said.thread, condition=Condition.START, agent=7
        )
        await bench.work()

    assert len(bench.say.homes) == 2, "the second answer changes nothing"
    assert words(bench.say.homes[-1][1]).count("https://acme.slack.com/archives/C1/p1700000000000100") == 1
    assert "Your conversations" in words(bench.say.homes[-1][1])


async def test_runs_of_another_person_are_not_shown(bench: Bench) -> None:
    await run(bench, "U2")

    assert "Your last runs" not in words(await home_of(bench))


async def test_home_never_opened_is_not_drawn(bench: Bench) -> None:
    await run(bench)

    assert bench.say.homes == []


async def test_an_own_report_is_deleted_from_home(bench: Bench) -> None:
    typed = SlashCommand(team=TEAM, channel=CHANNEL, user=USER, command="/stats", text="report daily 09:00")
    await bench.store.process().inbox.put(typed)
    await bench.work()
    view = await home_of(bench)
    (delete,) = buttons(view, "report:delete")
    assert {"type": "channel", "channel_id": CHANNEL} in [
        run for block in view["blocks"] if block["type"] == "rich_text"
        for part in block["elements"] for run in part["elements"]
    ]  # fmt: skip
    assert "confirm" in delete

    after = await home_of(bench, pressed(view, "report:delete"), "delete")

    assert "Your reports" not in words(after)
    assert bench.say.whispers[1:] == []


async def test_only_the_last_ten_runs_are_kept(bench: Bench, redis: Redis) -> None:
    for number in range(13):
        await run(bench, event=f"r{number}")

    assert await redis.llen(f"{{test}}:recent:r:{TEAM}:{USER}") == 10
    assert not await bench.store.holds_words("run 3")


async def test_a_refused_person_sees_only_why(bench: Bench) -> None:
    view = await home_of(bench, OPENED.model_copy(update={"refusal": "stranger"}))

    assert len(view["blocks"]) == 1
    assert bench.service.requests == 0
    assert bench.say.whispers == []


async def test_home_of_no_runner_has_no_run_buttons(bench: Bench) -> None:
    bench.runners = frozenset({"U9"})
    view = await home_of(bench)

    assert not buttons(view, "run:form")
    assert buttons(view, "workflow:details")


@pytest.mark.parametrize(
    "trouble", [SlackRefused("views.publish", "hash_conflict"), SlackUnreachable("views.publish", "ratelimited")]
)
async def test_a_tab_that_slack_refuses_is_left(bench: Bench, trouble: Exception) -> None:
    bench.say.home_troubles = [trouble]  # type: ignore[list-item]
    await queue(bench, OPENED, "open")
    await bench.work()

    assert bench.say.homes == []
    assert bench.say.whispers == []
    assert "Everything works" in words(await home_of(bench, event="later"))


async def test_details_open_a_page_with_a_run_button(bench: Bench) -> None:
    view = await home_of(bench)
    bench.service.details = {"nodes": [{"id": 1, "type": "start"}, {"id": 2, "type": "end"}], "edges": [[1, 2]]}
    await queue(bench, pressed(view, "workflow:details"), "details")
    await bench.work()

    ((_, page),) = bench.say.forms
    check_view(page)
    assert "start → end" in words(page)
    assert buttons(page, "run:form")


async def test_chat_opens_a_form_for_that_agent(bench: Bench) -> None:
    view = await home_of(bench)
    chat = pressed(view, "ask:form").model_copy(update={"value": "7"})
    await queue(bench, chat, "chat")
    await bench.work()

    ((_, form),) = bench.say.forms
    check_view(form)
    fields = {block["block_id"]: block["element"] for block in form["blocks"]}
    assert fields["where"]["initial_conversation"] == DIRECT
    assert fields["agent"]["initial_option"]["value"] == "7"
