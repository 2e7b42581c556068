"""No text from the service, an agent or a person pings anyone, forges a link, or is unfurled."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import ALICE, DM_ALICE, GENERAL
from bridge.playground.emulator.server import ApiCall
from support.harness import SUPPORT, WORKFLOW, Harness
from support.unsafe_markup import violations
from support.waiting import wait_until

EVIL = (
    "<!channel> <!here> <!everyone> <!subteam^S0RUNNERS> <!subteam^S0RUNNERS|runners> <@U0BOB> <@U0BOB|bob> "
    "<#C0GENERAL> <https://evil.example|https://bank.example> [https://bank.example](https://evil.example/x) "
    "@channel @here @everyone `<!channel>` ``` <!channel> ``` "
    "<!date^1^{date}^https://evil.example|now> &lt;!channel&gt;"
)


@pytest.fixture
def harness(harness: Harness) -> Harness:
    evil = {"name": EVIL, "description": EVIL}
    agent = {**SUPPORT, **evil, "model": EVIL, "welcome_message": EVIL, "tools": [{"id": 1, "name": EVIL}]}
    harness.configure(BRIDGE_DEFAULT_AGENT="7")
    harness.service.agents = [agent]
    harness.service.workflows = [{**WORKFLOW, **evil}, {**WORKFLOW, **evil, "id": 4, "is_active": False}]
    harness.service.details = {"nodes": [{"id": EVIL, "type": EVIL, "label": EVIL}], "edges": []}
    ran = {"runId": 5, "status": "completed", "output": EVIL, "nodeResults": {EVIL: EVIL}}
    harness.service.run_answers = [httpx.Response(200, json=ran)]
    answer = {"sessionId": 42, "message": EVIL, "toolsUsed": [EVIL]}
    harness.service.chats = [httpx.Response(200, json=answer)]
    return harness


def assert_harmless(harness: Harness, *methods: str) -> None:
    """Fail on anything active in what was sent; something must have been sent by each of *methods*."""
    assert {call.method for call in harness.slack.calls} >= set(methods)
    assert [problem for call in harness.slack.calls for problem in violations(call)] == []


async def say(harness: Harness, text: str, thread_ts: str = "") -> str:
    ts = await harness.slack.people.say(ALICE, DM_ALICE, text, thread_ts=thread_ts)
    await harness.work()
    return ts


async def typed(harness: Harness, *lines: str) -> None:
    for line in lines:
        await harness.type_command(line)


async def test_the_services_error_messages_are_harmless(harness: Harness) -> None:
    harness.service.chats = [httpx.Response(400, json={"error": EVIL}), httpx.Response(422, json={"message": EVIL})]

    root = await say(harness, "hello there")
    await say(harness, "and again", root)

    assert all("evil.example" in words for words in harness.seen.texts[-2:]), "the input is quoted"
    assert_harmless(harness, "chat.postMessage")


async def test_an_agents_name_and_answer_are_harmless_wherever_they_are_shown(harness: Harness) -> None:
    root = await say(harness, "7: hello there")
    await say(harness, "!session", root)
    lines = ("list", "show 7", "default 7", "show <!channel>", "default none", "list --share")
    await typed(harness, *(f"/agents {line}" for line in lines))

    assert len(harness.seen.called("response_url")) >= 5
    assert harness.seen.messages[-1].place.channel == GENERAL, "one answer is shared"
    assert_harmless(harness, "response_url", "chat.postMessage")


async def test_a_status_text_is_harmless(harness: Harness) -> None:
    harness.slack.faults.on("agents.sessions.setStatus", Error("unknown_method"), times=None)
    harness.service.gate.clear()

    await harness.slack.people.say(ALICE, DM_ALICE, "7: hello there")
    work = await harness.start_next()
    await wait_until(lambda: harness.seen.called("assistant.threads.setStatus"), "the status is shown")
    harness.service.gate.set()
    await work

    assert_harmless(harness, "assistant.threads.setStatus")


async def test_a_workflows_name_and_output_are_harmless_on_its_card(harness: Harness) -> None:
    harness.service.run_gate.clear()
    await harness.type_command(f"/workflows run 3 {EVIL}", works=False)
    work = await harness.start_next()
    await wait_until(lambda: harness.seen.messages, "the card is shown")
    harness.service.run_gate.set()
    await work
    await harness.press("run:nodes")

    assert_harmless(harness, "chat.postMessage", "chat.update")


async def test_lists_forms_questions_and_misspellings_are_harmless(harness: Harness) -> None:
    lines = ("list", "show 3", "run 3", "run 4 hello", "show <!channel>", "<!here> <@U0BOB>")
    await typed(harness, *(f"/workflows {line}" for line in lines))
    view = harness.slack.views(ALICE)[-1]
    offered = await harness.slack.ui.suggestions(ALICE, view, "workflow", "channel")

    assert [option["text"]["type"] for option in offered] == ["plain_text"] * 2
    assert_harmless(harness, "response_url", "views.open")


@pytest.mark.parametrize(
    ("method", "args"),
    [
        ("chat.postMessage", {"text": "hello", "parse": "none"}),
        ("chat.update", {"text": "hello"}),
        ("chat.update", {"text": "<!channel>", "parse": "none"}),
        ("chat.update", {"text": "", "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "<@U1>"}}]}),
        ("chat.update", {"text": "", "blocks": [{"type": "markdown", "text": "@here"}]}),
        ("chat.update", {"text": "", "blocks": [{"type": "markdown", "text": "[bank.example](https://evil.example)"}]}),
        (
            "chat.update",
            {"text": "", "blocks": [{"type": "rich_text", "elements": [{"type": "user", "user_id": "U1"}]}]},
        ),
        ("assistant.threads.setStatus", {"status": "is asking <!channel>"}),
        ("chat.update", {"text": "hello", "parse": "none", "link_names": True}),
    ],
)
async def test_the_ping_detector_finds_pings(method: str, args: dict[str, Any]) -> None:
    assert violations(ApiCall(method, args, token_ok=True, at=0.0))
