"""Lists of workflows and agents: filtering, pages, and the buttons to turn them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

from bridge.names.folding import name_key
from bridge.names.listing import is_part
from bridge.project.models import Agent, Workflow
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.card import card
from bridge.slack.blockkit.modals import Carried
from bridge.slack.blockkit.reply import Block, Reply

PAGE: Final = 20
"""How many entries fit into one message, with the longest names and descriptions that are shown."""

_MOST_WORDS = 20
_DIGITS = 5
_MOST_CHARACTERS = 300  # of the search that a button carries


T = TypeVar("T", Workflow, Agent)


def part_note(items: Sequence[T], noun: str) -> Block | None:
    """Say below a list or a menu that the service didn't send all, if that's so."""
    return kit.context(words) if (words := part_words(items, noun)) else None


def part_words(items: Sequence[T], noun: str) -> str:
    """Return what `part_note` says; ``""`` if the list is whole."""
    text = f"The project service lists only some of its {noun}s. Type an ID to use another one."
    return text if is_part(items) else ""


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


def active_first(workflows: Sequence[Workflow]) -> list[Workflow]:
    """Sort workflows by name, active ones first."""
    return sorted(workflows, key=lambda workflow: (not workflow.is_active, workflow.name.casefold()))


def needs_mark(needs: str) -> str:
    """Return the mark of a workflow that *needs* something before it runs."""
    return f"{'🔒' if needs.startswith('needs') else '❓'} {needs}"


def facts_of(workflow: Workflow, needs: str = "") -> list[Block | str]:
    """Return the text that follows a workflow's name: its ID, what it *needs*, and its description."""
    facts: list[Block | str] = [f" · ID {workflow.id}"]
    if not workflow.is_active:
        facts.append(kit.words(" · inactive", italic=True))
    if needs:
        facts.append(kit.words(f" · {needs_mark(needs)}", italic=True))
    about = kit.one_line(workflow.description or "", kit.DESCRIPTION)
    return [*facts, f"\n{about}"] if about else facts


def clamped(page: int, count: int, size: int) -> int:
    """Return the nearest existing page: the list may have become shorter since the button was posted."""
    return max(0, min(page, (count - 1) // size))


def shown_on(page: int, count: int, size: int) -> range:
    """Return the indices of the entries on a page, of *count* in all, *size* on each; see `clamped`."""
    begin = clamped(page, count, size) * size
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
    title: str,
    items: Sequence[T],
    line: Callable[[T], Block],
    spot: ListPage,
    turns: tuple[str, str],
    *below: Block | None,
) -> Reply:
    """Show one page, and blocks *below* it; for *turns*, see `page_buttons`."""
    page, words = clamped(spot.page, len(items), PAGE), spot.words[:_MOST_CHARACTERS]
    return card(
        kit.header(title),
        kit.rich(kit.bullets([line(item) for item in items[page * PAGE : (page + 1) * PAGE]])),
        *below,
        place_note(page, len(items), PAGE),
        buttons=page_buttons(
            page, len(items), PAGE, turns, lambda to: ListPage(page=to, words=words).model_dump_json()
        ),
    )
