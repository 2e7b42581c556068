"""The app manifest: Slack's own schema, the commands there are, and no more permissions than are used."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

import bridge
from bridge.commands import router
from bridge.errors import ConfigurationError
from bridge.ops.manifest import manifest, where_slack_sends
from bridge.ops.scopes import EVENTS, SCOPES
from bridge.playground.slack import web_api

CODE = Path(bridge.__file__).parent
SCHEMA = CODE.parent.parent / "shared" / "spec" / "slack-manifest.schema.json"
URL = "https://bridge.example.com/slack/events"
NAMES = {scope.name for scope in SCOPES}


def made(*, url: str | None = URL, prefix: str = "") -> dict[str, Any]:
    return manifest(router.slash_commands(prefix), url)


def addresses(value: Any) -> Iterator[str]:
    """Find every web address in a manifest."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from addresses(item)
    elif isinstance(value, str) and value.startswith("http"):
        yield value


@pytest.mark.skipif(not SCHEMA.exists(), reason="Slack's schema is not beside this repository")
@pytest.mark.parametrize("url", [URL, None])
@pytest.mark.parametrize("prefix", ["", "a" * 20])
def test_it_is_valid_against_slacks_schema(url: str | None, prefix: str) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))

    problems = list(Draft7Validator(schema).iter_errors(made(url=url, prefix=prefix)))

    assert [f"{list(problem.path)}: {problem.message}" for problem in problems] == []


def test_it_lists_the_commands_of_the_registry_with_their_prefix() -> None:
    listed = made(prefix="acme-")["features"]["slash_commands"]

    assert [command["command"] for command in listed] == [
        "/acme-workflows",
        "/acme-agents",
        "/acme-project",
        "/acme-stats",
    ]
    assert "run <workflow> [input]" in listed[0]["usage_hint"]


def test_every_address_is_the_one_where_slack_sends_and_menus_have_theirs() -> None:
    settings = made()["settings"]

    assert set(addresses(made())) == {URL}
    assert settings["interactivity"]["message_menu_options_url"] == URL
    assert settings["socket_mode_enabled"] is False


def test_for_a_socket_there_is_no_address_at_all() -> None:
    assert list(addresses(made(url=None))) == []
    assert made(url=None)["settings"]["socket_mode_enabled"] is True
    assert made(url=None)["settings"]["interactivity"]["is_enabled"] is True


def test_the_bot_is_an_agent_to_whom_people_can_write() -> None:
    features = made()["features"]

    assert features["agent_view"]["agent_description"]
    assert features["app_home"]["messages_tab_enabled"] is True
    assert features["app_home"]["messages_tab_read_only_enabled"] is False


@pytest.mark.parametrize(
    "message", [prompt["message"] for prompt in made()["features"]["agent_view"]["suggested_prompts"]]
)
def test_a_suggested_prompt_with_an_exclamation_mark_is_a_command(message: str) -> None:
    assert (router.bang_line(message) is not None) is message.startswith("!")


def test_history_users_files_and_groups_may_be_left_out() -> None:
    scopes = made()["oauth_config"]["scopes"]

    assert scopes["bot"] == ["app_mentions:read", "assistant:write", "chat:write", "commands", "im:history"]
    assert not set(scopes["bot"]) & set(scopes["bot_optional"])
    assert set(scopes["bot"]) | set(scopes["bot_optional"]) == NAMES


def test_every_method_that_is_called_has_its_scope_and_every_scope_its_use() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in (CODE / "slack").glob("*.py"))
    called = set(re.findall(r'"([a-z]+(?:\.[a-zA-Z]+)+)"', source)) & web_api.METHODS.keys()
    wanted = {name: set(web_api.METHODS[name].scopes) - {"connections:write"} for name in called}

    assert {"chat.postMessage", "users.info", "usergroups.users.list"} <= called
    assert [name for name, scopes in wanted.items() if scopes and not scopes & NAMES] == []
    used = {scope for scopes in wanted.values() for scope in scopes}
    assert NAMES - used == {"app_mentions:read", "commands", "reactions:read"}


def test_every_event_has_the_scope_that_slack_wants_for_it() -> None:
    wanted = {
        "app_mention": "app_mentions:read",
        "message.channels": "channels:history",
        "message.groups": "groups:history",
        "message.im": "im:history",
        "agent_session_stopped": "chat:write",
        "reaction_added": "reactions:read",
    }

    assert set(EVENTS) - {"app_home_opened"} == wanted.keys()  # which needs none
    assert set(wanted.values()) <= NAMES


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("https://bridge.example.com", URL),
        ("https://bridge.example.com/", URL),
        ("https://bridge.example.com/slack/events", URL),
        ("https://example.com:8443/bridge", "https://example.com:8443/bridge/slack/events"),
        ("", "https://YOUR-HOST/slack/events"),
    ],
)
def test_the_address_may_be_given_with_or_without_the_path(given: str, url: str) -> None:
    assert where_slack_sends(given, socket=False) == url


@pytest.mark.parametrize(
    "given", ["http://plain.example.com", "bridge.example.com", "https://", "https://a:b@host", "https://h/?q=1"]
)
def test_an_address_that_slack_cannot_send_to_is_refused(given: str) -> None:
    with pytest.raises(ConfigurationError, match="use one like"):
        where_slack_sends(given, socket=False)


def test_a_socket_has_no_address() -> None:
    assert where_slack_sends("", socket=True) is None
    with pytest.raises(ConfigurationError, match="exclude one another"):
        where_slack_sends("https://bridge.example.com", socket=True)


def test_home_is_switched_on_and_every_shortcut_is_one_that_the_bridge_knows() -> None:
    features = made()["features"]

    assert features["app_home"]["home_tab_enabled"] is True
    assert "app_home_opened" in EVENTS
    assert {(one["name"], one["type"]) for one in features["shortcuts"]} == {
        ("Run a workflow", "global"),
        ("Ask an agent", "global"),
        ("Ask an agent about this", "message"),
        ("Run a workflow with this", "message"),
    }
    assert len({one["callback_id"] for one in features["shortcuts"]}) == 4
