"""What changes an episode, as a table: an incident, and an alert."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from bridge.features.alerts.alert import COOLING, AlertSpec, StoredAlert
from bridge.features.alerts.store import AlertStore
from bridge.features.episodes.episode import (
    CHANGES_EVERY,
    TRIES_EVERY,
    UNKNOWN_FOR,
    UNTIL_IT_RECOVERS,
    Episode,
    Finding,
    step,
)
from bridge.features.incidents.incident import StoredIncident
from bridge.features.incidents.watching import IncidentStore
from bridge.queue.scripting import epoch_ms
from support.store import START
from support.tables import each

MINUTE = timedelta(minutes=1)
NOW = START + timedelta(hours=2)
FOUND = Finding("dead", START, "1 dead letter", "1")
MORE = FOUND._replace(detail="2 dead letters", sign="2")
PAST = Finding("store", START, "full", ended=START + MINUTE)
HOLDS = Finding("alert", NOW)
UNPOSTED = StoredAlert.unposted


def ms(moment: datetime) -> str:
    return str(epoch_ms(moment))


def incident(**fields: str) -> StoredIncident:
    known = {"since": ms(START), "sign": "1", "channel": "C1", "post": "1.0", "changed": ms(START)}
    return IncidentStore.parse("dead", {**known, **fields})


def alert(**fields: str) -> StoredAlert:
    return AlertStore.parse("a1", {"v": "1", "body": AlertSpec(condition="runs > 5").model_dump_json(), **fields})


def on(**fields: str) -> StoredAlert:
    return alert(**{"since": ms(START), "post": "1.2", **fields})


@each(
    ("before", "found", "does"),
    [
        (StoredIncident(id="dead"), None, None),
        (StoredIncident(id="dead"), FOUND, "begins"),
        (StoredIncident(id="dead"), PAST, "begins"),
        (incident(), FOUND, None),
        (incident(), MORE, "changes"),
        (incident(changed=ms(NOW - CHANGES_EVERY / 2)), MORE, None),
        (incident(post=""), MORE, None),
        (incident(), None, "ends"),
        (incident(), PAST, "ends"),
        (incident(post=""), None, "ended"),
        (incident(post="", ended=ms(NOW)), None, None),
        (incident(post="", ended=ms(NOW)), FOUND, "ended"),
        (incident(ended=ms(NOW)), None, "ends"),
        (incident(ended=ms(NOW), closed="1"), None, None),
        (incident(ended=ms(NOW), closed="1"), FOUND, "again"),
        (incident(ended=ms(NOW), closed="1"), PAST, None),
        (incident(ended=ms(START - MINUTE), closed="1"), PAST, "again"),
        (incident(post="", refused=ms(NOW - TRIES_EVERY / 2)), FOUND, None),
        (incident(post="", refused=ms(NOW - TRIES_EVERY)), FOUND, "begins"),
        (alert(), HOLDS, "begins"),
        (alert(), None, None),
        (on(), HOLDS, None),
        (on(), None, "ends"),
        (on(post="", since=ms(NOW - UNPOSTED / 2)), None, None),  # its post is on its way
        (on(post="", since=ms(NOW - UNPOSTED)), None, "quiet since"),
        (alert(quiet=ms(NOW + MINUTE)), HOLDS, None),
        (alert(quiet=ms(NOW)), HOLDS, "begins"),
        (alert(snoozed=ms(NOW + MINUTE)), HOLDS, None),
        (alert(snoozed=ms(NOW)), HOLDS, "begins"),
        (on(snoozed=ms(NOW + MINUTE)), None, "ends"),
        (alert(snoozed=UNTIL_IT_RECOVERS), HOLDS, None),
        (alert(snoozed=UNTIL_IT_RECOVERS), None, "snoozed"),
        (on(snoozed=UNTIL_IT_RECOVERS), None, "ends"),
        (alert(), "unknown", "unknown"),
        (on(unknown=ms(NOW - UNKNOWN_FOR / 2)), "unknown", None),
        (on(unknown=ms(NOW - UNKNOWN_FOR)), "unknown", "unknown"),
        (on(unknown=ms(NOW - UNKNOWN_FOR), told="1"), "unknown", None),
        (on(unknown=ms(NOW - UNKNOWN_FOR), snoozed=UNTIL_IT_RECOVERS), "unknown", None),
        (on(unknown=ms(NOW - UNKNOWN_FOR), told="1"), HOLDS, "told unknown"),
        (on(unknown=ms(NOW - UNKNOWN_FOR)), None, "ends"),
    ],
)  # fmt: skip
def test_an_episode_changes_by_what_is_found(before: Episode, found: Finding | None, does: str | None) -> None:
    """Without a message, it *does* change these fields."""
    changes = step(before, found, NOW)

    assert (changes and (changes.does or " ".join(sorted(changes.fields)))) == does


@pytest.mark.parametrize(
    ("before", "found", "fields"),
    [
        (incident(), PAST, {"ended": ms(START + MINUTE), "closed": "1"}),
        (on(snoozed=UNTIL_IT_RECOVERS), None, {"since": "", "quiet": ms(NOW + COOLING), "snoozed": ""}),
    ],
)
def test_an_end_is_stored_with_its_time(before: Episode, found: Finding | None, fields: dict[str, str]) -> None:
    changes = step(before, found, NOW)

    assert changes is not None
    assert changes.fields == fields
