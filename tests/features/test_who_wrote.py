"""Who wrote a message: the person whose token an app used, or an app, by the name that people see."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import httpx
import pytest

from bridge.features.channels.settings import AppRule
from bridge.inbound import Submission
from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import ALICE, BOB, GENERAL, OTHER_BOT
from bridge.slack.parts import Place
from bridge.slack.senders import WEBHOOKS
from support.harness import Harness
from support.store import BOT, CHANNEL, ROOT, TEAM, ts

CLIENT = {
    "bot_id": "B0CLIENT",
    "app_id": "A0CLIENT",
    "bot_profile": {"id": "B0CLIENT", "app_id": "A0CLIENT", "name": "Voice desk", "team_id": TEAM},
}
"""What Slack adds to a message that an app posts, be it with a person's own token."""


async def arrives(harness: Harness, text: str, at: str = ROOT, **changes: Any) -> None:
    """Deliver a message, and do what it starts."""
    event = {"type": "message", "channel": GENERAL, "user": ALICE, "ts": at, "text": text, "team": TEAM, **changes}
    envelope = {"event_id": f"Ev{at}{changes.get('event_ts', '')}", "is_ext_shared_channel": False}
    assert (await harness.event({name: value for name, value in event.items() if value}, **envelope)).status == 200
    await harness.work()


@pytest.mark.parametrize(
    "message",
    [
        {"text": f"<@{BOT}> what is due?"},
        {"text": f"<@{BOT}> what is due?", "type": "app_mention"},
        {"text": "what is due?", "channel": "D0ALICE", "channel_type": "im"},
        {"text": "what is due?", "at": ts(1), "thread_ts": ROOT},
        {
            "text": "what is due?", "at": ts(1), "thread_ts": ROOT, "subtype": "file_share",
            "files": [{"id": "F1", "name": "what is due?.txt", "mode": "snippet"}],
        },
    ],
    ids=["mention", "app_mention", "direct", "reply", "file"],
)  # fmt: skip
async def test_what_an_app_posts_with_a_persons_token_is_that_persons(
    harness: Harness, message: dict[str, Any]
) -> None:
    if message.get("thread_ts"):
        await arrives(harness, f"<@{BOT}> hello", client_msg_id="c")

    await arrives(harness, **CLIENT, **message)

    assert "what is due?" in harness.service.messages[-1]
    assert len(harness.service.messages) == 1 + ("thread_ts" in message)


async def test_a_command_posted_with_a_persons_token_is_that_persons(harness: Harness) -> None:
    harness.configure(BRIDGE_RUNNERS=BOB)

    await arrives(harness, f"<@{BOT}> !workflows run 3 hello", **CLIENT)
    await arrives(harness, f"<@{BOT}> !workflows run 3 hello", ts(1), user=BOB, **CLIENT)

    assert harness.service.runs == ["hello"]
    assert "permission" in harness.seen.ephemerals[0].text


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"user": OTHER_BOT}, "its user is a bot"),
        ({"user": ALICE, "subtype": "bot_message", "username": "Deploys"}, "it's shown under another name"),
        ({"user": None}, "nobody is named"),
        ({"bot_id": "", "app_id": "", "bot_profile": None, "user": OTHER_BOT}, "a bot without an ID"),
    ],
)
async def test_a_post_of_an_apps_own_stays_the_apps(harness: Harness, changes: dict[str, Any], why: str) -> None:
    await arrives(harness, f"<@{BOT}> hello", **{**CLIENT, **changes})

    assert harness.service.messages == [], why


async def test_a_post_by_the_bridges_own_app_stays_its_own(harness: Harness) -> None:
    harness.identity = replace(harness.identity, app_id="A0CLIENT")
    harness.configure()

    await arrives(harness, f"<@{BOT}> hello", **CLIENT)

    assert harness.service.messages == []


@pytest.mark.parametrize("text", ["and then?", "!workflows run 3 hello"], ids=["question", "command"])
async def test_a_program_with_a_persons_token_cannot_talk_for_ever(harness: Harness, text: str) -> None:
    harness.configure(BRIDGE_APP_TURNS_PER_MINUTE="3")
    await arrives(harness, f"<@{BOT}> hello", client_msg_id="c")

    for number in range(1, 7):
        await arrives(harness, text, ts(number), thread_ts=ROOT, **CLIENT)
    await arrives(harness, text, ts(8), thread_ts=ROOT, client_msg_id="c")  # its person is still answered

    assert len(harness.service.messages) + len(harness.service.runs) == 1 + 3 + 1
    assert json.dumps([one.text for one in harness.seen.ephemerals]).count("too fast") == 3


async def test_an_edit_with_a_persons_token_is_offered_to_that_person(harness: Harness) -> None:
    await arrives(harness, f"<@{BOT}> hello", **CLIENT)
    said = {"user": ALICE, "ts": ROOT, "text": f"<@{BOT}> hello", **CLIENT}
    edited = {**said, "text": f"<@{BOT}> goodbye", "edited": {"user": ALICE, "ts": ts(5)}}

    await arrives(
        harness, "", ts(5), user=None, subtype="message_changed", message=edited, previous_message=said, event_ts=ts(5)
    )

    (offer,) = harness.seen.ephemerals
    assert offer.user == ALICE


async def test_a_thread_names_the_person_not_the_app_that_carried_the_message(harness: Harness) -> None:
    harness.write(ROOT, "the disk is full", user=BOB, channel=CHANNEL, **CLIENT)

    await arrives(harness, f"<@{BOT}> what is this?", ts(1), thread_ts=ROOT)

    assert "Bob Brandt" in harness.service.messages[0]
    assert "Voice desk" not in harness.service.messages[0]


WEBHOOK = {"user": None, "subtype": "bot_message", "bot_id": "B0HOOK", "app_id": WEBHOOKS}
OTHER = {
    "user": OTHER_BOT, "bot_id": "B0OTHERBOT", "app_id": "A0OTHERBOT",
    "bot_profile": {"id": "B0OTHERBOT", "app_id": "A0OTHERBOT", "name": "Other Bot", "team_id": TEAM},
}  # fmt: skip
LEGACY = {"user": None, "subtype": "bot_message", "bot_id": "B0LEGACY", "username": "Workflow"}
"""The bot of a workflow, which has no app."""


def has_posted(harness: Harness, at: int, **post: Any) -> None:
    """Let an app have posted in the channel."""
    known = {"subtype", "username", "bot_id", "app_id", "bot_profile"}
    harness.write(ts(-at), "before", user=post["user"] or OTHER_BOT, **{one: post[one] for one in known & set(post)})


async def typed(harness: Harness, line: str) -> str:
    """Type a command as a message, so that mentions have IDs; return what's said about it, to whomever."""
    before = len(harness.seen.messages), len(harness.seen.ephemerals)
    at = ts(900 + len(harness.seen.ephemerals))
    await arrives(harness, f"<@{BOT}> !agents {line}", at, client_msg_id="c")
    said = harness.seen.messages[before[0] :] + harness.seen.ephemerals[before[1] :]
    return " ".join(one.words for one in said)


@pytest.mark.parametrize(
    ("sender", "fits", "others"),
    [
        (
            "Alertmanager",
            [{**WEBHOOK, "username": "Alertmanager"}, {**WEBHOOK, "username": "alertmanager ", "bot_id": "B0HOOK2"}],
            [{**WEBHOOK, "username": "Grafana"}, {**OTHER, "username": "Alertmanager"}],
        ),
        ("Workflow", [LEGACY], [{**LEGACY, "username": "Other"}, {**LEGACY, "bot_id": "B0LEGACY2"}]),
        ("B0LEGACY", [LEGACY, {**LEGACY, "username": "Other"}], [{**LEGACY, "bot_id": "B0LEGACY2"}]),
        ("Other Bot", [OTHER, {**OTHER, "bot_profile": None}], [{**OTHER, "username": "Grafana"}]),
        ("A0OTHERBOT", [OTHER, {**OTHER, "username": "Grafana"}], [WEBHOOK]),
        ("B0OTHERBOT", [OTHER, {**OTHER, "app_id": ""}], [WEBHOOK]),
        (f"<@{OTHER_BOT}>", [OTHER], [WEBHOOK]),
        ("BACKUP ALERTS", [{**LEGACY, "username": "Backup Alerts"}], [LEGACY]),
        (f"{WEBHOOKS} Alertmanager", [{**WEBHOOK, "username": "Alertmanager"}], [{**WEBHOOK, "username": "Grafana"}]),
    ],
)
@pytest.mark.parametrize("does", ["run 3", "ask 7"])
async def test_a_rule_is_for_the_sender_that_people_see(
    harness: Harness, does: str, sender: str, fits: list[dict[str, Any]], others: list[dict[str, Any]]
) -> None:
    names = [{**WEBHOOK, "username": "Alertmanager"}, {**WEBHOOK, "username": "Grafana"}]
    for at, post in enumerate([*names, LEGACY, {**LEGACY, "username": "Backup Alerts"}, OTHER]):
        has_posted(harness, at + 1, **post)

    assert "Settings saved" in await typed(harness, f"channel {does} {sender}")
    for number, post in enumerate([*fits, *others]):
        await arrives(harness, f"post {number}", f"1700000{number}50.000100", **post)

    started = [*harness.service.messages, *harness.service.runs]
    assert [str(one).split("\n")[0] for one in started] == [f"post {number}" for number in range(len(fits))]

    assert "Settings saved" in await typed(harness, f"channel ignore {sender}")
    await arrives(harness, "once more", "1700000990.000100", **fits[0])
    assert len([*harness.service.messages, *harness.service.runs]) == len(fits)


@pytest.mark.parametrize("first", [f"ask 7 {WEBHOOKS}", f"run 3 {WEBHOOKS}"])
async def test_ignoring_one_name_leaves_what_the_app_posts_under_others(harness: Harness, first: str) -> None:
    names = ("Alertmanager", "Grafana")
    for at, name in enumerate(names):
        has_posted(harness, at + 1, **WEBHOOK, username=name)
    await typed(harness, f"channel {first}")

    said = await typed(harness, "channel ignore Grafana")
    for number, name in enumerate(names):
        await arrives(harness, f"from {name}", f"1700000{number}50.000100", **WEBHOOK, username=name)

    assert "I now ignore posts from Grafana in this channel." in said
    await typed(harness, "channel")
    assert " · ignored · set up by Alice Adler" in str(harness.seen.ephemerals[-1].blocks)
    assert [*harness.service.messages, *harness.service.runs] == ["from Alertmanager"]

    await harness.click("default:form")
    await harness.work()
    view = harness.seen.forms[-1]
    drawn = {one["block_id"]: one["element"].get("initial_option", {}).get("value") for one in view["blocks"][1:]}
    sent = Submission(team=TEAM, channel=CHANNEL, user=ALICE, form="default", values={
        name: value for name, value in drawn.items() if name.startswith("app:")
    } | {"agent": "none"})  # fmt: skip
    await harness.store.process().inbox.put(sent)
    await harness.work()
    assert "Nothing changed" in harness.seen.ephemerals[-1].text

    await typed(harness, f"channel ignore {WEBHOOKS}")
    assert (await harness.store.channels.get(TEAM, CHANNEL)).apps == {}


async def test_what_a_rule_cannot_tell_apart_is_said(harness: Harness) -> None:
    has_posted(harness, 1, **WEBHOOK, username="Alertmanager")
    has_posted(harness, 2, **WEBHOOK, username="Grafana")

    assert "under any name, such as Alertmanager, Grafana." in await typed(harness, f"channel ask 7 {WEBHOOKS}")
    assert "Every incoming webhook" in await typed(harness, "channel ask 7 Grafana")


async def test_a_person_whose_token_an_app_uses_is_no_app(harness: Harness) -> None:
    has_posted(harness, 1, **{**CLIENT, "user": BOB})
    has_posted(harness, 2, **OTHER)

    said = await typed(harness, "channel ask 7 Voice desk")

    assert said == "I haven't seen “Voice desk” post here yet, only Other Bot. Use the app's ID, such as A0123456789."


async def test_two_apps_of_one_name_are_told_apart_by_id(harness: Harness) -> None:
    has_posted(harness, 1, **{**OTHER, "username": "Alerts"})
    has_posted(harness, 2, **{**LEGACY, "username": "Alerts"})

    said = await typed(harness, "channel ask 7 alerts")

    assert "Several apps post here as “alerts”: A0OTHERBOT" in said
    assert "B0LEGACY" in said


async def test_a_channel_that_cannot_be_read_is_the_reason(harness: Harness) -> None:
    harness.slack.faults.on("conversations.history", Error("missing_scope"))

    assert "can't read this channel's posts" in await typed(harness, "channel ask 7 Grafana")


async def test_a_rule_of_an_earlier_release_is_for_its_app(harness: Harness) -> None:
    await harness.store.set_channel(apps={"A0OTHERBOT": AppRule(agent=7, name="Alerts", owner=ALICE)})

    await arrives(harness, "down", **{**OTHER, "username": "Anything"})
    assert "now ignore posts from Alerts" in await typed(harness, "channel ignore Alerts")
    await arrives(harness, "down", "1700000990.000100", **OTHER)

    assert len(harness.service.messages) == 1


async def test_the_operators_file_names_senders(harness: Harness) -> None:
    harness.use_file(
        f'[channels.{GENERAL}]\napps = {{"{WEBHOOKS} Alertmanager" = {{agent = 7}}, B0LEGACY = {{workflow = 3}}}}'
    )

    for number, post in enumerate(
        [{**WEBHOOK, "username": "Alertmanager"}, {**WEBHOOK, "username": "Grafana"}, LEGACY]
    ):
        await arrives(harness, f"post {number}", f"1700000{number}50.000100", **post)

    assert [*harness.service.messages, *harness.service.runs] == ["post 0", "post 2"]


async def test_a_post_waits_for_the_names_in_the_operators_file(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    harness.use_file(f'[channels.{GENERAL}]\napps = {{B0LEGACY = {{agent = "Support"}}}}')
    harness.service.always = httpx.ConnectError("down")
    post = {"type": "message", "channel": GENERAL, "ts": ROOT, "text": "disk full", **LEGACY}
    envelope = {"event_id": "Ev1", "is_ext_shared_channel": False}

    answer = await harness.event(post, **envelope)
    harness.service.always = None
    harness.monotonic += 60
    again = await harness.event(post, **envelope)
    await harness.work()

    assert ((answer.status, again.status), harness.service.messages) == ((503, 200), ["disk full"])
    assert {record.why for record in caplog.records if record.message == "event not accepted"} == {"CannotConnect"}


ALERT = {**WEBHOOK, "username": "Alertmanager", "text": ""}


async def posts(harness: Harness, text: str, at: str = ROOT) -> dict[str, Any]:
    """Deliver a post of the webhook; its text is in an attachment."""
    post = {**ALERT, "ts": at, "attachments": [{"text": text}]}
    harness.write(at, "", user=OTHER_BOT, subtype="bot_message", username="Alertmanager")
    await arrives(harness, "", at, **{name: value for name, value in post.items() if name not in {"ts", "text"}})
    return post


async def edits(harness: Harness, post: dict[str, Any], text: str, at: int, **how: Any) -> dict[str, Any]:
    """Deliver an edit of a *post*, which Slack marks unless it's *how* an app replaced it without."""
    edited = {**post, "attachments": [{"text": text}], "edited": {"user": "B0HOOK", "ts": ts(at)}, **how}
    event = {
        "subtype": "message_changed",
        "message": edited,
        "previous_message": post,
        "event_ts": ts(at),
        "user": None,
    }
    await arrives(harness, "", ts(at), **event)
    return edited


async def rule(harness: Harness, **does: Any) -> None:
    await harness.store.set_channel(
        apps={f"{WEBHOOKS} alertmanager": AppRule(name="Alertmanager", owner=ALICE, **does)}
    )


@pytest.mark.parametrize("how", [{}, {"edited": None}], ids=["marked", "unmarked"])
async def test_an_edited_post_goes_to_its_agent_as_a_follow_up(harness: Harness, how: dict[str, Any]) -> None:
    await rule(harness, agent=7)
    post = await posts(harness, "firing: disk full")

    await edits(harness, post, "resolved: disk", 5, **how)

    first, second = harness.service.asked
    assert (first["message"], second["sessionId"]) == ("From an app:\n> firing: disk full", 42)
    assert second["message"] == "[Alertmanager edited its post. It now says:]\nFrom an app:\n> resolved: disk"
    assert [one.place for one in harness.seen.replies()] == [Place(CHANNEL, ROOT)] * 2


@pytest.mark.parametrize("ends", ["limited", "stopped"])
async def test_the_edit_of_a_post_that_was_never_sent_goes_to_its_agent(harness: Harness, ends: str) -> None:
    harness.use_file('[[limits]]\nper = "person"\nturns = 1\n' if ends == "limited" else "")
    await rule(harness, agent=7)
    if ends == "limited":
        await arrives(harness, f"<@{BOT}> hello", ts(-5), client_msg_id="c")
        post = await posts(harness, "firing")
    else:
        post = {**ALERT, "ts": ROOT, "attachments": [{"text": "firing"}]}
        harness.write(ROOT, "", user=OTHER_BOT, subtype="bot_message", username="Alertmanager")
        await harness.event(
            {"type": "message", "channel": GENERAL, **post}, event_id="Ev1", is_ext_shared_channel=False
        )
        await arrives(harness, "!stop", ts(1), thread_ts=ROOT, client_msg_id="c")
    count = len(harness.service.messages)
    harness.use_file("")

    for _ in range(2):
        await edits(harness, post, "resolved", 5)

    assert [one.split("\n")[-1] for one in harness.service.messages[count:]] == ["> resolved"]


async def test_an_edit_that_changes_nothing_people_read_starts_nothing(harness: Harness) -> None:
    await rule(harness, agent=7)
    post = await posts(harness, "firing")

    await edits(harness, post, "firing", 5)
    await edits(harness, {**post, "text": ""}, "firing", 6, attachments=[{"text": "firing", "color": "good"}])

    assert len(harness.service.asked) == 1


async def test_an_edit_delivered_twice_counts_once(harness: Harness) -> None:
    await rule(harness, agent=7)
    post = await posts(harness, "1 firing")

    await edits(harness, post, "5 firing", 5)
    await edits(harness, post, "5 firing", 5)

    assert len(harness.service.asked) == 2


async def test_an_edit_replaces_the_one_that_waits(harness: Harness) -> None:
    await rule(harness, agent=7)
    post = await posts(harness, "1 firing")
    harness.service.gate.clear()
    for number in (2, 3, 4):
        event = {
            "type": "message", "subtype": "message_changed", "channel": GENERAL, "ts": ts(number),
            "message": {**post, "attachments": [{"text": f"{number} firing"}], "edited": {"ts": ts(number)}},
            "previous_message": post,
        }  # fmt: skip
        await harness.event(event, event_id=f"Ev{number}", is_ext_shared_channel=False)
    harness.service.gate.set()

    await harness.work()

    assert [one["message"].split("\n")[-1] for one in harness.service.asked] == ["> 1 firing", "> 4 firing"]


@pytest.mark.parametrize("does", [{"agent": 7}, {"workflow": 3, "edits": True}], ids=["agent", "workflow"])
async def test_edits_count_for_the_rate_of_their_app(harness: Harness, does: dict[str, Any]) -> None:
    harness.configure(BRIDGE_APP_TURNS_PER_MINUTE="3", BRIDGE_THREAD_TURNS_PER_MINUTE="60")
    await rule(harness, **does)
    post = await posts(harness, "0 firing")

    for number in range(1, 7):
        post = await edits(harness, post, f"{number} firing", number)

    assert len(harness.service.asked) + len(harness.service.runs) == 3
    assert str(harness.seen.texts).count("posting too fast") == 1


@pytest.mark.parametrize("is_on", [0, 1])
async def test_a_workflow_runs_on_edits_only_if_its_rule_says_so(harness: Harness, is_on: int) -> None:
    await rule(harness, workflow=3, edits=bool(is_on))
    post = await posts(harness, "firing")

    await edits(harness, post, "resolved", 5)
    await edits(harness, post, "resolved", 5)

    assert harness.service.runs == [f"From an app:\n> {one}" for one in ("firing", *["resolved"] * is_on)]


@pytest.mark.parametrize("does", [{"agent": 7}, {"workflow": 3}, {"workflow": 3, "edits": True}])
async def test_a_later_question_sees_what_a_post_says_now(harness: Harness, does: dict[str, Any]) -> None:
    harness.configure(BRIDGE_APP_TURNS_PER_MINUTE="1")  # so that no edit is sent by itself
    await rule(harness, **does)
    post = await posts(harness, "firing: disk full")
    await arrives(harness, f"<@{BOT}> why?", ts(1), thread_ts=ROOT, client_msg_id="c")

    await edits(harness, post, "resolved: disk", 5)
    await arrives(harness, f"<@{BOT}> and now?", ts(6), thread_ts=ROOT, client_msg_id="c")
    await arrives(harness, f"<@{BOT}> thanks", ts(7), thread_ts=ROOT, client_msg_id="c")

    *_, now, thanks = harness.service.messages
    assert now.startswith("The post at the top of this Slack thread was edited. It now says:\n> resolved: disk\n\n")
    assert (now.endswith("and now?"), "resolved" in thanks) == (True, False)


async def test_an_old_post_that_is_edited_still_reaches_its_thread(harness: Harness) -> None:
    await rule(harness, agent=7)
    post = await posts(harness, "firing")
    await harness.store.redis.delete(*[one for one in await harness.keys() if "seen" in one])

    await edits(harness, post, "resolved", 5, edited={"user": "B0HOOK", "ts": "1700086400.000100"})

    assert [one["message"].split("\n")[-1] for one in harness.service.asked] == ["> firing", "> resolved"]


@pytest.mark.parametrize("is_ticked", [0, 1])
async def test_the_form_has_a_checkbox_for_edits(harness: Harness, is_ticked: int) -> None:
    await rule(harness, workflow=3, edits=not is_ticked)
    await harness.click("default:form")
    await harness.work()
    view = harness.seen.forms[-1]
    (box,) = [one["element"] for one in view["blocks"] if one.get("block_id") == "edits"]
    assert len(box.get("initial_options", [])) == (not is_ticked)

    key = f"{WEBHOOKS} alertmanager"
    values = {"agent": "none", f"app:{key}": "workflow:3", "edits": box["options"][0]["value"] if is_ticked else ""}
    sent = Submission(team=TEAM, channel=CHANNEL, user=BOB, form="default", values=values)
    await harness.store.process().inbox.put(sent)
    await harness.work()

    changed = (await harness.store.channels.get(TEAM, CHANNEL)).apps[key]
    assert (changed.edits, changed.owner) == (is_ticked, BOB), "it's on behalf of the person who changed it"


async def test_an_edit_found_in_the_history_is_followed_up(harness: Harness) -> None:
    await rule(harness, agent=7)
    post = await posts(harness, "firing")
    edited = {**post, "attachments": [{"text": "resolved"}], "edited": {"user": "B0HOOK", "ts": ts(5)}}

    for _ in range(2):
        await harness.parts().catch_up.receive({"type": "message", "team": TEAM, **edited}, CHANNEL)
        await harness.work()

    assert [one["message"].split("\n")[-1] for one in harness.service.asked] == ["> firing", "> resolved"]


async def test_an_agent_reads_all_that_an_apps_post_shows_in_its_place(harness: Harness) -> None:
    await rule(harness, agent=7)
    harness.write(ROOT, "", user=OTHER_BOT, subtype="bot_message", username="Alertmanager")
    words = [{"type": "section", "text": {"type": "mrkdwn", "text": one}} for one in ("The disks:", "Who cleans up?")]
    table = {"type": "table", "rows": [[{"type": "raw_text", "text": one}] for one in ("Disk", "sda")]}
    option = {"text": {"type": "plain_text", "text": "Ada"}, "value": "1"}
    choice = {"type": "actions", "elements": [{"type": "checkboxes", "options": [option]}]}
    card = {
        "from_url": "https://grafana.test/1",
        "text": "93 %",
        "ts": 1730339957,
        "image_url": "https://grafana.test/2",
    }

    shown = {"blocks": [words[0], table, words[1], choice], "attachments": [card]}
    await arrives(harness, **{**ALERT, "text": "fallback"}, **shown)

    (asked,) = harness.service.messages
    seen = [
        "The disks:",
        "| Disk |",
        "| sda |",
        "Who cleans up?",
        "- [ ] Ada",
        "93 %",
        "[image]",
        "2024-10-31 01:59 UTC",
    ]
    places = [asked.find(one) for one in seen]
    assert -1 not in places
    assert places == sorted(places)
    assert "fallback" not in asked
