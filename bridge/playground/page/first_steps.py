"""Which of a newcomer's first steps were taken in this workspace, however: typed, with a button, or in a form.

The page offers them, see ``static/js/steps.js``. What counts is what came of them: an answer, a run, a stop.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TypeVar

from bridge.playground.emulator import ApiCall, AppDelivery, EmulatedSlack
from bridge.playground.page.supervisor import PartStatus
from bridge.playground.sample_project import SampleProject
from bridge.playground.sample_project.storage import StateFile

T = TypeVar("T")

_STOP: Final = re.compile(r"(?:<@\w+>)?\W*+(?:please\W++)?stop\b\W*+(?:please\W*+)?", re.IGNORECASE)
_PROCESS: Final = re.compile(r"process (\d+)")

_ASKED: Final = {"/chat": "talk", "/run": "run"}
"""The steps that the sample project's calls show, too: what goes by a response_url or to one person has no metadata."""


class FirstSteps:
    """Watches *slack*, and the sample *project* if it's used; each look continues where the last one ended.

    What was taken is stored in *folder*, because the workspace outlives its process, too.
    """

    def __init__(self, slack: EmulatedSlack, project: SampleProject | None, folder: Path | None = None) -> None:
        self._slack = slack
        self._project = project
        self._file = StateFile(folder, "first-steps.json")
        self._taken: set[str] = set((self._file.read() or {}).get("taken", ()))
        self._looked_at: dict[str, int] = {}
        self._process = ""

    def taken(self, parts: Sequence[PartStatus]) -> list[str]:
        """The names of the steps taken so far; *parts* are those behind the page."""
        before = set(self._taken)
        for delivery in self._new("deliveries", self._slack.deliveries):
            if _is_stop(delivery):
                self._taken.add("stop")
        for call in self._new("calls", self._slack.calls):
            self._taken |= set(_shown_by(call))
        for asked in self._new("project", self._project.calls if self._project else []):
            self._taken |= {step for end, step in _ASKED.items() if asked.path.endswith(end)}
        process = next(
            (match[1] for part in parts if part.name == "Bridge" and (match := _PROCESS.match(part.detail))), ""
        )
        if self._process and process and process != self._process:
            self._taken.add("kill")
        self._process = process or self._process
        if self._taken != before:
            self._file.write(lambda: {"taken": sorted(self._taken)})
        return sorted(self._taken)

    def _new(self, name: str, things: Sequence[T]) -> Sequence[T]:
        start = self._looked_at.get(name, 0)
        self._looked_at[name] = len(things)
        return things[start:]


def _is_stop(delivery: AppDelivery) -> bool:
    match delivery.payload if delivery.kind == "event" else None:
        case {"event": {"type": "agent_session_stopped"} | {"type": "reaction_added", "reaction": "x"}}:
            return True
        case {"event": {"type": "message" | "app_mention", "text": str() as text}}:
            return _STOP.fullmatch(text.strip()) is not None
    return False


def _shown_by(call: ApiCall) -> Iterator[str]:
    """The steps whose result a call of the app has shown."""
    metadata = call.args.get("metadata")
    if isinstance(metadata, str):
        metadata = json.loads(metadata) if call.is_ok else None
    match metadata if call.is_ok else None:
        case {"event_type": "bridge_turn", "event_payload": {"agent": _}}:
            yield "talk"
        case {"event_type": "bridge_run"}:
            yield "run"
    text = str(call.args.get("text") or "") if call.is_ok else ""
    if text.startswith("Scheduled: "):
        yield "report"
    if text.startswith("Alert set up: "):
        yield "alert"
