"""What Slack's clients send and rely on: multipart bodies, and the fields that Bolt's types require.

The fields are those of @slack/types 3.2.0 and @slack/bolt 5.1.0.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bridge.playground.emulator import EmulatedSlack, sample
from bridge.playground.emulator.multipart import form_parts
from bridge.playground.emulator.refusal import Refusal
from support.slack_app import SECRET, TOKEN, App
from support.tables import each

Json = dict[str, Any]
BYTES = b"\x00\r\n--x\r\n\xff"
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture
async def slack(app: App) -> AsyncIterator[EmulatedSlack]:
    url = f"{app.server.url}/slack/events"
    async with EmulatedSlack(signing_secret=SECRET, bot_token=TOKEN, events_url=url, retry_delays=()) as slack:
        yield slack


async def posted(url: str, form: aiohttp.FormData, headers: dict[str, str] | None = None) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.post(url, data=form, headers=headers) as answer:
        return answer.status, await answer.text()


def multipart(**fields: str) -> aiohttp.FormData:
    form = aiohttp.FormData(default_to_multipart=True)
    for name, value in fields.items():
        form.add_field(name, value)
    return form


@pytest.mark.parametrize("field", ["filename", "file", "body"])
async def test_an_upload_takes_a_multipart_form(slack: EmulatedSlack, client: AsyncWebClient, field: str) -> None:
    started = await client.files_getUploadURLExternal(filename="a.bin", length=len(BYTES))
    form = multipart(token="ignored")
    form.add_field(field, BYTES, filename="a.bin", content_type="application/octet-stream")

    status, text = await posted(started["upload_url"], form)

    assert (status, text) == (200, f"OK - {len(BYTES)}")
    assert slack.files[-1].content == BYTES


@pytest.mark.parametrize("token_in_form", [True, False])
async def test_a_method_takes_a_multipart_form(slack: EmulatedSlack, *, token_in_form: bool) -> None:
    form = multipart(channel=sample.GENERAL, text="grüß dich", blocks='[{"type": "divider"}]')
    if token_in_form:
        form.add_field("token", TOKEN)

    status, text = await posted(f"{slack.api_url}chat.postMessage", form, None if token_in_form else AUTHORIZED)

    assert (status, '"ok":true' in text) == (200, True)
    (message,) = slack.messages(sample.GENERAL)
    assert (message.text, message.blocks[0]["type"]) == ("grüß dich", "divider")
    assert "token" not in slack.calls[-1].args


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("multipart/form-data", b"--x\r\n\r\n--x--"),
        ("multipart/form-data; boundary=x", b"nothing"),
        ("multipart/form-data; boundary=x", b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\ncut of'),
    ],
)
def test_a_malformed_form_is_refused(content_type: str, body: bytes) -> None:
    with pytest.raises(Refusal, match="invalid_form_data"):
        form_parts(content_type, body)


@each(
    ("method", "args"),
    [
        ("chat.postMessage", {"channel": sample.GENERAL, "text": "x"}),
        ("chat.postEphemeral", {"channel": sample.GENERAL, "text": "x", "user": sample.ALICE}),
        ("assistant.threads.setStatus", {"channel_id": sample.GENERAL, "status": "works"}),
        ("agents.sessions.setStatus", {"channel_id": sample.GENERAL, "status": "processing"}),
    ],
)
async def test_a_malformed_thread_ts_is_an_error_of_its_own(slack: EmulatedSlack, method: str, args: Json) -> None:
    async with aiohttp.ClientSession(slack.api_url, headers=AUTHORIZED) as session:
        for thread_ts in ("x", "1700000000", "1700000000.1", "1700000000,000100", "p1700000000000100"):
            answer = await (await session.post(method, json={**args, "thread_ts": thread_ts})).json()
            assert answer["error"] == "invalid_thread_ts"


PLAIN = {"type": "plain_text", "text": "x"}
BUTTON = {"type": "icon_button", "action_id": "bin", "icon": "trash", "text": PLAIN}
VOTE = {
    "type": "feedback_buttons", "action_id": "vote",
    "positive_button": {"text": PLAIN, "value": "good"},
    "negative_button": {"text": {**PLAIN, "text": "y"}, "value": "bad"},
}  # fmt: skip
FILE = (
    "id created timestamp name title mimetype filetype pretty_type user user_team editable size mode is_external "
    "external_type is_public public_url_shared display_as_bot username url_private url_private_download "
    "media_display_type permalink permalink_public is_starred has_rich_preview file_access channels groups"
)
VIEW = (
    "id callback_id team_id app_id bot_id title type blocks close submit state hash private_metadata root_view_id "
    "previous_view_id clear_on_close notify_on_close"
)


def lacks(payload: Json, fields: str) -> list[str]:
    return [name for name in fields.split() if name not in payload]


async def test_a_mention_describes_its_author_and_files(slack: EmulatedSlack) -> None:
    files = slack.people.attach(sample.ALICE, {"a.txt": b"a", "b.bin": b"b"})
    await slack.people.say(sample.ALICE, sample.GENERAL, f"<@{sample.BRIDGE}> look", files=files)

    event = next(one.payload["event"] for one in slack.deliveries if one.payload["event"]["type"] == "app_mention")
    assert lacks(event["user_profile"], "name first_name real_name display_name team") == []
    assert [lacks(file, FILE) for file in event["files"]] == [[], []]


async def test_a_broadcast_reply_describes_its_thread(slack: EmulatedSlack) -> None:
    root = await slack.people.say(sample.ALICE, sample.GENERAL, "root")
    await slack.people.say(sample.BOB, sample.GENERAL, "loud", thread_ts=root, broadcast=True)

    event = slack.deliveries[-1].payload["event"]
    fields = "thread_ts reply_count reply_users_count latest_reply reply_users"
    assert (lacks(event, "root client_msg_id"), lacks(event["root"], fields)) == ([], [])
    assert (event["root"]["reply_count"], event["root"]["latest_reply"]) == (1, event["ts"])


async def test_icon_buttons_and_votes_carry_their_words(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    blocks = [{"type": "context_actions", "elements": [VOTE, BUTTON]}]
    ts = (await client.chat_postMessage(channel=sample.GENERAL, text="x", blocks=blocks))["ts"]

    await slack.ui.select(sample.ALICE, sample.GENERAL, ts, "vote", "bad")
    vote = slack.deliveries[-1].payload["actions"][0]
    await slack.ui.click(sample.ALICE, sample.GENERAL, ts, "bin")
    pressed = slack.deliveries[-1].payload["actions"][0]

    assert (vote["value"], vote["text"]) == ("bad", {**PLAIN, "text": "y"})
    assert (pressed["icon"], pressed["value"], pressed["text"]) == ("trash", "", PLAIN)
    assert (
        lacks(slack.deliveries[-1].payload, "actions team user token response_url trigger_id api_app_id container")
        == []
    )


async def test_a_home_view_has_all_fields(client: AsyncWebClient) -> None:
    view = {"type": "home", "blocks": [{"type": "divider"}]}

    shown = (await client.views_publish(user_id=sample.ALICE, view=view))["view"]

    assert lacks(shown, VIEW) == []
