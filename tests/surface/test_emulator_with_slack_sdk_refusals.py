"""Errors of the emulated Web API, as Slack's own client reports them."""

import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bridge.playground.emulator import EmulatedSlack, limits, sample, web_api
from support.slack_app import SECRET, TOKEN

HERE = sample.GENERAL
GONE = "1.000001"
MODAL = {"type": "modal", "title": {"type": "plain_text", "text": "Run"}, "blocks": []}

# Method, arguments, and Slack's error code. ROOT and OWN stand for a person's message and the bot's.
REFUSALS: list[tuple[str, dict[str, Any], str]] = [
    (
        "agents.sessions.setStatus",
        {"channel_id": sample.NOBOT, "thread_ts": GONE, "status": "active"},
        "not_authorized",
    ),
    ("agents.sessions.setStatus", {"channel_id": HERE, "thread_ts": "ROOT", "status": "odd"}, "invalid_status"),
    ("agents.sessions.setStatus", {"channel_id": HERE, "status": "active"}, "thread_ts_required"),
    ("agents.sessions.rename", {"channel_id": HERE, "title": "A talk"}, "thread_ts_required"),
    ("agents.sessions.rename", {"channel_id": HERE, "thread_ts": "ROOT", "title": "x" * 201}, "invalid_arguments"),
    ("assistant.threads.setStatus", {"channel_id": HERE, "thread_ts": GONE, "status": "…"}, "invalid_thread_ts"),
    ("assistant.threads.setSuggestedPrompts", {"channel_id": sample.DM_ALICE, "prompts": []}, "invalid_arguments"),
    ("blocks.validate", {}, "invalid_arguments"),
    ("blocks.validate", {"blocks": [{"type": "odd"}]}, "invalid_blocks"),
    ("bots.info", {"bot": "B0NOBODY"}, "bot_not_found"),
    ("chat.delete", {"channel": HERE, "ts": "ROOT"}, "cant_delete_message"),
    ("chat.delete", {"channel": HERE, "ts": GONE}, "message_not_found"),
    ("chat.postEphemeral", {"channel": HERE, "user": sample.STRANGER, "text": "x"}, "user_not_in_channel"),
    ("chat.postMessage", {"channel": "C0NOWHERE", "text": "x"}, "channel_not_found"),
    ("chat.postMessage", {"channel": sample.HIDDEN, "text": "x"}, "channel_not_found"),
    ("chat.postMessage", {"channel": sample.NOBOT, "text": "x"}, "not_in_channel"),
    ("chat.postMessage", {"channel": HERE, "text": ""}, "no_text"),
    ("chat.postMessage", {"channel": HERE, "text": "x", "markdown_text": "y"}, "markdown_text_conflict"),
    ("chat.postMessage", {"channel": HERE, "text": "x", "blocks": "["}, "invalid_blocks_format"),
    ("chat.postMessage", {"channel": HERE, "text": "x", "metadata": {"odd": 1}}, "invalid_metadata_format"),
    ("chat.update", {"channel": HERE, "ts": "ROOT", "text": "x"}, "cant_update_message"),
    ("chat.update", {"channel": HERE, "ts": "OWN", "text": "x" * 4001}, "msg_too_long"),
    ("conversations.history", {"channel": HERE, "cursor": "odd"}, "invalid_cursor"),
    ("conversations.replies", {"channel": HERE, "ts": GONE}, "thread_not_found"),
    ("files.getUploadURLExternal", {"filename": "a.txt"}, "invalid_arguments"),
    ("reactions.add", {"channel": HERE, "timestamp": "ROOT", "name": "Not good"}, "invalid_name"),
    ("views.open", {"trigger_id": "1.2.3", "view": MODAL}, "invalid_trigger_id"),
    ("views.publish", {"user_id": sample.ALICE, "view": MODAL}, "invalid_arguments"),
]


@pytest.fixture
async def slack() -> AsyncIterator[EmulatedSlack]:
    async with EmulatedSlack(signing_secret=SECRET, bot_token=TOKEN, retry_delays=()) as slack:
        yield slack


async def answered(client: AsyncWebClient, method: str, args: dict[str, Any]) -> str:
    try:
        sent = {"json": args} if web_api.METHODS[method].takes_json else {"params": args}
        await client.api_call(method, **sent)
    except SlackApiError as exc:
        return str(exc.response["error"])
    return "ok"


async def test_each_invalid_call_is_refused_with_slacks_error_code(
    slack: EmulatedSlack, client: AsyncWebClient
) -> None:
    root = await slack.people.say(sample.ALICE, HERE, "root")
    own = (await client.chat_postMessage(channel=HERE, text="own"))["ts"]
    stands_for = {"ROOT": root, "OWN": own}

    wrong: list[tuple[str, str, str]] = []
    for method, args, error in REFUSALS:
        filled = {
            name: stands_for.get(value, value) if isinstance(value, str) else value for name, value in args.items()
        }
        if (said := await answered(client, method, filled)) != error:
            wrong.append((method, error, said))

    assert wrong == []


async def test_an_archived_channel_accepts_no_messages(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    slack.workspace.channels[HERE].is_archived = True

    assert await answered(client, "chat.postMessage", {"channel": HERE, "text": "x"}) == "is_archived"


async def test_all_methods_have_their_tier_once_rate_limits_are_on(
    slack: EmulatedSlack, client: AsyncWebClient
) -> None:
    slack.rates.is_on = True

    for _ in range(20):
        assert await answered(client, "usergroups.list", {}) == "ok"
    with pytest.raises(SlackApiError) as limited:
        await client.usergroups_list()

    assert limited.value.response.status_code == 429
    assert 1 <= int(limited.value.response.headers["Retry-After"]) <= 60
    assert await answered(client, "users.info", {"user": sample.ALICE}) == "ok"


def table(*rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "data_table", "caption": "Runs", "rows": list(rows)}


def chart(labels: list[str]) -> dict[str, Any]:
    points = [{"label": label, "value": 1} for label in labels]
    lines = {"type": "bar", "series": [{"name": "runs", "data": points}], "axis_config": {"categories": ["a", "b"]}}
    return {"type": "data_visualization", "title": "Runs", "chart": lines}


CELL = {"type": "raw_text", "text": "x"}
RICH = {"type": "rich_text", "elements": []}


@pytest.mark.parametrize(
    ("block", "words"),
    [
        (table([RICH], [CELL]), "header cells must not be rich_text"),
        (table([CELL]), "must have at least 2 items"),
        (table([CELL, CELL], [CELL]), "must have 2 cells"),
        (table(*[[CELL]] * 102), "no more than 101 items"),
        (chart(["a", "c"]), "labels must be the categories"),
        (chart(["a"]), "labels must be the categories"),
        ({"type": "data_visualization", "title": "x" * 51, "chart": chart(["a", "b"])["chart"]}, "less than 51"),
    ],
)
async def test_tables_and_charts_beyond_the_limits_are_refused_with_the_reason(
    client: AsyncWebClient, block: dict[str, Any], words: str
) -> None:
    with pytest.raises(SlackApiError) as refused:
        await client.chat_postMessage(channel=HERE, text="x", blocks=[block])

    assert refused.value.response["error"] == "invalid_blocks"
    assert any(words in line for line in refused.value.response["response_metadata"]["messages"])


async def test_tables_and_charts_within_the_limits_are_accepted(client: AsyncWebClient) -> None:
    await client.chat_postMessage(channel=HERE, text="x", blocks=[table([CELL], [RICH]), chart(["a", "b"])])


async def test_a_stored_text_has_its_special_characters_escaped(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    said = "a < b & c > d &lt; <@U0ALICE> <https://example.com/?a=1&b|a link> <!date^1^{date}|t> <script>"

    answer = await client.chat_postMessage(channel=HERE, text=said)

    assert answer["message"]["text"] == (
        "a &lt; b &amp; c &gt; d &lt; <@U0ALICE> <https://example.com/?a=1&b|a link> <!date^1^{date}|t> &lt;script&gt;"
    )
    assert slack.messages(HERE)[0].text == answer["message"]["text"]


async def test_texts_too_long_together_have_their_own_error(client: AsyncWebClient) -> None:
    markdown = [{"type": "markdown", "text": "x" * 7000}] * 2

    said = await answered(client, "chat.postMessage", {"channel": HERE, "text": "x", "blocks": markdown})

    assert said == "msg_blocks_too_long"
    cut = await client.chat_postMessage(channel=HERE, text="x" * (limits.TEXT_IS_CUT_AT + 1))
    assert (cut["warning"], cut["response_metadata"]["warnings"]) == ("message_truncated", ["message_truncated"])
    assert len(cut["message"]["text"]) == limits.TEXT_IS_CUT_AT == 40_000
    assert time.time() - float(cut["ts"]) < 60
