"""Who speaks: an agent's name and face with its messages, and how the bot knows its own messages all the same."""

from __future__ import annotations

import json

import httpx
import pytest

from bridge.features.buttons import FEEDBACK
from bridge.playground.emulator.faults import DropAfter, Http, RateLimited
from bridge.playground.emulator.sample import ALICE, BRIDGE, GENERAL, OTHER_BOT
from support.harness import POST, SALES, SUPPORT, Harness, Posted

CUSTOMIZE = "chat:write.customize"
MENTION = f"<@{BRIDGE}> "


@pytest.fixture
async def harness(harness: Harness) -> Harness:
    harness.configure(BRIDGE_DEFAULT_AGENT="Support")
    harness.service.agents = [SUPPORT, SALES]
    await grant(harness)
    return harness


async def grant(harness: Harness, *, is_given: bool = True) -> None:
    """Give the app the scope, as a new installation does, or take it."""
    (harness.slack.scopes.add if is_given else harness.slack.scopes.discard)(CUSTOMIZE)
    harness.identity = (await harness.wires.web.hello()).identity
    harness.slack.calls.clear()
    harness.configure()


def last(harness: Harness) -> Posted:
    return harness.seen.messages[-1]


def who(posted: Posted) -> tuple[str, str]:
    return posted.message.username, posted.message.icon_emoji


async def test_an_answer_has_its_agents_name_and_face(harness: Harness) -> None:
    root = await harness.say(f"{MENTION}hello")
    first = last(harness)
    await harness.say(f"{MENTION}!agent Sales", root)
    handed = last(harness)
    await harness.say(f"{MENTION}and now?", root)

    assert who(first) == ("Support", ":lion_face:")
    assert who(handed) == who(last(harness)) == ("Sales", ":panda_face:")
    assert handed.text.startswith("Sales now answers here")
    assert "Answered by" not in str([one.blocks for one in harness.seen.messages])


async def test_without_the_permission_the_context_line_names_the_agent(harness: Harness) -> None:
    await grant(harness, is_given=False)
    await harness.say(f"{MENTION}hello")

    assert who(last(harness)) == ("", "")
    assert "Answered by Support" in str(last(harness).blocks)
    assert "username" not in str([call.args for call in harness.slack.calls])


async def test_the_bridges_own_messages_have_the_apps_name(harness: Harness) -> None:
    harness.configure(BRIDGE_DEFAULT_AGENT="")
    await harness.say(f"{MENTION}hello")
    menu = last(harness)
    harness.service.chats = [httpx.Response(400)]
    await harness.say(f"{MENTION}Support: hello")
    await harness.say(f"{MENTION}!workflows")

    assert "Which agent" in menu.text
    assert [who(one) for one in harness.seen.messages] == [("", "")] * len(harness.seen.messages)


async def test_an_outage_notice_has_the_apps_name(harness: Harness) -> None:
    harness.service.always = httpx.ConnectError("refused")

    async def back() -> None:
        harness.service.always = None

    harness.on_sleep = back
    await harness.say(f"{MENTION}hello")

    assert [who(one)[0] for one in harness.seen.messages][-1] == "Support"
    assert {who(one)[0] for one in harness.seen.replies("bridge_notice")} <= {""}


async def test_an_unknown_outcome_is_said_by_the_app(harness: Harness) -> None:
    harness.service.chats = [httpx.ReadError("lost")]

    await harness.say(f"{MENTION}hello")

    assert "can't tell whether" in last(harness).text
    assert who(last(harness))[0] == ""


async def test_a_long_answers_parts_and_files_have_the_same_name(harness: Harness) -> None:
    harness.service.chats = [httpx.Response(200, json={"sessionId": 1, "message": "word " * 60_000})]

    await harness.say(f"{MENTION}hello")

    assert {who(one) for one in harness.seen.messages} == {("Support", ":lion_face:")}
    assert [call.args["username"] for call in harness.seen.called("files.completeUploadExternal")] == ["Support"]


async def test_a_welcome_message_has_its_agents_name(harness: Harness) -> None:
    harness.service.agents = [{**SUPPORT, "welcome_message": "How can I help?"}, SALES]

    await harness.slack.people.open_messages(ALICE)
    await harness.work()

    assert (last(harness).words, who(last(harness))) == ("How can I help?", ("Support", ":lion_face:"))


async def test_a_scope_taken_away_costs_the_name_not_the_answer(harness: Harness) -> None:
    refusal = {"ok": False, "error": "missing_scope", "needed": CUSTOMIZE, "provided": "chat:write"}
    harness.slack.faults.on(POST, Http(200, json.dumps(refusal)))

    root = await harness.say(f"{MENTION}hello")
    await harness.say(f"{MENTION}again", root)

    assert [who(one) for one in harness.seen.messages] == [("", ""), ("", "")]
    assert "Answered by Support" in str(harness.seen.messages[0].blocks)
    assert ["username" in call.args for call in harness.seen.called(POST)] == [True, False, False]


@pytest.mark.parametrize(
    ("name", "others", "shown"),
    [
        ("Support", ["Suppоrt"], "Support (agent 7)"),  # noqa: RUF001 - a Cyrillic letter
        ("Support", ["SUPP0RT"], "Support (agent 7)"),
        ("Modern", ["Modem"], "Modern (agent 7)"),
        ("Support", ["Supporter"], "Support"),
        ("Slack", [], "Slack (agent 7)"),
        ("Ѕlackbot", [], "Ѕlackbot (agent 7)"),  # noqa: RUF001
        ("alice", [], "alice (agent 7)"),
        ("Bridge", [], "Bridge (agent 7)"),
        ("Sales (agent 8)", ["Sales"], "Sales (agent 8) (agent 7)"),
        ("\u200b ", [], "Agent 7"),
        ("<!channel> x", [], "<\u2060!channel> x"),
    ],
)
async def test_a_name_cannot_be_taken_for_anothers(harness: Harness, name: str, others: list[str], shown: str) -> None:
    harness.service.agents = [
        {**SUPPORT, "name": name}, *({**SALES, "name": one, "id": id_} for id_, one in enumerate(others, 8))
    ]  # fmt: skip
    harness.configure(BRIDGE_DEFAULT_AGENT="7")

    await harness.say(f"{MENTION}hello")

    assert who(last(harness))[0] == shown


# Faces


@pytest.mark.parametrize("face", [":headphones:", "🎧", "headphones"])
async def test_a_face_that_the_file_sets_is_shown_everywhere(harness: Harness, face: str) -> None:
    harness.use_file(f'[agents.Support]\nface = "{face}"')
    root = await harness.say(f"{MENTION}hello")
    await harness.say("!session", root)
    session = harness.seen.ephemerals[-1]
    await harness.type_command("/agents")
    listed = harness.seen.ephemerals[-1]
    await harness.slack.people.open_home(ALICE)
    await harness.work()
    harness.configure(BRIDGE_DEFAULT_AGENT="")
    harness.use_file(f'[agents.Support]\nface = "{face}"')
    await harness.say(f"{MENTION}who?")

    assert who(next(one for one in harness.seen.messages if one.tag.session)) == ("Support", ":headphones:")
    assert "🎧 Support" in session.text
    assert {"type": "emoji", "name": "headphones"} in listed.blocks[1]["elements"][0]["elements"][1]["elements"]
    assert "🎧 Support" in json.dumps(harness.seen.homes[-1], ensure_ascii=False)
    assert "🎧 Support" in json.dumps(last(harness).blocks, ensure_ascii=False)


# The bot's own messages


async def test_a_lost_binding_is_found_in_messages_with_a_name(harness: Harness) -> None:
    root = await harness.say(f"{MENTION}Sales: hello")
    await harness.store.redis.delete(*[key async for key in harness.store.redis.scan_iter("*thread:*")])

    await harness.say(f"{MENTION}go on", root)

    assert [(one["agent"], one.get("sessionId")) for one in harness.service.asked] == [(8, None), (8, 42)]


async def test_a_post_in_doubt_is_found_by_its_metadata(harness: Harness) -> None:
    harness.slack.faults.on(POST, DropAfter())

    await harness.say(f"{MENTION}hello")

    assert [one.words for one in harness.seen.replies()] == ["re: hello"]


async def test_another_app_with_an_agents_name_stays_foreign(harness: Harness) -> None:
    root = await harness.say(f"{MENTION}hello")
    own = last(harness).message
    workspace = harness.slack.workspace
    before = len(harness.service.asked)
    workspace.messages.post(OTHER_BOT, GENERAL, "I am Support", thread_ts=root, subtype="bot_message",
                            username="Support", icon_emoji=":lion_face:", metadata={
                                **(own.metadata or {}), "event_payload": {
                                    **(own.metadata or {})["event_payload"], "agent": 8, "session": 9}})  # fmt: skip
    await harness.store.redis.delete(*[key async for key in harness.store.redis.scan_iter("*thread:*")])

    await harness.say(f"{MENTION}go on", root)

    (asked,) = harness.service.asked[before:]
    assert (asked["agent"], asked.get("sessionId")) == (7, 42)


async def test_a_vote_on_a_named_answer_counts(harness: Harness) -> None:
    await harness.say(f"{MENTION}hello")
    (buttons,) = [one for one in last(harness).blocks if one["type"] == "context_actions"]

    value = buttons["elements"][0]["positive_button"]["value"]
    await harness.slack.ui.select(ALICE, GENERAL, last(harness).ts, FEEDBACK, value)
    await harness.work()

    assert [key async for key in harness.store.redis.scan_iter("*votes:*")] != []


@pytest.mark.parametrize("event", ["message", "message_changed"])
async def test_the_bots_own_named_messages_start_nothing(harness: Harness, event: str) -> None:
    await harness.say(f"{MENTION}hello")
    own, before = last(harness).message, len(harness.service.asked)
    said = {**own.as_json(), "channel": GENERAL, "text": f"{MENTION}hello me"}
    if event == "message_changed":
        changed = {"type": "message", "subtype": event, "channel": GENERAL, "ts": own.ts, "event_ts": own.ts}
        said = {**changed, "message": said, "previous_message": own.as_json()}

    await harness.slack.people.send_event(said)
    await harness.work()

    assert len(harness.service.asked) == before
    assert "user" not in own.as_json()


async def test_deleting_the_question_removes_a_named_answer_on_its_way(harness: Harness) -> None:
    harness.slack.faults.on(POST, RateLimited(60))
    root = await harness.slack.people.say(ALICE, GENERAL, f"{MENTION}hello")

    async def deleted() -> None:
        harness.on_sleep = None
        await harness.slack.people.delete(GENERAL, root)

    harness.on_sleep = deleted
    await harness.work()

    assert harness.seen.messages == []


async def test_a_menu_of_many_agents_shows_their_faces(harness: Harness) -> None:
    harness.configure(BRIDGE_DEFAULT_AGENT="")
    harness.service.agents = [{**SUPPORT, "id": number, "name": f"agent {number:03d}"} for number in range(101)]
    await harness.say(f"{MENTION}who?")
    menu = last(harness).message

    found = await harness.slack.ui.suggestions(ALICE, menu, "agent:choose", "agent 007")

    assert [option["text"]["text"] for option in found] == ["🦁 agent 007"]
