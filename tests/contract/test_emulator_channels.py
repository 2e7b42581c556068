"""Channels, pins and files in the emulated workspace, as the app changes them and people see them."""

from collections.abc import AsyncIterator

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bridge.playground.emulator import EmulatedSlack, sample
from support.slack_app import SECRET, TOKEN, App, refusal


@pytest.fixture
async def slack(app: App) -> AsyncIterator[EmulatedSlack]:
    async with EmulatedSlack(signing_secret=SECRET, bot_token=TOKEN, events_url=app.url, retry_delays=()) as slack:
        yield slack


async def test_an_app_that_joins_gets_its_own_event_and_later_ones(
    slack: EmulatedSlack, client: AsyncWebClient, app: App
) -> None:
    await client.conversations_join(channel=sample.NOBOT)
    await slack.people.say(sample.ALICE, sample.NOBOT, "welcome")
    again = await client.conversations_join(channel=sample.NOBOT)
    await client.conversations_leave(channel=sample.NOBOT)
    await slack.people.say(sample.ALICE, sample.NOBOT, "gone already?")
    await slack.settled()

    assert [(event.get("subtype"), event["user"]) for event in app.events] == [
        ("channel_join", sample.BRIDGE),
        (None, sample.ALICE),
    ]
    assert again["warning"] == "already_in_channel"


async def test_a_new_channel_has_its_invited_members_and_is_found_by_name(
    slack: EmulatedSlack, client: AsyncWebClient
) -> None:
    channel = (await client.conversations_create(name="runs", is_private=True))["channel"]["id"]
    await client.conversations_invite(channel=channel, users=[sample.ALICE, sample.GUEST])
    await client.conversations_setTopic(channel=channel, topic="what runs now")
    await client.chat_postMessage(channel="#runs", text="hello")

    described = (await client.conversations_info(channel=channel, include_num_members=True))["channel"]
    assert (described["name"], described["is_private"], described["num_members"]) == ("runs", True, 3)
    assert described["topic"]["value"] == "what runs now"
    assert slack.messages(channel)[-1].text == "hello"
    assert (await refusal(client.conversations_invite(channel=channel, users=[sample.VISITOR])))[
        "error"
    ] == "ura_max_channels"
    mine = (await client.users_conversations(user=sample.GUEST, types="private_channel"))["channels"]
    assert [one["id"] for one in mine] == [channel]


async def test_a_pin_is_listed_with_its_message(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    first, second = [await slack.people.say(sample.ALICE, sample.GENERAL, text) for text in ("first", "second")]
    await client.pins_add(channel=sample.GENERAL, timestamp=first)
    await client.pins_add(channel=sample.GENERAL, timestamp=second)
    await slack.people.delete(sample.GENERAL, first)

    items = (await client.pins_list(channel=sample.GENERAL))["items"]

    assert [(item["message"]["text"], item["created_by"]) for item in items] == [("second", sample.BRIDGE)]


async def test_a_deleted_file_leaves_a_gap_in_its_message(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    await client.files_upload_v2(channel=sample.GENERAL, filename="out.json", content="{}")
    (listed,) = (await client.files_list(channel=sample.GENERAL))["files"]

    await client.files_delete(file=listed["id"])

    assert slack.messages(sample.GENERAL)[0].files == [{"id": listed["id"], "mode": "tombstone"}]
    assert (await client.files_list())["files"] == []


async def test_only_its_owner_can_delete_a_file(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    (file,) = slack.people.attach(sample.ALICE, {"a.txt": b"abc"})

    assert (await refusal(client.files_delete(file=file["id"])))["error"] == "cant_delete_file"


async def test_unfurled_links_do_not_mark_the_message_as_edited(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    ts = await slack.people.say(sample.ALICE, sample.GENERAL, "see <https://example.com/a>")

    await client.chat_unfurl(channel=sample.GENERAL, ts=ts, unfurls={"https://example.com/a": {"text": "A page"}})

    (message,) = slack.messages(sample.GENERAL)
    assert message.attachments == [{"from_url": "https://example.com/a", "text": "A page"}]
    assert message.edited is None


async def test_a_button_of_a_card_in_a_carousel_can_be_pressed(
    slack: EmulatedSlack, client: AsyncWebClient, app: App
) -> None:
    button = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}, "value": "7"}
    card = {"type": "card", "title": {"type": "plain_text", "text": "A card"}, "actions": [button]}
    posted = await client.chat_postMessage(
        channel=sample.GENERAL, text="cards", blocks=[{"type": "carousel", "elements": [card]}]
    )

    await slack.ui.click(sample.ALICE, sample.GENERAL, posted["ts"], "go")

    assert app.received[-1].payload["actions"][0]["value"] == "7"
