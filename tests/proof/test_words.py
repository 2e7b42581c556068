"""All words that people see are plain, short and friendly: the whole catalogue, and what the layouts make of it.

The catalogue is read as it is. Every public function of the layouts is made to speak: arguments are made from their
types, so that a new function is listened to without being listed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from bridge.slack.blockkit.reply import Reply, View
from support.catalogue import constants, said
from support.evil import results, returns, surfaces

BRICKS = {"kit", "links", "markdown", "mrkdwn", "shapes", "json_text", "numbers", "charts", "lists"}  # no words of ours
JARGON = re.compile(
    r"\b(null|(?-i:None)|nil|undefined|nan|exception|traceback|stack|redis|http|json error|http \d{3}|status code|"
    r"timeout|payload|token|endpoint|upstream|invalid|illegal|fatal|abort(ed)?|error code|error)\b",
    re.IGNORECASE,
)
BLAME = re.compile(
    r"\b(you (forgot|failed|should have|must)|your (fault|mistake|error)|wrong!|incorrect|not permitted|denied)\b|!!",
    re.IGNORECASE,
)
TERMS = {  # the service's own, and what else they are called elsewhere
    "agent": r"assistants?|chat ?bots?|ai|llms?",
    "workflow": r"flows?|pipelines?|automations?",
    "run": r"jobs?|execut\w+|invocations?",
    "node": r"steps?",
    "tag": r"labels?|keywords?",
    "version": r"revisions?",
    "statistics": r"analytics|metrics|dashboards?",
}
OTHER_TERMS = re.compile(rf"\b({'|'.join(TERMS.values())})\b", re.IGNORECASE)

LONGEST_SENTENCE = 230
LONGEST_TEXT = 700
LONGEST_BUTTON = 30
NAME = "Weekly import"

SPEAKING = {
    name: function
    for name, function in surfaces()
    if name.partition(".")[0] not in BRICKS and returns(function) in {Reply, View}
}
CATALOGUE = dict(said())


def check(text: str) -> None:
    """Hold words to the rules."""
    assert not JARGON.search(text), text
    assert not BLAME.search(text), text
    assert len(text) <= LONGEST_TEXT, text
    assert all(len(sentence) <= LONGEST_SENTENCE for sentence in re.split(r"(?<=[.?!:;])\s", text)), text


@pytest.mark.parametrize(
    "text",
    [
        "The upstream request failed.",
        "Invalid input.",
        "HTTP 502",
        "The result is None.",
        "You must write a number.",
        "That was your mistake.",
        "Denied!!",
        "and so on, " * 30,
        "This is it. " * 70,
    ],
)
def test_the_rules_find_what_they_are_for(text: str) -> None:
    with pytest.raises(AssertionError):
        check(text)


@pytest.mark.parametrize("name", CATALOGUE)
def test_the_catalogue_is_plain_short_and_in_the_service_s_terms(name: str) -> None:
    text = CATALOGUE[name]

    check(text)
    assert not OTHER_TERMS.search(text), text
    assert text == text.strip(), text
    assert not re.search(r"  |\.\.\.|\s[,.;:?]|[A-Z]{5,}", text), text


@pytest.mark.parametrize(("name", "text"), list(constants()))
def test_what_has_several_sentences_ends_the_last_of_them(name: str, text: str) -> None:
    has_several = re.search(r"[a-z)][.?!] [A-Z{]", text) is not None

    assert not has_several or text[-1] in ".?!}", name


def spoken_by(name: str) -> list[Any]:
    """Let a function speak: with every argument, and with only those that it needs."""
    function = SPEAKING[name]
    return [*results(function, NAME), *results(function, NAME, only_needed=True)]


def words_in(shown: Any) -> Iterator[str]:
    """Find the words of blocks: paragraphs whole, not run by run."""
    if isinstance(shown, Reply):
        yield from words_in([shown.blocks, shown.footer])
        if not (shown.blocks or shown.markdown):
            yield shown.text
    elif isinstance(shown, list | tuple):
        for one in shown:
            yield from words_in(one)
    elif isinstance(shown, dict):
        yield from _words_of(shown)


def _words_of(block: dict[str, Any]) -> Iterator[str]:
    match block:
        case {"type": "rich_text_section" | "rich_text_quote" | "rich_text_preformatted", "elements": runs}:
            yield "".join(str(run.get("text", "")) for run in runs if "code" not in run.get("style", {}))
        case {"type": "plain_text" | "mrkdwn", "text": str() as text}:
            yield text
        case _:
            for name, value in block.items():
                if name not in {"value", "private_metadata", "initial_value"}:
                    yield from words_in(value)


def buttons_in(shown: Any) -> Iterator[str]:
    if isinstance(shown, Reply):
        shown = [*shown.blocks, *shown.footer]
    if isinstance(shown, dict):
        if shown.get("type") == "button":
            yield str(shown["text"]["text"])
        shown = list(shown.values())
    if isinstance(shown, list | tuple):
        for one in shown:
            yield from buttons_in(one)


@pytest.mark.parametrize("name", SPEAKING)
def test_words_are_short_and_without_jargon_or_blame(name: str) -> None:
    for text in words_in(spoken_by(name)):
        check(text)


@pytest.mark.parametrize("name", SPEAKING)
def test_buttons_are_short_and_begin_like_a_sentence_that_they_do_not_end(name: str) -> None:
    for label in buttons_in(spoken_by(name)):
        assert len(label) <= LONGEST_BUTTON, label
        assert label[0].isupper() or not label[0].isalpha(), label
        assert label[-1] not in ".!", label


OF_OTHERS = {"notices.help_lines", "conversations.greeting"}  # a list of usages; an agent's own welcome message
NOTICES = [name for name in SPEAKING if name.partition(".")[0] in {"notices", "conversations", "stops", "menu"}]


@pytest.mark.parametrize("name", [name for name in NOTICES if name not in OF_OTHERS])
def test_what_the_bridge_says_itself_is_whole_sentences(name: str) -> None:
    for shown in spoken_by(name):
        assert shown.text[0].isupper() or not shown.text[0].isalpha(), shown.text
        assert shown.text[-1] in ".?!", shown.text
        assert "  " not in shown.text


def test_the_words_are_looked_for_where_they_are() -> None:
    assert len(SPEAKING) > 50
    assert {"notices.outcome_unknown", "run_card.finished", "menu.agent_menu", "failures.failure"} <= set(SPEAKING)
