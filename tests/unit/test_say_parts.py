"""How a reply is cut into messages, and how each is told from the others."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from bridge.ids import TurnId, new_turn_id
from bridge.slack import parts
from bridge.slack.blockkit.reply import Reply

TURN = TurnId("abcDEF123-_xyz00")


@given(st.text(alphabet="ab &;<>\n", max_size=300), st.integers(min_value=8, max_value=50))
def test_pieces_are_the_text_and_no_longer_than_they_may_be(text: str, limit: int) -> None:
    found = parts.pieces(text, limit)

    assert all(0 < len(piece) <= limit for piece in found)
    assert "".join("".join(found).split()) == "".join(text.split())  # only what nobody sees is left out


@given(st.lists(st.sampled_from(["&amp;", "&lt;", "&gt;", "word", "x"]), max_size=80))
def test_entities_are_never_torn(words: list[str]) -> None:
    text = "".join(words)

    for piece in parts.pieces(text, 17):
        assert piece.count("&") == piece.count(";")
    shortened = parts.cut(text, 17)
    assert len(shortened) <= 17
    assert shortened.count("&") == shortened.count(";")


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("one two\n\nthree four", "one two\n\n"),
        ("one two\nthree four", "one two\n"),
        ("one two three four", "one two "),
        ("onetwothreefour", "onetwothree"),
    ],
)
def test_a_text_is_cut_where_it_reads_best(text: str, first: str) -> None:
    assert parts.pieces(text, 11)[0] == first


def test_an_empty_reply_is_no_message() -> None:
    assert parts.lay_out(Reply(text="")) == []
    assert parts.lay_out(Reply(text=" ", markdown=" \n")) == []


def test_a_turn_is_told_from_another_by_the_name_of_its_file() -> None:
    name = parts.file_name("output.json", TURN, parts.file_number(3))

    assert name.endswith(".json")
    assert parts.number_in(name, TURN) == parts.file_number(3)
    assert parts.number_in(name, new_turn_id()) is None
    assert parts.number_in("output.json", TURN) is None


@pytest.mark.parametrize(("name", "suffix"), [("", ".txt"), ("README", ".txt"), ("../../etc/a.b.md", ".md")])
def test_any_name_makes_a_file_name(name: str, suffix: str) -> None:
    made = parts.file_name(name, TURN, 5)

    assert made.endswith(suffix)
    assert "/" not in made
    assert parts.number_in(made, TURN) == 5


def test_no_two_messages_of_a_turn_have_the_same_number() -> None:
    made = [
        *range(9),
        *(parts.text_number(part, piece) for part in range(9) for piece in range(20)),
        *(parts.text_file_number(part) for part in range(9)),
        *(parts.file_number(attachment) for attachment in range(9)),
        *(parts.file_text_number(attachment, piece) for attachment in range(9) for piece in range(20)),
    ]

    assert len(set(made)) == len(made)
