"""An agent's Markdown is split into parts: no text is lost, and code blocks stay intact."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import assume, example, given, settings, strategies as st

from bridge.slack.blockkit import commonmark, kit
from bridge.slack.blockkit.markdown import blocks_and_headings_at_most, messages, neutralized, pieces
from support.rendered import READER, code, expanded, inline
from support.tables import each

CODE = "```python\n" + "\n".join(f"line {number} = 'x'" for number in range(60)) + "\n```"
TABLE = "| name | count |\n|---|---|\n" + "\n".join(f"| row {number} | {number} |" for number in range(30)) + "\n"


def split(markdown: str, limit: int = kit.MARKDOWN_PART) -> list[str]:
    return [str(piece) for piece in pieces(markdown, limit) if not piece.body.isspace()]


def fences_are_closed(part: str) -> bool:
    """Check a part's code fences with an independent parser."""
    for token in READER.parse(part):
        if token.type == "fence" and token.map and len(token.info) < 80:  # a longer one can't be repeated
            lines = len(token.content.splitlines())
            if token.map[1] - token.map[0] < lines + 2:
                return False
    return True


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
def test_parts_add_only_fence_lines_and_headers_of_tables(markdown: str, limit: int) -> None:
    for piece in pieces(markdown, limit):
        assert re.fullmatch(
            r"(?:(?:(?:- )*(?:-|1\.)\n)?(?: *(?:`{3,}[^`\n]*|~{3,}.*)| *\|?.*\|.*\n[ >]*[-|: ]+)?\n)?", piece.opening
        )
        assert re.fullmatch(r"(?:\n? *(?:`{3,}|~{3,}))?", piece.closing)


@given(MARKDOWN, st.integers(400, 900))
def test_every_part_but_the_last_closes_its_fences(markdown: str, limit: int) -> None:
    assume(not re.search(r"^ *- ", markdown, re.MULTILINE))  # the end of a list closes a fence, too

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


def test_a_torn_table_repeats_its_header() -> None:
    for mark in ("", "> ", " > "):
        table = "".join(f"{mark}{line}\n" for line in TABLE.splitlines())

        parts = split(f"intro\n\n{table}\nend", 450)

        rows = [part.splitlines() for part in parts]
        assert len(parts) > 1
        assert all(f"{mark}| name | count |" in lines for lines in rows)
        assert sum(line.startswith(f"{mark}| row ") for lines in rows for line in lines) == 30
        assert [len(list(inline(part, READER))) > 2 for part in parts] == [True] * len(parts), "each has a table"


CONTAINERS = {
    "quotation": ("> ", "> "),
    "list": ("- ", "  "),
    "numbered list": ("1. ", "   "),
    "nested list": ("  - ", "    "),
    "deeply nested list": ("- - - - ", "        "),
    "list with a tab": ("-\t", "\t"),
    "list in a quotation": ("> - ", ">   "),
    "quotation in a list": ("- > ", "  > "),
    "deep list in a quotation": ("> 1. - - ", ">        "),
}


@each("container", CONTAINERS)
@each("marks", ["```python", "~~~~"])
def test_torn_code_in_a_container_is_copied_out_whole(container: str, marks: str) -> None:
    first, rest = CONTAINERS[container]
    lines = [marks, *(f"{'    ' * (number % 3)}line {number}" for number in range(60)), marks.removesuffix("python")]
    text = "\n".join(["intro", "", first + lines[0], *(rest + line for line in lines[1:]), "", "end"])

    parts = split(text, 500)

    assert len(parts) > 1
    assert "".join(one for part in parts for one in code(part)) == "".join(code(text))
    assert [part.count("line ") > 0 for part in parts] == [bool(code(part)) for part in parts]


PARAGRAPHS = st.one_of(
    st.lists(st.sampled_from(["word", "`x`", "`` a ` b ``", "**bold**", "`a\nb`"]), min_size=1, max_size=90).map(
        " ".join
    ),
    st.integers(1, 60).map(lambda count: "\n".join(f"- item `{number}`" for number in range(count))),
    st.tuples(st.sampled_from([*CONTAINERS.values(), ("", "")]), st.integers(1, 60)).map(
        lambda drawn: "\n".join(
            [
                f"{drawn[0][0]}```",
                *(f"{drawn[0][1]}{number} = [x](y)" for number in range(drawn[1])),
                f"{drawn[0][1]}```",
            ]
        )
    ),
    st.integers(1, 40).map(lambda count: "word\n\n" + "\n".join(f"    {number}" for number in range(count))),
    st.integers(1, 40).map(lambda count: "|`a`|\n|-|\n" + "|`x`|\n" * count),
    st.sampled_from(["# heading", "---", "> quoted `x`", "    - not a list"]),
)


@settings(max_examples=60)
@given(st.lists(PARAGRAPHS, max_size=12).map("\n\n".join), st.integers(500, 1500))
def test_code_in_all_parts_is_that_of_the_answer(markdown: str, limit: int) -> None:
    repeated = sum(piece.opening.count("`a`") for piece in pieces(markdown, limit))
    shown = "".join(one for part in split(markdown, limit) for one in code(part))

    whole = "".join(code(markdown))
    assert len(shown) - repeated == len(whole)
    assert shown.replace("a", "") == whole.replace("a", "")


# What Slack makes of Markdown


@each(
    "block",
    [
        "# heading\n",
        "paragraph\n\n",
        "```\ncode\n```\n",
        "---\n\n",
        "> quoted\n\n",
        "|a|\n|-|\n|b|\n\n",
        "- a\n\n1. b\n\n",
    ],
)
def test_no_message_becomes_more_than_50_blocks(block: str) -> None:
    parts = list(messages(block * 120))

    assert len(parts) > 2
    assert max(len(list(expanded(part))) for part in parts) <= 45
    assert "".join(parts) == block * 120


@pytest.mark.parametrize("text", ["a & b\n\n", "<b>", "x > y && z\n", "## heading\ntext that follows it\n"])
def test_a_part_leaves_room_for_what_slack_counts(text: str) -> None:
    for part in messages(text * (15_000 // len(text))):
        cost = len(html.escape(part, quote=False)) + 100 * sum(one == "heading" for one in expanded(part))
        assert cost <= 12_500


@given(MARKDOWN | st.lists(PARAGRAPHS, max_size=6).map("\n".join))
@example("a\n-    ```\n| 1 | 2 |\n")
def test_the_quick_look_counts_at_least_what_the_parser_finds(markdown: str) -> None:
    found = commonmark.structure(markdown, 0, len(markdown))
    blocks, headings = blocks_and_headings_at_most(markdown)

    assert blocks >= len(found.rendered)
    assert headings >= len(found.headings)


def test_a_megabyte_is_cut_whole() -> None:
    text = ("word " * 20 + "\n") * 10_000

    assert sum(map(len, split(text))) == len(text)


@each("dense", ["![", "](", "![a]: b\n![", "<@U1", "&#60;!here>", "@here ", "<!a&b;", "[a.b](c.d) "])
def test_word_joiners_keep_a_part_within_slack_s_limit(dense: str) -> None:
    assert max(map(len, messages(dense * (15_000 // len(dense))))) <= kit.MARKDOWN_PART + 200


@each("crowded", ["[](", "![]", "[a.bc](c.de)", "[[[a.bc]](c.de)]: e\n", "`[`]`(", "<a [b]("])
def test_a_text_with_many_links_is_split_without_loss(crowded: str) -> None:
    text = crowded * (11_000 // len(crowded))

    shown = neutralized(text)

    assert not re.search(r"\[a\.bc\]\(", shown[-2000:])
    assert shown.replace(kit.WORD_JOINER, "") == text
    assert neutralized(shown) == shown
