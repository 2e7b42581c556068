"""Every method of the emulated Web API, called with Slack's own client: its arguments and its response."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

import bridge
from bridge.playground.emulator import EmulatedSlack, sample, web_api
from support.slack_app import SECRET, TOKEN, App

APP_TOKEN = "xapp-a-token"
HERE = sample.GENERAL
MODAL = {"type": "modal", "title": {"type": "plain_text", "text": "Run"}, "blocks": []}
HOME = {"type": "home", "blocks": []}
PROMPTS = [{"title": "Hello", "message": "hello"}]
SECTION = {"type": "section", "text": {"type": "mrkdwn", "text": "hello"}}


@dataclass
class SdkCalls:
    """A workspace with a thread of Alice's, a message from the bot, and whatever else the calls need."""

    slack: EmulatedSlack
    client: AsyncWebClient
    app: App
    root: str
    own: str

    async def trigger(self) -> str:
        await self.slack.ui.shortcut(sample.ALICE, "run")
        return str(self.app.received[-1].payload["trigger_id"])

    async def upload(self) -> str:
        started = await self.client.files_getUploadURLExternal(filename="a.txt", length=3)
        async with aiohttp.ClientSession() as session, session.post(started["upload_url"], data=b"abc") as answer:
            assert answer.status == 200
        await self.client.files_completeUploadExternal(files=[{"id": started["file_id"]}])
        return str(started["file_id"])


Calls = dict[str, tuple[Callable[[SdkCalls], Awaitable[AsyncSlackResponse]], str]]


async def _agents(b: SdkCalls, method: str, **more: Any) -> AsyncSlackResponse:
    return await b.client.api_call(method, json={"channel_id": HERE, "thread_ts": b.root, **more})


async def _unreact(b: SdkCalls) -> AsyncSlackResponse:
    await b.client.reactions_add(channel=HERE, timestamp=b.root, name="wave")
    return await b.client.reactions_remove(channel=HERE, timestamp=b.root, name="wave")


async def _finish_upload(b: SdkCalls) -> AsyncSlackResponse:
    return await b.client.files_completeUploadExternal(files=[{"id": await b.upload()}], channel_id=HERE)


async def _open_view(b: SdkCalls) -> AsyncSlackResponse:
    return await b.client.views_open(trigger_id=await b.trigger(), view=MODAL)


async def _describe_file(b: SdkCalls) -> AsyncSlackResponse:
    return await b.client.files_info(file=await b.upload())


async def _delete_message(b: SdkCalls) -> AsyncSlackResponse:
    posted = await b.client.chat_postMessage(channel=HERE, text="soon gone")
    return await b.client.chat_delete(channel=HERE, ts=posted["ts"])


# Method: its call, and the fields of its response besides "ok".
CALLS: Calls = {
    "agents.sessions.rename": (lambda b: _agents(b, "agents.sessions.rename", title="A talk"), ""),
    "agents.sessions.setStatus": (lambda b: _agents(b, "agents.sessions.setStatus", status="active"), ""),
    "apps.connections.open": (lambda b: b.client.apps_connections_open(app_token=APP_TOKEN), "url"),
    "assistant.threads.setStatus": (lambda b: _agents(b, "assistant.threads.setStatus", status="…"), ""),
    "assistant.threads.setSuggestedPrompts": (
        lambda b: b.client.assistant_threads_setSuggestedPrompts(channel_id=sample.DM_ALICE, prompts=PROMPTS),
        "",
    ),
    "auth.test": (lambda b: b.client.auth_test(), "url team user team_id user_id bot_id is_enterprise_install"),
    "blocks.validate": (lambda b: b.client.blocks_validate(blocks=[SECTION]), ""),
    "bots.info": (lambda b: b.client.bots_info(bot=sample.BRIDGE_BOT), "bot"),
    "chat.delete": (_delete_message, "channel ts"),
    "chat.postEphemeral": (
        lambda b: b.client.chat_postEphemeral(channel=HERE, user=sample.ALICE, text="psst"),
        "message_ts",
    ),
    "chat.postMessage": (lambda b: b.client.chat_postMessage(channel=HERE, text="hello"), "channel ts message"),
    "chat.update": (lambda b: b.client.chat_update(channel=HERE, ts=b.own, text="changed"), "channel ts text message"),
    "conversations.history": (lambda b: b.client.conversations_history(channel=HERE), "messages has_more"),
    "conversations.info": (lambda b: b.client.conversations_info(channel=HERE), "channel"),
    "conversations.members": (lambda b: b.client.conversations_members(channel=HERE), "members response_metadata"),
    "conversations.replies": (lambda b: b.client.conversations_replies(channel=HERE, ts=b.root), "messages has_more"),
    "files.completeUploadExternal": (_finish_upload, "files"),
    "files.getUploadURLExternal": (
        lambda b: b.client.files_getUploadURLExternal(filename="a.txt", length=3),
        "upload_url file_id",
    ),
    "files.info": (_describe_file, "file"),
    "reactions.add": (lambda b: b.client.reactions_add(channel=HERE, timestamp=b.root, name="eyes"), ""),
    "reactions.remove": (_unreact, ""),
    "usergroups.create": (lambda b: b.client.usergroups_create(name="Support", handle="support"), "usergroup"),
    "usergroups.disable": (lambda b: b.client.usergroups_disable(usergroup=sample.RUNNERS), "usergroup"),
    "usergroups.enable": (lambda b: b.client.usergroups_enable(usergroup=sample.RUNNERS), "usergroup"),
    "usergroups.update": (lambda b: b.client.usergroups_update(usergroup=sample.RUNNERS, handle="run"), "usergroup"),
    "usergroups.list": (lambda b: b.client.usergroups_list(), "usergroups"),
    "usergroups.users.list": (lambda b: b.client.usergroups_users_list(usergroup=sample.RUNNERS), "users"),
    "users.conversations": (lambda b: b.client.users_conversations(user=sample.ALICE), "channels"),
    "users.info": (lambda b: b.client.users_info(user=sample.ALICE), "user"),
    "views.open": (_open_view, "view"),
    "views.publish": (lambda b: b.client.views_publish(user_id=sample.ALICE, view=HOME), "view"),
}


@pytest.fixture
async def sdk_calls() -> AsyncIterator[SdkCalls]:
    app = App()
    slack = EmulatedSlack(signing_secret=SECRET, bot_token=TOKEN, app_token=APP_TOKEN, retry_delays=())
    async with app.server, slack, aiohttp.ClientSession() as session:
        slack.events_url, slack.events.echoes_own = app.url, False
        client = AsyncWebClient(TOKEN, base_url=slack.api_url, session=session, retry_handlers=[])
        root = await slack.people.say(sample.ALICE, HERE, "root")
        own = (await client.chat_postMessage(channel=HERE, text="own"))["ts"]
        yield SdkCalls(slack, client, app, root, own)


def test_every_method_is_in_the_table_and_called_by_the_bridge() -> None:
    files = [path for path in Path(bridge.__file__).parent.rglob("*.py") if "playground" not in path.parts]
    source = "\n".join(path.read_text(encoding="utf-8") for path in files)

    assert set(CALLS) == set(web_api.METHODS)
    assert {method for method in CALLS if f'"{method}"' not in source} == {"blocks.validate"}  # make validate-blocks


async def test_slacks_client_can_call_every_method(sdk_calls: SdkCalls) -> None:
    missing: dict[str, set[str] | str] = {}
    for method, (call, fields) in CALLS.items():
        try:
            answer = await call(sdk_calls)
        except SlackApiError as exc:
            missing[method] = str(exc.response.data)
        else:
            if set(fields.split()) - set(answer.data):
                missing[method] = set(fields.split()) - set(answer.data)

    assert missing == {}
    assert {call.method for call in sdk_calls.slack.calls} >= set(web_api.METHODS)


async def asked(sdk_calls: SdkCalls, method: str, verb: str = "POST", **sent: Any) -> dict[str, Any]:
    """Call a method without Slack's client and return the response."""
    headers = {"Authorization": f"Bearer {TOKEN}", **sent.pop("headers", {})}
    url = f"{sdk_calls.slack.api_url}{method}"
    async with aiohttp.ClientSession() as session, session.request(verb, url, headers=headers, **sent) as answer:
        found: dict[str, Any] = await answer.json()
        return found


@pytest.mark.parametrize(
    ("method", "verb", "form"),
    [
        ("conversations.replies", "GET", "params"),
        ("conversations.replies", "POST", "params"),
        ("conversations.replies", "POST", "data"),
        ("chat.postMessage", "POST", "data"),
        ("chat.postMessage", "POST", "json"),
    ],
)
async def test_arguments_are_accepted_in_the_query_a_form_or_json(
    sdk_calls: SdkCalls, method: str, verb: str, form: str
) -> None:
    sent: dict[str, Any] = {form: {"channel": HERE, "ts": sdk_calls.root, "text": "hello"}}

    assert (await asked(sdk_calls, method, verb, **sent))["ok"]


async def test_a_read_method_ignores_arguments_in_json(sdk_calls: SdkCalls) -> None:
    """As recorded: kortix-ai/suna#6616, Yeachan-Heo/gajae-code#3824, Octember/earshot#10."""
    arguments = {"channel": HERE, "ts": sdk_calls.root, "user": sample.ALICE, "limit": 1, "filename": "a", "length": 1}
    answers = {
        method: await asked(sdk_calls, method, json=arguments)
        for method in ("users.info", "users.conversations", "conversations.replies", "files.getUploadURLExternal")
    }

    assert answers["users.info"]["error"] == "user_not_found"
    assert len(answers["users.conversations"]["channels"]) > 1
    assert answers["conversations.replies"] == {
        "ok": False,
        "error": "invalid_arguments",
        "response_metadata": {"messages": ["[ERROR] missing required field: channel"]},
    }
    assert answers["files.getUploadURLExternal"]["error"] == "invalid_arguments"


@pytest.mark.parametrize(
    ("content_type", "body", "error"),
    [
        ("application/xml", "{}", "invalid_post_type"),
        ("application/octet-stream", "{}", "invalid_post_type"),
        ("application/json; charset=utf-16", "{}", "invalid_charset"),
        ("", "{}", "missing_post_type"),
        ("application/json; charset=utf-8", "{", "invalid_json"),
        ("application/json; charset=utf-8", "[]", "json_not_object"),
    ],
)
async def test_a_body_of_another_content_type_is_refused(
    sdk_calls: SdkCalls, content_type: str, body: str, error: str
) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}", **({"Content-Type": content_type} if content_type else {})}
    url = f"{sdk_calls.slack.api_url}chat.postMessage"
    async with (
        aiohttp.ClientSession(skip_auto_headers=() if content_type else ("Content-Type",)) as session,
        session.post(url, headers=headers, data=body.encode()) as answer,
    ):
        assert await answer.json() == {"ok": False, "error": error}


async def test_a_token_in_json_is_ignored(sdk_calls: SdkCalls) -> None:
    headers = {"Authorization": ""}

    assert (await asked(sdk_calls, "auth.test", json={"token": TOKEN}, headers=headers))["error"] == "not_authed"
    assert (await asked(sdk_calls, "auth.test", data={"token": TOKEN}, headers=headers))["ok"]
