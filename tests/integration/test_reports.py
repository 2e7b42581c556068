"""Scheduled reports with two bridges running: each is posted once per slot, and its thread is a conversation."""

from __future__ import annotations

import json
import time
from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from pathlib import Path

import pytest

from bridge.cli.manifest import app_manifest
from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.sample import ALICE, DM_ALICE, GENERAL, PRIVATE, RANDOM
from support.forks import run
from support.playground import bare_environment
from support.system import System, shared_system
from support.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="module")


opened, system = shared_system(System.start_bridge)


def reports(system: System, channel: str) -> list[Message]:
    """The headlines; charts and tables are in their threads."""
    shown = [one for one in system.slack.messages(channel) if not one.is_reply]
    return [one for one in shown if (one.metadata or {}).get("event_type") == "bridge_report"]


async def schedule_report(system: System, channel: str, words: str) -> str:
    """Schedule a report by command; return its id."""
    return await schedule_by(lambda: system.slack.ui.command(ALICE, channel, "/stats", words), system)


async def schedule_by(ask: Callable[[], Awaitable[object]], system: System) -> str:
    """Schedule a report with any request; return its id."""
    key = f"{{{system.namespace}}}:reports"
    before = set(await system.redis.zrange(key, 0, -1))
    await ask()

    async def made() -> set[str]:
        return set(await system.redis.zrange(key, 0, -1)) - before

    await wait_until(made, "the report is scheduled")
    (id_,) = await made()
    return id_


async def becomes_due(system: System, report: str) -> float:
    """Make a report due now; return the time."""
    due = time.time()
    await system.redis.zadd(f"{{{system.namespace}}}:due", {report: int(due * 1000)})
    return due


async def test_a_channel_is_found_by_each_of_its_names(system: System) -> None:
    """With ids, as in the manifest, and without, as in an older one; in messages with and without."""
    minutes = count(30)  # the same report wouldn't be scheduled again

    def said(name: str) -> str:
        return f"report weekdays 08:{next(minutes)} Europe/Berlin {name}"

    made = [await schedule_report(system, GENERAL, said(name)) for name in ("#random", "#private")]
    older = app_manifest(None)
    for command in older["features"]["slash_commands"]:
        command["should_escape"] = False
    system.slack.install(older)
    made += [await schedule_report(system, GENERAL, said(name)) for name in ("#Random", "#private")]
    system.slack.install(app_manifest(None))
    for line in (f"!stats {said(name)}" for name in (f"<#{RANDOM}>", "#random")):
        made.append(await schedule_by(partial(system.slack.people.say, ALICE, DM_ALICE, line), system))

    for report in made:
        await becomes_due(system, report)
    await wait_until(lambda: len(reports(system, RANDOM)) == 4, "all reports for #random are posted")
    await wait_until(lambda: len(reports(system, PRIVATE)) == 2, "all reports for #private are posted")


async def test_a_form_schedules_a_report_without_typing(system: System) -> None:
    await system.slack.ui.command(ALICE, GENERAL, "/stats", "report")
    await wait_until(lambda: system.slack.views(ALICE), "the form is open")
    view = system.slack.views(ALICE)[-1]
    assert "Europe/Berlin" in str(view.blocks), "her own time zone"

    wrong = await system.slack.ui.submit(view.id, {"often": "cron", "cron": "every day"}, ALICE)
    assert "cron" in (wrong.json or {})["errors"]
    await system.slack.ui.submit(view.id, {"often": "every Friday", "time": "16:45"}, ALICE)

    assert "every Friday at 16:45" in await system.ephemeral_text(ALICE)


async def test_reports_are_listed_and_set_again_by_command(system: System, tmp_path: Path) -> None:
    here = {"REDIS_URL": system.redis_url, "BRIDGE_NAMESPACE": system.namespace}

    async def command(*words: str) -> tuple[int, str, str]:
        return await run(words, tmp_path, bare_environment(**here))

    report = await schedule_report(system, RANDOM, "report weekly fri 17:00 berlin")
    _, listed, _ = await command("reports", "--json")
    (tmp_path / "list.json").write_text(listed)
    for index in ("reports", "due"):
        await system.redis.zrem(f"{{{system.namespace}}}:{index}", report)
    await system.redis.delete(f"{{{system.namespace}}}:report:{report}")

    code, printed, _ = await command("reports", "import", "list.json")
    _, shown, _ = await command("reports")
    _, again, _ = await command("reports", "--json")

    assert (code, printed[:14]) == (0, "Set 1 report a")
    assert json.loads(again)["channels"] == json.loads(listed)["channels"]
    assert report in [one["id"] for one in json.loads(again)["reports"]]
    assert f"  every Friday at 17:00 (Europe/Berlin) in {RANDOM}, by {ALICE}\n" in shown

    (tmp_path / "list.json").write_text('{"reports": [{}]}')
    code, _, complaint = await command("reports", "import", "list.json")
    assert (code, complaint.splitlines()[1]) == (2, "reports[0].team is missing")
