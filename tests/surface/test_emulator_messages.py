"""Messages and threads in the emulated Slack, written and read with Slack's own client."""

from slack_sdk.web.async_client import AsyncWebClient

from bridge.playground.emulator import EmulatedSlack, sample
from support.slack_app import refusal


async def test_a_messages_metadata_is_stored_as_sent(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    metadata = {"event_type": "bridge_turn", "event_payload": {"session": 7}}

    answer = await client.chat_postMessage(
        channel=sample.GENERAL,
        text="a &lt; b <@U0ALICE>",
        blocks=[{"type": "markdown", "text": "a < b"}],
        metadata=metadata,
        unfurl_links=False,
        unfurl_media=False,
    )

    (message,) = slack.messages(sample.GENERAL)
    assert (message.ts, message.text, message.user) == (answer["ts"], "a &lt; b <@U0ALICE>", sample.BRIDGE)
    assert message.blocks[0]["text"] == "a < b"
    assert message.metadata == metadata
    assert not message.unfurls


async def test_the_block_id_of_markdown_is_not_retained(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    context = {"type": "context", "elements": [{"type": "plain_text", "text": "b"}], "block_id": "second"}

    await client.chat_postMessage(
        channel=sample.GENERAL, text="x", blocks=[{"type": "markdown", "text": "a", "block_id": "first"}, context]
    )

    (message,) = slack.messages(sample.GENERAL)
    assert [block["block_id"] for block in message.blocks] == [message.blocks[0]["block_id"], "second"]
    assert message.blocks[0]["block_id"] not in {"", "first"}


async def test_a_reply_to_a_deleted_message_is_shown_in_the_channel(
    slack: EmulatedSlack, client: AsyncWebClient
) -> None:
    root = await slack.people.say(sample.ALICE, sample.GENERAL, "root")
    await slack.people.delete(sample.GENERAL, root)

    answer = await client.chat_postMessage(channel=sample.GENERAL, text="x", thread_ts=root)

    assert "thread_ts" not in answer["message"]
    assert [(one.text, one.thread_ts) for one in slack.messages(sample.GENERAL)] == [("x", "")]


async def test_a_tombstone_keeps_its_thread(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    root = await slack.people.say(sample.ALICE, sample.GENERAL, "root")
    await client.chat_postMessage(channel=sample.GENERAL, text="first", thread_ts=root)
    await slack.people.delete(sample.GENERAL, root)

    answer = await client.chat_postMessage(channel=sample.GENERAL, text="second", thread_ts=root)

    assert answer["message"]["thread_ts"] == root
    assert [one.text for one in slack.messages(sample.GENERAL, root)] == [
        "This message was deleted.",
        "first",
        "second",
    ]


async def test_a_reply_has_no_thread_of_its_own(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    root = await slack.people.say(sample.ALICE, sample.GENERAL, "root")
    reply = await client.chat_postMessage(channel=sample.GENERAL, text="x", thread_ts=root)
    nested = client.chat_postMessage(channel=sample.GENERAL, text="x", thread_ts=reply["ts"])
    assert (await refusal(nested))["error"] == "thread_not_found"
    assert [one.text for one in slack.messages(sample.GENERAL, root)] == ["root", "x"]
