"""`bridge audit`: who did what, where, when, and with which outcome."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Final

from bridge.cli.names import DisplayNames, opened_names
from bridge.cli.printing import columns, form_for, moment, out, to_json, with_known_project
from bridge.cli.store import JsonLinesOption, SinceOption, in_store, length_of_time
from bridge.ends import refusals
from bridge.ends.messages import ENDS
from bridge.features.registry import features
from bridge.queue.finished_turns import AUDITED, FinishedTurn, finished_turns_since
from bridge.queue.scripting import Scripts

_DEAD: Final = "dead: "
_NOT_SHOWN: Final = "not shown: "
_TITLES: Final = ("when", "who", "where", "what", "on", "outcome")
_SHOWN: Final = frozenset({"ended_at", "asked_at", "is_allowed", *AUDITED})
_AT_ONCE: Final = 500  # lines; the first ones set the columns' widths
_SET_UP: Final = {word for kind in features.standing for word in (kind.noun, kind.name)}

RESULTS: Final = {**features.outcomes, **{name: end.word for name, end in ENDS.items() if end.word}}
"""Outcomes in words for people, by the stored name; other names are readable as they are."""

REFUSALS: Final = {name: refusal.word for name, refusal in refusals.ON_ARRIVAL.items()}
"""The same for messages that were refused on arrival."""


def audit(
    *,
    since: SinceOption = "7d",
    as_json: JsonLinesOption = False,
) -> None:
    """Show who did what, where and when.

    Includes refused requests and outcomes. Message text isn't recorded.
    """
    length = length_of_time(since)

    async def show(scripts: Scripts) -> int:
        beginning = scripts.clock.now() - length
        entries, is_empty = finished_turns_since(scripts, beginning), True
        if as_json:
            async for entry in entries:
                out(for_programs(entry))
            return 0
        async with opened_names() as names:
            async for line in table(entries, names):
                out(line)
                is_empty = False
        if is_empty:
            out(f"No entries since {moment(beginning)}. Entries are deleted after BRIDGE_AUDIT_DAYS.")
        return 0

    in_store(show)


async def table(entries: AsyncIterator[FinishedTurn], names: DisplayNames) -> AsyncIterator[str]:
    """Format *entries* for people, below a line of titles."""
    form, batch = "", [entry async for entry in _next(entries)]
    while batch:
        await names.look_up(id_ for entry in batch for id_ in (entry.user, entry.channel))
        if any(re.fullmatch(r"agent \d+", entry.about) for entry in batch):
            await names.look_up_agents()
        rows = []
        for entry in batch:
            what, outcome = features.labels.get(entry.did, entry.did), result(entry)
            outcome = outcome if entry.is_allowed else f"refused: {outcome}"
            project = f" @{entry.project}" if entry.project else ""
            subject = f"{_subject(entry.about, None if entry.project else names)}{project}".lstrip()
            who, where = names.person(entry.user), names.channel(entry.channel)
            rows.append((moment(entry.ended_at), who, where, what, subject, outcome))
        if not form:
            form = form_for([_TITLES, *rows])
            yield columns(form, *_TITLES)
        for row in rows:
            yield columns(form, *row)
        batch = [entry async for entry in _next(entries)]


async def _next(entries: AsyncIterator[FinishedTurn]) -> AsyncIterator[FinishedTurn]:
    for _ in range(_AT_ONCE):
        try:
            yield await anext(entries)
        except StopAsyncIteration:
            return


def _subject(about: str, names: DisplayNames | None) -> str:
    """Describe the subject of an action for people (`FinishedTurn.about`); *names* are those of the default project."""
    kind, id_, name = (*about.split(" ", 2), "", "", "")[:3]
    match kind:
        case "agent" if id_ == "none":
            return "no agent"
        case "agent" if id_.isdecimal() and not name and names:
            return f"agent {names.agent(int(id_))}"
        case "agent" | "workflow" if name:
            return f"{kind} {name} ({id_})"
        case _ if name and kind in _SET_UP:  # whose ID people don't see
            return f"{kind} {name}"
        case _:
            return about


def for_programs(entry: FinishedTurn) -> str:
    """Format *entry* as JSON: *outcome* is a stable word, *result* is for people."""
    kind, id_, name = (*entry.about.split(" ", 2), "", "", "")[:3]
    fields = {field: value for field, value in with_known_project(entry).items() if field in _SHOWN}
    about = {"about": f"{kind} {id_}".rstrip(), "name": name}
    return to_json({**fields, **about, "outcome": word(entry), "result": result(entry)})


def result(entry: FinishedTurn) -> str:
    """Describe the outcome for people."""
    if entry.outcome.startswith(_DEAD):
        why = "; ".join(filter(None, (entry.outcome.removeprefix(_DEAD), entry.cause)))
        return f"couldn't be finished ({why})"
    known = RESULTS if entry.is_allowed else {**RESULTS, **REFUSALS}
    text = known.get(entry.outcome, entry.outcome)
    if entry.sha256:
        text = ", ".join(filter(None, [text, entry.rule, f"SHA-256 {entry.sha256[:12]}"]))
    return f"{text} ({entry.cause})" if entry.cause else text


def word(entry: FinishedTurn) -> str:
    """Name the outcome for programs: ``no_such``, ``not_allowed``, ``form_opened``."""
    outcome = entry.outcome
    first = outcome.partition(":")[0] if outcome.startswith((_DEAD, _NOT_SHOWN)) else outcome
    return re.sub(r"[^a-z0-9]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", first).lower()).strip("_")
