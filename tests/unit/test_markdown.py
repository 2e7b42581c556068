"""An agent's Markdown is split into parts: no text is lost, and code blocks stay intact."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from bridge.slack.blockkit import kit
from bridge.slack.blockkit.markdown import messages, neutralized, pieces

CODE = "```python\n" + "\n".join(f"line {number} = 'x'" for number in range(60)) + "\n```"
TABLE = "| name | count |\n|---|---|\n" + "\n".join(f"| row {number} | {number} |" for number in range(30)) + "\n"


def split(markdown: str, limit: int = kit.MARKDOWN_PART) -> list[str]:
    return [str(piece) for piece in pieces(markdown, limit) if not piece.body.isspace()]


def fences_are_closed(part: str) -> bool:
    """Check a part's code fences with an independent implementation of Markdown's rule."""
    open_marks = ""
    for line in part.split("\n"):
        found = re.match(r"[ \t]*(`{3,}|~{3,})(.*)", line)
        if not found or len(line) >= 80:  # too long for a real fence, and can't be repeated in the next part
            continue
        if not open_marks and not ("`" in found[1] and "`" in found[2]):
            open_marks = found[1]
        elif open_marks and found[1][0] == open_marks[0] and len(found[1]) >= len(open_marks) and not found[2].strip():
            open_marks = ""
    return not open_marks


MARKDOWN = st.lists(
    st.one_of(
        st.sampled_from(
            ["\n", "\n\n", "```", "```py\n", "\n```\n", "~~~~\n", "    ```\n", "| a | b |\n|---|---|\n", "| 1 | 2 |\n"]
        ),
        st.text(alphabet="ab `~|-\n", max_size=30),
        st.integers(1, 700).map(lambda length: "w" * length),
        st.integers(1, 150).map(lambda count: "word " * count),
    ),
    max_size=40,
).map("".join)


@given(MARKDOWN, st.integers(400, 900))
def test_parts_have_every_character_once_and_keep_the_limit(markdown: str, limit: int) -> None:
    parts = list(pieces(markdown, limit))

    assert "".join(piece.body for piece in parts) == markdown
    assert all(len(piece.body) > 0 and len(str(piece)) <= limit for piece in parts)


@given(MARKDOWN, st.integers(400, 900))
def test_parts_add_only_fence_lines(markdown: str, limit: int) -> None:
    for piece in pieces(markdown, limit):
        assert re.fullmatch(r"(?:[ \t]{0,3}(?:`{3,}[^`\n]*|~{3,}.*)\n)?", piece.opening)
        assert re.fullmatch(r"(?:\n?[ \t]{0,3}(?:`{3,}|~{3,}))?", piece.closing)


@given(MARKDOWN, st.integers(400, 900))
def test_every_part_but_the_last_closes_its_fences(markdown: str, limit: int) -> None:
    assert all(fences_are_closed(part) for part in split(markdown, limit)[:-1])


def test_a_text_that_fits_is_one_part() -> None:
    assert split("short") == ["short"]


def test_a_blank_text_is_no_part() -> None:
    assert split("") == []
    assert split(" \n" * 10_000) == []


def test_parts_end_at_paragraphs() -> None:
    paragraphs = [f"{number} " + "word " * 50 for number in range(10)]

    parts = split("\n\n".join(paragraphs), 700)

    assert len(parts) > 1
    assert all(re.match(r"\d word", part) for part in parts)


def test_a_text_without_paragraphs_is_cut_at_lines() -> None:
    text = "\n".join(f"line {number} of many" for number in range(100))

    assert all(part.startswith("line ") for part in split(text, 400))


def test_a_text_without_lines_is_cut_at_words() -> None:
    assert {word for part in split("word " * 500, 400) for word in part.split()} == {"word"}


def test_code_that_fits_is_not_torn() -> None:
    parts = split("intro\n\n" + "word " * 60 + "\n\n" + CODE + "\n\nend", 1500)

    assert CODE in "\n".join(parts)
    assert any(CODE in part for part in parts)


def test_torn_code_is_closed_and_reopened_in_its_language() -> None:
    parts = split(CODE, 500)

    assert len(parts) > 1
    assert all(part.startswith("```python\nline ") and part.rstrip().endswith("\n```") for part in parts)


def test_a_table_that_fits_is_not_torn() -> None:
    parts = split("word " * 40 + "\n" + TABLE + "\nend", 650)

    assert any(TABLE in part for part in parts)


def test_a_long_table_is_torn_between_rows() -> None:
    parts = split(TABLE, 400)

    assert len(parts) > 1
    assert all(part.startswith("| ") and part.rstrip().endswith(" |") for part in parts)


def test_a_megabyte_is_cut_whole() -> None:
    text = ("word " * 20 + "\n") * 10_000

    assert sum(map(len, split(text))) == len(text)


@pytest.mark.parametrize("dense", ["![", "](", "![a]: b\n![", "<@U1", "&#60;!here>", "@here ", "<!a&b;", "[a.b](c.d) "])
def test_word_joiners_keep_a_part_within_slack_s_limit(dense: str) -> None:
    assert max(map(len, messages(dense * (30_000 // len(dense))))) <= kit.MARKDOWN_PART + 200


@pytest.mark.parametrize("crowded", ["[](", "![]", "[a.bc](c.de)", "[[[a.bc]](c.de)]: e\n", "`[`]`(", "<a [b]("])
def test_a_text_with_many_links_is_split_without_loss(crowded: str) -> None:
    text = crowded * (11_000 // len(crowded))

    shown = neutralized(text)

    assert not re.search(r"\[a\.bc\]\(", shown[-2000:])
    assert shown.replace(kit.WORD_JOINER, "") == text
    assert neutralized(shown) == shown
