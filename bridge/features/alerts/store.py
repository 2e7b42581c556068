"""Stored alerts: a hash for each, and a sorted set by age (``alerts``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bridge.errors import BadAlert, RecordNotUnderstood
from bridge.features.alerts.alert import UNREADABLE, AlertSpec, StoredAlert
from bridge.features.alerts.conditions import read_condition
from bridge.features.standing.store import SetUpStore
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
        """Parse the ``alert:`` hash. Raises `RecordNotUnderstood`."""
        try:
            spec, state = AlertSpec.model_validate_json(fields["body"]), StoredAlert.read(fields)
        except (KeyError, ValueError) as exc:
            raise RecordNotUnderstood("alert") from exc
        try:
            read_condition(spec.condition)
            paused = fields.get("paused", "")
        except BadAlert:
            paused = UNREADABLE
        return StoredAlert(id_, spec, paused, is_gone=bool(fields.get("gone")), **state)

    def snooze(self, id_: str, until: str) -> tuple[Write, ...]:
        """Return the writes that snooze an alert *until* a time (ms), until it ``recovers``, or no longer (``""``)."""
        key = self._keys.alert(id_)
        return only_if(key, {"v": "1"}, ("field", key, 0, "snoozed", until))
