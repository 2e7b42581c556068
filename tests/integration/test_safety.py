"""No text from the service, an agent or a person pings anyone, forges a link, or is unfurled."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import ALICE, DM_ALICE, GENERAL
from bridge.playground.emulator.server import ApiCall
from bridge.playground.sample_project.answers import PlannedAnswer, Proper
from bridge.playground.sample_project.conversation import scripted
from bridge.playground.sample_project.sample import SampleAgent, SampleWorkflow
from support.system import System, shared_system
from support.unsafe_markup import violations
from support.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="module")

EVIL = (
    "<!channel> <!here> <!everyone> <!subteam^S0RUNNERS> <!subteam^S0RUNNERS|runners> <@U0BOB> <@U0BOB|bob> "
    "<#C0GENERAL> <https://evil.example|https://bank.example> [https://bank.example](https://evil.example/x) "
    "@channel @here @everyone `<!channel>` ``` <!channel> ``` "
    "<!date^1^{date}^https://evil.example|now> &lt;!channel&gt;"
)
CHAT = "/api/sdk/agents/1/chat"
RUN = "/api/sdk/workflows/66/run"


def _run(_given: Any) -> tuple[str, Any]:
    return EVIL, EVIL


async def started(system: System) -> None:
    system.project.operations.agents.append(
        SampleAgent(66, EVIL, EVIL, EVIL, scripted(EVIL), welcome_message=EVIL, tools=[{"id": 1, "name": EVIL}])
    )
    nodes = [(EVIL, EVIL), ("end", EVIL)]
    system.project.operations.workflows.append(SampleWorkflow(66, EVIL, EVIL, EVIL, nodes, _run))
    system.project.operations.workflows.append(SampleWorkflow(67, EVIL, EVIL, EVIL, nodes, _run, is_active=False))


opened, system = shared_system(started, BRIDGE_DEFAULT_AGENT="1")


def assert_harmless(system: System, *methods: str) -> None:
    """Fail on anything active in what was sent; something must have been sent by each of *methods*."""
    calls = system.slack.calls[system.called_before :]
    assert {call.method for call in calls} >= set(methods)
    assert [problem for call in calls for problem in violations(call)] == []


async def latest_card(system: System, words: str) -> str:
    """Wait for the bot's newest message in the channel that contains *words*."""

    def newest() -> list[str]:
        calls = [*system.called("chat.postMessage"), *system.called("chat.update")]
        return [str(call.answer["ts"]) for call in calls if words in str(call.args) and call.is_ok]

    await wait_until(newest, f"a card that says {words}")
    return newest()[-1]


async def test_the_services_error_messages_are_harmless(system: System) -> None:
    system.project.on("POST", CHAT, PlannedAnswer(400, {"error": EVIL}))
    system.project.on("POST", CHAT, PlannedAnswer(422, {"message": EVIL}))

    root = await system.mention(ALICE, GENERAL, "hello there")
    answers = await system.answered(GENERAL, root)
    await system.replied(ALICE, GENERAL, root, "and again")

    assert "evil.example" in answers[0], "the input is quoted"
    assert_harmless(system, "chat.postMessage")


async def test_an_agents_name_is_harmless_wherever_it_is_shown(system: System) -> None:
    system.project.on("POST", "/api/sdk/agents/66/chat", Proper(delay=0.8))

    root = await system.slack.people.say(ALICE, DM_ALICE, "66: hello there")
    await system.answered(DM_ALICE, root)
    await system.slack.people.say(ALICE, DM_ALICE, "!session", thread_ts=root)
    await system.answered(DM_ALICE, root, 2)
    for text in ("list", "show 66", "default 66", "show <!channel>", "default none", "list --share"):
        await system.slack.ui.command(ALICE, GENERAL, "/agents", text)
    await wait_until(lambda: len(system.called("response_url")) >= 5, "the commands are answered")
    await wait_until(lambda: system.called("chat.postMessage")[-1].args["channel"] == GENERAL, "one answer is shared")

    assert_harmless(system, "response_url", "chat.postMessage")


async def test_a_status_text_is_harmless(system: System) -> None:
    system.project.on("POST", "/api/sdk/agents/66/chat", Proper(delay=0.8))
    system.slack.faults.on("agents.sessions.setStatus", Error("unknown_method"), times=None)

    root = await system.mention(ALICE, GENERAL, "66: hello there")
    await system.answered(GENERAL, root)
    await wait_until(lambda: system.slack.status(GENERAL, root) == "", "the status is cleared")

    assert_harmless(system, "assistant.threads.setStatus")


async def test_a_workflows_name_and_output_are_harmless_on_its_card(system: System) -> None:
    system.project.on("POST", RUN, Proper(delay=0.8))

    await system.slack.ui.command(ALICE, GENERAL, "/workflows", f"run 66 {EVIL}")
    card = await latest_card(system, "run 12")
    await system.slack.ui.click(ALICE, GENERAL, card, "run:nodes")
    await system.answered(GENERAL, card, 2)

    assert_harmless(system, "chat.postMessage", "chat.update")


async def test_lists_forms_questions_and_misspellings_are_harmless(system: System) -> None:
    for text in ("list", "show 66", "run 66", "run 67 hello", "show <!channel>", "<!here> <@U0BOB>"):
        await system.slack.ui.command(ALICE, GENERAL, "/workflows", text)
    await wait_until(lambda: len(system.called("response_url")) >= 5, "the commands are answered")
    await wait_until(lambda: system.called("views.open"), "the form is open")
    view = system.slack.views(ALICE)[-1]
    offered = await system.slack.ui.suggestions(ALICE, "workflow", "channel", view_id=view.id)

    assert len(offered) == 2
    assert {option["text"]["type"] for option in offered} == {"plain_text"}
    assert_harmless(system, "response_url", "views.open")


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
