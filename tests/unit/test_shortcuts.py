"""Shortcuts and the forms that they, buttons and Home open: what is filled in, where it goes, and who may."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from redis.asyncio import Redis

from bridge.errors import SlackUnreachable
from bridge.features.access import Access
from bridge.features.agents import asking
from bridge.features.channels import forms
from bridge.features.shared.channels import NOTHING_SET, ChannelSettings
from bridge.ids import ThreadKey
from bridge.inbound import Click, HomeOpened, Inbound, Shortcut, SlashCommand, Submission
from bridge.listeners.interactions import parse_shortcut, parse_submission
from bridge.playground.emulator import payloads
from bridge.playground.emulator.entities import Member
from bridge.playground.emulator.limits import check_view
from bridge.playground.emulator.sample import BOB, DM_ALICE
from bridge.queue.inbox import Queued
from bridge.slack.blockkit.modals import FormErrors, Origin
from bridge.slack.history import ThreadMessage, ThreadRead
from bridge.slack.parts import Place
from support.payloads import AS_MARKDOWN, IMAGE, PASTED, forward
from support.saying import US
from support.store import CHANNEL, ROOT, TEAM, USER
from support.turns import SALES, SUPPORT, WORKFLOW, Bench, MemoryDirectory, killed
from support.waiting import wait_until

DIRECT = DM_ALICE
ABOVE = f"{ROOT[:-3]}200"
FIELDS: dict[str, Any] = {"team": TEAM, "user": USER, "trigger_id": "trigger"}
HERE: dict[str, Any] = {"channel": CHANNEL, "message_ts": ROOT, "thread_ts": ROOT, "author": BOB}


async def after(bench: Bench, inbound: Inbound) -> Any:
    """Let something happen; gives the form that was opened last."""
    put = await bench.store.process().inbox.put(inbound)
    assert isinstance(put, Queued)
    await bench.work()
    view = bench.say.forms[-1][1] if bench.say.forms else None
    if view is not None:
        check_view(view)
    return view


def field(view: Any, name: str) -> Any:
    return next(block["element"] for block in view["blocks"] if block.get("block_id") == name)


def sent(view: Any, **values: str) -> Submission:
    """Fill a form in, as Slack sends it."""
    state = {name: {name: {"type": "x", "value": value}} for name, value in values.items()}
    body = {"view": {**view, "state": {"values": state}}, "user": {"id": USER, "team_id": TEAM}, "trigger_id": "t2"}
    return parse_submission(body, US).model_copy(update={"team": TEAM})


async def test_a_global_shortcut_asks_where_the_result_is_to_be(bench: Bench) -> None:
    form = await after(bench, Shortcut(**FIELDS, channel="", name="run"))

    assert field(form, "channel")["default_to_current_conversation"] is True
    await after(bench, sent(form, workflow="3", input="x", kind="text", channel="C7"))

    (card,) = bench.say.replies("bridge_run")
    assert card.place.channel == "C7"


async def test_who_has_opened_home_is_offered_the_direct_message(bench: Bench) -> None:
    await after(bench, HomeOpened(team=TEAM, channel=DIRECT, user=USER))

    form = await after(bench, Shortcut(**FIELDS, channel="", name="ask"))

    assert field(form, "where")["initial_conversation"] == DIRECT


async def test_a_conversation_begins_where_the_form_says(bench: Bench) -> None:
    bench.service.agents = [SUPPORT, SALES]
    form = await after(bench, Shortcut(**FIELDS, channel="", name="ask"))
    await after(bench, sent(form, agent="8", message="1 < 2, <!here>?", where="C7"))

    root, answer = bench.say.messages
    assert (root.place.channel, root.place.thread_ts) == ("C7", "")
    assert (answer.place.channel, answer.place.thread_ts) == ("C7", root.ts)
    assert bench.service.asked == [{"message": "1 < 2, <!here>?", "agent": 8}]


async def test_the_text_of_a_message_becomes_the_input(bench: Bench) -> None:
    form = await after(bench, Shortcut(**FIELDS, **HERE, name="run_with", text="a &lt; b <https://a.example|a>"))

    assert field(form, "input")["initial_value"] == "a < b https://a.example"
    await after(bench, sent(form, workflow="3", input="a < b", kind="text"))
    assert bench.service.runs == ["a < b"]
    assert bench.say.replies("bridge_run")[0].place.channel == CHANNEL


@pytest.mark.parametrize(("name", "where"), [("run_with", "input"), ("ask_about", "about")])
async def test_what_is_in_a_message_goes_into_the_form(bench: Bench, name: str, where: str) -> None:
    body = {"message": {"user": BOB, "text": "see", "attachments": [forward(), PASTED], "files": [IMAGE]}}
    shortcut = parse_shortcut(body, US).model_copy(update={**FIELDS, **HERE, "name": name})

    form = await after(bench, shortcut)

    assert field(form, where)["initial_value"] == (
        "see\n\nA forwarded message by Ada Lovelace in #C2 (https://acme.slack.com/archives/C2/p1724952281623809):\n"
        f"> The lamp is *red* & blinks.\n\nA table:\n\n{AS_MARKDOWN}\n\n"
        "[image “a.png” (PNG, 137.5 kB); described as “A red lamp”]"
    )


async def test_a_message_that_is_too_long_for_the_form_says_so(bench: Bench) -> None:
    form = await after(bench, Shortcut(**FIELDS, **HERE, name="run_with", text="x" * 5000))

    assert len(field(form, "input")["initial_value"]) == 3000
    assert "Only the first 3,000 characters" in str(form)


async def test_a_question_about_a_message_goes_into_its_thread_with_what_was_said_there(bench: Bench) -> None:
    bench.directory.users = {BOB: "Bob", USER: "Alice"}
    bench.say.thread = ThreadRead(root=ThreadMessage(BOB, "", "It is red."))
    form = await after(bench, Shortcut(**FIELDS, **HERE, name="ask_about", text="It is red, <@U0BOB>."))
    assert field(form, "about")["initial_value"] == "It is red, @Bob."
    await after(bench, sent(form, agent="7", message="Why?", about="It is red, @Bob.", where="thread"))

    question, answer = bench.say.messages
    assert {question.place.thread_ts, answer.place.thread_ts} == {ROOT}
    assert "Alice asks Support" in question.reply.text
    (asked,) = bench.service.messages
    assert "Why?\n\nThis is about a message by Bob:\n> It is red, @Bob." in asked
    assert "> Bob: It is red." in asked


async def test_in_a_thread_that_has_its_agent_that_one_is_asked(bench: Bench) -> None:
    bench.service.agents = [SUPPORT, SALES]
    await bench.store.sessions.choose_agent(ThreadKey(TEAM, CHANNEL, ROOT), 8)
    form = await after(bench, Shortcut(**FIELDS, **HERE, name="ask_about", text="It is red."))
    await after(bench, sent(form, agent="7", message="Why?", where="thread"))

    assert bench.service.asked[0]["agent"] == 8
    assert "asks Sales" in bench.say.messages[0].reply.text


async def test_a_question_in_private_takes_the_thread_along(bench: Bench) -> None:
    await after(bench, HomeOpened(team=TEAM, channel=DIRECT, user=USER))
    bench.say.thread = ThreadRead(root=ThreadMessage(BOB, "", "We ship on Friday."))
    below = HERE | {"message_ts": ABOVE}
    form = await after(bench, Shortcut(**FIELDS, **below, name="ask_about", text="Too early."))
    await after(bench, sent(form, agent="7", message="Is it?", about="Too early.", where="direct"))

    assert {one.place.channel for one in bench.say.messages} == {DIRECT}
    assert bench.say.windows == [("", ABOVE)]
    (asked,) = bench.service.messages
    assert "> U0BOB: We ship on Friday." in asked
    assert "> Too early." in asked


@pytest.mark.parametrize("name", ["run", "run_with", "ask", "ask_about"])
async def test_who_may_not_is_told_in_a_modal_and_nowhere_else(bench: Bench, name: str) -> None:
    page = await after(bench, Shortcut(**FIELDS, **HERE, name=name, refusal="stranger"))

    assert (page["callback_id"], len(page["blocks"])) == ("page", 1)
    assert bench.service.requests == 0


@pytest.mark.parametrize(("name", "form"), [("run", "page"), ("run_with", "page"), ("ask", "ask")])
async def test_only_runners_get_the_form_that_runs(bench: Bench, name: str, form: str) -> None:
    bench.runners = frozenset({"U9"})
    assert (await after(bench, Shortcut(**FIELDS, channel="", name=name)))["callback_id"] == form


async def test_a_global_shortcut_that_came_too_late_ends_quietly(bench: Bench, redis: Redis) -> None:
    await after(bench, Shortcut(team=TEAM, user=USER, channel="", name="run"))

    assert (bench.say.forms, bench.say.whispers) == ([], [])
    assert await redis.zcard("{test}:dead") == 0


async def test_an_input_is_remembered_by_who_wants_that_until_they_do_not(bench: Bench) -> None:
    asked = SlashCommand(**FIELDS, channel=CHANNEL, command="/workflows", text="run 3")
    form = await after(bench, asked)
    await after(bench, sent(form, workflow="3", input="[1]", kind="json", remember="yes"))
    again = await after(bench, asked)

    assert field(again, "input")["initial_value"] == "[1]"
    assert field(again, "kind")["initial_option"]["value"] == "json"
    assert field(again, "remember")["initial_options"]
    assert "initial_value" not in field(await after(bench, asked.model_copy(update={"user": BOB})), "input")
    await after(bench, sent(again, workflow="3", input="[2]", kind="json"))
    assert "initial_value" not in field(await after(bench, asked), "input")


async def test_who_answers_in_a_channel_is_set_in_a_form(bench: Bench) -> None:
    bench.directory.channels = {"C7": "support"}
    opened = Click(**FIELDS, channel=DIRECT, action_id="default:form", value="C7", view="home")
    form = await after(bench, opened)
    await after(bench, sent(form, agent="7", answers="all", replies="all"))

    assert await bench.store.channels.get(TEAM, "C7") == ChannelSettings(agent=7, answers="all")
    whom, reply = bench.say.whispers[-1]
    assert whom.channel == DIRECT
    assert reply.text == (
        "Support now answers mentions in #support. I now answer every top-level message in #support, without a mention."
    )
    again = await after(bench, opened)
    chosen = [block["element"]["initial_option"]["value"] for block in again["blocks"][1:4]]
    assert chosen == ["7", "all", "all"]
    await after(bench, sent(again, agent="none", answers="mentions", replies="all"))
    assert await bench.store.channels.get(TEAM, "C7") == NOTHING_SET


async def test_only_runners_choose_for_a_channel_and_everybody_for_their_own_direct_message(bench: Bench) -> None:
    bench.runners = frozenset({"U9"})
    typed = SlashCommand(**FIELDS, channel=CHANNEL, command="/agents", text="default Support")
    await after(bench, typed)
    assert "permission" in bench.say.whispers[-1][1].text
    await after(bench, Click(**FIELDS, channel=DIRECT, action_id="default:form", value=CHANNEL, view="home"))
    await after(bench, typed.model_copy(update={"channel": DIRECT}))

    assert await bench.store.channels.get(TEAM, CHANNEL) == NOTHING_SET
    assert (await bench.store.channels.get(TEAM, DIRECT)).agent == 7
    assert (bench.say.forms, bench.say.messages) == ([], [])


async def test_a_channel_is_told_of_a_change_once_although_its_process_is_killed(bench: Bench) -> None:
    bench.say.troubles = [SlackUnreachable("chat.postEphemeral")]
    bench.on_sleep = asyncio.Event().wait  # whoever wants to try again is killed there
    put = await bench.store.process().inbox.put(
        SlashCommand(**FIELDS, channel=CHANNEL, command="/agents", text="default Support")
    )
    assert isinstance(put, Queued)
    task = await bench.begin()
    await wait_until(lambda: bench.slept, "it waits for Slack")
    await killed(task)
    bench.on_sleep = None
    await bench.take_over()
    await bench.work()

    assert [one.words for one in bench.say.messages] == [
        "Support now answers mentions in this channel. Changed by somebody."
    ]
    assert bench.say.messages[0].place == Place(CHANNEL)


@pytest.mark.parametrize(
    ("is_ephemeral", "channel", "replaces"), [(True, CHANNEL, True), (False, DM_ALICE, True), (False, CHANNEL, False)]
)
async def test_a_list_that_everybody_sees_is_not_turned_by_one(
    bench: Bench, *, is_ephemeral: bool, channel: str, replaces: bool
) -> None:
    bench.service.workflows = [WORKFLOW | {"id": number, "name": f"Flow {number:03d}"} for number in range(50)]
    value = '{"page": 1, "words": "flow"}'
    await after(
        bench,
        Click(
            **FIELDS, channel=channel, action_id="list:workflows:next", value=value, is_ephemeral=is_ephemeral,
            message_ts=ROOT, response_url="https://slack.test/response",
        ),
    )  # fmt: skip

    replies = [reply for _, reply in bench.say.whispers] + [reply for _, reply in bench.say.updates]
    assert replies[0].replaces_original == replaces
    assert "Flow 020" in str(replies[0].blocks)


def test_what_slack_sends_of_a_shortcut_on_a_message_is_read() -> None:
    person = Member(USER, "alice", "Alice", TEAM)
    message = {"type": "message", "text": "hi", "user": BOB, "ts": "2.0", "thread_ts": "1.0"}
    where = {"container": {"message_ts": "2.0"}, "channel": {"id": CHANNEL}, "message": message}

    shortcut = parse_shortcut(
        payloads.message_action(person, where, "ask_about", "3.0", trigger_id="t", response_url="u"), US
    )

    assert (shortcut.name, shortcut.channel, shortcut.user, shortcut.user_team) == ("ask_about", CHANNEL, USER, TEAM)
    assert (shortcut.text, shortcut.author, shortcut.message_ts, shortcut.thread_ts) == ("hi", BOB, "2.0", "1.0")
    assert not shortcut.is_shared


@pytest.mark.parametrize("odd", [{}, {"channel": 3, "message": [], "user": None}, {"message": {"text": 1}}])
def test_what_is_odd_in_a_payload_is_empty(odd: dict[str, Any]) -> None:
    assert parse_shortcut(odd, US).is_shared, "nobody says where they belong"
    assert parse_submission({"view": odd}, US).channel == ""


def test_a_form_of_another_release_belongs_nowhere() -> None:
    assert Origin.parse('{"channel": 3}') == Origin()


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        ({"agent": "7", "message": "x"}, set()),
        ({"agent": "", "message": "x"}, {"agent"}),
        ({"agent": "7", "message": " "}, {"message"}),
        ({}, {"agent", "message"}),
    ],
)
def test_what_is_wrong_with_a_question_is_said_under_its_field(values: dict[str, str], wrong: set[str]) -> None:
    read = asking.read_ask_form(values)

    assert (set(read.by_block) if isinstance(read, FormErrors) else set()) == wrong


@pytest.mark.parametrize(
    ("values", "filled"),
    [
        ({"agent": "7", "answers": "all", "replies": "mentions"}, forms.Filled(7, "all", "mentions")),
        ({"agent": "none"}, forms.Filled(None)),  # in a direct message there is no more to set
        ({"agent": ""}, FormErrors({"agent": "Choose an agent from the list."})),
    ],
)
def test_who_answers_in_a_channel_may_be_nobody(values: dict[str, str], filled: forms.Filled | FormErrors) -> None:
    assert forms.read_settings_form(values) == filled


@pytest.mark.parametrize(
    "inbound",
    [
        HomeOpened(team=TEAM, channel=DIRECT, user=USER),
        Click(**FIELDS, channel=DIRECT, action_id="home:workflows:next", view="home"),
    ],
)
async def test_home_is_not_a_matter_of_channels(inbound: Inbound) -> None:
    home = MemoryDirectory(home={USER})
    rules = Access(frozenset({TEAM}), home, allowed_channels=frozenset({"C9"}))

    assert await rules.refusal(inbound.model_copy(update={"user_team": TEAM})) is None
    assert await rules.refusal(SlashCommand(**FIELDS, channel=CHANNEL, user_team=TEAM, command="/stats")) == "channel"
    assert await rules.refusal(Submission(**FIELDS, channel=DIRECT, user_team=TEAM, form="ask")) == "channel"


async def test_who_opens_home_is_looked_up_since_slack_does_not_say_where_they_belong() -> None:
    opened = HomeOpened(team=TEAM, channel=DIRECT, user=USER, is_shared=True)

    assert await Access(frozenset({TEAM}), MemoryDirectory(home={USER})).refusal(opened) is None
    assert await Access(frozenset({TEAM}), MemoryDirectory()).refusal(opened) == "stranger"
