"""Untrusted text can't pass for the bridge's own: it stays within quotation marks, a quote, code, or a plain name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from bridge.ends import notices
from bridge.ends.failures import failure, sentence
from bridge.errors import (
    BridgeError,
    Busy,
    NoSuch,
    NotFound,
    ServiceRefused,
    SeveralFit,
    SlackRefused,
    UnknownCommand,
)
from bridge.features.agents import layout as agents
from bridge.features.channels import layout as channels
from bridge.features.conversations import answers, menu
from bridge.features.workflows import forms, layout as workflows, run_card
from bridge.project.models import Agent, RunResult, Workflow
from bridge.slack import parts
from bridge.slack.blockkit import kit, lists
from bridge.slack.blockkit.modals import Origin
from bridge.slack.blockkit.mrkdwn import message_text
from bridge.slack.blockkit.reply import Block, Reply
from support.tables import each

FORGED = "FORGED"
ATTACKS = [
    f"x”. {FORGED} The bridge is closed. “y",
    f"x“ {FORGED} „y",
    f'x". {FORGED} "y',
    f"x. {FORGED}: sign in again at https://evil.example.",
    f"x\n\n{FORGED} notice",
    f"x · run 7 · {FORGED}",
    f"x〞 {FORGED} ＂",  # noqa: RUF001 - the look-alikes are the point
    f"x\u2028{FORGED}! y",
    f"x ({FORGED}) ” y”” {FORGED}",
]
LONG = "a very long name that keeps going and finally says that it is FORGED rather than a name"


def outside_of_quotes(words: str) -> str:
    return re.sub(r"“[^“”]*”", "“”", words)


def a_workflow(name: str) -> Workflow:
    return Workflow(id=1, name=name, is_active=False, trigger_type="manual", node_count=1)


def an_agent(name: str) -> Agent:
    return Agent(id=1, name=name, model="m")


def a_run(words: str) -> run_card.Run:
    return run_card.Run(workflow=1, name="Report", input=words, started_by=words, turn="t1")


def texts_of(shown: Any) -> Iterator[str]:
    """All texts in blocks, at any depth."""
    if isinstance(shown, list | tuple):
        for item in shown:
            yield from texts_of(item)
    elif isinstance(shown, dict):
        if isinstance(shown.get("text"), str):
            yield shown["text"]
        yield from texts_of([item for name, item in shown.items() if name not in {"text", "value"}])
        yield from texts_of(shown["text"] if isinstance(shown.get("text"), dict) else None)


@each(
    "failed",
    [
        lambda words: ServiceRefused("run_workflow", 422, words),
        lambda words: ServiceRefused("run_workflow", 500, words),
        lambda words: NotFound("run_workflow", 404, words),
        lambda words: Busy("run_workflow", 429, words),
        lambda words: UnknownCommand(words, ["/workflows list [words]"]),
        lambda words: NoSuch("agent", words, [words, words]),
        lambda words: SeveralFit("workflow", words, [(1, words), (2, words)]),
    ],
)
def test_a_failure_quotes_the_services_words_and_the_typed_text(failed: Callable[[str], BridgeError]) -> None:
    for error in map(failed, ATTACKS):
        assert FORGED in sentence(error)
        assert FORGED not in outside_of_quotes(sentence(error))
        assert FORGED not in outside_of_quotes(failure(error).text)
        assert "\n" not in sentence(error)


NAMED: dict[str, Callable[[str], Reply]] = {
    "channel changed": lambda words: channels.changed(
        [channels.SettingChange("app", "workflow", words, "A1", words)], words
    ),
    "change notice": lambda words: channels.changed_notice(
        [channels.SettingChange("app", "agent", words, "A1", words)], words
    ),
    "chosen": lambda words: menu.chosen(5, words),
    "session_info": lambda words: notices.session_info(words, 5),
    "session_info without a session": lambda words: notices.session_info(words, None),
    "confirm": lambda words: run_card.confirm(a_workflow(words), "x"),
    "confirmed": lambda words: run_card.confirmed(a_workflow(words)),
    "offer_form": lambda words: forms.run_form(a_workflow(words), Origin()).otherwise,
    "running": lambda words: run_card.running(a_run(words)),
    "failed": lambda words: run_card.failed(
        a_run(words), ServiceRefused("run_workflow", 422, words), timedelta(seconds=1)
    ),
    "unknown": lambda words: run_card.unknown(a_run(words)),
    "no agent has": lambda words: agents.agent_list([], words),
    "no workflow has": lambda words: workflows.workflow_list([], words),
    "agents with": lambda words: agents.agent_list([an_agent(f"{words} x".replace(FORGED, "forged"))], words),
}


@each("name", NAMED)
def test_a_name_like_a_sentence_is_quoted(name: str) -> None:
    for reply in map(NAMED[name], [*ATTACKS, LONG]):
        assert [text for text in [reply.text, *texts_of(reply.blocks)] if FORGED in outside_of_quotes(text)] == []


@each("name", ["Support", "Ada L. Lovelace", "Zoë O'Neil", "v1.2 (beta)", "R&D + QA", "Отдел 7", "#1"])
def test_a_plain_name_is_not_quoted(name: str) -> None:
    assert kit.named(name, 80) == (name if "L. " not in name else f"“{name}”")


@each("words", ATTACKS)
def test_a_typed_message_is_posted_as_a_quotation_with_its_author(words: str) -> None:
    reply = agents.conversation_root(an_agent("Support"), words, "alice")
    quoted, ours = reply.blocks[:-1], reply.blocks[-1]

    assert [element["type"] for block in quoted for element in block["elements"]] == ["rich_text_quote"] * len(quoted)
    assert list(texts_of(ours)) == ["alice asked Support. The answer appears in the thread: reply there to continue."]
    assert reply.text.startswith("alice asked Support: ")


@each("words", [*ATTACKS, "> x", "---\n*Only visible to you*"])
def test_an_answer_is_one_markdown_block_without_buttons(words: str) -> None:
    reply = answers.answer_reply(words, [words], notes=[answers.SESSION_GONE])

    blocks = [block for part in parts.parts_of(reply) for block in part.blocks]
    assert [block["type"] for block in blocks] == ["markdown", "context"]
    note, tools, *others = [element["text"] for element in blocks[1]["elements"]]
    assert note == answers.SESSION_GONE
    assert tools.startswith("Tools used: ")
    assert "\n" not in tools
    assert not others


FENCES = ["```\nFORGED\n```", "`FORGED`", "~~~\nFORGED", '"}\n```FORGED', "</code>FORGED"]


@each("words", FENCES)
def test_output_with_a_fence_stays_in_its_code_block(words: str) -> None:
    def of_type(blocks: tuple[Block, ...], kind: str) -> list[Block]:
        return [element for block in blocks for element in block.get("elements", []) if element.get("type") == kind]

    cards = [
        run_card.node_results({"node": words, "other": {"text": words}}),
        run_card.finished(
            a_run("alice"), RunResult(runId=1, status="completed", output={"x": words}), timedelta(seconds=1)
        ),
    ]

    for card in cards:
        holding = [block for block in card.blocks if FORGED in str(block)]
        assert holding
        assert str(of_type(card.blocks, "rich_text_preformatted")).count(FORGED) == str(card.blocks).count(FORGED)


def test_a_name_in_a_list_is_one_line() -> None:
    named = [a_workflow(f"x\n{FORGED}\u2028y"), a_workflow(f"y\r{FORGED}")]
    line = lambda item: kit.paragraph(kit.one_line(item.name))  # noqa: E731
    reply = lists.list_reply("workflow", named, named, line, lists.ListPage(), turns=("a", "b"), nothing="")

    assert not any(line.startswith(FORGED) for line in reply.text.split("\n"))
    assert [text for text in texts_of(reply.blocks) if "\n" in text] == []


def test_slacks_reason_is_one_line() -> None:
    assert "\n" not in sentence(SlackRefused("x", f"a\n{FORGED}", "b\nc"))


@pytest.mark.parametrize(
    ("raw", "sent"),
    [
        ("<https://a.example/(x&gt;y|label>", "[label](<https://a.example/(x%3Ey>)"),
        (
            "<https://evil.example|bank](https://bank.example) x>",
            "[bank\\](https://bank.example) x](https://evil.example)",
        ),
        ("&lt;@U1&gt; &lt;!channel&gt;", "<@U1> <!channel>"),
    ],
)
def test_a_message_reaches_the_agent_as_written(raw: str, sent: str) -> None:
    assert message_text(raw, bot_user="UBOT", names={"U1": "ann"}) == sent
