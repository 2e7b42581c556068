"""The Home tab: what each person sees, and when it is refreshed."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from datetime import timedelta
from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from bridge.engine.home import Need
from bridge.engine.projects import OF_DIRECT
from bridge.engine.results import Modal
from bridge.errors import ProjectError
from bridge.features.alerts.alert import AlertSpec, StoredAlert
from bridge.features.alerts.store import AlertStore
from bridge.features.home.layout import MOST_AGENTS, Home, home_view
from bridge.features.home.recent import RecentActivity, RecentConversation, RecentRun, Unsettled
from bridge.features.reach import look_for_outages
from bridge.features.statistics.snapshots import Snapshot, SnapshotStore, hour_of
from bridge.ids import ThreadKey, TurnId
from bridge.inbound import Click
from bridge.playground.emulator.faults import Error, Fault, RateLimited
from bridge.playground.emulator.limits import check_view
from bridge.playground.emulator.sample import BOB, CAROL, DM_ALICE
from bridge.project.models import Agent
from bridge.queue.inbox import Condition
from bridge.queue.keys import MOST_LOOKERS
from bridge.slack.blockkit import kit
from support.harness import READ, REFUSED, SALES, SUPPORT, Harness
from support.store import CHANNEL, PREFIX, ROOT, START, TEAM, USER, message, ts
from support.tables import each
from support.waiting import wait_until


async def run(harness: Harness, user: str = USER) -> None:
    """Run a workflow."""
    await harness.type_command("/workflows run 3 x", user)


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
    await harness.slack.ui.press(USER, home, action, block_id=block)
    await harness.work()
    return home_now(harness)


def words(view: dict[str, Any]) -> str:
    return json.dumps(view["blocks"], ensure_ascii=False)


def buttons(view: dict[str, Any], action: str) -> list[dict[str, Any]]:
    rows = [block.get("elements", []) for block in view["blocks"] if block["type"] == "actions"]
    rows += [[block["accessory"]] for block in view["blocks"] if "accessory" in block]
    return [element for row in rows for element in row if element["action_id"] == action]


def headers(view: dict[str, Any]) -> list[str]:
    return [block["text"]["text"] for block in view["blocks"] if block["type"] == "header"]


def many(count: int) -> list[dict[str, Any]]:
    return [SUPPORT | {"id": number, "name": f"agent {number:03d}"} for number in range(count)]


async def test_an_empty_home_shows_agents_and_numbers(harness: Harness) -> None:
    view = await home_of(harness)

    assert "📊 4,321 runs · 1 prompt · 3 versions" in words(view)
    assert buttons(view, "run:form")
    assert buttons(view, "workflow:find")
    assert [button["value"] for button in buttons(view, "ask:form")] == ["", "7"]
    assert headers(view) == ["Agents"]
    assert "⚠️" not in words(view)


async def test_home_buttons_have_labels_for_screen_readers(harness: Harness) -> None:
    harness.service.agents = [SUPPORT | {"name": "x" * 100}]

    view = await home_of(harness)

    labels = [button.get("accessibility_label", "") for button in buttons(view, "ask:form")]
    assert [(label[:6], len(label)) for label in labels] == [("", 0), ("Ask… x", 75)]


async def test_home_drawn_twice_asks_the_service_once(harness: Harness) -> None:
    await home_of(harness)
    asked = harness.service.requests
    await home_of(harness)

    assert asked == 2
    assert harness.seen.homes[1]["view"] == harness.seen.homes[0]["view"]


async def test_home_says_that_information_is_unavailable(harness: Harness) -> None:
    harness.service.always = httpx.Response(401)

    view = await home_of(harness)

    assert "The project service is unavailable right now." in words(view)
    assert not buttons(view, "workflow:find")


async def test_home_says_that_the_service_is_down_while_its_lists_are_fresh(harness: Harness) -> None:
    await home_of(harness)
    harness.service.always = REFUSED
    for _ in range(2):
        with suppress(ProjectError):
            await harness.wires.project.get_project()

    view = await home_of(harness)

    assert "The project service is unavailable right now. Messages are queued until it's back." in words(view)
    assert "Support" in words(view)


def published(harness: Harness, user: str) -> int:
    return sum(one["user_id"] == user for one in harness.seen.homes)


async def unreachable(harness: Harness) -> None:
    """Let an outage of the default project's service be noticed."""
    harness.service.always = REFUSED
    for _ in range(2):
        with suppress(ProjectError):
            await harness.wires.project.get_project()
    await look_for_outages(harness.parts().turns.deps)
    await harness.work()


async def test_an_outage_redraws_home_when_it_begins_and_ends(harness: Harness) -> None:
    deps = harness.parts().turns.deps
    await home_of(harness)
    await unreachable(harness)
    await look_for_outages(deps)
    await harness.work()
    assert len(harness.seen.homes) == 2
    assert "The project service is unavailable right now." in words(home_now(harness))

    harness.service.always = None
    harness.monotonic += 60
    await look_for_outages(deps)
    await harness.work()

    assert len(harness.seen.homes) == 3
    assert "unavailable" not in words(home_now(harness))


async def test_an_outage_redraws_the_homes_that_are_open(harness: Harness) -> None:
    await harness.slack.people.open_home(BOB)
    await harness.work()
    harness.store.clock.time += timedelta(minutes=59)
    await home_of(harness)
    harness.store.clock.time += timedelta(minutes=2)  # Bob opened his more than an hour ago

    await unreachable(harness)

    assert [published(harness, user) for user in (USER, BOB, CAROL)] == [2, 1, 0]


async def test_an_outage_redraws_only_homes_of_its_project(harness: Harness) -> None:
    harness.serve("orders", orders=CHANNEL)
    await home_of(harness)
    await harness.slack.people.open_home(BOB)
    await harness.work()
    home = harness.slack.home(BOB)
    assert home is not None
    await harness.slack.ui.choose(BOB, home, OF_DIRECT, "orders")
    await harness.work()
    before = published(harness, BOB)

    await unreachable(harness)

    assert (published(harness, USER), published(harness, BOB)) == (2, before)


async def test_home_shows_the_first_ten_agents(harness: Harness) -> None:
    harness.configure(BRIDGE_COMMAND_PREFIX="acme-")
    harness.service.agents = many(12)
    view = await home_of(harness)
    await harness.type_command("/acme-agents", USER)

    assert [button["value"] for button in buttons(view, "ask:form")] == ["", *map(str, range(MOST_AGENTS))]
    assert "And 2 more: /acme-agents lists them all." in words(view)
    assert "agent 011" in str(harness.seen.ephemerals[-1].blocks)


async def test_a_redraw_still_knows_the_direct_message(harness: Harness) -> None:
    """Buttons in Home belong to it; an earlier release stored the list's page beside it."""
    await home_of(harness)
    await harness.store.redis.set(f"{PREFIX}home:{TEAM}:{USER}", f'{{"channel":"{DM_ALICE}","agents":1}}', ex=60)
    await unreachable(harness)

    assert [json.loads(one["view"]["private_metadata"]) for one in harness.seen.homes] == [{"channel": DM_ALICE}] * 2


HOSTILE = "<!channel> \u202e`*_~ " * 40


@each("size", [0, 1, 10, 11, 1000])
def test_home_keeps_slacks_limits(size: int) -> None:
    agents = [Agent.model_validate(SUPPORT | {"id": number, "name": HOSTILE}) for number in range(size)]
    thread = ThreadKey(TEAM, CHANNEL, ROOT)
    busy = RecentActivity(
        (RecentRun(3, HOSTILE, "failed", START, CHANNEL, ROOT), RecentRun(4, "", HOSTILE, START)) * 5,
        (RecentConversation(thread, 3, START, "choosing"), RecentConversation(thread, None, START)) * 5,
        (
            Unsettled(TurnId("t" * 16), "unknown", START, "", HOSTILE[:60], CHANNEL, ROOT, ROOT),
            Unsettled(TurnId("u" * 16), "given up", START, "/stats", "", CHANNEL),
            Unsettled(TurnId("v" * 16), "running", START, HOSTILE),
        )
        * 7,
    )
    needs = [Need(START, (kit.section(HOSTILE),) * 9)] * 50
    home = Home(agents, None, START, busy, {thread: HOSTILE[:60]}, needs, [[kit.section("x")] * 20] * 9)

    view = home_view(home, DM_ALICE)

    check_view(view)
    assert len(buttons(view, "ask:form")) <= 1 + MOST_AGENTS


async def test_a_run_redraws_home_with_its_outcome(harness: Harness) -> None:
    await home_of(harness)
    await run(harness)

    assert len(harness.seen.homes) == 2, "refreshed without being opened"
    view, (card,) = harness.seen.homes[-1]["view"], harness.seen.replies("bridge_run")
    assert '"Import"' in words(view)
    assert " · completed · " in words(view)
    assert f'"{harness.slack.permalink(CHANNEL, card.ts)}"' in words(view)
    assert "hash" not in harness.seen.homes[-1]


async def test_a_conversation_appears_once_however_long(harness: Harness) -> None:
    await home_of(harness)
    for at in (ROOT, ts(1)):
        await harness.store.queue(message("where is it?", at, is_mention=True), condition=Condition.START, agent=7)
        await harness.work()

    assert len(harness.seen.homes) == 2, "the second result changes nothing"
    assert headers(home_now(harness)) == ["Your threads", "Agents"]
    assert words(home_now(harness)).count(harness.slack.permalink(CHANNEL, ROOT)) == 1
    assert "where is it?" in words(home_now(harness))
    assert " · ✅ answered" in words(home_now(harness))


async def test_an_unreadable_thread_is_linked_without_words(harness: Harness) -> None:
    await harness.store.queue(message("where is it?", ROOT, is_mention=True), condition=Condition.START, agent=7)
    await harness.work()
    harness.slack.faults.on(READ, Error("missing_scope"))

    view = await home_of(harness)

    assert '"text": "a thread"' in words(view)


async def test_a_waiting_menu_is_answered_from_home(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    await home_of(harness)
    await harness.store.queue(message("where is it?", ROOT, is_mention=True), condition=Condition.START)
    await harness.work()
    waiting = home_now(harness)

    home = harness.slack.home(USER)
    assert home is not None
    await harness.slack.ui.choose(USER, home, "home:choose", f"8:{TEAM}:{CHANNEL}:{ROOT}")
    await harness.work()

    assert headers(waiting) == ["Needs you", "Your threads", "Agents"]
    assert "❓ waiting for an agent" in words(waiting)
    assert [body["agent"] for body in harness.service.asked] == [8]
    assert "Sales answers in this thread." in harness.seen.texts, "in place of the menu"
    assert headers(home_now(harness)) == ["Your threads", "Agents"]


async def test_an_unknown_outcome_is_sent_again_from_home(harness: Harness) -> None:
    await home_of(harness)
    harness.service.chats = [httpx.ReadTimeout("slow")]
    await harness.store.queue(message("where is it?", ROOT, is_mention=True), condition=Condition.START, agent=7)
    await harness.work()
    unknown = home_now(harness)

    after = await pressed(harness, "home:again")

    assert headers(unknown) == ["Needs you", "Your threads", "Agents"]
    assert "⚠️ no answer" in words(unknown)
    assert len(harness.service.asked) == 2
    assert headers(after) == ["Your threads", "Agents"]
    assert not any(one.text.startswith("⚠️") for one in harness.seen.messages), "its notice is gone, too"


async def test_an_unknown_outcome_resolved_elsewhere_leaves_home(harness: Harness) -> None:
    await home_of(harness)
    harness.service.chats = [httpx.ReadTimeout("slow")]
    await harness.store.queue(message("where is it?", ROOT, is_mention=True), condition=Condition.START, agent=7)
    await harness.work()

    await harness.press("turn:again", user=BOB)

    assert headers(home_now(harness)) == ["Your threads", "Agents"]


async def test_a_failed_run_needs_its_person_until_it_works(harness: Harness) -> None:
    await home_of(harness)
    harness.service.run_answers = [httpx.Response(400, json={"error": "no"})]
    await run(harness)
    failed = home_now(harness)
    await run(harness)

    assert headers(failed) == ["Needs you", "Agents"]
    assert [json.loads(button["value"]) for button in buttons(failed, "run:form")] == [{}, {"w": 3}]
    assert headers(home_now(harness)) == ["Your runs", "Agents"]


async def test_a_run_is_in_home_while_it_runs(harness: Harness) -> None:
    await home_of(harness)
    harness.service.run_gate.clear()
    await harness.type_command("/workflows run 3 x", works=False)
    async with asyncio.TaskGroup() as group:
        group.create_task(harness.work())
        await wait_until(lambda: bool(harness.service.runs), "the run has begun")
        await harness.work("b")
        running = home_now(harness)
        harness.service.run_gate.set()

    assert " · running since " in words(running)
    assert "running since" not in words(home_now(harness))


async def test_a_schedule_set_up_is_redrawn(harness: Harness) -> None:
    await home_of(harness)
    await harness.type_command("/stats report daily 09:00")

    assert headers(home_now(harness)) == ["Your schedules", "Agents"]


async def test_a_schedule_paused_by_another_is_redrawn(harness: Harness) -> None:
    await harness.type_command("/stats report daily 09:00")
    await home_of(harness)
    await harness.type_command("/schedules", BOB)
    await harness.press("report:pause", user=BOB)

    assert "⏸️ Paused" in words(home_now(harness))


async def test_only_the_last_people_who_opened_home_are_stored(harness: Harness, redis: Redis) -> None:
    people = {f"{TEAM}:U{number}": number for number in range(MOST_LOOKERS)}
    await redis.zadd("{test}:lookers", people)
    await home_of(harness)

    assert await redis.zcard("{test}:lookers") == MOST_LOOKERS
    assert await redis.zrevrange("{test}:lookers", 0, 0) == [f"{TEAM}:{USER}"]
    assert 0 < await redis.ttl("{test}:lookers") <= 3600


async def test_a_redraw_shows_nothing_to_who_lost_access(harness: Harness) -> None:
    await harness.type_command("/stats report daily 09:00")
    await home_of(harness)
    harness.configure(BRIDGE_ALLOWED_USERS=BOB)
    await harness.type_command("/schedules", BOB)
    await harness.press("report:pause", user=BOB)

    assert len(home_now(harness)["blocks"]) == 1
    assert "have access" in words(home_now(harness))


async def test_the_leading_number_has_its_change_and_line(harness: Harness) -> None:
    store = SnapshotStore(harness.store.scripts)
    for hours, runs in ((150, 4000), (100, 4100), (24, 4300), (2, 4320)):
        at = harness.store.clock() - timedelta(hours=hours)
        await store.add(hour_of(at), Snapshot(at, {"runs": runs}, {}))

    view = await home_of(harness)

    assert "4,321 runs (+21, +0.5% since yesterday)" in words(view)
    assert "Runs in the last week ▁▃▇█" in words(view)


async def test_own_alerts_are_in_home(harness: Harness) -> None:
    store = AlertStore(harness.store.scripts)
    for id_, owner in (("mine", USER), ("theirs", BOB)):
        spec = AlertSpec(condition=f"runs < {len(id_)} in 24h", team=TEAM, channel=CHANNEL, owner=owner)
        await harness.parts().turns.deps.inbox.write(*store.add(StoredAlert(id_, spec), harness.store.clock()))

    view = await home_of(harness)

    assert headers(view) == ["Your alerts", "Agents"]
    assert "runs < 4 in 24h" in words(view)
    assert "runs < 6 in 24h" not in words(view)


async def test_an_alerts_buttons_act_in_home(harness: Harness) -> None:
    store = AlertStore(harness.store.scripts)
    for id_, workflow in (("first", None), ("other", 3)):
        spec = AlertSpec(
            condition="runs < 1 in 24h", team=TEAM, channel=CHANNEL, owner=USER, run=workflow, run_name="Import"
        )
        await harness.parts().turns.deps.inbox.write(*store.add(StoredAlert(id_, spec), harness.store.clock()))
    view = await home_of(harness)
    assert words(view).count("· runs Import") == 1, "they're told apart"
    assert words(view).count('then run \\"Import\\".') == 1, "in the dialogs too"
    answers = len(harness.seen.ephemerals)

    assert "Paused" in words(await pressed(harness, "alert:pause", "alert:first"))
    assert "Watching" in words(await pressed(harness, "alert:resume", "alert:first"))
    home = harness.slack.home(USER)
    assert home is not None
    await harness.slack.ui.choose(USER, home, "alert:snooze", "recovers:home:first", block_id="alert:first")
    await harness.work()
    assert "Snoozed until it recovers" in words(home_now(harness))

    await pressed(harness, "alert:edit", "alert:first")
    await harness.slack.ui.submit(harness.slack.views(USER)[-1].id, {"condition": "runs < 2 in 24h"}, USER)
    await harness.work()
    (preview,) = [*harness.seen.ephemerals[answers:], *harness.seen.messages]
    assert preview.place.channel == DM_ALICE, "who edits it in Home reads the preview where they are"
    await harness.press("alert:save", user=USER)
    edited = await home_of(harness)
    assert "runs < 2 in 24h" in words(edited)

    for id_ in ("first", "other"):
        await pressed(harness, "alert:delete", f"alert:{id_}")
    assert headers(home_now(harness)) == ["Agents"]
    assert await store.all() == []
    assert len(harness.seen.ephemerals) <= answers + 1


async def test_runs_of_another_person_are_not_shown(harness: Harness) -> None:
    await run(harness, BOB)

    assert headers(await home_of(harness)) == ["Agents"]


async def test_home_never_opened_is_not_drawn(harness: Harness) -> None:
    await run(harness)

    assert harness.seen.homes == []


async def test_a_person_can_delete_their_report_from_home(harness: Harness) -> None:
    await harness.type_command("/stats report daily 09:00")
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
    assert buttons(view, "workflow:find")


@pytest.mark.parametrize("fault", [Error("hash_conflict"), RateLimited()])
async def test_a_refused_tab_brings_no_notice(harness: Harness, fault: Fault) -> None:
    harness.slack.faults.on("views.publish", fault)
    await harness.slack.people.open_home(USER)
    await harness.work()

    assert harness.seen.homes == []
    assert harness.seen.ephemerals == []
    assert headers(await home_of(harness)) == ["Agents"]


@pytest.mark.parametrize("may_run", [True, False])
async def test_details_open_a_page_with_a_button_for_runners(harness: Harness, *, may_run: bool) -> None:
    harness.configure(BRIDGE_RUNNERS=USER if may_run else BOB)
    view = await home_of(harness)
    harness.service.details = {"nodes": [{"id": 1, "type": "start"}, {"id": 2, "type": "end"}], "edges": [[1, 2]]}
    assert buttons(view, "workflow:find")
    home = harness.slack.home(USER)
    assert home is not None
    chosen = Click(
        team=TEAM, channel=DM_ALICE, user=USER, action_id="workflow:find", value="3", view="home", view_hash=home.hash
    )

    page = await harness.answer(chosen)

    assert isinstance(page, Modal)
    assert "Nodes: start, end" in words(page.view)
    assert bool(buttons(page.view, "run:form")) is may_run


async def test_home_of_a_small_project_is_short(harness: Harness) -> None:
    harness.service.agents = [SUPPORT | {"id": number, "description": "Helps."} for number in range(2)]
    await run(harness)
    view = await home_of(harness)

    rows = [block for block in view["blocks"] if "accessory" in block]
    assert [(block["block_id"], block["text"]["text"]) for block in rows] == [
        ("agent:0", "Support (ID 0): Helps."), ("agent:1", "Support (ID 1): Helps.")
    ]  # fmt: skip
    assert len(view["blocks"]) < 10


async def test_chat_opens_a_form_for_that_agent(harness: Harness) -> None:
    view = await home_of(harness)
    (block,) = [block["block_id"] for block in view["blocks"] if "'7'" in str(block) and "ask:form" in str(block)]
    await pressed(harness, "ask:form", block)

    (form,) = harness.seen.forms
    fields = {block["block_id"]: block["element"] for block in form["blocks"]}
    assert fields["where"]["initial_conversation"] == DM_ALICE
    assert fields["agent"]["initial_option"]["value"] == "7"
