"""Apps that may post to an agent: which messages are accepted, what they start, and how they are limited."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.ends.decisions import Received
from bridge.features.channels import forms
from bridge.features.channels.settings import MOST_APPS, NOTHING_SET, AppRule, ChannelSettings
from bridge.inbound import Alert, InboundMessage, Submission
from bridge.playground.emulator.limits import check_view
from bridge.playground.emulator.sample import BOB, CAROL, OTHER_BOT, RANDOM
from bridge.slack.blockkit.modals import FormErrors
from bridge.slack.parts import Place
from support.harness import WORKFLOW, Harness
from support.restrictions import ONE_OF_EACH, Restriction
from support.store import BOT, CHANNEL, ROOT, TEAM, THREAD, USER, message, ts
from support.tables import each

APP, ITS_BOT = "A0OTHERBOT", "B0OTHERBOT"
QUEUED = Received("queued")
ANY_NAME = "That includes everything this app posts, under any name."
ASKS = AppRule(agent=7, name="Alerts", owner=USER)
RUNS = AppRule(workflow=3, name="Alerts", owner=USER)


def alert(text: str = "disk full", ts: str = ROOT, app: str = APP, **changes: Any) -> InboundMessage:
    return message(text, ts, **{"user": OTHER_BOT, "app": app, "app_name": "Alerts", "source": "app", **changes})


async def posted(harness: Harness, text: str = "disk full", ts: str = ROOT, app: str = APP, **changes: Any) -> Received:
    return await harness.receive(alert(text, ts, app, **changes))


def has_posted(harness: Harness, app: str, name: str) -> None:
    """Post one message of an app in the channel."""
    profile = {"app_id": app, "name": name}
    harness.write(ts(-1), "up again", user=OTHER_BOT, bot_id=ITS_BOT, app_id=app, bot_profile=profile)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, QUEUED),
        ({"app": ITS_BOT}, QUEUED),
        ({"text": "", "parts": (Alert(text="disk full"),)}, QUEUED),
        ({"text": f"<@{BOT}> !stop"}, QUEUED),
        ({"app": "A0OTHER"}, Received("ignored", "posted by an app without a rule here (A0OTHER)")),
        ({"app": "B0OTHER"}, Received("ignored", "posted by an app without a rule here (B0OTHER)")),
        ({"channel": RANDOM, "app": ITS_BOT}, Received("ignored", f"posted by an app without a rule here ({ITS_BOT})")),
        ({"ts": ts(1)}, Received("ignored", "posted by an app in a thread")),
        (
            {"ts": ts(1), "text": f"<@{BOT}> hi", "is_mention": True},
            Received("ignored", "posted by an app in a thread"),
        ),
        ({"text": " "}, Received("ignored", "no text")),
        ({"is_shared": True}, Received("ignored", "posted by an app from another workspace")),
        ({"is_shared": True, "user_team": "T2"}, Received("ignored", "posted by an app from another workspace")),
        ({"is_shared": True, "user_team": TEAM}, QUEUED),
    ],
)
@pytest.mark.parametrize("rule", [ASKS, RUNS], ids=["agent", "workflow"])
async def test_the_rules_decide_which_app_messages_count(
    harness: Harness, rule: AppRule, changes: dict[str, Any], expected: Received
) -> None:
    await harness.store.set_channel(apps={APP: rule})
    if changes.get("ts"):
        await harness.store.conversation()

    assert await posted(harness, **changes) == expected


async def test_apps_start_nothing_by_default(harness: Harness) -> None:
    await harness.store.set_channel(answers="all", agent=7)

    assert (await posted(harness)).decision == "ignored"


@pytest.mark.parametrize("rule", [ASKS, RUNS], ids=["agent", "workflow"])
async def test_a_message_that_slack_repeats_counts_once(harness: Harness, rule: AppRule) -> None:
    await harness.store.set_channel(apps={APP: rule})

    assert await posted(harness) == QUEUED
    assert await posted(harness, event_id="EvAgain", retry=1) == Received("duplicate")


async def test_an_app_beyond_its_limit_starts_nothing_and_one_notice_says_so(harness: Harness) -> None:
    harness.configure(BRIDGE_THREAD_TURNS_PER_MINUTE="60", BRIDGE_APP_TURNS_PER_MINUTE="3")
    await harness.store.set_channel(apps={APP: RUNS, "A2": ASKS})

    received = [await posted(harness, ts=f"1700000{number}00.000100") for number in range(6)]

    held = Received("ignored", f"its app, {APP}, is posting too fast")
    assert received == [QUEUED] * 3 + [held] * 3
    assert await posted(harness, ts="1700000900.000100", app="A2") == QUEUED
    process = harness.store.process()
    bodies = [(await process.take(one)).record.body for one in await process.hold()]
    notice = [body for body in bodies if body.kind == "notice"]
    assert [(one.what, one.channel, one.thread_ts) for one in notice] == [("app_paused", CHANNEL, "")]
    assert "Alerts is posting too fast" in notice[0].reply["text"]


async def test_an_edit_of_an_answered_app_message_is_queued_without_an_offer(harness: Harness) -> None:
    await harness.store.set_channel(apps={APP: ASKS})
    await posted(harness)
    process = harness.store.process()
    taken = await process.take()
    await process.journal.sent(taken)

    received = await harness.receiver.edited(alert("resolved", edited_ts=ts(9)))

    assert received == QUEUED
    await process.journal.release(taken.held)
    await harness.work()
    assert harness.service.messages == ["resolved"]
    assert harness.seen.ephemerals == []


async def test_changes_of_other_apps_messages_cost_nothing(harness: Harness) -> None:

    received = await harness.receiver.edited(alert("resolved", edited_ts=ts(9)))

    assert received.decision == "ignored"


async def posts(harness: Harness, rule: AppRule, text: str = "disk full", **changes: Any) -> None:
    """Deliver a message of the app and process it."""
    await harness.store.set_channel(apps={APP: rule})
    assert await harness.receive(alert(text, **changes)) == QUEUED
    await harness.work()


async def test_an_agent_answers_an_app_in_the_thread_of_its_message(harness: Harness) -> None:
    await posts(harness, ASKS, "Nobody: disk full on <@U0BOB>", parts=(Alert(text="93 %"),))

    assert [one["agent"] for one in harness.service.asked] == [7]
    assert harness.service.messages[0].startswith("Nobody: disk full on @Bob Brandt")
    assert "93 %" in harness.service.messages[0]
    assert [one.place for one in harness.seen.replies()] == [Place(CHANNEL, ROOT)]
    conversation = await harness.store.sessions.thread(THREAD)
    assert conversation is not None
    assert conversation.agent == 7


async def test_a_workflow_runs_with_what_an_app_posts(harness: Harness) -> None:
    await posts(harness, RUNS, "disk full", parts=(Alert(text="93 %"),))

    (ran,) = harness.service.runs
    assert ran.startswith("disk full")
    assert "93 %" in ran
    (card,) = harness.seen.replies("bridge_run")
    assert card.place == Place(CHANNEL, ROOT)
    assert "Started by Alerts, set up by Alice Adler" in str(card.blocks)
    assert await harness.store.sessions.thread(THREAD) is None


@pytest.mark.parametrize("restriction", ONE_OF_EACH.values(), ids=ONE_OF_EACH)
@pytest.mark.parametrize("rule", [ASKS, RUNS], ids=["agent", "workflow"])
async def test_a_rule_pauses_with_one_notice_when_its_owner_loses_access(
    harness: Harness, rule: AppRule, restriction: Restriction
) -> None:
    rule = rule.model_copy(update={"owner": BOB})
    await posts(harness, rule)
    count = len(harness.service.asked) + len(harness.service.runs)
    await harness.receive(alert(ts="1700000100.000100"))  # accepted before the change

    restriction.apply(harness)
    harness.monotonic += 60
    await harness.work()
    ignored = [await posted(harness, ts=f"1700000{number}00.000100") for number in (2, 3)]
    await harness.work()

    assert len(harness.service.asked) + len(harness.service.runs) == count == 1
    assert {one.reason.partition(" (")[0] for one in ignored} == {"the rule for its app is paused"}
    notices = [one for one in harness.seen.messages if "no longer answer posts from Alerts" in one.words]
    assert sorted(one.place.channel for one in notices) == sorted(restriction.places)
    assert any(restriction.why in one.words for one in notices)
    assert "⏸️ paused" in await settings_shown(harness)


async def settings_shown(harness: Harness) -> str:
    for rule in ("BRIDGE_ALLOWED_CHANNELS", "BRIDGE_ALLOWED_USERS"):
        harness.environ.pop(rule, None)
    harness.configure()
    await done(harness, "channel")
    return str(harness.seen.ephemerals[-1].blocks)


async def test_a_paused_rule_works_again_once_someone_sets_it_up(harness: Harness) -> None:
    await harness.store.set_channel(apps={APP: ASKS.model_copy(update={"paused": "deactivated"})})

    await done(harness, f"channel ask Support {APP}")
    assert await posted(harness) == QUEUED
    await harness.work()

    assert [one["agent"] for one in harness.service.asked] == [7]


async def test_a_post_starts_nothing_once_its_rule_is_gone(harness: Harness) -> None:
    await harness.store.set_channel(apps={APP: ASKS})
    await posted(harness)
    await harness.store.set_channel(apps={})

    await harness.work()

    assert harness.service.asked == []
    assert harness.seen.messages == []


async def test_a_deleted_workflow_is_reported_in_the_channel(harness: Harness) -> None:
    await posts(harness, AppRule(workflow=99, owner=USER))

    assert harness.seen.messages[0].place == Place(CHANNEL, ROOT)
    assert "99" in harness.seen.texts[0]
    assert harness.seen.ephemerals == []


async def done(harness: Harness, text: str) -> str:
    """Run a command; return the private reply."""
    await harness.type_command(f"/agents {text}")
    return harness.seen.ephemerals[-1].text


@pytest.mark.parametrize(
    ("line", "rule", "notice"),
    [
        (
            f"channel run Import {APP}",
            {"workflow": 3},
            f"Posts from Alerts now run the workflow “Import” in this channel. {ANY_NAME}",
        ),
        ('channel run 3 "Alerts"', {"workflow": 3}, "Posts from Alerts now run the workflow “Import” in this channel."),
        ("channel ask Support @alerts", {"agent": 7}, "Support now answers posts from Alerts in this channel."),
        (
            "channel ask Support A0OTHER",
            {"agent": 7},
            f"Support now answers posts from A0OTHER in this channel. {ANY_NAME}",
        ),
    ],
)
async def test_an_app_is_set_by_its_id_or_its_name(
    harness: Harness, line: str, rule: dict[str, int], notice: str
) -> None:
    has_posted(harness, APP, "Alerts")

    assert await done(harness, line) == "Settings saved."

    (app, kept), *_ = (await harness.store.channels.get(TEAM, CHANNEL)).apps.items()
    assert kept == AppRule(**rule, owner=USER, name="Alerts" if app.startswith(APP) else "")
    assert [one.words for one in harness.seen.messages] == [f"{notice} Changed by Alice Adler."]


async def test_a_rule_for_an_inactive_workflow_says_that_it_asks(harness: Harness) -> None:
    has_posted(harness, APP, "Alerts")
    harness.service.workflows = [{**WORKFLOW, "is_active": False}]

    await done(harness, f"channel run Import {APP}")

    (notice,) = harness.seen.messages
    assert "⚠️ Import is inactive, so I'll ask each time before it runs. Changed by Alice Adler." in notice.words


async def test_an_app_can_be_ignored_again(harness: Harness) -> None:
    await harness.store.set_channel(apps={APP: RUNS})

    assert await done(harness, "channel ignore alerts") == "Settings saved."

    assert await harness.store.channels.get(TEAM, CHANNEL) == NOTHING_SET
    assert [one.words for one in harness.seen.messages] == [
        "I now ignore posts from Alerts in this channel. Changed by Alice Adler."
    ]


async def test_an_unknown_app_is_answered_with_those_that_have_posted(harness: Harness) -> None:
    has_posted(harness, APP, "Alerts")

    notice = await done(harness, "channel ask Support Grafana")

    assert notice == "I haven't seen “Grafana” post here yet, only Alerts. Use the app's ID, such as A0123456789."


async def test_a_channel_has_room_for_some_apps_only(harness: Harness) -> None:
    await harness.store.set_channel(apps={f"A{number:03}": ASKS for number in range(MOST_APPS)})

    assert "already has 10 apps" in await done(harness, f"channel ask Support {APP}")
    assert APP not in (await harness.store.channels.get(TEAM, CHANNEL)).apps


@pytest.mark.parametrize("line", [f"channel ask Support {APP}", f"channel run Import {APP}", f"channel ignore {APP}"])
async def test_only_runners_set_up_apps(harness: Harness, line: str) -> None:
    harness.configure(BRIDGE_RUNNERS=CAROL)
    await harness.store.set_channel(apps={APP: ASKS})

    assert "permission" in await done(harness, line) or "permission to run workflows" in await done(harness, line)
    assert (await harness.store.channels.get(TEAM, CHANNEL)).apps == {APP: ASKS}


async def test_the_settings_show_the_rules_for_apps(harness: Harness) -> None:
    await harness.store.set_channel(apps={APP: RUNS, "A2": AppRule(agent=7, owner="U9")})

    await done(harness, "channel")

    shown = str(harness.seen.ephemerals[-1].blocks)
    assert "runs Import · set up by Alice Adler" in shown
    assert "A2" in shown
    assert "answered by Support · set up by U9" in shown


async def test_the_form_sets_the_rules_for_apps(harness: Harness) -> None:
    has_posted(harness, "A2", "Deploys")
    await harness.store.set_channel(apps={APP: RUNS})
    await harness.click("default:form", user=BOB)
    await harness.work()
    view = harness.seen.forms[-1]
    check_view(view)
    drawn = {block["block_id"]: block["element"].get("initial_option", {}).get("value") for block in view["blocks"][1:]}
    assert drawn[f"app:{APP}"] == "workflow:3"
    assert drawn["app:A2 deploys"] is None

    values = {
        "agent": "none", "answers": "mentions", "replies": "auto",
        f"app:{APP}": "workflow:3", "app:A2 deploys": "agent:7", "other": "A3NEW", "app:": "workflow:3",
    }  # fmt: skip
    sent = Submission(team=TEAM, channel=CHANNEL, user=BOB, form="default", values=values)
    await harness.store.process().inbox.put(sent)
    await harness.work()

    assert (await harness.store.channels.get(TEAM, CHANNEL)) == ChannelSettings(
        apps={
            APP: RUNS,  # the owner is unchanged
            "A2 deploys": AppRule(agent=7, name="Deploys", owner=BOB),
            "A3NEW": AppRule(workflow=3, owner=BOB),
        }
    )


PAUSED = RUNS.model_copy(update={"paused": "deactivated"})
EXCEPTION = AppRule(ignores=True, name="Noise")


@pytest.mark.parametrize(
    ("chosen", "rules"),
    [
        ("", {APP: PAUSED, f"{APP} noise": EXCEPTION}),
        ("workflow:3", {f"{APP} noise": EXCEPTION, APP: RUNS.model_copy(update={"owner": BOB})}),
        ("nothing", {}),
    ],
    ids=["left", "chosen again", "ignored"],
)
async def test_a_paused_rule_stays_until_the_form_says_otherwise(
    harness: Harness, chosen: str, rules: dict[str, AppRule]
) -> None:
    await harness.store.set_channel(apps={APP: PAUSED, f"{APP} noise": EXCEPTION})
    await harness.click("default:form", user=BOB)
    await harness.work()
    name = f"app:{APP}"
    menu = next(block["element"] for block in harness.seen.forms[-1]["blocks"] if block.get("block_id") == name)
    assert menu["placeholder"]["text"] == "⏸️ Paused: Run Import"
    assert "initial_option" not in menu

    values = {"agent": "none", "answers": "all", f"app:{APP}": chosen, f"app:{APP} noise": ""}
    sent = Submission(team=TEAM, channel=CHANNEL, user=BOB, form="default", values=values)
    await harness.store.process().inbox.put(sent)
    await harness.work()

    settings = await harness.store.channels.get(TEAM, CHANNEL)
    assert (settings.answers, settings.apps) == ("all", rules)


@pytest.mark.parametrize(
    ("app", "stays"),
    [(APP, []), ("Alerts", []), (f"{APP} ops", [APP])],
    ids=["the app itself", "its name", "another name"],
)
async def test_a_rule_set_up_beside_a_paused_one_keeps_the_exceptions(
    harness: Harness, app: str, stays: list[str]
) -> None:
    has_posted(harness, APP, "Alerts")
    await harness.store.set_channel(apps={APP: PAUSED, f"{APP} noise": EXCEPTION})

    assert await done(harness, f"channel ask Support {app}") == "Settings saved."

    rules = (await harness.store.channels.get(TEAM, CHANNEL)).apps
    assert rules[f"{APP} noise"] == EXCEPTION
    assert [app for app, rule in rules.items() if rule.paused] == stays


@each(
    ("values", "read"),
    [
        ({"app:A1": "workflow:3", "app:A2": "agent:7"}, {"A1": ("workflow", 3), "A2": ("agent", 7)}),
        ({"app:A1": "nothing", "app:A2": "", "app:A3": "odd:1"}, {"A1": None, "A2": None, "A3": None}),
        ({"app:A1": "agent:" + "9" * 5000}, {"A1": None}),
        ({"other": " A12 ", "app:": "agent:7"}, {"A12": ("agent", 7)}),
        (
            {"other": "Alerts", "app:": "agent:7"},
            FormErrors({"other": "“Alerts” isn't an app ID. Use one such as A0123456789."}),
        ),
        ({"other": "B12", "app:": "agent:7"}, {"B12": ("agent", 7)}),
        ({"other": "A12 Grafana", "app:": "agent:7"}, {"A12 grafana": ("agent", 7)}),
        ({"other": "A12", "app:": ""}, FormErrors({"app:": "Choose what to do with its posts."})),
        ({"other": "", "app:": "agent:7"}, FormErrors({"other": "Enter the app's ID."})),
    ],
)
def test_the_rules_for_apps_are_read_from_the_form(values: dict[str, str], read: Any) -> None:
    found = forms.SettingsForm.read({"agent": "none", **values})

    assert (found.apps if isinstance(found, forms.Filled) else found) == read
