"""The Home tab: what it shows to whom, page by page, and when it is drawn anew."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from bridge.errors import SlackRefused, SlackUnreachable
from bridge.features.home.layout import AGENTS_A_PAGE, NEXT_WORKFLOWS, WORKFLOWS_A_PAGE, Home, Spot, home_view
from bridge.ids import TurnId
from bridge.inbound import Click, HomeOpened, Inbound, SlashCommand
from bridge.playground.emulator.limits import check_view
from bridge.project.models import Agent, Workflow
from bridge.queue.inbox import Condition, Queued
from support.store import CHANNEL, ROOT, TEAM, USER, message
from support.turns import SUPPORT, WORKFLOW, Bench, a_bench

DIRECT = "D1"
OPENED = HomeOpened(team=TEAM, channel=DIRECT, user=USER, view_hash="h1")


async def queue(bench: Bench, inbound: Inbound, event: str) -> TurnId:
    put = await bench.store.process().inbox.put(inbound, event=event)
    assert isinstance(put, Queued)
    return put.turn


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


async def test_it_shows_the_project_its_numbers_workflows_and_agents(redis: Redis) -> None:
    async with a_bench(redis) as bench:
        view = await home_of(bench)

        assert "4,321" in words(view)
        assert buttons(view, "run:form")
        assert buttons(view, "workflow:details")[0]["value"] == "3"
        assert [button["value"] for button in buttons(view, "ask:form")] == ["", "7"]
        assert "Everything works" in words(view)
        assert bench.say.homes[-1][2] == "h1"


async def test_the_service_is_asked_once_for_what_was_drawn_twice(redis: Redis) -> None:
    async with a_bench(redis) as bench:
        await home_of(bench)
        asked = bench.service.requests
        await home_of(bench, event="again")

        assert asked == 4
        assert bench.say.homes[1][1] == bench.say.homes[0][1]


async def test_what_the_service_does_not_tell_is_left_out_and_said(redis: Redis) -> None:
    async with a_bench(redis) as bench:
        bench.service.always = httpx.Response(401)

        view = await home_of(bench)

        assert "does not tell everything" in words(view)
        assert not buttons(view, "workflow:details")


async def test_hundreds_of_workflows_come_in_pages(redis: Redis) -> None:
    async with a_bench(redis) as bench:
        bench.service.workflows = many(300)
        first = await home_of(bench)
        second = await home_of(bench, pressed(first, NEXT_WORKFLOWS), "next")

        assert len(first["blocks"]) <= 100
        assert "flow 000" in words(first)
        assert f"flow {WORKFLOWS_A_PAGE:03d}" in words(second)
        assert bench.say.homes[-1][2] == "h2"
        assert buttons(second, "home:workflows:previous")


async def test_it_opens_again_where_its_person_was(redis: Redis) -> None:
    async with a_bench(redis) as bench:
        bench.service.workflows = many(100)
        first = await home_of(bench)
        await home_of(bench, pressed(first, NEXT_WORKFLOWS), "next")

        again = await home_of(bench, event="again")

        assert Spot.parse(again["private_metadata"]) == Spot(channel=DIRECT, workflows=1)


@pytest.mark.parametrize("size", [0, 1, 12, 13, 1000])
@pytest.mark.parametrize("page", [-5, 0, 3, 10**9])
def test_every_page_that_can_be_asked_for_keeps_slacks_limits(size: int, page: int) -> None:
    workflows = [Workflow.model_validate(one | {"description": "x" * 3000}) for one in many(size)]
    agents = [Agent.model_validate(SUPPORT | {"id": number, "name": "<!here> " * 40}) for number in range(size)]

    view = home_view(Home(None, None, workflows, agents), Spot(workflows=page, agents=page), "1.0")

    check_view(view)
    shown = [block for block in view["blocks"] if str(block.get("block_id", "")).startswith("workflow:")]
    assert len(shown) <= WORKFLOWS_A_PAGE
    assert bool(shown) == bool(size)
    assert len(buttons(view, "ask:form")) <= 1 + AGENTS_A_PAGE


async def test_a_run_appears_with_its_outcome_and_home_is_drawn_anew(redis: Redis) -> None:
    async with a_bench(redis) as bench:
        await home_of(bench)
        await queue(
            bench, SlashCommand(team=TEAM, channel=CHANNEL, user=USER, command="/workflows", text="run 3 x"), "r"
        )
        await bench.work()

        assert len(bench.say.homes) == 2, "nobody had to open it"
        _, view, view_hash = bench.say.homes[-1]
        assert " · completed · " in words(view)
        assert '"url": "https://acme.slack.com/archives/C1/p1700001000000000"' in words(view)
        assert view_hash == ""


async def test_a_conversation_appears_once_however_long_it_gets(redis: Redis) -> None:
    async with a_bench(redis) as bench:
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


async def test_what_one_person_does_is_not_shown_to_another(redis: Redis) -> None:
    async with a_bench(redis) as bench:
        await queue(
            bench, SlashCommand(team=TEAM, channel=CHANNEL, user="U2", command="/workflows", text="run 3 x"), "r"
        )
        await bench.work()

        assert "Your last runs" not in words(await home_of(bench))


async def test_who_never_opened_it_is_not_drawn_one(redis: Redis) -> None:
    async with a_bench(redis) as bench:
        await queue(
            bench, SlashCommand(team=TEAM, channel=CHANNEL, user=USER, command="/workflows", text="run 3 x"), "r"
        )
        await bench.work()

        assert bench.say.homes == []


async def test_a_report_of_ones_own_is_deleted_there(redis: Redis) -> None:
    async with a_bench(redis) as bench:
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


async def test_only_the_last_ten_runs_are_kept(redis: Redis) -> None:
    async with a_bench(redis) as bench:
        for number in range(13):
            command = SlashCommand(team=TEAM, channel=CHANNEL, user=USER, command="/workflows", text=f"run 3 {number}")
            await queue(bench, command, f"r{number}")
        await bench.work()

        assert await redis.llen(f"{{test}}:recent:r:{TEAM}:{USER}") == 10
        assert not await bench.store.holds_words("run 3")


async def test_who_may_not_is_told_so_there(redis: Redis) -> None:
    async with a_bench(redis) as bench:
        view = await home_of(bench, OPENED.model_copy(update={"refusal": "stranger"}))

        assert len(view["blocks"]) == 1
        assert bench.service.requests == 0
        assert bench.say.whispers == []


async def test_who_may_not_run_sees_no_button_for_it(redis: Redis) -> None:
    async with a_bench(redis, runners=frozenset({"U9"})) as bench:
        view = await home_of(bench)

        assert not buttons(view, "run:form")
        assert buttons(view, "workflow:details")


@pytest.mark.parametrize(
    "trouble", [SlackRefused("views.publish", "hash_conflict"), SlackUnreachable("views.publish", "ratelimited")]
)
async def test_a_tab_that_slack_does_not_take_now_is_left(redis: Redis, trouble: Exception) -> None:
    async with a_bench(redis) as bench:
        bench.say.home_troubles = [trouble]  # type: ignore[list-item]
        await queue(bench, OPENED, "open")
        await bench.work()

        assert bench.say.homes == []
        assert bench.say.whispers == []
        assert "Everything works" in words(await home_of(bench, event="later"))


async def test_details_are_a_page_with_a_button_to_run(redis: Redis) -> None:
    async with a_bench(redis) as bench:
        view = await home_of(bench)
        bench.service.details = {"nodes": [{"id": 1, "type": "start"}, {"id": 2, "type": "end"}], "edges": [[1, 2]]}
        await queue(bench, pressed(view, "workflow:details"), "details")
        await bench.work()

        ((_, page),) = bench.say.forms
        check_view(page)
        assert "start → end" in words(page)
        assert buttons(page, "run:form")


async def test_chat_begins_a_conversation_in_the_direct_message(redis: Redis) -> None:
    async with a_bench(redis) as bench:
        view = await home_of(bench)
        chat = pressed(view, "ask:form").model_copy(update={"value": "7"})
        await queue(bench, chat, "chat")
        await bench.work()

        ((_, form),) = bench.say.forms
        check_view(form)
        where = next(block for block in form["blocks"] if block["block_id"] == "where")
        assert where["element"]["initial_conversation"] == DIRECT
        assert (
            next(block for block in form["blocks"] if block["block_id"] == "agent")["element"]["initial_option"][
                "value"
            ]
            == "7"
        )
