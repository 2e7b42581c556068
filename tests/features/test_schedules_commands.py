"""Questions and runs are scheduled by command or form over signed HTTP, listed with reports, edited and deleted."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bridge.features.schedules.forms import FORMS
from bridge.features.schedules.schedule import QuestionSpec, RunSpec, StoredTask
from bridge.playground.emulator.sample import ALICE, BOB, CAROL, DM_ALICE, GENERAL, OPS, PRIVATE, RANDOM
from bridge.slack.blockkit import kit
from support.harness import SALES, SUPPORT, WORKFLOW, Harness
from support.tables import each

SLOT = datetime(2026, 3, 5, 8, tzinfo=UTC)  # nine o'clock in Berlin
DIGEST = {**WORKFLOW, "id": 4, "name": "Daily digest"}


def option(value: str) -> dict[str, Any]:
    """What Slack sends for a choice in a menu whose options the bridge offered."""
    return {"text": {"type": "plain_text", "text": "one"}, "value": value}


WHEN = {"often": "every weekday", "time": "08:30", "zone": "Europe/Berlin", "channel": RANDOM}
FILLED_IN = {"agent": option("7"), "text": "What changed since {{date}}?", "thread": "same", "overlap": "wait", **WHEN}


@pytest.fixture(autouse=True)
def project(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    harness.service.workflows = [WORKFLOW, DIGEST]


async def type_line(harness: Harness, line: str, user: str = ALICE) -> str:
    """Type a command; return the private answer, or ``""`` if a form was opened."""
    before = len(harness.slack.responses)
    await harness.type_command(line, user)
    return str(harness.slack.responses[-1].content["text"]) if len(harness.slack.responses) > before else ""


async def send_form(harness: Harness, user: str = ALICE, **values: Any) -> dict[str, str]:
    """Submit the form that the person has open; return its errors."""
    sent = await harness.slack.ui.submit(harness.slack.views(user)[-1].id, values, user)
    await harness.work()
    return dict((sent.json or {}).get("errors", {}))


async def tasks(harness: Harness) -> list[StoredTask]:
    return await harness.report_store().all()


async def only_task(harness: Harness) -> StoredTask:
    (one,) = await tasks(harness)
    return one


async def test_a_question_is_scheduled_as_typed(harness: Harness) -> None:
    said = await type_line(
        harness, '/agents ask Support weekdays 8:30 "What\'s new since “yesterday”?" #random --continue'
    )

    assert said.startswith("Scheduled: ask Support every weekday at 08:30 (Europe/Berlin) in ")
    spec = (await only_task(harness)).spec
    assert isinstance(spec, QuestionSpec)
    assert (spec.agent, spec.text, spec.continues) == (7, "What's new since “yesterday”?", True)
    assert (spec.owner, spec.channel, spec.zone, spec.project) == (ALICE, RANDOM, "Europe/Berlin", "")


@pytest.mark.parametrize(
    "typed",
    [
        '#ops "What happened in <#C0RANDOM|random>?"',
        '<#C0OPS|ops> "What happened in <#C0RANDOM|random>?"',
        '<#C0OPS>? "What happened in <#C0OPS|ops>?"',
    ],
)
async def test_a_channel_in_the_question_isnt_where_its_asked(harness: Harness, typed: str) -> None:
    await harness.slack.people.say(ALICE, DM_ALICE, f"!agents ask Support every day at 9 {typed}")
    await harness.work()

    assert (await only_task(harness)).spec.channel == OPS


async def test_a_run_is_scheduled_as_typed(harness: Harness) -> None:
    said = await type_line(
        harness, '/workflows schedule "Daily digest" every monday at 9 {"day": "monday"} --overlap wait'
    )

    assert said.startswith("Scheduled: run Daily digest every Monday at 09:00 (Europe/Berlin) in ")
    assert "is still running when the next one is due, the new one starts after it" in str(
        harness.slack.responses[-1].content
    )
    spec = (await only_task(harness)).spec
    assert isinstance(spec, RunSpec)
    assert (spec.workflow, spec.input, spec.overlap) == (4, {"day": "monday"}, "wait")


async def test_scheduling_an_inactive_workflow_says_that_its_runs_ask(harness: Harness) -> None:
    harness.service.workflows = [WORKFLOW, {**DIGEST, "is_active": False}]

    await type_line(harness, '/workflows schedule "Daily digest" every monday at 9 "x"')
    shown = str(harness.slack.responses[-1].content)
    await type_line(harness, '/workflows schedule 3 every monday at 9 "x"')

    assert "Daily digest is inactive, so I'll ask each time before it runs." in shown
    assert "inactive" not in str(harness.slack.responses[-1].content)


async def test_the_same_commands_work_in_a_direct_message(harness: Harness) -> None:
    await harness.slack.people.say(ALICE, DM_ALICE, '!agents ask Support daily 9 "Anything new?"')
    await harness.work()

    task = await only_task(harness)
    assert task.spec.channel == DM_ALICE
    await harness.at(task.due)
    assert harness.service.messages == ["Anything new?"]


@each(
    ("line", "said"),
    [
        ("/agents ask Support weekdays 8:30", "Add the question in quotation marks"),
        ('/agents ask Support weekdays "What?"', "Add a time to “weekdays”, such as 09:00."),
        (
            '/agents ask Support daily 9 10 "What?"',
            "A question can have only one time of day. Schedule another question",
        ),
        ('/agents ask Support daily 9 "What?', "has no end: add the closing quotation mark"),
        ('/agents ask Support daily 9 "{{stat}}"', "I can't fill in “{{stat}}”. Did you mean {{stats}}?"),
        ('/agents ask Support daily 9 "{{moon}}"', "Use {{date}}, {{stats}} or {{stats.runs}}."),
        ('/agents ask Support daily 9 "What?" --loud', "Scheduled questions accept only --continue and --overlap."),
        ("/stats report daily 9 --loud", "Reports accept only --compare, --only, --agents and --only-if-changed."),
        ('/agents ask Support daily 9 "What?" --overlap both', "--overlap takes skip or wait."),
        ('/agents ask Support daily 9 "What?" #nowhere', "I can't find “#nowhere” among the channels I'm in."),
        ('/workflows schedule Import daily 9 {"day": }', "isn't valid JSON, so nothing was scheduled. Line 1"),
        ("/workflows schedule Import daily 9 --continue", "Scheduled runs accept only --overlap."),
    ],
)
async def test_what_is_wrong_is_said_with_the_form(harness: Harness, line: str, said: str) -> None:
    assert said in await type_line(harness, line)
    form = FORMS[{"/agents": "question", "/workflows": "run", "/stats": "report"}[line.partition(" ")[0]]]
    assert form.opener in str(harness.slack.responses[-1].content["blocks"])
    assert await tasks(harness) == []


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("/workflows schedule 3 daily 9", ""),
        ('/workflows schedule 3 daily 9 "friday"', "friday"),
        ("/workflows schedule 3 daily 9 'friday'", "friday"),
        ('/workflows schedule 3 daily 9 ["a", 1]', ["a", 1]),
        ('/workflows schedule 3 cron "0 9 * * 1" {"a": {"b": "}"}}', {"a": {"b": "}"}}),
        ('/workflows schedule 3 {"a": 1} cron "0 9 * * 1"', {"a": 1}),
        ("/workflows schedule 3 daily 9 {{date}}", "{{date}}"),
    ],
)
async def test_an_input_is_read_like_that_of_a_run(harness: Harness, line: str, value: Any) -> None:
    await type_line(harness, line)

    spec = (await only_task(harness)).spec
    assert isinstance(spec, RunSpec)
    assert spec.input == value


async def test_a_form_schedules_a_question(harness: Harness) -> None:
    assert await type_line(harness, "/agents ask Sales") == ""
    view = harness.slack.views(ALICE)[-1]
    assert "{{stats.runs.change}}" in str(view.blocks)
    assert "Europe/Berlin" in str(view.blocks)

    assert await send_form(harness, text="{{moon}}") == {
        "text": "I can't fill in “{{moon}}”. Use {{date}}, {{stats}} or {{stats.runs}}."
    }
    assert await send_form(harness, **FILLED_IN) == {}

    spec = (await only_task(harness)).spec
    assert isinstance(spec, QuestionSpec)
    assert (spec.agent, spec.text, spec.continues, spec.overlap) == (7, "What changed since {{date}}?", True, "wait")
    assert (spec.schedule.words, spec.channel) == ("every weekday at 08:30", RANDOM)


async def test_a_form_schedules_a_run(harness: Harness) -> None:
    await type_line(harness, "/workflows schedule")

    refused = await send_form(harness, workflow=option("4"), **WHEN, text='{"day": }')
    assert "isn't valid JSON" in refused["text"]
    assert await send_form(harness, workflow=option("4"), **WHEN, text='{"day": "monday"}') == {}

    spec = (await only_task(harness)).spec
    assert isinstance(spec, RunSpec)
    assert (spec.workflow, spec.input, spec.overlap) == (4, {"day": "monday"}, "skip")


async def test_a_misspelled_agent_opens_the_form_filled_in(harness: Harness) -> None:
    assert await type_line(harness, '/agents ask Suport weekdays 8:30 "What changed?"') == ""

    view = str(harness.slack.views(ALICE)[-1].blocks)
    assert all(said in view for said in ("'Support'", "'What changed?'", "'every weekday'", "'08:30'"))


async def test_one_list_has_everything_with_its_last_result(harness: Harness) -> None:
    await type_line(harness, '/agents ask Support daily 9 "What changed?"')
    await type_line(harness, "/workflows schedule Import daily 9")
    await type_line(harness, "/stats report daily 9")
    await harness.at(SLOT)

    listed = await type_line(harness, "/schedules")
    only_reports = await type_line(harness, "/stats reports")

    assert listed.splitlines()[0] == "Schedules"
    assert only_reports.splitlines()[0] == "Scheduled reports"
    shown = str(harness.slack.responses[-2].content["blocks"])
    for said in (
        "'text': 'Report'",
        "✅ answered",
        "✅ completed",
        "✅ posted",
        "Alice Adler",
        "Ask now",
        "Run now",
        "Post now",
        "Edit…",
    ):
        assert said in shown, said
    links = [f"p{one.ts.replace('.', '')}" for one in harness.seen.messages if not one.place.thread_ts]
    assert all(link in shown for link in links)


async def test_a_shared_list_shows_what_its_channel_may_read(harness: Harness) -> None:
    for place, text in ((GENERAL, "What changed?"), (RANDOM, "What broke?"), (DM_ALICE, "What hurts?")):
        await harness.type_command(f'/agents ask Support daily 9 "{text}"', ALICE, place)

    await harness.type_command("/schedules --share", ALICE, GENERAL)

    listed = str(harness.seen.messages[-1].message.blocks)
    assert "What changed?" in listed
    assert listed.count("'Support'") == 2, "without the direct message's"
    assert "What broke?" not in listed
    assert "report:delete" not in listed


async def press(harness: Harness, action: str, user: str = ALICE) -> None:
    await harness.press(action, user=user)


async def test_a_task_is_edited_in_its_form(harness: Harness) -> None:
    await type_line(harness, '/agents ask Support monthly 30 9 "What changed?"')
    before = await only_task(harness)
    await type_line(harness, "/schedules")

    await press(harness, "report:edit")
    view = harness.slack.views(ALICE)[-1]
    assert "every month on the 30th" in str(view.blocks)
    assert "What changed?" in str(view.blocks)
    assert await send_form(harness, text="What else?", often="every day") == {}

    after = await only_task(harness)
    assert (after.id, after.spec.schedule.words) == (before.id, "every day at 09:00")
    assert isinstance(after.spec, QuestionSpec)
    assert after.spec.text == "What else?"
    assert after.due == SLOT


async def test_a_report_is_edited_in_its_form(harness: Harness) -> None:
    await type_line(harness, "/stats report daily 9 --compare 24h --only runs")
    await type_line(harness, "/schedules")

    await press(harness, "report:edit")
    await send_form(harness, time="10:00")

    spec = (await only_task(harness)).spec
    assert (spec.schedule.words, getattr(spec, "compare", ""), getattr(spec, "only", "")) == (
        "every day at 10:00", "24h", ("runs",)
    )  # fmt: skip


@pytest.mark.parametrize(
    "typed", ['"[1, 2]"', '"{\\"a\\": 1}"', '"\\"x\\""', '"[urgent] deploy"', '"a\\nb"', '"plain"', '{"a": 1}']
)
async def test_an_edited_time_leaves_the_input_as_it_was(harness: Harness, typed: str) -> None:
    await type_line(harness, f"/workflows schedule 3 every day at 9 {typed}")
    before = await only_task(harness)
    await type_line(harness, "/schedules")

    await press(harness, "report:edit")
    assert await send_form(harness, time="10:00") == {}

    after = await only_task(harness)
    assert isinstance(before.spec, RunSpec)
    assert isinstance(after.spec, RunSpec)
    assert (after.spec.schedule.words, after.spec.input) == ("every day at 10:00", before.spec.input)


async def test_days_too_many_for_the_menu_stay_when_the_time_is_edited(harness: Harness) -> None:
    days = ", ".join(kit.ordinal(day) for day in range(1, 29))
    await type_line(harness, f"/stats report monthly on the {days} at 9")
    await type_line(harness, "/schedules")

    await press(harness, "report:edit")
    assert "Custom (cron expression)" in str(harness.slack.views(ALICE)[-1].blocks)
    await send_form(harness)

    (cron,) = (await only_task(harness)).spec.schedule.crons
    assert cron.split()[2] == ",".join(map(str, range(1, 29)))


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("!agents ask Support", '"' + "word " * 700 + '"'),
        ("!workflows schedule 3", '"' + "word " * 700 + '"'),
        ("!workflows schedule 3", json.dumps(["word"] * 700)),
    ],
)
async def test_a_long_text_stays_whole_when_its_time_is_edited(harness: Harness, line: str, text: str) -> None:
    await harness.say(f"{line} every day at 9 {text}", channel=DM_ALICE)
    before = await only_task(harness)
    await type_line(harness, "/schedules")

    await press(harness, "report:edit")

    assert "too long for this form" in str(harness.slack.views(ALICE)[-1].blocks)
    assert await send_form(harness, time="10:00") == {}
    after = await only_task(harness)
    assert after.spec.schedule.words == "every day at 10:00"
    assert after.spec.model_dump(exclude={"schedule"}) == before.spec.model_dump(exclude={"schedule"})


async def test_who_edits_a_task_owns_it_and_the_former_owner_is_told(harness: Harness) -> None:
    await type_line(harness, '/agents ask Support daily 9 "What changed?"')
    await type_line(harness, "/schedules", CAROL)

    await press(harness, "report:edit", CAROL)
    await send_form(harness, CAROL, text="What else?")

    assert (await only_task(harness)).spec.owner == CAROL
    (notice,) = [one for one in harness.seen.messages if one.place.channel == DM_ALICE]
    assert notice.words.startswith("Carol Conti changed your schedule “ask Support every day at 09:00")


async def test_a_task_is_started_now_paused_and_deleted(harness: Harness) -> None:
    await type_line(harness, "/workflows schedule Import daily 9")
    await type_line(harness, "/schedules")

    await press(harness, "report:now")
    assert len(harness.service.runs) == 1
    await type_line(harness, "/schedules")
    await press(harness, "report:pause")
    assert (await only_task(harness)).paused == "asked"
    await press(harness, "report:resume")
    assert (await only_task(harness)).paused == ""
    await press(harness, "report:delete")

    assert await tasks(harness) == []


@pytest.mark.parametrize(
    "line", ['/agents ask Support daily 9 "What?"', "/workflows schedule Import daily 9", "/agents ask"]
)
async def test_only_runners_schedule_and_change(harness: Harness, line: str) -> None:
    harness.configure(BRIDGE_RUNNERS=CAROL)

    assert "permission to schedule" in await type_line(harness, line, BOB)
    assert harness.slack.views(BOB) == []
    assert await tasks(harness) == []


async def test_others_may_not_change_a_schedule(harness: Harness) -> None:
    await type_line(harness, '/agents ask Support daily 9 "What changed?"', CAROL)
    await type_line(harness, "/schedules", BOB)
    harness.configure(BRIDGE_RUNNERS=CAROL)

    await press(harness, "report:delete", BOB)

    assert len(await tasks(harness)) == 1
    assert "Only the person who scheduled this" in harness.slack.responses[-1].content["text"]
    await type_line(harness, "/schedules", BOB)
    assert "report:delete" not in str(harness.slack.responses[-1].content)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ('/agents ask Support daily 9 "What changed?"', '/agents ask 7 every day at 9am "What changed?" --continue'),
        ('/workflows schedule Import daily 9 {"a": 1, "b": 2}', '/workflows schedule 3 9:00 daily {"b": 2, "a": 1}'),
    ],
)
async def test_the_same_task_is_scheduled_once(harness: Harness, first: str, second: str) -> None:
    await type_line(harness, first)

    assert (await type_line(harness, second, CAROL)).startswith("This schedule already exists: ")
    assert len(await tasks(harness)) == 1


async def test_home_shows_own_schedules_with_their_buttons(harness: Harness) -> None:
    await type_line(harness, '/agents ask Support daily 9 "What changed?"')
    await harness.slack.people.open_home(ALICE)
    await harness.work()

    shown = str(harness.seen.homes[-1]["view"])
    assert "Your schedules" in shown
    for action in ("report:pause", "report:now", "report:edit", "report:delete"):
        assert action in shown


async def test_a_schedule_belongs_to_the_project_it_was_made_in(harness: Harness) -> None:
    harness.serve("orders", orders=RANDOM)
    orders = harness.others["orders"]
    orders.agents = [{**SUPPORT, "name": "Clerk"}]
    await harness.type_command('/agents ask Clerk daily 9 "What changed?"', ALICE, RANDOM)
    await harness.at(SLOT)

    assert (await only_task(harness)).spec.project == "orders"
    assert (harness.service.messages, orders.messages) == ([], ["What changed?"])
    listed = await type_line(harness, "/schedules")
    assert "Ask Clerk every day" in listed

    await press(harness, "report:edit")
    assert '"project": "orders"' in harness.seen.forms[-1]["private_metadata"]
    await send_form(harness, time="10:00")
    assert (await only_task(harness)).spec.project == "orders"


async def test_a_schedule_of_a_removed_project_waits_for_it(harness: Harness) -> None:
    harness.serve("orders", orders=RANDOM)
    await harness.type_command('/agents ask Support daily 9 "What changed?"', ALICE, RANDOM)
    harness.serve()
    await harness.at(SLOT)

    assert any("connected to its project" in one for one in harness.seen.texts)
    assert harness.service.messages == []

    seen = len(harness.seen.texts)
    harness.serve("orders", orders=RANDOM)
    await harness.at(harness.store.clock.time + timedelta(days=1))

    assert any("What changed?" in one for one in harness.seen.texts[seen:])


def words_at(harness: Harness, user: str) -> str:
    """What the newest private answer to *user* says, in its text, its blocks and its dialogs."""
    shown = max((one for one in harness.seen.ephemerals if one.user in {user, ""}), key=lambda one: one.ts)
    return f"{shown.text} {shown.blocks}"


LIKE = [
    ('/agents ask Support daily 9 "What changed in sales?"', "What changed in sales?"),
    ('/agents ask Support daily 9 "Who has the keys?"', "Who has the keys?"),
    ('/workflows schedule Import daily 9 {"day": "monday"}', "day: monday"),
    ("/workflows schedule Import daily 9 'all of it'", "all of it"),
    ("/stats report daily 9 --only runs", "nly runs"),
    ("/stats report daily 9 --compare 7d", "ompared with 7d ago"),
]


async def test_schedules_at_one_time_are_told_apart(harness: Harness) -> None:
    for line, _said in LIKE:
        await harness.type_command(line, ALICE, PRIVATE)
    await harness.type_command("/schedules", ALICE, PRIVATE)
    listed = words_at(harness, ALICE)
    dialogs = re.findall(r"'confirm': \{'title'.*?'text': \{'type': 'plain_text', 'text': (.*?), 'emoji'", listed)
    await harness.slack.people.open_home(ALICE)
    await harness.work()
    home = str(harness.seen.homes[-1]["view"])

    assert len(set(dialogs)) == len(LIKE)
    for _line, said in LIKE:
        assert said in listed
        assert [said in dialog for dialog in dialogs].count(True) == 1
    assert [said in home for _line, said in LIKE].count(True) == 3


async def test_what_tells_schedules_apart_is_for_those_who_may_read_it(harness: Harness) -> None:
    lines = ['/agents ask Support daily 9 "Who has the keys?"', '/workflows schedule Import daily 9 {"day": "monday"}']
    for line in lines:
        await harness.type_command(line, ALICE, PRIVATE)

    for user, may in ((BOB, True), (CAROL, False)):
        await harness.type_command("/schedules", user, RANDOM)
        said = words_at(harness, user)
        assert ("the keys" in said, "monday" in said) == (may, may)
        if not may:
            await harness.press("report:delete", user=user)
            assert "the keys" not in words_at(harness, user)
            assert "monday" not in words_at(harness, user)
    assert len(await tasks(harness)) == 1
    (notice,) = [one for one in harness.seen.messages if one.place.channel == DM_ALICE]
    assert "the keys" in notice.words or "monday" in notice.words
    await harness.at(SLOT)
    audit = str(await harness.store.redis.xrange("{test}:audit"))
    assert "ask Support" in audit
    assert "the keys" not in audit


async def test_a_likely_secret_isnt_listed(harness: Harness) -> None:
    await type_line(harness, '/workflows schedule Import daily 9 {"password": "hunter2", "day": "monday"}')

    assert "hunter2" not in await type_line(harness, "/schedules")
    assert "hunter2" not in str(harness.slack.responses[-1].content)


async def test_a_question_links_the_thread_it_continues(harness: Harness) -> None:
    await type_line(harness, '/agents ask Support daily 9 "What changed?" --continue')
    await harness.at(SLOT)
    (root,) = [one for one in harness.seen.messages if "Scheduled question" in one.text]

    await type_line(harness, "/schedules")

    shown = str(harness.slack.responses[-1].content["blocks"])
    assert f"p{root.ts.replace('.', '')}', 'text': 'open the thread'" in shown
