"""Stored alerts: a hash for each, and a sorted set by age (``alerts``).

The step that queues the message about an edge also changes the alert's state, if that's still as it was read. So
however many processes evaluate it, and whichever of them dies, each edge gets exactly one turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from bridge.features.alerts.alert import COOLING, UNTIL_IT_RECOVERS, StoredAlert
from bridge.features.standing.store import SetUpStore
from bridge.queue.scripting import epoch_ms
from bridge.queue.writes import Write, only_if

MOST_ALERTS: Final = 1000
"""How many alerts one bridge stores, about 500 bytes each."""


class AlertStore(SetUpStore[StoredAlert]):
    """The alerts of one namespace, oldest first; with another spec, it's not unknown whether it holds."""

    listed, stored = "alerts", "alert"
    most = MOST_ALERTS
    anew = ("unknown", "told")

    @classmethod
    def parse(cls, id_: str, fields: Mapping[str, str]) -> StoredAlert:
        """Parse a record's hash. Raises `RecordNotUnderstood`."""
        return StoredAlert.from_redis(id_, fields)

    def begins(self, alert: StoredAlert, at: datetime) -> tuple[Write, ...]:
        """Return the writes that record that the condition holds since *at*, unless it was known or changed."""
        key, state = self._keys.alert(alert.id), {"v": "1", "since": "", "snoozed": alert.snoozed, "paused": ""}
        return only_if(key, state, ("field", key, 0, "since", str(epoch_ms(at))), ("field", key, 0, "post", ""))

    def ends(self, alert: StoredAlert, at: datetime) -> tuple[Write, ...]:
        """Return the writes that record that the condition no longer holds, unless that was known or changed."""
        key, since = self._keys.alert(alert.id), str(epoch_ms(alert.since)) if alert.since else ""
        return only_if(
            key,
            {"v": "1", "since": since, "post": alert.post, "paused": ""},
            ("field", key, 0, "since", ""),
            ("field", key, 0, "quiet", str(epoch_ms(at + COOLING))),
            *(self.wakes(alert) if alert.snoozed == UNTIL_IT_RECOVERS else ()),
        )

    def unknown(self, alert: StoredAlert, since: datetime | None, *, is_told: bool = False) -> tuple[Write, ...]:
        """Return the writes that record since when it's unknown whether the condition holds, and if people know."""
        key, was, ms = self._keys.alert(alert.id), alert.unknown, str(epoch_ms(since)) if since else ""
        state = {"v": "1", "unknown": str(epoch_ms(was)) if was else "", "told": "1" if alert.is_told else ""}
        told: Write = ("field", key, 0, "told", "1" if is_told else "")
        return only_if(key, state, ("field", key, 0, "unknown", ms), told)

    def wakes(self, alert: StoredAlert) -> tuple[Write, ...]:
        """Return the writes that end a snooze."""
        key = self._keys.alert(alert.id)
        return only_if(key, {"v": "1", "snoozed": alert.snoozed}, ("field", key, 0, "snoozed", ""))

    def posted(self, id_: str, since: datetime, ts: str, *more: Write) -> tuple[Write, ...]:
        """Return the writes for the message *ts* about a condition that holds *since* then, and *more*."""
        key = self._keys.alert(id_)
        state = {"v": "1", "since": str(epoch_ms(since)), "post": ""}
        return only_if(key, state, ("field", key, 0, "post", ts), *more)

    def snooze(self, id_: str, until: str) -> tuple[Write, ...]:
        """Return the writes that snooze an alert *until* a time (ms), until it ``recovers``, or no longer (``""``)."""
        key = self._keys.alert(id_)
        return only_if(key, {"v": "1"}, ("field", key, 0, "snoozed", until))
