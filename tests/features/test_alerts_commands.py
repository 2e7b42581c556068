"""Setting up alerts: the preview, the form, the list, and who may change them."""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest

from bridge.features.alerts import forms
from bridge.features.alerts.alert import StoredAlert
from bridge.features.alerts.conditions import read_alert, read_condition
from bridge.features.alerts.store import MOST_ALERTS, AlertStore
from bridge.features.statistics.snapshots import Snapshot, hour_of
from bridge.inbound import Submission
from bridge.playground.emulator.sample import ALICE, BOB, DM_ALICE, GENERAL, RANDOM
from bridge.slack.blockkit.modals import FormErrors
from support.harness import SALES, SUPPORT, WORKFLOW, Harness
from support.restrictions import change_owner
from support.store import TEAM
from support.tables import each

DAY, HOUR = timedelta(days=1), timedelta(hours=1)


async def stored(harness: Harness) -> list[StoredAlert]:
    return await AlertStore(harness.store.scripts).all()


async def typed(harness: Harness, words: str, user: str = BOB) -> str:
    """Type a command; return what its person reads."""
    await harness.type_command(f"/stats {words}", user)
    return harness.seen.ephemerals[-1].text


async def pressed(harness: Harness, action_id: str, value: str = "", user: str = BOB) -> str:
    await harness.press(action_id, value, user)
    return harness.seen.ephemerals[-1].text


async def record(harness: Harness, days: int, quiet: int) -> None:
    """Record one run an hour for some *days*, without any for 30 hours, *quiet* times."""
    now, deps = harness.store.clock(), harness.parts().turns.deps
    numbers, runs = deps.statistics(deps.projects.default).store, 1000
    for hours in range(24 * days, 0, -1):
        at = now - hours * HOUR
        is_quiet = any(30 > begin * 72 - hours >= 0 for begin in range(1, quiet + 1))
        runs += not is_quiet
        await numbers.add(hour_of(at), Snapshot(at, {"runs": runs}, {}))
    harness.service.stats["runCount"] = runs + 1


async def test_a_preview_comes_before_the_alert(harness: Harness) -> None:
    await record(harness, 40, quiet=3)

    said = await typed(harness, "alert runs < 1 in 24h #random")
    blocks = str(harness.seen.ephemerals[-1].blocks)

    assert said == "runs &lt; 1 in 24h: Would have alerted 3 times in the last 30 days. Now: 24 runs in the last 24 h."
    assert blocks.count("⚠️ From <!date^") == 3
    (chart,) = (one for one in harness.seen.ephemerals[-1].blocks or [] if one["type"] == "data_visualization")
    shown = chart["chart"]["series"][0]["data"]
    assert min(point["value"] for point in shown) == 0, "what it would have alerted about is seen"
    assert all(":" not in point["label"] for point in shown)
    assert RANDOM in blocks
    assert await stored(harness) == []

    said = await pressed(harness, "alert:save")

    assert said == "Alert set up: runs &lt; 1 in 24h. It's checked every minute."
    (alert,) = await stored(harness)
    assert alert.spec.model_dump(exclude_defaults=True) == {
        "condition": "runs < 1 in 24h", "zone": "Europe/Berlin", "team": TEAM, "channel": RANDOM, "owner": BOB,
    }  # fmt: skip


async def test_a_channel_in_a_name_isnt_the_alerts(harness: Harness) -> None:
    await harness.slack.people.say(ALICE, DM_ALICE, '!stats alert category "<#C0RANDOM|random>" > 40% #general')
    await harness.work()
    await harness.press("alert:save")

    (alert,) = await stored(harness)
    assert (alert.spec.condition, alert.spec.channel) == ('category "#random" > 40%', GENERAL)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Team “A”", "'Team “A”'"),
        ("«Ventes»", "'«Ventes»'"),
        ('Bob\'s "best" bot', "'Bob's \"best\" bot'"),
        ('Bobs\' "best" bot', '"7"'),
        ("x" * 1001, '"7"'),
    ],
)
async def test_an_alert_shows_the_name_of_an_agent_or_the_id_if_it_cant_be_quoted(
    harness: Harness, name: str, shown: str
) -> None:
    harness.service.agents, harness.service.workflows = [{**SUPPORT, "name": name}], [{**WORKFLOW, "name": name}]

    await set_up(harness, words="agent 7 fails then run 3")

    (alert,) = await stored(harness)
    assert (alert.spec.target, alert.spec.run, alert.spec.condition) == (7, 3, f"agent {shown} fails in 1h")
    assert read_condition(alert.spec.condition).name == shown[1:-1]


@each(
    ("typed", "name", "run"),
    [
        ("agent 'Bob's bot' fails", "Bob's bot", ""),
        ("agent 'Bob's “best” bot' fails then run 'Ann's'", "Bob's “best” bot", "Ann's"),
        ("category 'it's “x”' > 5", "it's “x”", ""),
    ],
)
def test_an_apostrophe_in_a_word_ends_no_quoted_name(typed: str, name: str, run: str) -> None:
    alert = read_alert(typed)

    assert (alert.condition.name, alert.run) == (name, run)
    assert read_condition(alert.condition.words) == alert.condition


async def test_an_alert_that_runs_an_inactive_workflow_says_it_asks(harness: Harness) -> None:
    harness.service.workflows = [{**WORKFLOW, "is_active": False}]
    warning = "Import is inactive, so I'll ask each time before it runs."

    await typed(harness, "alert runs < 1 in 24h then run Import")
    assert warning in str(harness.seen.ephemerals[-1].blocks)

    await pressed(harness, "alert:save")
    assert warning in str(harness.seen.ephemerals[-1].blocks)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("runs > 5 in 1h", "Not yet: there are no recorded numbers from 1 h ago to compare with yet."),
        ("runs > 5000", "Wouldn't have alerted in the last day. Now: 4,321 runs."),
        ("dead letters > 0", "Now: no work failed."),
    ],
)
async def test_a_preview_is_shown_only_if_there_is_one(harness: Harness, words: str, said: str) -> None:
    typed_text = await typed(harness, f"alert {words}")

    shown = str(harness.seen.ephemerals[-1].blocks)
    assert typed_text.endswith(f": {said}")
    assert ("Preview of an alert" in shown, "New alert" in shown) == (
        "have alerted" in said,
        "have alerted" not in said,
    )


async def test_too_few_weeks_are_said_at_once(harness: Harness) -> None:
    await record(harness, 10, quiet=0)

    said = await typed(harness, "alert runs > 3x usual")
    confirmed = await pressed(harness, "alert:save")

    assert "Not yet: what's usual isn't known yet: runs need two weeks of numbers since 2026-02-22." in said
    assert "It can't alert yet" in confirmed


@each(
    ("words", "said"),
    [
        (
            "alert when it rains",
            "I don't understand “when it rains”: expected a condition, such as runs &lt; 1 in 24h.",
        ),
        (
            "alert runs < many",
            "I don't understand “many”: expected a whole number or a share, such as runs &lt; 1 in 24h.",
        ),
        ("alert agent Suport p95 > 60s", "Did you mean Support?"),
        ("alert workflow 99 fails", "No workflow 99."),
        ("alert runs < 1 in 24h then run Nothing", "No workflow “Nothing”."),
        ("alert runs < 1 in 24h #nowhere", "I can't find “#nowhere”"),
    ],
)
async def test_a_mistake_is_named(harness: Harness, words: str, said: str) -> None:
    text = await typed(harness, words)

    assert said in text
    assert await stored(harness) == []


async def test_names_become_ids(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]

    await typed(harness, 'alert agent sales p95 > 60s then run "import"')
    await pressed(harness, "alert:save")

    (alert,) = await stored(harness)
    assert (alert.spec.target, alert.spec.run, alert.spec.run_name) == (SALES["id"], WORKFLOW["id"], "Import")


async def test_the_same_alert_is_set_up_once(harness: Harness) -> None:
    await typed(harness, "alert runs > 5000")
    await pressed(harness, "alert:save")

    said = await typed(harness, "alert RUNS above 5,000", user=ALICE)

    assert said == "This alert already exists: runs &gt; 5000, set up by Bob Brandt."


async def test_a_preview_saved_twice_is_one_alert(harness: Harness) -> None:
    await typed(harness, "alert runs > 5000")
    message = harness.seen.ephemerals[-1].message
    value = next(
        one["value"]
        for block in message.blocks or []
        for one in block.get("elements", [])
        if one.get("action_id") == "alert:save"
    )
    for _ in range(2):
        await harness.click("alert:save", value, user=BOB, is_ephemeral=True)
        await harness.work()

    assert len(await stored(harness)) == 1


async def next_form(harness: Harness, what: str) -> dict[str, Any]:
    """Open the form as Bob, and choose what to watch; return the form that asks what that needs."""
    await harness.type_command("/stats alert", BOB)
    await harness.slack.ui.submit(harness.slack.views(BOB)[-1].id, {"what": what}, BOB)
    return dict(harness.slack.views(BOB)[-1].content)


@pytest.mark.parametrize(
    ("what", "values", "condition"),
    [
        ("words", {"condition": "runs > 5000"}, "runs > 5000"),
        ("fails", {}, "failed runs > 0 in 1h"),
        ("fails", {"workflow": "3"}, 'workflow "Import" fails in 1h'),
        ("runs", {"count": "1"}, "runs < 1 in 24h"),
        ("runs", {"than": ">", "count": "3x usual", "span": "7d"}, "runs > 3x usual in 7d"),
        ("answers", {"agent": "7"}, 'agent "Support" p95 > 1m in 1h'),
        ("answers", {"agent": "7", "how": "fails"}, 'agent "Support" fails in 1h'),
        ("down", {}, "service down 5m"),
        ("share", {"category": 'Bill"ing', "percent": "40"}, 'category "Bill ing" > 40%'),
    ],
)
async def test_a_form_asks_one_thing_at_a_time_and_leads_to_the_preview(
    harness: Harness, what: str, values: dict[str, str], condition: str
) -> None:
    harness.service.agents, harness.service.workflows = [SUPPORT], [WORKFLOW]
    view = await next_form(harness, what)
    names = [block["block_id"] for block in view["blocks"]]
    assert names[-2:] == ["channel", "run"]

    chosen: dict[str, Any] = {**values, "channel": RANDOM, "run": "3"}
    for menu in {"run", "workflow", "agent"} & chosen.keys():  # the options that the bridge offers
        [option] = await harness.slack.ui.suggestions(BOB, harness.slack.views(BOB)[-1], menu, "")
        assert option["value"] == chosen[menu]
        chosen[menu] = option
    await harness.slack.ui.submit(harness.slack.views(BOB)[-1].id, chosen, BOB)
    await harness.work()
    await pressed(harness, "alert:save")

    (alert,) = await stored(harness)
    assert (alert.spec.condition, alert.spec.channel, alert.spec.run) == (condition, RANDOM, 3)


@pytest.mark.parametrize(
    ("what", "values", "field"),
    [
        ("words", {"condition": "when it rains"}, "condition"),
        ("runs", {"count": "many"}, "count"),
        ("answers", {}, "agent"),
        ("answers", {"agent": "7", "seconds": "-1"}, "seconds"),
        ("down", {"minutes": "a while"}, "minutes"),
        ("share", {"category": "Billing", "percent": "most"}, "percent"),
    ],
)
def test_an_error_is_shown_at_its_field(what: str, values: dict[str, str], field: str) -> None:
    values = {"seconds": "60"} | values if what == "answers" else values

    read = forms.WATCHES[what].read(values)

    assert isinstance(read, FormErrors)
    assert list(read.by_block) == [field]


async def test_without_a_choice_the_form_stays_open(harness: Harness) -> None:
    await harness.type_command("/stats alert", BOB)
    sent = Submission(team=TEAM, channel=RANDOM, user=BOB, form="alert:what", values={})

    assert harness.parts().turns.features.stays_open(sent) == FormErrors({"what": "Choose one."})


async def test_a_form_shows_its_errors(harness: Harness) -> None:
    sent = Submission(team=TEAM, channel=RANDOM, user=BOB, form="alert", values={"condition": "when it rains"})

    shown = harness.parts().turns.features.stays_open(sent)

    assert isinstance(shown, FormErrors)
    assert "expected a condition" in shown.by_block["condition"]


async def set_up(harness: Harness, user: str = BOB, words: str = "runs > 5000") -> None:
    await typed(harness, f"alert {words}", user)
    await pressed(harness, "alert:save", user=user)


async def test_the_list_shows_states_and_changes_them(harness: Harness) -> None:
    assert await typed(harness, "alerts") == "No alerts are set up yet."
    await set_up(harness)
    assert await typed(harness, "alerts") == "Alerts\n✅ runs &gt; 5000 in <#C0GENERAL> · Bob Brandt\nWatching"

    assert "Paused" in await pressed(harness, "alert:pause")
    assert "Watching" in await pressed(harness, "alert:resume")
    id_ = (await stored(harness))[0].id
    assert "Snoozed" in await pressed(harness, "alert:snooze", f"1h:0:{id_}")
    assert "Watching" in await pressed(harness, "alert:snooze", f"off:0:{id_}")
    assert "Deleted: runs &gt; 5000." in await pressed(harness, "alert:delete")
    assert await stored(harness) == []


async def test_a_deleted_alert_cannot_be_changed(harness: Harness) -> None:
    await set_up(harness)
    await typed(harness, "alerts")
    await harness.store.process().inbox.write(*AlertStore(harness.store.scripts).delete((await stored(harness))[0].id))

    assert await pressed(harness, "alert:pause") == "This alert was already deleted."


async def test_guests_neither_set_up_nor_change_alerts(harness: Harness) -> None:
    await set_up(harness, ALICE)
    await harness.type_command("/stats alerts", BOB)
    change_owner(harness, is_restricted=True)
    harness.configure()

    denied = await typed(harness, "alert runs > 1")
    refused = await pressed(harness, "alert:pause")
    await harness.type_command("/stats alerts", BOB)

    assert "alert:pause" not in str(harness.slack.responses[-1].content)
    assert denied.startswith("You don't have permission to set up alerts.")
    assert refused.startswith("Only the person who set up this alert")


async def test_there_is_a_limit(harness: Harness) -> None:
    await typed(harness, "alert runs > 5000")
    alerts = {f"x{number}": number for number in range(MOST_ALERTS)}
    await harness.store.redis.zadd(harness.store.scripts.keys.alerts(), alerts)

    assert (await pressed(harness, "alert:save")).startswith("The limit of 1,000 alerts has been reached.")
    assert await stored(harness) == []


async def test_alerts_belong_to_the_channels_project(harness: Harness) -> None:
    harness.serve("orders", orders=GENERAL)
    harness.others["orders"].stats["runCount"] = 77

    said = await typed(harness, "alert runs > 5000")
    await pressed(harness, "alert:save")

    assert said.endswith("Now: 77 runs.")
    assert [one.spec.project for one in await stored(harness)] == ["orders"]


async def edited(harness: Harness, condition: str, user: str = BOB) -> str:
    """Open the form of the first alert in the list, change its condition, and save that; return what's said."""
    await typed(harness, "alerts", user)
    await harness.press("alert:edit", user=user)
    view = harness.seen.forms[-1]
    sent = {"form": "alert", "values": {"condition": condition, "channel": GENERAL}, "opened_in": GENERAL}
    submission = Submission(
        team=TEAM, channel=GENERAL, user=user, **sent, private_metadata=view["private_metadata"],
        response_url=harness.response_url(user),
    )  # fmt: skip
    await harness.store.process().inbox.put(submission)
    await harness.work()
    return await pressed(harness, "alert:save", user=user)


async def test_an_edited_alert_keeps_its_state(harness: Harness) -> None:
    await typed(harness, "alert runs > 5000")
    await pressed(harness, "alert:save")

    said = await edited(harness, "runs > 9000 then run Import")

    (alert,) = await stored(harness)
    assert said.startswith("Alert changed: runs &gt; 9000.")
    assert (alert.spec.condition, alert.spec.run, alert.spec.owner) == ("runs > 9000", WORKFLOW["id"], BOB)
    assert harness.seen.forms[-1]["blocks"][0]["element"]["initial_value"] == "runs > 5000"
    assert harness.seen.forms[-1]["title"]["text"] == "Edit alert"


NAMED_ANEW = {**SUPPORT, "name": "Helpdesk"}, {**SUPPORT, "id": 9}


@pytest.mark.parametrize(
    ("agents", "edit", "agent"),
    [
        (NAMED_ANEW, 'agent "Support" p95 > 90s', (7, "Helpdesk")),
        (NAMED_ANEW, "agent support fails", (7, "Helpdesk")),
        (NAMED_ANEW, "agent 9 fails", (9, "Support")),
        ((SUPPORT, {**SUPPORT, "id": 9}), 'agent "Support" p95 > 90s', (7, "Support")),
        ((SUPPORT, SALES), 'agent "Sales" p95 > 90s', (SALES["id"], "Sales")),
    ],
)
async def test_an_edited_alert_keeps_what_isnt_named_anew(
    harness: Harness, agents: list[Any], edit: str, agent: tuple[int, str]
) -> None:
    harness.service.agents, harness.service.workflows = [SUPPORT], [WORKFLOW]
    await set_up(harness, words="agent Support p95 > 60s then run Import")
    harness.service.agents = [*agents]
    harness.service.workflows = [{**WORKFLOW, "name": "Old"}, {**WORKFLOW, "id": 11}]
    harness.monotonic += 60

    await edited(harness, f'{edit} then run "Import"')

    (alert,) = await stored(harness)
    assert (alert.spec.target, alert.spec.parsed.name, alert.spec.run, alert.spec.run_name) == (*agent, 3, "Old")
    words = 'agent "Support" p95 > 1m in 1h then run "Import"'
    assert harness.seen.forms[-1]["blocks"][0]["element"]["initial_value"] == words


async def test_an_alert_isnt_edited_for_another_agent_with_the_name(harness: Harness) -> None:
    harness.service.agents = [SUPPORT]
    await set_up(harness, words="agent Support fails")
    harness.service.agents = [{**SUPPORT, "id": 9}]
    harness.monotonic += 60

    with suppress(ValueError):  # no button to save it
        await edited(harness, 'agent "Support" p95 > 90s')

    (alert,) = await stored(harness)
    assert (alert.spec.target, alert.spec.parsed.subject) == (7, "fails")
    assert harness.seen.ephemerals[-1].text == "No agent 7. It may have been deleted; choose another one."


async def test_an_edited_alert_stays_in_its_project(harness: Harness) -> None:
    await typed(harness, "alert runs > 5000")
    await pressed(harness, "alert:save")
    harness.serve("orders", orders=GENERAL)

    await edited(harness, "runs > 9000")

    assert [(one.spec.condition, one.spec.project) for one in await stored(harness)] == [("runs > 9000", "")]


async def test_who_edits_an_alert_owns_it(harness: Harness) -> None:
    await typed(harness, "alert runs > 5000", ALICE)
    await pressed(harness, "alert:save", user=ALICE)

    await edited(harness, "runs > 9000")

    (alert,) = await stored(harness)
    assert alert.spec.owner == BOB
    assert any("changed your alert" in one.text for one in harness.seen.messages)


async def test_a_deleted_alert_is_not_changed(harness: Harness) -> None:
    await typed(harness, "alert runs > 5000")
    await pressed(harness, "alert:save")
    await typed(harness, "alerts")
    await harness.parts().turns.deps.inbox.write(
        *AlertStore(harness.store.scripts).delete((await stored(harness))[0].id)
    )

    assert "already deleted" in await pressed(harness, "alert:edit")
