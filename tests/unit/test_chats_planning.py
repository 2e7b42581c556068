"""Planning a turn: an agent named in a message or in the settings."""

from __future__ import annotations

from bridge.features.conversations.answering import addressee, configured, named_first
from bridge.project import Agent
from support.tables import each

NAMES = {7: "Support", 8: "Sales", 9: "7", 10: "Two Words"}
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
        ("＃８：hello", (8, "hello")),  # noqa: RUF001
        ("Support:\nhello\nthere", (7, "hello\nthere")),
        ("Support:", (7, "")),
        ("7: whom?", None),  # an agent's ID with another agent's name
        ("Nobody: hello", None),
        ("Support hello", None),
        ("see this: Support: hello", None),
        ("12:30 suits me", None),
        ("", None),
    ],
)
def test_an_agent_is_named_first(text: str, expected: tuple[int, str] | None) -> None:
    found = named_first(text, AGENTS)

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
