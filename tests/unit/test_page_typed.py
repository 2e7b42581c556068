"""Typed text becomes Slack's stored form, and back."""

from __future__ import annotations

from bridge.playground.page.names import Names
from bridge.playground.page.typed import as_slack_writes, as_typed
from support.tables import each

NAMES = Names("U1", {"U1": "alice", "U2": "Bob.Brandt"}, {"C1": "general"}, {"S1": "runners"})


@each(
    ("typed", "written"),
    [
        ("hello", "hello"),
        ("a < b & c > d", "a &lt; b &amp; c &gt; d"),
        ("@alice: look", "<@U1>: look"),
        ("ask @bob.brandt.", "ask <@U2>."),
        ("@nobody and a@alice.example", "@nobody and a@alice.example"),
        ("in #general and #nowhere", "in <#C1> and #nowhere"),
        ("@here @channel @runners", "<!here> <!channel> <!subteam^S1>"),
        ("see https://a.example/?x=1&y=@alice.", "see <https://a.example/?x=1&amp;y=@alice>."),
        ("`@alice` ```\n@alice\n``` @alice", "`@alice` ```\n@alice\n``` <@U1>"),
        ("<@U1> <!here>", "&lt;@U1&gt; &lt;!here&gt;"),
    ],
)
def test_typed_text_becomes_slacks_form(typed: str, written: str) -> None:
    assert as_slack_writes(typed, NAMES) == written


@each(
    "typed",
    ["a < b & c > d", "@alice in #general", "@here @runners", "https://a.example/?x=1&y=2", "&lt;", "`@alice` <@U1>"],
)
def test_slacks_form_becomes_typed_text_for_editing(typed: str) -> None:
    assert as_typed(as_slack_writes(typed, NAMES), NAMES) == typed


def test_the_apps_text_is_shown_for_editing_without_ids() -> None:
    assert as_typed("<https://a.example|label> <#C9|other> <@U9>", NAMES) == "https://a.example #other @U9"
