"""Alerts as a list, which `bridge reports` prints and sets again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime

from pydantic import Field, field_validator

from bridge.errors import BadAlert, ConfigurationError
from bridge.features.alerts.alert import UNREADABLE, AlertSpec, StoredAlert
from bridge.features.alerts.conditions import read_condition
from bridge.features.alerts.store import MOST_ALERTS, AlertStore
from bridge.queue.scripting import Scripts


class ListedAlert(AlertSpec, frozen=True, extra="forbid"):
    """An alert; without an *id*, it gets one. *paused* is the reason."""

    id: str = Field(default="", pattern=r"^[\w-]{0,64}$")
    paused: str = ""

    @field_validator("condition")
    @classmethod
    def _can_be_read(cls, condition: str) -> str:
        try:
            return read_condition(condition).words
        except BadAlert:
            raise ValueError("can't be understood: use one such as runs < 1 in 24h") from None

    @property
    def spec(self) -> AlertSpec:
        """The alert as it's stored."""
        return AlertSpec.model_validate(self.model_dump(exclude={"id", "paused"}))


async def read_alerts(scripts: Scripts) -> list[ListedAlert]:
    """List what's stored and can be set again. Raises `StoreUnavailable`."""
    stored = [one for one in await AlertStore(scripts).all() if one.paused != UNREADABLE]
    return [ListedAlert(**one.spec.model_dump(), id=one.id, paused=one.paused) for one in stored]


async def write_alerts(scripts: Scripts, alerts: Sequence[ListedAlert], now: datetime) -> int:
    """Set the *alerts*; others stay. Repeatable; returns how many weren't as listed.

    The same alert isn't added twice. Raises `ConfigurationError` if there are too many, and `StoreUnavailable`.
    """
    store, written = AlertStore(scripts), 0
    stored = {one.id: one for one in await store.all()}
    for one in alerts:
        id_ = one.id or hashlib.sha256(one.spec.model_dump_json().encode()).hexdigest()[:16]
        known = stored.get(id_)
        if (known and (known.spec, known.paused) == (one.spec, one.paused)) or (
            not known and any(other.spec.identity == one.spec.identity for other in stored.values())
        ):
            continue
        if known is None and len(stored) + written >= MOST_ALERTS:
            raise ConfigurationError([f"A bridge stores at most {MOST_ALERTS:,} alerts: remove some from the list"])
        writes = [
            *store.add(StoredAlert(id_, one.spec), now),
            ("field", scripts.keys.alert(id_), 0, "paused", one.paused),
        ]
        await scripts.run("write", json.dumps(writes), confirmed=True)
        written += 1
    return written
