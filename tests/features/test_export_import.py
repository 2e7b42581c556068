"""`bridge export` and `bridge import`: everything that people have set up."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest

from bridge.cli.export import print_all, read
from bridge.errors import ConfigurationError
from bridge.features.agents.handles import Handle
from bridge.features.channels.settings import AppRule, ChannelSettings
from bridge.features.registry import features
from bridge.features.schedules.schedule import QuestionSpec
from bridge.playground.emulator.sample import BOB, GENERAL, RANDOM
from support.harness import SUPPORT, WORKFLOW, Harness
from support.store import TEAM
from support.tables import each

HEADING = {"bridge": "export", "v": 1, "team": TEAM}
SCHEDULE = {"team": TEAM, "channel": GENERAL, "owner": BOB, "zone": "Europe/Berlin"}
REPORT = {**SCHEDULE, "schedule": "every monday at 9"}
QUESTION = {**REPORT, "task": "question", "agent": 7, "text": "What changed?"}
RUN = {**REPORT, "task": "run", "workflow": 3, "input": {"day": "monday"}}
ALERT = {"condition": "runs < 1 in 24h", "team": TEAM, "channel": GENERAL, "owner": BOB}

HANDLE = {"agent": 7, "handle": "support", "owner": BOB, "team": TEAM}


def text_of(*lines: dict[str, Any]) -> str:
    return "\n".join(json.dumps(line) for line in (HEADING, *lines))


async def exported(harness: Harness) -> str:
    with redirect_stdout(StringIO()) as printed:
        await print_all(harness.store.scripts)
    return printed.getvalue()


async def imported(harness: Harness, text: str) -> dict[str, int]:
    """Import *text*; return how much of each kind was new."""
    count = {}
    for kind, items in read(text, TEAM).items():
        assert kind.portable is not None
        count[kind.noun] = await kind.portable.written(harness.store.scripts, items, harness.store.clock())
    return {noun: number for noun, number in count.items() if number}


async def seen(harness: Harness) -> list[Any]:
    """Return what Bob sees of what's set up: the lists, and Home."""
    shown = []
    for line in ("/schedules", "/stats reports", "/stats alerts", "/agents channel"):
        await harness.type_command(line, BOB)
        shown.append(harness.slack.responses[-1].content["blocks"])
    await harness.slack.people.open_home(BOB)
    await harness.work()
    home = harness.slack.home(BOB)
    assert home is not None
    sections: dict[str, list[Any]] = {}
    for block in home.content["blocks"]:
        if block["type"] == "header":
            section = sections.setdefault(block["text"]["text"], [])
        elif sections:
            section.append({name: part for name, part in block.items() if name != "block_id"})  # Slack's, at random
    return [*shown, sections["Your schedules"], sections["Your alerts"]]


async def set_up_all(harness: Harness) -> None:
    """Set up something of each kind, and let some of it happen."""
    harness.service.agents, harness.service.workflows = [SUPPORT], [WORKFLOW]
    for line in (
        "/stats report weekdays 09:00 berlin --only runs,tags",
        '/agents ask Support monthly 31 8am berlin "What about {{stats}}?" --continue',
        '/workflows schedule 3 daily 9 berlin {"day": "{{date}}"} --overlap wait',
        "/stats alert runs > 5000",
        '/stats alert runs < 1 in 24h then run "Import"',
    ):
        await harness.type_command(line, BOB)
        if "alert" in line:
            await harness.press("alert:save", user=BOB)
    await harness.at(harness.store.clock() + timedelta(days=1))
    apps = {
        "A0JIRA": AppRule(workflow=3, name="Jira", owner=BOB),
        "A0JIRA sprint": AppRule(ignores=True, name="Sprint"),
    }
    for channel, settings in ((GENERAL, ChannelSettings(agent=7)), (RANDOM, ChannelSettings(answers="all", apps=apps))):
        stored = await harness.store.channels.stored(TEAM, channel)
        assert await harness.store.channels.replace(TEAM, channel, stored, settings)
    handle = Handle(agent=7, handle="support", owner=BOB, team=TEAM)
    await harness.store.redis.hset(harness.store.scripts.keys.handles(), "S0SUPPORT", handle.model_dump_json())


async def test_an_import_into_an_empty_store_gives_the_same_lists_home_and_next_times(harness: Harness) -> None:
    await set_up_all(harness)
    before, text = await seen(harness), await exported(harness)
    due = {one.id: one.due for one in await harness.report_store().all()}

    await harness.store.redis.flushall()
    harness.configure()  # a new process
    await harness.store.namespace.hold()
    new = await imported(harness, text)

    assert new == {"schedule": 3, "alert": 2, "channel with settings": 2, "handle": 1}
    assert {one.id: one.due for one in await harness.report_store().all()} == due
    assert await seen(harness) == before
    assert await exported(harness) == text
    assert await imported(harness, text) == {}
    assert await exported(harness) == text


async def test_everything_that_people_set_up_is_exported_or_said_not_to_be(harness: Harness) -> None:
    await set_up_all(harness)
    for kind in features.standing:
        await harness.type_command(kind.example or "/schedules", BOB)

    kinds = {json.loads(line).get("kind") for line in (await exported(harness)).splitlines()} - {None}

    assert kinds == {kind.noun for kind in features.standing if kind.portable}


async def test_no_character_is_lost_in_an_export(harness: Harness) -> None:
    text = "What did 👩‍💻 do? שלום\u200f! 日本\u3000語 \x7f\u2028\x85"
    await imported(harness, text_of({"kind": "schedule", "spec": {**QUESTION, "text": text}}))
    printed = await exported(harness)
    await harness.store.redis.flushall()
    await harness.store.namespace.hold()

    await imported(harness, printed)

    (question,) = await harness.report_store().all()
    assert isinstance(question.spec, QuestionSpec)
    assert question.spec.text == text


async def test_what_was_set_up_again_is_not_doubled(harness: Harness) -> None:
    await harness.type_command("/stats report weekly mon 09:00 berlin", BOB)
    text = await exported(harness)
    await harness.store.redis.flushall()
    await harness.store.namespace.hold()
    await harness.type_command("/stats report weekly mon 09:00 berlin", BOB)

    assert await imported(harness, text) == {}


async def test_what_was_changed_since_the_export_stays(harness: Harness) -> None:
    await set_up_all(harness)
    before = await exported(harness)
    changed = before.replace("stats}}?", "stats}} now?").replace("runs > 5000", "runs > 50").replace("daily", "hourly")
    changed = changed.replace('"answers": "all"', '"answers": "mentions", "replies": "all"')
    changed = changed.replace('"handle": "support"', '"handle": "helpers"').replace('"paused": ""', '"paused": "asked"')
    await harness.store.redis.flushall()
    harness.configure()  # a new process
    await harness.store.namespace.hold()
    await imported(harness, changed)
    stored = await exported(harness)

    assert await imported(harness, before) == {}
    assert await exported(harness) == stored != before


async def test_a_text_may_have_the_line_breaks_that_json_does_not_escape(harness: Harness) -> None:
    spec = {**QUESTION, "text": "What\u2028changed\x85?"}
    line = json.dumps({"kind": "schedule", "spec": spec}, ensure_ascii=False)

    assert await imported(harness, f"\ufeff{text_of()}\r\n{line}\r\n") == {"schedule": 1}


async def test_lines_may_be_written_by_hand(harness: Harness) -> None:
    lines = [{"kind": "schedule", "spec": spec} for spec in (REPORT, QUESTION, RUN)]
    text = text_of(*lines, {"kind": "alert", "spec": ALERT, "state": {"paused": "asked"}})

    assert await imported(harness, text) == {"schedule": 3, "alert": 1}
    assert await imported(harness, text) == {}
    tasks = await harness.report_store().all()
    assert {one.spec.schedule.crons for one in tasks} == {("0 9 * * 1",)}
    assert all(one.due > harness.store.clock() for one in tasks)


async def test_a_paused_schedule_stays_paused(harness: Harness) -> None:
    line = {"kind": "schedule", "id": "r1", "spec": REPORT}
    await imported(harness, text_of({**line, "state": {"paused": "asked"}}))

    (report,) = await harness.report_store().all()
    assert report.paused == "asked"
    assert await harness.report_store().due(report.due, 9) == []


def test_another_workspaces_export_is_refused_unless_asked_for() -> None:
    text = text_of({"kind": "alert", "id": "a1", "spec": {**ALERT, "team": "T0OTHER"}}).replace(
        json.dumps(TEAM), '"T0OTHER"', 1
    )

    with pytest.raises(ConfigurationError, match="from the workspace T0OTHER, and this bridge serves T0HOME"):
        read(text, TEAM)
    [(record, _line)] = next(iter(read(text, TEAM, other_workspace=True).values()))
    assert record.spec.team == TEAM


def schedule(**changed: Any) -> str:
    return text_of({"kind": "schedule", "spec": {**REPORT, **changed}})


def alert(**changed: Any) -> str:
    return text_of({"kind": "alert", "spec": {**ALERT, **changed}})


def channel(**settings: Any) -> str:
    return text_of({"kind": "channel with settings", "id": f"{TEAM}:{GENERAL}", "spec": settings})


@each(
    ("text", "problem"),
    [
        ("", "The first line isn't that of an export of version 1: use the output of bridge export"),
        ('{"reports": []}', "The first line isn't that of an export"),
        (json.dumps({**HEADING, "v": 2}), "The first line isn't that of an export"),
        (text_of({"kind": "report", "spec": {}}), 'Line 2 has the kind "report": use '),
        (text_of({"kind": "alert"}), "Line 2: spec is missing"),
        (text_of({"kind": "alert", "spec": ALERT, "colour": "red"}), "Line 2: colour isn't a field"),
        (text_of({"kind": "alert", "spec": {**ALERT, "colour": "red"}}), "Line 2: colour isn't a field"),
        (text_of({"kind": "alert", "spec": {**ALERT, "condition": "when it rains"}}), "Line 2: condition can't be"),
        (text_of({"kind": "alert", "id": "a/b", "spec": ALERT}), "Line 2: id isn't valid"),
        (schedule(zone="Berlin/Europe"), "Line 2: zone can't be understood: use one such as Europe/Berlin"),
        (schedule(zone="../../etc/passwd"), "Line 2: zone can't be understood"),
        (schedule(schedule={"words": "", "crons": ["0 9 * *"]}), "Line 2: schedule.crons can't be understood"),
        (schedule(schedule={"words": "", "crons": []}), "Line 2: schedule.crons can't be understood"),
        (schedule(schedule="now and then"), "Line 2: schedule can't be understood"),
        (schedule(compare="7 days"), "Line 2: compare can't be understood"),
        (schedule(only=["runs", "moon"]), "Line 2: only can't be understood"),
        (schedule(schedule="every monday at 9 utc"), "Line 2: schedule has only times"),
        (schedule(schedule="every monday at 9 #ops"), "Line 2: schedule has only times"),
        (schedule(schedule={"words": "", "crons": ["0 9 * * 1"], "zone": "UTC"}), "Line 2: schedule.zone isn't a"),
        (schedule(channel="#general"), "Line 2: channel isn't valid"),
        (schedule(owner=None), "Line 2: owner isn't valid"),
        (schedule(task="question", agent=7, text="{{moon}}"), "Line 2: text can't be understood"),
        (schedule(task="question", agent=7, text=" "), "Line 2: text is missing"),
        (schedule(task="run", workflow=3, input={"day": "{{moon}}"}), "Line 2: input can't be understood"),
        (text_of({"kind": "schedule", "spec": REPORT, "state": {"due": "1e300"}}), "Line 2: state can't be read"),
        (text_of({"kind": "schedule", "spec": QUESTION, "state": {"body": json.dumps(REPORT)}}), "Line 2: state"),
        (alert(condition="runs < 1 in 24h then run Import"), "Line 2: condition can't be understood"),
        (alert(condition="runs < 1 in 24h in #ops"), "Line 2: condition can't be understood"),
        (alert(condition="agent Support p95 > 60s"), "Line 2: target isn't valid"),
        (alert(target=7), "Line 2: target isn't valid"),
        (alert(run=3), "Line 2: run and run_name belong together"),
        (schedule(task="run", workflow="Import"), "Line 2: run.workflow isn't valid"),
        (channel(agent="Support"), "Line 2: agent isn't valid"),
        (channel(reply="all"), "Line 2: reply isn't a field"),
        (channel(apps={"jira": {"agent": 7}}), "Line 2: apps has a rule for something that isn't an app"),
        (channel(apps={"A0JIRA": {}}), "Line 2: apps.A0JIRA needs an agent or a workflow"),
        (channel(apps={"A0JIRA": {"agent": 7, "edit": True}}), "Line 2: apps.A0JIRA.edit isn't a field"),
        (text_of({"kind": "handle", "id": "x", "spec": {}}), "Line 2: id isn't valid"),
        (text_of({"kind": "handle", "id": "S0S", "spec": {**HANDLE, "name": "s"}}), "Line 2: name isn't a field"),
    ],
)
def test_a_file_with_a_mistake_is_refused_whole(text: str, problem: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read(f"{text}\n" if text else text, TEAM)

    assert caught.value.problems[0].startswith(problem)
