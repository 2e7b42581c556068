"""Rules of the operator's file, from outside: who may do what, at the door and when it happens."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from bridge.ends.decisions import explain
from bridge.features.channels.settings import AppRule
from bridge.features.schedules.schedule import StoredTask, read_run
from bridge.features.workflows import run_card
from bridge.inbound import InboundMessage
from bridge.playground.emulator.faults import DropAfter, Error, Http, RateLimited
from bridge.playground.emulator.sample import (
    ALICE,
    BOB,
    BRIDGE,
    CAROL,
    DM_BOB,
    GENERAL,
    GUEST,
    OTHER_BOT,
    PRIVATE,
    RANDOM,
    RUNNERS,
    SHARED,
    STRANGER,
)
from bridge.queue.trace import trace_of
from support.harness import SALES, SUPPORT, Harness
from support.store import CHANNEL, ROOT, TEAM, message

REFUND = {"id": 3, "name": "Refund all", "is_active": True, "trigger_type": "webhook", "node_count": 5}
DIGEST = {"id": 4, "name": "Digest", "is_active": True, "trigger_type": "manual", "node_count": 1}
FINANCE = f"""
[[rules]]
who = ["{RUNNERS}"]
may = ["run", "schedule"]
workflows = ["Refund *"]
channels = ["{GENERAL}"]

[[rules]]
may = ["ask", "report", "trace"]
"""


@pytest.fixture
def harness(harness: Harness) -> Harness:
    harness.service.workflows, harness.service.agents = [REFUND, DIGEST], [SUPPORT]
    return harness


def private(harness: Harness) -> str:
    """The newest private message of the bot."""
    return harness.seen.ephemerals[-1].words


@pytest.mark.parametrize(
    ("user", "line", "channel", "starts"),
    [
        (ALICE, "run 3 x", GENERAL, True),  # she's in the group
        (BOB, "run 3 x", GENERAL, False),
        (GUEST, "run 3 x", GENERAL, False),
        (ALICE, "run 3 x", RANDOM, False),  # elsewhere
        (ALICE, "run 4 x", GENERAL, False),  # another workflow
        (ALICE, 'run "REFUND All" x', GENERAL, True),
    ],
)
async def test_a_typed_run_starts_only_by_a_rule(
    harness: Harness, user: str, line: str, channel: str, *, starts: bool
) -> None:
    harness.use_file(FINANCE)

    await harness.type_command(f"/workflows {line}", user, channel)

    assert bool(harness.service.runs) is starts


async def test_a_refusal_names_the_rule_and_whom_to_ask(harness: Harness) -> None:
    harness.use_file(FINANCE)

    await harness.type_command("/workflows run 3 x", BOB)

    said = private(harness)
    assert said.startswith("You can't run “Refund all” here: only @runners can, in #general. Ask @runners")
    assert "Alice" not in said
    assert "<!subteam" not in str(harness.seen.ephemerals[-1].blocks)


async def test_a_refusal_lists_several_rules(harness: Harness) -> None:
    harness.use_file(f'{FINANCE}[[rules]]\nwho = ["A0MONITOR01", "{CAROL}"]\nmay = ["run"]\n')

    await harness.type_command("/workflows run 3 x", BOB)

    why = "only @runners can, in #general, or certain apps and certain people can"
    assert f"“Refund all” here: {why}. Ask" in private(harness)


async def test_people_that_a_rule_lists_stay_unnamed(harness: Harness) -> None:
    harness.use_file(f'[[rules]]\nwho = ["{CAROL}"]\nmay = ["run"]')

    await harness.type_command("/workflows run 3 x", BOB)

    assert private(harness) == ("You can't run “Refund all” here: only certain people can. Ask your admin for access.")


async def test_lists_show_only_what_a_person_may_do(harness: Harness) -> None:
    approve = f'approve = {{by = ["{RUNNERS}"]}}'
    harness.use_file(FINANCE.replace('channels = ["C0GENERAL"]', approve))

    await harness.type_command("/workflows", ALICE, works=False)
    await harness.type_command("/workflows", BOB)

    hers, his = (str(one.blocks) for one in harness.seen.ephemerals)
    assert "Refund all" in hers
    assert "🔒 needs approval by @runners" in hers
    assert "Digest" not in hers
    assert "There's no workflow that you can run here. Ask your admin for access." in his


async def test_a_form_is_checked_when_it_is_sent(harness: Harness) -> None:
    harness.use_file(FINANCE)
    await harness.type_command("/workflows run 3", ALICE)
    (view,) = harness.slack.workspace.views.values()
    harness.use_file(FINANCE.replace("Refund *", "Digest"))

    await harness.slack.ui.submit(view.id, {"input": "x"}, ALICE)
    await harness.work()

    assert private(harness).startswith("You can't run “Refund all” here")
    assert harness.service.runs == []


async def test_a_button_counts_the_rights_of_who_presses_it(harness: Harness) -> None:
    harness.use_file(FINANCE)
    await harness.type_command("/workflows run 3 x", ALICE)

    await harness.press(run_card.AGAIN, user=BOB)
    assert len(harness.service.runs) == 1
    await harness.press(run_card.AGAIN, user=ALICE)

    assert len(harness.service.runs) == 2


async def test_a_turn_that_waited_is_decided_by_the_rules_as_they_are(harness: Harness) -> None:
    harness.use_file(FINANCE)
    await harness.type_command("/workflows run 3 x", ALICE, works=False)

    harness.use_file(FINANCE.replace(RUNNERS, CAROL))
    await harness.work()

    assert harness.service.runs == []
    assert private(harness).startswith("You can't run “Refund all” here")


async def test_a_group_that_slack_does_not_list_refuses_and_says_so(harness: Harness) -> None:
    harness.use_file(FINANCE)
    harness.slack.faults.on("usergroups.users.list", Error("missing_scope"))

    await harness.type_command("/workflows run 3 x", ALICE)

    assert harness.service.runs == []
    assert private(harness).startswith("Slack doesn't say who is in @runners, so nothing was done.")


@pytest.mark.parametrize(
    ("fault", "line"),
    [
        (RateLimited(), "/workflows run 3 x"),
        (Error("ratelimited"), "/workflows run 3"),
        (Error("internal_error"), '/workflows schedule 3 daily 9 "x"'),
        (Http(503, "busy"), "/workflows run 3 x"),
        (DropAfter(), "/workflows run 3"),
    ],
)
async def test_a_group_that_slack_cannot_say_now_is_no_refusal(harness: Harness, fault: Any, line: str) -> None:
    harness.use_file(FINANCE)
    harness.slack.faults.on("usergroups.users.list", fault, times=None)

    await harness.type_command(line, ALICE)

    assert harness.service.runs == []
    assert harness.seen.forms == []
    assert private(harness).startswith("Slack didn't answer when I checked whether you may do this")


async def test_why_says_that_slack_did_not_answer(harness: Harness) -> None:
    harness.use_file(FINANCE + '[[rules]]\nmay = ["ask", "trace"]\n')
    harness.slack.faults.on("usergroups.users.list", Error("internal_error"), times=None)
    ts = await harness.slack.people.say(ALICE, GENERAL, f"<@{BRIDGE}> !workflows run 3 x")
    await harness.work()

    await harness.slack.ui.message_shortcut(ALICE, GENERAL, ts, "why")
    await harness.work()

    assert private(harness).startswith("Slack didn't answer when I checked")


@pytest.mark.parametrize(("user", "starts"), [(ALICE, True), (CAROL, False)])
async def test_members_of_a_channel_may_do_what_a_rule_says(harness: Harness, user: str, *, starts: bool) -> None:
    harness.use_file(f'[[rules]]\nwho = ["{PRIVATE}"]\nmay = ["run"]')

    await harness.type_command("/workflows run 3 x", user)

    assert bool(harness.service.runs) is starts
    if not starts:
        assert "private" not in private(harness)  # nor is the channel named


@pytest.mark.parametrize(("user", "starts"), [(ALICE, True), (GUEST, False)])
async def test_guests_are_told_from_members(harness: Harness, user: str, *, starts: bool) -> None:
    harness.use_file('[[rules]]\nwho = ["members"]\nmay = ["run"]')

    await harness.type_command("/workflows run 3 x", user)

    assert bool(harness.service.runs) is starts


@pytest.mark.parametrize(
    ("user", "channel", "said"),
    [
        (STRANGER, SHARED, "Only members of the bridge's own workspace can use it."),
        (GUEST, GENERAL, "You can't run “Refund all” here: guests can't."),
    ],
)
async def test_a_rule_for_everyone_opens_nothing_for_strangers(
    harness: Harness, user: str, channel: str, said: str
) -> None:
    harness.use_file('[[rules]]\nwho = ["guests"]\nmay = ["run"]\nrefuse = true\n[[rules]]')

    await harness.type_command("/workflows run 3 x", user, channel)

    assert harness.service.runs == []
    assert private(harness).startswith(said)


async def test_what_an_agent_says_asks_for_nothing(harness: Harness) -> None:
    harness.use_file('[[rules]]\nmay = ["ask"]\n[[rules]]\nwho = ["U0BRIDGE", "apps"]\nmay = ["run"]')
    harness.service.chats = [
        httpx.Response(200, json={"sessionId": 1, "message": "!workflows run 3 x\n/workflows run 3 x"})
    ]

    await harness.receive(message("hello", user=BOB, is_mention=True))
    await harness.work()

    assert harness.service.runs == []


@pytest.mark.parametrize(("channel", "starts"), [(GENERAL, False), (PRIVATE, True), (DM_BOB, True)])
async def test_a_refusing_rule_closes_public_channels(harness: Harness, channel: str, *, starts: bool) -> None:
    harness.use_file(
        '[[rules]]\nworkflows = ["Refund *"]\nchannels = ["public"]\nrefuse = true\n[[rules]]\nmay = ["run"]'
    )

    await harness.type_command("/workflows run 3 x", BOB, channel)

    assert bool(harness.service.runs) is starts
    if not starts:
        assert private(harness) == (
            "You can't run “Refund all” here: nobody can in public channels. Ask your admin for access."
        )


_FOR_RUNNERS = '[[rules]]\nwho = ["S0RUNNERS"]\nworkflows = ["Refund *"]\n{}'
_REFUSED = '[[rules]]\n{}workflows = ["Refund *"]\nrefuse = true\n[[rules]]'


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        (_FOR_RUNNERS.format("") + _REFUSED.format(""), "only @runners can. Ask @runners or your admin"),
        (
            _FOR_RUNNERS.format("approve = {by = ['U0BOB'], self = true}\n") + _REFUSED.format(""),
            "only @runners can. Ask @runners or your admin",
        ),
        (
            '[[rules]]\nchannels = ["direct"]\nmay = ["run"]\n' + _REFUSED.format(""),
            "that's possible in direct messages. Ask your admin",
        ),
        ('[[rules]]\nmay = ["ask"]\n' + _REFUSED.format(""), "nobody can. Ask your admin"),
        (
            '[[rules]]\nwho = ["schedules", "A0MONITOR"]\n' + _FOR_RUNNERS.format("") + '[[rules]]\nwho = ["S0LEADS"]\n'
            'may = ["run"]\nworkflows = [3]\nchannels = ["direct"]\n',
            "only @runners can, or @leads can, in direct messages. Ask @runners or your admin",
        ),
        (
            _FOR_RUNNERS.format("") + '[[rules]]\nwho = ["U0GUEST"]\nmay = ["run"]\n',
            "only @runners and certain people can. Ask @runners or your admin",
        ),
        ('[[rules]]\nwho = ["apps", "alerts"]\n' + _REFUSED.format(""), "nobody can. Ask your admin"),
        (_REFUSED.format("") + "\n" + _FOR_RUNNERS.format(""), "nobody can. Ask your admin"),
        (_FOR_RUNNERS.format("") + _REFUSED.format('who = ["members"]\n'), "members can't. Ask your admin"),
    ],
)
async def test_a_refusal_names_whom_an_earlier_rule_allows(harness: Harness, rules: str, why: str) -> None:
    harness.use_file(rules)

    await harness.type_command("/workflows run 3 x", BOB)

    assert harness.service.runs == []
    assert private(harness) == f"You can't run “Refund all” here: {why} for access."


async def test_a_mention_is_refused_at_the_door(harness: Harness) -> None:
    harness.use_file(f'[[rules]]\nwho = ["{RUNNERS}"]\nmay = ["ask"]')

    received = await harness.receive(message(user=BOB, is_mention=True))
    await harness.work()

    assert received.decision == "refused"
    assert harness.service.asked == []
    assert (
        private(harness) == "You can't talk to agents here: only @runners can. Ask @runners or your admin for access."
    )
    assert (await harness.receive(message(ts="1700000100.000100", is_mention=True))).decision == "queued"


async def test_a_rule_decides_which_agent_answers_whom(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    harness.use_file(f'[[rules]]\nwho = ["{RUNNERS}"]\nagents = ["Sales"]\n[[rules]]\nagents = ["Support"]')

    await harness.receive(message("Sales: hello", user=BOB, is_mention=True))
    await harness.work()
    assert harness.service.asked == []
    assert "You can't talk to “Sales” here" in private(harness)
    await harness.receive(message("Sales: hello", ts="1700000100.000100", is_mention=True))
    await harness.work()

    assert [one["agent"] for one in harness.service.asked] == [8]


async def test_a_direct_message_is_a_place_of_its_own(harness: Harness) -> None:
    harness.use_file('[[rules]]\nmay = ["ask"]\nchannels = ["direct"]')
    direct: dict[str, Any] = {"user": BOB, "channel": DM_BOB, "is_direct": True}

    assert (await harness.receive(message(user=BOB, is_mention=True))).decision == "refused"
    assert (await harness.receive(message(ts="1700000100.000100", **direct))).decision == "queued"


async def test_a_schedules_slot_counts_its_owners_rights(harness: Harness) -> None:
    spec = read_run(3, 'cron "* * * * *" {}').model_copy(
        update={"zone": "UTC", "channel": CHANNEL, "team": TEAM, "owner": ALICE}
    )
    harness.use_file(FINANCE)
    now = harness.store.clock()
    await harness.store.process().inbox.write(*harness.report_store().add(StoredTask("t1", spec, now), now))
    await harness.find_due()
    await harness.work()
    assert len(harness.service.runs) == 1

    harness.use_file(FINANCE.replace('who = ["S0RUNNERS"]', 'who = ["members"]\nmay = ["trace"]').replace(
        'may = ["run", "schedule"]\n', ""))  # fmt: skip
    await harness.at(now.replace(minute=(now.minute + 1) % 60))

    assert len(harness.service.runs) == 1
    assert "the rules no longer let you do this" in str([one.words for one in harness.seen.messages])


def alert(ts: str = ROOT) -> InboundMessage:
    return message("disk full", ts, user=OTHER_BOT, app="A0OTHERBOT", app_name="Alerts", source="app")


@pytest.mark.parametrize(
    ("who", "runs"), [(f'"{BOB}"', 1), ('"A0OTHERBOT"', 1), ('"apps"', 1), ('"A0OTHER"', 0), ('"schedules"', 0)]
)
async def test_what_an_apps_post_starts_needs_a_rule(harness: Harness, who: str, runs: int) -> None:
    await harness.store.set_channel(apps={"A0OTHERBOT": AppRule(workflow=3, name="Alerts", owner=BOB)})
    harness.use_file(f'[[rules]]\nmay = ["settings"]\n[[rules]]\nwho = [{who}]\nmay = ["run"]')

    await harness.receive(alert())
    await harness.work()

    assert len(harness.service.runs) == runs


async def test_a_rule_that_confirms_asks_once_with_the_input(harness: Harness) -> None:
    harness.use_file('[[rules]]\nmay = ["run"]\nconfirm = true')

    await harness.type_command('/workflows run 3 {"amount": 12}', BOB)
    assert harness.service.runs == []
    assert '"amount": 12' in str(harness.seen.ephemerals[-1].blocks).replace("\\n", "")
    await harness.press(run_card.CONFIRM, user=BOB, works=False)
    await harness.press(run_card.CONFIRM, user=BOB)

    assert harness.service.runs == [{"amount": 12}]


async def test_settings_and_rules_must_both_allow(harness: Harness) -> None:
    harness.configure(BRIDGE_RUNNERS=CAROL)
    harness.use_file('[[rules]]\nmay = ["run"]')

    for user in (BOB, CAROL):
        await harness.type_command("/workflows run 3 x", user, works=False)
    await harness.work()

    assert len(harness.service.runs) == 1


async def test_without_rules_guests_talk_and_members_run(harness: Harness) -> None:
    for user in (GUEST, BOB):
        await harness.type_command("/workflows run 3 x", user, works=False)
    await harness.work()

    assert len(harness.service.runs) == 1
    assert (await harness.receive(message(user=GUEST, is_mention=True))).decision == "queued"


FIXED = """
[channels.C0GENERAL]
agent = "Sales"
answers = "all"
apps.A0OTHERBOT = {workflow = "Refund all", name = "Alerts"}

[agents.Sales]
face = ":fox_face:"
"""


async def test_what_the_file_sets_for_a_channel_is_in_force(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    harness.use_file(FIXED)

    await harness.receive(message("hello"))  # without a mention
    await harness.work()
    await harness.receive(alert("1700000100.000100"))
    await harness.work()

    assert [one["agent"] for one in harness.service.asked] == [8]
    assert harness.service.runs == ["disk full"]


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("default Support", "default agent"),
        ("default none", "default agent"),
        ("channel answers mentions", "messages to answer"),
        ("channel ask Support A0OTHERBOT", "apps"),
        ("channel ignore A0OTHERBOT", "apps"),
    ],
)
async def test_what_the_file_sets_cannot_be_changed_in_slack(harness: Harness, line: str, field: str) -> None:
    harness.service.agents = [SUPPORT, SALES]
    await harness.store.set_channel(agent=8, answers="all")
    harness.use_file(FIXED)

    await harness.type_command(f"/agents {line}", ALICE)

    if line != "channel ignore A0OTHERBOT":  # it has no rule that was set in Slack
        assert private(harness) == f"Your admin has set this channel's {field}, so only they can change that."
    await harness.type_command("/agents channel", ALICE)
    shown = str(harness.seen.ephemerals[-1].blocks)
    assert shown.count("set by your admin") >= 3
    assert "Sales" in shown


async def test_the_form_offers_only_what_the_file_leaves(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    harness.use_file(FIXED)
    await harness.type_command("/agents default", ALICE)
    (view,) = harness.slack.workspace.views.values()
    fields = [block.get("block_id") for block in harness.seen.forms[-1]["blocks"] if block["type"] == "input"]

    await harness.slack.ui.submit(view.id, {"replies": "all"}, ALICE)
    await harness.work()

    assert fields == ["replies"]
    stored = (await harness.parts().turns.deps.channels.stored(TEAM, CHANNEL)).settings  # type: ignore[attr-defined]
    assert (stored.agent, stored.answers, stored.replies) == (None, "mentions", "all")


async def test_a_face_that_the_file_sets_is_shown(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    harness.slack.scopes.add("chat:write.customize")
    harness.identity = (await harness.wires.web.hello()).identity
    harness.configure()
    harness.use_file(FIXED)

    await harness.type_command("/agents", ALICE)

    assert "fox_face" in str(harness.seen.ephemerals[-1].blocks)


async def test_the_trace_needs_a_rule(harness: Harness) -> None:
    harness.use_file(f'[[rules]]\nwho = ["{RUNNERS}"]\nmay = ["trace"]\n[[rules]]\nmay = ["ask"]')

    await harness.receive(message("!why", user=BOB, is_mention=True))
    await harness.work()

    assert private(harness).startswith("You can't see what happened to messages here: only @runners can.")


async def test_why_names_the_rule_that_refused(harness: Harness) -> None:
    harness.use_file(f'[[rules]]\nwho = ["{RUNNERS}"]\nmay = ["ask"]\n[[rules]]\nmay = ["trace"]')
    await harness.receive(message("help me", user=BOB, is_mention=True))
    await harness.work()

    await harness.receive(message("!why", ts="1700000100.000100", user=BOB, is_mention=True))
    await harness.work()

    assert private(harness).startswith("You can't talk to agents here: only @runners can.")


@pytest.mark.parametrize(("user", "offered"), [(ALICE, ["Refund all"]), (BOB, ["Digest"])])
async def test_menus_offer_only_what_a_person_may_run(harness: Harness, user: str, offered: list[str]) -> None:
    harness.use_file(FINANCE + '[[rules]]\nmay = ["run"]\nworkflows = ["Digest"]\nwho = ["U0BOB"]')
    await harness.type_command("/workflows", user)
    shown = harness.seen.ephemerals[-1].message

    found = await harness.slack.ui.suggestions(user, shown, "workflow:run", "")

    assert [one["text"]["text"] for one in found] == offered


async def test_a_confirmation_is_for_its_workflow_only(harness: Harness) -> None:
    harness.use_file('[[rules]]\nmay = ["run"]\nconfirm = true')
    await harness.type_command(f"/workflows run 3 {'x' * 2500}", BOB)
    await harness.press(run_card.CONFIRM, user=BOB)  # the input is too long for the button, so a form opens
    (view,) = harness.slack.workspace.views.values()
    [digest] = await harness.slack.ui.suggestions(BOB, view, "workflow", "dig")

    await harness.slack.ui.submit(view.id, {"workflow": digest, "input": "x"}, BOB)
    await harness.work()

    assert harness.service.runs == []
    assert "Digest asks you to confirm" in private(harness)


async def test_a_refused_run_is_in_the_trace_with_its_rule(harness: Harness) -> None:
    harness.use_file(FINANCE)
    await harness.receive(message("!workflows run 3 x", user=BOB, is_mention=True))
    await harness.work()

    found = explain(await trace_of(harness.store.scripts, message(user=BOB).key))

    assert found is not None
    assert found.refusal == "rule"
    assert "You can't run “Refund all” here: only @runners can" in found.happened()
