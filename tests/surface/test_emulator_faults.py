"""Faults switched on in the emulated Slack, seen through Slack's own client."""

import asyncio

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bridge.playground.emulator import EmulatedSlack, sample
from bridge.playground.emulator.faults import Hang
from support.waiting import wait_until


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
