"""Typed text with Slack's escapes removed."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from bridge.slack.blockkit.kit import escape
from bridge.slack.blockkit.mrkdwn import channels_linked, mentions_in, message_text, plain_command_text
from support.tables import each

NAMES = {"U1": "Ann & Bob", "U2": "&lt;b&gt;", "C1": "general", "S3": "runners"}


def to_agent(raw: str) -> str:
    return message_text(raw, bot_user="UBOT", names=NAMES)


@each(
    ("raw", "plain"),
    [
        ("run 3 a &lt; b &amp;&amp; c &gt; d", "run 3 a < b && c > d"),
        ("&amp;lt;", "&lt;"),
        ("<https://a.example/?x=1&amp;y=2|a.example>", "https://a.example/?x=1&y=2"),
        ("<http://a.example>", "http://a.example"),
        ("<http://db1.example.com|db1.example.com>", "db1.example.com"),
        ("<http://DB1.example.com/|DB1.example.com>", "DB1.example.com"),
        ("<http://db1.example.com|db1.example.com/>", "db1.example.com/"),
        ("<http://db1.example.com:5432/a/B|db1.example.com:5432/a/B>", "db1.example.com:5432/a/B"),
        ("<http://a.example/?x=1&amp;y=2#z|a.example/?x=1&amp;y=2#z>", "a.example/?x=1&y=2#z"),
        ("<http://a.example/%C3%BC|a.example/ü>", "a.example/ü"),
        ("<http://xn--mller-kva.example|müller.example>", "müller.example"),
        ("<https://a.example|https://a.example>", "https://a.example"),
        ("<ftp://a.example|a.example>", "a.example"),
        ("<http://a.example|https://a.example>", "http://a.example"),
        ("<http://a.example|b.example>", "http://a.example"),
        ("<http://a.example/x|a.example/X>", "http://a.example/x"),
        ("<mailto:Ann@b.example|Ann@b.example>", "Ann@b.example"),
        ("<mailto:a@b.example|Ann>", "a@b.example"),
        ("<tel:+15551234|+1 (555) 1234>", "+1 (555) 1234"),
        ("<tel:+15551234|call me>", "+15551234"),
        ('{"host": "<http://db1.example.com|db1.example.com>"}', '{"host": "db1.example.com"}'),
        ("<mailto:a@b.example|a@b.example>", "a@b.example"),
        ("<tel:+123|+123>", "+123"),
        ("<@U1|ann> and <@U9>", "@ann and @U9"),
        ("<#C1|general> <#C2|> <#C3>", "#general #C2 #C3"),
        ("<!here> <!channel|channel> <!everyone>", "@here @channel @everyone"),
        ("<!subteam^S1|@ops> <!subteam^S2>", "@ops @S2"),
        ("<!date^1392734382^{date}|Feb 18>", "Feb 18"),
        ('{"a": "&lt;b&gt;", "u": "<http://a.example>"}', '{"a": "<b>", "u": "http://a.example"}'),
        ("1 &lt; 2, &copy; stays", "1 < 2, &copy; stays"),
        ("plain", "plain"),
    ],
)
def test_text_after_a_command_is_as_typed(raw: str, plain: str) -> None:
    assert plain_command_text(raw) == plain


@each(
    ("raw", "text"),
    [
        ("<@UBOT> hello", "hello"),
        ("<@UBOT>: hello", "hello"),
        ("<@UBOT|bridge>, hello", "hello"),
        ("  <@UBOT>   <@UBOT> hello ", "hello"),
        ("hello <@UBOT> there", "hello there"),
        ("<@UBOT> :wave: hi", ":wave: hi"),
        ("<@UBOT>", ""),
        ("ask <@U1> in <#C1|old-name>", "ask @Ann & Bob in #general"),
        ("ask <@U2>", "ask @&lt;b&gt;"),
        ("ask <@U3|carol> and <@U4>", "ask @carol and @U4"),
        ("see <https://a.example|the page>", "see [the page](https://a.example)"),
        ("see <https://a.example>", "see https://a.example"),
        ("see <http://a.example|a.example>", "see a.example"),
        ("see <https://A.example/x?a=1&amp;b=2|A.example/x?a=1&amp;b=2>", "see A.example/x?a=1&b=2"),
        ("see <http://evil.example|a.example>", "see [a.example](http://evil.example)"),
        ("call <tel:+15551234|+1 (555) 1234>", "call +1 (555) 1234"),
        ("see <https://a.example/(x)|[it]>", "see [\\[it\\]](<https://a.example/(x)>)"),
        ("write <mailto:a@b.example|a@b.example>", "write a@b.example"),
        ("write <mailto:a@b.example|Ann>", "write [Ann](mailto:a@b.example)"),
        ("<!here> <!subteam^S1|@ops>", "@here @ops"),
        ("<!subteam^S3> <!subteam^S3|> <!subteam^S4>", "@runners @runners @S4"),
        ("a &lt;b&gt; &amp;amp; c", "a <b> &amp; c"),
        ("`if a &lt; b` and `<http://a.example|a.example>`", "`if a < b` and `a.example`"),
        (
            "`<https://a.example/c/1|1a2b>` <https://a.example|`x`>",
            "`[1a2b](https://a.example/c/1)` [`x`](https://a.example)",
        ),
        ("```\nx = a[0](1) &amp; y\n  &lt;@U1&gt;\n```", "```\nx = a[0](1) & y\n  <@U1>\n```"),
    ],
)
def test_an_agent_gets_plain_text_with_names(raw: str, text: str) -> None:
    assert to_agent(raw) == text


def test_mentions_are_found_once_each_in_their_order() -> None:
    assert mentions_in("<@U2> <@U1|ann> <@U2> <#C1|general> &lt;@U7&gt; <!here>") == (("U2", "U1"), ("C1",), ())
    assert mentions_in("<!subteam^S1|@ops> <!subteam^S2> <!subteam^S2> <!subteam^S3|>").groups == ("S2", "S3")
    assert mentions_in("<@U1> and <@U2>", but="U1").users == ("U2",)


@pytest.mark.parametrize(
    ("typed", "linked"),
    [("#general", ["C1"]), ("#old-name", []), ("#gen", []), ("#ops?!", ["C2"]), ("#ops-2", []), ("#C3", ["C3"])],
)
def test_a_linked_channel_is_found_by_what_its_link_is_shown_as(typed: str, linked: list[str]) -> None:
    raw, names = "<#C1|old-name> <#C2|ops> <#C3>", {"C1": "general", "C2": "C2", "C3": "C3"}

    assert channels_linked(raw, names, typed=typed) == linked
    assert plain_command_text(raw, names) == "#general #ops #C3"


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=200))
def test_an_escaped_text_is_restored(text: str) -> None:
    assert plain_command_text(escape(text)) == text
    assert to_agent(escape(text)) == text.strip()
