"""The emulated Web API apart from messages, called with Slack's own client."""

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient

from bridge.playground.emulator import EmulatedSlack, sample
from support.slack_app import refusal


async def test_a_wrong_and_a_missing_token_have_different_errors(slack: EmulatedSlack) -> None:
    wrong = AsyncWebClient("xoxb-wrong", base_url=slack.api_url)

    assert (await refusal(wrong.auth_test()))["error"] == "invalid_auth"
    async with aiohttp.ClientSession() as session, session.get(f"{slack.api_url}auth.test") as answer:
        assert await answer.json() == {"ok": False, "error": "not_authed"}


async def test_an_unknown_method_is_refused(client: AsyncWebClient) -> None:
    assert (await refusal(client.api_call("chat.shout")))["error"] == "unknown_method"


async def test_people_channels_and_groups_are_described(client: AsyncWebClient) -> None:
    guest = (await client.users_info(user=sample.VISITOR))["user"]
    stranger = (await client.users_info(user=sample.STRANGER))["user"]
    shared = (await client.conversations_info(channel=sample.SHARED))["channel"]

    assert guest["is_restricted"]
    assert guest["is_ultra_restricted"]
    assert stranger["is_stranger"]
    assert stranger["team_id"] != sample.TEAM
    assert shared["is_ext_shared"]
    assert (await client.usergroups_users_list(usergroup=sample.RUNNERS))["users"] == [sample.ALICE, sample.CAROL]
    assert (await client.usergroups_list(include_users=True))["usergroups"][0]["users"] == [sample.ALICE, sample.CAROL]
    assert (await refusal(client.users_info(user="U0NOBODY")))["error"] == "user_not_found"
    assert (await refusal(client.usergroups_users_list(usergroup="S0")))["error"] == "no_such_subteam"
    assert sample.BRIDGE in (await client.conversations_members(channel=sample.GENERAL))["members"]


# Fields of each, from recorded payloads (slackapi/java-slack-sdk, json-logs).
SHOWN_OF_PEOPLE = {
    "color", "deleted", "id", "is_admin", "is_app_user", "is_bot",
    "is_email_confirmed", "is_owner", "is_primary_owner", "is_restricted", "is_ultra_restricted", "name",
    "profile", "real_name", "team_id", "tz", "tz_label", "tz_offset",
    "updated", "who_can_share_contact_card",
}  # fmt: skip


async def test_a_person_has_every_field_and_an_email_with_its_scope(
    slack: EmulatedSlack, client: AsyncWebClient
) -> None:
    slack.scopes.add("users:read.email")
    known = (await client.users_info(user=sample.ALICE, include_locale=True))["user"]
    slack.scopes.discard("users:read.email")
    alice, gone = [(await client.users_info(user=user))["user"] for user in (sample.ALICE, sample.GONE)]

    assert alice.keys() == SHOWN_OF_PEOPLE
    assert known.keys() - alice.keys() == {"locale"}
    assert known["profile"].keys() - alice["profile"].keys() == {"email"}
    assert "is_restricted" not in gone  # deactivated users have few fields


async def test_a_bots_message_is_returned_with_blocks_and_the_bots_profile(client: AsyncWebClient) -> None:
    said = "*done* in <#C0GENERAL>: `a*b*` :tada:\n&gt; a &amp; b\n```\nx = 1\n```"

    posted = (await client.chat_postMessage(channel=sample.GENERAL, text=said))["message"]
    with_blocks = (await client.chat_postMessage(channel=sample.GENERAL, text="x", blocks=[{"type": "divider"}]))[
        "message"
    ]
    changed = (await client.chat_update(channel=sample.GENERAL, ts=with_blocks["ts"], text="y"))["message"]

    assert (posted["bot_profile"]["id"], posted["bot_profile"]["name"]) == (sample.BRIDGE_BOT, "Bridge")
    (block,) = posted["blocks"]
    section, quote, code = block["elements"]
    assert [kind["type"] for kind in (block, section, quote, code)] == [
        "rich_text",
        "rich_text_section",
        "rich_text_quote",
        "rich_text_preformatted",
    ]
    assert section["elements"][:2] == [
        {"type": "text", "text": "done", "style": {"bold": True}},
        {"type": "text", "text": " in "},
    ]
    assert {"type": "text", "text": "a*b*", "style": {"code": True}} in section["elements"]
    assert {"type": "emoji", "name": "tada"} in section["elements"]
    assert (quote["elements"], code["elements"]) == (
        [{"type": "text", "text": "a & b"}],
        [{"type": "text", "text": "x = 1"}],
    )
    assert [one["type"] for one in with_blocks["blocks"]] == ["divider"]
    assert changed["blocks"][0]["elements"][0]["elements"] == [{"type": "text", "text": "y"}]


async def test_setting_a_session_status_returns_it_and_warns_without_the_stop_event(
    slack: EmulatedSlack, client: AsyncWebClient
) -> None:
    root = await slack.people.say(sample.ALICE, sample.GENERAL, "root")
    where = {"channel_id": sample.GENERAL, "thread_ts": root}

    started = await client.api_call(
        "agents.sessions.setStatus", json={**where, "status": "processing", "title": "A talk"}
    )
    slack.unsubscribed.add("agent_session_stopped")
    again = await client.api_call("agents.sessions.setStatus", json={**where, "status": "processing", "title": "New"})
    renamed = await client.api_call("agents.sessions.rename", json={**where, "title": "Renamed"})

    assert started.data == {"ok": True, "status": "processing", "agent_status": "processing", "title": "A talk"}
    assert (again["title"], again["warning"]) == ("A talk", "missing_agent_session_stopped_event_subscription")
    assert renamed.data == {"ok": True, "title": "Renamed"}


async def test_slackbot_and_slack_post_as_users_without_a_bot_id(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    ts = await slack.people.slack_says(sample.GENERAL, "Reminder: water the plants")
    await slack.people.slack_says(sample.GENERAL, f"<@{sample.ALICE}> archived the channel", user=sample.SLACK)

    about = (await client.users_info(user="USLACKBOT"))["user"]
    archived, reminder = (await client.conversations_history(channel=sample.GENERAL, limit=2))["messages"]
    assert (about["name"], about["is_bot"], about["profile"].get("bot_id")) == ("slackbot", False, None)
    assert (archived["user"], reminder["user"], reminder["ts"]) == ("USLACK", "USLACKBOT", ts)
    assert not {"subtype", "bot_id", "app_id"} & (archived.keys() | reminder.keys())


async def test_a_reaction_can_be_added_and_removed_once(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    ts = await slack.people.say(sample.ALICE, sample.GENERAL, "hello")
    await client.reactions_add(channel=sample.GENERAL, timestamp=ts, name="eyes")

    again = await refusal(client.reactions_add(channel=sample.GENERAL, timestamp=ts, name="eyes"))
    shown = slack.messages(sample.GENERAL)[0].as_json()["reactions"]
    await client.reactions_remove(channel=sample.GENERAL, timestamp=ts, name="eyes")
    gone = await refusal(client.reactions_remove(channel=sample.GENERAL, timestamp=ts, name="eyes"))

    assert (again["error"], gone["error"]) == ("already_reacted", "no_reaction")
    assert shown == [{"name": "eyes", "users": [sample.BRIDGE], "count": 1}]


async def test_an_upload_without_its_bytes_cannot_be_completed(client: AsyncWebClient) -> None:
    started = await client.files_getUploadURLExternal(filename="a.txt", length=3)

    answer = await refusal(client.files_completeUploadExternal(files=[{"id": started["file_id"]}]))

    assert answer["error"] == "file_not_found"


async def test_a_status_is_cleared_by_a_post_or_after_two_minutes(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    root = await slack.people.say(sample.ALICE, sample.GENERAL, "root")
    await client.assistant_threads_setStatus(channel_id=sample.GENERAL, thread_ts=root, status="is thinking…")
    assert slack.status(sample.GENERAL, root) == "is thinking…"

    await client.chat_postMessage(channel=sample.GENERAL, thread_ts=root, text="done")
    assert slack.status(sample.GENERAL, root) == ""

    await client.assistant_threads_setStatus(channel_id=sample.GENERAL, thread_ts=root, status="again")
    slack.clock.move(121)
    assert slack.status(sample.GENERAL, root) == ""
    assert [one.status for one in slack.statuses(sample.GENERAL, root)] == ["is thinking…", "", "again"]


async def test_a_processing_status_lasts_until_ended_or_for_two_minutes(
    slack: EmulatedSlack, client: AsyncWebClient
) -> None:
    root = await slack.people.say(sample.ALICE, sample.GENERAL, "root")
    await client.agents_sessions_setStatus(
        channel_id=sample.GENERAL, thread_ts=root, status="processing", title="A talk"
    )
    await client.chat_postMessage(channel=sample.GENERAL, thread_ts=root, text="done")
    assert slack.status(sample.GENERAL, root) == "processing"

    slack.clock.move(121)
    assert slack.status(sample.GENERAL, root) == "", "Slack clears it"
    await client.agents_sessions_setStatus(channel_id=sample.GENERAL, thread_ts=root, status="processing")
    assert slack.status(sample.GENERAL, root) == "processing"

    await client.agents_sessions_setStatus(channel_id=sample.GENERAL, thread_ts=root, status="active")
    await client.agents_sessions_rename(channel_id=sample.GENERAL, thread_ts=root, title="Renamed")

    assert slack.status(sample.GENERAL, root) == ""
    assert slack.workspace.session(sample.GENERAL, root).title == "Renamed"
