"""Which workflow or agent a command names, and where the name ends."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from bridge.errors import BadInput, NoSuch, NotSure, SeveralFit
from bridge.names.matching import pick
from bridge.slack.blockkit.json_text import pointed_at, typed_input
from support.tables import each


class Named(NamedTuple):
    id: int
    name: str


KNOWN = [
    Named(1, "Report"),
    Named(2, "Report daily"),
    Named(3, "Invoice run 2026"),
    Named(4, "Überblick für Straße"),
    Named(5, "3 musketeers"),
    Named(6, 'The "best" flow'),
    Named(7, "Twin"),
    Named(8, "twin"),
    Named(9, "Bob's job "),
    Named(10, "12"),
    Named(12, "Twelve"),
    Named(9007199254740993, "Beyond 2^53"),
    Named(9007199254740992, "2^53"),
    Named(12345678901234567890, "Twenty digits"),
]


@each(
    ("typed", "id_", "rest"),
    [
        ("3 hello world", 3, "hello world"),
        ("#3 hello", 3, "hello"),
        ("3", 3, ""),
        ("report", 1, ""),
        ("REPORT  DAILY", 2, ""),
        ("Report daily hello", 2, "hello"),
        ("Report d", 1, "d"),
        ("Report hello\n  world", 1, "hello\n  world"),
        ('"Report" daily', 1, "daily"),
        ("“Report daily” x", 2, "x"),
        ("'Report daily' x", 2, "x"),
        ("„Report“ daily", 1, "daily"),
        ("inv {}", 3, "{}"),
        ("invoice run go", 3, "go"),
        ("überblick FÜR strasse los", 4, "los"),
        ("3 musketeers", 3, "musketeers"),
        ('"3 musketeers" x', 5, "x"),
        ('The "best" flow x', 6, "x"),
        ("the “best” flow x", 6, "x"),
        ("Bob's job x", 9, "x"),
        ("Bob\u2019s job x", 9, "x"),
        ("12 x", 12, "x"),
        ("  Report   x  ", 1, "x"),
        ('Report "x', 1, '"x'),
    ],
)
def test_a_name_may_be_followed_by_input(typed: str, id_: int, rest: str) -> None:
    found = pick("workflow", typed, KNOWN, takes_rest=True)

    assert (found.item.id, found.rest) == (id_, rest)


@each(
    ("typed", "id_"),
    [
        ("3 musketeers", 5),
        ("Report d", 2),
        ("report", 1),
        ("#4", 4),
        ("4:", 4),
        ('"Report daily"', 2),
        ('"inv"', 3),
        ("12", 12),
    ],
)
def test_without_more_parameters_the_whole_rest_is_the_name(typed: str, id_: int) -> None:
    assert pick("workflow", typed, KNOWN, takes_rest=False).item.id == id_


@each(
    ("typed", "id_", "rest"),
    [
        ("3 hello world", 3, "hello world"),
        ("#3 hello", 3, "hello"),
        ("0003", 3, ""),
        ("report", 1, ""),
        ("Report hello", 1, "hello"),
        ("Report daily hello", 2, "hello"),
        ("REPORT  DAILY", 2, ""),
        ('"Report" dialy x', 1, "dialy x"),
        ("*Report daily* x", 2, "x"),
        ('The "best" flow x', 6, "x"),
        ("9007199254740993 x", 9007199254740993, "x"),
        ("12345678901234567890", 12345678901234567890, ""),
        ('"3" hello', 3, "hello"),
        ('"12" x', 10, "x"),
        ("Twin (ID 7) x", 7, "x"),  # as shown
        ("“twin (id 8)” x", 8, "x"),
        ("Invoice… (ID 3)", 3, ""),
    ],
)
def test_an_action_takes_an_id_or_a_whole_name(typed: str, id_: int, rest: str) -> None:
    found = pick("workflow", typed, KNOWN, takes_rest=True, acts=True)

    assert (found.item.id, found.rest, found.is_whole) == (id_, rest, True)


@each(
    ("typed", "options"),
    [
        ("inv {}", [(3, "{}")]),  # a beginning
        ("Invoice run 2026x go", [(3, "go")]),
        ("Invoice send to Bob", [(3, "send to Bob")]),
        ("Reprot hello world", [(1, "hello world"), (2, "world")]),  # misspelled
        ("Report dialy x", [(1, "dialy x"), (2, "x")]),
        ("Report dai", [(1, "dai"), (2, "")]),
        ("12 x", [(12, "x"), (10, "x")]),  # an ID, and another's name
        ("3 musketeers", [(3, "musketeers"), (5, "")]),
        ("3 musketers x", [(3, "musketers x"), (5, "x")]),
        ("twin x", [(7, "x"), (8, "x")]),
        ('"inv" x', [(3, "x")]),
        ("3: x", [(3, "x")]),  # an ID, and a mark
        ("#03, x", [(3, "x")]),
        ("3:x", [(3, "x")]),
        ("*3*; {}", [(3, "{}")]),
        ("3.", [(3, "")]),
        ("Twin (ID 6)", [(7, "(ID 6)"), (8, "(ID 6)")]),
        ("Invoice (ID 3)", [(3, "(ID 3)")]),
        ("tw", [(7, ""), (8, ""), (12, ""), (12345678901234567890, "")]),
    ],
)
def test_an_action_asks_about_anything_else(typed: str, options: list[tuple[int, str]]) -> None:
    with pytest.raises(NotSure) as caught:
        pick("workflow", typed, KNOWN, takes_rest=True, acts=True)

    assert [(id_, rest) for id_, _name, rest in caught.value.options] == options


@each("typed", ["99 hello", "99: hello", "3.5 x", "3,5", "zzzzzz", "9" * 6000])
def test_an_action_without_a_similar_name_fails(typed: str) -> None:
    with pytest.raises(NoSuch):
        pick("workflow", typed, KNOWN, takes_rest=True, acts=True)


@each(("typed", "ids"), [("twin", (7, 8)), ("Rep", (1, 2)), ('"re"', (1, 2)), ("tw", (7, 8, 12, 12345678901234567890))])
def test_several_matches_are_named(typed: str, ids: tuple[int, ...]) -> None:
    with pytest.raises(SeveralFit) as caught:
        pick("workflow", typed, KNOWN, takes_rest=False)

    assert tuple(id_ for id_, _ in caught.value.matches) == ids


@each(
    ("typed", "takes_rest", "nearest"),
    [
        ("Reprot", False, "Report"),
        ("Reprot hello world", True, "Report"),
        ("daily", False, "Report daily"),
        ("Report weekly x", False, "Report"),
        ("musketeers", False, "3 musketeers"),
    ],
)
def test_without_a_match_the_nearest_names_are_shown(typed: str, nearest: str, *, takes_rest: bool) -> None:
    with pytest.raises(NoSuch) as caught:
        pick("workflow", typed, KNOWN, takes_rest=takes_rest)

    assert nearest in caught.value.nearest


def test_an_unknown_id_is_named_without_the_input_after_it() -> None:
    with pytest.raises(NoSuch) as caught:
        pick("workflow", "99 hello world", KNOWN, takes_rest=True)

    assert (caught.value.name, caught.value.nearest) == ("99", ())


def test_a_misspelled_name_is_named_without_the_input_after_it() -> None:
    with pytest.raises(NoSuch) as caught:
        pick("workflow", "Daly digst hello world", [Named(4, "Daily digest"), Named(5, "Echo")], takes_rest=True)

    assert (caught.value.name, caught.value.nearest) == ("Daly digst", ("Daily digest",))


@each("typed", ["99", "zzzzzz", '""', "9" * 6000, "?"])
def test_nonsense_has_no_near_names(typed: str) -> None:
    with pytest.raises(NoSuch) as caught:
        pick("agent", typed, KNOWN, takes_rest=False)

    assert (caught.value.kind, caught.value.nearest) == ("agent", ())


@each(
    ("typed", "value"),
    [
        ('{"a": [1, null]}', {"a": [1, None]}),
        ("[1, 2]", [1, 2]),
        ('"text"', "text"),
        ('""', ""),
        ("{“a”: “b”}", {"a": "b"}),
        ("“text”", "text"),
        ("{\u00a0“\u00a0a”: 1}", {"\u00a0a": 1}),
        ('{"a": "says “hi”"}', {"a": "says “hi”"}),
        ("3", "3"),
        ("true", "true"),
        ("null", "null"),
        ("NaN", "NaN"),
        ('"quoted" and more', '"quoted" and more'),
        ("it's", "it's"),
    ],
)
def test_an_input_is_a_json_value_or_the_typed_text(typed: str, value: object) -> None:
    assert typed_input(typed) == value


@each(
    ("typed", "place", "problem"),
    [
        ('{"day": }', (1, 9), "expected a value"),
        ('{"day": 1', (1, 10), "expected a comma, } or ]"),
        ('{"day" 1}', (1, 8), "expected a colon"),
        ("{curly} words", (1, 2), "expected a name in double quotes"),
        ("{\n  “a”: “b” “c”}", (2, 12), "expected a comma, } or ]"),
        ('{"a": 1} trailing', (1, 10), "expected nothing after the end"),
        ('["a', (1, 2), "closing quote"),
        ('["a\nb"]', (1, 4), "no line break"),
        (r'["\x"]', (1, 3), "after the backslash"),
        ("[NaN]", (1, 1), "not a value that can be sent"),
        ("[" * 101 + "]" * 101, (1, 1), "nested more than 100 levels deep"),
        ("[" * 969 + "]" * 969, (1, 1), "nested more than 100 levels deep"),
        ("[" * 9999 + "]" * 9999, (1, 1), "nested more than 100 levels deep"),
    ],
)
def test_broken_json_says_where_it_breaks(typed: str, place: tuple[int, int], problem: str) -> None:
    with pytest.raises(BadInput, match=problem) as caught:
        typed_input(typed)

    assert (caught.value.line, caught.value.column) == place


@each(
    ("text", "place", "shown"),
    [
        ('{"day": }', (1, 9), '{"day": }\n        ^'),
        ('{"day": ', (1, 9), '{"day": \n        ^'),
        ("[1,\n2,,3]", (2, 3), "2,,3]\n  ^"),
        (f"[{'1' * 60}x{'2' * 60}]", (1, 62), f"…{'1' * 40}x{'2' * 39}…\n{' ' * 41}^"),
    ],
)
def test_a_place_in_a_text_is_pointed_at(text: str, place: tuple[int, int], shown: str) -> None:
    assert pointed_at(text, *place) == shown
