"""Messages and threads in the emulated Slack, written and read with Slack's own client."""

import json

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from bridge.playground.emulator import EmulatedSlack, sample
from support.slack_app import TOKEN, refusal


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


async def test_form_fields_may_contain_json(slack: EmulatedSlack) -> None:
    blocks = json.dumps([{"type": "divider"}])
    form = {"token": TOKEN, "channel": sample.GENERAL, "text": "x", "blocks": blocks, "unfurl_links": "false"}

    async with aiohttp.ClientSession() as session:
        answer = await (await session.post(f"{slack.api_url}chat.postMessage", data=form)).json()

    assert answer["ok"]
    assert slack.messages(sample.GENERAL)[0].blocks[0]["type"] == "divider"
    assert "token" not in slack.calls[0].args


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


async def test_posting_to_a_person_reaches_the_direct_message(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    answer = await client.chat_postMessage(channel=sample.ALICE, text="psst")

    assert answer["channel"] == sample.DM_ALICE
    assert slack.messages(sample.DM_ALICE)[0].text == "psst"


async def test_an_update_replaces_text_and_blocks_and_marks_the_message(
    slack: EmulatedSlack, client: AsyncWebClient
) -> None:
    posted = await client.chat_postMessage(channel=sample.GENERAL, text="old", blocks=[{"type": "divider"}])

    await client.chat_update(channel=sample.GENERAL, ts=posted["ts"], text="new")

    (message,) = slack.messages(sample.GENERAL)
    assert (message.text, message.blocks) == ("new", [])
    assert message.edited


async def test_an_ephemeral_message_is_seen_by_one_person(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    await client.chat_postEphemeral(channel=sample.GENERAL, user=sample.ALICE, text="only you")
    outsider = client.chat_postEphemeral(channel=sample.GENERAL, user=sample.STRANGER, text="x")

    assert (await refusal(outsider))["error"] == "user_not_in_channel"
    assert [one.text for one in slack.ephemerals(sample.ALICE)] == ["only you"]
    assert slack.ephemerals(sample.BOB) == []
    assert slack.messages(sample.GENERAL) == []


async def test_a_thread_is_read_page_by_page_and_metadata_only_on_request(
    slack: EmulatedSlack, client: AsyncWebClient
) -> None:
    root = await slack.people.say(sample.ALICE, sample.GENERAL, "root")
    metadata = {"event_type": "t", "event_payload": {}}
    for text in ("1", "2", "3"):
        await client.chat_postMessage(channel=sample.GENERAL, thread_ts=root, text=text, metadata=metadata)

    first = await client.conversations_replies(channel=sample.GENERAL, ts=root, limit=3)
    cursor = first["response_metadata"]["next_cursor"]
    second = await client.conversations_replies(
        channel=sample.GENERAL, ts=root, limit=3, cursor=cursor, include_all_metadata=True
    )

    assert [one["text"] for one in first["messages"]] == ["root", "1", "2"]
    assert first["has_more"]
    assert first["messages"][0]["reply_count"] == 3
    assert "metadata" not in first["messages"][1]
    assert [(one["text"], one["metadata"]) for one in second["messages"]] == [("3", metadata)]
    assert not second["has_more"]


async def test_apps_outside_the_marketplace_read_fifteen_at_a_time(
    slack: EmulatedSlack, client: AsyncWebClient
) -> None:
    slack.page_limit = 15
    root = await slack.people.say(sample.ALICE, sample.GENERAL, "root")
    for _ in range(20):
        await slack.people.say(sample.BOB, sample.GENERAL, "reply", thread_ts=root)

    answer = await client.conversations_replies(channel=sample.GENERAL, ts=root, limit=1000)

    assert len(answer["messages"]) == 15


async def test_the_history_shows_roots_newest_first(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    root = await slack.people.say(sample.ALICE, sample.GENERAL, "first")
    await slack.people.say(sample.BOB, sample.GENERAL, "hidden", thread_ts=root)
    await slack.people.say(sample.BOB, sample.GENERAL, "shown", thread_ts=root, broadcast=True)

    found = (await client.conversations_history(channel=sample.GENERAL))["messages"]
    after = (await client.conversations_history(channel=sample.GENERAL, oldest=root))["messages"]

    assert [one["text"] for one in found] == ["shown", "first"]
    assert [one["text"] for one in after] == ["shown"]
    assert (await refusal(client.conversations_history(channel=sample.NOBOT)))["error"] == "not_in_channel"


async def test_the_permalink_of_a_reply_names_its_thread(slack: EmulatedSlack) -> None:
    root = await slack.people.say(sample.ALICE, sample.GENERAL, "root")
    reply = await slack.people.say(sample.BOB, sample.GENERAL, "reply", thread_ts=root)

    link = slack.permalink(sample.GENERAL, reply)

    assert link.endswith(f"/p{reply.replace('.', '')}?thread_ts={root}&cid={sample.GENERAL}")


async def test_a_customized_message_has_its_name_and_icon_but_no_user(
    slack: EmulatedSlack, client: AsyncWebClient
) -> None:
    slack.scopes.add("chat:write.customize")
    named = {"username": "Support", "icon_emoji": ":headphones:"}

    posted = await client.chat_postMessage(channel=sample.GENERAL, text="hi", **named)
    updated = await client.chat_update(channel=sample.GENERAL, ts=posted["ts"], text="ho", username="Sales")

    for shown in (posted["message"], updated["message"]):
        assert (shown["subtype"], shown["username"], shown["icons"]) == (
            "bot_message", "Support", {"emoji": ":headphones:"},
        )  # fmt: skip
        assert shown["bot_id"] == sample.BRIDGE_BOT
        assert {"user", "bot_profile"}.isdisjoint(shown)


async def test_a_name_without_its_scope_is_ignored(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    slack.scopes.discard("chat:write.customize")

    posted = await client.chat_postMessage(channel=sample.GENERAL, text="hi", username="Support", icon_emoji=":x:")

    assert posted["message"]["user"] == sample.BRIDGE
    assert "username" not in posted["message"]
