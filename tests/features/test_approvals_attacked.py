"""Approvals under attack: by members, guests, strangers, apps and agents, and by what Slack delivers twice or late.

Each test tries to start a run that nobody approved, to decide as someone else, or to make people believe that another
input is approved.
"""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from itertools import product
from typing import Any

import httpx
import pytest

from bridge.engine.destination import Destination
from bridge.features.approvals.store import MOST_OF_ONE, MOST_WAITING, ApprovalStore
from bridge.features.run_records import ApprovedRun, ScheduledRun
from bridge.inbound import Click, Submission
from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, CAROL, DM_BOB, GUEST, OTHER_BOT, RANDOM, STRANGER
from features.test_approvals import GENERAL, LINE, ONE, card, press, raw_click, stored
from support.harness import WORKFLOW, Harness
from support.store import TEAM, message
from support.tables import each

ATTACK = "approval:approve"


@pytest.fixture
async def asked(harness: Harness) -> Harness:
    harness.use_file(ONE)
    await harness.type_command(LINE)
    return harness


async def nothing_ran(harness: Harness) -> None:
    assert harness.service.runs == []
    assert (await stored(harness)).state == "waiting"
    assert (await stored(harness)).approved_by == ()


# As a member, a guest, a stranger, an app

NOBODY = [ALICE, GUEST, STRANGER, OTHER_BOT, BRIDGE, "USLACKBOT", "U0NOBODY", ""]


@each(("user", "action"), product(NOBODY, ["approve", "deny", "review"]))
async def test_a_click_of_nobody_who_may_decides_nothing(asked: Harness, user: str, action: str) -> None:
    value = (await stored(asked)).id if action == "review" else await value_of(asked)
    if user == ALICE and action == "review":
        return  # it's her own request
    await raw_click(asked, user, action, value)

    await nothing_ran(asked)
    assert all("approval:approve" not in str(one.blocks) for one in asked.seen.ephemerals if one.user == user)


async def value_of(harness: Harness, **changes: str) -> str:
    found = await stored(harness)
    return json.dumps({"a": found.id, "h": found.request.digest[:16]} | changes)


@each(
    "changes", [{"h": "0" * 16}, {"h": ""}, {"a": ""}, {"a": "nothing"}, {"a": "*"}, {"h": "x" * 64}, {"a": "a b\n1"}]
)
async def test_a_button_with_another_input_or_request_decides_nothing(asked: Harness, changes: dict[str, str]) -> None:
    await raw_click(asked, BOB, "approve", await value_of(asked, **changes))

    await nothing_ran(asked)


@each("value", ["", "{}", "null", "[]", "3", '{"a":1,"h":2}', "\u202e", "x" * 2000])
async def test_a_malformed_button_decides_nothing(asked: Harness, value: str) -> None:
    for action in ("approve", "deny", "withdraw", "review", "why"):
        await raw_click(asked, BOB, action, value)

    await nothing_ran(asked)


async def test_a_forwarded_or_copied_card_decides_nothing(asked: Harness) -> None:
    for channel, ts in ((RANDOM, card(asked).ts), (GENERAL, "1700000000.000001")):
        await raw_click(asked, BOB, "approve", await value_of(asked), channel=channel, ts=ts)

    await nothing_ran(asked)
    assert asked.seen.ephemerals[-1].text == "This is a copy of a request. Open the card itself, or use /approvals."


async def test_the_button_of_one_request_doesnt_decide_another(asked: Harness) -> None:
    first = await value_of(asked)
    await asked.type_command("/workflows run 3 other")
    second = asked.seen.replies("bridge_approval")[1]

    await raw_click(asked, BOB, "approve", first, ts=second.ts)

    assert asked.service.runs == []


@pytest.mark.parametrize("user", [BOB, GUEST])
async def test_someone_elses_form_and_reason_are_refused(harness: Harness, user: str) -> None:
    harness.use_file(ONE.replace("count = 1", "reason = true"))
    await harness.type_command(LINE)
    view = list(harness.slack.workspace.views.values())[-1]

    await harness.slack.ui.submit(view.id, {"reason": "for me"}, user)
    await harness.work()

    assert harness.seen.replies("bridge_approval") == []
    assert harness.service.runs == []


async def test_a_denial_form_that_was_open_when_rights_were_lost_is_refused(asked: Harness) -> None:
    await press(asked, "deny")
    asked.use_file(ONE.replace(f'"{BOB}", ', ""))
    view = list(asked.slack.workspace.views.values())[-1]
    await asked.slack.ui.submit(view.id, {"reason": "no"}, BOB)
    await asked.work()

    assert (await stored(asked)).state == "waiting"


async def test_a_deactivated_approver_doesnt_count_at_the_start(asked: Harness) -> None:
    await asked.slack.ui.click(BOB, GENERAL, card(asked).ts, ATTACK)
    await asked.handle(await asked.take("a"))
    people = asked.slack.workspace.people
    people.put(BOB, people[BOB].__class__(**{**vars_of(people[BOB]), "deleted": True}))
    asked.monotonic += 3600  # what was looked up is old

    await asked.work("b")

    assert asked.service.runs == []


def vars_of(one: Any) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__dataclass_fields__}


# What Slack delivers twice, late, or not at all


async def test_a_repeated_click_turn_counts_once(asked: Harness) -> None:
    """A worker decides and is killed; its successor finds the decision, although the right is gone by now."""
    await asked.slack.ui.click(BOB, GENERAL, card(asked).ts, ATTACK)
    await asked.handle(await asked.take("a"))
    asked.use_file(ONE.replace(f'"{BOB}", ', ""))

    await asked.take_over("b")

    assert (await stored(asked)).approved_by == (BOB,)
    assert asked.seen.ephemerals[-1].text.startswith("You approved this. The run's card shows how it goes")


async def test_a_card_decided_before_its_turn_is_done_isnt_posted_again(harness: Harness) -> None:
    harness.use_file(ONE)
    await harness.type_command(LINE, works=False)
    turn = await harness.take("a")
    turns = harness.parts().turns
    outcome = await harness.handle(turn)
    await turn.journal.outcome(turn.taken, outcome.model_dump_json(), what="x", writes=turn.staged)  # type: ignore[union-attr]
    to = Destination.of(turn.body, outcome.reply)  # type: ignore[union-attr]
    await turns.poster.post(turn, outcome, to, may_be_posted=False)  # type: ignore[arg-type] # and its process is killed
    await press(harness, name="b")

    await harness.take_over("c")
    await harness.work("c")

    assert card(harness).title == "✅ Import · approved by Bob Brandt"
    assert len(harness.service.runs) == 1


async def test_a_worker_that_lost_its_lane_decides_nothing(asked: Harness) -> None:
    from bridge.errors import LaneLost  # noqa: PLC0415 - only here

    await asked.slack.ui.click(BOB, GENERAL, card(asked).ts, ATTACK)
    turn = await asked.take("a")
    store, found = ApprovalStore(asked.store.scripts), await stored(asked)
    asked.use_file(ONE.replace(f'"{BOB}", ', ""))
    await asked.take_over("b")  # Bob is refused there

    with pytest.raises(LaneLost):
        await store.decide(turn, found, "approve", now=asked.store.clock(), terms=found.request.terms)

    await nothing_ran(asked)


async def test_a_queued_run_that_is_repeated_starts_once(asked: Harness) -> None:
    """Its turn may be queued again: by an operator, a button, or a forged copy in Redis."""
    await press(asked)
    found = await stored(asked)
    again = ApprovedRun(
        team=TEAM, channel=GENERAL, user=ALICE, approval=found.id, digest=found.request.digest, thread_ts=""
    )
    await asked.store.process().inbox.put(again)
    await asked.work()

    assert len(asked.service.runs) == 1
    assert "can't start another run" in asked.seen.texts[-1]


@pytest.mark.parametrize("state", ["waiting", "denied", "withdrawn", "expired", "changed"])
async def test_a_run_queued_without_an_approval_doesnt_start(asked: Harness, state: str) -> None:
    found = await stored(asked)
    await asked.store.redis.hset("{test}:approval:" + found.id, "state", state)
    forged = ApprovedRun(team=TEAM, channel=GENERAL, user=ALICE, approval=found.id, digest=found.request.digest)
    await asked.store.process().inbox.put(forged)
    await asked.work()

    assert asked.service.runs == []


@pytest.mark.parametrize(("field", "value"), [("input", '"other"'), ("digest", "0"), ("body", "{}")])
async def test_an_input_changed_in_redis_doesnt_run(asked: Harness, field: str, value: str) -> None:
    await asked.slack.ui.click(BOB, GENERAL, card(asked).ts, ATTACK)
    found = await stored(asked)
    if field == "digest":
        await asked.store.redis.hset("{test}:approval:" + found.id, field, value)
    else:
        await asked.handle(await asked.take("a"))
        await asked.store.redis.hset("{test}:approval:" + found.id, field, value)
    await asked.work("b")

    assert asked.service.runs == []


# As an agent, or anyone whose text is shown


FORGED = [
    "🔐 *Import* · waits for approval\n[Approve](https://evil.test) [Deny…](https://evil.test)",
    "✅ Import: approved by Bob Brandt",
    '{"type":"actions","elements":[{"type":"button","action_id":"approval:approve","value":"{}"}]}',
    "!approvals",
    "!workflows run 3 evil",
    "/workflows run 3 evil",
    "<!subteam^S0RUNNERS> please approve",
]


@pytest.mark.parametrize("text", FORGED)
async def test_an_agents_answer_forges_no_card_and_asks_for_nothing(harness: Harness, text: str) -> None:
    harness.use_file(ONE)
    harness.service.chats.append(httpx.Response(200, json={"sessionId": 1, "message": text, "toolsUsed": []}))
    said = message(f"<@{BRIDGE}> hello", is_mention=True)
    await harness.receive(said)
    await harness.work()

    (answer,) = harness.seen.replies()
    assert answer.tag.kind == "bridge_turn"
    assert harness.seen.replies("bridge_approval") == []
    assert "approval:" not in str([one for one in answer.blocks if one["type"] != "markdown"])
    assert "<!subteam" not in json.dumps(answer.blocks)
    assert harness.service.runs == []


NAMES = ["✅ Import: approved by Bob", "<!channel>", "x\n\n*Approve*", "\u202eevil", "", "`a` <@U0BOB>", "a" * 3000]


@pytest.mark.parametrize("name", NAMES)
async def test_a_workflows_name_forges_nothing_on_the_card(harness: Harness, name: str) -> None:
    harness.service.workflows = [{**WORKFLOW, "name": name}]
    harness.use_file(ONE)
    await harness.type_command(LINE)

    shown = card(harness)
    assert shown.text.startswith("🔐 ")
    assert shown.title.endswith(" · waits for approval")
    words = json.dumps(shown.blocks, ensure_ascii=False)
    assert "<!channel>" not in shown.text
    assert "\u202e" not in words
    assert all(one["type"] != "mrkdwn" or "Until" in one["text"] for one in texts(shown.blocks))


def texts(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        mine = [value] if value.get("type") in {"mrkdwn", "plain_text"} else []
        return mine + [one for inner in value.values() for one in texts(inner)]
    return [one for inner in value for one in texts(inner)] if isinstance(value, list) else []


async def test_an_input_can_hide_nothing_on_the_card(harness: Harness) -> None:
    harness.use_file(ONE)
    await harness.type_command('/workflows run 3 {"a": "x\\u202etxt\\n\\u200b", "b": "</pre>```"}')

    words = json.dumps(card(harness).blocks)
    assert "\\\\u202e" in words
    assert "\\\\u200b" in words


@pytest.mark.parametrize("reason", ["<!here> ok", "“”: approved", "x" * 3000, "\u202eno"])
async def test_a_reason_pings_nobody_and_stays_quoted(asked: Harness, reason: str) -> None:
    await press(asked, "deny")
    view = list(asked.slack.workspace.views.values())[-1]
    await asked.slack.ui.submit(view.id, {"reason": reason}, BOB)
    await asked.work()

    for one in (card(asked), *(one for one in asked.seen.messages if one.place.channel == "D0ALICE")):
        assert "<!here>" not in one.text
        assert "\u202e" not in json.dumps(one.blocks, ensure_ascii=False)
    assert (await stored(asked)).state == "denied"


async def test_a_person_typed_as_another_team_is_refused(asked: Harness) -> None:
    click = Click(
        team=TEAM, channel=GENERAL, user=STRANGER, user_team="T0PARTNER", is_shared=True, action_id=ATTACK,
        value=await value_of(asked), message_ts=card(asked).ts,
    )  # fmt: skip
    await asked.store.process().inbox.put(click)
    await asked.work()

    await nothing_ran(asked)


# The form that reviews a request


async def send(harness: Harness, user: str, value: str, what: str = "approve", reason: str = "", **more: Any) -> None:
    """Submit the form, as Slack would sign it, with whatever it carries."""
    metadata = json.dumps({"channel": GENERAL, "editing": value})
    form = Submission(
        team=TEAM, channel=GENERAL, opened_in=GENERAL, user=user, form="approval_review", private_metadata=metadata,
        values={"decision": what, "reason": reason}, response_url=harness.response_url(user, GENERAL), **more,
    )  # fmt: skip
    await harness.store.process().inbox.put(form)
    await harness.work()


@each(("user", "what"), product(NOBODY, ["approve", "deny"]))
async def test_a_review_by_nobody_who_may_decides_nothing(asked: Harness, user: str, what: str) -> None:
    await send(asked, user, await value_of(asked), what, "no")

    await nothing_ran(asked)


@pytest.mark.parametrize("user", [BOB, CAROL, GUEST])
async def test_only_the_asker_withdraws_in_a_review(asked: Harness, user: str) -> None:
    await send(asked, user, await value_of(asked), "withdraw")

    await nothing_ran(asked)


@each(
    "changes", [{"h": "0" * 16}, {"h": ""}, {"a": ""}, {"a": "nothing"}, {"a": "*"}, {"h": "x" * 64}, {"a": "a b\n1"}]
)
async def test_a_review_of_another_input_or_request_decides_nothing(asked: Harness, changes: dict[str, str]) -> None:
    await send(asked, BOB, await value_of(asked, **changes))

    await nothing_ran(asked)


@each(
    ("value", "what"),
    product(["", "{}", "null", "3", "\u202e", "x" * 2000], ["approve", "", "Approve", "expire", "deny"]),
)
async def test_a_malformed_review_decides_nothing(asked: Harness, value: str, what: str) -> None:
    await send(asked, BOB, value, what)
    await send(asked, BOB, await value_of(asked), what if what != "approve" else "")

    await nothing_ran(asked)


async def test_a_review_that_was_open_when_rights_were_lost_is_refused(asked: Harness) -> None:
    value = await value_of(asked)
    asked.use_file(ONE.replace(f'"{BOB}", ', ""))
    await send(asked, BOB, value)

    assert asked.service.runs == []
    assert (await stored(asked)).approved_by == ()


async def test_a_review_sent_twice_and_a_click_count_once(harness: Harness) -> None:
    harness.use_file(ONE.replace("count = 1", "count = 2"))
    await harness.type_command(LINE)
    for _ in range(3):
        await send(harness, BOB, await value_of(harness))
    await raw_click(harness, BOB, "approve", await value_of(harness))

    assert harness.service.runs == []
    assert (await stored(harness)).approved_by == (BOB,)


async def test_a_review_left_open_past_the_end_changes_nothing(asked: Harness) -> None:
    value = await value_of(asked)
    await press(asked)
    await send(asked, CAROL, value, "deny", "too late")

    assert (await stored(asked)).state == "approved"
    assert asked.seen.ephemerals[-1].text == "This request is already approved."


async def test_a_partners_person_reviews_nothing(asked: Harness) -> None:
    await send(asked, STRANGER, await value_of(asked), user_team="T0PARTNER", is_shared=True)

    await nothing_ran(asked)


async def test_nothing_in_a_notice_or_a_review_is_markup(harness: Harness) -> None:
    harness.service.workflows = [{**WORKFLOW, "name": "<!channel> *Approve*"}]
    harness.use_file(ONE)
    await harness.type_command('/workflows run 3 {"a": "```\\n<!here>"}')
    notices = [one for one in harness.seen.messages if "approval:review" in str(one.blocks)]
    await harness.slack.ui.click(BOB, DM_BOB, notices[0].ts, "approval:review")
    await harness.work()
    view = list(harness.slack.workspace.views.values())[-1]

    for blocks in (notices[0].blocks, view.blocks):
        assert all(one["type"] != "mrkdwn" or "Until" in one["text"] for one in texts(blocks))
    assert "<!channel>" not in notices[0].text


# Whoever asks too often


async def test_a_person_has_few_requests_waiting_and_others_still_ask(asked: Harness) -> None:
    for number in range(MOST_OF_ONE + 2):
        await asked.type_command(f"/workflows run 3 {number}", works=False)
    await asyncio.gather(*(asked.work(name) for name in ("a", "b", "c")))
    await asked.type_command(LINE, user=CAROL)

    assert len(asked.seen.replies("bridge_approval")) == MOST_OF_ONE + 1
    refused = [one.user for one in asked.seen.ephemerals if one.text.startswith("Too many of your requests")]
    assert refused == [ALICE] * 3

    await press(asked, "withdraw", ALICE, card_of=asked.seen.replies("bridge_approval")[0])
    await asked.type_command("/workflows run 3 again")
    assert len(asked.seen.replies("bridge_approval")) == MOST_OF_ONE + 2


async def test_no_crowd_fills_the_list_of_requests(asked: Harness) -> None:
    far = asked.store.clock().timestamp() * 2000
    await asked.store.redis.zadd("{test}:approvals", {str(number): far for number in range(MOST_WAITING - 2)})
    for user in (ALICE, BOB, CAROL):
        await asked.type_command(LINE, user=user)

    assert len(asked.seen.replies("bridge_approval")) == 2
    assert asked.seen.ephemerals[-1].text == (
        "Too many requests are waiting for approval. Ask again when some of them are decided."
    )
    assert asked.service.runs == []


async def test_a_schedule_at_the_cap_says_so_on_its_card(asked: Harness) -> None:
    for number in range(MOST_OF_ONE):
        await asked.type_command(f"/workflows run 3 {number}", works=False)
    await asked.work()
    task = ScheduledRun(
        team=TEAM, channel=GENERAL, user=ALICE, workflow=3, input="x", task="t1", slot="1700000000", called="daily",
    )  # fmt: skip
    await asked.store.process().inbox.put(task)
    await asked.work()

    (shown,) = asked.seen.replies("bridge_run")
    assert "Too many of your requests" in str(shown.blocks)


async def test_a_claim_without_a_request_is_given_back(asked: Harness) -> None:
    await asked.type_command("/workflows run 3 other", works=False)
    turn = await asked.take("a")
    await ApprovalStore(asked.store.scripts).claim(turn, "never stored", ALICE, asked.store.clock())
    assert await asked.store.redis.zcard("{test}:approvals") == 2
    assert len(await ApprovalStore(asked.store.scripts).waiting()) == 1

    await asked.store.redis.delete("{test}:approval:never stored")  # it expires
    asked.store.clock.time += timedelta(minutes=11)
    await asked.parts().clock.claim_slots()

    assert await asked.store.redis.zscore("{test}:approvals", "never stored") is None
