"""All texts for people are plain, short and friendly, both in the source and as laid out.

Literals that look like prose are collected from the modules with texts, with placeholders filled. What's laid out comes
from the samples of every layout.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pydantic.fields import FieldInfo

import bridge
from bridge.ends import messages as ends, refusals
from bridge.settings import Settings
from bridge.slack.blockkit.reply import Reply
from support.layouts import BRICKS as BRICKS_ROOM, LAYOUTS, ROOMS, shown_in
from support.tables import each

JARGON = re.compile(
    r"\b(null|(?-i:None)|nil|undefined|nan|exception|traceback|stack|redis|http|json error|http \d{3}|status code|"
    r"timeout|payload|token|endpoint|upstream|invalid|illegal|fatal|abort(ed)?|error code|"
    r"(?<!answered with an )error)\b",
    re.IGNORECASE,
)
BLAME = re.compile(
    r"\b(you (forgot|failed|should have|must)|your (fault|mistake|error)|wrong!|incorrect|not permitted|"
    r"(access|permission) denied)\b|!!",
    re.IGNORECASE,
)
STILTED = re.compile(  # phrases that read as translated, and missing contractions
    r"\b(kept|taken|told|begun|go(es)? on|(?<!:)writes? on|left aside|(what )?becomes of|whoever|asks for patience|"
    r"in work|all the same|any more|please|cannot|mend(ed)?|of late|somebody|anybody|behind nobody|is told|"
    r"(do|does|did|is|are|was|were|has|have|had|will|would|could|should) not)\b",
    re.IGNORECASE,
)
TERMS = {  # the service's terms, with synonyms to avoid
    "agent": r"assistants?|chat ?bots?|ai|llms?",
    "workflow": r"flows?|pipelines?|automations?",
    "run": r"jobs?|execut\w+|invocations?",
    "node": r"steps?",
    "tag": r"labels?|keywords?",
    "version": r"revisions?",
    "statistics": r"analytics|metrics|dashboards?",
}
OTHER_TERMS = re.compile(rf"\b({'|'.join(TERMS.values())})\b", re.IGNORECASE)
MISTYPED = re.compile(r"  |\.\.\.|\s[,.;:?](?=\s|$)|[A-Z]{5,}|\{\w*\}")  # the last: an unfilled placeholder

LONGEST_SENTENCE = 230
LONGEST_TEXT = 700
LONGEST_BUTTON = 30
NAME = "Weekly import"

CODE = Path(bridge.__file__).parent
BRICKS = {"kit", "links", "markdown", "mrkdwn", "reply", "untyped_json", "json_text", "numbers", "charts"}
WORDED = [
    *(path for path in sorted((CODE / "features").rglob("*.py")) if path.stem in {*LAYOUTS, "commands", "shortcuts"}),
    *(path for path in sorted((CODE / "slack/blockkit").glob("*.py")) if path.stem not in BRICKS),
    CODE / "ends/typed.py",
    CODE / "cli/manifest.py",
]
MEANINGS = [
    *(one.meaning for one in ends.Reason),
    *(one.value for one in ends.MessageState),
    *(meaning for table in (ends.DECISIONS, refusals.ON_ARRIVAL, ends.ENDS, ends.DEATHS) for meaning in table.values()),
]
OPERATORS = [
    *sorted((CODE / "cli").glob("*.py")),
    CODE / "settings.py",
    CODE / "setting_types.py",
    CODE / "queue/wipe.py",
]
PHRASE = re.compile(r"^[A-Z][a-z]+|[a-z]{2,}[,.:;!?…]* [A-Za-z]{2,}")
NOT_SHOWN = re.compile(r"^(log|re|Nothing|\w*Error)\b")

TO_OPERATORS = "bridge.features.incidents"
SPEAKING = [room for room in ROOMS if room not in {BRICKS_ROOM, TO_OPERATORS}]
NOTICES = ("notices.", "conversations.", "stops.", "menu.")
OF_SERVICE = {"run_card.node_results"}  # its JSON may name errors
OF_OTHERS = {"notices.help_lines", "conversations.greeting"}  # a list of usages; an agent's own welcome message


def check(text: str) -> None:
    """Fail if a text breaks a rule."""
    assert not JARGON.search(text), text
    check_for_operators(text)


def check_for_operators(text: str) -> None:
    """Fail if a text breaks a rule that also holds for those who know Redis."""
    assert not BLAME.search(text), text
    assert not STILTED.search(text), text
    assert not OTHER_TERMS.search(text), text
    assert len(text) <= LONGEST_TEXT, text
    assert all(len(sentence) <= LONGEST_SENTENCE for sentence in re.split(r"(?<=[.?!:;])\s", text)), text


@each(
    "text",
    [
        "The upstream request failed.",
        "Invalid input.",
        "HTTP 502",
        "The result is None.",
        "You must write a number.",
        "That was your mistake.",
        "Denied!!",
        "The pipeline has two steps.",
        "Your message was taken.",
        "The conversation goes on.",
        "I cannot do this.",
        "It is not known.",
        "and so on, " * 30,
        "This is it. " * 70,
    ],
)
def test_a_text_that_breaks_a_rule_fails(text: str) -> None:
    with pytest.raises(AssertionError):
        check(text)


def written_in(code: str) -> Iterator[str]:
    """Find the literals that look like prose, with placeholders filled."""
    tree = ast.parse(code)
    passed_over: set[ast.AST] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant()):
                passed_over.add(node.value)
            case ast.Call(func=called) if NOT_SHOWN.match(ast.unparse(called)):
                passed_over.update(ast.walk(node))
            case ast.JoinedStr():
                passed_over.update(set(ast.walk(node)) - {node})
    for node in ast.walk(tree):
        if node in passed_over:
            continue
        match node:
            case ast.Constant(value=str() as text):
                pass
            case ast.JoinedStr(values=parts):
                text = "".join(str(part.value) if isinstance(part, ast.Constant) else NAME for part in parts)
            case _:
                continue
        if PHRASE.search(text) and not text.startswith(("/", "!", "--")):
            yield re.sub(r"\{\w+[^{}]*\}", NAME, text)


def test_prose_is_found_in_literals() -> None:
    assert list(
        written_in('"""No."""\nkit.text(f"Hello {name}", ID)\nlog.info("a thread waits")\nA = {"x": "two words"}')
    ) == [
        f"Hello {NAME}",
        "two words",
    ]


@each("module", WORDED)
def test_texts_in_the_source_are_plain_and_complete(module: Path) -> None:
    for text in written_in(module.read_text()):
        check(text)
        assert not MISTYPED.search(text), text
        has_several = re.search(r"[a-z)][.?!] [A-Z{]", text) is not None
        assert not has_several or text[-1] in ".?!:" or text.endswith(NAME), text


def test_what_can_happen_to_a_message_is_explained_plainly() -> None:
    for meaning in MEANINGS:
        for text in (meaning.happened, meaning.cure):
            check(text)
            assert not MISTYPED.search(re.sub(r"\{\w+\}", NAME, text)), text


@each("module", OPERATORS)
def test_texts_for_operators_are_idiomatic(module: Path) -> None:
    for text in written_in(module.read_text()):
        assert not STILTED.search(text), text


@each("field", Settings.model_fields.values())
def test_descriptions_of_settings_are_idiomatic(field: FieldInfo) -> None:
    assert not STILTED.search(str(field.description)), field.description


@cache
def spoken_by(room: str) -> list[tuple[str, Any]]:
    """What a room's layouts show, with several items in lists, with one, and with none."""
    return [each_shown for many in (2, 1, 0) for each_shown in shown_in(room, NAME, many)]


def objects_in(shown: Any) -> Iterator[dict[str, Any]]:
    """All objects in blocks, outermost first."""
    if isinstance(shown, Reply):
        yield from objects_in([*shown.blocks, *shown.footer])
    elif isinstance(shown, list | tuple):
        for one in shown:
            yield from objects_in(one)
    elif isinstance(shown, dict):
        yield shown
        yield from objects_in(list(shown.values()))


def words_in(shown: Any) -> Iterator[str]:
    """The texts in blocks, each paragraph as a whole."""
    for one in objects_in(shown):
        match one:
            case {"type": "rich_text_section" | "rich_text_quote" | "rich_text_preformatted", "elements": runs}:
                yield "".join(str(run.get("text", "")) for run in runs if "code" not in run.get("style", {}))
            case {"type": "plain_text" | "mrkdwn", "text": str() as text}:
                yield text


@each("room", SPEAKING)
def test_texts_as_laid_out_are_plain_and_filled(room: str) -> None:
    for name, shown in spoken_by(room):
        for text in words_in(shown) if name not in OF_SERVICE else ():
            check(text)
            assert not re.search(r"(?<!\{)\{\w+\}(?!\})", re.sub(r"<!date[^>]*>", "", text)), (name, text)


def test_what_operators_get_is_plain() -> None:
    for _name, shown in spoken_by(TO_OPERATORS):
        for text in words_in(shown):
            check_for_operators(text)


@each("room", SPEAKING)
def test_button_labels_are_short_in_sentence_case_without_a_period(room: str) -> None:
    for name, shown in spoken_by(room):
        for one in objects_in(shown):
            if one.get("type") == "button":
                label = one["text"]["text"]
                assert len(label) <= LONGEST_BUTTON, (name, label)
                assert label[0].isupper() or not label[0].isalpha(), (name, label)
                assert label[-1] not in ".!", (name, label)


@each("room", ["bridge.ends", "bridge.features.conversations"])
def test_notices_are_whole_sentences(room: str) -> None:
    for name, shown in spoken_by(room):
        if isinstance(shown, Reply) and name.startswith(NOTICES) and name not in OF_OTHERS:
            assert shown.text[0].isupper() or not shown.text[0].isalpha(), (name, shown.text)
            assert shown.text.partition("\n")[0][-1] in ".?!", (name, shown.text)
            assert "  " not in shown.text, (name, shown.text)


def test_the_known_texts_are_covered() -> None:
    names = {name for room in SPEAKING for name, _ in spoken_by(room)}

    assert len(names) > 50
    assert {"notices.outcome_unknown", "run_card.finished", "menu.agent_menu", "failures.failure"} <= names
    assert len(WORDED) > 20
