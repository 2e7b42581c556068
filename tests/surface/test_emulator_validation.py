"""Calls to the emulated Slack that validate blocks."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bridge.playground.emulator import EmulatedSlack
from support.slack_app import SECRET, TOKEN, refusal
from support.tables import each


@pytest.fixture
async def slack() -> AsyncIterator[EmulatedSlack]:
    async with EmulatedSlack(signing_secret=SECRET, bot_token=TOKEN) as slack:
        yield slack


async def test_blocks_are_validated_with_pointers(client: AsyncWebClient) -> None:
    wrong: list[dict[str, Any]] = [{"type": "section", "text": {"type": "invalid", "text": "x"}}]

    refused = await refusal(client.blocks_validate(blocks=wrong))

    assert refused["error"] == "invalid_blocks"
    assert refused["errors"] == [
        {
            "code": "failed_constraint",
            "message": "unsupported type: invalid",
            "pointer": "/0/text/type",
            "constraint": {},
        }
    ]


@pytest.mark.parametrize(
    ("asked", "error", "pointer"),
    [
        ({"message": {"blocks": [{"type": "header"}]}}, "invalid_message", "/blocks/0"),
        ({"view": {"type": "modal", "blocks": []}}, "invalid_view", ""),
    ],
)
async def test_messages_and_views_are_validated_with_pointers(
    client: AsyncWebClient, asked: dict[str, Any], error: str, pointer: str
) -> None:
    refused = await refusal(client.blocks_validate(**asked))

    assert (refused["error"], refused["errors"][0]["pointer"]) == (error, pointer)


@pytest.mark.parametrize("asked", [{}, {"blocks": [], "message": {"blocks": []}}])
async def test_validation_requires_exactly_one_argument(client: AsyncWebClient, asked: dict[str, Any]) -> None:
    refused = await refusal(client.blocks_validate(**asked))

    assert refused["error"] == "invalid_arguments"
    assert refused["response_metadata"]["messages"] == ["must provide exactly one of `blocks`, `view`, or `message`"]


async def test_validating_needs_no_scope_and_has_its_own_limit(slack: EmulatedSlack, client: AsyncWebClient) -> None:
    slack.scopes.clear()
    slack.rates.is_on = True

    for _ in range(20):
        assert (await client.blocks_validate(blocks=[{"type": "divider"}]))["ok"]
    assert (await refusal(client.blocks_validate(blocks=[])))["error"] == "ratelimited"


PLAIN = {"type": "plain_text", "text": "x"}
RICH = {"type": "rich_text", "elements": []}
CONTAINER: dict[str, Any] = {"type": "container", "title": PLAIN, "child_blocks": [{"type": "divider"}]}
VIDEO = {
    "type": "video", "alt_text": "x", "title": PLAIN, "video_url": "https://a.example/v",
    "thumbnail_url": "https://a.example/t.png",
}  # fmt: skip
ICON = {"type": "icon_button", "icon": "trash", "text": PLAIN}
WORKFLOW = {"type": "workflow_button", "text": PLAIN, "workflow": {"trigger": {"url": "https://slack.com/shortcuts/1"}}}
RICH_INPUT = {"type": "rich_text_input", "action_id": "a"}
MORE_OF_A_CONTAINER = {
    "rich_text_title": {**RICH, "elements": [{"type": "rich_text_section", "elements": []}]},
    "subtitle": {"type": "mrkdwn", "text": "x"}, "width": "full", "is_collapsible": True, "default_collapsed": True,
    "icon": {"type": "image", "image_url": "https://a.example/i.png", "alt_text": "x"}, "has_header_divider": False,
}  # fmt: skip
MORE_OF_A_VIDEO = {
    "title_url": "https://a.example", "author_name": "x", "provider_name": "x", "description": PLAIN,
    "provider_icon_url": "https://a.example/i.png",
}  # fmt: skip
PARAMETERS = {"url": "https://slack.com/shortcuts/1", "customizable_input_parameters": [{"name": "a", "value": "b"}]}


def holding(element: dict[str, Any]) -> dict[str, Any]:
    """A block with *element*."""
    match element["type"]:
        case "icon_button":
            return {"type": "context_actions", "elements": [element]}
        case "rich_text_input":
            return {"type": "input", "label": PLAIN, "element": element}
        case "workflow_button":
            return {"type": "actions", "elements": [element]}
    return element


@pytest.mark.parametrize(
    "block",
    [
        CONTAINER,
        {**CONTAINER, **MORE_OF_A_CONTAINER},
        {"type": "container", "rich_text_title": MORE_OF_A_CONTAINER["rich_text_title"], "child_blocks": [VIDEO]},
        VIDEO,
        {**VIDEO, **MORE_OF_A_VIDEO},
        {**ICON, "value": "x", "accessibility_label": "x", "visible_to_user_ids": ["U1"]},
        {**WORKFLOW, "style": "primary", "accessibility_label": "x", "workflow": {"trigger": PARAMETERS}},
        {**RICH_INPUT, "min_lines": 1, "max_lines": 100, "initial_value": MORE_OF_A_CONTAINER["rich_text_title"]},
    ],
)
async def test_every_documented_property_is_accepted(client: AsyncWebClient, block: dict[str, Any]) -> None:
    assert (await client.blocks_validate(blocks=[holding(block)]))["ok"]


@each(
    ("block", "pointer"),
    [
        ({"type": "container", "child_blocks": [{"type": "divider"}]}, "/0"),
        ({**CONTAINER, "width": "huge"}, "/0/width"),
        ({**CONTAINER, "child_blocks": [{"type": "markdown", "text": "x"}]}, "/0/child_blocks/0/type"),
        ({**CONTAINER, "child_blocks": [{"type": "header"}]}, "/0/child_blocks/0"),
        ({**CONTAINER, "child_blocks": [{"type": "divider"}] * 11}, "/0/child_blocks"),
        ({**CONTAINER, "default_collapsed": True}, "/0/default_collapsed"),
        ({**CONTAINER, "icon": "x"}, "/0/icon"),
        ({**VIDEO, "video_url": "http://a.example"}, "/0/video_url"),
        ({**VIDEO, "author_name": "x" * 51}, "/0/author_name"),
        ({**VIDEO, "description": "x"}, "/0/description"),
        ({**ICON, "icon": "heart"}, "/0/elements/0/icon"),
        ({**ICON, "visible_to_user_ids": "U1"}, "/0/elements/0/visible_to_user_ids"),
        ({**WORKFLOW, "workflow": {}}, "/0/elements/0/workflow"),
        ({**WORKFLOW, "workflow": {"trigger": {}}}, "/0/elements/0/workflow/trigger"),
        ({**RICH_INPUT, "max_lines": 101}, "/0/element/max_lines"),
        ({**RICH_INPUT, "initial_value": "x"}, "/0/element/initial_value"),
    ],
)
async def test_an_undocumented_property_is_refused(client: AsyncWebClient, block: dict[str, Any], pointer: str) -> None:
    refused = await refusal(client.blocks_validate(blocks=[holding(block)]))

    assert refused["errors"][0]["pointer"] == pointer
