"""An agent's Markdown as Slack's markdown block would parse it, checked with an independent Markdown parser."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from hypothesis import example, given, strategies as st

from bridge.slack import parts
from bridge.slack.blockkit.markdown import neutralized, pieces
from bridge.slack.blockkit.reply import Reply
from support.attacks import ATTACKS
from support.rendered import READERS, code, inline, links, outside_of_code
from support.tables import each

PING = re.compile(
    r"<!(?:channel|here|everyone|group|subteam\^|date\^)|<@[UWB][A-Z0-9]|<#[CDG][A-Z0-9]"
    r"|(?<![^\W_])@(?:channel|here|everyone)(?![^\W_])|<[a-z][a-z0-9+.-]*:[^<>\n\0|]*\|",
    re.IGNORECASE,
)
SHOWN_ADDRESS = re.compile(r"(?:^|[\s(@\[]|//)((?:[\w-]+\.)+(?:example|com))(?![a-z0-9])", re.IGNORECASE)


def misleading(markdown: str) -> Iterator[str]:
    """Find pings, images, and links that show a different address than their target, in every reading.

    A block of HTML may begin in what is code without it, and makes a ping of what is before.
    """
    for reader in READERS:
        if reader is not READERS[0]:
            yield from (f"pings: {found[0]}" for found in PING.finditer(outside_of_code(markdown, reader)))
        for tokens in inline(markdown, reader):
            yield from ("image" for token in tokens if token.type == "image")
            for label, target in links(tokens):
                hosts = {host.lower().removeprefix("www.") for host in SHOWN_ADDRESS.findall(label)}
                real = re.sub(r"^(?:[a-z]+:)?(?://)?(?:[^/?#]*@)?(?:www\.)?", "", target.lower())
                if any(not re.match(rf"{re.escape(host)}(?:[/:?#%]|$)", real) for host in hosts):
                    yield f"forged: {label!r} leads to {target}"


FORGED = [
    "[https://bank.example](https://evil.example)",
    "[bank.example/login](<https://evil.example>)",
    "[www.bank.example](https://bank.example.evil.example/)",
    "[bank.example `]` x](https://evil.example)",
    "[bank.example `` ` ]`` x](https://evil.example)",
    "` \n\n[bank.example `]` x](https://evil.example)",
    "`\n\n[bank.example](https://evil.example)\n\n`",
    "[bank.example [x] y](https://evil.example)",
    "[[[bank.example]]](https://evil.example)",
    "[bank.example\\]](https://evil.example)",
    "[https://bank.example\n](https://evil.example)",
    "[https://bank.example](https://bank.example:x@evil.example)",
    "[https://bank.example](https://bank.example@evil.example)",
    "[https://bank.example](//evil.example)",
    "[**bank**.example](https://evil.example)",
    "[bank\\.example](https://evil.example)",
    "[bank&period;example](https://evil.example)",
    "[bank.example](https://bank.example<x@evil.example)",
    "[bank.example](https://bank.example(x)@evil.example)",
    "[bank.example](https://bank.example(((x)))@evil.example)",
    "[bank.example](https://bank.example\\)@evil.example)",
    "[https://bank.example(x)@evil.example](https://evil.example)",
    "[bank.example_](https://evil.example)",
    "[bank.example~_@~](https://bank.example(x)@evil.example)",
    "<&#104;ttps://evil.example|https://bank.example>",
    "[<x@bank.example>](https://evil.example)",
    "[ann@bank.example](mailto:eve@evil.example)",
    "[Sign in at bank.example, please](https://evil.example 'bank.example')",
    "[bank.example]\n\n[bank.example]: https://evil.example",
    "[bank.example][]\n\n[bank.example]:\n  https://evil.example",
    "[bank.example][x]\n\n[x]: <https://evil.example>",
    "![bank.example](https://evil.example/p.png)",
    "![1]\n\n[1]: https://evil.example/p.png",
    "[![x](https://evil.example/p.png)](https://evil.example)",
    "[bank.example- x](https://evil.example)",
    "- [ ] [bank.example](https://evil.example)",
    "[https://bank.example<!--x>[-->](https://evil.example)",
    "[https://bank.example<a title='['>](https://evil.example)",
    '[https://bank.example<a title="](x)[">](https://evil.example)',
    "[https://bank.example<?[?>](https://evil.example)",
    "[https://bank.example<![CDATA[]]>](https://evil.example)",
    "[bank.<!-- -->example](https://evil.example)",
    "<div>\n[bank.example](https://evil.example)\n</div>",
    "[![https://bank.example](https://evil.example/p.png)](https://evil.example)",
    "| a |\n|---|\n| `\\|` [bank.example](https://evil.example) |",
    "# [bank.example](https://evil.example) #",
    "[bank.example](https://evil.example 'title')\n=====",
    "1. > - [bank.example\n  x](https://evil.example)",
    "-\t[bank.example](https://evil.example)",
    "[bank.example](https://evil.example)\r\n\r\n- [bank.example](https://evil.example)",
    f"{'> ' * 120}[bank.example](https://evil.example)",
    "![" * 210 + "bank.example" + "](https://evil.example)" * 210,  # deeper than readers look
    "> # [bank.example](https://evil.example)",
    "| a |\n|---|\n| [bank.example](https://evil.example) |",
]


@each("attack", [*FORGED, "[bank\u200b.example](https://evil.example)"])
def test_a_forged_link_is_neutralised(attack: str) -> None:
    assert list(misleading(attack)) or "\u200b" in attack, "the check must find the original attack"
    assert list(misleading(neutralized(attack))) == []


@each("attack", [*ATTACKS.values(), "<<!channel>>", "(@here) *@channel* **@Everyone**", "`<!channel>`"])
def test_a_neutralised_attack_looks_the_same_and_has_no_effect(attack: str) -> None:
    assert list(misleading(neutralized(attack))) == []
    assert neutralized(attack).replace("\u2060", "") == attack.replace("\u2060", "")


PIECES = st.sampled_from([
    "[", "]", "(", ")", "](", "][", "]: ", "!", "`", "``", "```\n", "\n", "\n\n", "\\", "*", "_", "~", "|", " ", "x",
    "> ", "- ", "<", ">", "<!", "<@", "&lt;", "&#60;", "&excl;", "&#64;", "@", "@here", "@channel", "U0BOB",
    "bank.example", "https://bank.example", "(https://evil.example)", "(https://bank.example)", "https://evil.example",
    "&period;", "[1]", "[1]: https://evil.example", "#C0GENERAL", "|label>", "\u2060", "é", "<@U0BOB>", "<!channel>",
    "<!--", "-->", "<?", "?>", "<a title=", '"', "'", "</a>", "<https://evil.example|", "| a | b |\n|---|---|\n", "# ",
    "1. ", "    ", "\t", "~~~\n", "\r\n", "\0", "](https://evil.example '", "<!channel `x`>", "![x](https://evil.example)",
])  # fmt: skip
TEXTS = st.lists(PIECES, max_size=25).map("".join)


@given(TEXTS)
@example("".join(FORGED))
def test_any_markdown_is_harmless_once_neutralised(markdown: str) -> None:
    assert list(misleading(neutralized(markdown))) == []


@given(TEXTS)
def test_neutralising_is_invisible_and_idempotent(markdown: str) -> None:
    once = neutralized(markdown)

    assert re.sub("\u2060|\\\\(?=`)", "", once) == re.sub("\u2060|\\\\(?=`)", "", markdown)
    assert neutralized(once) == once


@given(TEXTS)
@example("`table[row.name](row)` @here")
@example("```\n<!channel> @here <https://evil.example|bank.example>\n```\n<!here>")
@example("[bank.example](https://evil.example '`') `@here`")
@example("<https://evil.example|`x`> ![`x`](y) `@here`")
@example("<!channel> and `@here` <!-- `@here` -->")
@example("<div>\n```\n@here\n```\n</div>")
def test_code_is_copied_out_as_the_agent_wrote_it(markdown: str) -> None:
    for reader in READERS[0 if "<" not in markdown else -1 :]:
        assert code(neutralized(markdown), reader) == code(markdown, reader)


@each(
    "markdown",
    [
        "[the manual](https://docs.example/a_(b)) and [example.com](https://www.example.com/page)",
        "[https://docs.example/a](https://docs.example/b)",
        "[ann@bank.example](mailto:ann@bank.example?subject=x)",
        "[report.pdf](https://files.example/1) [see README.md, please](https://git.example) [app.py](https://git.example)",
        "[1]: https://docs.example\n\n[the docs][1]",
        "- [x] done\n- [ ] [open](https://todo.example)",
        "wow! [docs](https://docs.example)",
        "mail me@here.example",
        "[v1.2](https://git.example)",
        "a < b and c > d",
        "<div class='x'>",
        "List<String> x; #include <stdio.h>",
        "<https://plain.example>",
        "a[0](1) and [x] done",
        "`@decorator`",
    ],
)
def test_harmless_markdown_is_unchanged(markdown: str) -> None:
    assert neutralized(markdown) == markdown


def test_a_mention_uncovered_by_a_cut_pings_no_one() -> None:
    words = "x" * 11_000 + "@here and <!channel>"
    assert [piece.body[:5] for piece in pieces(words)][1] == "@here"

    shown = [part.blocks[0]["text"] for part in parts.parts_of(Reply(text="x", markdown=words))]

    assert [lie for text in shown for lie in misleading(text)] == []


@pytest.mark.parametrize(
    "text",
    [
        "[" * 300_000,
        ("[" * 40 + "](x)" * 40) * 1500,
        "[" + "a." * 190 + "](x)" * 1000,
        "`a ``b ```c " * 30_000,
        "<!a" * 100_000,
    ],
    ids=["open", "nested", "dots", "ticks", "tokens"],
)
@pytest.mark.timeout(10)
def test_crowded_text_is_neutralised_in_time(text: str) -> None:
    assert neutralized(text).replace("\u2060", "") == text
