"""Shortcuts, tabs, reactions, files, links and every kind of user in the emulated Slack."""

from collections.abc import AsyncIterator

import pytest
from slack_sdk.web.async_client import AsyncWebClient
from starlette.responses import PlainTextResponse

from bridge.playground.emulator import EmulatedSlack, sample
from bridge.playground.local_server import Silence
from support.slack_app import SECRET, TOKEN, App

# Fields of each, from recorded payloads (slackapi/java-slack-sdk, json-logs).
SHOWN_OF_FILES = {
    "created", "display_as_bot", "editable", "external_type", "file_access", "filetype",
    "has_rich_preview", "id", "is_external", "is_public", "mimetype", "mode",
    "name", "permalink", "permalink_public", "pretty_type", "public_url_shared", "size",
    "timestamp", "title", "url_private", "url_private_download", "user", "user_team",
    "username",
}  # fmt: skip


@pytest.fixture
async def slack(app: App) -> AsyncIterator[EmulatedSlack]:
    async with EmulatedSlack(
        signing_secret=SECRET, bot_token=TOKEN, events_url=app.url, retry_delays=(), ack_seconds=0.3
    ) as slack:
        slack.events.echoes_own = False
        yield slack


async def test_a_message_shortcut_carries_the_message_and_a_response_url(slack: EmulatedSlack, app: App) -> None:
    ts = await slack.people.say(sample.ALICE, sample.GENERAL, "look at this")

    await slack.ui.message_shortcut(sample.BOB, sample.GENERAL, ts, "ask")

    payload = app.received[-1].payload
    assert (payload["type"], payload["callback_id"], payload["message_ts"]) == ("message_action", "ask", ts)
    assert (payload["message"]["text"], payload["channel"]["id"]) == ("look at this", sample.GENERAL)
    assert payload["response_url"].startswith(slack.url)
    assert payload["trigger_id"]


async def test_opening_each_tab_of_the_app_has_its_event(
    slack: EmulatedSlack, app: App, client: AsyncWebClient
) -> None:
    await client.views_publish(user_id=sample.ALICE, view={"type": "home", "blocks": []})
    await slack.people.open_messages(sample.ALICE)
    await slack.people.open_home(sample.ALICE)

    messages, home = app.events
    assert (messages["tab"], messages["channel"], "view" in messages) == ("messages", sample.DM_ALICE, False)
    assert (home["tab"], home["view"]["type"]) == ("home", "home")


async def test_a_reaction_is_sent_only_to_a_subscribed_app(slack: EmulatedSlack, app: App) -> None:
    slack.unsubscribed.add("reaction_added")
    ts = await slack.people.say(sample.ALICE, sample.GENERAL, "hello")
    await slack.people.react(sample.BOB, sample.GENERAL, ts, "tada")
    slack.unsubscribed.clear()

    assert not await slack.people.react(sample.BOB, sample.GENERAL, ts, "tada")
    assert await slack.people.react(sample.BOB, sample.GENERAL, ts, "eyes")

    _, removed, added = app.events
    assert (removed["type"], removed["reaction"], removed["user"]) == ("reaction_removed", "tada", sample.BOB)
    assert added["item"] == {"type": "message", "channel": sample.GENERAL, "ts": ts}
    assert added["item_user"] == sample.ALICE
    assert slack.messages(sample.GENERAL)[0].reactions == {"eyes": [sample.BOB]}


async def test_a_file_has_its_type_preview_and_shares(slack: EmulatedSlack, app: App) -> None:
    png = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + (640).to_bytes(4, "big") + (480).to_bytes(4, "big")
    files = slack.people.attach(sample.ALICE, {"notes.md": b"1\n2\n3\n4\n5\n6"})
    files += slack.people.attach(sample.ALICE, {"x.png": png}, alt_txt="a cat")

    ts = await slack.people.say(sample.ALICE, sample.PRIVATE, "", files=files)

    snippet, image = app.events[0]["files"]
    shown = (snippet["lines"], snippet["lines_more"], snippet["preview"], snippet["preview_is_truncated"])
    assert (snippet["mode"], shown) == ("snippet", (6, 1, "1\n2\n3\n4\n5", True))
    assert (image["mode"], image["mimetype"]) == ("hosted", "image/png")
    assert (image["original_w"], image["original_h"], image["alt_txt"]) == (640, 480, "a cat")
    info = (await AsyncWebClient(TOKEN, base_url=slack.api_url).files_info(file=image["id"]))["file"]
    assert (info["channels"], info["groups"], info["ims"]) == ([], [sample.PRIVATE], [])
    assert info["shares"]["private"][sample.PRIVATE][0]["ts"] == ts
    assert image.keys() >= SHOWN_OF_FILES


async def test_a_permalink_leads_to_the_message_and_its_thread(slack: EmulatedSlack) -> None:
    root = await slack.people.say(sample.ALICE, sample.GENERAL, "root")
    reply = await slack.people.say(sample.ALICE, sample.GENERAL, "reply", thread_ts=root)

    link = slack.permalink(sample.GENERAL, reply)

    assert link.endswith(f"/archives/{sample.GENERAL}/p{reply.replace('.', '')}?thread_ts={root}&cid={sample.GENERAL}")
    with pytest.raises(LookupError):
        slack.permalink(sample.GENERAL, "1.000001")


@pytest.mark.parametrize(
    ("answer", "word"), [(PlainTextResponse("", status_code=500), "dispatch_failed"), (Silence(), "operation_timeout")]
)
async def test_a_failed_command_gets_a_slackbot_reply(
    slack: EmulatedSlack, app: App, answer: PlainTextResponse | Silence, word: str
) -> None:
    app.answers = [answer]

    await slack.ui.command(sample.ALICE, sample.GENERAL, "/stats")

    (notice,) = slack.ephemerals(sample.ALICE)
    assert len(app.received) == 1, "it is never sent again"
    assert (notice.user, notice.text) == ("USLACKBOT", f'/stats failed with the error "{word}"')


async def test_a_deactivated_person_cant_write(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    with pytest.raises(ValueError, match="deactivated"):
        await slack.people.say(sample.GONE, sample.GENERAL, "still here")
    assert (await client.users_info(user=sample.GONE))["user"]["deleted"]


async def test_a_member_of_the_same_organization_is_not_a_stranger(
    slack: EmulatedSlack, app: App, client: AsyncWebClient
) -> None:
    await slack.people.say(sample.GRID, sample.ORG, "hello from the other side")

    (event,) = app.events
    assert (event["user_team"], app.received[0].payload["is_ext_shared_channel"]) == (sample.SISTER_TEAM, False)
    person = (await client.users_info(user=sample.GRID))["user"]
    assert (person["team_id"], person["is_stranger"]) == (sample.SISTER_TEAM, False)
    assert person["enterprise_user"]["enterprise_id"] == sample.ENTERPRISE
    channel = (await client.conversations_info(channel=sample.ORG))["channel"]
    assert (channel["is_org_shared"], channel["is_ext_shared"], channel["is_shared"]) == (True, False, True)
