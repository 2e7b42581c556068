"""Streamed messages, scheduled messages and workflow steps in the emulated Slack."""

import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bridge.playground.emulator import EmulatedSlack, sample
from support.slack_app import SECRET, TOKEN, App, Clock, refusal
from support.waiting import wait_until

HERE = sample.GENERAL
TO_ALICE = {"recipient_team_id": sample.TEAM, "recipient_user_id": sample.ALICE}
SECTION = {"type": "section", "text": {"type": "mrkdwn", "text": "below"}}


@pytest.fixture
async def slack(app: App, clock: Clock) -> AsyncIterator[EmulatedSlack]:
    async with EmulatedSlack(
        signing_secret=SECRET, bot_token=TOKEN, events_url=app.url, clock=clock, retry_delays=()
    ) as slack:
        slack.events.echoes_own = False
        yield slack


@pytest.fixture
async def root(slack: EmulatedSlack) -> str:
    return await slack.people.say(sample.ALICE, HERE, "root")


def kinds(blocks: list[dict[str, Any]]) -> list[str]:
    return [block["type"] for block in blocks]


async def test_slacks_stream_helper_streams_text_and_buttons(
    slack: EmulatedSlack, client: AsyncWebClient, root: str
) -> None:
    stream = await client.chat_stream(channel=HERE, thread_ts=root, buffer_size=4, **TO_ALICE)
    await stream.append(markdown_text="**Hello** ")
    await stream.append(markdown_text="there")
    assert slack.messages(HERE, root)[1].as_json()["streaming_state"] == "in_progress"

    await stream.stop(blocks=[SECTION])

    message = slack.messages(HERE, root)[1]
    assert (message.text, kinds(message.blocks)) == ("**Hello** there", ["markdown", "section"])
    assert message.as_json()["streaming_state"] == "completed"
    assert message.edited is None


@pytest.mark.parametrize(
    ("mode", "shown"), [("timeline", ["markdown", "task_card", "markdown"]), ("plan", ["plan", "markdown"])]
)
async def test_tasks_are_shown_in_a_timeline_or_one_plan(
    slack: EmulatedSlack, client: AsyncWebClient, root: str, mode: str, shown: list[str]
) -> None:
    started = await client.chat_startStream(
        channel=HERE,
        thread_ts=root,
        task_display_mode=mode,
        chunks=[
            {"type": "markdown_text", "text": "First "},
            {"type": "task_update", "id": "1", "title": "Look", "status": "in_progress"},
        ],
        **TO_ALICE,
    )
    await client.chat_appendStream(
        channel=HERE,
        ts=started["ts"],
        chunks=[
            {"type": "task_update", "id": "1", "title": "Look", "status": "complete", "output": "seen"},
            {"type": "plan_update", "title": "What I do"},
            {"type": "markdown_text", "text": "then"},
        ],
    )

    message = slack.messages(HERE, root)[1]
    assert kinds(message.blocks) == shown
    (task,) = message.blocks[0]["tasks"] if mode == "plan" else [message.blocks[1]]
    assert (task["status"], task["output"]["type"]) == ("complete", "rich_text")
    assert message.text == "First then"


async def test_an_open_stream_cannot_be_updated_and_ends_after_five_minutes(
    client: AsyncWebClient, root: str, clock: Clock
) -> None:
    ts = (await client.chat_startStream(channel=HERE, thread_ts=root, markdown_text="begun", **TO_ALICE))["ts"]
    replaced = await refusal(client.chat_update(channel=HERE, ts=ts, text="replaced"))

    clock.ahead = 301

    late = await refusal(client.chat_appendStream(channel=HERE, ts=ts, markdown_text="more"))
    assert (replaced["error"], late["error"]) == ("streaming_state_conflict", "message_not_in_streaming_state")
    assert (await client.chat_update(channel=HERE, ts=ts, text="whole"))["ok"]


async def test_stopping_the_agent_stops_its_stream(
    slack: EmulatedSlack, client: AsyncWebClient, app: App, root: str
) -> None:
    ts = (await client.chat_startStream(channel=HERE, thread_ts=root, markdown_text="begun", **TO_ALICE))["ts"]

    await slack.people.press_stop(sample.ALICE, HERE, root)

    assert app.events[-1]["streaming_message_ts"] == [ts]
    assert (await refusal(client.chat_stopStream(channel=HERE, ts=ts)))["error"] == "stopped_by_user"


async def test_ending_a_stream_can_end_its_session(slack: EmulatedSlack, client: AsyncWebClient, root: str) -> None:
    await client.agents_sessions_setStatus(channel_id=HERE, thread_ts=root, status="processing")
    ts = (await client.chat_startStream(channel=HERE, thread_ts=root, **TO_ALICE))["ts"]

    await client.chat_stopStream(channel=HERE, ts=ts, markdown_text="done", session_status="active")

    assert slack.status(HERE, root) == ""


@pytest.mark.parametrize(
    ("chunks", "error"),
    [
        ([{"type": "markdown_text", "text": "x" * 12_001}], "msg_too_long"),
        ([{"type": "odd"}], "invalid_chunks"),
        ([{"type": "task_update", "id": "1"}], "invalid_chunks"),
        ([{"type": "blocks", "blocks": [{"type": "odd"}]}], "invalid_blocks"),
    ],
)
async def test_malformed_chunks_are_refused(client: AsyncWebClient, root: str, chunks: list[Any], error: str) -> None:
    call = client.chat_startStream(channel=HERE, thread_ts=root, chunks=chunks, **TO_ALICE)

    assert (await refusal(call))["error"] == error


async def test_a_scheduled_message_is_posted_when_due_unless_deleted(
    slack: EmulatedSlack, client: AsyncWebClient, root: str
) -> None:
    now = int(time.time())
    later = await client.chat_scheduleMessage(channel=HERE, post_at=now + 600, text="never")
    await client.chat_scheduleMessage(channel=HERE, post_at=int(time.time()) + 2, text="now", thread_ts=root)
    listed = (await client.chat_scheduledMessages_list(channel=HERE))["scheduled_messages"]
    await client.chat_deleteScheduledMessage(channel=HERE, scheduled_message_id=later["scheduled_message_id"])

    await wait_until(lambda: len(slack.messages(HERE, root)) == 2, "the scheduled message is posted")

    assert [one["text"] for one in listed] == ["now", "never"]
    assert slack.messages(HERE, root)[1].text == "now"
    assert (await client.chat_scheduledMessages_list())["scheduled_messages"] == []


async def test_a_scheduled_message_due_while_away_is_posted_afterwards(tmp_path: Path, clock: Clock) -> None:
    def saved_slack() -> EmulatedSlack:
        return EmulatedSlack(signing_secret=SECRET, bot_token=TOKEN, clock=clock, retry_delays=(), data_dir=tmp_path)

    async with saved_slack() as slack:
        client = AsyncWebClient(TOKEN, base_url=slack.api_url)
        await client.chat_scheduleMessage(channel=HERE, post_at=int(clock()) + 600, text="due")
    clock.ahead = 700

    async with saved_slack() as slack:
        await wait_until(lambda: slack.messages(HERE), "the scheduled message is posted")
        assert [message.text for message in slack.messages(HERE)] == ["due"]


async def test_a_workflow_step_completes_once(slack: EmulatedSlack, client: AsyncWebClient, app: App) -> None:
    step = await slack.people.run_step("run_workflow", {"input": "{}"})
    (event,) = app.events
    assert (event["function"]["callback_id"], event["inputs"]) == ("run_workflow", {"input": "{}"})
    assert event["bot_access_token"] == TOKEN

    await client.functions_completeSuccess(function_execution_id=step.id, outputs={"run": "7"})
    again = await refusal(client.functions_completeError(function_execution_id=step.id, error="late"))

    assert (step.status, step.outputs) == ("completed", {"run": "7"})
    assert again["error"] == "execution_not_in_running_state"
