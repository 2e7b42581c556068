"""All words that people read in Slack stand in `bridge.words`, each once, and each is used with all of its places."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

import bridge
from bridge import words
from bridge.features.reports.layout import NO_CLOCK
from bridge.features.reports.wording import read_wanted, span_of
from support.catalogue import constants, functions, places
from support.phrases import phrases_in

CODE = Path(bridge.__file__).parent
SHOW = ("slack/blockkit", "features", "ops/manifest.py")
CARRY = ("slack", "listeners")
CARRIES = frozenset(
    [
        "plan",
        "effects",
        "turn",
        "show",
        "decide",
        "outcome",
        "access",
        "receive",
        "planning",
        "context",
        "choosing",
        "greeting",
        "stopping",
        "ask",
        "runs",
        "after",
        "lately",
        "sessions",
        "votes",
        "schedules",
        "stored_snapshots",
        "waiting_line",
        "waiting_signs",
        "table",
    ]
)
FILLS = {"kit.filled", "kit.trusted", "kit.trusted_context"}

NOT_FOR_PEOPLE = {
    "no clock",  # kept with a report that is paused; what is shown for it is in `words.WHY_PAUSED`
    "last week", "a week", " ago",  # what may be typed behind `/stats since`
    "Authorization", "Bearer {}", "Date", "Retry-After",  # of HTTP
}  # fmt: skip


def modules(*wanted: str) -> Iterator[Path]:
    for place in wanted:
        path = CODE / place
        yield from [path] if path.is_file() else sorted(path.rglob("*.py"))


def inside(path: Path) -> str:
    return str(path.relative_to(CODE))


def uses() -> Iterator[ast.Attribute]:
    """Go through every ``words.NAME`` in the code."""
    for module in modules("."):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) in {"words", "catalogue"}:
                yield node


FOR_OPERATORS = {"votes.py", "table.py"}


@pytest.mark.parametrize(
    "module", [one for one in sorted({*modules(*SHOW, *CARRY)}) if one.name not in FOR_OPERATORS], ids=inside
)
def test_words_for_people_stand_in_the_catalogue(module: Path) -> None:
    carries = "blockkit" not in module.parts and (inside(module).startswith(CARRY) or module.stem in CARRIES)

    found = phrases_in(module.read_text(), carries=carries)

    assert [(line, text) for line, text in found if text not in NOT_FOR_PEOPLE] == []


def test_no_exception_is_left_that_nothing_needs() -> None:
    found = {text for module in modules(*SHOW, *CARRY) for _line, text in phrases_in(module.read_text())}

    assert found >= NOT_FOR_PEOPLE


@pytest.mark.parametrize(
    "line",
    [
        'kit.text("Hello you")',
        'kit.reply(f"{name} answers here.")',
        'kit.words("failed", bold=True)',
        'return f"{name} and {count} more"',
        'kit.actions(kit.button("Pause", PAUSE, value))',
        'LABELS = {"daily": "Every day"}',
        'raise BadSchedule("channel", typed or "this channel")',
        'raise BadUsage(f"{name} 7d, at most 400 days back")',
        'Show(kit.reply(text), "thank you")',
        "words.ANSWERS_HERE.format(agent='an agent')",
        'text = ("a first part, "\n    "and a second")',
    ],
)
def test_words_in_a_layout_are_found(line: str) -> None:
    assert list(phrases_in(line)), line


@pytest.mark.parametrize(
    "line",
    [
        'Nothing if kit is None else kit.section("Hello you")',
        'STATUS = f"is asking {name}…"',
        'CARD = "Started by somebody"',
        'await say.post(place, Reply(text="no answer came back."))',
    ],
)
def test_words_in_a_layer_that_carries_them_are_found(line: str) -> None:
    assert list(phrases_in(line, carries=True)), line


@pytest.mark.parametrize(
    "line",
    [
        '"""A docstring, which says what this is."""',
        'log.info("a thread waits", extra={"why": "no agent"})',
        're.compile("(?:one two|Three)")',
        'return Nothing("its thread is muted")',
        'return Show(reply, what="report kept")',
        'raise TypeError(f"{usage}: registered twice")',
        'router.command("/agents show <agent>", words.HELP_AGENTS_SHOW)',
        'said += [f"--only {only}"]',
        'kit.button(words.PAUSE, "report:pause", value)',
        'kind: Literal["Two words"] = given',
        'form = f"{moment:%d %b of %Y}"',
    ],
)
def test_what_is_not_for_people_is_not_found(line: str) -> None:
    assert list(phrases_in(line)) == []


def test_every_word_of_the_catalogue_is_used() -> None:
    used = {node.attr for node in uses()}
    used |= {node.id for node in ast.walk(ast.parse(inspect.getsource(words))) if isinstance(node, ast.Name)
             and isinstance(node.ctx, ast.Load)}  # fmt: skip
    known = {name.partition("[")[0] for name, _text in constants()} | {name for name, _function in functions()}

    assert known - used == set()


def test_nothing_is_said_in_two_entries() -> None:
    # One name may have the same words for several reasons; two names for the same words drift apart.
    counts = Counter(text for name, text in {(name.partition("[")[0], text) for name, text in constants()})

    assert [text for text, count in counts.items() if count > 1] == []


def test_every_place_of_a_template_is_filled() -> None:
    found, known = 0, dict(constants())
    for module in modules("."):
        for node in ast.walk(ast.parse(module.read_text())):
            if not isinstance(node, ast.Call) or inside(module) == "slack/blockkit/kit.py":
                continue
            called = ast.unparse(node.func)
            template = ast.unparse(node.args[0]) if called in FILLS else called.removesuffix(".format")
            if (name := template.removeprefix("words.")) in known and template != called:
                found += 1
                assert {given.arg for given in node.keywords} == places(known[name]), ast.unparse(node)

    assert found > 100


def test_templates_have_named_places_and_never_look_into_what_fills_them() -> None:
    for name, text in constants():
        assert all(place.isidentifier() for place in places(text)), name
        assert "." not in "".join(places(text)), name


def test_what_a_form_offers_is_understood_where_it_is_read() -> None:
    assert all(read_wanted(f"{often} 09:00") for often in words.OFTEN if often != "cron")
    assert all(span_of(span) for span in words.COMPARE if span != "-")
    assert NO_CLOCK in words.WHY_PAUSED
