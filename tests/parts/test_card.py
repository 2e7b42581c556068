"""A card's text says what its blocks show."""

from __future__ import annotations

from datetime import UTC, datetime

from bridge.slack.blockkit import kit
from bridge.slack.blockkit.card import card
from bridge.slack.blockkit.reply import Block
from support.tables import each

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@each(
    ("line", "said"),
    [
        ("<!channel> @here", f"&lt;!channel&gt; @{kit.WORD_JOINER}here"),
        (kit.header("Title"), "Title"),
        (kit.context("one", "two"), "one · two"),
        (kit.row("It failed", kit.button("Try again", "x", "y"), NOON), "It failed · 2026-11-20 12:00 UTC"),
        (kit.trusted_context("Since {since}", since=NOON), "Since 2026-11-20 12:00 UTC"),
        (kit.fields([("Model", "large"), ("Handle", None)]), "Model: large"),
        (
            kit.rich(kit.paragraph("In ", kit.place("C1"), " by ", kit.user_group("S1")), kit.code_block("a\nb")),
            "In <#C1> by a user group\n&gt; a\n&gt; b",
        ),
        (
            kit.rich(kit.bullets([kit.paragraph(kit.emoji(":fox_face:"), kit.link("https://x", "open"))])),
            "• :fox_face:open",
        ),
        (kit.rich(kit.paragraph("At ", kit.date(NOON))), "At 2026-11-20 12:00 UTC"),
        (kit.rich(kit.paragraph("@", kit.words("here", bold=True))), f"@{kit.WORD_JOINER}here"),
        (None, "-"),
    ],
)  # fmt: skip
def test_each_kind_of_line_is_said(line: Block | str | None, said: str) -> None:
    assert card(line).text == said


def test_the_plainest_form_is_said_without_its_buttons() -> None:
    shown = card("Shown", buttons=[kit.button("Press", "x", "y")], plainer=[[kit.section("Plain")]])

    assert shown.text == "Plain"
    assert [block["type"] for block in shown.blocks] == ["section", "actions"]


def test_a_long_text_leaves_out_no_line() -> None:
    lines = card(*(f"{number} & {'x' * 500}" for number in range(40))).text.split("\n")

    assert [line.partition(" ")[0] for line in lines] == [str(number) for number in range(40)]
    assert sum(map(len, lines)) + len(lines) <= kit.FALLBACK_TEXT
