"""Who may start something: a press by each kind of person on each button that starts something.

Alice sets everything up, and others press. The registry has every button there is: one that's new is
either in `STARTS`, with what shows it, or in another table.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest

from bridge.ends import notices
from bridge.engine.projects import OF_DIRECT
from bridge.features.agents import layout as agents
from bridge.features.alerts import layout as alerts
from bridge.features.alerts.store import AlertStore
from bridge.features.approvals import layout as approvals
from bridge.features.buttons import (
    AGAIN,
    ALERT_FORM,
    ASK_ABOUT,
    CHOOSE_FOR,
    DETAILS,
    FEEDBACK,
    FIND,
    OPEN_ASK,
    OPEN_DEFAULT,
    QUESTION_FORM,
    REPORT_FORM,
    RUN_FORM,
    RUN_SCHEDULE_FORM,
    SET_DEFAULT,
    STATISTICS,
    run_value,
)
from bridge.features.conversations import fences, layout as conversations, menu, stops
from bridge.features.registry import features
from bridge.features.workflows import layout as workflows, run_card
from bridge.playground.emulator.sample import (
    ALICE,
    BOB,
    BRIDGE,
    CAROL,
    DM_ALICE,
    GENERAL,
    GUEST,
    PRIVATE,
    TEAM,
    VISITOR,
)
from bridge.queue.finished_turns import finished_turns_since
from support.buttons import Button, shown
from support.harness import SALES, SUPPORT, Harness
from support.waiting import wait_until

RULES = f"""
[[rules]]
who = ["{ALICE}", "{CAROL}"]
[[rules]]
workflows = [3]
refuse = true
[[rules]]
agents = [7, 8]
refuse = true
[[rules]]
"""
"""Everyone may do everything, but only Alice and Carol may run this workflow, and talk to these agents."""
ASKS_OTHERS = RULES.replace(
    "[[rules]]", f'[[rules]]\nmay = ["run"]\nwho = ["{ALICE}"]\napprove = {{by = ["{CAROL}"]}}\n[[rules]]', 1
)

MAY = {CAROL: True, BOB: False, GUEST: False}
"""Who may start what Alice set up in #general; Carol isn't in the private channel."""


async def _scheduled(
    harness: Harness, line: str, action_id: str, channel: str = GENERAL, *, pauses: bool = False
) -> Button:
    await harness.type_command(line, ALICE, channel)
    await harness.type_command("/schedules", ALICE, channel)
    if pauses:
        await harness.press("report:pause", user=ALICE)
    return shown(harness, action_id)


async def run_now(harness: Harness, channel: str = GENERAL) -> Button:
    return await _scheduled(harness, "/workflows schedule Import daily 9", "report:now", channel)


async def ask_now(harness: Harness, channel: str = GENERAL) -> Button:
    return await _scheduled(harness, '/agents ask Support daily 9 "Any news?"', "report:now", channel)


async def resume_run(harness: Harness, channel: str = GENERAL) -> Button:
    return await _scheduled(harness, "/workflows schedule Import daily 9", "report:resume", channel, pauses=True)


async def resume_question(harness: Harness, channel: str = GENERAL) -> Button:
    return await _scheduled(harness, '/agents ask Support daily 9 "News?"', "report:resume", channel, pauses=True)


async def edit_run(harness: Harness, channel: str = GENERAL) -> Button:
    return await _scheduled(harness, "/workflows schedule Import daily 9", "report:edit", channel)


async def _alert(harness: Harness, channel: str) -> None:
    await harness.type_command("/stats alert runs > 9000 then run Import", ALICE, channel)
    await harness.press(alerts.SAVE, user=ALICE)
    await harness.type_command("/stats alerts", ALICE, channel)


async def resume_alert(harness: Harness, channel: str = GENERAL) -> Button:
    await _alert(harness, channel)
    await harness.press("alert:pause", user=ALICE)
    return shown(harness, "alert:resume")


async def end_snooze(harness: Harness, channel: str = GENERAL) -> Button:
    await _alert(harness, channel)
    await harness.press(alerts.SNOOZE, shown(harness, alerts.SNOOZE, option="1d").value, ALICE)
    return shown(harness, alerts.SNOOZE, option=alerts.UNSNOOZE)


async def edit_alert(harness: Harness, channel: str = GENERAL) -> Button:
    await _alert(harness, channel)
    return shown(harness, "alert:edit")


async def save_alert(harness: Harness) -> Button:
    await harness.type_command("/stats alert runs > 9000 then run Import", ALICE)
    return shown(harness, alerts.SAVE)


async def run_again(harness: Harness) -> Button:
    await harness.type_command("/workflows run 3 hello", ALICE)
    return shown(harness, run_card.AGAIN)


async def confirm_run(harness: Harness) -> Button:
    harness.service.workflows = [{**harness.service.workflows[0], "is_active": False}]
    await harness.type_command("/workflows run 3 hello", ALICE)
    return shown(harness, run_card.CONFIRM)


async def a_workflow(_harness: Harness) -> Button:
    return Button(run_value(3), GENERAL, "1600000000.000100")


async def a_chosen_workflow(_harness: Harness) -> Button:
    return Button("3", GENERAL, "1600000000.000100")


async def send_again(harness: Harness, channel: str = GENERAL) -> Button:
    harness.service.chats = [httpx.ReadTimeout("no answer")]
    await harness.say(f"<@{BRIDGE}> Support: hello", user=ALICE, channel=channel)
    return shown(harness, notices.SEND_AGAIN)


async def send_edited(harness: Harness) -> Button:
    ts = await harness.say(f"<@{BRIDGE}> Support: hello", user=ALICE)
    await harness.slack.people.edit(GENERAL, ts, f"<@{BRIDGE}> Support: hello again")
    await harness.slack.settled()
    await harness.work()
    return shown(harness, notices.SEND_EDITED)


async def send_reply(harness: Harness) -> Button:
    root = await harness.say(f"<@{BRIDGE}> Support: hello", user=CAROL)
    await harness.say("and more", root, ALICE)
    return shown(harness, notices.SEND_REPLY)


async def send_waiting(harness: Harness) -> Button:
    harness.service.gate.clear()
    root = await harness.say(f"<@{BRIDGE}> Support: one", user=ALICE, works=False)
    await harness.slack.settled()
    work = await harness.start_next()
    await wait_until(lambda: harness.service.in_flight == 1, "the agent is asked")
    await harness.say(f"<@{BRIDGE}> two", root, ALICE, works=False)
    await harness.say("!stop", root, ALICE, works=False)
    await harness.slack.settled()
    await harness.work("b")
    harness.service.gate.set()
    await work
    await harness.work()
    return shown(harness, stops.SEND_WAITING)


def _asks(*options: str) -> list[httpx.Response]:
    message = "```options\n" + "\n".join(options) + "\n```"
    return [httpx.Response(200, json={"sessionId": 42, "message": message})]


async def choose_option(harness: Harness) -> Button:
    harness.service.chats = _asks("Yes", "No")
    await harness.say(f"<@{BRIDGE}> Support: hello", user=CAROL)
    return shown(harness, fences.CHOSEN[0])


async def choose_in_menu(harness: Harness) -> Button:
    harness.service.chats = _asks(*map(str, range(11)))
    await harness.say(f"<@{BRIDGE}> Support: hello", user=CAROL)
    return shown(harness, fences.CHOSEN_IN_MENU)._replace(value="1")


async def choose(harness: Harness, channel: str = GENERAL) -> Button:
    harness.service.agents = [SUPPORT, SALES]
    await harness.say(f"<@{BRIDGE}> hello", user=ALICE, channel=channel)
    return shown(harness, menu.CHOOSE)._replace(value="7")


async def choose_meant(harness: Harness) -> Button:
    harness.service.agents = [SUPPORT, SALES]
    await harness.say(f"<@{BRIDGE}> Suport: hello", user=ALICE)
    return shown(harness, menu.CHOOSE_MEANT)


async def resume_session(harness: Harness) -> Button:
    await harness.say(f"<@{BRIDGE}> Support: hello", user=ALICE)
    harness.service.chats = [httpx.Response(200, json={"sessionId": 43, "message": "hi"})]
    root = await harness.say(f"<@{BRIDGE}> Support: hello", user=ALICE)
    await harness.say("!session 42", root, ALICE)
    return shown(harness, conversations.CONTINUE)


async def approve(harness: Harness) -> Button:
    harness.use_file(ASKS_OTHERS)
    await harness.type_command("/workflows run 3 hello", ALICE)
    return shown(harness, approvals.APPROVE)


Stage = Callable[[Harness], Awaitable[Button]]
STARTS: dict[str, tuple[Stage, ...]] = {
    "report:now": (run_now, ask_now),
    "report:resume": (resume_run, resume_question),
    "report:edit": (edit_run,),
    "alert:resume": (resume_alert,),
    alerts.SNOOZE: (end_snooze,),
    "alert:edit": (edit_alert,),
    alerts.SAVE: (save_alert,),
    run_card.AGAIN: (run_again,),
    run_card.CONFIRM: (confirm_run,),
    RUN_FORM: (a_workflow,),
    workflows.RUN: (a_chosen_workflow,),
    notices.SEND_AGAIN: (send_again,),
    notices.SEND_EDITED: (send_edited,),
    notices.SEND_REPLY: (send_reply,),
    stops.SEND_WAITING: (send_waiting,),
    fences.CHOSEN[0]: (choose_option,),
    fences.CHOSEN_IN_MENU: (choose_in_menu,),
    menu.CHOOSE: (choose,),
    menu.CHOOSE_MEANT: (choose_meant,),
    conversations.CONTINUE: (resume_session,),
    approvals.APPROVE: (approve,),
}
"""What shows each button that starts something, or the form that does."""

OF_ITS_READER = {
    run_card.FIX, run_card.AS_TEXT, approvals.SAY_WHY, notices.SLIP_COMMAND, notices.SLIP_PROJECT, notices.SLIP_TEXT,
    AGAIN, CHOOSE_FOR, fences.MEANT,
}  # fmt: skip
"""These act on what the person who presses typed or sent, or press another button for them.

So do the buttons that the engine has itself, which carry out a command line that its person typed.
"""

LIKE_ANOTHER = {
    notices.SEND_THEM: notices.SEND_AGAIN,
    approvals.REVIEW: approvals.APPROVE,
    **dict.fromkeys(fences.CHOSEN[1:], fences.CHOSEN[0]),
}
"""These are judged like the other one."""

ASKS_FIRST = {OPEN_ASK, ASK_ABOUT, REPORT_FORM, QUESTION_FORM, RUN_SCHEDULE_FORM, ALERT_FORM}
"""These open a form in which a target is chosen, which is judged when it's submitted."""

VERBS = ("pause", "resume", "delete", "page", "page:next")  # of what people set up; see `test_standing`
STARTS_NOTHING = {
    *({f"{kind.name}:{verb}" for kind in features.standing for verb in VERBS if kind.name} - set(STARTS)),
    run_card.NODES, run_card.OUTPUT, run_card.NOTIFY, *workflows.TURNS, DETAILS, FIND, STATISTICS,
    FEEDBACK, notices.NOTIFY, notices.STOP, notices.SHOW, stops.SHOW, stops.DISCARD, approvals.WITHDRAW,
    approvals.DENY, OPEN_DEFAULT, SET_DEFAULT, *agents.TURNS, OF_DIRECT,
}  # fmt: skip


def test_every_button_is_in_one_of_the_tables() -> None:
    tables = [set(STARTS), OF_ITS_READER, set(LIKE_ANOTHER), ASKS_FIRST, STARTS_NOTHING]
    registered = {action_id for feature in features.features for action_id in feature.buttons}

    assert sorted(one for table in tables for one in table) == sorted(registered)
    assert set(LIKE_ANOTHER.values()) <= set(STARTS)


async def state(harness: Harness) -> Any:
    """What a press that starts something changes."""
    scripts = harness.store.scripts
    tasks = [(one.id, one.paused) for one in await harness.report_store().all()]
    known = [(one.id, one.paused, one.snoozed) for one in await AlertStore(scripts).all()]
    session = [line async for line in scripts.redis.scan_iter("{test}:thread:*")]
    bound = [await scripts.redis.hmget(one, ["agent", "session"]) for one in sorted(map(str, session))]
    return harness.service.started[:], harness.service.messages[:], tasks, known, len(harness.seen.forms), bound


async def press(harness: Harness, action_id: str, button: Button, user: str) -> bool:
    """Press a button, seen or not; whether that changed anything."""
    harness.service.chats = []
    before = await state(harness)
    await harness.click(action_id, button.value, user=user, channel=button.channel, ts=button.ts,
                        thread_ts=button.thread_ts, is_ephemeral=button.is_ephemeral)  # fmt: skip
    await harness.work()
    return bool(await state(harness) != before)


@pytest.mark.parametrize("user", MAY)
@pytest.mark.parametrize(
    ("action_id", "stage"), [(action_id, stage) for action_id, stages in STARTS.items() for stage in stages],
    ids=lambda one: getattr(one, "__name__", ""),
)  # fmt: skip
async def test_a_button_starts_only_what_the_person_who_presses_may(
    harness: Harness, action_id: str, stage: Stage, user: str
) -> None:
    harness.use_file(RULES)
    button = await stage(harness)

    assert await press(harness, action_id, button, user) is MAY[user]


IN_PRIVATE = [run_now, ask_now, resume_run, resume_question, edit_run, resume_alert, end_snooze, edit_alert]


@pytest.mark.parametrize("stage", IN_PRIVATE)
@pytest.mark.parametrize("user", [CAROL, VISITOR])
@pytest.mark.parametrize("rules", ["", RULES])
async def test_nothing_starts_in_a_private_channel_for_others(
    harness: Harness, stage: Any, user: str, rules: str
) -> None:
    if rules:
        harness.use_file(rules)
    button = await stage(harness, PRIVATE)
    action_id = next(one for one, stages in STARTS.items() if stage in stages)

    assert not await press(harness, action_id, button._replace(channel=GENERAL), user)


BOTH_ASK = f"""
[[rules]]
may = ["run"]
approve = {{by = ["{ALICE}", "{BOB}", "{CAROL}"]}}
[[rules]]
"""


async def test_whoever_presses_run_now_asks_for_its_approval(harness: Harness) -> None:
    harness.use_file(BOTH_ASK)
    await run_now(harness)
    await harness.type_command("/schedules", BOB)

    await harness.press("report:now", user=BOB)
    assert harness.seen.ephemerals[-1].text == "Requested. Its card shows whether it starts, or waits for someone."
    (card,) = harness.seen.replies("bridge_approval")
    await harness.click(approvals.APPROVE, shown(harness, approvals.APPROVE).value, user=BOB, ts=card.ts)
    await harness.work()

    assert "Asked for by Bob Brandt · Scheduled by Alice Adler" in str(card.blocks)
    assert harness.seen.ephemerals[-1].text == "You asked for this, so someone else has to approve it."
    assert harness.service.started == []

    await harness.press(approvals.APPROVE, user=CAROL)
    (run,) = harness.seen.replies("bridge_run")
    assert harness.service.started == [(3, "")]
    assert "Started by Bob Brandt · Scheduled by Alice Adler" in str(run.blocks)


def _terms_of(who: str, terms: str) -> str:
    return f'[[rules]]\nmay = ["run"]\nwho = ["{who}"]\napprove = {{{terms}}}\n'


@pytest.mark.parametrize(
    ("owners", "askers", "needs", "approve"),
    [
        (f'by = ["{CAROL}"]', f'by = ["{GUEST}"]', "1 approval by Gus Guest, and 1 approval by Carol Conti",
         [GUEST, CAROL]),
        (f'by = ["{CAROL}"]', f'by = ["{GUEST}"]', "1 approval by Gus Guest, and 1 approval by Carol Conti",
         [CAROL, GUEST]),
        (f'by = ["{CAROL}"]', f'by = ["{GUEST}", "{CAROL}"]', "and 1 approval by Carol Conti", [CAROL]),
        (f'by = ["{CAROL}"]', f'by = ["{BOB}", "{CAROL}"], self = true', "and 1 approval by Carol Conti", [BOB, CAROL]),
        (f'by = ["{GUEST}", "{CAROL}"], count = 2', f'by = ["{CAROL}", "{GUEST}"]', "2 approvals by", [CAROL, GUEST]),
        (f'by = ["{CAROL}", "{GUEST}"]', f'by = ["{CAROL}", "{GUEST}"], count = 2', "2 approvals by", [GUEST, CAROL]),
    ],
)  # fmt: skip
async def test_run_now_needs_the_approvals_of_its_owners_rule_and_of_the_persons(
    harness: Harness, owners: str, askers: str, needs: str, approve: list[str]
) -> None:
    harness.use_file(_terms_of(ALICE, owners) + _terms_of(BOB, askers) + "[[rules]]\n")
    await run_now(harness)
    await harness.type_command("/schedules", BOB)
    await harness.press("report:now", user=BOB)
    (card,) = harness.seen.replies("bridge_approval")
    value = shown(harness, approvals.APPROVE).value
    assert needs in str(card.blocks)

    for user in approve:
        assert harness.service.started == []
        for _ in range(2):  # a second press of one person counts for nothing
            await harness.click(approvals.APPROVE, value, user=user, ts=card.ts)
            await harness.work()

    assert harness.service.started == [(3, "")]


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        (f'[[rules]]\nwho = ["{BOB}"]\n[[rules]]\nmay = ["schedule"]\n', "the rules no longer let Alice Adler do this"),
        (f'[[rules]]\nwho = ["{ALICE}"]\n[[rules]]\nmay = ["schedule"]\n', "You can't run “Import” here"),
        ('[[rules]]\nwho = ["schedules"]\n[[rules]]\nmay = ["schedule"]\n', "You can't run “Import” here"),
    ],
)
async def test_run_now_needs_the_rights_of_its_owner_and_of_the_person(harness: Harness, rules: str, why: str) -> None:
    button = await run_now(harness)
    harness.use_file(rules)

    assert not await press(harness, "report:now", button, BOB)
    assert why in harness.seen.ephemerals[-1].text


async def test_the_audit_and_the_thread_name_who_had_it_asked_now(harness: Harness) -> None:
    await ask_now(harness)
    await harness.type_command("/schedules", BOB)

    await harness.press("report:now", user=BOB)

    (root,) = harness.seen.replies("bridge_root")
    assert "Asked now by Bob Brandt · Scheduled question for Support by Alice Adler" in str(root.blocks)
    entries = finished_turns_since(harness.store.scripts, harness.store.clock() - timedelta(days=1))
    who = [(entry.did, entry.user) async for entry in entries]
    assert ("scheduled question, by hand", BOB) in who
    assert harness.service.messages[-1].endswith("Any news?")


async def test_a_message_sent_again_counts_for_who_sent_it_again(harness: Harness) -> None:
    """A command that couldn't be finished is its author's, and started by the person who pressed."""
    harness.use_file(RULES)
    root = await harness.say(f"<@{BRIDGE}> Support: hello", user=ALICE)
    await harness.say("!workflows run 3 hello", root, ALICE, works=False)
    await harness.slack.settled()
    turn = await harness.take("a")
    await harness.store.process().journal.done(turn.taken, what="given up", keep_text=True)

    await harness.click(notices.SEND_AGAIN, turn.id, user=CAROL, thread_ts=root)
    await harness.work()

    (run,) = harness.seen.replies("bridge_run")
    assert "Started by Carol Conti" in str(run.blocks)


def in_home(button: Button) -> str:
    return f"{button.value}:{PRIVATE}:{button.ts}:{button.thread_ts}"


ELSEWHERE: list[tuple[str, Stage, Callable[[Button], str]]] = [
    (notices.SEND_AGAIN, send_again, lambda button: button.value),
    (AGAIN, send_again, lambda button: button.value),
    (AGAIN, send_again, in_home),
    (CHOOSE_FOR, choose, lambda button: f"7:{TEAM}:{PRIVATE}:{button.thread_ts}"),
]
"""Buttons in direct messages and in Home, which stay there for who leaves a channel."""


@pytest.mark.parametrize("starts", [1, 0], ids=["in it", "left"])
@pytest.mark.parametrize(("action_id", "stage", "value"), ELSEWHERE)
async def test_a_button_elsewhere_starts_nothing_in_a_channel_that_its_person_left(
    harness: Harness, action_id: str, stage: Any, value: Callable[[Button], str], starts: int
) -> None:
    button = await stage(harness, PRIVATE)
    if not starts:
        harness.slack.workspace.channels[PRIVATE].members.remove(ALICE)
        harness.monotonic += 60
    harness.service.chats = []
    count = len(harness.service.messages)

    await harness.click(action_id, value(button), user=ALICE, channel=DM_ALICE)
    await harness.work()

    assert len(harness.service.messages) == count + starts


@pytest.mark.parametrize("stage", [run_now, ask_now, resume_run, resume_alert])
@pytest.mark.parametrize(
    ("user", "rules", "offers"),
    [(CAROL, RULES, {"starts", "deletes"}), (BOB, RULES, {"deletes"}), (GUEST, "", set())],
)
async def test_a_list_shows_only_the_buttons_that_its_reader_may_press(
    harness: Harness, stage: Any, user: str, rules: str, offers: set[str]
) -> None:
    if rules:
        harness.use_file(rules)
    await stage(harness)
    is_alert = stage is resume_alert
    starts = next(one for one, stages in STARTS.items() if stage in stages)
    buttons = {"starts": starts, "deletes": "alert:delete" if is_alert else "report:delete"}

    await harness.type_command("/stats alerts" if is_alert else "/schedules", user)

    listed = str(harness.seen.ephemerals[-1].blocks)
    assert {name for name, action_id in buttons.items() if f"'{action_id}'" in listed} == offers


async def test_home_shows_only_the_buttons_that_its_reader_may_press(harness: Harness) -> None:
    await run_now(harness)
    harness.use_file(RULES.replace(f'"{ALICE}", ', ""))

    await harness.slack.people.open_home(ALICE)
    await harness.slack.settled()
    await harness.work()

    home_shown = json.dumps(harness.seen.homes[-1]["view"])
    assert "report:delete" in home_shown
    assert f'"{"report:now"}"' not in home_shown


@pytest.mark.parametrize("form", ["/workflows run", "/agents chat"])
async def test_a_form_starts_nothing_in_a_private_channel_of_others(harness: Harness, form: str) -> None:
    """Slack's menus offer no such channel; what's sent may name one all the same."""
    await harness.type_command(form, CAROL)
    is_run, view = form == "/workflows run", harness.seen.forms[-1]
    values = {"workflow": "3", "kind": "text"} if is_run else {"agent": "7", "message": "Any news?"}
    where = "channel" if is_run else "where"
    fields = {name: {name: {"type": "plain_text_input", "value": value}} for name, value in values.items()}
    fields[where] = {where: {"type": "conversations_select", "selected_conversation": PRIVATE}}

    await harness.interaction({
        "type": "view_submission", "team": {"id": TEAM}, "user": {"id": CAROL, "team_id": TEAM},
        "view": {"id": "V1", **view, "state": {"values": fields}},
    })  # fmt: skip
    await harness.work()

    assert harness.service.paths.count("workflows/3/run") + harness.service.paths.count("agents/7/chat") == 0
    assert "You aren't in that channel" in harness.seen.ephemerals[-1].text
