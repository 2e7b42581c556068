"""Runs that others have to approve: the card, the clicks, the run, and what may happen in between."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest

from bridge.ends.decisions import explain
from bridge.features.approvals.request import StoredRequest, canonical, digest_of
from bridge.features.approvals.store import ApprovalStore
from bridge.features.run_records import ScheduledRun, TriggeredRun
from bridge.playground.emulator.entities import View
from bridge.playground.emulator.sample import (
    ALICE,
    BOB,
    CAROL,
    DM_ALICE,
    DM_BOB,
    DM_CAROL,
    GENERAL,
    GUEST,
    NOBOT,
    OTHER_TEAM,
    PRIVATE,
    RANDOM,
    RUNNERS,
)
from bridge.queue.status import status_of
from bridge.queue.trace import trace_of
from bridge.slack.parts import Place
from support.harness import Harness, Posted
from support.store import START, TEAM, message

TWO = f'[[rules]]\nmay = ["run"]\napprove = {{by = ["{BOB}", "{CAROL}"], count = 2}}\n[[rules]]\n'
ONE = TWO.replace("count = 2", "count = 1")
OTHERS = f'[[rules]]\nmay = ["run"]\napprove = {{by = ["{CAROL}"]}}\n[[rules]]\n'
NOBODY = '[[rules]]\nmay = ["ask", "approve"]\n'
LINE = '/workflows run 3 {"amount": 5, "to": "Bob"}'
WRITTEN = '{"amount":5,"to":"Bob"}'


@pytest.fixture
async def asked(harness: Harness) -> Harness:
    """A harness in which Alice has asked for a run that Bob or Carol may approve."""
    harness.use_file(ONE)
    await harness.type_command(LINE)
    return harness


def card(harness: Harness) -> Posted:
    (found,) = harness.seen.replies("bridge_approval")
    return found


async def stored(harness: Harness) -> StoredRequest:
    (key,) = [key async for key in harness.store.redis.scan_iter("{test}:approval:*")]
    found = await ApprovalStore(harness.store.scripts).get(str(key).rpartition(":")[2])
    assert found is not None
    return found


async def press(
    harness: Harness, action: str = "approve", user: str = BOB, name: str = "a", card_of: Posted | None = None
) -> None:
    """Press a button of the card, and handle it."""
    shown = card_of or card(harness)
    await harness.slack.ui.click(user, shown.message.channel, shown.ts, f"approval:{action}")
    await harness.work(name)


async def deny(harness: Harness, reason: str = "Too much.", user: str = BOB) -> None:
    await press(harness, "deny", user)
    await submit(harness, reason, user)


async def submit(harness: Harness, reason: str, user: str) -> None:
    view = list(harness.slack.workspace.views.values())[-1]
    await harness.slack.ui.submit(view.id, {"reason": reason}, user)
    await harness.work()


async def later(harness: Harness, **time: float) -> None:
    harness.store.clock.time += timedelta(**time)
    for name in ("a", "b"):
        await harness.find_due(name)
    await harness.work()


def direct(harness: Harness, channel: str) -> list[str]:
    return [one.title for one in harness.seen.messages if one.place.channel == channel]


# The card


async def test_a_run_that_needs_approval_posts_a_card(asked: Harness) -> None:
    shown = card(asked)

    assert asked.service.runs == []
    assert shown.place == Place(GENERAL)
    assert shown.title == "🔐 Import · waits for approval"
    words = json.dumps(shown.blocks, ensure_ascii=False)
    assert "Asked for by Alice Adler" in words
    assert json.dumps(WRITTEN) in words
    assert f"SHA-256 {digest_of(WRITTEN)[:8]}." in words
    assert "workflow 3" not in words
    assert "Needs 1 approval by Bob Brandt or Carol Conti" in words
    assert "Until" in words


async def test_buttons_are_visible_to_those_who_may(asked: Harness) -> None:
    buttons = {one["action_id"]: one for one in card(asked).blocks[-1]["elements"]}

    assert buttons["approval:approve"]["visible_to_user_ids"] == [BOB, CAROL]
    assert buttons["approval:deny"]["visible_to_user_ids"] == [BOB, CAROL]
    assert buttons["approval:withdraw"]["visible_to_user_ids"] == [ALICE]


async def test_slack_shows_the_buttons_to_nobody_else(asked: Harness) -> None:
    for user, action in ((GUEST, "approve"), (ALICE, "deny"), (BOB, "withdraw")):
        with pytest.raises(LookupError):
            await asked.slack.ui.click(user, GENERAL, card(asked).ts, f"approval:{action}")


async def test_a_long_input_is_a_file_with_the_same_hash(harness: Harness) -> None:
    harness.use_file(ONE)
    await harness.type_command("/workflows run 3 " + json.dumps(["x" * 4000]))

    (file,) = harness.slack.files
    assert file.name.startswith("input")
    assert f"SHA-256 {digest_of(file.content.decode())[:8]}." in str(card(harness).blocks)


async def test_approvers_are_notified_directly_and_nobody_is_mentioned(asked: Harness) -> None:
    assert direct(asked, DM_BOB) == ["🔐 Alice Adler asks for approval to run Import."]
    assert direct(asked, DM_ALICE) == []
    assert "<@" not in card(asked).text + json.dumps(card(asked).blocks)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("hello", '"hello"'),
        ({"b": 1, "a": [True, None]}, '{"a":[true,null],"b":1}'),
        ("ß漢😀", '"ß漢😀"'),
        ("\u202eevil\u200b\u00a0\n", '"\\u202eevil\\u200b\\u00a0\\n"'),
        ("\U000e0041", '"\\udb40\\udc41"'),
        ("\u3164\u115f\uffa0\u034f\u180b\ufe0f", '"\\u3164\\u115f\\uffa0\\u034f\\u180b\\ufe0f"'),
        ("\u2800\u3000\u2003\u2028", '"\\u2800\\u3000\\u2003\\u2028"'),
    ],
)
def test_canonical_json_hides_nothing_and_reads_back(value: Any, written: str) -> None:
    assert canonical(value) == written
    assert json.loads(written) == value


NESTED = "[" * 1200 + "]" * 1200  # deeper than the limit of Python 3.11


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("Zoe", "Input: Zoe"),
        ("3 seats for “Zoe & Co” <now>", "Input: 3 seats for “Zoe & Co” <now>"),
        ('say "hi" to Zoe', 'Input: say "hi" to Zoe'),
        ('"3"', '"3"'),
        ('"{\\"a\\": 1}"', '"{\\"a\\": 1}"'),
        ('"true"', '"true"'),
        ('"a\\\\u3164"', '"a\\\\u3164"'),
        ('"two  blanks"', '"two  blanks"'),
        ('"ends with one "', '"ends with one "'),
        ("[1]", "[1]"),
        (f'"{NESTED}"', f'"{NESTED}"'),
    ],
)
async def test_the_card_shows_plain_text_as_it_is_and_anything_else_as_json(
    harness: Harness, typed: str, shown: str
) -> None:
    harness.use_file(ONE)
    await harness.type_command(f"/workflows run 3 {typed}")

    runs = [one.get("text") for block in card(harness).blocks for one in [block, *_runs(block)]]
    texts = [one["text"] if isinstance(one, dict) else one for one in runs]
    digest = (await stored(harness)).request.digest
    assert shown in texts
    assert digest not in str(card(harness).blocks)
    assert digest[:8] in str(card(harness).blocks)
    assert digest in str((await review(harness, BOB)).content["blocks"])
    assert [one.get("style") for one in card(harness).blocks[-1]["elements"]] == ["primary", None, None]


def _runs(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [run for one in value for run in _runs(one)]
    inner = value.get("elements", []) if isinstance(value, dict) else []
    return [*inner, *_runs(inner)]


async def test_two_requests_are_told_apart_by_their_inputs(harness: Harness) -> None:
    harness.use_file(ONE)
    for name in ("Zoe", "Max"):
        await harness.type_command(f"/workflows run 3 {name}")
    await harness.type_command("/approvals", user=BOB)
    listed = harness.seen.ephemerals[-1]
    await harness.slack.people.open_home(BOB)
    await harness.work()
    home = str(harness.slack.workspace.homes[BOB].content)
    asked = [str(one.blocks) for one in harness.seen.messages if one.place.channel == DM_BOB]
    await later(harness, days=8)
    ended = [str(one.blocks) for one in harness.seen.messages if one.place.channel == DM_ALICE]

    for name in ("Zoe", "Max"):
        assert f"Input: {name}" in listed.text
        assert f"Input: {name}" in str(listed.blocks)
        assert f"Input: {name}" in home
        assert [f"Input: {name}" in one for one in asked].count(True) == 1
        assert [f"Input: {name}" in one for one in ended].count(True) == 1


UNSEEN = ["\u3164", "\u2800", "\ufe0f", "\u034f", "\u2060", "\u200e", "\u00a0", "\u3000", "\U000e0100"]


async def test_what_cant_be_seen_is_escaped_wherever_an_input_is_approved(harness: Harness) -> None:
    typed, confirms = f"to Bob{''.join(UNSEEN)}by", '[[rules]]\nmay = ["run"]\nconfirm = true\n'
    harness.use_file(confirms)
    await harness.type_command(f"/workflows run 3 {typed}")
    *asked_to_confirm, _button = harness.seen.ephemerals[-1].blocks
    harness.use_file(ONE)
    await harness.type_command(f'/workflows run 3 {{"a": "{typed}"}}')
    reviewed = await review(harness, BOB)

    for where in (asked_to_confirm, card(harness).blocks, reviewed.content["blocks"]):
        words = json.dumps(where, ensure_ascii=False)
        assert [one for one in UNSEEN if one in words] == []
        assert words.count("\\\\u3164") == 1
    await press(harness)
    assert harness.service.started == [(3, {"a": typed})]


# Decisions


async def test_an_approved_run_starts_once_with_the_shown_input(asked: Harness) -> None:
    await press(asked)

    assert asked.service.started == [(3, {"amount": 5, "to": "Bob"})]
    assert await asked.store.redis.zcard("{test}:approvals") == 0
    assert card(asked).title == "✅ Import · approved by Bob Brandt"
    (run,) = asked.seen.replies("bridge_run")
    assert "Started by Alice Adler · Approved by Bob Brandt" in str(run.blocks)
    assert any("completed" in text for text in direct(asked, DM_ALICE))
    assert any("completed" in text for text in direct(asked, DM_BOB))


async def test_two_approvals_are_needed_and_nobody_counts_twice(harness: Harness) -> None:
    harness.use_file(TWO)
    await harness.type_command(LINE)

    await press(harness)
    await press_stale(harness, BOB)
    assert harness.service.runs == []
    assert "Approved by Bob Brandt" in str(card(harness).blocks)
    approve, deny, _withdraw = card(harness).blocks[-1]["elements"]
    assert (approve["visible_to_user_ids"], deny["visible_to_user_ids"]) == ([CAROL], [BOB, CAROL])
    assert harness.seen.ephemerals[-1].text == "You already approved this. It needs 1 more approval."

    await press(harness, user=CAROL)
    assert len(harness.service.runs) == 1
    assert card(harness).title == "✅ Import · approved by Bob Brandt, Carol Conti"


async def test_two_approvers_at_once_start_one_run(asked: Harness) -> None:
    shown = card(asked)
    for user in (BOB, CAROL, BOB):
        await asked.slack.ui.click(user, GENERAL, shown.ts, "approval:approve")

    await asyncio.gather(*(asked.work(name) for name in ("a", "b", "c")))
    await asked.work()

    assert len(asked.service.runs) == 1
    assert len((await stored(asked)).approved_by) == 1


async def test_a_denied_request_never_runs_and_tells_its_asker(asked: Harness) -> None:
    await deny(asked, "Too <!channel> much.")
    await press_stale(asked, CAROL)

    assert asked.service.runs == []
    assert card(asked).title == "🚫 Import · denied by Bob Brandt"
    assert "<!channel>" not in json.dumps(card(asked).blocks[0])
    (told,) = direct(asked, DM_ALICE)
    assert told.startswith("🚫 Bob Brandt denied your request to run Import: “Too")


async def press_stale(harness: Harness, user: str, action: str = "approve", *, channel: str = GENERAL) -> None:
    """Press a button of the card as it was before: a click that was on its way."""
    value = json.dumps({"a": (await stored(harness)).id, "h": (await stored(harness)).request.digest[:16]})
    await raw_click(harness, user, action, value, channel=channel)


async def raw_click(
    harness: Harness, user: str, action: str, value: str, *, channel: str = GENERAL, ts: str = ""
) -> None:
    """Deliver a click as Slack signs it, whatever the message looks like now."""
    ts = ts or card(harness).ts
    await harness.click(f"approval:{action}", value, user=user, channel=channel, ts=ts)
    await harness.work()


async def test_a_withdrawn_request_never_runs(asked: Harness) -> None:
    await press(asked, "withdraw", ALICE)
    await press_stale(asked, BOB)

    assert asked.service.runs == []
    assert card(asked).title == "↩️ Import · withdrawn by Alice Adler"
    assert asked.seen.ephemerals[-1].text == "This request was withdrawn."


async def test_a_request_expires_once_and_reminds_once(asked: Harness) -> None:
    await later(asked, hours=1.9)
    assert len(direct(asked, DM_BOB)) == 1
    for _ in range(3):
        await later(asked, hours=0.2)
    assert direct(asked, DM_BOB)[1:] == ["🔐 Import still waits for your approval."]

    for _ in range(3):
        await later(asked, hours=1)
    await press_stale(asked, BOB)

    assert asked.service.runs == []
    assert card(asked).title == "⌛ Import · not approved in time"
    assert len(direct(asked, DM_ALICE)) == 1
    assert asked.seen.ephemerals[-1].text == "This request has expired."
    assert len(direct(asked, DM_BOB)) == 2


async def test_a_click_after_the_deadline_doesnt_count_before_its_slot(asked: Harness) -> None:
    asked.store.clock.time += timedelta(hours=5)
    await press(asked)

    assert asked.service.runs == []
    assert asked.seen.ephemerals[-1].text == "This request has expired."


async def test_the_script_compares_the_deadline_with_its_own_clock(asked: Harness) -> None:
    process = asked.store.process()
    asked.store.process_clock.redis_ahead -= timedelta(days=3000)  # the worker's clock is early, Redis' isn't
    await press(asked)

    assert asked.service.runs == []
    assert process.name == "a"
    assert (await stored(asked)).state == "waiting"


async def test_a_run_where_the_bot_isnt_is_shown_to_its_asker(harness: Harness) -> None:
    harness.use_file(ONE)
    await harness.type_command(LINE, channel=NOBOT)

    await decide(harness, await review(harness, BOB, as_notice=True), BOB, "approve")

    assert len(harness.service.runs) == 1
    assert [one.place.channel for one in harness.seen.replies("bridge_run")] == [DM_ALICE]
    assert not any("couldn't post" in one for one in direct(harness, DM_ALICE))


@pytest.mark.parametrize(
    ("action", "user", "said"),
    [("approve", BOB, "approved by Bob"), ("deny", BOB, "denied by Bob"), ("withdraw", ALICE, "withdrawn by Alice")],
)
async def test_a_card_where_the_bot_isnt_shows_its_outcome(harness: Harness, action: str, user: str, said: str) -> None:
    harness.use_file(ONE)
    await harness.type_command(LINE, channel=NOBOT)
    shown = harness.slack.workspace.messages.of(NOBOT)[-1]

    await harness.slack.ui.click(user, NOBOT, shown.ts, f"approval:{action}")
    await harness.work()
    if action == "deny":
        await submit(harness, "Too much.", user)

    now = harness.slack.workspace.messages.visible(user, NOBOT, shown.ts)
    assert said in now.text
    assert "approval:" not in str(now.blocks)


async def test_the_card_of_an_approved_run_says_why_it_cant_start(harness: Harness) -> None:
    harness.use_file(ONE + '[[limits]]\nper = "channel"\nevery = "day"\ncharacters = 1')
    for _ in range(2):
        await harness.type_command(LINE)
    for shown in harness.seen.replies("bridge_approval"):
        await harness.slack.ui.click(BOB, GENERAL, shown.ts, "approval:approve")
        await harness.work()

    assert len(harness.service.runs) == 1
    shown = harness.seen.replies("bridge_run")[-1]
    assert shown.title == "❌ Import · failed"
    assert "limit of 1 character per day is used up" in str(shown.blocks)
    assert any("Import" in one for one in direct(harness, DM_ALICE)[1:])


# What has changed since


OF_IMPORT = """
[[rules]]
may = ["run"]
workflows = ["Import*"]
triggers = ["manual"]
categories = ["safe"]
approve = {by = ["U0BOB", "U0CAROL"]}
[[rules]]
may = ["run"]
workflows = ["Export"]
approve = {by = ["U0CAROL", "U0ALICE"], count = 2}
"""
CHANGES: dict[str, tuple[dict[str, Any] | None, str]] = {
    "refused": ({"name": "Payroll"}, "the workflow is now called “Payroll”"),
    "asks others": ({"name": "Export"}, "the workflow is now called “Export”"),
    "inactive": ({"is_active": False}, "the workflow is inactive now"),
    "trigger": ({"trigger_type": "webhook"}, "its trigger is now “webhook”"),
    "category": ({"category": "risky", "name": "Import 2"}, "called “Import 2” and its category is now “risky”"),
    "gone": (None, "the workflow no longer exists"),
}


def change_workflow(harness: Harness, changes: dict[str, Any] | None) -> None:
    harness.service.workflows = [{**one, **changes} for one in harness.service.workflows] if changes else []


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("when", ["before the decision", "before the start"])
async def test_an_approved_run_is_judged_by_what_its_workflow_is_now(
    harness: Harness, changes: tuple[dict[str, Any] | None, str], when: str
) -> None:
    harness.service.workflows[0] = {**harness.service.workflows[0], "category": "safe"}
    harness.use_file(OF_IMPORT)
    await harness.type_command(LINE)
    if when == "before the start":
        await harness.slack.ui.click(BOB, GENERAL, card(harness).ts, "approval:approve")
        await (await harness.start_next())  # the click's turn; the run's is queued
        assert (await stored(harness)).state == "approved"
    change_workflow(harness, changes[0])
    if when == "before the decision":
        await press(harness)
    await harness.work()

    assert harness.service.started == []
    assert changes[1] in card(harness).text
    assert (await stored(harness)).state == "changed"
    assert not any(one.text.endswith("it starts.") for one in harness.seen.ephemerals)
    told = [direct(harness, place)[-1] for place in (DM_ALICE, *([DM_BOB] if when == "before the start" else []))]
    assert all(changes[1] in one for one in told)


@pytest.mark.parametrize("changes", [{"name": "Import all"}, {"description": "Other words"}])
async def test_a_change_that_the_rules_dont_turn_on_starts_the_run(harness: Harness, changes: dict[str, Any]) -> None:
    harness.service.workflows[0] = {**harness.service.workflows[0], "category": "safe"}
    harness.use_file(OF_IMPORT)
    await harness.type_command(LINE)
    change_workflow(harness, changes)

    await press(harness)

    assert len(harness.service.started) == 1


async def test_an_inactive_workflow_that_was_confirmed_starts_once_its_approved(harness: Harness) -> None:
    change_workflow(harness, {"is_active": False})
    harness.use_file(ONE)
    await harness.type_command(LINE)
    await harness.press("run:confirm")

    await press(harness)

    assert len(harness.service.started) == 1


async def test_an_approval_counts_while_the_service_is_down_and_its_run_waits(harness: Harness) -> None:
    harness.use_file(ONE)
    await harness.type_command(LINE)
    harness.service.always = httpx.Response(503)
    await harness.slack.ui.click(BOB, GENERAL, card(harness).ts, "approval:approve")
    await (await harness.start_next())
    assert (await stored(harness)).state == "approved"

    change_workflow(harness, {"is_active": False})
    harness.service.always = None
    await harness.work()

    assert harness.service.started == []
    assert "the workflow is inactive now" in card(harness).text


async def test_an_approved_run_whose_project_was_removed_says_so(harness: Harness) -> None:
    harness.serve("orders", orders=RANDOM)
    harness.use_file(ONE)
    await harness.type_command(LINE, channel=RANDOM)
    await harness.slack.ui.click(BOB, RANDOM, card(harness).ts, "approval:approve")
    await (await harness.start_next())  # the click's turn; the run's is queued
    harness.serve()

    await harness.work()

    told = [card(harness).text, *(direct(harness, place)[-1] for place in (DM_ALICE, DM_BOB))]
    assert ["its project is no longer connected" in one for one in told] == [True] * 3
    assert (await stored(harness)).state == "changed"


# Rights


@pytest.mark.parametrize(
    ("user", "action", "said"),
    [
        (ALICE, "approve", "You asked for this, so someone else has to approve it."),
        (ALICE, "deny", "You asked for this, so someone else has to approve it."),
        (GUEST, "approve", "You can't approve or deny this. Ask those whom its card names."),
        (GUEST, "deny", "You can't approve or deny this. Ask those whom its card names."),
        (BOB, "withdraw", "Only the person who asked for this can withdraw it."),
    ],
)
async def test_others_are_refused_privately(asked: Harness, user: str, action: str, said: str) -> None:
    await press_stale(asked, user, action)

    assert asked.seen.ephemerals[-1].user == user
    assert asked.seen.ephemerals[-1].text == said
    assert (await stored(asked)).state == "waiting"
    assert asked.service.runs == []


async def test_the_asker_approves_with_self(harness: Harness) -> None:
    harness.use_file(f'[[rules]]\napprove = {{by = ["{ALICE}"], self = true}}\n')
    await harness.type_command(LINE)
    await press(harness, user=ALICE)

    assert len(harness.service.runs) == 1


async def test_a_group_approves_and_membership_counts_at_the_click(harness: Harness) -> None:
    harness.use_file(f'[[rules]]\napprove = {{by = ["{RUNNERS}"]}}\n')
    await harness.type_command(LINE, user=BOB)
    assert "by @runners" in str(card(harness).blocks)

    await press_stale(harness, GUEST)
    assert harness.service.runs == []
    await press(harness, user=CAROL)
    assert len(harness.service.runs) == 1


@pytest.mark.parametrize("text", [OTHERS, NOBODY, TWO, ""])
async def test_other_rules_at_the_click_end_the_request(asked: Harness, text: str) -> None:
    asked.use_file(text)
    await press_stale(asked, CAROL)

    assert asked.service.runs == []
    assert (await stored(asked)).state == "changed"
    assert re.search("because the rules (changed|no longer let Alice Adler do this)", card(asked).text)
    assert len(direct(asked, DM_ALICE)) == 1


@pytest.mark.parametrize("text", [OTHERS, NOBODY, TWO])
async def test_other_rules_at_the_start_stop_the_run(asked: Harness, text: str) -> None:
    shown = card(asked)
    await asked.slack.ui.click(BOB, GENERAL, shown.ts, "approval:approve")
    turn = await asked.take("a")
    await asked.handle(turn)  # it's approved, and the run is queued
    asked.use_file(text)

    await asked.work("b")
    await asked.take_over("b")
    await asked.work("b")

    assert asked.service.runs == []
    assert (await stored(asked)).state == "changed"
    why = "(the rules changed|the rules no longer let Alice Adler do this)"
    assert any(re.search(f"wasn't started after its approval, because {why}", text) for text in asked.seen.texts)


@pytest.mark.parametrize(
    ("user", "flags", "why", "cure"),
    [
        (ALICE, {"deleted": True}, "Alice Adler no longer has an active account", "Ask your admin for access"),
        (ALICE, {"team": OTHER_TEAM, "is_stranger": True}, "Alice Adler is no longer in this workspace", "your admin"),
        (ALICE, {"is_restricted": True}, "the rules no longer let Alice Adler do this", "Ask your admin for access"),
        (BOB, {"deleted": True}, "Bob Brandt no longer has an active account", "Ask again to get a new approval"),
    ],
)
async def test_the_card_names_who_has_lost_access(
    asked: Harness, user: str, flags: dict[str, Any], why: str, cure: str
) -> None:
    asked.use_file(ONE.replace('may = ["run"]', 'who = ["members"]\nmay = ["run"]') + 'may = ["approve"]\n')
    shown = card(asked)
    await asked.slack.ui.click(BOB, GENERAL, shown.ts, "approval:approve")
    await asked.handle(await asked.take("a"))
    people = asked.slack.workspace.people
    people.put(user, replace(people[user], **flags))
    asked.monotonic += 3600  # what was looked up is old

    await asked.work("b")

    assert asked.service.runs == []
    assert f"not started, because {why}" in card(asked).text
    assert any(f"because {why}. " in text and cure in text for text in asked.seen.texts)
    assert not any("rules changed" in text for text in asked.seen.texts)


async def test_rules_that_no_longer_need_approval_let_an_approved_run_start(asked: Harness) -> None:
    shown = card(asked)
    await asked.slack.ui.click(BOB, GENERAL, shown.ts, "approval:approve")
    turn = await asked.take("a")
    await asked.handle(turn)
    asked.use_file("")

    await asked.work("b")

    assert len(asked.service.runs) == 1


# Every way to start a run


async def test_run_again_needs_a_new_approval(asked: Harness) -> None:
    await press(asked)
    await asked.press("run:again")

    assert len(asked.service.runs) == 1
    assert len(asked.seen.replies("bridge_approval")) == 2


async def test_a_scheduled_run_asks_as_its_owner(harness: Harness) -> None:
    harness.use_file(ONE)
    run = ScheduledRun(
        team=TEAM, channel=GENERAL, user=ALICE, task="t", slot=START, workflow=3, input="now", called="daily 09:00"
    )
    await harness.store.process().inbox.put(run)
    await harness.work()

    assert harness.service.runs == []
    assert "Scheduled by Alice Adler: daily 09:00" in str(card(harness).blocks)
    await press(harness)
    assert harness.service.runs == ["now"]
    (shown,) = harness.seen.replies("bridge_run")
    assert "Scheduled by Alice Adler: daily 09:00 · Approved by Bob Brandt" in str(shown.blocks)


async def test_a_run_that_nobody_set_up_can_be_approved(harness: Harness) -> None:
    harness.use_file(ONE)
    run = ScheduledRun(team=TEAM, channel=GENERAL, user="", task="t", slot=START, workflow=3, input="now", called="x")
    await harness.store.process().inbox.put(run)
    await harness.work()
    await press(harness, "withdraw", BOB)
    assert harness.seen.ephemerals[-1].text == "Only the person who asked for this can withdraw it."

    await press(harness)
    assert harness.service.runs == ["now"]


async def test_an_alerts_run_asks_as_its_owner(harness: Harness) -> None:
    harness.use_file(ONE)
    said = message("Alert: runs", source="app", app_name="an alert")
    harness.add_message(said)
    run = TriggeredRun(team=TEAM, channel=GENERAL, user=ALICE, workflow=3, message=said, is_alert=True)
    await harness.store.process().inbox.put(run)
    await harness.work()

    assert harness.service.runs == []
    assert card(harness).place == Place(GENERAL, said.ts)
    await press(harness)
    assert harness.service.runs == ["Alert: runs"]


@pytest.mark.parametrize(
    ("action", "user", "said"),
    [
        ("", "", "waits for approval"),
        ("approve", BOB, "was approved"),
        ("withdraw", ALICE, "was withdrawn"),
        ("expire", "", "wasn't approved in time"),
    ],
)
async def test_a_message_is_explained_by_its_request(harness: Harness, action: str, user: str, said: str) -> None:
    harness.use_file(ONE)
    typed = message("!workflows run 3 hello", channel=DM_ALICE, is_direct=True)
    await harness.receive(typed)
    await harness.work()
    if action == "expire":
        await later(harness, hours=5)
    elif action:
        await press_stale(harness, user, action, channel=DM_ALICE)

    explained = explain(await trace_of(harness.store.scripts, typed.key))
    assert explained is not None
    assert said in explained.happened()
    status = await status_of(harness.store.scripts)
    assert status.approvals == (0 if action else 1)


async def test_more_than_ten_approvers_are_mentioned_by_their_group(harness: Harness) -> None:
    members = harness.slack.workspace.groups[RUNNERS].members
    members += [f"U0MORE{number}" for number in range(10)]
    harness.use_file(f'[[rules]]\napprove = {{by = ["{RUNNERS}"]}}\n')
    await harness.type_command(LINE, user=BOB)

    blocks = json.dumps(card(harness).blocks)
    assert f'"usergroup_id": "{RUNNERS}"' in blocks
    assert "visible_to_user_ids" not in json.dumps(card(harness).blocks[-1]["elements"][:2])
    assert direct(harness, "D0CAROL") == []
    await press(harness, user=CAROL)
    assert len(harness.service.runs) == 1


async def test_a_reason_is_asked_for_first(harness: Harness) -> None:
    harness.use_file(ONE.replace("count = 1", "reason = true"))
    await harness.type_command(LINE)
    assert harness.seen.replies("bridge_approval") == []

    view = list(harness.slack.workspace.views.values())[-1]
    await harness.slack.ui.submit(view.id, {"reason": "Customer 7 waits."}, ALICE)
    await harness.work()

    assert "Why: “Customer 7 waits.”" in str(card(harness).blocks)
    await press(harness)
    assert harness.service.started == [(3, {"amount": 5, "to": "Bob"})]


# Lists


async def test_approvals_lists_requests_for_those_concerned(asked: Harness) -> None:
    for user, count in ((BOB, 1), (ALICE, 1), (GUEST, 0)):
        await asked.type_command("/approvals", user=user)
        listed = str(asked.seen.ephemerals[-1].blocks)
        assert listed.count("approval:review") == listed.count("Until <!date^") == count


async def review(harness: Harness, user: str, *, as_notice: bool = False) -> View:
    """Open the form of a request, from its notice or from the list."""
    if as_notice:
        mine = DM_BOB if user == BOB else DM_CAROL
        (notice,) = [one for one in harness.seen.messages if one.place.channel == mine]
        await harness.slack.ui.click(user, notice.message.channel, notice.ts, "approval:review")
    else:
        await harness.type_command("/approvals", user=user)
        await harness.press("approval:review", user=user, works=False)
    await harness.work()
    return list(harness.slack.workspace.views.values())[-1]


async def decide(harness: Harness, view: View, user: str, what: str, reason: str = "") -> None:
    await harness.slack.ui.submit(view.id, {"decision": what, "reason": reason}, user)
    await harness.work()


async def test_a_request_is_reviewed_and_approved_outside_its_card(asked: Harness) -> None:
    view = await review(asked, BOB)
    assert WRITTEN in json.dumps(view.blocks).replace('\\"', '"')

    await decide(asked, view, BOB, "approve")

    assert len(asked.service.runs) == 1
    assert card(asked).title == "✅ Import · approved by Bob Brandt"


async def test_a_review_shows_an_input_longer_than_a_card(harness: Harness) -> None:
    harness.use_file(ONE)
    await harness.type_command(f"/workflows run 3 {'x' * 7000}end")

    view = await review(harness, BOB)

    shown = [one["elements"][0] for one in view.blocks if one["type"] == "rich_text"]
    code = [one["elements"][0]["text"] for one in shown if one["type"] == "rich_text_preformatted"]
    assert "".join(code) == (await stored(harness)).input


async def test_a_review_wants_a_reason_to_deny(asked: Harness) -> None:
    view = await review(asked, BOB)
    for nothing in ("", "\u3164\u2060"):
        await decide(asked, view, BOB, "deny", nothing)
        assert asked.slack.workspace.views[view.id].errors == {"reason": "Write a reason."}
    assert (await stored(asked)).state == "waiting"

    await decide(asked, view, BOB, "deny", "Too much.")
    assert (await stored(asked)).reason == "Too much."


async def test_an_approver_outside_of_a_private_channel_decides_in_the_notice(harness: Harness) -> None:
    harness.use_file(ONE.replace(f'"{BOB}", ', ""))
    await harness.type_command(LINE, channel=PRIVATE)
    (notice,) = [one for one in harness.seen.messages if "approval:review" in str(one.blocks)]
    assert (notice.place.channel, "Open the card" in str(notice.blocks)) == (DM_CAROL, False)

    view = await review(harness, CAROL, as_notice=True)
    assert "Open the card" not in str(view.blocks)
    await decide(harness, view, CAROL, "approve")

    assert len(harness.service.runs) == 1


@pytest.mark.parametrize(
    ("action", "user", "said", "told"),
    [
        ("approve", CAROL, "✅ Import · approved by Carol Conti", "is already approved"),
        ("deny", CAROL, "🚫 Import · denied by Carol Conti", "is already denied"),
        ("withdraw", ALICE, "↩️ Import · withdrawn by Alice Adler", "was withdrawn"),
        ("expire", "", "⌛ Import · not approved in time", "has expired"),
        (
            "change",
            CAROL,
            "⚠️ Import · not started, because the rules changed; ask again for a new approval",
            "Something has changed",
        ),
    ],
)
async def test_the_card_and_an_old_notice_say_how_a_request_ended(
    asked: Harness, action: str, user: str, said: str, told: str
) -> None:
    await later(asked, hours=2.1)  # each got a reminder, too
    if action == "expire":
        await later(asked, hours=5)
    elif action == "deny":
        await deny(asked, user=CAROL)
    else:
        asked.use_file(TWO if action == "change" else ONE)
        await press(asked, "approve" if action == "change" else action, user)

    assert card(asked).title == said
    notice = [one for one in asked.seen.messages if one.place.channel == DM_BOB][-1]
    await asked.slack.ui.click(BOB, notice.message.channel, notice.ts, "approval:review")
    await asked.work()
    assert told in asked.seen.ephemerals[-1].text


@pytest.mark.parametrize(
    ("by", "named"),
    [
        ("S0RUNNERS", "@runners"),
        ("S0NOBODY", "a user group"),
        ("C0GENERAL", "members of #general"),
        ("C0PRIVATE", "members of a private channel"),
    ],
)
async def test_a_card_names_no_private_channel(harness: Harness, by: str, named: str) -> None:
    harness.use_file(f'[[rules]]\napprove = {{by = ["{by}"]}}')

    await harness.type_command("/workflows run 3 x")

    assert f"Needs 1 approval by {named}" in str(card(harness).blocks)


@pytest.mark.parametrize(
    ("user", "terms", "choices"),
    [
        (BOB, "", {"approve", "deny"}),
        (ALICE, "", {"withdraw"}),
        (ALICE, ", self = true", {"withdraw"}),  # and isn't among those who may
        (ALICE, ", self = true, alice", {"approve", "deny", "withdraw"}),
    ],
)
async def test_a_review_has_the_choices_of_its_reader(
    harness: Harness, user: str, terms: str, choices: set[str]
) -> None:
    by = '"U0BOB", "U0ALICE"' if "alice" in terms else '"U0BOB"'
    harness.use_file(f"[[rules]]\napprove = {{by = [{by}]{terms.removesuffix(', alice')}}}")
    await harness.type_command("/workflows run 3 x")

    view = await review(harness, user)

    (field,) = [one["element"] for one in view.blocks if one.get("block_id") == "decision"]
    assert {one["value"] for one in field["options"]} == choices


async def test_the_audit_has_who_rule_and_hash(harness: Harness) -> None:
    harness.configure(BRIDGE_AUDIT_DAYS="7")
    harness.use_file(ONE)
    await harness.type_command(LINE)
    await press(harness)

    entries: Any = [fields for _id, fields in await harness.store.redis.xrange("{test}:audit")]
    by_outcome = {one["outcome"]: one for one in entries}
    for outcome, user in (("waits for approval", ALICE), ("approved", BOB), ("ran", ALICE)):
        entry = by_outcome[outcome]
        assert (entry["user"], entry["sha256"]) == (user, digest_of(WRITTEN))
        assert entry["rule"].startswith("rule 1")
        assert WRITTEN not in str(entry)
