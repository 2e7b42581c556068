"""The table and the lines of `bridge audit`: every outcome has words for people and for programs."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import bridge
from bridge import errors
from bridge.cli.audit import REFUSALS, RESULTS, for_programs, result, table, word
from bridge.cli.names import DisplayNames
from bridge.engine.command_line import MEANT
from bridge.errors import BridgeError
from bridge.features.registry import features
from bridge.queue.finished_turns import FinishedTurn
from bridge.queue.stops import StopResult
from support.store import CHANNEL, USER


async def lines_of(*entries: FinishedTurn, names: DisplayNames | None = None) -> list[str]:
    async def all_entries() -> AsyncIterator[FinishedTurn]:
        for entry in entries:
            yield entry

    return [line async for line in table(all_entries(), names or DisplayNames())]


def entry(**fields: str) -> FinishedTurn:
    return FinishedTurn.from_redis("1772625600123-0", {"user": USER, "channel": CHANNEL, **fields})


def test_every_failure_has_a_result_for_people() -> None:
    failures = {name for name, one in vars(errors).items() if isinstance(one, type) and issubclass(one, BridgeError)}

    assert failures - set(RESULTS) == set()
    for outcome in RESULTS:
        act = FinishedTurn.from_redis("1772625600123-0", {"outcome": outcome})
        assert not re.search(r"[a-z][A-Z]", result(act).replace("JSON", ""))
        assert re.fullmatch(r"[a-z][a-z0-9_]*", word(act))


def test_every_button_and_outcome_has_words_for_people() -> None:
    outcomes = {f"stop: {one}" for one in StopResult}
    for path in Path(bridge.__file__).parent.rglob("*.py"):
        outcomes.update(re.findall(r'\bwhat(?:=|, reply = )"(\w+)"', path.read_text(encoding="utf-8")))

    assert [action_id for action_id in MEANT if f"click {action_id}" not in features.labels] == []
    assert [one for one in outcomes - set(RESULTS) - set(REFUSALS) if re.search(r"[^a-z ]", one)] == []


def test_a_dead_letters_outcome_is_one_word_for_programs() -> None:
    act = FinishedTurn.from_redis("1772625600123-0", {"outcome": "dead: Slack: is_archived"})

    assert (result(act), word(act)) == ("couldn't be finished (Slack: is_archived)", "dead")


async def test_each_audit_entry_is_one_line() -> None:
    act = entry(did="do \x1b[2J\n", allowed="0", outcome="user", of_tomorrow="x")

    title, line = await lines_of(act)

    assert line == "2026-03-04T12:00:00Z  U0ALICE  C0GENERAL  do ?[2J?      refused: not in BRIDGE_ALLOWED_USERS"
    assert line.index(USER) == title.index("who")
    assert json.loads(for_programs(act))["ended_at"] == "2026-03-04T12:00:00.123000+00:00"
    assert "\n" not in for_programs(act)


@pytest.mark.parametrize(
    ("about", "shown"),
    [
        ("agent 7", "agent Support (7)"),
        ("agent 7 Old name", "agent Old name (7)"),
        ("agent 9", "agent 9"),
        ("agent none", "no agent"),
        ("workflow 3 Import", "workflow Import (3)"),
        ("workflow 3", "workflow 3"),
        ("report Ab1 every day at 09:00 (UTC)", "report every day at 09:00 (UTC)"),
        ("answers mentions, replies all", "answers mentions, replies all"),
    ],
)
async def test_the_table_shows_names_and_plain_words(about: str, shown: str) -> None:
    names = DisplayNames(slack={USER: "Ada", CHANNEL: "ops"}, agents={7: "Support"})

    _, line = await lines_of(entry(did="click run:again", about=about, outcome="stop: nothing"), names=names)

    assert re.split(r"  +", line)[1:] == [
        f"Ada ({USER})",
        f"#ops ({CHANNEL})",
        "button: Run again",
        shown,
        "nothing to stop",
    ]


async def test_a_long_table_has_one_line_of_titles() -> None:
    lines = await lines_of(*(entry(did="message", outcome="answered") for _ in range(1001)))

    assert len(lines) == 1002
    assert len({line.split("  ")[0] for line in lines}) == 2
