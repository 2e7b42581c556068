"""Stored alerts: a hash for each, and a sorted set by age (``alerts``).

The step that queues the message about an edge also changes the alert's state, if that's still as it was read. So
however many processes evaluate it, and whichever of them dies, each edge gets exactly one turn.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from bridge.engine.standing import Standing, size
from bridge.features.alerts.alert import COOLING, UNTIL_IT_RECOVERS, AlertSpec, StoredAlert
from bridge.features.record_store import RecordStore, erase_of
from bridge.queue.scripting import Scripts, epoch_ms
from bridge.queue.writes import Write, only_if

MOST_ALERTS: Final = 1000
"""How many alerts one bridge stores, about 500 bytes each."""


class AlertStore(RecordStore[StoredAlert]):
    """The alerts of one namespace, oldest first."""

    most = MOST_ALERTS

    def __init__(self, scripts: Scripts) -> None:
        super().__init__(scripts, scripts.keys.alerts(), scripts.keys.alert, StoredAlert.from_redis)

    def add(self, id_: str, spec: AlertSpec, now: datetime) -> tuple[Write, ...]:
        """Return the writes that store an alert."""
        key = self._keys.alert(id_)
        return (
            ("field", key, 0, "v", "1"),
            ("field", key, 0, "body", spec.model_dump_json()),
            ("rank", self._keys.alerts(), 0, id_, epoch_ms(now), 0),
        )

    def change(self, id_: str, spec: AlertSpec, *more: Write) -> tuple[Write, ...]:
        """Return the writes that give an alert another *spec*, and *more*, unless it's deleted; its state stays."""
        key = self._keys.alert(id_)
        body: Write = ("field", key, 0, "body", spec.model_dump_json())
        return only_if(key, {"v": "1"}, body, *self._unknown(key, ""), *more)

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
        return only_if(key, state, *self._unknown(key, ms, "1" if is_told else ""))

    def _unknown(self, key: str, since: str, told: str = "") -> tuple[Write, ...]:
        return (("field", key, 0, "unknown", since), ("field", key, 0, "told", told))

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


ALERTS: Final = Standing(
    noun="alert",
    plural="alerts",
    keys=("alert", "alerts"),
    count=size("alerts"),
    erase=lambda scripts, user: erase_of(AlertStore(scripts), scripts, user),
    paused=lambda deps: AlertStore(deps.scripts).paused(),
)
