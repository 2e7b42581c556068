"""An outage longer than Slack's retries, and the messages still in the history."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from slack_sdk.web.async_client import AsyncWebClient
from starlette.responses import PlainTextResponse

from bridge.playground.emulator import EmulatedSlack, sample
from support.outage import Line, outage, talk
from support.slack_app import SECRET, TOKEN, App, refusal
from support.socket_app import APP_TOKEN, connected
from support.waiting import wait_until

HALF_AN_HOUR = 1800.0
CHATTER = [Line(sample.ALICE, sample.RANDOM, f"line {number}") for number in range(20)]


@pytest.fixture
async def slack(app: App) -> AsyncIterator[EmulatedSlack]:
    async with EmulatedSlack(
        signing_secret=SECRET,
        bot_token=TOKEN,
        app_token=APP_TOKEN,
        events_url=app.url,
        retry_delays=(0.05, 0.05, 0.05),
        ack_seconds=0.5,
    ) as slack:
        yield slack


async def test_events_of_an_outage_are_never_sent(slack: EmulatedSlack, app: App) -> None:
    with outage(slack):
        await slack.people.say(sample.ALICE, sample.GENERAL, f"<@{sample.BRIDGE}> hello")
        await slack.settled()

    await slack.people.say(sample.ALICE, sample.GENERAL, "again")
    await slack.settled()

    assert [event["text"] for event in app.events] == ["again"]
    lost = [one for one in slack.deliveries if not one.is_acked]
    assert {one.error for one in lost} == {"connection_failed"}


async def test_an_outage_drops_events_that_wait_for_a_retry(slack: EmulatedSlack, app: App) -> None:
    app.answers.append(PlainTextResponse("no", status_code=503))
    await slack.people.say(sample.ALICE, sample.GENERAL, "hello")

    with outage(slack):
        pass
    await slack.settled()

    assert len(app.received) == 1


async def test_a_command_in_an_outage_fails_at_once(slack: EmulatedSlack, app: App) -> None:
    with outage(slack):
        delivery = await slack.ui.command(sample.ALICE, sample.GENERAL, "/workflows")

    assert (delivery.error, app.received) == ("connection_failed", [])
    assert "dispatch_failed" in slack.ephemerals(sample.ALICE)[-1].text


async def test_an_outage_cuts_sockets_and_opens_none(slack: EmulatedSlack) -> None:
    slack.use_sockets = True
    async with connected(slack) as (socket,):
        with outage(slack):
            await wait_until(lambda: not slack.sockets, "the socket is closed")
            await slack.people.say(sample.ALICE, sample.GENERAL, "hello")
            await asyncio.sleep(0.3)
            assert slack.sockets == []

        await wait_until(lambda: slack.sockets, "the app has reconnected")
        await slack.settled()
        assert socket.envelopes == []


async def test_backdated_messages_are_in_order(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    now = await slack.people.say(sample.BOB, sample.RANDOM, "now")

    written = await talk(slack, HALF_AN_HOUR, CHATTER)

    history = await client.conversations_history(channel=sample.RANDOM, limit=100)
    assert [one["ts"] for one in history["messages"]] == [now, *reversed(written)]
    assert float(now) - float(written[0]) == pytest.approx(HALF_AN_HOUR, abs=1)


async def test_backdated_replies_are_in_order(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    (root,) = await talk(slack, 2 * HALF_AN_HOUR, [Line(sample.ALICE, sample.RANDOM, "root")])
    late = await slack.people.say(sample.BOB, sample.RANDOM, "late", thread_ts=root)

    early = await talk(slack, HALF_AN_HOUR, [Line(sample.BOB, sample.RANDOM, f"{number}", root) for number in range(3)])

    replies = await client.conversations_replies(channel=sample.RANDOM, ts=root)
    assert [one["ts"] for one in replies["messages"]] == [root, *early, late]
    shown = await client.conversations_history(channel=sample.RANDOM)
    assert [one["ts"] for one in shown["messages"]] == [root]


async def test_simultaneous_messages_have_different_ts(slack: EmulatedSlack) -> None:
    at = slack.clock() - HALF_AN_HOUR

    written = {await slack.people.say(sample.ALICE, sample.RANDOM, "same", at=at) for _ in range(3)}

    assert len(written) == 3


async def test_a_message_in_the_future_is_refused(slack: EmulatedSlack) -> None:
    with pytest.raises(ValueError, match="in the future"):
        await slack.people.say(sample.ALICE, sample.RANDOM, "soon", at=slack.clock() + 60)


async def test_an_advanced_clock_advances_the_ts(slack: EmulatedSlack) -> None:
    before = await slack.people.say(sample.ALICE, sample.RANDOM, "before")

    slack.clock.move(HALF_AN_HOUR)

    after = await slack.people.say(sample.ALICE, sample.RANDOM, "after")
    assert float(after) - float(before) == pytest.approx(HALF_AN_HOUR, abs=1)


async def test_limited_history_gives_15_messages_a_minute(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    await talk(slack, HALF_AN_HOUR, CHATTER)
    slack.rates.limits_history = True

    first = await client.conversations_history(channel=sample.RANDOM, limit=200)
    refused = await refusal(client.conversations_history(channel=sample.RANDOM))
    slack.clock.move(60)
    second = await client.conversations_history(channel=sample.RANDOM, cursor=first["response_metadata"]["next_cursor"])

    assert [len(one["messages"]) for one in (first, second)] == [15, 5]
    assert (first["has_more"], second["has_more"]) == (True, False)
    assert refused["error"] == "ratelimited"
    assert slack.calls[1].status == 429


async def test_limited_history_counts_each_method_separately(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    (root, *_) = await talk(slack, HALF_AN_HOUR, CHATTER)
    slack.rates.limits_history = True

    await client.conversations_history(channel=sample.RANDOM)
    replies = await client.conversations_replies(channel=sample.RANDOM, ts=root)

    assert replies["ok"]
