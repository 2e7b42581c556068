"""Read-only calls to the emulated Slack: validating blocks and looking up the app."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bridge.playground.emulator import EmulatedSlack, sample
from support.slack_app import SECRET, TOKEN, refusal


@pytest.fixture
async def slack() -> AsyncIterator[EmulatedSlack]:
    async with EmulatedSlack(signing_secret=SECRET, bot_token=TOKEN, config_token="xoxe.xoxp-1") as slack:
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


async def test_the_installed_manifest_is_exported(slack: EmulatedSlack) -> None:
    manifest: dict[str, Any] = {
        "display_information": {"name": "App"},
        "features": {
            "bot_user": {"display_name": "app"},
            "slash_commands": [{"command": "/a", "description": "Does it."}],
        },
        "oauth_config": {"scopes": {"bot": ["commands"]}},
        "settings": {"socket_mode_enabled": True},
    }
    slack.install(manifest)

    answer = await AsyncWebClient("xoxe.xoxp-1", base_url=slack.api_url).apps_manifest_export(app_id=sample.APP)

    exported = answer["manifest"]
    assert exported["oauth_config"] == manifest["oauth_config"]
    assert exported["settings"]["token_rotation_enabled"] is False
    assert exported["features"]["slash_commands"][0]["should_escape"] is False
    assert answer.headers["x-oauth-scopes"] == "app_configurations:read,app_configurations:write"


async def test_only_the_configuration_token_exports_a_manifest(client: AsyncWebClient) -> None:
    assert (await refusal(client.apps_manifest_export(app_id=sample.APP)))["error"] == "not_allowed_token_type"


async def test_another_apps_manifest_isnt_exported(slack: EmulatedSlack) -> None:
    client = AsyncWebClient("xoxe.xoxp-1", base_url=slack.api_url)

    assert (await refusal(client.apps_manifest_export(app_id="A1")))["error"] == "invalid_app_id"
