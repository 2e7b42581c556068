"""Message content beyond text in the emulated Slack: forwards, tables, alerts, files, clips; and group messages."""

import json
from typing import Any

import httpx
import pytest
from slack_sdk.models.blocks import Block, TableBlock
from slack_sdk.web.async_client import AsyncWebClient

from bridge.playground.emulator import EmulatedSlack, sample
from support.ports import NO_TLS
from support.slack_app import TOKEN, App, refusal

MAIL = b"From: Ada <ada@example.com>\nTo: bridge@example.com\nSubject: Invoice 7\n\nPlease pay.\n"
WORDS = "What day is it today and what is on the agenda for tomorrow morning"


async def fetch(url: str) -> httpx.Response:
    async with httpx.AsyncClient(verify=NO_TLS) as http:
        return await http.get(url, headers={"Authorization": f"Bearer {TOKEN}"})


def files_of(app: App) -> list[dict[str, Any]]:
    return list(app.events[-1]["files"])


# Blocks and attachments


async def test_a_mention_only_in_rich_text_counts(slack: EmulatedSlack, app: App) -> None:
    section = {"type": "rich_text_section", "elements": [{"type": "user", "user_id": sample.BRIDGE}]}

    await slack.people.say(sample.ALICE, sample.GENERAL, "", blocks=[{"type": "rich_text", "elements": [section]}])

    assert [event["type"] for event in app.events] == ["app_mention", "message"]


@pytest.mark.parametrize("comment", ["", "deal with this"])
async def test_a_forwarded_message_is_quoted_in_an_attachment(slack: EmulatedSlack, app: App, comment: str) -> None:
    ts = await slack.people.say(sample.BOB, sample.RANDOM, f"<@{sample.BRIDGE}> look &amp; see")

    await slack.people.forward(sample.ALICE, sample.RANDOM, ts, to=sample.DM_ALICE, comment=comment)

    event = app.events[-1]
    (quoted,) = event["attachments"]
    assert event["text"] == comment
    assert (quoted["is_share"], quoted["is_msg_unfurl"]) == (True, True)
    assert (quoted["author_id"], quoted["author_name"]) == (sample.BOB, "Bob Brandt")
    assert (quoted["channel_id"], quoted["ts"], quoted["footer"]) == (sample.RANDOM, ts, "Posted in #random")
    assert quoted["text"] == f"<@{sample.BRIDGE}> look &amp; see"
    assert quoted["from_url"] == slack.permalink(sample.RANDOM, ts)
    assert quoted["message_blocks"][0]["message"]["blocks"][0]["type"] == "rich_text"


async def test_a_mention_in_a_forwarded_message_does_not_count(slack: EmulatedSlack, app: App) -> None:
    ts = await slack.people.say(sample.BOB, sample.RANDOM, f"<@{sample.BRIDGE}> look")
    before = len(app.events)

    await slack.people.forward(sample.ALICE, sample.RANDOM, ts, to=sample.GENERAL, comment="see")

    assert [event["type"] for event in app.events[before:]] == ["message"]


async def test_a_forwarded_reply_carries_its_files(slack: EmulatedSlack, app: App) -> None:
    root = await slack.people.say(sample.BOB, sample.RANDOM, "root")
    files = slack.people.attach(sample.BOB, {"a.txt": b"words"})
    ts = await slack.people.say(sample.BOB, sample.RANDOM, "reply", thread_ts=root, files=files)

    await slack.people.forward(sample.ALICE, sample.RANDOM, ts, to=sample.DM_ALICE)

    (quoted,) = app.events[-1]["attachments"]
    assert (quoted["footer"], quoted["is_reply_unfurl"]) == ("Thread in #random", True)
    assert [one["name"] for one in quoted["files"]] == ["a.txt"]


async def test_a_forwarded_alert_has_its_text_and_its_webhooks_name(slack: EmulatedSlack, app: App) -> None:
    alert = {"title": "Checkout fails", "text": "12%", "color": "danger", "fallback": "Checkout fails"}
    ts = await slack.people.app_posts(sample.RANDOM, webhook="Monitoring", attachments=[alert])

    await slack.people.forward(sample.ALICE, sample.RANDOM, ts, to=sample.DM_ALICE)

    (quoted,) = app.events[-1]["attachments"]
    assert (quoted["author_name"], "author_id" in quoted) == ("Monitoring", False)
    assert (quoted["title"], quoted["text"]) == ("Checkout fails", "12%")


async def test_a_pasted_table_is_attached_to_the_message(slack: EmulatedSlack, app: App) -> None:
    table = slack.people.table([["Name", "Amount"], ["Item A", 1200.5]])
    await slack.people.say(sample.ALICE, sample.GENERAL, "which?", attachments=[table])

    (pasted,) = app.events[-1]["attachments"]
    (block,) = pasted["blocks"]
    assert set(pasted) == {"id", "blocks", "fallback"}
    assert pasted["fallback"] == "[no preview available]"
    assert block["rows"][1] == [
        {"type": "raw_text", "text": "Item A"},
        {"type": "raw_number", "value": 1200.5, "text": "1200.5"},
    ]
    assert isinstance(Block.parse(block), TableBlock)


async def test_another_apps_bot_user_posts_as_itself(slack: EmulatedSlack, app: App) -> None:
    await slack.people.app_posts(sample.GENERAL, attachments=[{"title": "Disk", "text": "91%", "color": "danger"}])

    (event,) = app.events
    assert "subtype" not in event
    assert (event["user"], event["bot_id"], event["app_id"]) == (sample.OTHER_BOT, "B0OTHERBOT", "A0OTHERBOT")
    assert event["bot_profile"]["name"] == "Other Bot"
    assert (event["text"], event["attachments"][0]["id"]) == ("", 1)


async def test_an_incoming_webhook_post_has_no_user(slack: EmulatedSlack, app: App) -> None:
    await slack.people.app_posts(sample.RANDOM, "Disk is full", webhook="Monitoring")

    (event,) = app.events
    assert (event["subtype"], event["username"], event["bot_id"]) == ("bot_message", "Monitoring", "B0OTHERBOT")
    assert "user" not in event


async def test_an_app_posts_with_a_persons_own_token(slack: EmulatedSlack, app: App) -> None:
    await slack.people.say(sample.ALICE, sample.GENERAL, "hello", via=sample.OTHER_BOT)

    (event,) = app.events
    assert (event["user"], event["bot_id"], event["app_id"]) == (sample.ALICE, "B0OTHERBOT", "A0OTHERBOT")
    assert event["bot_profile"]["name"] == "Other Bot"
    assert "client_msg_id" not in event


@pytest.mark.parametrize("webhook", ["", "Monitoring"])
async def test_an_app_edits_its_post(slack: EmulatedSlack, app: App, webhook: str) -> None:
    ts = await slack.people.app_posts(sample.GENERAL, webhook=webhook, attachments=[{"text": "firing"}])
    await slack.people.edit(sample.GENERAL, ts, "", attachments=[{"text": "resolved"}])

    edited, before = app.events[-1]["message"], app.events[-1]["previous_message"]
    assert (before["attachments"][0]["text"], edited["attachments"][0]["text"]) == ("firing", "resolved")
    assert (edited["edited"]["user"], edited.get("username", "")) == ("B0OTHERBOT", webhook)


# Files


async def test_a_long_text_does_not_become_a_snippet(slack: EmulatedSlack) -> None:
    (file,) = slack.people.attach(sample.ALICE, {"long.csv": b"x" * 1_000_001})

    assert (file["mode"], file["mimetype"], "preview" in file) == ("hosted", "text/csv", False)


async def test_an_email_has_its_sender_and_text(slack: EmulatedSlack) -> None:
    (file,) = slack.people.attach(sample.ALICE, {"invoice.eml": MAIL})

    assert (file["mode"], file["filetype"], file["subject"]) == ("email", "email", "Invoice 7")
    assert file["from"] == [{"name": "Ada", "address": "ada@example.com", "original": "Ada <ada@example.com>"}]
    assert file["plain_text"] == "Please pay.\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("lines.eml", MAIL + b"All of it.\n" * 800_000),
        ("line.eml", MAIL + b"x" * 9_000_000),
        ("head.eml", b"To: " + b"a@example.com, " * 600_000 + b"b@example.com\n\nhello\n"),
        ("line.json", b"x" * 1_000_000),
    ],
)
async def test_only_the_beginning_of_a_long_file_is_in_its_message(
    slack: EmulatedSlack, app: App, name: str, content: bytes
) -> None:
    files = slack.people.attach(sample.ALICE, {f"{number} {name}": content for number in range(5)})
    await slack.people.say(sample.ALICE, sample.GENERAL, "look", files=files)

    (event,) = app.events
    assert len(json.dumps(event)) < 200_000
    assert [one.get("has_more") or one["preview_is_truncated"] for one in event["files"]] == [True] * 5


async def test_a_file_without_the_scope_gives_a_sign_in_page(slack: EmulatedSlack) -> None:
    (file,) = slack.people.attach(sample.ALICE, {"a.txt": b"words"})
    slack.scopes.remove("files:read")

    fetched = await fetch(file["url_private_download"])

    assert (fetched.status_code, fetched.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert b"Sign in" in fetched.content


async def test_another_companys_file_must_be_looked_up(slack: EmulatedSlack, app: App, client: AsyncWebClient) -> None:
    files = slack.people.attach(sample.STRANGER, {"plan.txt": b"words"})

    await slack.people.say(sample.STRANGER, sample.SHARED, "", files=files)

    (stub,) = files_of(app)
    assert (stub["file_access"], "url_private" in stub) == ("check_file_info", False)
    described = await client.files_info(file=stub["id"])
    assert described["file"]["name"] == "plan.txt"
    assert (described["content"], described["is_truncated"]) == ("words", False)


async def test_a_file_in_a_channel_without_the_bot_isnt_found(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    files = slack.people.attach(sample.CAROL, {"plan.txt": b"words"})
    await slack.people.say(sample.CAROL, sample.HIDDEN, "", files=files)

    assert (await refusal(client.files_info(file=files[0]["id"])))["error"] == "file_not_found"


# Voice clips


async def test_a_voice_clip_is_transcribed_after_a_while(
    slack: EmulatedSlack, app: App, client: AsyncWebClient
) -> None:
    said = slack.people.clip(sample.ALICE, WORDS, is_transcribed=False)
    ts = await slack.people.say(sample.ALICE, sample.DM_ALICE, "", files=[said])
    (clip,) = files_of(app)
    assert (clip["subtype"], clip["media_display_type"]) == ("slack_audio", "audio")
    assert clip["duration_ms"] > 0
    assert clip["transcription"] == {"status": "processing"}
    assert "vtt" not in clip

    await slack.people.transcribe(clip["id"])

    history = await client.conversations_history(channel=sample.DM_ALICE, oldest=ts, inclusive=True)
    (known,) = history["messages"][0]["files"]
    assert known["vtt"] == (await client.files_info(file=clip["id"]))["file"]["vtt"]
    preview = {"content": WORDS, "has_more": False}
    assert known["transcription"] == {"status": "complete", "locale": "en-US", "preview": preview}
    assert app.events[-1]["type"] == "file_change"


async def test_a_long_transcript_is_whole_in_its_subtitles(slack: EmulatedSlack, app: App) -> None:
    said = slack.people.clip(sample.ALICE, " ".join([WORDS] * 9))
    await slack.people.say(sample.ALICE, sample.DM_ALICE, "", files=[said])

    (clip,) = files_of(app)
    fetched = await fetch(clip["vtt"])
    lines = [line for line in fetched.content.decode("utf-8-sig").splitlines() if line and "-->" not in line]
    assert clip["transcription"]["preview"]["has_more"] is True
    assert lines[0] == "WEBVTT "
    assert " ".join(lines[1:]) == "- " + " ".join([WORDS] * 9)


async def test_a_clip_that_cannot_be_transcribed_says_so(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    said = slack.people.clip(sample.ALICE, WORDS, is_transcribed=False)
    await slack.people.say(sample.ALICE, sample.DM_ALICE, "", files=[said])
    (clip,) = slack.files

    await slack.people.transcribe(clip.id, fails=True)

    assert (await client.files_info(file=clip.id))["file"]["transcription"] == {"status": "failed"}


# Group direct messages


async def test_a_group_message_comes_as_one_event(slack: EmulatedSlack, app: App) -> None:
    group = slack.people.start_group(sample.ALICE, sample.BOB, sample.BRIDGE)

    await slack.people.say(sample.ALICE, group, f"<@{sample.BRIDGE}> hello")

    assert [(event["type"], event["channel_type"]) for event in app.events] == [("message", "mpim")]
    assert slack.people.start_group(sample.BRIDGE, sample.BOB, sample.ALICE) == group


async def test_a_mention_in_a_group_message_may_have_a_twin(slack: EmulatedSlack, app: App) -> None:
    slack.events.mentions_in_mpims = True
    group = slack.people.start_group(sample.ALICE, sample.BOB, sample.BRIDGE)

    await slack.people.say(sample.ALICE, group, f"<@{sample.BRIDGE}> hello")

    assert [event["type"] for event in app.events] == ["app_mention", "message"]


async def test_a_group_message_needs_its_own_scope(slack: EmulatedSlack, app: App, client: AsyncWebClient) -> None:
    group = slack.people.start_group(sample.ALICE, sample.BOB, sample.BRIDGE)
    slack.scopes.remove("mpim:history")

    await slack.people.say(sample.ALICE, group, "hello")

    assert app.events == []
    refused = await refusal(client.conversations_history(channel=group))
    assert (refused["error"], refused["needed"]) == ("missing_scope", "mpim:history")


async def test_a_group_message_is_described_as_an_mpim(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    group = slack.people.start_group(sample.ALICE, sample.BOB, sample.BRIDGE)

    shown = (await client.conversations_info(channel=group))["channel"]

    assert (shown["is_mpim"], shown["is_private"], shown["is_im"]) == (True, True, False)
    assert shown["name"] == "mpdm-alice--bob--bridge-1"


async def test_conversations_are_listed_in_pages_with_few_fields(client: AsyncWebClient) -> None:
    first = await client.users_conversations(limit=2)
    second = await client.users_conversations(limit=2, cursor=first["response_metadata"]["next_cursor"])

    assert [one["id"] for one in first["channels"]] == [sample.GENERAL, sample.OPS]
    assert len(second["channels"]) == 2
    assert not {"num_members", "is_member"} & set(first["channels"][0])
