"""Every method of the emulated Web API, called with Slack's own client: its arguments and its response."""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bridge.playground.emulator import EmulatedSlack, sample, web_api
from support.slack_app import SECRET, TOKEN, App

APP_TOKEN = "xapp-a-token"
HERE = sample.GENERAL
MODAL = {"type": "modal", "title": {"type": "plain_text", "text": "Run"}, "blocks": []}
MANIFEST = {"display_information": {"name": "App"}}
CONFIG_TOKEN = "xoxe.xoxp-1-config"
HOME = {"type": "home", "blocks": []}
PROMPTS = [{"title": "Hello", "message": "hello"}]
SECTION = {"type": "section", "text": {"type": "mrkdwn", "text": "hello"}}
STREAM = {"recipient_team_id": sample.TEAM, "recipient_user_id": sample.ALICE}


@dataclass
class SdkCalls:
    """A workspace with a thread of Alice's, a message from the bot, and whatever else the calls need."""

    slack: EmulatedSlack
    client: AsyncWebClient
    app: App
    root: str
    own: str

    @property
    def owner(self) -> AsyncWebClient:
        return AsyncWebClient(CONFIG_TOKEN, base_url=self.slack.api_url)

    async def trigger(self) -> str:
        await self.slack.ui.shortcut(sample.ALICE, "run")
        return str(self.app.received[-1].payload["trigger_id"])

    async def modal(self) -> str:
        opened = await self.client.views_open(trigger_id=await self.trigger(), view=MODAL)
        return str(opened["view"]["id"])

    async def clicked_in_modal(self) -> str:
        await self.modal()
        return await self.trigger()

    async def channel(self) -> str:
        made = await self.client.conversations_create(name=f"made-{time.monotonic_ns()}")
        return str(made["channel"]["id"])

    async def stream(self) -> str:
        started = await self.client.chat_startStream(channel=HERE, thread_ts=self.root, **STREAM)
        return str(started["ts"])

    async def upload(self) -> str:
        started = await self.client.files_getUploadURLExternal(filename="a.txt", length=3)
        async with aiohttp.ClientSession() as session, session.post(started["upload_url"], data=b"abc") as answer:
            assert answer.status == 200
        await self.client.files_completeUploadExternal(files=[{"id": started["file_id"]}])
        return str(started["file_id"])

    async def scheduled(self) -> str:
        due = int(time.time()) + 600
        made = await self.client.chat_scheduleMessage(channel=HERE, post_at=due, text="later")
        return str(made["scheduled_message_id"])


Calls = dict[str, tuple[Callable[[SdkCalls], Awaitable[AsyncSlackResponse]], str]]


async def _agents(b: SdkCalls, method: str, **more: Any) -> AsyncSlackResponse:
    return await b.client.api_call(method, json={"channel_id": HERE, "thread_ts": b.root, **more})


async def _in_new_channel(b: SdkCalls, method: str, **more: Any) -> AsyncSlackResponse:
    return await b.client.api_call(method, json={"channel": await b.channel(), **more})


async def _unarchive(b: SdkCalls) -> AsyncSlackResponse:
    channel = await b.channel()
    await b.client.conversations_archive(channel=channel)
    return await b.client.conversations_unarchive(channel=channel)


async def _kick(b: SdkCalls) -> AsyncSlackResponse:
    channel = await b.channel()
    await b.client.conversations_invite(channel=channel, users=[sample.BOB])
    return await b.client.conversations_kick(channel=channel, user=sample.BOB)


async def _unpin(b: SdkCalls) -> AsyncSlackResponse:
    await b.client.pins_add(channel=HERE, timestamp=b.own)
    return await b.client.pins_remove(channel=HERE, timestamp=b.own)


async def _unreact(b: SdkCalls) -> AsyncSlackResponse:
    await b.client.reactions_add(channel=HERE, timestamp=b.root, name="wave")
    return await b.client.reactions_remove(channel=HERE, timestamp=b.root, name="wave")


async def _complete(b: SdkCalls) -> AsyncSlackResponse:
    step = await b.slack.people.run_step("run_workflow", {"input": "{}"})
    return await b.client.functions_completeSuccess(function_execution_id=step.id, outputs={"run": "7"})


async def _fail(b: SdkCalls) -> AsyncSlackResponse:
    step = await b.slack.people.run_step("run_workflow", {"input": "{}"})
    return await b.client.functions_completeError(function_execution_id=step.id, error="it broke")


async def _unfurl(b: SdkCalls) -> AsyncSlackResponse:
    ts = await b.slack.people.say(sample.ALICE, HERE, "<https://example.com/a>")
    return await b.client.chat_unfurl(channel=HERE, ts=ts, unfurls={"https://example.com/a": {"text": "A"}})


async def _finish_upload(b: SdkCalls) -> AsyncSlackResponse:
    return await b.client.files_completeUploadExternal(files=[{"id": await b.upload()}], channel_id=HERE)


async def _open_view(b: SdkCalls) -> AsyncSlackResponse:
    return await b.client.views_open(trigger_id=await b.trigger(), view=MODAL)


async def _push_view(b: SdkCalls) -> AsyncSlackResponse:
    return await b.client.views_push(trigger_id=await b.clicked_in_modal(), view=MODAL)


async def _update_view(b: SdkCalls) -> AsyncSlackResponse:
    return await b.client.views_update(view_id=await b.modal(), view=MODAL)


async def _unschedule(b: SdkCalls) -> AsyncSlackResponse:
    return await b.client.chat_deleteScheduledMessage(channel=HERE, scheduled_message_id=await b.scheduled())


async def _append(b: SdkCalls) -> AsyncSlackResponse:
    return await b.client.chat_appendStream(channel=HERE, ts=await b.stream(), markdown_text="more")


async def _stop(b: SdkCalls) -> AsyncSlackResponse:
    return await b.client.chat_stopStream(channel=HERE, ts=await b.stream(), markdown_text="end", blocks=[SECTION])


async def _delete_file(b: SdkCalls) -> AsyncSlackResponse:
    return await b.client.files_delete(file=await b.upload())


async def _describe_file(b: SdkCalls) -> AsyncSlackResponse:
    return await b.client.files_info(file=await b.upload())


async def _delete_message(b: SdkCalls) -> AsyncSlackResponse:
    posted = await b.client.chat_postMessage(channel=HERE, text="soon gone")
    return await b.client.chat_delete(channel=HERE, ts=posted["ts"])


# Method: its call, and the fields of its response besides "ok".
CALLS: Calls = {
    "agents.sessions.rename": (lambda b: _agents(b, "agents.sessions.rename", title="A talk"), ""),
    "agents.sessions.setStatus": (lambda b: _agents(b, "agents.sessions.setStatus", status="active"), ""),
    "api.test": (lambda b: b.client.api_test(foo="bar"), "args"),
    "apps.manifest.export": (lambda b: b.owner.apps_manifest_export(app_id=sample.APP), "manifest"),
    "apps.manifest.validate": (lambda b: b.owner.apps_manifest_validate(manifest=MANIFEST), "errors"),
    "apps.connections.open": (lambda b: b.client.apps_connections_open(app_token=APP_TOKEN), "url"),
    "assistant.threads.setStatus": (lambda b: _agents(b, "assistant.threads.setStatus", status="…"), ""),
    "assistant.threads.setSuggestedPrompts": (
        lambda b: b.client.assistant_threads_setSuggestedPrompts(channel_id=sample.DM_ALICE, prompts=PROMPTS),
        "",
    ),
    "assistant.threads.setTitle": (lambda b: _agents(b, "assistant.threads.setTitle", title="A talk"), ""),
    "auth.test": (lambda b: b.client.auth_test(), "url team user team_id user_id bot_id is_enterprise_install"),
    "blocks.validate": (lambda b: b.client.blocks_validate(blocks=[SECTION]), ""),
    "bots.info": (lambda b: b.client.bots_info(bot=sample.BRIDGE_BOT), "bot"),
    "chat.appendStream": (_append, "channel ts"),
    "chat.delete": (_delete_message, "channel ts"),
    "chat.deleteScheduledMessage": (_unschedule, ""),
    "chat.getPermalink": (lambda b: b.client.chat_getPermalink(channel=HERE, message_ts=b.root), "channel permalink"),
    "chat.meMessage": (lambda b: b.client.chat_meMessage(channel=HERE, text="waves"), "channel ts"),
    "chat.postEphemeral": (
        lambda b: b.client.chat_postEphemeral(channel=HERE, user=sample.ALICE, text="psst"),
        "message_ts",
    ),
    "chat.postMessage": (lambda b: b.client.chat_postMessage(channel=HERE, text="hello"), "channel ts message"),
    "chat.scheduleMessage": (
        lambda b: b.client.chat_scheduleMessage(channel=HERE, post_at=int(time.time()) + 600, text="later"),
        "channel scheduled_message_id post_at message",
    ),
    "chat.scheduledMessages.list": (lambda b: b.client.chat_scheduledMessages_list(), "scheduled_messages"),
    "chat.startStream": (
        lambda b: b.client.chat_startStream(channel=HERE, thread_ts=b.root, markdown_text="begun", **STREAM),
        "channel ts",
    ),
    "chat.stopStream": (_stop, "channel ts message"),
    "chat.unfurl": (_unfurl, ""),
    "chat.update": (lambda b: b.client.chat_update(channel=HERE, ts=b.own, text="changed"), "channel ts text message"),
    "conversations.archive": (lambda b: _in_new_channel(b, "conversations.archive"), ""),
    "conversations.close": (lambda b: b.client.conversations_close(channel=sample.DM_ALICE), "no_op already_closed"),
    "conversations.create": (lambda b: b.client.conversations_create(name="brand-new"), "channel"),
    "conversations.history": (lambda b: b.client.conversations_history(channel=HERE), "messages has_more"),
    "conversations.info": (lambda b: b.client.conversations_info(channel=HERE), "channel"),
    "conversations.invite": (lambda b: _in_new_channel(b, "conversations.invite", users=sample.BOB), "channel"),
    "conversations.join": (lambda b: b.client.conversations_join(channel=sample.NOBOT), "channel"),
    "conversations.kick": (_kick, ""),
    "conversations.leave": (lambda b: _in_new_channel(b, "conversations.leave"), ""),
    "conversations.list": (lambda b: b.client.conversations_list(limit=2), "channels response_metadata"),
    "conversations.mark": (lambda b: b.client.conversations_mark(channel=HERE, ts=b.root), ""),
    "conversations.members": (lambda b: b.client.conversations_members(channel=HERE), "members response_metadata"),
    "conversations.open": (lambda b: b.client.conversations_open(users=[sample.BOB]), "channel"),
    "conversations.rename": (lambda b: _in_new_channel(b, "conversations.rename", name="other-name"), "channel"),
    "conversations.replies": (lambda b: b.client.conversations_replies(channel=HERE, ts=b.root), "messages has_more"),
    "conversations.setPurpose": (lambda b: _in_new_channel(b, "conversations.setPurpose", purpose="fun"), "purpose"),
    "conversations.setTopic": (lambda b: _in_new_channel(b, "conversations.setTopic", topic="today"), "channel"),
    "conversations.unarchive": (_unarchive, ""),
    "emoji.list": (lambda b: b.client.emoji_list(), "emoji"),
    "files.completeUploadExternal": (_finish_upload, "files"),
    "files.delete": (_delete_file, ""),
    "files.getUploadURLExternal": (
        lambda b: b.client.files_getUploadURLExternal(filename="a.txt", length=3),
        "upload_url file_id",
    ),
    "files.info": (_describe_file, "file"),
    "files.list": (lambda b: b.client.files_list(), "files paging"),
    "functions.completeError": (_fail, ""),
    "functions.completeSuccess": (_complete, ""),
    "pins.add": (lambda b: b.client.pins_add(channel=HERE, timestamp=b.root), ""),
    "pins.list": (lambda b: b.client.pins_list(channel=HERE), "items"),
    "pins.remove": (_unpin, ""),
    "reactions.add": (lambda b: b.client.reactions_add(channel=HERE, timestamp=b.root, name="eyes"), ""),
    "reactions.get": (lambda b: b.client.reactions_get(channel=HERE, timestamp=b.root), "type channel message"),
    "reactions.list": (lambda b: b.client.reactions_list(), "items"),
    "reactions.remove": (_unreact, ""),
    "team.info": (lambda b: b.client.team_info(), "team"),
    "usergroups.list": (lambda b: b.client.usergroups_list(), "usergroups"),
    "usergroups.users.list": (lambda b: b.client.usergroups_users_list(usergroup=sample.RUNNERS), "users"),
    "users.conversations": (lambda b: b.client.users_conversations(user=sample.ALICE), "channels"),
    "users.getPresence": (lambda b: b.client.users_getPresence(user=sample.ALICE), "presence"),
    "users.info": (lambda b: b.client.users_info(user=sample.ALICE), "user"),
    "users.list": (lambda b: b.client.users_list(), "members response_metadata"),
    "users.lookupByEmail": (lambda b: b.client.users_lookupByEmail(email="alice@playground.example"), "user"),
    "users.profile.get": (lambda b: b.client.users_profile_get(user=sample.ALICE), "profile"),
    "views.open": (_open_view, "view"),
    "views.publish": (lambda b: b.client.views_publish(user_id=sample.ALICE, view=HOME), "view"),
    "views.push": (_push_view, "view"),
    "views.update": (_update_view, "view"),
}


@pytest.fixture
async def sdk_calls() -> AsyncIterator[SdkCalls]:
    app = App()
    tokens = {"bot_token": TOKEN, "app_token": APP_TOKEN, "config_token": CONFIG_TOKEN}
    slack = EmulatedSlack(signing_secret=SECRET, **tokens, retry_delays=())
    async with app.server, slack, aiohttp.ClientSession() as session:
        slack.events_url, slack.events.echoes_own = app.url, False
        client = AsyncWebClient(TOKEN, base_url=slack.api_url, session=session, retry_handlers=[])
        root = await slack.people.say(sample.ALICE, HERE, "root")
        own = (await client.chat_postMessage(channel=HERE, text="own"))["ts"]
        yield SdkCalls(slack, client, app, root, own)


def test_every_method_is_in_the_table() -> None:
    assert set(CALLS) == set(web_api.METHODS)


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
        for method in ("users.info", "users.list", "conversations.replies", "files.getUploadURLExternal")
    }

    assert answers["users.info"]["error"] == "user_not_found"
    assert len(answers["users.list"]["members"]) > 1
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
