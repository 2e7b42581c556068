"""Faults switched on in the emulated Slack, seen through Slack's own client."""

import asyncio

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bridge.playground.emulator import DropAfter, DropBefore, EmulatedSlack, Error, Http, RateLimited, Slow, sample
from bridge.playground.emulator.faults import Hang
from support.slack_app import refusal
from support.waiting import wait_until


async def test_a_fault_happens_as_often_as_planned(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    slack.faults.on("chat.postMessage", RateLimited(retry_after=7), channel=sample.GENERAL)
    slack.faults.on("chat.postMessage", Error("internal_error"))
    elsewhere = await refusal(client.chat_postMessage(channel=sample.RANDOM, text="x"))

    with pytest.raises(SlackApiError) as limited:
        await client.chat_postMessage(channel=sample.GENERAL, text="x")

    assert elsewhere["error"] == "internal_error"
    assert (limited.value.response.status_code, limited.value.response.headers["Retry-After"]) == (429, "7")
    assert (await client.chat_postMessage(channel=sample.GENERAL, text="x"))["ok"]


@pytest.mark.parametrize(("fault", "arrived"), [(DropBefore(), 0), (DropAfter(), 1)])
async def test_a_broken_connection_hides_whether_the_message_arrived(
    slack: EmulatedSlack, client: AsyncWebClient, fault: DropBefore | DropAfter, arrived: int
) -> None:
    slack.faults.on("chat.postMessage", fault)

    with pytest.raises(aiohttp.ClientConnectionError):
        await client.chat_postMessage(channel=sample.GENERAL, text="x")

    assert len(slack.messages(sample.GENERAL)) == arrived
    assert slack.calls_of("chat.postMessage")[0].fault == fault


@pytest.mark.parametrize("is_done", [True, False])
async def test_a_hanging_call_takes_effect_at_once_or_once_awaited(
    slack: EmulatedSlack, client: AsyncWebClient, *, is_done: bool
) -> None:
    faults = [Hang(is_done), Hang(is_done)]
    for fault in faults:
        slack.faults.on("chat.postMessage", fault)
    gone, waits = (asyncio.create_task(client.chat_postMessage(channel=sample.GENERAL, text="x")) for _ in faults)
    await wait_until(lambda: len(slack.calls) == len(faults), "both calls arrived")

    gone.cancel()
    await asyncio.wait({gone})
    for fault in faults:
        fault.until.set()
    await waits

    assert len(slack.messages(sample.GENERAL)) == (2 if is_done else 1)


async def test_calls_can_be_slow_or_fail(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    slack.faults.on("auth.test", Slow(0.2))
    slack.faults.on("auth.test", Http(503))

    await client.auth_test()
    with pytest.raises(SlackApiError) as failed:
        await client.auth_test()

    assert slack.calls[0].seconds >= 0.2
    assert failed.value.response.status_code == 503


async def test_rate_limits_apply_to_each_channel_once_enabled(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    slack.rates.is_on = True

    for _ in range(3):
        await client.chat_postMessage(channel=sample.GENERAL, text="x")
    with pytest.raises(SlackApiError) as limited:
        await client.chat_postMessage(channel=sample.GENERAL, text="x")

    assert limited.value.response["error"] == "ratelimited"
    assert int(limited.value.response.headers["Retry-After"]) >= 1
    assert (await client.chat_postMessage(channel=sample.RANDOM, text="x"))["ok"]


async def test_a_slack_that_was_down_comes_back_at_the_same_address(
    slack: EmulatedSlack, client: AsyncWebClient
) -> None:
    await slack.stop()
    with pytest.raises(aiohttp.ClientConnectionError):
        await client.auth_test()

    await slack.start()

    assert (await client.auth_test())["ok"]
