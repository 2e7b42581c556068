"""The emulated Web API, called with Slack's own client."""

import json
import time
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bridge.playground.slack import (
    DropAfter,
    DropBefore,
    EmulatedSlack,
    Error,
    Http,
    RateLimited,
    Slow,
    coverage,
    sample,
    web_api,
)
from support.slack_app import SECRET, TOKEN


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.ahead = 0.0

    def __call__(self) -> float:
        return time.time() + self.ahead


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def slack(clock: Clock) -> AsyncIterator[EmulatedSlack]:
    async with EmulatedSlack(signing_secret=SECRET, bot_token=TOKEN, clock=clock, retry_delays=()) as slack:
        yield slack


@pytest.fixture
async def client(slack: EmulatedSlack) -> AsyncIterator[AsyncWebClient]:
    async with aiohttp.ClientSession() as session:
        yield AsyncWebClient(TOKEN, base_url=slack.api_url, session=session, retry_handlers=[])


async def refusal(call: Awaitable[Any]) -> dict[str, Any]:
    with pytest.raises(SlackApiError) as caught:
        await call
    data: dict[str, Any] = caught.value.response.data
    return data


def test_the_coverage_list_is_exactly_what_is_registered() -> None:
    assert set(coverage.COVERED) == set(web_api.METHODS)


async def test_who_the_token_belongs_to_and_what_it_may_do_is_answered(
    slack: EmulatedSlack, client: AsyncWebClient
) -> None:
    answer = await client.auth_test()

    assert (answer["team_id"], answer["user_id"], answer["bot_id"]) == (sample.TEAM, sample.BRIDGE, sample.BRIDGE_BOT)
    assert set(answer.headers["x-oauth-scopes"].split(",")) == slack.scopes


async def test_a_wrong_token_and_a_missing_one_are_told_apart(slack: EmulatedSlack) -> None:
    wrong = AsyncWebClient("xoxb-wrong", base_url=slack.api_url)

    assert (await refusal(wrong.auth_test()))["error"] == "invalid_auth"
    async with aiohttp.ClientSession() as session, session.get(f"{slack.api_url}auth.test") as answer:
        assert await answer.json() == {"ok": False, "error": "not_authed"}


async def test_a_scope_that_was_taken_away_is_named(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    slack.scopes.discard("users:read")

    answer = await refusal(client.users_info(user=sample.ALICE))

    assert (answer["error"], answer["needed"]) == ("missing_scope", "users:read")
    assert "chat:write" in answer["provided"]


async def test_an_unknown_method_is_refused_and_noted(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    assert (await refusal(client.api_call("chat.shout")))["error"] == "unknown_method"
    assert slack.unknown_methods["chat.shout"] == 1


async def test_a_message_with_metadata_is_kept_as_it_was_sent(slack: EmulatedSlack, client: AsyncWebClient) -> None:
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


async def test_forms_with_json_in_them_are_understood(slack: EmulatedSlack) -> None:
    blocks = json.dumps([{"type": "divider"}])
    form = {"token": TOKEN, "channel": sample.GENERAL, "text": "x", "blocks": blocks, "unfurl_links": "false"}

    async with aiohttp.ClientSession() as session:
        answer = await (await session.post(f"{slack.api_url}chat.postMessage", data=form)).json()

    assert answer["ok"]
    assert slack.messages(sample.GENERAL)[0].blocks[0]["type"] == "divider"
    assert "token" not in slack.calls[0].args


@pytest.mark.parametrize(
    ("channel", "error"),
    [
        (sample.NOBOT, "not_in_channel"),
        (sample.HIDDEN, "channel_not_found"),
        ("C0NOWHERE", "channel_not_found"),
    ],
)
async def test_the_bot_posts_only_where_it_is(client: AsyncWebClient, channel: str, error: str) -> None:
    assert (await refusal(client.chat_postMessage(channel=channel, text="x")))["error"] == error


async def test_a_reply_needs_a_thread_that_is_there(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    nowhere = client.chat_postMessage(channel=sample.GENERAL, text="x", thread_ts="1.000001")
    assert (await refusal(nowhere))["error"] == "thread_not_found"

    root = await slack.say(sample.ALICE, sample.GENERAL, "root")
    reply = await client.chat_postMessage(channel=sample.GENERAL, text="x", thread_ts=root)
    nested = client.chat_postMessage(channel=sample.GENERAL, text="x", thread_ts=reply["ts"])
    assert (await refusal(nested))["error"] == "thread_not_found"
    assert [one.text for one in slack.messages(sample.GENERAL, root)] == ["root", "x"]


async def test_posting_to_a_person_reaches_the_direct_message(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    answer = await client.chat_postMessage(channel=sample.ALICE, text="psst")

    assert answer["channel"] == sample.DM_ALICE
    assert (await client.conversations_open(users=sample.ALICE))["channel"]["id"] == sample.DM_ALICE
    assert slack.messages(sample.DM_ALICE)[0].text == "psst"


async def test_an_update_replaces_text_and_blocks_and_marks_the_message(
    slack: EmulatedSlack, client: AsyncWebClient
) -> None:
    posted = await client.chat_postMessage(channel=sample.GENERAL, text="old", blocks=[{"type": "divider"}])

    await client.chat_update(channel=sample.GENERAL, ts=posted["ts"], text="new")

    (message,) = slack.messages(sample.GENERAL)
    assert (message.text, message.blocks) == ("new", [])
    assert message.edited


async def test_an_update_has_less_room_than_a_message(client: AsyncWebClient) -> None:
    posted = await client.chat_postMessage(channel=sample.GENERAL, text="x" * 40_001)
    assert len(posted["message"]["text"]) == 40_000
    assert posted["warning"] == "message_truncated"

    too_long = client.chat_update(channel=sample.GENERAL, ts=posted["ts"], text="x" * 4001)
    assert (await refusal(too_long))["error"] == "msg_too_long"
    assert (await client.chat_update(channel=sample.GENERAL, ts=posted["ts"], text="x" * 4000))["ok"]


async def test_other_peoples_messages_can_be_neither_updated_nor_deleted(
    slack: EmulatedSlack, client: AsyncWebClient
) -> None:
    ts = await slack.say(sample.ALICE, sample.GENERAL, "mine")

    updated = await refusal(client.chat_update(channel=sample.GENERAL, ts=ts, text="x"))
    deleted = await refusal(client.chat_delete(channel=sample.GENERAL, ts=ts))
    missing = await refusal(client.chat_delete(channel=sample.GENERAL, ts="1.000001"))

    assert [one["error"] for one in (updated, deleted, missing)] == [
        "cant_update_message",
        "cant_delete_message",
        "message_not_found",
    ]


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
    root = await slack.say(sample.ALICE, sample.GENERAL, "root")
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
    root = await slack.say(sample.ALICE, sample.GENERAL, "root")
    for _ in range(20):
        await slack.say(sample.BOB, sample.GENERAL, "reply", thread_ts=root)

    answer = await client.conversations_replies(channel=sample.GENERAL, ts=root, limit=1000)

    assert len(answer["messages"]) == 15


async def test_the_history_shows_roots_newest_first(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    root = await slack.say(sample.ALICE, sample.GENERAL, "first")
    await slack.say(sample.BOB, sample.GENERAL, "hidden", thread_ts=root)
    await slack.say(sample.BOB, sample.GENERAL, "shown", thread_ts=root, broadcast=True)

    found = (await client.conversations_history(channel=sample.GENERAL))["messages"]
    after = (await client.conversations_history(channel=sample.GENERAL, oldest=root))["messages"]

    assert [one["text"] for one in found] == ["shown", "first"]
    assert [one["text"] for one in after] == ["shown"]
    assert (await refusal(client.conversations_history(channel=sample.NOBOT)))["error"] == "not_in_channel"


async def test_people_channels_and_groups_are_described(client: AsyncWebClient) -> None:
    guest = (await client.users_info(user=sample.VISITOR))["user"]
    stranger = (await client.users_info(user=sample.STRANGER))["user"]
    shared = (await client.conversations_info(channel=sample.SHARED))["channel"]
    listed = (await client.users_list())["members"]

    assert guest["is_restricted"]
    assert guest["is_ultra_restricted"]
    assert stranger["is_stranger"]
    assert stranger["team_id"] != sample.TEAM
    assert shared["is_ext_shared"]
    assert sample.STRANGER not in [one["id"] for one in listed]
    assert (await client.usergroups_users_list(usergroup=sample.RUNNERS))["users"] == [sample.ALICE, sample.CAROL]
    assert (await client.usergroups_list(include_users=True))["usergroups"][0]["users"] == [sample.ALICE, sample.CAROL]
    assert (await refusal(client.users_info(user="U0NOBODY")))["error"] == "user_not_found"
    assert (await refusal(client.usergroups_users_list(usergroup="S0")))["error"] == "no_such_subteam"
    assert sample.BRIDGE in (await client.conversations_members(channel=sample.GENERAL))["members"]


async def test_channels_are_listed_by_kind(client: AsyncWebClient) -> None:
    public = (await client.conversations_list())["channels"]
    private = (await client.conversations_list(types="private_channel"))["channels"]

    assert sample.NOBOT in [one["id"] for one in public]
    assert [one["id"] for one in private] == [sample.PRIVATE]


async def test_a_reaction_is_put_on_once_and_taken_off_once(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    ts = await slack.say(sample.ALICE, sample.GENERAL, "hello")
    await client.reactions_add(channel=sample.GENERAL, timestamp=ts, name="eyes")

    again = await refusal(client.reactions_add(channel=sample.GENERAL, timestamp=ts, name="eyes"))
    shown = (await client.reactions_get(channel=sample.GENERAL, timestamp=ts))["message"]["reactions"]
    await client.reactions_remove(channel=sample.GENERAL, timestamp=ts, name="eyes")
    gone = await refusal(client.reactions_remove(channel=sample.GENERAL, timestamp=ts, name="eyes"))

    assert (again["error"], gone["error"]) == ("already_reacted", "no_reaction")
    assert shown == [{"name": "eyes", "users": [sample.BRIDGE], "count": 1}]


async def test_a_file_goes_up_in_three_steps_and_shows_in_the_thread(
    slack: EmulatedSlack, client: AsyncWebClient
) -> None:
    root = await slack.say(sample.ALICE, sample.GENERAL, "root")

    await client.files_upload_v2(
        channel=sample.GENERAL, thread_ts=root, filename="out.json", content="{}", initial_comment="here"
    )

    (file,) = slack.files
    assert (file.name, file.content) == ("out.json", b"{}")
    reply = slack.messages(sample.GENERAL, root)[1]
    assert (reply.subtype, reply.text, reply.files[0]["id"]) == ("file_share", "here", file.id)


async def test_a_file_whose_bytes_never_came_cannot_be_finished(client: AsyncWebClient) -> None:
    begun = await client.files_getUploadURLExternal(filename="a.txt", length=3)

    answer = await refusal(client.files_completeUploadExternal(files=[{"id": begun["file_id"]}]))

    assert answer["error"] == "file_not_found"


async def test_a_status_goes_away_when_the_app_posts_or_after_two_minutes(
    slack: EmulatedSlack, client: AsyncWebClient, clock: Clock
) -> None:
    root = await slack.say(sample.ALICE, sample.GENERAL, "root")
    await client.assistant_threads_setStatus(channel_id=sample.GENERAL, thread_ts=root, status="is thinking…")
    assert slack.status(sample.GENERAL, root) == "is thinking…"

    await client.chat_postMessage(channel=sample.GENERAL, thread_ts=root, text="done")
    assert slack.status(sample.GENERAL, root) == ""

    await client.assistant_threads_setStatus(channel_id=sample.GENERAL, thread_ts=root, status="again")
    clock.ahead = 121
    assert slack.status(sample.GENERAL, root) == ""
    assert [one.status for one in slack.statuses(sample.GENERAL, root)] == ["is thinking…", "", "again"]


async def test_a_processing_session_lasts_until_the_app_ends_it(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    root = await slack.say(sample.ALICE, sample.GENERAL, "root")
    await client.agents_sessions_setStatus(
        channel_id=sample.GENERAL, thread_ts=root, status="processing", title="A talk"
    )
    await client.chat_postMessage(channel=sample.GENERAL, thread_ts=root, text="done")
    assert slack.status(sample.GENERAL, root) == "processing"

    await client.agents_sessions_setStatus(channel_id=sample.GENERAL, thread_ts=root, status="active")
    await client.agents_sessions_rename(channel_id=sample.GENERAL, thread_ts=root, title="Renamed")

    assert slack.status(sample.GENERAL, root) == ""
    assert slack.workspace.session(sample.GENERAL, root).title == "Renamed"


async def test_the_permalink_of_a_reply_names_its_thread(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    root = await slack.say(sample.ALICE, sample.GENERAL, "root")
    reply = await slack.say(sample.BOB, sample.GENERAL, "reply", thread_ts=root)

    link = (await client.chat_getPermalink(channel=sample.GENERAL, message_ts=reply))["permalink"]

    assert link.endswith(f"/p{reply.replace('.', '')}?thread_ts={root}&cid={sample.GENERAL}")


async def test_faults_happen_as_often_as_they_were_planned(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    slack.faults.on("chat.postMessage", RateLimited(retry_after=7), channel=sample.GENERAL)
    slack.faults.on("chat.postMessage", Error("internal_error"))
    elsewhere = await refusal(client.chat_postMessage(channel=sample.RANDOM, text="x"))

    with pytest.raises(SlackApiError) as limited:
        await client.chat_postMessage(channel=sample.GENERAL, text="x")

    assert elsewhere["error"] == "internal_error"
    assert (limited.value.response.status_code, limited.value.response.headers["Retry-After"]) == (429, "7")
    assert (await client.chat_postMessage(channel=sample.GENERAL, text="x"))["ok"]


@pytest.mark.parametrize(("fault", "arrived"), [(DropBefore(), 0), (DropAfter(), 1)])
async def test_a_broken_connection_hides_whether_the_message_arrived(
    slack: EmulatedSlack, client: AsyncWebClient, fault: DropBefore | DropAfter, arrived: int
) -> None:
    slack.faults.on("chat.postMessage", fault)

    with pytest.raises(aiohttp.ClientConnectionError):
        await client.chat_postMessage(channel=sample.GENERAL, text="x")

    assert len(slack.messages(sample.GENERAL)) == arrived
    assert slack.calls_of("chat.postMessage")[0].fault == fault


async def test_a_slow_and_a_failing_slack(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    slack.faults.on("auth.test", Slow(0.2))
    slack.faults.on("auth.test", Http(503))

    await client.auth_test()
    with pytest.raises(SlackApiError) as failed:
        await client.auth_test()

    assert slack.calls[0].seconds >= 0.2
    assert failed.value.response.status_code == 503


async def test_rate_limits_hold_for_each_channel_once_they_are_switched_on(
    slack: EmulatedSlack, client: AsyncWebClient
) -> None:
    slack.rates.is_on = True

    for _ in range(3):
        await client.chat_postMessage(channel=sample.GENERAL, text="x")
    with pytest.raises(SlackApiError) as limited:
        await client.chat_postMessage(channel=sample.GENERAL, text="x")

    assert limited.value.response["error"] == "ratelimited"
    assert int(limited.value.response.headers["Retry-After"]) >= 1
    assert (await client.chat_postMessage(channel=sample.RANDOM, text="x"))["ok"]


async def test_a_slack_that_was_down_comes_back_at_the_same_address(
    slack: EmulatedSlack, client: AsyncWebClient
) -> None:
    await slack.stop()
    with pytest.raises(aiohttp.ClientConnectionError):
        await client.auth_test()

    await slack.start()

    assert (await client.auth_test())["ok"]
