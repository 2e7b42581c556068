"""Planning a turn: an agent named in a message or in the settings."""

# ruff: noqa: RUF001 - what keyboards and phones send

from __future__ import annotations

from bridge.features.conversations.answering import addressee, agent_named_first, configured
from bridge.project import Agent
from support.tables import each

NAMES = {7: "Support", 8: "Sales", 9: "7", 10: "Two Words", 12: "Ops: Night", 13: "🤖 Memory", 14: "O'Brien"}
AGENTS = [Agent.model_validate({"id": number, "name": name, "model": "m"}) for number, name in NAMES.items()]


@each(
    ("text", "expected"),
    [
        ("Support: hello", (7, "hello")),
        ("support:hello", None),  # a colon inside a word, as in a URL
        ("sUpPoRt :  hello", (7, "hello")),
        ('"Two Words": hello', (10, "hello")),
        ("Two Words: hello", (10, "hello")),
        ("8: hello", (8, "hello")),
        ("#8: hello", (8, "hello")),
        ("*#008:* hello", (8, "hello")),
        ("＃８：hello", (8, "hello")),
        ("Support:\nhello\nthere", (7, "hello\nthere")),
        ("Support:", (7, "")),
        ("7: whom?", None),  # an agent's ID with another agent's name
        ("Nobody: hello", None),
        ("Support hello", None),
        ("see this: Support: hello", None),
        ("12:30 suits me", None),
        ("", None),
        ("Support：你好", (7, "你好")),
        ("Ｓｕｐｐｏｒｔ: Ünï\u200b", (7, "Ünï\u200b")),
        ("\u200fSupp\u00adort\u00a0: hi", (7, "hi")),
        ("*Support*: *hi*", (7, "*hi*")),
        ("*Support:* hi", (7, "hi")),
        ("*Support: hi*", (7, "hi")),
        ("_Support_: hi", (7, "hi")),
        ("`Support`: hi", (7, "hi")),
        ("**Support**: hi", (7, "hi")),
        ("“Support”: hi", (7, "hi")),
        ("Ops: Night: hi: there", (12, "hi: there")),
        (":robot_face: Memory: hi", (13, "hi")),
        ("O’Brien: hi", (14, "hi")),
        ("Ops: Night", None),
        ("Support\n: hi", None),
        ("> Support: hi", None),
    ],
)
def test_an_agent_is_named_first(text: str, expected: tuple[int, str] | None) -> None:
    found = agent_named_first(text, AGENTS)

    assert (found and (found[0].id, found[1])) == expected


@each(
    ("wanted", "expected"),
    [
        ("Support", 7),
        (" sales ", 8),
        ("8", 8),
        ("#08", 8),
        ("7", 7),
        ("two words", 10),
        ("", None),
        ("nobody", None),
        ("99", None),
    ],
)
def test_a_configured_agent_is_found_by_id_or_name(wanted: str, expected: int | None) -> None:
    found = configured(wanted, AGENTS)

    assert (found.id if found else None) == expected


@each("text", ["#8, hello", "8, hello", "#08: hello", "Sale: hello"])
def test_an_agent_may_be_meant_at_the_start(text: str) -> None:
    found = addressee(text, AGENTS)

    assert found is not None
    assert found.id == 8


def test_a_default_name_shared_by_two_agents_picks_neither() -> None:
    twins = [*AGENTS, Agent.model_validate({"id": 11, "name": "support", "model": "m"})]

    assert configured("Support", twins) is None
