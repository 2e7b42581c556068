"""The playground renders untrusted text as inert HTML."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC
from html.parser import HTMLParser
from typing import Any

from bridge.playground.page.blocks import plain_html, shown_blocks
from bridge.playground.page.clean import clean
from bridge.playground.page.markdown import markdown_html
from bridge.playground.page.mrkdwn import mrkdwn_html
from bridge.playground.page.names import Names
from bridge.playground.page.rich_text import rich_text_html
from support.tables import each

NAMES = Names(
    me="U1",
    people={"U1": "alice", "U2": "b<i>ob"},
    channels={"C1": "general"},
    groups={"S1": "runners"},
    zone=UTC,
)


def mrkdwn(text: str) -> str:
    return mrkdwn_html(text, NAMES)


def markdown(text: str) -> str:
    return markdown_html(text, NAMES)


def rich(*elements: dict[str, Any], kind: str = "rich_text_section", **more: Any) -> str:
    return rich_text_html({"elements": [{"type": kind, "elements": list(elements), **more}]}, NAMES)


def as_text(text: str) -> str:
    return rich({"type": "text", "text": text})


def as_link(text: str) -> str:
    return rich({"type": "link", "url": text, "text": text})


def as_code(text: str) -> str:
    return rich({"type": "text", "text": text}, kind="rich_text_preformatted")


LINK = 'target="_blank" rel="noopener noreferrer"'


@each(
    ("written", "shown"),
    [
        ("*bold* _it_ ~gone~ `c*d*`", "<strong>bold</strong> <em>it</em> <del>gone</del> <code>c*d*</code>"),
        (
            "*a _b_ c* snake_case_name 2*3*4",
            "<strong>a </strong><em><strong>b</strong></em><strong> c</strong> snake_case_name 2*3*4",
        ),
        ("* not bold * and *not\nbold*", "* not bold * and *not<br>bold*"),
        ("&lt;b&gt; &amp;amp; <b>", "&lt;b&gt; &amp;amp; &lt;b&gt;"),
        ("<https://a.example/?x=1&amp;y=2|the *x*>", f'<a href="https://a.example/?x=1&amp;y=2" {LINK}>the *x*</a>'),
        ("see https://a.example/b.", f'see <a href="https://a.example/b" {LINK}>https://a.example/b</a>.'),
        ("<mailto:a@b.example|a@b.example>", f'<a href="mailto:a@b.example" {LINK}>a@b.example</a>'),
        ("<@U1>", '<span class="mention me" data-user="U1">@alice</span>'),
        ("<@U2|x>", '<span class="mention" data-user="U2">@b&lt;i&gt;ob</span>'),
        (
            "<#C1> <#C2|secret>",
            '<span class="mention" data-channel="C1">#general</span> <span class="mention">#private channel</span>',
        ),
        (
            "<!here> <!subteam^S1|@r>",
            '<span class="mention broadcast">@here</span> <span class="mention">@runners</span>',
        ),
        (
            "<!date^1700000000^{date_short} at {time}|then>",
            '<time datetime="2023-11-14T22:13:20+00:00">Nov 14, 2023 at 22:13</time>',
        ),
        ("<!date^99999999999999^{date}|then>", "then"),
        (":tada: :no-such-thing: 10:30:45", '<span class="emoji" title=":tada:">🎉</span> :no-such-thing: 10:30:45'),
        ("a\n&gt; q1\n&gt; *q2*\nb", "a<blockquote>q1<br><strong>q2</strong></blockquote>b"),
        ("a\n&gt;&gt;&gt; all\nof it", "a<blockquote>all<br>of it</blockquote>"),
        (
            "a\n```\n*x*\n  &lt;y&gt; <https://a.example|b>\n```\nc",
            f'a<pre><code>*x*\n  &lt;y&gt; <a href="https://a.example" {LINK}>b</a></code></pre>c',
        ),
        ("- one\n• two", "- one<br>• two"),
    ],
)
def test_mrkdwn_renders_as_in_slack(written: str, shown: str) -> None:
    assert mrkdwn(written) == shown


def test_a_verbatim_text_has_only_explicit_links() -> None:
    shown = mrkdwn_html("https://a.example and <https://b.example|b>", NAMES, is_verbatim=True)

    assert shown == f'https://a.example and <a href="https://b.example" {LINK}>b</a>'


@each(
    ("written", "shown"),
    [
        ("a\nb ~~c~~ :tada:", '<p>a<br>\nb <s>c</s> <span class="emoji" title=":tada:">🎉</span></p>\n'),
        (
            "- [ ] do\n- [x] *x*",
            '<ul>\n<li class="task">☐ do</li>\n<li class="task">☑ <em>x</em></li>\n</ul>\n',
        ),
        ("`:tada:` `<@U1>`", "<p><code>:tada:</code> <code>&lt;@U1&gt;</code></p>\n"),
        (
            "<@U1><!here>",
            (
                '<p><span class="mention me" data-user="U1">@alice</span>'
                '<span class="mention broadcast">@here</span></p>\n'
            ),
        ),
        ("<\u2060@U1> &lt;!here&gt;", "<p>&lt;\u2060@U1&gt; &lt;!here&gt;</p>\n"),
        ("![alt](https://a.example/b.png)", f'<p><a href="https://a.example/b.png" {LINK}>alt</a></p>\n'),
        ("<https://a.example|label>", f'<p><a href="https://a.example" {LINK}>label</a></p>\n'),
    ],
)
def test_markdown_renders_as_in_slack(written: str, shown: str) -> None:
    assert markdown(written) == shown


def test_a_table_aligns_its_cells_with_classes() -> None:
    shown = markdown("| a | b |\n|:--|--:|\n| 1 | **2** |")

    assert '<th class="to-left">a</th>' in shown
    assert '<td class="to-right"><strong>2</strong></td>' in shown
    assert "style" not in shown


def test_rich_text_renders_styles_lists_and_quotes() -> None:
    bold = {"type": "text", "text": "x\ny", "style": {"bold": True, "italic": True}}

    assert rich(bold) == "<p><em><strong>x<br>y</strong></em></p>"
    item = {"type": "rich_text_section", "elements": [bold]}
    assert rich(item, kind="rich_text_list", style="ordered", indent=1, offset=2) == (
        '<ol class="indent-1" start="3"><li><em><strong>x<br>y</strong></em></li></ol>'
    )
    assert rich(bold, kind="rich_text_quote") == "<blockquote><em><strong>x<br>y</strong></em></blockquote>"
    assert rich({"type": "emoji", "name": "tada"}, {"type": "user", "user_id": "U1"}) == (
        '<p><span class="emoji" title=":tada:">🎉</span><span class="mention me" data-user="U1">@alice</span></p>'
    )


@each("elements", [None, 7, "x", [None, 3, {"type": "rich_text_section", "elements": 5}], [{}]])
def test_malformed_rich_text_renders_without_an_error(elements: Any) -> None:
    assert "<script" not in rich_text_html({"type": "rich_text", "elements": elements}, NAMES)


def test_plain_text_renders_emoji_unless_disabled() -> None:
    assert plain_html("*a* <b>\n:tada:") == '*a* &lt;b&gt;<br><span class="emoji" title=":tada:">🎉</span>'
    assert plain_html(":tada:", has_emoji=False) == ":tada:"


ALLOWED = {
    *("a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre"),
    *("s", "span", "strong", "table", "tbody", "td", "th", "thead", "time", "tr", "u", "ul"),
}
HARMLESS = {"class", "title", "datetime", "start", "value", "target", "rel", "data-user", "data-channel", "href"}
ATTACKS = [
    "<script>alert(1)</script>",
    "<ScRiPt src=//evil.example></sCrIpT>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)><style>@import 'https://evil.example'</style>",
    '<a href="javascript:alert(1)" onclick=alert(1)>x</a>',
    "[x](javascript:alert(1)) [y](JaVaScRiPt:alert(1)) [z](data:text/html;base64,PHNjcmlwdD4=) [v](vbscript:x)",
    "[x](&#106;avascript:alert(1)) [y](java\tscript:alert(1)) [z](\x01javascript:alert(1))",
    "[x](/page/do/say) [y](//evil.example) [z](?as=U2) [w](#top)",
    '![x](javascript:alert(1)) ![y](https://a.example/x.png" onerror="alert(1))',
    '<javascript:alert(1)|x> <data:text/html,<script>|y> <https://a.example" onmouseover="alert(1)|z>',
    '<@U1" onclick="alert(1)> <#C1"><script>> <!date^1^{date}^javascript:alert(1)|x>',
    "<!subteam^S1|<script>alert(1)</script>> <!here|<img src=x>>",
    "`</code><script>alert(1)</script>` ```</code></pre><script>alert(1)</script>```",
    '```"><script>\nalert(1)\n```',
    "| <script>x</script> | <img src=x onerror=y> |\n|--|--|\n| [a](javascript:b) | `<script>` |",
    "*<b>_<i>~<script>`x`</script>~</i>_</b>*",
    "<<script>script>alert(1)<</script>/script>",
    "<iframe src=https://evil.example></iframe><form action=https://evil.example><input></form>",
    '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=alert(1)&gt;">',
    "&lt;script&gt;alert(1)&lt;/script&gt; &amp;lt;img src=x&amp;gt;",
    "&#60;script&#62;alert(1)&#60;/script&#62;",
    '<p style="position:fixed;inset:0" class="modal" id="page">',
    '<div data-testid="send"></div><button>x</button><meta http-equiv=refresh content=0>',
    ':<script>: :"onclick=: https://a.example/"onclick=alert(1)',
    '[![a](javascript:x)](javascript:y "t\\" onclick=z")',
    '[ref]\n\n[ref]: javascript:alert(1) "<script>"',
    "<" * 500 + "b" + ">" * 500,
    "*_~" * 500 + "x" + "~_*" * 500,
    "> " * 300 + "x",
    "- " * 300 + "x",
    "[" * 500 + "](" * 500,
]
RENDERERS = [clean, mrkdwn, markdown, plain_html, as_text, as_link, as_code]


class Harmless(HTMLParser):
    """Fails on any active or disallowed HTML."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        assert tag in ALLOWED, tag
        assert set(given) <= HARMLESS, given
        if tag == "a":
            assert (given["target"], given["rel"]) == ("_blank", "noopener noreferrer")
            assert (given.get("href") or "https://").startswith(("https://", "http://", "mailto:", "tel:")), given
        else:
            assert "href" not in given

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)

    def handle_decl(self, decl: str) -> None:
        raise AssertionError(decl)


@each("render", RENDERERS)
def test_outside_text_becomes_only_text_and_safe_links(render: Callable[[str], str]) -> None:
    for attack in ATTACKS:
        parser = Harmless()

        parser.feed(render(attack))
        parser.close()


@each("attack", ATTACKS)
def test_an_attack_in_a_name_has_no_effect(attack: str) -> None:
    names = Names("U1", {"U2": attack}, {"C2": attack}, {"S2": attack}, UTC)
    parser = Harmless()

    parser.feed(mrkdwn_html("<@U2> <#C2> <!subteam^S2>", names) + markdown_html("<@U2> <#C2> <!subteam^S2>", names))
    parser.close()


def test_text_crafted_to_be_slow_renders_in_linear_time() -> None:
    tricky = [
        "*a " * 13_000,
        "<" * 39_000,
        "`" * 39_001,
        "*_~" * 13_000,
        ":a" * 19_000,
        "_*a_ *b" * 5_000,
        "```" * 13_000,
    ]
    began = time.process_time()

    for text in tricky:
        mrkdwn(text)

    assert time.process_time() - began < 3  # 0.2 s if linear


def test_each_text_in_blocks_gets_html_and_the_rest_is_unchanged() -> None:
    button = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go :tada:"}, "value": "7"}
    blocks: list[dict[str, Any]] = [
        {"type": "section", "text": {"type": "mrkdwn", "text": "*a*"}, "accessory": button},
        {"type": "markdown", "text": "**b**"},
        {"type": "table", "rows": [[{"type": "raw_text", "text": "<c>"}, {"type": "rich_text", "elements": []}]]},
    ]

    section, markdown_block, table = shown_blocks(blocks, NAMES)

    assert section["text"] == {"type": "mrkdwn", "text": "*a*", "html": "<strong>a</strong>"}
    assert section["accessory"]["text"]["html"] == 'Go <span class="emoji" title=":tada:">🎉</span>'
    assert (section["accessory"]["value"], section["accessory"]["action_id"]) == ("7", "go")
    assert markdown_block["html"] == "<p><strong>b</strong></p>\n"
    assert table["rows"] == [[{"type": "raw_text", "text": "<c>"}, {"type": "rich_text", "elements": [], "html": ""}]]
    assert "html" not in blocks[1]


def test_an_apps_html_field_is_never_used() -> None:
    evil = "<img src=x onerror=alert(1)>"
    deep: dict[str, Any] = {"html": evil}
    for _ in range(50):
        deep = {"child": [deep], "html": evil}
    blocks = [
        {"type": "rich_text", "html": evil, "elements": [{"type": "x", "html": evil, "text": "a"}]},
        {"type": "no_such_block", "html": evil, "text": {"type": "plain_text", "text": "a", "html": evil}},
        {"type": "markdown", "text": 7, "html": evil},
        deep,
    ]

    assert evil not in str(shown_blocks(blocks, NAMES))
