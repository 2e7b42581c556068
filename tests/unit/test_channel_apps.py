"""Apps whose messages count in a channel: which do, what they start, and what holds them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from redis.asyncio import Redis

from bridge.features.access import Access
from bridge.features.channels import forms
from bridge.features.conversations.receive import Received, Receiver
from bridge.features.registry import features
from bridge.features.shared.channels import MOST_APPS, NOTHING_SET, AppRule, ChannelSettings
from bridge.inbound import Alert, Click, InboundMessage, SlashCommand, Submission
from bridge.playground.emulator.limits import check_view
from bridge.queue.inbox import Queued
from bridge.queue.records import Limits
from bridge.slack.blockkit.modals import FormErrors
from bridge.slack.parts import Place
from support.store import CHANNEL, ROOT, START, TEAM, THREAD, USER, Store, a_store, message, ts
from support.turns import BOT, Bench, MemoryDirectory

APP = "A0ALERTS"
QUEUED = Received("queued")
ASKS = AppRule(agent=7, name="Alerts", owner=USER)
RUNS = AppRule(workflow=3, name="Alerts", owner=USER)


@dataclass
class Door:
    store: Store
    directory: MemoryDirectory = field(default_factory=lambda: MemoryDirectory(apps={"B0HOOK": APP}))
    rules: dict[str, frozenset[str]] = field(default_factory=dict)

    async def posted(self, text: str = "disk full", ts: str = ROOT, app: str = APP, **changes: Any) -> Received:
        return await self.receiver().receive(alert(text, ts, app, **changes))

    def receiver(self) -> Receiver:
        access = Access(home=frozenset({"T1"}), directory=self.directory, **self.rules)
        inbox = self.store.process().inbox
        return Receiver(inbox, access, features, self.store.channels, BOT, lambda: START)


def alert(text: str = "disk full", ts: str = ROOT, app: str = APP, **changes: Any) -> InboundMessage:
    return message(text, ts, **{"user": "UALERTS", "app": app, "app_name": "Alerts", "is_text": True, **changes})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, QUEUED),
        ({"app": "B0HOOK"}, QUEUED),
        ({"text": "", "parts": (Alert(text="disk full"),)}, QUEUED),
        ({"text": f"<@{BOT}> !stop"}, QUEUED),
        ({"app": "A0OTHER"}, Received("ignored", "written by an app that doesn't count here (A0OTHER)")),
        ({"app": "B0OTHER"}, Received("ignored", "written by an app that doesn't count here (B0OTHER)")),
        (
            {"channel": "C2", "app": "B0HOOK"},
            Received("ignored", "written by an app that doesn't count here (B0HOOK)"),
        ),
        ({"ts": ts(1)}, Received("ignored", "written by an app, in a thread")),
        (
            {"ts": ts(1), "text": f"<@{BOT}> hi", "is_mention": True},
            Received("ignored", "written by an app, in a thread"),
        ),
        ({"text": " "}, Received("ignored", "no text")),
        ({"is_shared": True}, Received("ignored", "written by an app of another workspace")),
        ({"is_shared": True, "user_team": "T2"}, Received("ignored", "written by an app of another workspace")),
        ({"is_shared": True, "user_team": "T1"}, QUEUED),
    ],
)
@pytest.mark.parametrize("rule", [ASKS, RUNS], ids=["agent", "workflow"])
async def test_which_messages_of_apps_count(
    redis: Redis, rule: AppRule, changes: dict[str, Any], expected: Received
) -> None:
    door = Door(await a_store(redis))
    await door.store.set_channel(apps={APP: rule})
    if changes.get("ts"):
        await door.store.conversation()

    assert await door.posted(**changes) == expected


async def test_apps_count_nowhere_by_default(redis: Redis) -> None:
    door = Door(await a_store(redis))
    await door.store.set_channel(answers="all", agent=7)

    assert (await door.posted()).decision == "ignored"


async def test_apps_do_not_count_where_the_bridge_is_not_open(redis: Redis) -> None:
    door = Door(await a_store(redis), rules={"allowed_channels": frozenset({"C9"})})
    await door.store.set_channel(apps={APP: RUNS})

    assert await door.posted() == Received("ignored", "the bridge is not open in its channel")


async def test_people_who_may_not_talk_do_not_keep_apps_out(redis: Redis) -> None:
    door = Door(await a_store(redis), rules={"allowed_users": frozenset({"U9"})})
    await door.store.set_channel(apps={APP: ASKS})

    assert await door.posted() == QUEUED


@pytest.mark.parametrize("rule", [ASKS, RUNS], ids=["agent", "workflow"])
async def test_a_message_that_slack_repeats_counts_once(redis: Redis, rule: AppRule) -> None:
    door = Door(await a_store(redis))
    await door.store.set_channel(apps={APP: rule})

    assert await door.posted() == QUEUED
    assert await door.posted(event_id="EvAgain", retry=1) == Received("duplicate")


async def test_an_app_beyond_its_limit_starts_nothing_and_the_channel_is_told_once(redis: Redis) -> None:
    door = Door(await a_store(redis, limits=Limits(thread_turns=60, app_turns=3)))
    await door.store.set_channel(apps={APP: RUNS, "A2": ASKS})

    received = [await door.posted(ts=f"1700000{number}00.000100") for number in range(6)]

    held = Received("ignored", f"its app, {APP}, has posted more in a minute than may count")
    assert received == [QUEUED] * 3 + [held] * 3
    assert await door.posted(ts="1700000900.000100", app="A2") == QUEUED
    process = door.store.process()
    bodies = [(await process.take(one)).record.body for one in await process.hold()]
    told = [body for body in bodies if body.kind == "notice"]
    assert [(one.what, one.channel, one.thread_ts) for one in told] == [("app_paused:Alerts", CHANNEL, "")]


async def test_a_change_of_an_answered_message_asks_nobody(redis: Redis) -> None:
    door = Door(await a_store(redis))
    await door.store.set_channel(apps={APP: ASKS})
    await door.posted()
    process = door.store.process()
    taken = await process.take()
    await process.journal.sent(taken)

    received = await door.receiver().edited(alert("resolved", edited_ts=ts(9)))

    assert received == Received("known")
    assert await process.hold() == []


async def test_changes_of_other_apps_messages_cost_nothing(redis: Redis) -> None:
    door = Door(await a_store(redis))

    received = await door.receiver().edited(alert("resolved", edited_ts=ts(9)))

    assert received.decision == "ignored"


async def posts(bench: Bench, rule: AppRule, text: str = "disk full", **changes: Any) -> None:
    """Let the app post, and let that be worked on."""
    await bench.store.set_channel(apps={APP: rule})
    assert await bench.receiver().receive(alert(text, **changes)) == QUEUED
    await bench.work()


async def test_an_agent_answers_an_app_in_the_thread_of_its_message(bench: Bench) -> None:
    await posts(bench, ASKS, "Nobody: disk full on <@U7>", parts=(Alert(text="93 %"),))

    assert [one["agent"] for one in bench.service.asked] == [7]
    assert bench.service.messages[0].startswith("Nobody: disk full on @U7")
    assert "93 %" in bench.service.messages[0]
    assert [one.place for one in bench.say.replies()] == [Place(CHANNEL, ROOT)]
    conversation = await bench.store.sessions.thread(THREAD)
    assert conversation is not None
    assert conversation.agent == 7


async def test_a_workflow_runs_with_what_an_app_posts(bench: Bench) -> None:
    bench.directory.users = {USER: "Ada"}
    await posts(bench, RUNS, "disk full", parts=(Alert(text="93 %"),))

    (ran,) = bench.service.runs
    assert ran.startswith("disk full")
    assert "93 %" in ran
    (card,) = bench.say.replies("bridge_run")
    assert card.place == Place(CHANNEL, ROOT)
    assert "Started by Alerts, set up by Ada" in str(card.reply.blocks)
    assert await bench.store.sessions.thread(THREAD) is None


async def test_a_workflow_does_not_run_once_its_owner_may_not_run_it(bench: Bench) -> None:
    bench.directory.users = {USER: "Ada"}
    bench.runners = frozenset({"U9"})

    await posts(bench, RUNS)

    assert bench.service.runs == []
    (told,) = bench.say.messages
    assert told.place == Place(CHANNEL, ROOT)
    assert told.words == (
        "Ada set this up to run a workflow, but no longer has permission to, so nothing was started. "
        "Someone who does can set it up again with /agents channel run."
    )
    assert bench.say.whispers == []


async def test_a_workflow_that_is_gone_is_said_to_everybody(bench: Bench) -> None:
    await posts(bench, AppRule(workflow=99, owner=USER))

    assert bench.say.messages[0].place == Place(CHANNEL, ROOT)
    assert "99" in bench.say.words[0]
    assert bench.say.whispers == []


async def done(bench: Bench, text: str, **fields: Any) -> str:
    """Type a command, and let it be carried out; gives what its person was told."""
    body = SlashCommand(team=TEAM, channel=CHANNEL, user=USER, command="/agents", text=text, **fields)
    assert isinstance(await bench.store.process().inbox.put(body), Queued)
    await bench.work()
    return bench.say.whispers[-1][1].text


@pytest.mark.parametrize(
    ("line", "rule", "told"),
    [
        (f"channel run Import {APP}", {"workflow": 3}, "Posts by Alerts in this channel now run Import."),
        ('channel run 3 "Alerts"', {"workflow": 3}, "Posts by Alerts in this channel now run Import."),
        ("channel ask Support @alerts", {"agent": 7}, "Support now answers posts by Alerts in this channel."),
        ("channel ask Support A0OTHER", {"agent": 7}, "Support now answers posts by A0OTHER in this channel."),
    ],
)
async def test_an_app_is_set_by_its_id_or_its_name(bench: Bench, line: str, rule: dict[str, int], told: str) -> None:
    bench.say.apps = {APP: "Alerts"}

    assert await done(bench, line) == told

    (app, kept), *_ = (await bench.store.channels.get(TEAM, CHANNEL)).apps.items()
    assert kept == AppRule(**rule, owner=USER, name="Alerts" if app == APP else "")
    assert [one.words for one in bench.say.messages] == [f"{told} Changed by somebody."]


async def test_an_app_is_ignored_again(bench: Bench) -> None:
    await bench.store.set_channel(apps={APP: RUNS})

    assert await done(bench, "channel ignore alerts") == "I now ignore posts by Alerts in this channel."

    assert await bench.store.channels.get(TEAM, CHANNEL) == NOTHING_SET


async def test_an_unknown_app_is_answered_with_those_that_have_posted(bench: Bench) -> None:
    bench.say.apps = {APP: "Alerts"}

    told = await done(bench, "channel ask Support Grafana")

    assert told == (
        "No app “Grafana”. Did you mean Alerts? "
        "Use its app ID, such as A0123456789, or its name once it has posted here."
    )


async def test_a_channel_has_room_for_some_apps_only(bench: Bench) -> None:
    await bench.store.set_channel(apps={f"A{number:03}": ASKS for number in range(MOST_APPS)})

    assert "already has 10 apps" in await done(bench, f"channel ask Support {APP}")
    assert APP not in (await bench.store.channels.get(TEAM, CHANNEL)).apps


@pytest.mark.parametrize("line", [f"channel ask Support {APP}", f"channel run Import {APP}", f"channel ignore {APP}"])
async def test_only_runners_let_apps_count(bench: Bench, line: str) -> None:
    bench.runners = frozenset({"U9"})
    await bench.store.set_channel(apps={APP: ASKS})

    assert "permission" in await done(bench, line) or "permission to run workflows" in await done(bench, line)
    assert (await bench.store.channels.get(TEAM, CHANNEL)).apps == {APP: ASKS}


async def test_the_settings_show_what_apps_do(bench: Bench) -> None:
    bench.directory.users = {USER: "Ada"}
    await bench.store.set_channel(apps={APP: RUNS, "A2": AppRule(agent=7, owner="U9")})

    await done(bench, "channel")

    shown = str(bench.say.whispers[-1][1].blocks)
    assert "runs Import · set up by Ada" in shown
    assert "A2" in shown
    assert "answered by Support · set up by U9" in shown


async def test_the_form_sets_what_apps_do(bench: Bench) -> None:
    bench.say.apps = {"A2": "Deploys"}
    await bench.store.set_channel(apps={APP: RUNS})
    click = Click(team=TEAM, channel=CHANNEL, user="U2", action_id="default:form", trigger_id="trigger")
    await bench.store.process().inbox.put(click)
    await bench.work()
    view = bench.say.forms[-1][1]
    check_view(view)
    drawn = {block["block_id"]: block["element"].get("initial_option", {}).get("value") for block in view["blocks"][1:]}
    assert drawn[f"app:{APP}"] == "workflow:3"
    assert drawn["app:A2"] is None

    values = {
        "agent": "none", "answers": "mentions", "replies": "all",
        f"app:{APP}": "workflow:3", "app:A2": "agent:7", "other": "A3NEW", "app:": "workflow:3",
    }  # fmt: skip
    sent = Submission(team=TEAM, channel=CHANNEL, user="U2", form="default", values=values)
    await bench.store.process().inbox.put(sent)
    await bench.work()

    assert (await bench.store.channels.get(TEAM, CHANNEL)) == ChannelSettings(
        apps={
            APP: RUNS,  # still on behalf of who has set it
            "A2": AppRule(agent=7, name="Deploys", owner="U2"),
            "A3NEW": AppRule(workflow=3, owner="U2"),
        }
    )


@pytest.mark.parametrize(
    ("values", "read"),
    [
        ({"app:A1": "workflow:3", "app:A2": "agent:7"}, {"A1": ("workflow", 3), "A2": ("agent", 7)}),
        ({"app:A1": "nothing", "app:A2": "", "app:A3": "odd:1"}, {"A1": None, "A2": None, "A3": None}),
        ({"other": " A12 ", "app:": "agent:7"}, {"A12": ("agent", 7)}),
        ({"other": "Alerts", "app:": "agent:7"}, FormErrors({"other": "An app ID looks like A0123456789."})),
        ({"other": "A12", "app:": ""}, FormErrors({"app:": "Choose what happens with its posts."})),
        ({"other": "", "app:": "agent:7"}, FormErrors({"other": "Enter the app's ID."})),
    ],
)
def test_what_apps_start_is_read_from_the_form(values: dict[str, str], read: Any) -> None:
    found = forms.read_settings_form({"agent": "none", **values})

    assert (found.apps if isinstance(found, forms.Filled) else found) == read
