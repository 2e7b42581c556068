"""Observers of the emulated workspace are notified of every change."""

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bridge.playground.emulator import Change, EmulatedSlack, sample

HOME = {"type": "home", "blocks": []}


@pytest.fixture
def changes(slack: EmulatedSlack) -> list[Change]:
    changes: list[Change] = []
    slack.workspace.subscribe(changes.append)
    return changes


async def test_a_new_edited_reacted_to_or_deleted_message_sends_an_event(
    slack: EmulatedSlack, changes: list[Change]
) -> None:
    ts = await slack.people.say(sample.ALICE, sample.GENERAL, "hello")
    await slack.people.edit(sample.GENERAL, ts, "hello there")
    await slack.people.react(sample.BOB, sample.GENERAL, ts, "eyes")
    await slack.people.delete(sample.GENERAL, ts)

    changes_seen = Change("message", f"{sample.GENERAL}/{ts}", sample.GENERAL, ts)
    assert changes[:3] == [changes_seen] * 3
    assert changes[3:] == [Change("message", changes_seen.id, sample.GENERAL, ts, is_gone=True)]


async def test_a_reply_changes_its_root_too(slack: EmulatedSlack, changes: list[Change]) -> None:
    root = await slack.people.say(sample.ALICE, sample.GENERAL, "root")
    changes.clear()

    reply = await slack.people.say(sample.BOB, sample.GENERAL, "reply", thread_ts=root)

    assert [change.ts for change in changes] == [reply, root]


async def test_the_apps_own_actions_send_events(
    slack: EmulatedSlack, client: AsyncWebClient, changes: list[Change]
) -> None:
    root = await slack.people.say(sample.ALICE, sample.DM_ALICE, "root")
    changes.clear()

    await client.assistant_threads_setStatus(channel_id=sample.DM_ALICE, thread_ts=root, status="is thinking…")
    await client.agents_sessions_rename(channel_id=sample.DM_ALICE, thread_ts=root, title="A talk")
    await client.assistant_threads_setSuggestedPrompts(
        channel_id=sample.DM_ALICE, title="Try", prompts=[{"title": "Hello", "message": "hello"}]
    )
    await client.chat_postEphemeral(channel=sample.DM_ALICE, user=sample.ALICE, text="psst")
    await client.views_publish(user_id=sample.ALICE, view=HOME)
    await client.files_getUploadURLExternal(filename="a.txt", length=3)

    assert [(change.kind, change.ts) for change in changes[:3]] == [
        ("session", root),
        ("session", root),
        ("session", ""),
    ]
    assert [change.kind for change in changes[3:]] == ["private_message", "home", "file"]
    assert changes[4].id == sample.ALICE


async def test_joining_and_reading_send_channel_changes(slack: EmulatedSlack, changes: list[Change]) -> None:
    await slack.people.join(sample.BRIDGE, sample.NOBOT)
    slack.people.read(sample.ALICE, sample.NOBOT)

    assert [change.id for change in changes if change.kind == "channel"] == [sample.NOBOT] * 2
    assert not slack.workspace.is_unread(sample.ALICE, slack.workspace.channels[sample.NOBOT])
