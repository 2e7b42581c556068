"""Lists of workflows and agents: filtering, pages, and the buttons to turn them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, Literal, TypeVar

from bridge.names.folding import name_key
from bridge.names.listing import is_part
from bridge.names.matching import Named, namesakes
from bridge.project.connection import ProjectConnection
from bridge.project.models import Agent, Workflow
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.card import card
from bridge.slack.blockkit.modals import Carried
from bridge.slack.blockkit.reply import Block, Reply

PAGE: Final = 20
"""How many entries fit into one message, with the longest names and descriptions that are shown."""

_MOST_WORDS = 20
_SENTENCE = 60  # characters of a name with its ID: no sentence, row or button shows fewer
_DIGITS = 5
_MOST_CHARACTERS = 300  # of the search that a button carries


T = TypeVar("T", Workflow, Agent)


def part_note(items: Sequence[T], noun: str) -> Block | None:
    """Say below a list or a menu that the service didn't send all, if that's so."""
    text = f"The project service lists only some of its {noun}s. Type an ID to use another one."
    return kit.context(text) if is_part(items) else None


class MenuChoices(list[Block]):
    """Options of a menu that Slack asks for; *label* stands above them, if they're not all of the *count* there are.

    Slack takes a hundred: https://docs.slack.dev/reference/interaction-payloads/block_suggestion-payload.
    """

    def __init__(self, options: Iterable[Block], items: Sequence[Any], noun: str, count: int) -> None:
        super().__init__(options)
        self.label = ""
        if is_part(items):
            self.label = f"Only some {noun}s are listed. Type an ID for the others."
        elif count > len(self):
            self.label = f"The first {len(self)} of {count:,} {noun}s. Type to find the others."


class ListPage(Carried):
    """The value of a page's buttons: a *page*, from 0, of the entries matching *words*."""

    page: int = 0
    words: str = ""


def matching(items: Sequence[T], typed: str) -> list[T]:
    """Return the entries with every *typed* word in their name or description."""
    wanted = dict.fromkeys(name_key(typed).split()[:_MOST_WORDS])
    searched = [(name_key(f"{item.name} {item.description or ''}"), item) for item in items]
    return [item for text, item in searched if all(word in text for word in wanted)]


def by_name(items: Sequence[T]) -> list[T]:
    """Sort by name, ignoring case."""
    return sorted(items, key=lambda item: item.name.casefold())


def names_apart(items: Iterable[Named], most: int) -> dict[int, str]:
    """Return names of at most *most* characters by ID, with the ID where another looks the same."""
    known = {item.id: item.name for item in items}
    shared = namesakes(items, most)
    return {
        id_: kit.with_id(name, id_, most) if id_ in shared else kit.one_line(name, most) for id_, name in known.items()
    }


def apart(project: ProjectConnection, kind: Literal["agent", "workflow"], id_: int, name: str) -> str:
    """Return the *name* of an agent or workflow, with its ID if another in the service's last list looks the same."""
    has_namesake = name != "" and project.catalog.has_namesake(kind, id_, name, _SENTENCE)
    return kit.with_id(name, id_, _SENTENCE) if has_namesake else name


def active_first(workflows: Sequence[Workflow]) -> list[Workflow]:
    """Sort workflows by name, active ones first."""
    return sorted(workflows, key=lambda workflow: (not workflow.is_active, workflow.name.casefold()))


def shown_on(page: int, count: int, size: int) -> range:
    """Return the indices of the entries on a page, of *count* in all, *size* on each.

    If it doesn't exist, it's the nearest one: the list may have become shorter since the button was posted.
    """
    begin = max(0, min(page, (count - 1) // size)) * size
    return range(begin, min(begin + size, count))


def page_of(value: str) -> int:
    """Return the page in a button's *value*, 0 if there's none."""
    return int(value) if value.isascii() and value.isdecimal() and len(value) < _DIGITS else 0


def place_note(page: int, count: int, size: int) -> Block | None:
    """Say which entries a page shows, of *count* in all, unless it shows all."""
    shown = shown_on(page, count, size)
    return kit.context(f"{shown.start + 1:,} to {shown.stop:,} of {count:,}") if count > size else None


def page_buttons(
    page: int, count: int, size: int, turns: tuple[str, str], value: Callable[[int], str] = str
) -> list[Block]:
    """Return the buttons for the previous and the next page of *count* entries, *size* on each.

    *turns* are their action IDs; *value* returns the value for a page.
    """
    previous = [kit.button("Previous", turns[0], value(page - 1))] if page > 0 else []
    following = [kit.button("Next", turns[1], value(page + 1))] if (page + 1) * size < count else []
    return previous + following


def list_reply(
    noun: str,
    items: Sequence[T],
    hits: Sequence[T],
    line: Callable[[T], Block],
    spot: ListPage,
    *,
    turns: tuple[str, str],
    nothing: str,
    controls: Iterable[Block] = (),
    project: str = "",
) -> Reply:
    """Show the page *spot* of the *hits* among *items*, with *controls* below; for *turns*, see `page_buttons`.

    *nothing* is said if there are none at all.
    """
    quoted = kit.quoted(spot.words, 60)
    if not hits and spot.words:
        every = kit.button(f"Show all {noun}s", turns[0], ListPage().model_dump_json())
        return card(f"No {noun} matches {quoted}.", part_note(items, noun), buttons=[every])
    if not hits:
        return kit.reply(nothing)
    shown, words = shown_on(spot.page, len(hits), PAGE), spot.words[:_MOST_CHARACTERS]
    page = shown.start // PAGE
    title = f"{kit.capitalized(noun)}s matching {quoted}" if spot.words else f"{kit.capitalized(noun)}s"
    return card(
        kit.header(kit.titled(title, project)),
        kit.rich(kit.bullets([line(item) for item in hits[shown.start : shown.stop]])),
        part_note(items, noun),
        *kit.rows_of(controls),
        place_note(page, len(hits), PAGE),
        buttons=page_buttons(page, len(hits), PAGE, turns, lambda to: ListPage(page=to, words=words).model_dump_json()),
    )
