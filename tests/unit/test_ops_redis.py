"""What a check makes of what Redis says of itself."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bridge.ops.redis_rows import rows_of
from bridge.ops.rows import State
from bridge.queue.redis.condition import Condition
from bridge.slack.api import Identity

US = Identity("T1", "", "UBOT", "B1")
GOOD = Condition(
    product="Redis",
    version=(7, 0, 15),
    is_replica=False,
    is_append_only=True,
    appendfsync="always",
    syncs_in_rewrites=True,
    can_write=True,
    policy="noeviction",
    maxmemory=0,
    replicas=1,
    confirming=1,
    owner=("T1", "UBOT"),
    round_trip=0.0004,
)


def test_a_good_server_is_well_in_every_row() -> None:
    rows = rows_of(GOOD, "bridge", US)

    assert {row.state for row in rows} == {State.OK}
    assert {row.what: row.detail for row in rows} == {
        "reachable": "a round trip takes 0.4 ms",
        "version": "Redis 7.0.15",
        "persistence": "append-only file, synced with every write",
        "maxmemory-policy": "noeviction",
        "replicas": "1; important steps wait until one of them has them",
        "namespace": "bridge belongs to bot UBOT of workspace T1: ours",
    }


@pytest.mark.parametrize(
    ("change", "what", "state", "says"),
    [
        ({"is_replica": True}, "reachable", State.FAILURE, "takes no writes"),
        ({"round_trip": 0.025}, "reachable", State.WARNING, "25.0 ms"),
        ({"version": (6, 0, 16)}, "version", State.FAILURE, "Redis 6.0.16"),
        ({"version": (6, 2)}, "version", State.OK, "Redis 6.2"),
        ({"version": (10, 0, 0)}, "version", State.OK, "Redis 10.0.0"),
        ({"product": "Valkey", "version": (8, 1, 0)}, "version", State.OK, "Valkey 8.1.0"),
        ({"version": ()}, "version", State.FAILURE, "of unknown version"),
        ({"is_append_only": False}, "persistence", State.WARNING, "no append-only file"),
        ({"appendfsync": "no"}, "persistence", State.WARNING, "half a minute"),
        ({"appendfsync": "everysec"}, "persistence", State.WARNING, "a kill of Redis on a busy disk the last two"),
        ({"syncs_in_rewrites": False}, "persistence", State.WARNING, "except while it is rewritten"),
        ({"can_write": False}, "persistence", State.FAILURE, "couldn't write"),
        ({"appendfsync": ""}, "persistence", State.OK, "not told"),
        ({"policy": "allkeys-lru"}, "maxmemory-policy", State.WARNING, "harmless as long as no maxmemory"),
        ({"policy": "volatile-ttl", "maxmemory": 1}, "maxmemory-policy", State.FAILURE, "throws sessions"),
        ({"policy": "noeviction", "maxmemory": 1}, "maxmemory-policy", State.OK, "noeviction"),
        ({"replicas": 0, "confirming": 0}, "replicas", State.OK, "none"),
        ({"confirming": 0}, "replicas", State.WARNING, "none confirms"),
        ({"owner": None}, "namespace", State.OK, "is free"),
        ({"owner": ("T1", "UOTHER")}, "namespace", State.FAILURE, "bot UOTHER of workspace T1, not to this one"),
        ({"owner": ("T2", "UBOT")}, "namespace", State.FAILURE, "of workspace T2, not to this one"),
    ],
)
def test_each_thing_is_judged_by_itself(change: dict[str, Any], what: str, state: State, says: str) -> None:
    rows = {row.what: row for row in rows_of(replace(GOOD, **change), "bridge", US)}

    assert rows[what].state is state
    assert says in rows[what].detail
    assert bool(rows[what].cure) is (state is not State.OK)
    assert {row.state for name, row in rows.items() if name != what} == {State.OK}


def test_whose_namespace_it_is_stays_open_while_slack_cannot_say_who_we_are() -> None:
    namespace = rows_of(GOOD, "bridge", None)[-1]

    assert namespace.state is State.WARNING
    assert "belongs to bot UBOT" in namespace.detail
