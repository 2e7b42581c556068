"""How a reply is cut into messages, and how each is told from the others."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from bridge.ids import TurnId, new_turn_id
from bridge.slack import parts
from bridge.slack.blockkit.reply import Reply
from bridge.slack.history import MessageTag, tagged_parts

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
    assert list(parts.parts_of(Reply(text=""))) == []
    assert list(parts.parts_of(Reply(text=" ", markdown=" \n"))) == []


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("output.json", f"output-{TURN}-file3.json"),
        ("", f"file-{TURN}-file3.txt"),
        ("README", f"README-{TURN}-file3.txt"),
        ("../../etc/a.b.md", f"a.b-{TURN}-file3.md"),
    ],
)
def test_a_file_is_found_again_by_its_name(name: str, made: str) -> None:
    assert MessageTag("bridge_turn", TURN).file_name(name, "file3") == made
    assert list(tagged_parts(TURN, {"files": [{"name": made}]})) == ["file3"]
    assert list(tagged_parts(new_turn_id(), {"files": [{"name": made}]})) == []
    assert list(tagged_parts(TURN, {"files": [{"name": name}]})) == []
