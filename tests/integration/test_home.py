"""Home, forms and shortcuts, as Slack sends and shows them."""

from __future__ import annotations

import json

import pytest

from bridge.playground.emulator.entities import Message, View
from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, CAROL, DM_ALICE, GENERAL
from support.system import System, shared_system, text_of
from support.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="module")


opened, system = shared_system()


async def home_of(system: System, user: str) -> View:
    """Open a user's Home tab."""

    def published() -> int:
        return sum(call.is_ok and call.args["user_id"] == user for call in system.called("views.publish"))

    before = published()
    await system.slack.people.open_home(user)
    await wait_until(lambda: published() > before, "Home is published")
    return system.slack.workspace.homes[user]


async def modal_of(system: System, user: str, form: str) -> View:
    """Wait for the form that was just opened."""
    await wait_until(
        lambda: any(view.content["callback_id"] == form for view in system.slack.views(user)),
        f"form {form} is open",
    )
    return system.slack.views(user)[-1]


def shown(view: View) -> str:
    return json.dumps(view.blocks, ensure_ascii=False)


async def a_root(system: System, channel: str, words: str) -> Message:
    """Wait for a thread started by the bot."""

    def found() -> list[Message]:
        own = [one for one in system.slack.messages(channel) if one.user == BRIDGE and one.thread_ts in {"", one.ts}]
        return [one for one in own if words in text_of(one)]

    await wait_until(lambda: len(found()) > 0, "the thread is started")
    return found()[-1]


async def test_chat_in_home_starts_a_conversation_in_the_direct_message(system: System) -> None:
    home = await home_of(system, ALICE)

    await system.slack.ui.click_in_view(ALICE, home.id, "ask:form", block_id="agent:3")
    form = await modal_of(system, ALICE, "ask")
    await system.slack.ui.submit(form.id, {"message": "What do you <remember> & why?"}, ALICE)
    root = await a_root(system, DM_ALICE, "What do you <remember>")
    await system.answered(DM_ALICE, root.ts, 2)

    assert system.chats() == ["What do you <remember> & why?"]
    await wait_until(
        lambda: "Your recent conversations" in shown(system.slack.workspace.homes[ALICE]), "Home shows the conversation"
    )


async def test_a_run_from_home_posts_its_card_in_the_direct_message(system: System) -> None:
    home = await home_of(system, ALICE)
    await system.slack.ui.click_in_view(ALICE, home.id, "run:form", block_id="workflow:1")
    form = await modal_of(system, ALICE, "run")
    wrong = await system.slack.ui.submit(form.id, {"input": "{", "kind": "json"}, ALICE)
    await system.slack.ui.submit(form.id, {"input": '{"a": 1}', "kind": "json", "remember": ["yes"]}, ALICE)
    await a_root(system, DM_ALICE, "completed")
    await wait_until(lambda: "Your recent runs" in shown(system.slack.workspace.homes[ALICE]), "Home shows the run")

    await system.slack.ui.click_in_view(ALICE, home.id, "run:form", block_id="recent:0")
    again = await modal_of(system, ALICE, "run")

    assert "input" in (wrong.json or {})["errors"]
    assert '{\\"a\\": 1}' in shown(again), "the input is remembered"


async def test_a_question_about_a_message_is_answered_in_its_thread(system: System) -> None:
    root = await system.slack.people.say(BOB, GENERAL, "The build is red since noon.")
    ts = await system.slack.people.say(CAROL, GENERAL, "It is the <cache>, I think.", thread_ts=root)

    await system.slack.ui.message_shortcut(ALICE, GENERAL, ts, "ask_about")
    form = await modal_of(system, ALICE, "ask")
    agents = await system.slack.ui.suggestions(ALICE, "agent", "memory", view_id=form.id)
    await system.slack.ui.submit(form.id, {"agent": agents[0], "message": "Is that so?"}, ALICE)
    await wait_until(lambda: len(system.answers(GENERAL, root)) >= 2, "the question and its answer are in the thread")

    (asked,) = system.chats()
    assert asked.rstrip().count("Is that so?") == 1
    assert "> It is the <cache>, I think." in asked
    assert "The build is red since noon." in asked
    await system.replied(BOB, GENERAL, root, f"<@{BRIDGE}> And now?")
    assert system.chats()[-1].endswith("And now?")
