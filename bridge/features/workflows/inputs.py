"""What a person typed into a workflow's form, while they want it to be remembered there."""

from __future__ import annotations

from contextlib import suppress

from pydantic import BaseModel, ValidationError

from bridge.ids import InProject, PersonKey
from bridge.queue.keys import REMEMBERED, milliseconds
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts


class Remembered(BaseModel, frozen=True):
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
        with suppress(ValidationError):
            return Remembered.model_validate_json(text) if text else None
        return None

    async def remember(self, person: PersonKey, workflow: InProject, remembered: Remembered | None) -> None:
        """Store a person's input for a month, or delete it with None."""
        key = self._keys.input(person, workflow)
        with translated():
            if remembered is None:
                await self._redis.delete(key)
                return
            await self._redis.set(key, remembered.model_dump_json(), px=milliseconds(REMEMBERED))
