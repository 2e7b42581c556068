"""Only what a person typed as a message can be a command; other texts reach the agent, whatever they start with."""

from __future__ import annotations

import json

import httpx
import pytest

from bridge.inbound import NO_COMMAND, InboundMessage, from_json, to_json
from support.harness import Harness
from support.store import ROOT, message

LINES = ("!stop", "!stats", "!workflows run 3 hello", "!new", "!mute", " !help", "\uff01stats")


@pytest.mark.parametrize("line", LINES)
async def test_a_slash_commands_message_is_no_command(harness: Harness, line: str) -> None:
    await harness.type_command(f"/agents chat 7 {line}")

    assert [text.strip() for text in harness.service.messages] == [line.strip()]
    assert harness.service.runs == []


async def test_a_forms_question_sent_again_is_no_command(harness: Harness) -> None:
    harness.service.chats = [httpx.Response(500)]
    await harness.type_command("/agents chat 7 !workflows run 3 hello")

    await harness.press("turn:again")

    assert harness.service.messages == ["!workflows run 3 hello"] * 2
    assert harness.service.runs == []


async def test_a_word_sent_as_text_and_again_is_no_command(harness: Harness) -> None:
    await harness.store.queue(message("hello"), agent=7)
    await harness.work()
    harness.service.chats = [httpx.Response(500)]
    await harness.receive(message("!stpo", f"{ROOT[:-3]}200"))
    await harness.work()
    await harness.press("slip:text")

    await harness.press("turn:again")

    assert harness.service.messages == ["hello", "!stpo", "!stpo"]


@pytest.mark.parametrize(("button", "asked"), [("slip:text", ["!stpo"]), ("slip:command", [])])
async def test_a_word_at_the_top_of_a_channel_where_all_is_answered_is_sent_as_text(
    harness: Harness, button: str, asked: list[str]
) -> None:
    await harness.store.set_channel(agent=7, answers="all")
    await harness.receive(message("!stpo"))
    await harness.work()

    await harness.press(button)

    assert harness.service.messages == asked
    assert "There's no conversation here yet" not in harness.seen.ephemerals[-1].text


async def test_a_message_stays_what_the_door_found_it_to_be(harness: Harness) -> None:
    decided = message("!stats").model_copy(update={"line": NO_COMMAND})  # by a release without that command

    await harness.store.queue(decided, agent=7)
    await harness.work()

    assert harness.service.messages == ["!stats"]


@pytest.mark.parametrize(("is_text", "source"), [(True, "word"), (False, "typed"), (None, "typed")])
def test_a_message_of_an_older_release_keeps_what_it_is(is_text: bool | None, source: str) -> None:  # noqa: FBT001
    stored = json.loads(to_json(message("!stats")))
    del stored["source"], stored["is_text"]
    read = from_json(json.dumps(stored | ({} if is_text is None else {"is_text": is_text})))

    assert isinstance(read, InboundMessage)
    assert (read.source, read.is_text) == (source, source != "typed")
    assert json.loads(to_json(read))["is_text"] is (source != "typed"), "older releases read this field"
