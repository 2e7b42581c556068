"""Reports and channel settings, listed, and set again from the list."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bridge.errors import ConfigurationError
from bridge.features.channels.settings import AppRule, ChannelSettings
from bridge.features.schedules.listing import ReportsListing, Written, read_listing, write_listing
from bridge.playground.emulator.sample import RANDOM
from support.harness import Harness
from support.store import CHANNEL, TEAM, USER
from support.tables import each

TASK = {"team": TEAM, "channel": CHANNEL, "owner": USER, "crons": ["0 9 * * 1"], "zone": "Europe/Berlin"}
QUESTION = {**TASK, "task": "question", "agent": 7, "text": "What changed?", "continues": True}
RUN = {**TASK, "task": "run", "workflow": 3, "input": {"day": "monday"}, "overlap": "wait"}
REPORT = {"team": TEAM, "channel": CHANNEL, "owner": USER, "crons": ["0 9 * * 1"], "zone": "Europe/Berlin"}


async def type_report(harness: Harness, words: str) -> None:
    await harness.type_command(f"/stats {words}")


async def set_channel(harness: Harness, channel: str, **settings: Any) -> None:
    stored = await harness.store.channels.stored(TEAM, channel)
    assert await harness.store.channels.replace(TEAM, channel, stored, ChannelSettings(**settings))


async def write(harness: Harness, text: str) -> Written:
    return await write_listing(harness.store.scripts, ReportsListing.parse(text), harness.store.clock())


async def test_a_list_restores_reports_and_settings_of_a_wiped_store(harness: Harness) -> None:
    await type_report(harness, "report weekdays 09:00 berlin --only runs,tags")
    await type_report(harness, "report monthly 31 8am --compare 7d")
    await set_channel(harness, CHANNEL, agent=7)
    rule = AppRule(workflow=3, name="Jira", owner=USER, paused="runner")
    apps = {"A0JIRA": rule, "A0JIRA sprint": AppRule(ignores=True, name="Sprint", owner=USER)}
    await set_channel(harness, RANDOM, answers="all", replies="mentions", apps=apps)
    listed = await read_listing(harness.store.scripts)
    due = [report.due for report in await harness.report_store().all()]

    await harness.store.redis.flushall()
    written = await write(harness, listed.to_text())
    again = await write(harness, listed.to_text())

    assert (written, again) == (Written(2, 2, 0), Written(0, 0, 4))
    assert await read_listing(harness.store.scripts) == listed
    assert [report.due for report in await harness.report_store().all()] == due
    assert [report.id for report, _ in await harness.report_store().due(max(due), 9)] != []


async def test_a_list_restores_questions_and_runs(harness: Harness) -> None:
    await type_report(harness, "report weekly mon 09:00 berlin")
    written = await write(harness, json.dumps({"schedules": [QUESTION, {**RUN, "paused": "asked"}]}))
    listed = await read_listing(harness.store.scripts)

    await harness.store.redis.flushall()
    restored = await write(harness, listed.to_text())
    again = await write(harness, json.dumps({"schedules": [QUESTION, {**RUN, "paused": "asked"}]}))

    assert (written, restored, again) == (Written(0, 0, 0, 2), Written(1, 0, 0, 2), Written(0, 0, 2))
    assert await read_listing(harness.store.scripts) == listed
    question, run = listed.schedules
    assert (question.schedule, question.model_dump().items() >= {"agent": 7, "text": "What changed?"}.items()) == (
        "every Monday at 09:00", True
    )  # fmt: skip
    assert run.model_dump()["input"] == {"day": "monday"}
    assert run.paused == "asked"


async def test_a_report_that_was_scheduled_again_is_not_doubled(harness: Harness) -> None:
    await type_report(harness, "report weekly mon 09:00 berlin")
    listed = await read_listing(harness.store.scripts)
    await harness.store.redis.flushall()
    await harness.store.namespace.hold()
    await type_report(harness, "report weekly mon 09:00 berlin")

    assert await write(harness, listed.to_text()) == Written(0, 0, 1)


async def test_a_list_may_be_written_by_hand(harness: Harness) -> None:
    typed = {**REPORT, "crons": [], "schedule": "every monday at 9"}
    text = json.dumps({"reports": [typed, {**REPORT, "paused": "asked"}, REPORT]})

    await write(harness, text)
    await write(harness, text)

    (report,) = (await read_listing(harness.store.scripts)).reports
    assert (report.schedule, report.crons) == ("every Monday at 09:00", ("0 9 * * 1",))


async def test_a_paused_report_stays_paused(harness: Harness) -> None:
    await write(harness, json.dumps({"reports": [{**REPORT, "paused": "asked"}]}))

    (report,) = await harness.report_store().all()
    assert report.paused == "asked"
    assert await harness.report_store().due(report.due, 9) == []

    await write(harness, json.dumps({"reports": [{**REPORT, "id": report.id}]}))
    (report,) = await harness.report_store().all()
    assert report.paused == ""


def listing(**changed: Any) -> str:
    return json.dumps({"reports": [{**REPORT, **changed}]})


def tasks(*listed: dict[str, Any]) -> str:
    return json.dumps({"schedules": listed})


def channel(**settings: Any) -> str:
    return json.dumps({"channels": [{"team": TEAM, "channel": CHANNEL, "settings": settings}]})


@each(
    ("text", "problem"),
    [
        ("", "The list isn't valid: "),
        ("[]", "The list isn't valid: "),
        ('{"v": 2}', "v isn't valid: "),
        ('{"report": []}', "report isn't a field: check its spelling"),
        (listing(zone="Berlin/Europe"), "reports[0].zone can't be understood: use one such as Europe/Berlin"),
        (listing(zone="../../etc/passwd"), "reports[0].zone can't be understood"),
        (listing(crons=["0 9 * *"]), "reports[0].crons[0] can't be understood"),
        (listing(crons=["0 9 31 2 *"]), "reports[0].crons[0] can't be understood"),
        (listing(crons=[], schedule="now and then"), "reports[0] has a schedule that can't be understood"),
        (listing(compare="7 days"), "reports[0].compare can't be understood"),
        (listing(only=["runs", "moon"]), "reports[0].only[1] can't be understood"),
        (listing(channel="#general"), "reports[0].channel isn't valid: "),
        (listing(owner=None), "reports[0].owner isn't valid: "),
        (listing(id="a:b"), "reports[0].id isn't valid: "),
        (tasks({**QUESTION, "text": "{{moon}}"}), "schedules[0].question.text can't be understood"),
        (tasks({**QUESTION, "text": ""}), "schedules[0].question.text isn't valid: "),
        (tasks({**RUN, "workflow": "Import"}), "schedules[0].run.workflow isn't valid: "),
        (tasks({**RUN, "overlap": "both"}), "schedules[0].run.overlap isn't valid: "),
        (tasks(TASK), "schedules[0] isn't valid: "),
        (channel(agent="Support"), "channels[0].settings.agent isn't valid: "),
        (channel(reply="all"), "channels[0].settings.reply isn't a field"),
        (channel(apps={"jira": {"agent": 7}}), "channels[0].settings has a rule for something that isn't an app"),
        (channel(apps={"A0JIRA": {}}), "channels[0].settings.apps.A0JIRA needs an agent or a workflow"),
    ],
)
async def test_a_wrong_list_is_refused_whole(harness: Harness, text: str, problem: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        await write(harness, text)

    assert caught.value.problems[0].startswith(problem)
    assert await harness.report_store().all() == []
