"""*Why no answer?* and ``!why`` explain each cause, which is staged with Slack's own requests, and name a cure."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest

from bridge.cli.trace import summary_of
from bridge.features.channels.settings import AppRule, ChannelSettings
from bridge.ids import MessageKey
from bridge.inbound import WAITING_LIMIT
from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.faults import DropAfter, Error
from bridge.playground.emulator.sample import (
    ALICE,
    BOB,
    BRIDGE,
    CAROL,
    DM_ALICE,
    GENERAL,
    GUEST,
    NOBOT,
    OTHER_BOT,
    PRIVATE,
    RANDOM,
    SHARED,
    STRANGER,
)
from bridge.queue.trace import trace_of
from bridge.slack.parts import Place
from support.harness import NOT_NOW, POST, READ, REFUSED, SALES, SUPPORT, WHISPER, Harness
from support.store import TEAM
from support.waiting import wait_until

AT = (GENERAL, ALICE)
SEND, AGAIN, NEW_TEXT = "reply:send", "turn:again", "turn:edited"


async def mention(harness: Harness, text: str = "hello", root: str = "", **how: Any) -> str:
    return await harness.say(f"<@{BRIDGE}> {text}", root, **how)


async def ask(harness: Harness, ts: str, channel: str = GENERAL, user: str = ALICE) -> Message:
    """Use the shortcut; return the private answer."""
    passed = harness.parts().turns.deps.inbox._passed
    await wait_until(lambda: passed._writer is None, "what isn't for an agent is recorded")
    before = len(harness.slack.workspace.messages.private)
    delivery = await harness.slack.ui.message_shortcut(user, channel, ts, "why")
    assert delivery.status == 200
    await harness.work()
    answers = [one for one in harness.slack.workspace.messages.private[before:] if one.user == BRIDGE]
    assert len(answers) == 1
    assert (answers[0].to, answers[0].channel) == (user, channel)
    return answers[0]


def buttons(message: Message) -> list[str]:
    return [
        element["action_id"]
        for block in message.blocks or []
        if block["type"] == "actions"
        for element in block["elements"]
    ]


def sentences(message: Message) -> list[str]:
    return re.split(r"(?<=[.?])\s+(?=[A-Z<h])", message.text)


# Each stages a cause, and returns the message that got no answer: its ts, and its channel and author unless these are
# the usual ones.

Staged = str | tuple[str, str, str]


async def not_addressed(harness: Harness) -> Staged:
    return await harness.say("hello, everyone")


async def reply_among_people(harness: Harness) -> Staged:
    root = await mention(harness)
    await harness.say("my view", root, user=BOB)
    return await harness.say("and now?", root)


async def reply_where_replies_need_a_mention(harness: Harness) -> Staged:
    await harness.store.set_channel(replies="mentions")
    return await harness.say("and now?", await mention(harness))


async def for_someone_else(harness: Harness) -> Staged:
    return await harness.say(f"<@{BOB}> look", await mention(harness))


async def without_a_conversation(harness: Harness) -> Staged:
    return await harness.say("and now?", await harness.say("What is this?"))


async def without_the_bot(harness: Harness) -> Staged:
    return await mention(harness, channel=NOBOT), NOBOT, ALICE


async def elsewhere_than_allowed(harness: Harness) -> Staged:
    harness.configure(BRIDGE_ALLOWED_CHANNELS=RANDOM)
    return await mention(harness)


async def by_someone_not_allowed(harness: Harness) -> Staged:
    harness.configure(BRIDGE_ALLOWED_USERS=BOB)
    return await mention(harness)


async def by_a_stranger(harness: Harness) -> Staged:
    return await mention(harness, channel=SHARED, user=STRANGER), SHARED, STRANGER


async def refused_before(harness: Harness) -> Staged:
    harness.configure(BRIDGE_ALLOWED_CHANNELS=RANDOM)
    ts = await mention(harness)
    harness.configure(BRIDGE_ALLOWED_CHANNELS=GENERAL)
    return ts


async def no_longer_allowed(harness: Harness) -> Staged:
    ts = await mention(harness, works=False)
    harness.configure(BRIDGE_ALLOWED_CHANNELS=RANDOM)
    await harness.work()
    harness.configure(BRIDGE_ALLOWED_CHANNELS=GENERAL)
    return ts


async def muted(harness: Harness) -> Staged:
    root = await mention(harness)
    await harness.say("!mute", root)
    return await harness.say("and now?", root)


async def waiting_for_a_choice(harness: Harness) -> Staged:
    harness.service.agents = [SUPPORT, SALES]
    return await mention(harness)


async def after_one_that_waits_for_a_choice(harness: Harness) -> Staged:
    harness.service.agents = [SUPPORT, SALES]
    return await harness.say("anyone?", await mention(harness))


async def after_others(harness: Harness) -> Staged:
    root = await mention(harness, works=False)
    await harness.store.process("busy").take()
    await harness.say("second", root, works=False)
    return await harness.say("third", root, works=False)


async def after_a_stop(harness: Harness) -> Staged:
    root = await mention(harness, works=False)
    second = await harness.say("second", root, works=False)
    await harness.say("!stop", root)
    return second


async def stopped(harness: Harness, by: str = ALICE) -> Staged:
    root = await mention(harness, works=False)
    await harness.say("!stop", root, user=by)
    return root


async def while_the_service_is_down(harness: Harness) -> Staged:
    harness.service.always = REFUSED
    ts = await mention(harness, works=False)
    running.append(asyncio.create_task(harness.work("b")))
    await wait_until(lambda: not harness.wires.project.is_up, "the service is down")
    return ts


async def while_the_service_is_busy(harness: Harness) -> Staged:
    harness.service.chats = [httpx.Response(429, headers={"Retry-After": "1800"})]
    harness.on_sleep = asyncio.Event().wait  # type: ignore[assignment]
    ts = await mention(harness, works=False)
    running.append(asyncio.create_task(harness.work("b")))
    await wait_until(lambda: 1800 in harness.slept, "it waits")
    return ts


async def with_the_agent(harness: Harness) -> Staged:
    harness.service.gate.clear()
    ts = await mention(harness, works=False)
    running.append(asyncio.create_task(harness.work("b")))
    await wait_until(lambda: harness.service.in_flight, "the agent works")
    return ts


async def answered_with_an_error(harness: Harness) -> Staged:
    harness.service.chats = [httpx.Response(400, json={"error": "no such topic"})]
    return await mention(harness)


async def with_an_unknown_outcome(harness: Harness) -> Staged:
    harness.service.chats = [httpx.Response(500)]
    return await mention(harness)


async def answered(harness: Harness) -> Staged:
    return await mention(harness)


async def answered_in_private(harness: Harness) -> Staged:
    return await harness.say("!agent nobody", await mention(harness))


async def looks_like_a_command(harness: Harness) -> Staged:
    return await harness.say("!sesion", await mention(harness))


async def edited_too_late(harness: Harness) -> Staged:
    ts = await mention(harness)
    await harness.slack.people.edit(GENERAL, ts, f"<@{BRIDGE}> hello again")
    await harness.work()
    return ts


async def too_old(harness: Harness) -> Staged:
    ts = await mention(harness, works=False)
    harness.store.clock.time += timedelta(hours=25)
    await harness.work()
    return ts


async def refused_by_slack(harness: Harness) -> Staged:
    harness.slack.faults.on(POST, Error("is_archived"))
    return await mention(harness)


async def menu_refused_by_slack(harness: Harness) -> Staged:
    harness.service.agents = [SUPPORT, SALES]
    harness.slack.faults.on(POST, Error("restricted_action_read_only_channel"))
    return await mention(harness)


async def never_finished(harness: Harness) -> Staged:
    ts = await mention(harness, works=False)
    await harness.store.process("c").take()
    await harness.store.wear_out()
    await harness.take_over()
    await harness.work()
    return ts


async def discarded_by_an_admin(harness: Harness) -> Staged:
    harness.slack.faults.on(POST, Error("is_archived"))
    ts = await mention(harness)
    [turn] = (await trace_of(harness.store.scripts, MessageKey(TEAM, GENERAL, ts))).turns
    await harness.store.scripts.run("drop", turn.id, 0, 60_000)
    return ts


async def not_delivered(harness: Harness) -> Staged:
    ts = f"{harness.store.clock().timestamp():.6f}"
    harness.write(ts, f"<@{BRIDGE}> hello")
    return ts


async def before_the_bridge(harness: Harness) -> Staged:
    ts = f"{harness.store.clock().timestamp() - 60:.6f}"
    harness.write(ts, f"<@{BRIDGE}> hello")
    return ts


async def weeks_ago(harness: Harness) -> Staged:
    ts = await not_delivered(harness)
    harness.store.clock.time += timedelta(days=8)
    return ts


async def in_a_full_thread(harness: Harness) -> Staged:
    root = await mention(harness, works=False)
    await harness.store.process("busy").take()
    for number in range(1, WAITING_LIMIT):
        await harness.say(f"more {number}", root, works=False)
    return await harness.say("one too many", root)


async def too_many_messages(harness: Harness) -> Staged:
    harness.configure(BRIDGE_USER_TURNS_PER_MINUTE="1")
    await mention(harness)
    return await mention(harness, "again")


async def by_an_app(harness: Harness) -> Staged:
    app = {"bot_id": "B0OTHERBOT", "app_id": "A0OTHERBOT", "subtype": "bot_message"}
    ts = f"{harness.store.clock().timestamp() + 1:.6f}"
    harness.write(ts, "Disk full", user=OTHER_BOT)
    event = {"type": "message", "channel": GENERAL, "ts": ts, "user": OTHER_BOT, "text": "Disk full", **app}
    await harness.slack.people.send_event(event, GENERAL)
    return ts


async def by_the_bot(harness: Harness) -> Staged:
    await mention(harness)
    return harness.seen.messages[-1].ts


async def by_the_bot_with_an_agents_name(harness: Harness) -> Staged:
    harness.slack.scopes.add("chat:write.customize")
    harness.identity = (await harness.wires.web.hello()).identity
    harness.configure()
    await mention(harness)
    [answer] = harness.seen.replies()
    assert answer.message.is_customized
    return answer.ts


async def about_a_join(harness: Harness) -> Staged:
    ts = f"{harness.store.clock().timestamp():.6f}"
    harness.write(ts, f"<@{ALICE}> has joined the channel", subtype="channel_join")
    return ts


async def about_a_topic_in_a_thread(harness: Harness) -> Staged:
    root = await mention(harness)
    ts = f"{float(root) + 1:.6f}"
    harness.write(ts, "set the channel topic: tea", thread_ts=root, subtype="channel_topic")
    return ts


async def post_in_doubt(harness: Harness) -> Staged:
    ts = await mention(harness, works=False)
    harness.slack.faults.on(READ, Error("missing_scope"), times=None)
    harness.slack.faults.on(POST, DropAfter())
    await harness.work()
    return ts


async def refused_by_a_rule(harness: Harness) -> Staged:
    harness.use_file(f'[[rules]]\nwho = ["{BOB}"]\nmay = ["ask"]\n[[rules]]\nmay = ["trace"]\n')
    return await mention(harness)


async def run_refused_by_a_rule(harness: Harness) -> Staged:
    harness.use_file('[[rules]]\nmay = ["run"]\nrefuse = true\n[[rules]]\n')
    return await mention(harness, "!workflows run 3 x")


async def over_a_limit(harness: Harness) -> Staged:
    harness.use_file('[[limits]]\nper = "person"\nturns = 1\n')
    await mention(harness)
    return await mention(harness, "again")


async def waiting_for_approval(harness: Harness) -> Staged:
    harness.use_file(f'[[rules]]\nmay = ["run"]\napprove = {{by = ["{BOB}"]}}\n[[rules]]\n')
    return await mention(harness, "!workflows run 3 x")


async def approved(harness: Harness) -> Staged:
    ts = await waiting_for_approval(harness)
    await harness.slack.ui.click(BOB, GENERAL, harness.seen.replies("bridge_approval")[0].ts, "approval:approve")
    await harness.work()
    return ts


async def denied(harness: Harness) -> Staged:
    ts = await waiting_for_approval(harness)
    await harness.slack.ui.click(BOB, GENERAL, harness.seen.replies("bridge_approval")[0].ts, "approval:deny")
    await harness.work()
    (view,) = harness.slack.workspace.views.values()
    await harness.slack.ui.submit(view.id, {"reason": "Too much."}, BOB)
    await harness.work()
    return ts


async def not_approved_in_time(harness: Harness) -> Staged:
    ts = await waiting_for_approval(harness)
    await harness.at(harness.store.clock.time + timedelta(hours=25))
    return ts


async def request_withdrawn(harness: Harness) -> Staged:
    ts = await waiting_for_approval(harness)
    await harness.slack.ui.click(ALICE, GENERAL, harness.seen.replies("bridge_approval")[0].ts, "approval:withdraw")
    await harness.work()
    return ts


async def of_a_removed_project(harness: Harness) -> Staged:
    harness.serve("orders", orders=RANDOM)
    ts = await mention(harness, channel=RANDOM, works=False)
    harness.serve()
    await harness.work()
    return ts, RANDOM, ALICE


async def for_a_forbidden_agent(harness: Harness) -> Staged:
    harness.service.chats = [httpx.Response(401)]
    return await mention(harness)


async def for_an_agent_that_is_gone(harness: Harness) -> Staged:
    root = await mention(harness)
    harness.service.agents, harness.service.chats = [SALES], [httpx.Response(404)]
    harness.monotonic += 60
    return await harness.say("and now?", root)


async def edited_away_before_it_came(harness: Harness) -> Staged:
    ts = await not_delivered(harness)
    text = f"<@{BRIDGE}> hello"
    await harness.slack.people.edit(GENERAL, str(ts), "hello, everyone")
    event = {"type": "app_mention", "channel": GENERAL, "ts": ts, "user": ALICE, "team": TEAM, "text": text}
    await harness.slack.people.send_event(event, GENERAL)
    return ts


async def with_a_file_that_is_not_allowed(harness: Harness) -> Staged:
    harness.configure(BRIDGE_FILES="off")
    files = harness.slack.people.attach(ALICE, {"notes.txt": b"Tea is due."})
    ts = await harness.slack.people.say(ALICE, GENERAL, f"<@{BRIDGE}>", files=files)
    await harness.work()
    return ts


async def by_an_app_whose_rule_is_paused(harness: Harness) -> Staged:
    await harness.store.set_channel(apps={"A0OTHERBOT": AppRule(agent=7, owner=BOB, paused="deactivated")})
    return await by_an_app(harness)


async def by_an_app_whose_run_a_rule_refuses(harness: Harness) -> Staged:
    await harness.store.set_channel(apps={"A0OTHERBOT": AppRule(workflow=3, owner=BOB)})
    harness.use_file('[[rules]]\nmay = ["run"]\nrefuse = true\n[[rules]]\n')
    ts = await by_an_app(harness)
    await harness.work()
    return ts


async def by_an_app_whose_owner_lost_access(harness: Harness) -> Staged:
    await harness.store.set_channel(apps={"A0OTHERBOT": AppRule(agent=7, owner=BOB)})
    harness.configure(BRIDGE_ALLOWED_USERS=ALICE)
    ts = await by_an_app(harness)
    await harness.work()
    return ts


CAUSES: list[tuple[Callable[[Harness], Awaitable[Staged]], str, str, list[str]]] = [
    (not_addressed, "doesn't mention me", "Mention me in it, or in a reply", []),
    (reply_among_people, "Others are writing in this thread", "Mention me when", [SEND]),
    (reply_where_replies_need_a_mention, "Replies need a mention in this channel", "Mention me when", [SEND]),
    (for_someone_else, "starts by mentioning someone else", "Mention me when", [SEND]),
    (without_a_conversation, "no conversation with an agent", "Mention me in it to start one", []),
    (without_the_bot, "I'm not in this channel", "Invite me with /invite", []),
    (elsewhere_than_allowed, "isn't enabled in this channel", "Ask your admin to enable it", []),
    (by_someone_not_allowed, "You don't have access", "Ask your admin to add you", []),
    (by_a_stranger, "Only members of the bridge's own workspace", "", []),
    (refused_before, "isn't enabled in this channel", "Ask your admin to enable it", []),
    (no_longer_allowed, "no longer has access", "Ask your admin", []),
    (muted, "This thread is muted", "Type !unmute", []),
    (waiting_for_a_choice, "waiting for someone to pick an agent", "Pick one from the menu", []),
    (after_one_that_waits_for_a_choice, "waiting for someone to pick an agent", "Pick one from the menu", []),
    (after_others, "waiting for 2 other messages in this thread", "once they're answered", []),
    (after_a_stop, "This thread was stopped", "Write another message", []),
    (stopped, "Someone stopped this message", "Send it again", [AGAIN]),
    (while_the_service_is_down, r"has been unavailable since \d", "once the service is back", []),
    (while_the_service_is_busy, r"again at \d.*, because the project service isn't acc", "Type !stop", []),
    (with_the_agent, r"sent to the project service at \d.*no answer yet", "Type !stop", []),
    (answered_with_an_error, r"answered with an error \(400, “no such topic”\)", "Change the message", []),
    (with_an_unknown_outcome, r"can't tell whether the agent received this message \(500\)", "may repeat", [AGAIN]),
    (answered, "The agent replied to this message", "Open its reply", []),
    (answered_in_private, "couldn't carry out this command", "My reply says what to change", []),
    (looks_like_a_command, "looked like a mistyped command", "Choose below my question", []),
    (edited_too_late, "received this message before it was edited", "Send the new text", [NEW_TEXT]),
    (too_old, "waited too long", "Send it again", [AGAIN]),
    (refused_by_slack, "Slack refused my reply: the channel is archived", "your admin can post it", []),
    (menu_refused_by_slack, "Slack refused my reply: the channel is read-only", "once that's fixed", [AGAIN]),
    (never_finished, "couldn't finish this message", "Send it again", [AGAIN]),
    (discarded_by_an_admin, "your admin discarded it", "Send it again", []),
    (not_delivered, "Slack hasn't delivered this message", "look at Event Subscriptions", []),
    (before_the_bridge, r"older than my records, which begin at \d", "Send it again", []),
    (weeks_ago, "older than seven days", "Send it again", []),
    (in_a_full_thread, "Too many messages were already waiting", "Send it again later", []),
    (too_many_messages, "sending messages too fast", "Wait a minute", []),
    (by_an_app, "no rule for the app that posted this", "/agents channel ask", []),
    (by_the_bot, "one of my own messages", "Use this on the message", []),
    (by_the_bot_with_an_agents_name, "one of my own messages", "Use this on the message", []),
    (about_a_join, "isn't a message that someone wrote, so it's not for an agent", "Use this on a message", []),
    (about_a_topic_in_a_thread, "isn't a message that someone wrote", "Use this on a message", []),
    (post_in_doubt, "didn't confirm my reply", "press Show it", []),
    (refused_by_a_rule, "^You can't talk to agents here: only certain people can", "Ask your admin for access", []),
    (run_refused_by_a_rule, "^You can't run “Import” here: nobody can", "Ask your admin for access", []),
    (over_a_limit, r"A limit was used up.*\(your limit of 1 message per hour\)", "Try again later", []),
    (waiting_for_approval, "waits for approval", "Ask one of the people whom its card names", []),
    (approved, "was approved", "Its own card shows how it ended", []),
    (denied, "was denied", "Its card says by whom and why", []),
    (not_approved_in_time, "wasn't approved in time", "Ask again to get a new approval", []),
    (request_withdrawn, "was withdrawn, so nothing ran", "Ask again to get a new approval", []),
    (of_a_removed_project, "project that this message was for was removed", "Ask your admin which project", []),
    (for_a_forbidden_agent, r"doesn't let the bridge do this \(401\)", "Let your admin know", []),
    (for_an_agent_that_is_gone, r"no longer has the agent or workflow.*\(404\)", "Pick another one", []),
    (edited_away_before_it_came, "its new text isn't for an agent", "Mention me in it", []),
    (with_a_file_that_is_not_allowed, "Nothing in this message could be read", "Say in words what you need", []),
    (by_an_app_whose_rule_is_paused, "rule for this app is paused", "/agents channel", []),
    (by_an_app_whose_run_a_rule_refuses, "rule for this app is paused", "/agents channel", []),
    (by_an_app_whose_owner_lost_access, "rule for this app is paused", "/agents channel", []),
]
UNRECORDED = {
    by_a_stranger, by_someone_not_allowed, elsewhere_than_allowed,  # those may not use the shortcut
    without_the_bot, about_a_join, about_a_topic_in_a_thread, not_delivered, before_the_bridge, weeks_ago,
    # the command line can't know as much
    by_the_bot, by_the_bot_with_an_agents_name, no_longer_allowed, while_the_service_is_down,
}  # fmt: skip
running: list[asyncio.Task[None]] = []


@pytest.fixture(autouse=True)
async def _no_work_is_left(harness: Harness) -> Any:
    yield
    harness.service.gate.set()
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    running.clear()


@pytest.mark.parametrize(("stage", "happened", "cure", "actions"), CAUSES, ids=lambda one: getattr(one, "__name__", ""))
async def test_shortcut_and_command_line_say_what_happened_and_what_helps(
    harness: Harness, stage: Callable[[Harness], Awaitable[Staged]], happened: str, cure: str, actions: list[str]
) -> None:
    staged = await stage(harness)
    ts, channel, author = staged if isinstance(staged, tuple) else (staged, *AT)

    answer = await ask(harness, ts, channel, author)

    assert re.search(happened, sentences(answer)[0])
    assert cure in answer.text
    assert len([one for one in sentences(answer) if not one.startswith("http")]) <= 2
    assert buttons(answer) == actions
    if stage not in UNRECORDED:
        summary = summary_of(await trace_of(harness.store.scripts, MessageKey(TEAM, channel, ts)))
        for_operators, for_people = (
            re.sub(r" at 20.*?, ", " ", one) for one in (summary, answer.text.partition(" http")[0])
        )
        assert for_operators == for_people


async def test_send_it_sends_the_reply_once(harness: Harness) -> None:
    ts = str(await reply_where_replies_need_a_mention(harness))
    answers = [await ask(harness, ts) for _ in range(2)]

    for answer in answers:
        await harness.slack.ui.click(ALICE, GENERAL, answer.ts, SEND)
        await harness.work()

    assert harness.service.messages[1:] == ["and now?"]
    assert {one.text for one in answers} == {"Sent to the agent."}
    assert "replied to this message" in (await ask(harness, ts)).text


async def test_send_again_from_the_answer_stays_private(harness: Harness) -> None:
    ts = str(await with_an_unknown_outcome(harness))
    await ask(harness, ts)
    public = len(harness.seen.messages)
    press = harness.slack.workspace.messages.private[-1]

    await harness.slack.ui.click(ALICE, GENERAL, press.ts, AGAIN)
    await harness.work()

    assert harness.service.messages == ["hello", "hello"]
    assert [one.text for one in harness.seen.messages[public:]] == ["re: hello"]


async def test_an_answer_is_linked(harness: Harness) -> None:
    ts = await mention(harness)

    answer = await ask(harness, ts)

    [shown] = harness.seen.replies()
    link = f"/archives/{GENERAL}/p{shown.ts.replace('.', '')}?thread_ts={ts}&amp;cid={GENERAL}"
    assert answer.text.endswith(link)
    assert str(answer.blocks).count("Open its reply") == 1


async def test_only_people_who_may_run_get_the_traces_reference(harness: Harness) -> None:
    ts = await mention(harness, channel=RANDOM)
    [turn] = (await trace_of(harness.store.scripts, MessageKey(TEAM, RANDOM, ts))).turns

    member, guest = await ask(harness, ts, RANDOM), await ask(harness, ts, RANDOM, GUEST)

    assert f"ID {turn.id}" in str(member.blocks)
    assert turn.id not in str(guest.blocks)


@pytest.mark.parametrize("stage", [too_many_messages, answered_in_private, edited_too_late, looks_like_a_command])
async def test_others_are_not_shown_what_only_its_author_saw(harness: Harness, stage: Any) -> None:
    answer = await ask(harness, await stage(harness), user=CAROL)

    assert sentences(answer)[0] == "Only its author can see what happened to this message."
    assert buttons(answer) == []


async def test_others_are_shown_what_everyone_sees_without_the_authors_button(harness: Harness) -> None:
    ts = str(await reply_where_replies_need_a_mention(harness))

    answer = await ask(harness, ts, user=CAROL)

    assert "Replies need a mention" in answer.text
    assert buttons(answer) == []


async def why(harness: Harness, text: str = "!why", root: str = "", **who: str) -> str:
    passed = harness.parts().turns.deps.inbox._passed
    await wait_until(lambda: passed._writer is None, "what isn't for an agent is recorded")
    await harness.say(text, root, **who)
    return harness.seen.ephemerals[-1].text


async def test_why_in_a_thread_is_about_its_persons_last_message(harness: Harness) -> None:
    root = await mention(harness)
    await harness.say(f"<@{BOB}> look", root)
    await harness.say("I see", root, user=BOB)
    await harness.say("!why", root)

    said = await why(harness, root=root)

    assert "starts by mentioning someone else" in said
    assert harness.seen.ephemerals[-1].message.thread_ts == root


async def test_why_of_someone_who_has_written_nothing_is_about_the_last_message(harness: Harness) -> None:
    root = await mention(harness)

    assert "replied to this message" in await why(harness, root=root, user=CAROL)


@pytest.mark.parametrize(("stops", "asks"), [(ALICE, ALICE), (BOB, BOB), (ALICE, CAROL)])
async def test_why_after_a_stop_is_about_what_was_stopped(harness: Harness, stops: str, asks: str) -> None:
    root = await stopped(harness, stops)

    assert "Someone stopped this message" in await why(harness, root=str(root), user=asks)


async def test_why_after_a_stop_works_without_the_permission_to_read(harness: Harness) -> None:
    root = await stopped(harness)
    harness.slack.faults.on(READ, Error("missing_scope"), times=None)

    assert "Someone stopped this message" in await why(harness, root=str(root))


async def test_why_after_a_command_alone_is_about_that(harness: Harness) -> None:
    root = await mention(harness, "!workflows run 99 x")

    assert "couldn't carry out this command" in await why(harness, root=root)


@pytest.mark.parametrize("how", ["!why", f"<@{BRIDGE}> !why", "*!why*"])
async def test_why_needs_no_conversation(harness: Harness, how: str) -> None:
    root = await harness.say("What is this?")

    assert "doesn't mention me" in await why(harness, how, root)


async def test_why_works_without_the_permission_to_read(harness: Harness) -> None:
    root = await mention(harness)
    await harness.say(f"<@{BOB}> look", root)
    harness.slack.faults.on(READ, Error("missing_scope"), times=None)

    assert "starts by mentioning someone else" in await why(harness, root=root)


def link_to(ts: str, channel: str = GENERAL, root: str = "") -> str:
    thread = f"?thread_ts={root}&amp;cid={channel}" if root else ""
    return f"<https://playground.slack.com/archives/{channel}/p{ts.replace('.', '')}{thread}>"


async def test_why_with_a_link_is_about_that_message(harness: Harness) -> None:
    root = await mention(harness)
    reply = await harness.say(f"<@{BOB}> look", root)
    await mention(harness, "more", root)

    assert "starts by mentioning someone else" in await why(harness, f"!why {link_to(reply, root=root)}", root)
    assert "replied" in await why(harness, f"!why {link_to(root)}", root)


async def test_why_with_a_link_to_an_answer_knows_its_own(harness: Harness) -> None:
    root = await mention(harness)
    [answer] = harness.seen.replies()

    assert "one of my own messages" in await why(harness, f"!why {link_to(answer.ts, root=root)}", root)


async def test_why_with_a_link_finds_a_deleted_message(harness: Harness) -> None:
    first = await mention(harness, works=False)
    await harness.slack.people.delete(GENERAL, first)
    await harness.work()

    assert "This message was deleted" in await why(harness, f"!why {link_to(first)}", await mention(harness))


async def test_why_knows_of_a_deletion_before_the_message_is_due(harness: Harness) -> None:
    harness.service.gate.clear()
    root = await mention(harness, works=False)
    running.append(asyncio.create_task(harness.work("b")))
    await wait_until(lambda: harness.service.in_flight, "the agent works")
    second = await harness.say("second", root, works=False)
    await harness.slack.people.delete(GENERAL, second)

    await mention(harness, f"!why {link_to(second, root=root)}")

    assert "This message was deleted" in harness.seen.ephemerals[-1].text


async def test_why_with_a_link_to_a_join_says_it_is_not_a_message(harness: Harness) -> None:
    ts = await about_a_join(harness)

    assert "isn't a message that someone wrote" in await why(
        harness, f"!why {link_to(str(ts))}", await mention(harness)
    )


async def test_why_does_not_say_what_its_person_cannot_see(harness: Harness) -> None:
    hidden = await mention(harness, channel=PRIVATE, user=BOB)
    root = await mention(harness, user=CAROL)

    said = await why(harness, f"!why {link_to(hidden, PRIVATE)}", root, user=CAROL)

    assert "I can't see which message you mean" in said
    assert "replied" in await why(harness, f"!why {link_to(hidden, PRIVATE)}", root)


@pytest.mark.parametrize("typed", ["!why hello", "!why https://example.com/archives", "!why 1.2"])
async def test_why_with_anything_else_says_how(harness: Harness, typed: str) -> None:
    assert "type !why and its link" in await why(harness, typed, await mention(harness))


async def test_why_in_a_direct_message_is_about_the_last_one(harness: Harness) -> None:
    harness.service.chats = [httpx.Response(500)]
    await harness.say("hello", channel=DM_ALICE)

    await harness.say("!why", channel=DM_ALICE)

    assert any("can't tell whether the agent received" in one.text for one in harness.seen.messages[-1:])


async def test_a_channel_that_answers_all_expects_an_unmentioned_message(harness: Harness) -> None:
    await harness.store.set_channel(**ChannelSettings(answers="all").model_dump(exclude_defaults=True))
    ts = await not_delivered(harness)

    assert "Slack hasn't delivered" in (await ask(harness, str(ts))).text


async def test_while_messages_are_being_caught_up_on_it_says_so(harness: Harness) -> None:
    ts = str(await not_delivered(harness))
    now = harness.store.clock()
    outages = harness.parts().catch_up.outages
    await outages.note(now - timedelta(minutes=1), now + timedelta(minutes=1))

    assert "haven't reached this message" in (await ask(harness, ts)).text


async def test_guests_are_sent_to_their_admin(harness: Harness) -> None:
    ts = f"{harness.store.clock().timestamp():.6f}"
    harness.write(ts, f"<@{BRIDGE}> hello", user=GUEST)

    assert "tell your admin" in (await ask(harness, ts, user=GUEST)).text


async def test_a_shortcut_on_a_reply_is_answered_in_its_thread(harness: Harness) -> None:
    root = await mention(harness)
    reply = await harness.say(f"<@{BOB}> look", root)

    assert (await ask(harness, reply)).thread_ts == root
    assert (await ask(harness, root)).thread_ts == ""
    assert harness.seen.called(WHISPER) == []


async def test_slack_being_busy_is_a_wait(harness: Harness) -> None:
    harness.slack.faults.on(POST, NOT_NOW, times=None)
    ts = await mention(harness, works=False)
    running.append(asyncio.create_task(harness.work("b")))
    await wait_until(lambda: harness.seen.attempts, "a post was tried")

    assert "Slack hasn't accepted it yet" in (await ask(harness, ts)).text
    assert Place(GENERAL, ts) not in [one.place for one in harness.seen.messages]


async def test_the_outage_is_that_of_the_messages_project(harness: Harness) -> None:
    harness.serve("orders", orders=RANDOM)
    harness.others["orders"].always = REFUSED
    waiting, answered_here = await mention(harness, channel=RANDOM, works=False), await mention(harness, works=False)
    orders = harness.parts().turns.deps.projects.get("orders")
    running.append(asyncio.create_task(harness.work("b")))
    await wait_until(lambda: orders is not None and not orders.client.is_up, "the service is down")

    assert "has been unavailable since" in (await ask(harness, waiting, RANDOM)).text
    assert "unavailable" not in (await ask(harness, answered_here)).text


async def test_why_does_not_ask_which_project(harness: Harness) -> None:
    harness.serve("orders", orders=RANDOM)
    await harness.say("hello", channel=DM_ALICE)

    await harness.say("!why", channel=DM_ALICE)

    assert "replied to this message" in harness.seen.messages[-1].text


async def test_the_menu_that_a_message_waits_for_is_linked(harness: Harness) -> None:
    ts = str(await waiting_for_a_choice(harness))

    answer = await ask(harness, ts)

    links = [one for block in answer.blocks or [] for part in block["elements"] for one in part.get("elements", ())]
    assert [one["text"] for one in links if one["type"] == "link"] == ["the menu"]
