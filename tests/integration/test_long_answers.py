"""Answers and outputs too long for one message: nothing is lost, nothing is repeated."""

from __future__ import annotations

import asyncio
import json
import time
from functools import partial

import pytest

from bridge.playground.emulator.sample import ALICE, GENERAL
from bridge.playground.sample_project.answers import PlannedAnswer
from support.system import System, shared_system
from support.unsafe_markup import violations
from support.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="module")

CHAT = "/api/sdk/agents/1/chat"


opened, system = shared_system(BRIDGE_DEFAULT_AGENT="1")


def a_long_answer(length: int) -> str:
    """Prose, code and tables in which each line occurs once."""
    parts: list[str] = []
    number = 0
    while sum(map(len, parts)) < length:
        number += 1
        prose = f"Paragraph {number}: " + " ".join(f"word{number}-{n}" for n in range(60))
        code = "\n".join(f"    code_{number}_{n} = {n}" for n in range(40))
        rows = "\n".join(f"| row {number}.{n} | {n} |" for n in range(20))
        parts.append(f"{prose}\n\n```python\n{code}\n```\n\n| table {number} | n |\n| --- | --- |\n{rows}\n\n")
    return "".join(parts)


def lines(text: str) -> list[str]:
    """The lines of *text*, except those repeated where code or a table is split."""
    return [line for line in text.splitlines() if line.strip() and not line.startswith(("```", "| ---"))]


def markdown_of(system: System, root: str) -> str:
    """All Markdown posted in a thread, in order."""
    blocks = [block for message in system.answers(GENERAL, root) for block in message.blocks]
    return "\n".join(block["text"] for block in blocks if block["type"] == "markdown")


async def asked(system: System, answer: str) -> str:
    """Have an agent give *answer*, and wait until all of it is posted."""
    system.project.on("POST", CHAT, PlannedAnswer(200, {"sessionId": 1, "message": answer, "toolsUsed": ["the_tool"]}))
    root = await system.mention(ALICE, GENERAL, "tell me everything")
    posts = partial(system.called, "chat.postMessage")
    await wait_until(
        lambda: any("the_tool" in str(call.args) and call.is_ok for call in posts()), "the last part is posted", 20
    )
    return root


async def test_thirty_thousand_characters_become_messages_that_slack_accepts(system: System) -> None:
    answer = a_long_answer(30_000)

    root = await asked(system, answer)

    calls = system.called("chat.postMessage")
    assert lines(markdown_of(system, root)) == lines(answer)
    assert 3 <= len(calls) <= 5
    assert all(call.is_ok for call in calls)
    assert all(str(call.args["blocks"]).count("```") % 2 == 0 for call in calls), (
        "code blocks are whole in each message"
    )
    assert ["the_tool" in str(call.args["blocks"]) for call in calls] == [False] * (len(calls) - 1) + [True]
    assert [problem for call in calls for problem in violations(call)] == []


async def test_a_long_answer_of_short_lines_delays_no_other_turn(system: System) -> None:
    answer = "1\n" * 200_000
    waited: list[float] = []

    async def ask_how_it_is() -> None:
        while True:
            began = time.monotonic()
            await system.bridges[0].state()
            waited.append(time.monotonic() - began)
            await asyncio.sleep(0.02)

    asking = asyncio.create_task(ask_how_it_is())
    root = await asked(system, answer)
    asking.cancel()

    await wait_until(lambda: len(system.answers(GENERAL, root)) == 2, "the file is uploaded")
    assert (system.slack.files[-1].content or b"").decode() == answer
    assert max(waited) < 8  # it took twenty and more, time after time


async def test_an_output_that_is_too_long_is_attached_as_a_file(system: System) -> None:
    await system.slack.ui.command(ALICE, GENERAL, "/workflows", "run 11 all")
    await wait_until(
        lambda: [file for file in system.slack.files if "output" in file.name and file.shared_in],
        "the file is uploaded",
    )

    file = next(file for file in system.slack.files if "output" in file.name)
    assert len(json.loads(file.content or b"")["rows"]) == 2000
    assert {call.status for call in system.slack.calls[system.called_before :]} == {200}
    assert all(call.is_ok for call in system.slack.calls[system.called_before :] if call.method != "upload")
