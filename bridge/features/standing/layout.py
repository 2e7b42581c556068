"""What people set up: its list, its section in Home, and what its buttons answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bridge.features.standing import kind as kinds
from bridge.features.standing.kind import Heading, Kind, ListRow, Noun, ShownThing
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.card import card
from bridge.slack.blockkit.lists import page_buttons, place_note
from bridge.slack.blockkit.reply import Block, Reply

A_PAGE = 10  # of three blocks each, with the names of people, agents and projects
MOST_IN_HOME = 3


def delete_button(noun: Noun, text: str, action_id: str, value: str) -> Block:
    """Return the button that deletes what *text* describes, after a confirmation."""
    title, text = f"Delete this {noun.word}?", f"{text}. You can't undo this."
    return kit.button("Delete", action_id, value, asks=kit.confirm(title, text, "Delete", "Cancel", is_danger=True))


def gone(kind: Kind[Any]) -> Reply:
    """Say that a thing was already deleted."""
    return kit.ask(f"This {kind.nouns[0].word} was already deleted.", kind.nouns[0].lists)


def listed(
    kind: Kind[Any],
    heading: Heading,
    rows: Sequence[tuple[ShownThing[Any], ListRow]],
    page: int,
    count: int,
    *,
    of: str = "",
    above: Reply | None = None,
    replaces_original: bool = False,
) -> Reply:
    """Show a *page* of *count* things, below what was just done (*above*)."""
    turns = (kind.action(kinds.PAGE), kind.action(kinds.NEXT_PAGE))
    return card(
        *(above.blocks if above else ()),
        kit.header(heading.title) if count else heading.nothing,
        *(
            block
            for shown, row in rows
            for block in (kit.rich(*row.lines), row.state, *_buttons(kind, shown, row, f"{of}{page}"))
        ),
        place_note(page, count, A_PAGE),
        buttons=[*heading.forms, *page_buttons(page, count, A_PAGE, turns, lambda to: f"{of}{to}")],
        replaces_original=replaces_original,
    )


def home_section(kind: Kind[Any], rows: Sequence[tuple[ShownThing[Any], ListRow]], count: int) -> list[Block]:
    """Return the section of the Home tab with the first of a person's own things, *count* in all."""
    title, lists_all = kind.in_home
    blocks = [kit.header(title)] if rows else []
    for shown, row in rows:
        blocks.append(kit.rich(*row.lines, row.in_home))
        buttons = _buttons(kind, shown, row, kinds.HOME)
        blocks += [each | {"block_id": f"{kind.name}:{shown.record.id}"} for each in buttons]
    more = count - len(rows)
    return (
        [*blocks, kit.context(f"And {more:,} more: {kit.command(lists_all)} lists them all.")] if more > 0 else blocks
    )


def _buttons(kind: Kind[Any], shown: ShownThing[Any], row: ListRow, page: str) -> list[Block]:
    """Return the rows of buttons that the reader may press."""
    record, value = shown.record, f"{page}:{shown.record.id}"
    verb = kinds.RESUME if record.paused else kinds.PAUSE
    buttons = [
        kit.button(verb.capitalize(), kind.action(verb), value),
        *row.controls,
        kit.button("Edit…", kind.action(kinds.EDIT), value),
        delete_button(kind.noun(record), kind.in_full(shown), kind.action(kinds.DELETE), value),
    ]
    return kit.rows_of(
        button for button in buttons if button["action_id"].removeprefix(f"{kind.name}:") in shown.offers
    )
