"""The log of a turn: each thing that happened to it, in order. Scripts append to it (`with_line` in their prelude).

A line is ``<ms> <process, or -> <what it did> <facts>``. `bridge trace`, ``!why`` and dead letters read it, and nothing
else does: what a turn does next depends on its other fields, and so does what may repeat without end, such as requests.

| it did                          | facts                                                         |
| ------------------------------- | ------------------------------------------------------------- |
| ``came``                        | a delivery: event, Slack's retry number, why it was queued    |
| ``queued``                      | how many turns it was queued after, and before                |
| ``took``                        |                                                               |
| ``outcome``                     | `OutcomeFacts`, as JSON                                       |
| ``done``, ``dead``              | the name of its outcome, or why it couldn't be finished       |
| ``edited``, ``stopped``, ``dropped`` |                                                          |
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypedDict, cast

_LINES: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))  # building one for each takes as long again


class OutcomeFacts(TypedDict, total=False):
    """About an outcome: what it *concerns*, the *cause* if a call of the project service failed, and its *project*."""

    concerns: str
    cause: str
    project: str


@dataclass(frozen=True, slots=True)
class Logged:
    """A line: when *process* (``""``: none in particular) *did* something."""

    at: datetime
    process: str
    did: str
    facts: str = ""

    @classmethod
    def from_line(cls, line: str) -> Logged | None:
        """Read a line; None for anything else."""
        ms, process, did, facts, *_ = [*line.split(" ", 3), "", "", ""]
        if not (ms.isdecimal() and did):
            return None
        return cls(_moment(ms), "" if process == "-" else process, did, facts)


def read_log(fields: Mapping[str, str]) -> list[Logged]:
    """Return the log in the *fields* of a turn's record, by time."""
    read = (Logged.from_line(line) for line in [*_earlier(fields), *fields.get("log", "").split("\n")])
    return sorted((entry for entry in read if entry), key=lambda entry: entry.at)


def outcome_facts(entry: Logged) -> OutcomeFacts:
    """Return the facts of an ``outcome``."""
    try:
        facts = json.loads(entry.facts or "{}")
        return cast(OutcomeFacts, {name: str(facts[name]) for name in OutcomeFacts.__annotations__ if name in facts})
    except (ValueError, TypeError):
        return {}


def _moment(ms: str | int) -> datetime:
    return datetime.fromtimestamp(int(ms) / 1000, UTC)


def _earlier(fields: Mapping[str, str]) -> Iterator[str]:
    """Read what a process of the earlier release wrote, which has a field for each, as lines."""
    for line in fields.get("came", "").split("\n"):
        if delivery := Delivery.from_line(line):
            yield delivery.to_line()
    if "behind" in fields or "overtakes" in fields:
        yield f"{fields.get('at')} - queued {fields.get('behind', 0)} {fields.get('overtakes', 0)}"
    for line in fields.get("process", "").split("\n"):
        yield f"{line} took"
    facts = {name: fields[name] for name in OutcomeFacts.__annotations__ if name in fields}
    details = {"outcome": _LINES.encode(facts), "done": fields.get("what", "")}
    for did, detail in details.items():
        yield f"{fields.get(f't_{did}', '')} - {did} {detail}"
    yield f"{fields.get('dropped', '')} - dropped"
    for line in fields.get("deaths", "").split("\n"):
        ms, _, why = line.partition(" ")
        yield f"{ms} - dead {why}"


@dataclass(frozen=True, slots=True)
class Delivery:
    """One delivery of an *event* to *process*: *retry* is Slack's retry number, *why* the reason for the decision."""

    at: datetime
    process: str
    event: str = ""
    retry: int = 0
    why: str = ""

    def to_line(self) -> str:
        """Return the line of the log, for `from_line`."""
        facts = _LINES.encode([self.event, self.retry, self.why])
        return f"{int(self.at.timestamp() * 1000)} {self.process or '-'} came {facts}"

    @classmethod
    def from_line(cls, line: str) -> Delivery | None:
        """Read a line; None for anything else."""
        try:
            if line.startswith("["):  # as the earlier release wrote it
                ms, process, event, retry, why, *_later = json.loads(line)
                return cls(_moment(ms), str(process), str(event), int(retry), str(why))
        except (ValueError, TypeError):
            return None
        entry = Logged.from_line(line)
        return cls.of(entry) if entry else None

    @classmethod
    def of(cls, entry: Logged) -> Delivery | None:
        """Return the delivery of a log's entry; None for another entry, or what can't be read."""
        if entry.did != "came":
            return None
        try:
            event, retry, why, *_later = json.loads(entry.facts)
            return cls(entry.at, entry.process, str(event), int(retry), str(why))
        except (ValueError, TypeError):
            return None
