"""What a person typed into a workflow's form, while they want it to be remembered there."""

from __future__ import annotations

from contextlib import suppress

from pydantic import BaseModel, ValidationError

from bridge.ids import InProject, PersonKey
from bridge.queue.keys import REMEMBERED, milliseconds
from bridge.queue.scripting import Scripts


class Remembered(BaseModel, frozen=True):
    """A workflow's input as a person *typed* it into the form, and its *kind*."""

    kind: str
    typed: str


async def remembered_input(scripts: Scripts, person: PersonKey, workflow: InProject) -> Remembered | None:
    """Return a person's remembered input for a workflow; None if it's unreadable. Raises `StoreUnavailable`."""
    text = await scripts.redis.get(scripts.keys.input(person, workflow))
    with suppress(ValidationError):
        return Remembered.model_validate_json(text) if text else None
    return None


async def remember(scripts: Scripts, person: PersonKey, workflow: InProject, remembered: Remembered | None) -> None:
    """Store a person's input for a month, or delete it with None. Raises `StoreUnavailable`."""
    key = scripts.keys.input(person, workflow)
    if remembered is None:
        await scripts.redis.delete(key)
    else:
        await scripts.redis.set(key, remembered.model_dump_json(), px=milliseconds(REMEMBERED))
