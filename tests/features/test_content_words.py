"""Message parts as text."""

from __future__ import annotations

from bridge.inbound import Alert, LeftOut, MessageFile, Quotation, Table
from bridge.slack.blockkit.content_words import (
    MOST,
    Passage,
    composed,
    described,
    file_with,
    named_file,
    passage,
    size,
    with_escapes,
)
from support.tables import each

FILE = MessageFile(id="F1", kind="text", name="a.py", type="Python", size=1234)


def same(words: str) -> str:
    return words


@each(
    ("part", "expected"),
    [
        (Quotation(author="Ada", channel="C2", channel_name="general", text="red\nor blue"),
         "A forwarded message from Ada in #general:\n> red\n> or blue"),
        (Quotation(author_id="U2", channel="D2", text="red", link="https://a.test/?a=1&amp;b=2"),
         "A forwarded message from <@U2> in a direct message (https://a.test/?a=1&b=2):\n> red"),
        (Quotation(author="Ada\n> forged", text="> twice"), "A forwarded message from Ada &gt; forged:\n> > twice"),
        (Quotation(text="see", tables=(Table(rows=(("a", "b"),)),)),
         "A forwarded message:\n> see\n>\n> | a | b |\n> | --- | --- |"),
        (Table(rows=(("a|b", "c\nd"), ("e",)), is_cut=True),
         "A table:\n\n| a\\|b | c d |\n| --- | --- |\n| e |  |\n[cut here because the message is too long]"),
        (Alert(text="CPU\n99 %"), "From an app:\n> CPU\n> 99 %"),
        (LeftOut(count=3), "[3 more parts left out]"),
        (LeftOut(count=1, is_unknown=True), "[1 part that can't be read]"),
    ],
)  # fmt: skip
def test_a_quotation_has_a_heading_and_its_content(part: Quotation, expected: str) -> None:
    said = passage(part, same)

    assert said is not None
    assert composed("", [said]).text == expected


def test_a_fence_is_longer_than_any_in_the_file() -> None:
    text = composed("look", [file_with(FILE, "a\n```\nb\n`````\n```ignore this\n", "first 100 kB")]).text

    assert text == (
        "look\n\nFile “a.py” (Python, 1.2 kB):\n``````\na\n```\nb\n`````\n```ignore this\n``````\n[first 100 kB]"
    )


@each(
    ("file", "expected"),
    [
        (FILE, "file “a.py” (Python, 1.2 kB)"),
        (MessageFile(id="F1"), "file “unnamed”"),
        (MessageFile(id="F1", kind="image", name="a”\nb`<!channel>.png", size=2_000_000),
         "image “a' b`<!channel>.png” (2 MB)"),
    ],
)  # fmt: skip
def test_a_name_does_not_close_its_quotation(file: MessageFile, expected: str) -> None:
    assert described(file) == expected


def test_a_file_without_content_is_named_with_its_description() -> None:
    photo = MessageFile(id="F1", kind="image", name="a.png", alt_text="A red\nlamp ”")
    link = MessageFile(id="F2", kind="link", name="Plan", url="https://drive.test/1")

    assert composed("", [named_file(photo), named_file(link)]).text == (
        "[image “a.png”; described as “A red lamp '”]\n\n[link to a file elsewhere “Plan”; https://drive.test/1]"
    )


@each(("bytes_", "said"), [(0, ""), (12, "12 bytes"), (1000, "1 kB"), (137_531, "137.5 kB"), (2 * 10**9, "2 GB")])
def test_a_size_is_shown(bytes_: int, said: str) -> None:
    assert size(bytes_) == said


@each("shown", ["quoted", "fenced", "plain"])
@each("body", ["x" * 300_000, "\n" * 300_000, "€" * 100_000, "`" * 150_000])
def test_a_message_that_is_too_long_is_visibly_cut(shown: str, body: str) -> None:
    long = Passage("Before:", "y" * 50_000, "quoted")
    made = composed("own", [long, Passage("Long:", body, shown), Passage("After:", "z")])  # type: ignore[arg-type]

    assert len(made.text.encode()) <= MOST + 100
    assert made.cut == 2
    assert made.text.startswith("own\n\nBefore:\n> yy")
    assert made.text.endswith("[1 part left out because the message is too long]")
    assert "[cut here because the message is too long]" in made.text
    assert "z" not in made.text


def test_a_cut_fence_is_closed() -> None:
    text = composed("", [Passage("Long:", "x\n" * 200_000, "fenced")]).text

    assert text.endswith("x\n```\n[cut here because the message is too long]")


def test_an_apps_blocks_are_its_text_in_a_quotation() -> None:
    assert with_escapes("", [Alert(text="down"), Alert(text="and out")]) == "down\n\nFrom an app:\n> and out"
    assert with_escapes("see", [Alert(text="down")]) == "see\n\nFrom an app:\n> down"
