"""What incidents are found, and their messages."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from bridge.features.episodes.episode import Finding
from bridge.features.incidents.conditions import Facts, Service, findings
from bridge.features.incidents.incident import PAST_FOR, Troubles, from_text, merged, to_text
from bridge.features.incidents.kinds import KINDS
from bridge.features.incidents.layout import on, over
from bridge.queue.redis.condition import RedisCondition
from support.store import START
from support.tables import each
from surface.test_check import HEALTHY

DOCS = Path(__file__).parents[2] / "docs"
MINUTE = timedelta(minutes=1)
NOW = START + timedelta(hours=2)
FOUND = Finding("dead", START, "1 dead letter", "1")


def test_the_same_finding_of_two_processes_is_one() -> None:
    later = FOUND._replace(since=START + MINUTE)
    over = FOUND._replace(since=START - MINUTE, ended=START)

    assert merged([later, FOUND]) == {"dead": FOUND}
    assert merged([later, over, FOUND])["dead"] == FOUND._replace(since=START - MINUTE)
    assert merged([over, over._replace(ended=NOW)])["dead"].ended == NOW


def test_a_process_remembers_since_when() -> None:
    wrong = {"token": "revoked"}
    troubles = Troubles(lambda: wrong)

    first, later = troubles.now(START), troubles.now(NOW)
    assert first == later == [Finding("token", START, "revoked", "revoked")]
    wrong.clear()
    assert troubles.now(NOW) == [Finding("token", START, "revoked", "revoked", ended=NOW)], "one might have missed it"
    assert troubles.now(NOW + PAST_FOR) == []
    wrong["token"] = "again"
    assert troubles.now(NOW + PAST_FOR) == [Finding("token", NOW + PAST_FOR, "again", "again")]


def test_an_outage_of_redis_is_reported_when_over() -> None:
    troubles = Troubles(dict)
    for _ in range(2):
        troubles.unavailable(START, "full")

    assert troubles.now(START) == []
    troubles.available(NOW)

    assert troubles.now(NOW) == [Finding("store", START, "full", ended=NOW)]
    assert troubles.now(NOW + PAST_FOR) == []


def test_a_short_outage_of_redis_is_no_incident() -> None:
    troubles = Troubles(dict)
    troubles.unavailable(START, "away")
    troubles.available(START + MINUTE / 2)

    assert troubles.now(NOW) == []


def test_findings_survive_their_stored_form() -> None:
    findings = [Finding("token", START, "x", "x"), Finding("store", START, "full", "full", ended=NOW)]

    assert from_text(to_text(findings)) == findings
    assert from_text(None) == from_text("{") == from_text('{"a": 1}') == from_text("[[1]]") == []


FULL = replace(HEALTHY, maxmemory=100)


@each(
    ("condition", "had_replicas", "kinds"),
    [
        (HEALTHY, True, set()),
        (replace(HEALTHY, replicas=0, confirming=0), False, set()),
        (replace(HEALTHY, is_append_only=False), False, {"persistence"}),
        (replace(HEALTHY, can_write=False), False, {"persistence"}),
        (replace(FULL, memory=95), False, {"memory"}),
        (replace(FULL, policy="allkeys-lru"), False, {"memory"}),
        (replace(FULL, memory=50), False, set()),
        (replace(HEALTHY, confirming=0), True, {"replicas"}),
        (replace(HEALTHY, replicas=0, confirming=0), True, {"replicas"}),
    ],
)  # fmt: skip
def test_what_is_wrong_with_redis_is_found(condition: RedisCondition, had_replicas: bool, kinds: set[str]) -> None:  # noqa: FBT001
    facts = Facts(now=NOW, redis=condition, had_replicas=had_replicas)

    assert {finding.kind for finding in findings(facts)} == kinds


def test_each_condition_finds_its_kinds() -> None:
    broken = replace(FULL, is_append_only=False, memory=95, confirming=0)
    service = Service(project="", down_since=START, rejects_key=True, unusable=["agents: no list"])
    wrong = Facts(
        now=NOW, reported=[Finding("socket", START)], problems=[["x isn't a setting"]], redis=broken, dead=1,
        dead_since=START, paused="1 alert", oldest=START, services=[service],
    )  # fmt: skip

    kinds = [finding.kind for finding in findings(wrong)]
    of_redis = ["persistence", "memory", "replicas"]
    assert kinds == ["socket", "reload", *of_redis, "dead", "paused", "oldest", "down", "rows"]
    assert set(kinds) <= set(KINDS)
    assert findings(Facts(now=NOW, redis=HEALTHY, services=[Service(project="", unusable=())])) == []


def test_a_refused_file_is_said_to_leave_the_earlier_one() -> None:
    assert on("reload", "bridge.toml rules[1].ma isn't a setting", START).text == (
        "⚠️ bridge.toml was refused; the earlier one stays in use: bridge.toml rules[1].ma isn't a setting."
    )


@each("kind", [*KINDS, "of a later version"])
def test_an_incident_names_the_command_and_the_page(kind: str) -> None:
    shown = on(kind, "said", START)

    assert shown.text.startswith("⚠️")
    assert kind not in KINDS or (KINDS[kind].command in str(shown.blocks) and KINDS[kind].page in str(shown.blocks))


@each("kind", KINDS)
def test_an_incidents_page_is_in_the_documentation(kind: str) -> None:
    title, _, section = KINDS[kind].page.partition(" → ")
    pages = [path.read_text(encoding="utf-8") for path in DOCS.rglob("*.md")]

    [page] = [text for text in pages if text.startswith(f"# {title}\n")]
    assert not section or f"\n## {section}\n" in page


@each("kind", KINDS)
def test_an_incidents_end_begins_with_what_is_over(kind: str) -> None:
    shown = over(kind, "said", START, NOW)
    several = over(kind, "", START, NOW, "Data")

    assert re.fullmatch(
        r"✅ Over: \S.* (was|were|couldn't|didn't|had|lacked|might|rejected|sent) .*, for 2 h\.", shown.text
    )
    assert several.text == shown.text.replace(", for 2 h", " (Data), for 2 h")
