"""Shortcuts and forms (opened by shortcuts, buttons or Home): prefilled values, where results go, permissions."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from redis.asyncio import Redis

from bridge.door.listeners.interactions import parse_shortcut, parse_submission
from bridge.features.channels.settings import NOTHING_SET, ChannelSettings
from bridge.ids import ThreadKey
from bridge.inbound import WAITING_LIMIT, Click, HomeOpened, Inbound, Shortcut, SlashCommand, Submission
from bridge.playground.emulator.sample import BOB, CAROL, DM_ALICE, RANDOM, STRANGER
from bridge.queue.put import Queued
from bridge.slack.parts import Place
from support.harness import NOT_NOW, SALES, SUPPORT, WHISPER, WORKFLOW, Harness, kill_task
from support.payloads import AS_MARKDOWN, IMAGE, PASTED, forward
from support.sample_posts import US
from support.store import BOT, CHANNEL, ROOT, TEAM, USER, message, ts
from support.waiting import wait_until

DIRECT = DM_ALICE
ABOVE = f"{ROOT[:-3]}200"
FIELDS: dict[str, Any] = {"team": TEAM, "user": USER, "trigger_id": "trigger"}
HERE: dict[str, Any] = {"channel": CHANNEL, "message_ts": ROOT, "thread_ts": ROOT, "author": BOB}


async def after(harness: Harness, inbound: Inbound) -> Any:
    """Process *inbound*; return the form opened last."""
    if getattr(inbound, "trigger_id", ""):
        inbound = inbound.model_copy(update={"trigger_id": harness.slack.tickets.trigger(inbound.user)})
    put = await harness.store.process().inbox.put(inbound)
    assert isinstance(put, Queued)
    await harness.work()
    return harness.seen.forms[-1] if harness.seen.forms else None


def field(view: Any, name: str) -> Any:
    return next(block["element"] for block in view["blocks"] if block.get("block_id") == name)


def sent(view: Any, **values: str) -> Submission:
    """Submit a form, as Slack sends it."""
    state = {name: {name: {"type": "x", "value": value}} for name, value in values.items()}
    body = {"view": {**view, "state": {"values": state}}, "user": {"id": USER, "team_id": TEAM}, "trigger_id": "t2"}
    return parse_submission(body, US).model_copy(update={"team": TEAM})


async def test_a_global_shortcut_asks_where_to_post_the_result(harness: Harness) -> None:
    form = await after(harness, Shortcut(**FIELDS, channel="", name="run"))

    assert field(form, "channel")["default_to_current_conversation"] is True
    await after(harness, sent(form, workflow="3", input="x", kind="text", channel=RANDOM))

    (card,) = harness.seen.replies("bridge_run")
    assert card.place.channel == RANDOM


async def test_a_form_offers_the_direct_message_to_a_person_who_opened_home(harness: Harness) -> None:
    await after(harness, HomeOpened(team=TEAM, channel=DIRECT, user=USER))

    form = await after(harness, Shortcut(**FIELDS, channel="", name="ask"))

    assert field(form, "where")["initial_conversation"] == DIRECT


async def test_a_conversation_starts_where_the_form_says(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    form = await after(harness, Shortcut(**FIELDS, channel="", name="ask"))
    await after(harness, sent(form, agent="8", message="1 < 2, <!here>?", where=RANDOM))

    root, answer = harness.seen.messages
    assert (root.place.channel, root.place.thread_ts) == (RANDOM, "")
    assert (answer.place.channel, answer.place.thread_ts) == (RANDOM, root.ts)
    assert harness.service.asked == [{"message": "1 < 2, <!here>?", "agent": 8}]


async def test_the_text_of_a_message_becomes_the_input(harness: Harness) -> None:
    form = await after(harness, Shortcut(**FIELDS, **HERE, name="run_with", text="a &lt; b <https://a.example|a>"))

    assert field(form, "input")["initial_value"] == "a < b https://a.example"
    await after(harness, sent(form, workflow="3", input="a < b", kind="text"))
    assert harness.service.runs == ["a < b"]
    assert harness.seen.replies("bridge_run")[0].place.channel == CHANNEL


@pytest.mark.parametrize(("name", "where"), [("run_with", "input"), ("ask_about", "about")])
async def test_a_messages_contents_fill_the_form(harness: Harness, name: str, where: str) -> None:
    body = {"message": {"user": BOB, "text": "see", "attachments": [forward(), PASTED], "files": [IMAGE]}}
    shortcut = parse_shortcut(body, US).model_copy(update={**FIELDS, **HERE, "name": name})

    form = await after(harness, shortcut)

    assert field(form, where)["initial_value"] == (
        "see\n\nA forwarded message from Ada Lovelace in #C2 (https://acme.slack.com/archives/C2/p1724952281623809):\n"
        f"> The lamp is *red* & blinks.\n\nA table:\n\n{AS_MARKDOWN}\n\n"
        "[image “a.png” (PNG, 137.5 kB); described as “A red lamp”]"
    )


async def test_a_message_that_is_too_long_for_the_form_says_so(harness: Harness) -> None:
    form = await after(harness, Shortcut(**FIELDS, **HERE, name="run_with", text="x" * 5000))

    assert len(field(form, "input")["initial_value"]) == 3000
    assert "Only the first 3,000 characters" in str(form)


async def test_a_question_about_a_message_is_sent_in_its_thread(harness: Harness) -> None:
    harness.write(ROOT, "It is red.", user=BOB)
    form = await after(harness, Shortcut(**FIELDS, **HERE, name="ask_about", text="It is red, <@U0BOB>."))
    assert field(form, "about")["initial_value"] == "It is red, @Bob Brandt."
    await after(harness, sent(form, agent="7", message="Why?", about="It is red, @Bob Brandt.", where="thread"))

    question, answer = harness.seen.messages
    assert {question.place.thread_ts, answer.place.thread_ts} == {ROOT}
    assert "Alice Adler asked Support" in question.text
    (asked,) = harness.service.messages
    assert "Why?\n\nThis is about a message from Bob Brandt:\n> It is red, @Bob Brandt." in asked
    assert "> Bob Brandt: It is red." in asked


async def test_a_question_in_a_bound_thread_goes_to_its_agent(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    harness.write(ROOT, "It is red.", user=BOB)
    await harness.store.sessions.choose_agent(ThreadKey(TEAM, CHANNEL, ROOT), 8)
    form = await after(harness, Shortcut(**FIELDS, **HERE, name="ask_about", text="It is red."))
    await after(harness, sent(form, agent="7", message="Why?", where="thread"))

    assert harness.service.asked[0]["agent"] == 8
    assert "asked Sales" in harness.seen.messages[0].text


async def ask_about_root(harness: Harness, question: str = "Why?") -> None:
    """Ask an agent about the root of a thread, in that thread."""
    harness.write(ROOT, "It is red.", user=BOB)
    form = await after(harness, Shortcut(**FIELDS, **HERE, name="ask_about", text="It is red."))
    await after(harness, sent(form, agent="7", message=question, about="It is red.", where="thread"))


@pytest.mark.parametrize("line", ["!stop", "!stats", "!workflows run 3 hello", "!new", "!mute", "!help", "\uff01stats"])
async def test_a_question_in_a_form_is_no_command(harness: Harness, line: str) -> None:
    await ask_about_root(harness, line)

    assert harness.service.runs == []
    (asked,) = harness.service.messages
    assert f"{line}\n\nThis is about a message from Bob Brandt:\n> It is red." in asked


async def test_a_question_in_a_muted_thread_says_so(harness: Harness) -> None:
    thread = ThreadKey(TEAM, CHANNEL, ROOT)
    await harness.store.sessions.choose_agent(thread, 7)
    await harness.store.sessions.mute(thread, is_muted=True)

    await ask_about_root(harness)

    assert harness.service.messages == []
    (told,) = harness.seen.ephemerals
    assert (told.user, "This thread is muted" in told.text) == (USER, True)
    assert told.message.thread_ts == ROOT


async def test_a_question_decides_a_thread_that_waits_for_an_agent(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    harness.write(ROOT, "It is red.", user=BOB)
    await harness.receive(message(f"<@{BOT}> why?", ts(1), is_mention=True))
    await harness.work()
    assert harness.service.asked == []

    await ask_about_root(harness)

    assert [one["agent"] for one in harness.service.asked] == [7, 7]


async def test_a_question_in_a_full_thread_says_so(harness: Harness) -> None:
    await harness.store.queue(message("first"), agent=7)
    await harness.store.process("busy").take()
    for number in range(1, WAITING_LIMIT):
        await harness.store.queue(message("more", ts(number)))

    await ask_about_root(harness)

    (told,) = harness.seen.ephemerals
    assert (told.user, "already waiting in this thread" in told.text) == (USER, True)


async def test_a_question_beyond_the_persons_limit_says_so(harness: Harness) -> None:
    harness.configure(BRIDGE_USER_TURNS_PER_MINUTE="1")
    await harness.store.queue(message("the only one", "1600000000.000100"), agent=7, is_limited=True)
    await harness.work()

    await ask_about_root(harness)

    assert harness.service.messages == ["the only one"]
    (told,) = harness.seen.ephemerals
    assert "sending messages too fast" in told.text


async def test_a_private_question_includes_the_thread(harness: Harness) -> None:
    await after(harness, HomeOpened(team=TEAM, channel=DIRECT, user=USER))
    harness.write(ROOT, "We ship on Friday.", user=BOB)
    harness.write(ABOVE, "Too early.", thread_ts=ROOT)
    below = HERE | {"message_ts": ABOVE}
    form = await after(harness, Shortcut(**FIELDS, **below, name="ask_about", text="Too early."))
    await after(harness, sent(form, agent="7", message="Is it?", about="Too early.", where="direct"))

    assert {one.place.channel for one in harness.seen.messages} == {DIRECT}
    (asked,) = harness.service.messages
    assert "> Bob Brandt: We ship on Friday." in asked
    assert "> Too early." in asked


@pytest.mark.parametrize("name", ["run", "run_with", "ask", "ask_about"])
async def test_a_refused_shortcut_is_answered_in_a_modal_alone(harness: Harness, name: str) -> None:
    page = await after(harness, Shortcut(**FIELDS, **HERE, name=name, refusal="stranger"))

    assert (page["callback_id"], len(page["blocks"])) == ("page", 1)
    assert harness.service.requests == 0


@pytest.mark.parametrize(("name", "form"), [("run", "page"), ("run_with", "page"), ("ask", "ask")])
async def test_only_runners_get_the_form_that_runs(harness: Harness, name: str, form: str) -> None:
    harness.configure(BRIDGE_RUNNERS=CAROL)
    assert (await after(harness, Shortcut(**FIELDS, channel="", name=name)))["callback_id"] == form


async def test_a_global_shortcut_that_came_too_late_ends_quietly(harness: Harness, redis: Redis) -> None:
    await after(harness, Shortcut(team=TEAM, user=USER, channel="", name="run"))

    assert (harness.seen.forms, harness.seen.ephemerals) == ([], [])
    assert await redis.zcard("{test}:dead") == 0


async def test_an_input_is_remembered_while_the_person_wants_it(harness: Harness) -> None:
    asked = SlashCommand(**FIELDS, channel=CHANNEL, command="/workflows", text="run 3")
    form = await after(harness, asked)
    await after(harness, sent(form, workflow="3", input="[1]", kind="json", remember="yes"))
    again = await after(harness, asked)

    assert field(again, "input")["initial_value"] == "[1]"
    assert field(again, "kind")["initial_option"]["value"] == "json"
    assert field(again, "remember")["initial_options"]
    assert "initial_value" not in field(await after(harness, asked.model_copy(update={"user": BOB})), "input")
    await after(harness, sent(again, workflow="3", input="[2]", kind="json"))
    assert "initial_value" not in field(await after(harness, asked), "input")


async def test_a_form_sets_a_channels_default_agent(harness: Harness) -> None:
    opened = Click(**FIELDS, channel=DIRECT, action_id="default:form", value=RANDOM, view="home")
    form = await after(harness, opened)
    await after(harness, sent(form, agent="7", answers="all", replies="auto"))

    assert await harness.store.channels.get(TEAM, RANDOM) == ChannelSettings(agent=7, answers="all")
    notice = harness.seen.ephemerals[-1]
    assert notice.message.channel == DIRECT
    assert notice.text == (
        "Support now answers mentions in #random. I now answer every top-level message in #random, without a mention."
    )
    again = await after(harness, opened)
    chosen = [block["element"]["initial_option"]["value"] for block in again["blocks"][1:4]]
    assert chosen == ["7", "all", "auto"]
    await after(harness, sent(again, agent="none", answers="mentions", replies="auto"))
    assert await harness.store.channels.get(TEAM, RANDOM) == NOTHING_SET


async def test_a_form_opened_in_its_channel_leaves_the_details_to_the_notice_there(harness: Harness) -> None:
    form = await after(harness, SlashCommand(**FIELDS, channel=CHANNEL, command="/agents", text="default"))

    await after(harness, sent(form, agent="7", answers="mentions", replies="auto"))

    assert harness.seen.ephemerals[-1].text == "Settings saved."
    assert [one.words for one in harness.seen.messages] == [
        "Support now answers mentions in this channel. Changed by Alice Adler."
    ]


async def test_only_runners_set_a_channels_agent_but_anyone_their_direct_messages(harness: Harness) -> None:
    harness.configure(BRIDGE_RUNNERS=CAROL)
    typed = SlashCommand(**FIELDS, channel=CHANNEL, command="/agents", text="default Support")
    await after(harness, typed)
    assert "permission" in harness.seen.ephemerals[-1].text
    await after(harness, Click(**FIELDS, channel=DIRECT, action_id="default:form", value=CHANNEL, view="home"))
    await after(harness, typed.model_copy(update={"channel": DIRECT}))

    assert await harness.store.channels.get(TEAM, CHANNEL) == NOTHING_SET
    assert (await harness.store.channels.get(TEAM, DIRECT)).agent == 7
    assert (harness.seen.forms, harness.seen.messages) == ([], [])


async def test_a_change_brings_one_notice_although_its_process_is_killed(harness: Harness) -> None:
    harness.slack.faults.on(WHISPER, NOT_NOW)
    harness.on_sleep = asyncio.Event().wait  # the worker never gets past the pause before its retry
    put = await harness.store.process().inbox.put(
        SlashCommand(**FIELDS, channel=CHANNEL, command="/agents", text="default Support")
    )
    assert isinstance(put, Queued)
    task = await harness.start_next()
    await wait_until(lambda: harness.slept, "it is waiting to retry")
    await kill_task(task)
    harness.on_sleep = None
    await harness.take_over()
    await harness.work()

    assert [one.words for one in harness.seen.messages] == [
        "Support now answers mentions in this channel. Changed by Alice Adler."
    ]
    assert harness.seen.messages[0].place == Place(CHANNEL)


@pytest.mark.parametrize(
    ("is_ephemeral", "channel", "replaces"), [(True, CHANNEL, True), (False, DM_ALICE, True), (False, CHANNEL, False)]
)
async def test_paging_a_public_list_leaves_it_unchanged(
    harness: Harness, *, is_ephemeral: bool, channel: str, replaces: bool
) -> None:
    harness.service.workflows = [WORKFLOW | {"id": number, "name": f"Flow {number:03d}"} for number in range(50)]
    harness.write(ROOT, "a list", user=BOT, channel=channel)
    value = '{"page": 1, "words": "flow"}'
    await after(
        harness,
        Click(
            **FIELDS, channel=channel, action_id="list:workflows:next", value=value, is_ephemeral=is_ephemeral,
            message_ts=ROOT, response_url=harness.response_url(channel=channel),
        ),
    )  # fmt: skip

    (shown,) = [*(one.content for one in harness.slack.responses), *harness.seen.updates]
    assert bool(harness.seen.updates or shown["replace_original"]) == replaces
    assert "Flow 020" in str(shown["blocks"])


@pytest.mark.parametrize(
    "inbound",
    [
        HomeOpened(team=TEAM, channel=DIRECT, user=USER),
        Click(**FIELDS, channel=DIRECT, action_id="home:workflows:next", view="home"),
    ],
)
async def test_home_ignores_allowed_channels(harness: Harness, inbound: Inbound) -> None:
    harness.configure(BRIDGE_ALLOWED_CHANNELS=RANDOM)
    rules = harness.parts().turns.deps.policy

    assert await rules.refusal(inbound.model_copy(update={"user_team": TEAM})) is None
    assert await rules.refusal(SlashCommand(**FIELDS, channel=CHANNEL, user_team=TEAM, command="/stats")) == "channel"
    assert await rules.refusal(Submission(**FIELDS, channel=DIRECT, user_team=TEAM, form="ask")) == "channel"


@pytest.mark.parametrize(("user", "refusal"), [(USER, None), (STRANGER, "stranger")])
async def test_a_person_who_opens_home_is_looked_up(harness: Harness, user: str, refusal: str | None) -> None:
    """Slack doesn't include the person's workspace in this event."""
    opened = HomeOpened(team=TEAM, channel=DIRECT, user=user, is_shared=True)

    assert await harness.parts().turns.deps.policy.refusal(opened) == refusal
