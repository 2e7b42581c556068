"""Reports are scheduled by command or form, listed, paused, run now and deleted, with permission checks."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import count
from typing import Any

import pytest

from bridge.cli.manifest import app_manifest
from bridge.features.schedules import layout
from bridge.features.schedules.schedule import StoredTask
from bridge.playground.emulator.sample import CAROL, DM_ALICE, PRIVATE, RANDOM
from support.harness import Harness
from support.store import CHANNEL, USER


@pytest.fixture
def harness(harness: Harness) -> Harness:
    harness.slack.install(app_manifest(None))  # commands get the IDs of channels
    return harness


async def typed(harness: Harness, words: str, user: str = USER, channel: str = CHANNEL) -> dict[str, Any]:
    """Type a command; return the private response."""
    await harness.type_command(f"/stats {words}", user, channel, works=False)
    return await answer(harness)


async def clicked(harness: Harness, action: str, value: str, user: str = USER) -> dict[str, Any]:
    """Click in a private message; return the private response."""
    await harness.click(action, value, user=user, is_ephemeral=True)
    return await answer(harness)


async def answer(harness: Harness) -> dict[str, Any]:
    before = len(harness.slack.responses)
    await harness.work()
    assert len(harness.slack.responses) == before + 1
    return harness.slack.responses[-1].content


async def stored_reports(harness: Harness) -> list[StoredTask]:
    return await harness.report_store().all()


def elements(blocks_: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [button for block in blocks_ if block["type"] == "actions" for button in block["elements"]]


def buttons(blocks_: list[dict[str, Any]]) -> dict[str, str]:
    return {button["action_id"]: button["value"] for button in elements(blocks_)}


async def test_a_report_has_the_time_zone_of_its_owner(harness: Harness) -> None:
    reply = await typed(harness, "report daily 09:00 --only runs,tags")

    assert reply["text"].startswith("Scheduled: every day at 09:00 (Europe/Berlin) in ")
    (one,) = await stored_reports(harness)
    assert one.due == datetime(2026, 3, 5, 8, tzinfo=UTC)
    assert (one.spec.owner, one.spec.channel, one.spec.only) == (USER, CHANNEL, ("runs", "tags"))


async def test_an_unknown_time_zone_becomes_utc_and_is_shown(harness: Harness) -> None:
    harness.slack.workspace.people[USER].tz = ""

    reply = await typed(harness, "report weekly mon 09:00")

    assert "(UTC)" in reply["text"]
    assert "Slack doesn't share your time zone" in str(reply["blocks"])


async def test_a_repeated_command_stores_one_report(harness: Harness) -> None:
    await harness.type_command("/stats report daily 09:00", works=False)
    await harness.handle(await harness.take("a"))  # then the worker is killed

    await harness.take_over("b")

    assert len(await stored_reports(harness)) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("report daily 09:00 #random", "Scheduled: "),
        ("report daily 09:00 --only cats", "takes any of prompts, runs, versions, categories and tags, such as"),
        ("report daily 09:00 #no-bot", "I can't post in “#no-bot”: I'm not in it"),
        ("report daily 09:00 #typed", "I can't find “#typed” among the channels I'm in."),
        ("report daily 25:00", "I don't understand “25:00”: expected a time, such as 09:00."),
        (
            "report sometimes",
            "I don't understand “sometimes”: expected a schedule, such as every Tuesday and Thursday at 07:15.",
        ),
        ("report biweekly monday 9", "I don't understand “biweekly” in a schedule. Examples: every Tuesday"),
        ("report next monday 9", "I don't understand “next” in a schedule. Examples: every Tuesday"),
        ("report daily 9 EST", "I don't recognize the time zone “EST”. Did you mean America/New_York?"),
        ("report every sunday night at 11 #random", "Scheduled: every Sunday at 23:00"),
        ("reprot daily 09:00", "Did you mean /stats report"),
    ],
)
async def test_a_command_is_answered_with_its_result(harness: Harness, words: str, said: str) -> None:

    reply = await typed(harness, words)

    assert said in reply["text"]
    assert [one.spec.channel for one in await stored_reports(harness)] == ([RANDOM] if "Scheduled: " in said else [])


@pytest.mark.parametrize("words", ["report hourly", "report daily 09:00 #no-bot"])
async def test_an_invalid_schedule_offers_the_form(harness: Harness, words: str) -> None:
    refused = await typed(harness, words)

    assert list(buttons(refused["blocks"])) == [layout.OPEN]


async def test_only_runners_and_owners_change_reports(harness: Harness) -> None:
    harness.configure(BRIDGE_RUNNERS=CAROL)
    assert "permission to schedule reports" in (await typed(harness, "report daily 09:00"))["text"]
    assert "permission to schedule reports" in (await typed(harness, "report"))["text"]
    await typed(harness, "report daily 09:00", CAROL)
    (one,) = await stored_reports(harness)

    refused = await clicked(harness, "report:delete", f"0:{one.id}")
    assert "Only the person who scheduled this report" in refused["text"]
    assert len(await stored_reports(harness)) == 1

    harness.configure(BRIDGE_RUNNERS=CAROL)
    await clicked(harness, "report:pause", f"0:{one.id}", CAROL)
    await clicked(harness, "report:delete", f"0:{one.id}", CAROL)
    assert await stored_reports(harness) == []


async def test_the_list_pauses_resumes_runs_and_deletes(harness: Harness) -> None:
    await typed(harness, "report daily 09:00")
    listed = await typed(harness, "reports")
    assert " · Alice Adler" in str(listed["blocks"])
    value = buttons(listed["blocks"])["report:pause"]

    paused = await clicked(harness, "report:pause", value)
    assert paused["replace_original"]
    assert "report:resume" in buttons(paused["blocks"])
    assert [one.paused for one in await stored_reports(harness)] == ["asked"]

    for _ in range(2):  # a paused report can be run by hand, once per click
        await clicked(harness, "report:now", value)
    assert len(harness.seen.replies("bridge_report")) == 2

    harness.store.clock.time = datetime(2026, 4, 1, 12, tzinfo=UTC)
    await clicked(harness, "report:resume", value)
    assert [one.due for one in await stored_reports(harness)] == [datetime(2026, 4, 2, 7, tzinfo=UTC)]

    gone = await clicked(harness, "report:delete", value)
    assert "No reports are scheduled" in gone["text"]
    assert "already deleted" in (await clicked(harness, "report:now", value))["text"]


async def test_the_options_of_a_report_are_shown(harness: Harness) -> None:
    said = "Compared with 7d ago · only runs, tags · with agents and workflows · only if something changed"

    confirmed = await typed(harness, "report daily 9 --agents --only-if-changed --compare 7d --only runs,tags")
    listed = await typed(harness, "reports")

    assert f"{said}." in str(confirmed["blocks"])
    assert said in str(listed["blocks"])


async def test_a_new_report_names_its_channel_and_is_deletable(harness: Harness) -> None:
    made = await typed(harness, "report daily 09:00 #random")
    delete = next(one for one in made["blocks"][-1]["elements"] if one["action_id"] == "report:delete")

    assert {"type": "channel", "channel_id": RANDOM} in made["blocks"][0]["elements"][0]["elements"]
    assert "confirm" in delete
    gone = await clicked(harness, "report:delete", delete["value"])
    again = await clicked(harness, "report:delete", delete["value"])

    assert gone["replace_original"]
    assert "Deleted" in gone["text"]
    assert "already deleted" in again["text"]
    assert await stored_reports(harness) == []


async def test_the_list_leaves_out_reports_in_others_direct_messages(harness: Harness) -> None:
    await typed(harness, "report daily 09:00", channel=DM_ALICE)
    await typed(harness, "report daily 10:00")

    own = await typed(harness, "reports")
    others = await typed(harness, "reports", CAROL)

    assert own["text"].startswith("Scheduled reports\n")
    assert others["text"].startswith("Scheduled reports\n")


@pytest.mark.parametrize("again", ["report daily 09:00", "report every day at 9am", 'report cron "0 9 * * *"'])
async def test_the_same_schedule_in_the_same_channel_is_stored_once(harness: Harness, again: str) -> None:
    await typed(harness, "report daily 09:00")

    reply = await typed(harness, again, CAROL if "cron" not in again else USER)

    assert reply["text"].startswith("This report already exists: every day at 09:00 (Europe/Berlin) in ")
    assert "scheduled by Alice" in reply["text"]
    assert {"type": "channel", "channel_id": CHANNEL} in reply["blocks"][0]["elements"][0]["elements"]
    assert len(await stored_reports(harness)) == 1


@pytest.mark.parametrize(
    "other",
    [
        "report daily 10:00", "report daily 09:00 #random", "report daily 09:00 --only tags",
        "report daily 09:00 --compare 7d", "report daily 09:00 new york",
    ],
)  # fmt: skip
async def test_a_report_that_differs_is_another_one(harness: Harness, other: str) -> None:
    await typed(harness, "report daily 09:00")

    assert "Scheduled: " in (await typed(harness, other))["text"]
    assert len(await stored_reports(harness)) == 2


@pytest.mark.parametrize("place", ["0", "made"])
async def test_a_deletion_names_owner_and_channel_and_tells_the_owner(harness: Harness, place: str) -> None:
    await typed(harness, "report daily 09:00")
    (one,) = await stored_reports(harness)
    listed = await typed(harness, "reports", CAROL)

    gone = await clicked(harness, "report:delete", f"{place}:{one.id}", CAROL)
    await clicked(harness, "report:delete", f"{place}:{one.id}", CAROL)

    delete = next(one for one in elements(listed["blocks"]) if one["action_id"] == "report:delete")
    assert "Scheduled by Alice Adler: every day at 09:00 (Europe/Berlin)." in delete["confirm"]["text"]["text"]
    assert "Deleted the report of Alice Adler in " in str(gone["blocks"])
    assert {"type": "channel", "channel_id": CHANNEL} in gone["blocks"][0]["elements"][0]["elements"]
    (notice,) = [one for one in harness.seen.messages if one.place.channel == DM_ALICE]
    assert notice.words.startswith("Carol Conti deleted your report “every day at 09:00 (Europe/Berlin)”")


async def test_a_channel_is_found_by_each_of_its_names(harness: Harness) -> None:
    """With ids, as in the manifest, and without, as in an older one; in messages with and without."""
    minutes = count(30)  # the same report wouldn't be scheduled again

    def report(name: str) -> str:
        return f"report weekdays 08:{next(minutes)} Europe/Berlin {name}"

    async def type_lines(*names: str) -> None:
        for name in names:
            await harness.type_command(f"/stats {report(name)}")

    await type_lines("#random", "#private")
    older = app_manifest(None)
    for command in older["features"]["slash_commands"]:
        command["should_escape"] = False
    harness.slack.install(older)
    await type_lines("#Random", "#private")
    for name in (f"<#{RANDOM}>", "#random"):
        await harness.slack.people.say(USER, DM_ALICE, f"!stats {report(name)}")
        await harness.work()

    made = sorted(await stored_reports(harness), key=lambda one: str(one.spec.schedule))
    assert [one.spec.channel for one in made] == [RANDOM, PRIVATE, RANDOM, PRIVATE, RANDOM, RANDOM]


async def test_a_form_schedules_a_report_without_typing(harness: Harness) -> None:
    await harness.type_command("/stats report")
    view = harness.slack.views(USER)[-1]
    assert "Europe/Berlin" in str(view.blocks), "her own time zone"

    wrong = await harness.slack.ui.submit(view.id, {"often": "cron", "cron": "every day"}, USER)
    assert "cron" in (wrong.json or {})["errors"]
    await harness.slack.ui.submit(view.id, {"often": "every Friday", "time": "16:45"}, USER)
    await harness.work()

    assert "every Friday at 16:45" in harness.seen.ephemerals[-1].text
