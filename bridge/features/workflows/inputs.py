"""What a person typed into a workflow's form, while they want it to be remembered there."""

from __future__ import annotations

import json
from dataclasses import dataclass

from bridge.ids import InProject, PersonKey
from bridge.queue.keys import REMEMBERED, milliseconds
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts


@dataclass(frozen=True, slots=True)
class Remembered:
    """A workflow's input as a person *typed* it into the form, and its *kind*."""

    kind: str
    typed: str


class RememberedInputs:
    """Reads and writes them. Methods may raise `StoreUnavailable`; an unreadable one counts as none."""

    def __init__(self, scripts: Scripts) -> None:
        self._redis = scripts.redis
        self._keys = scripts.keys

    async def get(self, person: PersonKey, workflow: InProject) -> Remembered | None:
        """Return a person's remembered input for a workflow."""
        with translated():
            text = await self._redis.get(self._keys.input(person, workflow))
        try:
            found = json.loads(text or "null")
        except ValueError:
            return None
        match found:
            case {"kind": str() as kind, "typed": str() as typed}:
                return Remembered(kind, typed)
        return None

    async def remember(self, person: PersonKey, workflow: InProject, remembered: Remembered | None) -> None:
        """Store a person's input for a month, or delete it with None."""
        key = self._keys.input(person, workflow)
        with translated():
            if remembered is None:
                await self._redis.delete(key)
                return
            value = json.dumps({"kind": remembered.kind, "typed": remembered.typed})
            await self._redis.set(key, value, px=milliseconds(REMEMBERED))
