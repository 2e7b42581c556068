"""Exports and imports of what people set up, of all kinds with a store (`bridge export`, `bridge import`)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from bridge.engine.standing import ExportedLine, Portable, check_fields
from bridge.errors import ConfigurationError, RecordNotUnderstood
from bridge.features.standing.kind import Kind
from bridge.features.standing.store import R
from bridge.queue.scripting import Scripts, from_epoch_ms

_IDS: Final = {"team": "[TE]", "channel": "[CGDUW]", "owner": "[UW]"}


Item = tuple[R, ExportedLine]


def portable(kind: Kind[R]) -> Portable[Item[R]]:
    """Return how things of a *kind* are exported and imported."""

    async def lines(scripts: Scripts) -> list[ExportedLine]:
        noun, store = kind.nouns[0].word, kind.store(scripts)
        return [
            ExportedLine(kind=noun, id=record.id, added=added, spec=record.spec.model_dump(mode="json"), state=state)
            for record, added, state in await store.in_full()
            if kind.is_readable(record)
        ]

    def read(line: ExportedLine) -> Item[R]:
        spec = kind.from_export(line.spec)
        for name, letters in _IDS.items():
            if not re.fullmatch(rf"{letters}[A-Z0-9]{{2,30}}", getattr(spec, name), re.ASCII):
                raise ValueError(f"{name} isn't valid: use one such as {letters[1]}0123456789")
        check_fields(line.spec, spec.model_dump(mode="json"))
        id_ = line.id or hashlib.sha256(repr(spec.identity).encode()).hexdigest()[:16]
        try:
            record: R = kind.store.record(id_, spec, line.state)
        except RecordNotUnderstood:
            raise ValueError("state can't be read") from None
        if record.spec != spec:
            raise ValueError("state has a spec: it's beside it")
        return record, line

    async def written(scripts: Scripts, items: Sequence[Item[R]], now: datetime) -> int:
        store, count = kind.store(scripts), 0
        stored = {record.id: record for record in await store.all()}
        for record, line in items:
            if record.id in stored or any(one.spec.identity == record.spec.identity for one in stored.values()):
                continue
            if len(stored) >= store.most:
                raise ConfigurationError([f"A bridge stores at most {store.most:,} {kind.plural}: remove some first"])
            added = from_epoch_ms(line.added) if line.added else now
            await scripts.run("write", store.restore(record, line.state, added, now), confirmed=True)
            stored[record.id], count = record, count + 1
        return count

    return Portable(lines, read, written)
