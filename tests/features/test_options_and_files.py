"""What agents ask and hand over in fences: buttons that send a reply, and files."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from bridge.features.conversations import fences
from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, GENERAL
from support.harness import POST, Harness, Posted

ASKS = "Shall I refund it?\n\n```options\nYes, refund\n- No\n\n```\n"


def answers(text: str) -> httpx.Response:
    return httpx.Response(200, json={"sessionId": 42, "message": text, "toolsUsed": []})


async def asked(harness: Harness, text: str = ASKS, **how: Any) -> str:
    """Ask an agent that answers with *text*; return the thread."""
    harness.service.chats = [answers(text)]
    root = await harness.slack.people.say(ALICE, GENERAL, f"<@{BRIDGE}> hello", **how)
    await harness.work()
    return root


def with_buttons(harness: Harness) -> Posted:
    [message] = [one for one in harness.seen.messages if "option:" in str(one.blocks)]
    return message


def buttons(message: Posted) -> list[str]:
    [block] = [block for block in message.blocks if block["type"] == "actions"]
    return [element["text"]["text"] for element in block["elements"]]


async def press(harness: Harness, option: str, user: str = ALICE) -> None:
    message = with_buttons(harness)
    await harness.slack.ui.click(user, GENERAL, message.ts, fences.CHOSEN[buttons(message).index(option)])
    await harness.work()


def texts(harness: Harness) -> list[str]:
    return [message.rpartition("\n")[2].rpartition(": ")[2] for message in harness.service.messages]


async def test_options_become_buttons_below_the_answer(harness: Harness) -> None:
    root = await asked(harness)

    answer, below = harness.seen.messages
    assert "options" not in str(answer.blocks)
    assert "Shall I refund it?" in str(answer.blocks)
    assert buttons(below) == ["Yes, refund", "No"]
    assert below.text == "• Yes, refund\n• No"
    assert below.place.thread_ts == root


async def test_a_press_sends_the_option_as_the_persons_message(harness: Harness) -> None:
    await asked(harness)

    await press(harness, "Yes, refund")

    assert texts(harness) == ["hello", "Yes, refund"]
    assert harness.service.asked[1]["sessionId"] == 42
    below = harness.seen.messages[1]
    assert below.text.startswith("✓ Yes, refund · Alice")
    assert "actions" not in str(below.blocks)


async def test_only_the_first_press_counts(harness: Harness) -> None:
    await asked(harness)
    ts, id_ = with_buttons(harness).ts, fences.CHOSEN[0]
    await harness.slack.ui.click(ALICE, GENERAL, ts, id_)
    await harness.slack.ui.click(ALICE, GENERAL, ts, fences.CHOSEN[1])
    await harness.work()

    assert texts(harness) == ["hello", "Yes, refund"]
    assert any("already used this button" in one.text for one in harness.seen.ephemerals)


async def test_a_press_is_never_a_command(harness: Harness) -> None:
    await asked(harness, "Well?\n```options\n!new\n/stats\n```")

    await press(harness, "!new")

    assert texts(harness) == ["hello", "!new"]


async def test_typing_an_option_works_too(harness: Harness) -> None:
    root = await asked(harness)

    await harness.slack.people.say(ALICE, GENERAL, "No", thread_ts=root)
    await harness.work()

    assert texts(harness) == ["hello", "No"]


async def test_someone_elses_press_needs_send_it_and_then_counts_as_theirs(harness: Harness) -> None:
    root = await asked(harness)
    await harness.slack.people.say(BOB, GENERAL, "I'm here, too", thread_ts=root)
    await harness.work()

    await press(harness, "No", BOB)

    assert texts(harness) == ["hello"]
    assert buttons(with_buttons(harness)) == ["Yes, refund", "No"]
    private = harness.seen.ephemerals[-1]
    assert private.text == "I didn't send “No” to the agent, because it's talking with someone else here."
    await harness.slack.ui.click(BOB, GENERAL, private.ts, fences.MEANT)
    await harness.work()
    assert texts(harness) == ["hello", "No"]
    assert harness.seen.messages[1].text.startswith("✓ No · Bob")
    assert "option:" not in str(harness.seen.messages[1].blocks)


async def test_the_askers_press_counts_though_others_wrote_or_pressed(harness: Harness) -> None:
    root = await asked(harness)
    await press(harness, "No", BOB)
    await harness.slack.people.say(BOB, GENERAL, "I'd say no", thread_ts=root)
    await harness.work()

    await press(harness, "Yes, refund")

    assert texts(harness) == ["hello", "Yes, refund"]


async def test_someone_elses_refused_press_is_no_reply(harness: Harness) -> None:
    root = await asked(harness)
    await press(harness, "No", BOB)

    await harness.slack.people.say(ALICE, GENERAL, "Wait, is it paid?", thread_ts=root)
    await harness.work()

    assert texts(harness) == ["hello", "Wait, is it paid?"]


async def test_a_muted_thread_takes_no_press(harness: Harness) -> None:
    root = await asked(harness)
    await harness.slack.people.say(ALICE, GENERAL, "!mute", thread_ts=root)
    await harness.work()

    await press(harness, "No")

    assert texts(harness) == ["hello"]
    assert buttons(with_buttons(harness)) == ["Yes, refund", "No"]


async def test_a_press_counts_for_a_limit(harness: Harness) -> None:
    harness.configure(BRIDGE_USER_TURNS_PER_MINUTE="1")
    await asked(harness)

    await press(harness, "No")

    assert texts(harness) == ["hello"]


async def test_options_are_a_list_where_slack_refuses_buttons(harness: Harness) -> None:
    harness.slack.faults.on(POST, Error("invalid_blocks"), times=None, when=lambda call: "option:" in str(call))
    await asked(harness, "Which?\n```options\nA <!channel>\nB\n```")

    assert "• A &lt;!channel&gt;\n• B" in [one.text for one in harness.seen.messages]


@pytest.mark.parametrize(("count", "length"), [(11, 5), (3, 100)], ids=["many", "long"])
async def test_many_or_long_options_become_a_menu(harness: Harness, count: int, length: int) -> None:
    options = [f"{number} {'x' * length}" for number in range(count)]
    await asked(harness, "Which?\n```options\n" + "\n".join(options) + "\n```")
    below = with_buttons(harness)
    [menu] = below.blocks[0]["elements"]

    await harness.slack.ui.select(ALICE, GENERAL, below.ts, fences.CHOSEN_IN_MENU, options[1])
    await harness.work()

    assert [option["value"] for option in menu["options"]] == options
    assert texts(harness)[-1] == options[1]


async def test_an_answer_of_options_only_still_has_words(harness: Harness) -> None:
    await asked(harness, "```options\nA\nB\n```")

    assert "Choose one:" in str(harness.seen.messages[0].blocks)


async def test_a_fence_with_a_file_name_is_posted_as_that_file(harness: Harness) -> None:
    await asked(harness, "Here:\n\n```csv report.csv\na,b\n1,2\n```\n\nand\n\n```notes.md\n# Hi\n```")

    assert [(file.title, file.content) for file in harness.slack.files] == [
        ("report.csv", b"a,b\n1,2\n"),
        ("notes.md", b"# Hi\n"),
    ]
    assert "📎 `report.csv` · 2 lines, 8 bytes · `a,b`" in str(harness.seen.messages[0].blocks)


async def test_the_first_five_of_many_files_are_posted(harness: Harness) -> None:
    await asked(harness, "\n\n".join(f"```csv {number}.csv\na\n```" for number in range(1, 8)))

    assert [file.title for file in harness.slack.files] == ["1.csv", "2.csv", "3.csv", "4.csv", "5.csv"]


async def test_without_the_permission_a_file_stays_a_fence(harness: Harness) -> None:
    harness.slack.scopes.discard("files:write")
    harness.identity = (await harness.wires.web.hello()).identity
    harness.configure()
    await asked(harness, "Here:\n\n```csv report.csv\na,b\n```")

    assert "report.csv\na,b\n" in str(harness.seen.messages[0].blocks[0]["text"])


async def test_a_long_answer_keeps_its_options(harness: Harness) -> None:
    await asked(harness, "word " * 30_000 + "\n\n```options\nA\nB\n```\n")

    assert buttons(with_buttons(harness)) == ["A", "B"]
    assert [file.name.endswith(".md") for file in harness.slack.files] == [True]
