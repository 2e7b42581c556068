"""The emulated workspace survives a restart and then delivers what the app had not acknowledged."""

import asyncio
import signal
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.webhook.async_client import AsyncWebhookClient
from starlette.responses import PlainTextResponse

from bridge.playground.emulator import EmulatedSlack, sample, storage
from bridge.playground.local_server import Silence
from support.slack_app import SECRET, TOKEN, App, form
from support.socket_app import APP_TOKEN, connected
from support.waiting import wait_until

FORM = form()


@pytest.fixture
def opened(app: App, tmp_path: Path) -> Callable[[], EmulatedSlack]:
    """Open the saved workspace, as the next process does."""
    return lambda: EmulatedSlack(
        signing_secret=SECRET,
        bot_token=TOKEN,
        events_url=app.url,
        retry_delays=(0.0, 60.0, 300.0),
        data_dir=tmp_path / "slack",
    )


async def test_all_data_survives_a_restart(opened: Callable[[], EmulatedSlack], app: App) -> None:
    async with opened() as slack:
        client = AsyncWebClient(TOKEN, base_url=slack.api_url)
        files = slack.people.attach(sample.ALICE, {"a.txt": b"\x00\xff"})
        root = await slack.people.say(sample.ALICE, sample.GENERAL, "root", files=files)
        reply = await slack.people.say(sample.BOB, sample.GENERAL, "reply", thread_ts=root)
        await slack.people.react(sample.BOB, sample.GENERAL, root, "eyes")
        gone = await slack.people.say(sample.BOB, sample.GENERAL, "gone")
        await slack.people.delete(sample.GENERAL, gone)
        await slack.people.join(sample.BRIDGE, sample.NOBOT)
        await client.agents_sessions_rename(channel_id=sample.GENERAL, thread_ts=root, title="A talk")
        await client.chat_postEphemeral(channel=sample.GENERAL, user=sample.ALICE, text="psst")
        await client.views_publish(user_id=sample.ALICE, view={"type": "home", "blocks": []})
        await slack.ui.command(sample.ALICE, sample.GENERAL, "/workflows")
        await client.views_open(trigger_id=app.received[-1].payload["trigger_id"], view=FORM)
        before = [message.as_json() for message in slack.messages(sample.GENERAL, root)]
        await slack.settled()

    async with opened() as slack:
        assert [message.as_json() for message in slack.messages(sample.GENERAL, root)] == before
        assert [message.ts for message in slack.messages(sample.GENERAL)] == [root]
        assert slack.messages(sample.GENERAL, root)[1].ts == reply
        assert [file.content for file in slack.files] == [b"\x00\xff"]
        assert sample.BRIDGE in slack.workspace.channels[sample.NOBOT].members
        assert slack.workspace.session(sample.GENERAL, root).title == "A talk"
        assert [message.text for message in slack.ephemerals(sample.ALICE)] == ["psst"]
        assert slack.home(sample.ALICE) is not None
        assert [view.content["title"]["text"] for view in slack.views(sample.ALICE)] == ["Run"]
        assert await slack.people.say(sample.ALICE, sample.GENERAL, "later") > reply


async def test_a_response_url_works_after_a_restart(opened: Callable[[], EmulatedSlack], app: App) -> None:
    async with opened() as slack:
        await slack.ui.command(sample.ALICE, sample.NOBOT, "/stats")
        path = app.received[0].payload["response_url"].removeprefix(slack.url)

    async with opened() as slack:
        answers = [await AsyncWebhookClient(slack.url + path).send(text=str(number)) for number in range(6)]
        assert [answer.status_code for answer in answers] == [200] * 5 + [404]
        assert len(slack.ephemerals(sample.ALICE)) == 5


async def test_an_unaccepted_event_is_retried_with_the_reason(opened: Callable[[], EmulatedSlack], app: App) -> None:
    app.answers = [PlainTextResponse("no", status_code=503), PlainTextResponse("no", status_code=503)]
    async with opened() as slack:
        await slack.people.say(sample.ALICE, sample.GENERAL, "hello")
        await wait_until(
            lambda: len(slack.deliveries) == 2 and slack.deliveries[1].error, "the second delivery attempt"
        )

    async with opened() as slack:
        await slack.settled()

    asked = [(one.headers.get("x-slack-retry-num"), one.headers.get("x-slack-retry-reason")) for one in app.received]
    assert asked == [(None, None), ("1", "http_error"), ("2", "http_error")]
    assert len({one.payload["event_id"] for one in app.received}) == 1


async def test_messages_sent_while_down_arrive_in_order(opened: Callable[[], EmulatedSlack], app: App) -> None:
    texts = [f"number {number}" for number in range(10)]
    await app.server.stop()
    async with opened() as slack:
        for text in texts:
            await slack.people.say(sample.ALICE, sample.DM_ALICE, text, wait=False)
    await app.server.start()

    async with opened() as slack:
        await slack.settled()

    assert [event["text"] for event in app.events] == texts


async def test_an_undelivered_event_is_delivered_once_after_a_restart(
    opened: Callable[[], EmulatedSlack], app: App
) -> None:
    app.answers = [Silence()]
    async with opened() as slack:
        await slack.people.say(sample.ALICE, sample.GENERAL, "hello", wait=False)
        await wait_until(lambda: app.received, "the delivery is in flight")
    await app.server.stop()

    async with opened() as slack:
        assert slack.deliveries == []
        await app.server.start()
        await slack.settled()
        assert [(one.retry, one.is_acked) for one in slack.deliveries] == [(1, True)]

    async with opened() as slack:
        await slack.settled()
        assert slack.deliveries == []


async def test_an_undelivered_event_is_sent_over_the_first_socket(tmp_path: Path) -> None:
    def saved_slack() -> EmulatedSlack:
        slack = EmulatedSlack(signing_secret=SECRET, bot_token=TOKEN, app_token=APP_TOKEN, data_dir=tmp_path)
        slack.use_sockets = True
        return slack

    async with saved_slack() as slack:
        await slack.people.say(sample.ALICE, sample.GENERAL, "nobody listens")

    async with saved_slack() as slack, connected(slack) as (app,):
        await wait_until(lambda: app.texts == ["nobody listens"], "the delivery arrives")
        assert (app.envelopes[0].retry_attempt, app.envelopes[0].retry_reason) == (1, "timeout")


async def test_a_workspace_from_an_older_version_gets_the_new_samples(
    opened: Callable[[], EmulatedSlack], tmp_path: Path
) -> None:
    async with opened() as slack:
        await slack.people.say(sample.ALICE, sample.GENERAL, "from before")
    with closing(sqlite3.connect(tmp_path / "slack" / storage.FILE)) as stored, stored:
        stored.execute("DELETE FROM things WHERE id IN (?, ?, ?)", (sample.OPS, sample.SLACKBOT, sample.RUNNERS))

    async with opened() as slack:
        workspace = slack.workspace
        assert sample.BRIDGE in workspace.channels[sample.OPS].members
        assert (workspace.people[sample.SLACKBOT].name, workspace.groups[sample.RUNNERS].handle) == (
            "slackbot",
            "runners",
        )
        assert [one.text for one in slack.messages(sample.GENERAL)] == ["from before"]


async def test_fields_that_another_version_stored_are_ignored(
    opened: Callable[[], EmulatedSlack], tmp_path: Path
) -> None:
    async with opened() as slack:
        await slack.people.say(sample.ALICE, sample.GENERAL, "from before")
    with closing(sqlite3.connect(tmp_path / "slack" / storage.FILE)) as stored, stored:
        stored.execute("UPDATE things SET content = json_set(content, '$.gone', 1)")

    async with opened() as slack:
        assert [one.text for one in slack.messages(sample.GENERAL)] == ["from before"]


async def test_a_database_of_another_version_is_set_aside(opened: Callable[[], EmulatedSlack], tmp_path: Path) -> None:
    async with opened() as slack:
        slack.people.read(sample.ALICE, sample.GENERAL)
    file = tmp_path / "slack" / storage.FILE
    with closing(sqlite3.connect(file)) as saved_slack:
        saved_slack.execute("PRAGMA user_version=99")

    async with opened() as slack:
        assert slack.workspace.channels[sample.GENERAL].read_to == {}
    assert file.with_suffix(".form99").exists()


async def test_a_kill_loses_nothing_that_was_acknowledged(app: App, tmp_path: Path) -> None:
    async def served() -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "bridge.playground.emulator", "--port", "0", "--data-dir", str(tmp_path), "--events-url", app.url),
            *("--signing-secret", SECRET, "--bot-token", TOKEN),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )

    async def next_line(process: asyncio.subprocess.Process) -> str:
        assert process.stdout is not None
        return (await process.stdout.readline()).decode().strip()

    first = await served()
    address = (await next_line(first)).removeprefix("Emulated Slack: ")
    async with aiohttp.ClientSession() as session:
        client = AsyncWebClient(TOKEN, base_url=address, session=session, retry_handlers=[])
        await app.server.stop()
        for number in range(20):
            await client.chat_postMessage(channel=sample.GENERAL, text=f"number {number}")
        first.send_signal(signal.SIGKILL)
        await first.wait()
    await app.server.start()

    second = await served()
    try:
        await wait_until(lambda: len(app.received) == 20, "events for all messages arrive")
    finally:
        second.kill()
        await second.wait()

    assert {event["text"] for event in app.events} == {f"number {number}" for number in range(20)}
    async with EmulatedSlack(signing_secret=SECRET, bot_token=TOKEN, data_dir=tmp_path) as slack:
        assert len(slack.messages(sample.GENERAL)) == 20
