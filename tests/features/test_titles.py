"""A conversation's title."""

from __future__ import annotations

from bridge.features.titles import title_of
from support.tables import each


@each(
    ("said_first", "title"),
    [
        ("one two three four five six seven eight nine ten", "one two three four five six seven eight nine"),
        ("x" * 20 + " " + "y" * 50, "x" * 20 + " …"),
        ("use xoxb-12-34 please", "use … please"),
        ("my password is hunter2", "my password is …"),
        ("password: hunter2 ok", "password: … ok"),
        ("send it with api_key=abc", "send it with …"),
        ("see https://me:pw@example.com/a", "see …"),
        ("why 4711 and a1b2c3d4e5f6a7b8c9", "why 4711 and …"),
        ("card 4111111111111111 please", "card … please"),
        ("line one\nline two", "line one line two"),
    ],
)
def test_a_title_has_no_secrets(said_first: str, title: str) -> None:
    assert title_of(said_first) == title
