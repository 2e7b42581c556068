"""Which events the emulated Slack sends when people write, and how often it retries them."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from slack_sdk.web.async_client import AsyncWebClient
from starlette.responses import PlainTextResponse

from bridge.playground.emulator import EmulatedSlack, sample
from bridge.playground.local_server import Silence
from support.slack_app import SECRET, TOKEN, App

HELLO = f"<@{sample.BRIDGE}> hello &amp; <https://example.com|welcome>"


@pytest.fixture
async def slack(app: App) -> AsyncIterator[EmulatedSlack]:
    async with EmulatedSlack(
        signing_secret=SECRET, bot_token=TOKEN, events_url=app.url, retry_delays=(0.0, 0.05, 0.1), ack_seconds=0.5
    ) as slack:
        yield slack


def failing(times: int) -> list[PlainTextResponse]:
    return [PlainTextResponse("no", status_code=503) for _ in range(times)]


async def test_a_mention_is_two_signed_events_of_one_message(slack: EmulatedSlack, app: App) -> None:
    ts = await slack.people.say(sample.ALICE, sample.GENERAL, HELLO)

    by_type = {event["type"]: event for event in app.events}
    assert set(by_type) == {"app_mention", "message"}
    assert {event["ts"] for event in app.events} == {ts}
    assert by_type["message"]["channel_type"] == "channel"
    assert by_type["message"]["client_msg_id"]
    assert "channel_type" not in by_type["app_mention"]
    assert len({one.payload["event_id"] for one in app.received}) == 2
    assert all(one.is_signed for one in app.received)
    assert all(delivery.is_acked for delivery in slack.deliveries)


@pytest.mark.parametrize("text", ["hello", HELLO])
async def test_an_edit_that_adds_or_keeps_a_mention_is_another_mention(
    slack: EmulatedSlack, app: App, text: str
) -> None:
    ts = await slack.people.say(sample.ALICE, sample.GENERAL, text)
    before = len(app.events)

    await slack.people.edit(sample.GENERAL, ts, f"<@{sample.BRIDGE}> and hello again")

    by_kind = {event.get("subtype", event["type"]): event for event in app.events[before:]}
    assert set(by_kind) == {"app_mention", "message_changed"}
    mention, change = by_kind["app_mention"], by_kind["message_changed"]
    assert (mention["ts"], mention["text"]) == (ts, f"<@{sample.BRIDGE}> and hello again")
    assert mention["edited"] == change["message"]["edited"]


async def test_an_edit_that_removes_a_mention_is_only_a_change(slack: EmulatedSlack, app: App) -> None:
    ts = await slack.people.say(sample.ALICE, sample.GENERAL, HELLO)
    before = len(app.events)

    await slack.people.edit(sample.GENERAL, ts, "never mind")

    assert [event.get("subtype") for event in app.events[before:]] == ["message_changed"]


async def test_the_envelope_has_every_field_of_slacks(slack: EmulatedSlack, app: App) -> None:
    await slack.people.say(sample.ALICE, sample.GENERAL, "plain")

    (received,) = app.received
    assert set(received.payload) == {
        "token", "team_id", "context_team_id", "context_enterprise_id", "api_app_id", "event", "type", "event_id",
        "event_time", "authorizations", "is_ext_shared_channel", "event_context",
    }  # fmt: skip
    assert received.payload["authorizations"][0]["user_id"] == sample.BRIDGE
    assert received.payload["is_ext_shared_channel"] is False


async def test_typed_text_becomes_rich_text(slack: EmulatedSlack, app: App) -> None:
    await slack.people.say(sample.ALICE, sample.GENERAL, HELLO)

    assert app.events[0]["text"] == HELLO
    assert app.events[0]["blocks"][0]["elements"][0]["elements"] == [
        {"type": "user", "user_id": sample.BRIDGE},
        {"type": "text", "text": " hello & "},
        {"type": "link", "url": "https://example.com", "text": "welcome"},
    ]


@pytest.mark.parametrize(
    "twins", [("message", "app_mention"), ("app_mention", "message"), ("app_mention",), ("message",)]
)
async def test_the_twins_come_in_the_order_that_was_set(slack: EmulatedSlack, app: App, twins: tuple[str, ...]) -> None:
    slack.events.twins, slack.events.twin_gap = twins, 0.05

    await slack.people.say(sample.ALICE, sample.GENERAL, HELLO)

    assert [event["type"] for event in app.events] == list(twins)


async def test_a_direct_message_has_no_twin(slack: EmulatedSlack, app: App) -> None:
    await slack.people.say(sample.ALICE, sample.DM_ALICE, HELLO)

    (event,) = app.events
    assert (event["type"], event["channel_type"]) == ("message", "im")


async def test_a_reply_names_its_thread_and_its_author(slack: EmulatedSlack, app: App) -> None:
    root = await slack.people.say(sample.ALICE, sample.GENERAL, "root")
    await slack.people.say(sample.BOB, sample.GENERAL, "reply", thread_ts=root)
    await slack.people.say(sample.BOB, sample.GENERAL, "loud", thread_ts=root, broadcast=True)

    _, reply, loud = app.events
    assert (reply["thread_ts"], reply["parent_user_id"]) == (root, sample.ALICE)
    assert (loud["subtype"], loud["root"]["ts"]) == ("thread_broadcast", root)


async def test_a_mention_of_an_absent_app_is_delivered_once_the_app_is_invited(slack: EmulatedSlack, app: App) -> None:
    root = await slack.people.say(sample.BOB, sample.NOBOT, "a question")
    ts = await slack.people.say(sample.ALICE, sample.NOBOT, HELLO, thread_ts=root)
    (offer,) = slack.workspace.messages.private
    assert offer.text == f"You mentioned <@{sample.BRIDGE}>, but they're not in this channel."
    assert (offer.user, offer.to, offer.thread_ts) == (sample.SLACKBOT, sample.ALICE, root)
    assert app.received == []

    await slack.people.answer_slackbot(sample.ALICE, sample.NOBOT, offer.ts, "invite_them")

    joined, mention = app.events
    assert (joined["subtype"], joined["user"], joined["inviter"]) == ("channel_join", sample.BRIDGE, sample.ALICE)
    assert (mention["type"], mention["ts"], mention["thread_ts"]) == ("app_mention", ts, root)
    assert slack.workspace.messages.private == []


async def test_an_offer_to_invite_that_is_declined_changes_nothing(slack: EmulatedSlack, app: App) -> None:
    await slack.people.say(sample.ALICE, sample.NOBOT, HELLO)
    (offer,) = slack.workspace.messages.private

    await slack.people.answer_slackbot(sample.ALICE, sample.NOBOT, offer.ts, "do_nothing")

    assert slack.workspace.messages.private == []
    assert sample.BRIDGE not in slack.workspace.channels[sample.NOBOT].members
    assert app.received == []


async def test_events_in_a_shared_channel_name_each_persons_workspace(slack: EmulatedSlack, app: App) -> None:
    await slack.people.say(sample.STRANGER, sample.SHARED, HELLO)
    await slack.people.say(sample.ALICE, sample.SHARED, "also here")

    assert all(one.payload["is_ext_shared_channel"] for one in app.received)
    assert {event["user_team"] for event in app.events[:2]} == {sample.OTHER_TEAM}
    assert app.events[2]["user_team"] == sample.TEAM


async def test_an_edit_and_a_deletion_carry_the_previous_message(slack: EmulatedSlack, app: App) -> None:
    ts = await slack.people.say(sample.ALICE, sample.GENERAL, "old")
    await slack.people.edit(sample.GENERAL, ts, "new")
    await slack.people.delete(sample.GENERAL, ts)

    _, changed, deleted = app.events
    assert (changed["subtype"], changed["hidden"]) == ("message_changed", True)
    assert (changed["message"]["text"], changed["previous_message"]["text"]) == ("new", "old")
    assert changed["message"]["ts"] == ts
    assert changed["message"]["edited"]["user"] == sample.ALICE
    assert changed["message"]["blocks"][0]["elements"][0]["elements"][0]["text"] == "new"
    assert (deleted["subtype"], deleted["deleted_ts"]) == ("message_deleted", ts)
    assert slack.messages(sample.GENERAL) == []


async def test_a_deleted_root_with_replies_remains_as_a_tombstone(slack: EmulatedSlack, app: App) -> None:
    root = await slack.people.say(sample.ALICE, sample.GENERAL, "root")
    await slack.people.say(sample.BOB, sample.GENERAL, "reply", thread_ts=root)

    await slack.people.delete(sample.GENERAL, root)

    assert app.events[-1]["subtype"] == "message_changed"
    assert app.events[-1]["message"]["subtype"] == "tombstone"
    assert len(slack.messages(sample.GENERAL, root)) == 2


async def test_a_refused_event_is_retried_three_times_with_the_reason(slack: EmulatedSlack, app: App) -> None:
    app.answers = [*failing(4)]

    await slack.people.say(sample.ALICE, sample.GENERAL, "hello")
    await slack.settled()

    retries = [(one.headers.get("x-slack-retry-num"), one.headers.get("x-slack-retry-reason")) for one in app.received]
    assert retries == [(None, None), ("1", "http_error"), ("2", "http_error"), ("3", "http_error")]
    assert len({one.payload["event_id"] for one in app.received}) == 1
    assert all(one.is_signed for one in app.received)
    assert [one.status for one in slack.deliveries] == [503] * 4


async def test_an_app_can_decline_retries(slack: EmulatedSlack, app: App) -> None:
    app.answers = [PlainTextResponse("no", status_code=400, headers={"X-Slack-No-Retry": "1"})]

    await slack.people.say(sample.ALICE, sample.GENERAL, "hello")
    await slack.settled()

    assert len(slack.deliveries) == 1


async def test_an_app_that_is_down_gets_the_event_when_it_is_back(slack: EmulatedSlack, app: App) -> None:
    await app.server.stop()
    await slack.people.say(sample.ALICE, sample.GENERAL, "hello")
    assert slack.deliveries[0].error == "connection_failed"

    await app.server.start()
    await slack.settled()

    assert app.received[-1].headers["x-slack-retry-reason"] == "connection_failed"
    assert app.events[-1]["text"] == "hello"


async def test_an_event_that_times_out_is_retried(slack: EmulatedSlack, app: App) -> None:
    app.answers = [Silence()]

    await slack.people.say(sample.ALICE, sample.GENERAL, "hello")
    await slack.settled()

    assert [one.error for one in slack.deliveries] == ["http_timeout", ""]
    assert 450 <= slack.deliveries[0].ms < 2000


async def test_an_apps_own_message_arrives_as_a_bots(slack: EmulatedSlack, app: App) -> None:
    client = AsyncWebClient(TOKEN, base_url=slack.api_url)
    posted = await client.chat_postMessage(channel=sample.GENERAL, text="mine")
    await client.chat_update(channel=sample.GENERAL, ts=posted["ts"], text="changed")
    await slack.settled()

    first, second = sorted(app.events, key=lambda event: event["event_ts"])
    assert (first["bot_id"], first["user"]) == (sample.BRIDGE_BOT, sample.BRIDGE)
    assert second["subtype"] == "message_changed"

    slack.events.echoes_own = False
    await client.chat_postMessage(channel=sample.GENERAL, text="silent")
    await slack.settled()
    assert len(app.events) == 2


async def test_the_url_is_verified_with_a_challenge(slack: EmulatedSlack, app: App) -> None:
    delivery = await slack.people.verify_url()

    assert app.received[0].payload["challenge"] == delivery.payload["challenge"]


async def test_held_retries_arent_used_up_while_the_app_is_away(app: App) -> None:
    async with EmulatedSlack(
        signing_secret=SECRET, bot_token=TOKEN, events_url=app.url, retry_delays=(0.0,), holds_retries=True
    ) as slack:
        await app.server.stop()
        await slack.people.say(sample.ALICE, sample.GENERAL, "hello")
        await asyncio.sleep(0.5)
        tried_while_down = len(slack.deliveries)

        await app.server.start()
        await slack.settled()

        assert tried_while_down == 1
        assert {one.headers.get("x-slack-retry-num") for one in app.received} == {"1"}
