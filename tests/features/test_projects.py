"""Several projects in one workspace. Their agents, workflows and sessions have the same IDs and names."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest

from bridge.cli.trace import steps_of
from bridge.ends.notices import SLIP_COMMAND, SLIP_PROJECT, SLIP_TEXT
from bridge.engine.projects import CHOOSE, OF_DIRECT
from bridge.features.alerts.evaluating import evaluate_all
from bridge.features.buttons import OPEN_DEFAULT, RUN_FORM
from bridge.features.conversations import menu
from bridge.features.conversations.layout import CONTINUE
from bridge.features.statistics.commands import take_snapshot
from bridge.features.workflows import run_card
from bridge.ids import MessageKey
from bridge.playground.emulator.sample import ALICE, BOB, DM_ALICE, GENERAL, RANDOM, TEAM
from bridge.queue.finished_turns import finished_turns_since
from bridge.queue.trace import trace_of
from support.harness import POST, SALES, SUPPORT, WORKFLOW, Harness, Service, kill_task
from support.store import START
from support.waiting import wait_until

MENTION = "<@U0BRIDGE>"


@pytest.fixture
def orders(harness: Harness) -> Service:
    """The service of another project, which has #random."""
    harness.serve("orders", orders=RANDOM)
    return harness.others["orders"]


async def say(harness: Harness, text: str, channel: str, root: str = "", user: str = ALICE) -> str:
    """Post a message, and have it answered; returns its ``ts``."""
    ts = await harness.slack.people.say(user, channel, text, thread_ts=root)
    await harness.slack.settled()
    await harness.work()
    return ts


async def command(harness: Harness, line: str, channel: str = GENERAL, user: str = ALICE) -> None:
    await harness.type_command(line, user, channel)


def shown(harness: Harness) -> str:
    """What the newest message of the bot says, as JSON."""
    newest = max((*harness.seen.messages, *harness.seen.ephemerals), key=lambda one: one.ts)
    return json.dumps([newest.text, newest.blocks], ensure_ascii=False)


def asked(service: Service) -> list[tuple[str, Any]]:
    return [(body["message"], body.get("sessionId")) for body in service.asked]


async def test_a_channels_project_answers_there_in_its_own_session(harness: Harness, orders: Service) -> None:
    here = await say(harness, f"{MENTION} one", GENERAL)
    there = await say(harness, f"{MENTION} two", RANDOM)
    await say(harness, "three", RANDOM, there)
    await say(harness, "four", GENERAL, here)

    assert asked(harness.service) == [("one", None), ("four", 42)]
    assert asked(orders) == [("two", None), ("three", 42)]
    payloads = [one.message.metadata["event_payload"] for one in harness.seen.messages if one.message.metadata]
    assert [one.get("project") for one in payloads] == [None, "orders", "orders", None]


async def test_a_project_named_first_answers_whatever_the_channel(harness: Harness, orders: Service) -> None:
    root = await say(harness, f"{MENTION} @Orders Support: hello", GENERAL)
    await say(harness, "and then?", GENERAL, root)

    assert asked(orders) == [("hello", None), ("and then?", 42)]
    assert harness.service.asked == []


async def test_a_thread_keeps_its_project(harness: Harness, orders: Service) -> None:
    root = await say(harness, f"{MENTION} hello", RANDOM)
    harness.serve("orders", orders=GENERAL)  # the operator moves its channel
    await say(harness, "again", RANDOM, root)
    await say(harness, f"{MENTION} @default once more", RANDOM, root)

    assert asked(orders) == [("hello", None), ("again", 42)]
    assert harness.service.asked == []
    assert "This thread is about Orders." in shown(harness)


async def test_a_command_without_a_project_asks_for_it_and_does_the_rest(harness: Harness, orders: Service) -> None:
    await command(harness, "/workflows run 3 hello")
    assert "Which project is this about?" in shown(harness)
    await harness.press(CHOOSE, options_of(shown(harness))["Orders"])

    assert (orders.runs, harness.service.runs) == (["hello"], [])


@pytest.mark.usefixtures("orders")
async def test_an_unknown_project_is_refused_with_a_suggestion(harness: Harness) -> None:
    await command(harness, "/workflows @ordres run 3 hello")

    assert "No project “ordres”. Did you mean" in shown(harness)
    assert harness.service.runs == []


@pytest.mark.parametrize("text", [f"{MENTION} @ordres Support: hello", f"{MENTION} @Oders: Support: hello"])
async def test_a_misspelled_project_is_asked_about_before_anything_is_sent(
    harness: Harness, orders: Service, text: str
) -> None:
    root = await say(harness, text, GENERAL)
    assert "Did you mean @orders? Nothing was sent to the agent." in shown(harness)
    assert orders.asked == harness.service.asked == []
    await harness.press(SLIP_PROJECT)
    await say(harness, "and then?", GENERAL, root)

    assert asked(orders) == [("hello", None), ("and then?", 42)]
    assert harness.service.asked == []


async def test_a_misspelled_project_may_be_sent_as_text(harness: Harness, orders: Service) -> None:
    await say(harness, f"{MENTION} @ordres hello", GENERAL)
    await harness.press(SLIP_TEXT)

    assert asked(harness.service) == [("@ordres hello", None)]
    assert orders.asked == []


async def test_a_misspelled_project_in_a_direct_message_is_the_last_one_once_chosen(
    harness: Harness, orders: Service
) -> None:
    await say(harness, "@ordres one", DM_ALICE)
    await harness.press(SLIP_PROJECT)
    await say(harness, "two", DM_ALICE)

    assert asked(orders) == [("one", None), ("two", None)]
    assert harness.service.asked == []


async def test_a_misspelled_project_in_a_reply_is_asked_about(harness: Harness, orders: Service) -> None:
    root = await say(harness, f"{MENTION} hello", RANDOM)
    await say(harness, "@ordres go on", RANDOM, root)
    assert "Did you mean @orders?" in shown(harness)
    await harness.press(SLIP_PROJECT)

    assert asked(orders) == [("hello", None), ("go on", 42)]


@pytest.mark.usefixtures("orders")
async def test_a_reply_for_others_is_not_asked_about(harness: Harness) -> None:
    root = await say(harness, f"{MENTION} hello", GENERAL)
    await say(harness, "what do you think?", GENERAL, root, user=BOB)
    told = len(harness.seen.ephemerals)
    await say(harness, "@defualt team, look at this", GENERAL, root, user=BOB)

    assert not any("Did you mean" in one.text for one in harness.seen.ephemerals[told:])
    assert asked(harness.service) == [("hello", None)]


@pytest.mark.parametrize("line", ["@ordres !workflows run 3 hello", "!workflows @ordres run 3 hello"])
async def test_a_command_after_a_misspelled_project_is_refused(harness: Harness, orders: Service, line: str) -> None:
    await say(harness, f"{MENTION} {line}", GENERAL)

    assert "No project “ordres”. Did you mean" in shown(harness)
    assert harness.service.runs == orders.runs == []


async def test_with_one_project_any_first_word_is_text(harness: Harness) -> None:
    await say(harness, f"{MENTION} @defualt hello", GENERAL)

    assert asked(harness.service) == [("@defualt hello", None)]


async def test_buttons_belong_to_the_project_of_their_message(harness: Harness, orders: Service) -> None:
    await command(harness, "/workflows run 3 hello", RANDOM)
    await harness.press(run_card.AGAIN)
    await command(harness, "/workflows @default run 3 other")
    await harness.press(run_card.AGAIN)

    assert (orders.runs, harness.service.runs) == (["hello"] * 2, ["other"] * 2)


async def test_a_menu_of_agents_offers_those_of_the_threads_project(harness: Harness, orders: Service) -> None:
    orders.agents = [{**SUPPORT, "name": "Buyer"}, {**SALES, "name": "Seller"}]
    harness.service.agents = [SUPPORT, SALES]
    await say(harness, f"{MENTION} hello", RANDOM)
    assert "Buyer" in shown(harness)
    assert "Support" not in shown(harness)
    await harness.press(menu.CHOOSE, "8")

    assert [body["agent"] for body in orders.asked] == [8]
    assert harness.service.asked == []


async def test_a_lost_session_is_found_again_for_its_project(harness: Harness, orders: Service) -> None:
    root = await say(harness, f"{MENTION} @orders hello", GENERAL)
    await harness.store.redis.flushall()
    await harness.store.namespace.hold()
    await say(harness, f"{MENTION} and then?", GENERAL, root)

    assert [session for _, session in asked(orders)] == [None, 42]
    assert harness.service.asked == []


async def test_direct_messages_go_to_the_persons_last_project(harness: Harness, orders: Service) -> None:
    await say(harness, "one", DM_ALICE)
    await say(harness, "@orders two", DM_ALICE)
    await say(harness, "three", DM_ALICE)
    await command(harness, "/workflows run 3 x", DM_ALICE)

    assert [text for text, _ in asked(harness.service)] == ["one"]
    assert [text for text, _ in asked(orders)] == ["two", "three"]
    assert (orders.runs, harness.service.runs) == (["x"], [])


async def test_remembered_inputs_are_each_projects_own(harness: Harness, orders: Service) -> None:
    for project, text in (("orders", "theirs"), ("default", "ours")):
        await command(harness, f"/workflows @{project} run 3")
        view = harness.slack.views(ALICE)[-1]
        values = {
            "workflow": {"text": {"type": "plain_text", "text": "Import"}, "value": "3"},
            "input": text,
            "kind": "text",
            "remember": ["yes"],
        }
        await harness.slack.ui.submit(view.id, values, ALICE)
        await harness.work()
    await command(harness, "/workflows @orders run 3")

    assert "theirs" in json.dumps(harness.seen.forms[-1])
    assert (orders.runs, harness.service.runs) == (["theirs"], ["ours"])


async def test_a_persons_limits_are_each_projects_own(harness: Harness) -> None:
    harness.environ |= {"BRIDGE_USER_TURNS_PER_MINUTE": "2", "BRIDGE_USER_RUNS_PER_HOUR": "1"}
    harness.serve("orders", orders=RANDOM)
    orders = harness.others["orders"]
    theirs = await say(harness, f"{MENTION} @orders one", GENERAL)
    await say(harness, "two", GENERAL, theirs)
    await say(harness, "too many", GENERAL, theirs)
    for number in ("one", "two", "too many"):
        await say(harness, f"{MENTION} {number}", GENERAL)
        await command(harness, f"/workflows @orders run 3 {number}")
        await command(harness, f"/workflows @default run 3 {number}")

    assert asked(orders) == [("one", None), ("two", 42)]
    assert [text for text, _ in asked(harness.service)] == ["one", "two"]
    assert (orders.runs, harness.service.runs) == (["one"], ["one"])


async def test_a_removed_project_is_named_and_works_again_once_put_back(harness: Harness, orders: Service) -> None:
    root = await say(harness, f"{MENTION} hello", RANDOM)
    harness.serve()
    await say(harness, "lost", RANDOM, root)
    assert "no longer connected to the project" in shown(harness)
    assert harness.service.asked == []

    harness.serve("orders", orders=RANDOM)
    await say(harness, "back", RANDOM, root)

    assert [(text, session) for text, session in asked(orders)][-1] == ("back", 42)


async def test_the_outage_of_one_project_holds_up_no_other(harness: Harness, orders: Service) -> None:
    orders.always = httpx.Response(503)
    await harness.slack.people.say(ALICE, RANDOM, f"{MENTION} waits")
    await harness.slack.settled()
    waiting = await harness.start_next()
    await say(harness, f"{MENTION} hello", GENERAL, user=BOB)
    assert asked(harness.service) == [("hello", None)]

    orders.always = None
    await waiting

    assert asked(orders) == [("waits", None)]


async def test_all_records_of_a_bridge_without_the_file_count_with_it_and_back(harness: Harness) -> None:
    service, others = harness.service, harness.others
    service.agents = [SUPPORT, SALES]
    # Without the file
    root = await say(harness, f"{MENTION} Support: before", GENERAL)
    await command(harness, "/agents default Sales")
    await command(harness, "/workflows run 3 x")
    await command(harness, "/stats report every day at 9")
    await command(harness, "/stats alert runs > 5000")
    await harness.press("alert:save")
    await harness.slack.people.say(ALICE, GENERAL, "queued", thread_ts=root)
    await harness.slack.settled()
    stored = {key.partition(":")[0] for key in await harness.store.redis.keys()}

    # With it
    harness.serve("orders", orders=RANDOM)
    others["orders"].agents = [SUPPORT, SALES]
    await harness.work()
    await say(harness, f"{MENTION} with the file", GENERAL)
    await harness.press(run_card.AGAIN)
    service.stats["runCount"] = 5001
    await next_day(harness)
    await evaluate_all(harness.parts().turns.deps)  # type: ignore[arg-type] # as features see it
    await harness.work()
    theirs = await say(harness, f"{MENTION} Support: theirs", RANDOM)
    await command(harness, "/stats report every day at 9", RANDOM)
    kinds = [one.tag.kind for one in harness.seen.messages]
    assert [(body["message"], body["agent"], body.get("sessionId")) for body in service.asked] == [
        ("before", 7, None), ("queued", 7, 42), ("with the file", 8, None),
    ]  # fmt: skip
    assert service.runs == ["x", "x"]
    assert (kinds.count("bridge_report"), kinds.count("bridge_alert")) == (1, 1)
    assert asked(others["orders"]) == [("theirs", None)]

    # And back
    harness.serve()
    await say(harness, "without", GENERAL, root)
    await say(harness, "lost", RANDOM, theirs)
    service.stats["runCount"] = 1
    await next_day(harness)
    await evaluate_all(harness.parts().turns.deps)  # type: ignore[arg-type] # as features see it
    await harness.work()

    assert [(body["message"], body["agent"]) for body in service.asked[3:]] == [("without", 7)]
    posted = [one for one in harness.seen.messages if one.tag.kind in {"bridge_report", "bridge_alert"}]
    assert [one.tag.kind for one in posted if not one.place.thread_ts].count("bridge_report") == 2
    assert "Recovered" in next(one.text for one in posted if one.place.thread_ts and one.tag.kind == "bridge_alert")
    assert asked(others["orders"]) == [("theirs", None)]
    assert {key.partition(":")[0] for key in await harness.store.redis.keys()} >= stored


async def test_projects_are_listed_and_shown(harness: Harness, orders: Service) -> None:
    await command(harness, "/project")
    assert "Projects\\n• default · @default\\n• Orders" in shown(harness)
    await command(harness, "/project orders")

    assert "@orders" in shown(harness)
    assert orders.paths == ["project"]


async def test_names_of_projects_are_shown(harness: Harness, orders: Service) -> None:
    orders.details = WORKFLOW
    for line, title in (
        ("/workflows list", "Workflows · Orders"),
        ("/agents list", "Agents · Orders"),
        ("/stats", "Statistics · Orders"),
        ("/workflows show 3", "Orders"),
        ("/workflows run 3 x", " · Orders · run 5 · "),
    ):
        await command(harness, line, RANDOM)
        assert title in shown(harness), line
    await say(harness, f"{MENTION} hello", RANDOM)

    assert "Orders" in shown(harness)
    assert harness.service.requests == 0
    assert orders.runs == ["x"]


async def test_a_channels_project_is_set_with_its_own_agents(harness: Harness, orders: Service) -> None:
    orders.agents = harness.service.agents = [SUPPORT, SALES]
    await command(harness, "/agents @default default Sales")
    await command(harness, "/agents @orders default Sales")
    assert "This channel's project is default" in shown(harness)
    await command(harness, "/agents channel project Orders")
    await say(harness, f"{MENTION} Support: hello", GENERAL)
    await say(harness, f"{MENTION} hello", GENERAL)
    assert "Which agent should answer here?" in shown(harness)
    await command(harness, "/agents default Sales")
    await say(harness, f"{MENTION} again", GENERAL)

    assert [(body["message"], body["agent"]) for body in orders.asked] == [("hello", 7), ("again", 8)]
    assert harness.service.asked == []


async def test_each_project_has_its_own_default_agent_and_links(harness: Harness, orders: Service) -> None:
    harness.environ |= {"BRIDGE_DEFAULT_AGENT": "8", "BRIDGE_AGENT_URL": "https://ours.example/{id}"}
    harness.serve("orders", orders=RANDOM)
    orders.agents = harness.service.agents = [SUPPORT, SALES]
    orders.details = harness.service.details = WORKFLOW
    assert harness.served is not None
    own = {name: f"https://theirs.example/{name}/{{id}}" for name in ("run_url", "workflow_url", "agent_url")}
    default, other = harness.served
    harness.served.replace(default, replace(other, default_agent="Support", **own))
    await say(harness, f"{MENTION} ours", GENERAL)
    await say(harness, f"{MENTION} theirs", RANDOM)

    assert [(body["message"], body["agent"]) for body in orders.asked] == [("theirs", 7)]
    assert [(body["message"], body["agent"]) for body in harness.service.asked] == [("ours", 8)]
    for line, channel, link in (
        ("/agents @default show 7", GENERAL, "https://ours.example/7"),
        ("/agents show 7", RANDOM, "https://theirs.example/agent_url/7"),
        ("/workflows show 3", RANDOM, "https://theirs.example/workflow_url/3"),
        ("/workflows run 3 x", RANDOM, "https://theirs.example/run_url/3"),
    ):
        await command(harness, line, channel)
        assert link in shown(harness), line


async def test_a_channel_of_the_operators_file_keeps_its_project(harness: Harness, orders: Service) -> None:
    await command(harness, "/agents channel project default", RANDOM)

    assert "Your admin has set this channel's project to Orders" in shown(harness)
    assert orders.requests == 0


async def test_home_is_about_the_project_chosen_there(harness: Harness, orders: Service) -> None:
    orders.agents = [{**SUPPORT, "name": "Theirs"}]
    await harness.slack.people.open_home(ALICE)
    await harness.slack.settled()
    await harness.work()
    home = harness.slack.home(ALICE)
    assert home is not None
    await harness.slack.ui.choose(ALICE, home, OF_DIRECT, "orders")
    await harness.work()
    assert "Theirs" in json.dumps(harness.seen.homes[-1])
    await say(harness, "hello", DM_ALICE)

    assert asked(orders) == [("hello", None)]
    assert harness.service.asked == []


async def test_a_report_waits_for_its_project_to_come_back(harness: Harness, orders: Service) -> None:
    orders.stats = {**orders.stats, "runCount": 77}
    await command(harness, "/stats report every day at 9", RANDOM)
    harness.serve()
    await next_day(harness)
    await next_day(harness)
    (notice,) = [one for one in harness.seen.messages if "no longer connected to its project" in one.text]
    assert notice.place.channel == DM_ALICE
    await command(harness, "/stats reports", RANDOM)
    assert "no longer connected to its project" in shown(harness)
    harness.serve("orders", orders=RANDOM)
    await next_day(harness)

    assert "77" in shown(harness)
    assert "Statistics · Orders" in shown(harness)


@pytest.mark.parametrize(
    ("steps", "resume", "cannot"),
    [
        (("/stats report every day at 9", "/stats reports"), "report:resume", "This report can't be posted"),
        (("/stats report every day at 9", "/stats reports"), "report:now", "This report can't be posted"),
        (('/agents ask Support daily 9:00 "Hi?"', "/schedules"), "report:resume", "This question can't be asked"),
        (('/workflows schedule Import daily 9:00 {"a": 1}', "/schedules"), "report:now", "This run can't be started"),
        (("/stats alert runs > 9000", "/stats alerts"), "alert:resume", "This alert can't be resumed"),
    ],
)
async def test_what_is_of_a_removed_project_says_why_it_cannot_be_resumed(
    harness: Harness, orders: Service, steps: tuple[str, str], resume: str, cannot: str
) -> None:
    set_up, listed = steps
    await command(harness, set_up, RANDOM)
    if "alert" in set_up:
        await harness.press("alert:save")
    before = orders.requests
    harness.serve()
    await command(harness, listed, RANDOM)
    assert "Paused: I'm no longer connected to its project" in shown(harness)
    await harness.press(resume)

    assert f"{cannot}: I'm no longer connected to its project. It continues once your admin" in shown(harness)
    assert (orders.requests, orders.runs) == (before, [])


async def test_an_alert_waits_for_its_project_to_come_back(harness: Harness, orders: Service) -> None:
    await command(harness, "/stats alert runs > 9000", RANDOM)
    await harness.press("alert:save")
    orders.stats["runCount"] = 9001

    async def next_minute() -> None:
        harness.store.clock.time += timedelta(minutes=1)
        await evaluate_all(harness.parts().turns.deps)  # type: ignore[arg-type] # as features see it
        await harness.work()

    async def told() -> int:
        return sum("no longer connected to its project" in one.text for one in harness.seen.messages)

    harness.serve("sales")
    for _ in range(3):
        await next_minute()
    assert await told() == 1
    assert not any(one.tag.kind == "bridge_alert" for one in harness.seen.messages)
    harness.serve("orders", orders=RANDOM)
    await next_minute()
    (post,) = [one for one in harness.seen.messages if one.tag.kind == "bridge_alert"]
    assert "Orders" in json.dumps(post.blocks)
    await command(harness, "/stats alerts", RANDOM)
    assert "Orders" in shown(harness)
    harness.serve("sales")
    harness.store.clock.time += timedelta(days=1)
    await next_minute()

    assert await told() == 2


async def next_day(harness: Harness) -> None:
    """Let a day pass, and post what's due."""
    await harness.at(harness.store.clock.time + timedelta(days=1))


async def test_a_slow_project_leaves_slots_to_the_others(harness: Harness, orders: Service) -> None:
    orders.gate.clear()
    worker = asyncio.create_task(harness.worker().run(harness.parts().turns.work))
    for number in range(15):  # there are ten slots
        await harness.slack.people.say(ALICE, RANDOM, f"{MENTION} slow {number}")
    await wait_until(lambda: orders.in_flight == 8, "the slow project has used up its share")
    for number in range(3):
        await harness.slack.people.say(BOB, GENERAL, f"{MENTION} quick {number}")
    await wait_until(lambda: len(harness.service.asked) == 3, "the other project has answered")
    assert orders.in_flight == 8

    orders.gate.set()
    await wait_until(lambda: len(orders.asked) == 15, "all are answered")
    harness.draining.set()
    await worker


async def test_a_slow_projects_statistics_hold_up_no_other(harness: Harness, orders: Service) -> None:
    deps: Any = harness.parts().turns.deps
    harness.serve("sales", "orders", orders=RANDOM)  # those after the slow one count, too
    harness.others["sales"].read_gate.clear()
    job = asyncio.create_task(take_snapshot(deps))

    async def are_recorded() -> bool:
        stores = [deps.statistics(one).store for one in deps.projects if one.id != "sales"]
        return all([(await store.hours())[0] for store in stores])

    await wait_until(are_recorded, "the others are recorded")
    assert not job.done()
    harness.others["sales"].read_gate.set()
    await job

    assert orders.paths == ["stats"]


async def test_a_slow_projects_alerts_hold_up_no_other(harness: Harness, orders: Service) -> None:
    for line, channel in (("/stats alert runs > 9000", RANDOM), ("/stats @default alert runs > 9000", GENERAL)):
        await command(harness, line, channel)
        await harness.press("alert:save")
    orders.read_gate.clear()
    harness.service.stats["runCount"] = orders.stats["runCount"] = 9001
    deps: Any = harness.parts().turns.deps
    job = asyncio.create_task(evaluate_all(deps))

    async def is_posted() -> bool:
        await harness.work()
        return any(one.tag.kind == "bridge_alert" for one in harness.seen.messages)

    await wait_until(is_posted, "the other project's alert is posted")
    assert not job.done()
    orders.read_gate.set()
    await job


async def test_a_slow_project_holds_up_no_list_of_schedules(harness: Harness, orders: Service) -> None:
    await command(harness, '/agents ask Support every day at 9 "What is new?"', RANDOM)
    await command(harness, '/agents @default ask Support every day at 9 "What is new?"', GENERAL)
    harness.monotonic += 60  # the catalogs' lists are too old
    orders.read_gate.clear()
    await command(harness, "/schedules", GENERAL)

    assert shown(harness).casefold().count("ask support") == 4, "in the list, and in the dialogs that delete them"


async def test_records_for_operators_name_the_project(harness: Harness, orders: Service) -> None:
    harness.configure(BRIDGE_AUDIT_DAYS="7")
    scripts = harness.store.scripts
    asked_at = await say(harness, f"{MENTION} hello", RANDOM)
    await say(harness, f"{MENTION} hello", GENERAL)
    entries = [entry async for entry in finished_turns_since(scripts, START)]
    found = await trace_of(scripts, MessageKey(TEAM, RANDOM, asked_at))

    assert [entry.project for entry in entries if entry.did == "message"] == ["orders", ""]
    assert [turn.project for turn in found.turns] == ["orders"]
    assert any("to the project orders" in step.detail for step in steps_of(found))
    assert orders.requests > 0
    exposition = harness.metrics.exposition().decode()
    calls = 'bridge_upstream_seconds_count{operation="send_message",outcome="ok"'
    assert f"{calls}}} 1.0" in exposition
    assert f'{calls},project="orders"}} 1.0' in exposition


async def test_menus_of_a_form_and_of_a_message_have_the_projects_options(harness: Harness, orders: Service) -> None:
    orders.workflows = [{**WORKFLOW, "name": "Theirs"}]
    orders.agents = [{**SUPPORT, "id": number, "name": f"Agent {number}"} for number in range(1, 150)]
    root = await harness.slack.people.say(BOB, RANDOM, "a message")
    await harness.slack.settled()
    await harness.slack.ui.message_shortcut(ALICE, RANDOM, root, "run_with")
    await harness.work()
    form = harness.slack.views(ALICE)[-1]
    in_form = await harness.slack.ui.suggestions(ALICE, form, "workflow", "")
    await say(harness, f"{MENTION} hello", RANDOM)
    menu_of_agents = harness.seen.messages[-1].message
    in_message = await harness.slack.ui.suggestions(ALICE, menu_of_agents, menu.CHOOSE, "149")

    assert [one["text"]["text"] for one in in_form] == ["Theirs"]
    assert [one["text"]["text"] for one in in_message] == ["Agent 149"]
    assert "agents" not in harness.service.paths


async def test_a_conversation_started_by_a_command_keeps_its_project(harness: Harness, orders: Service) -> None:
    await command(harness, "/agents @orders chat Support hello")
    await harness.work()
    root = next(one.ts for one in harness.seen.messages if one.tag.kind == "bridge_root")
    await say(harness, "and then?", GENERAL, root)

    assert asked(orders) == [("hello", None), ("and then?", 42)]
    assert harness.service.asked == []


async def test_a_session_is_resumed_only_in_its_project(harness: Harness, orders: Service) -> None:
    await say(harness, f"{MENTION} @orders ours", GENERAL)
    other = await say(harness, f"{MENTION} @default theirs", GENERAL)
    await say(harness, "!new", GENERAL, other)
    await say(harness, "!session 42", GENERAL, other)
    await harness.press(CONTINUE)
    await say(harness, "go on", GENERAL, other)

    assert asked(harness.service) == [("theirs", None), ("go on", 42)]
    assert asked(orders) == [("ours", None)]


async def test_an_apps_rule_runs_in_its_channels_project(harness: Harness, orders: Service) -> None:
    await command(harness, "/agents channel project Orders", GENERAL)
    await command(harness, "/agents channel run Import A0OTHERBOT", GENERAL)
    await harness.slack.people.app_posts(GENERAL, "disk full")
    await harness.slack.settled()
    await harness.work()
    await command(harness, "/agents channel project default", GENERAL)
    await harness.slack.people.app_posts(GENERAL, "disk full")
    await harness.slack.settled()
    await harness.work()

    assert (orders.runs, harness.service.runs) == (["disk full"], [])


async def test_an_answer_shown_late_still_names_its_project(harness: Harness, orders: Service) -> None:
    root = await say(harness, f"{MENTION} one", RANDOM)
    orders.gate.clear()
    asking = await harness.slack.people.say(ALICE, RANDOM, "two", thread_ts=root)
    await harness.slack.settled()
    working = await harness.start_next()
    await wait_until(lambda: orders.in_flight == 1, "the agent is asked")
    harness.hang(POST, is_done=True)
    orders.gate.set()
    await kill_after_hang(harness, working)
    await harness.take_over()
    await say(harness, "three", RANDOM, root)

    assert [session for _, session in asked(orders)] == [None, 42, 42]
    assert asking
    payloads = [one.message.metadata["event_payload"] for one in harness.seen.replies() if one.message.metadata]
    assert {one.get("project") for one in payloads} == {"orders"}


async def kill_after_hang(harness: Harness, working: asyncio.Task[None]) -> None:
    """Kill the process while its post hangs."""
    await wait_until(lambda: harness.seen.attempts >= 2, "the answer is being posted")
    await kill_task(working)


async def test_a_button_without_a_project_asks_for_it_and_does_the_rest(harness: Harness, orders: Service) -> None:
    await say(harness, "!help", DM_ALICE)
    await harness.press(RUN_FORM)
    assert "Which project is this about?" in shown(harness)
    await harness.press(CHOOSE, options_of(shown(harness))["Orders"])

    (form,) = harness.seen.forms
    assert json.loads(form["private_metadata"])["project"] == "orders"
    await command(harness, "/workflows run 3 x", DM_ALICE)  # it's the last one now
    assert (orders.runs, harness.service.runs) == (["x"], [])


def options_of(message: str) -> dict[str, str]:
    """Return the values of the projects in the menu that asks for one, by name."""
    menu_shown = json.loads(message)[1][-1]["elements"][0]
    return {one["text"]["text"]: one["value"] for one in menu_shown["options"]}


async def test_buttons_of_a_removed_project_say_so(harness: Harness, orders: Service) -> None:
    await command(harness, "/workflows run 3 hello", RANDOM)
    harness.serve()
    await harness.press(run_card.AGAIN)
    assert "no longer connected to the project" in shown(harness)
    harness.serve("orders")
    await harness.press(run_card.AGAIN)

    assert (orders.runs, harness.service.runs) == (["hello"] * 2, [])


async def test_a_channels_form_opened_in_home_is_about_its_project(harness: Harness, orders: Service) -> None:
    await harness.slack.people.open_home(ALICE)
    await harness.slack.settled()
    await harness.work()
    home = harness.slack.home(ALICE)
    assert home is not None
    await harness.slack.ui.choose(ALICE, home, OPEN_DEFAULT, RANDOM)
    await harness.work()

    assert json.loads(harness.seen.forms[-1]["private_metadata"])["project"] == "orders"
    assert orders.runs == []


@pytest.mark.parametrize(("button", "answered"), [(SLIP_TEXT, [("!stpo", None)]), (SLIP_COMMAND, [])])
async def test_a_misspelled_command_in_a_direct_message_needs_no_project(
    harness: Harness, orders: Service, button: str, answered: list[tuple[str, None]]
) -> None:
    await say(harness, "!stpo", DM_ALICE)
    await harness.press(button)

    assert asked(harness.service) == answered
    assert orders.asked == []
