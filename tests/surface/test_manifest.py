"""The app manifest: valid by Slack's schema, with exactly the commands and permissions in use."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from jsonschema import Draft7Validator

import bridge
from bridge.cli.manifest import app_manifest, where_slack_sends
from bridge.door.listeners.subscriptions import EVENTS
from bridge.features.registry import features
from bridge.playground.emulator import EmulatedSlack, sample, web_api
from bridge.playground.emulator.manifests import EVENTS as SLACKS_EVENTS, Installation, InvalidManifest
from bridge.slack.scopes import SCOPES
from support.slack_app import SECRET, TOKEN
from support.tables import each

CODE = Path(bridge.__file__).parent
SCHEMA = Draft7Validator(json.loads((Path(__file__).parent / "slack-manifest.schema.json").read_text(encoding="utf-8")))
"""Slack's own, from https://github.com/slackapi/manifest-schema, with its license beside it."""

URL = "https://bridge.example.com/slack/events"
NAMES = {scope.name for scope in SCOPES}


def made(*, url: str | None = URL, prefix: str = "") -> dict[str, Any]:
    return app_manifest(url, prefix)


def addresses(value: Any) -> Iterator[str]:
    """Find every web address in a manifest."""
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from addresses(item)
    elif isinstance(value, str) and value.startswith("http"):
        yield value


def refused(manifest: dict[str, Any]) -> list[str]:
    """Return what Slack's schema says against *manifest*."""
    return [f"{list(problem.path)}: {problem.message}" for problem in SCHEMA.iter_errors(manifest)]


@pytest.mark.parametrize("url", [URL, None])
@pytest.mark.parametrize("prefix", ["", "a" * 20])
def test_the_manifest_is_valid_against_slacks_schema(url: str | None, prefix: str) -> None:
    assert refused(made(url=url, prefix=prefix)) == []


@each(
    ("spoil", "says"),
    [
        (lambda it: it["display_information"].update(description="x" * 141), "is too long"),
        (lambda it: it["features"]["slash_commands"][0].update(usage_hint=""), "should be non-empty"),
        (lambda it: it["settings"].update(is_loud=True), "'is_loud' was unexpected"),
    ],
)
def test_slacks_schema_refuses_what_the_emulator_doesnt_read(spoil: Callable[[Any], Any], says: str) -> None:
    manifest = made()
    spoil(manifest)

    (problem,) = refused(manifest)

    assert says in problem


def test_the_manifest_lists_the_commands_with_their_prefix() -> None:
    listed = made(prefix="acme-")["features"]["slash_commands"]

    assert [command["command"] for command in listed] == [
        "/acme-workflows",
        "/acme-agents",
        "/acme-project",
        "/acme-stats",
        "/acme-schedules",
        "/acme-approvals",
    ]
    assert "run [workflow] [input]" in listed[0]["usage_hint"]


def test_a_command_with_input_isnt_escaped() -> None:
    listed = made()["features"]["slash_commands"]

    assert {command["command"]: command["should_escape"] for command in listed} == {
        "/workflows": False,
        "/agents": True,
        "/project": True,
        "/stats": True,
        "/schedules": True,
        "/approvals": True,
    }


def test_every_url_is_the_bridges() -> None:
    settings = made()["settings"]

    assert set(addresses(made())) == {URL}
    assert settings["interactivity"]["message_menu_options_url"] == URL
    assert settings["socket_mode_enabled"] is False


def test_a_socket_mode_manifest_has_no_url() -> None:
    assert list(addresses(made(url=None))) == []
    assert made(url=None)["settings"]["socket_mode_enabled"] is True
    assert made(url=None)["settings"]["interactivity"]["is_enabled"] is True


def test_the_bot_is_an_agent_with_a_messages_tab() -> None:
    features = made()["features"]

    assert features["agent_view"]["agent_description"]
    assert features["app_home"]["messages_tab_enabled"] is True
    assert features["app_home"]["messages_tab_read_only_enabled"] is False


@pytest.mark.parametrize(
    "message", [prompt["message"] for prompt in made()["features"]["agent_view"]["suggested_prompts"]]
)
def test_a_suggested_prompt_with_an_exclamation_mark_is_a_command(message: str) -> None:
    assert (features.commands.bang_line(message) is not None) is message.startswith("!")


def test_optional_scopes_are_in_both_lists() -> None:
    scopes = made()["oauth_config"]["scopes"]
    needed = set(scopes["bot"]) - set(scopes["bot_optional"])

    assert set(scopes["bot"]) == NAMES
    assert needed == {"app_mentions:read", "assistant:write", "chat:write", "commands", "im:history"}
    assert set(scopes["bot_optional"]) <= NAMES


@pytest.mark.parametrize("url", [URL, None])
@pytest.mark.parametrize("prefix", ["", "a" * 20])
def test_slack_accepts_the_manifest(url: str | None, prefix: str) -> None:
    manifest, installation = made(url=url, prefix=prefix), Installation(set())

    installation.install(manifest)

    assert installation.commands == {
        command["command"]: command["should_escape"] for command in manifest["features"]["slash_commands"]
    }


def without_scope(manifest: dict[str, Any], scope: str) -> None:
    for listed in manifest["oauth_config"]["scopes"].values():
        if scope in listed:
            listed.remove(scope)


@each(
    ("spoil", "pointer", "says"),
    [
        (lambda it: without_scope(it, "channels:history"), "/settings/event_subscriptions/bot_events", "channels:hist"),
        (lambda it: without_scope(it, "commands"), "/features/slash_commands", "requires `commands` bot scope"),
        (
            lambda it: it["oauth_config"]["scopes"]["bot"].remove("users:read"),
            "/oauth_config/scopes/bot_optional/",
            "must also be listed in `bot`",
        ),
        (lambda it: it["features"].pop("bot_user"), "/features/bot_user", "bot user"),
        (
            lambda it: it["settings"]["event_subscriptions"]["bot_events"].append("presence_change"),
            "/settings/event_subscriptions/bot_events",
            "invalid event type: presence_change",
        ),
        (
            lambda it: it["settings"]["event_subscriptions"].pop("request_url"),
            "/settings/event_subscriptions",
            "Event Subscription requires either Request URL or Socket Mode Enabled",
        ),
        (
            lambda it: it["settings"]["interactivity"].pop("request_url"),
            "/settings/interactivity",
            "Interactivity requires a Request URL",
        ),
        (lambda it: it["features"]["slash_commands"][0].pop("url"), "/features/slash_commands/0", "requires a URL"),
        (lambda it: it.pop("display_information"), "/display_information", "required"),
        (lambda it: it["features"].update(slash_commands="/run"), "/features/slash_commands", "valid tuple"),
        (
            lambda it: it["features"]["slash_commands"][1].update(command="agents"),
            "/features/slash_commands/1/command",
            "match pattern",
        ),
    ],
)
def test_a_bad_manifest_is_refused_with_the_place(spoil: Callable[[Any], Any], pointer: str, says: str) -> None:
    manifest = made()
    spoil(manifest)

    with pytest.raises(InvalidManifest) as refusal:
        Installation(set()).install(manifest)

    first, *_ = refusal.value.errors
    assert first["pointer"].startswith(pointer)
    assert says in first["message"]


async def test_an_installed_app_lacks_only_declined_scopes() -> None:
    async with EmulatedSlack(signing_secret=SECRET, bot_token=TOKEN) as slack:
        slack.install(made(), declined={"users:read", "channels:history", "chat:write"})

        assert slack.scopes == NAMES - {"users:read", "channels:history"}  # a required scope can't be declined
        assert {"reaction_removed", "pin_added"} <= slack.unsubscribed
        assert not slack.unsubscribed & EVENTS.keys()
        await slack.people.say(sample.ALICE, sample.GENERAL, "nothing that the app could hear")
        assert slack.deliveries == []
        with pytest.raises(InvalidManifest, match="requires the bot scope"):
            slack.install(made() | {"oauth_config": {}})


def test_every_called_method_has_its_scope_and_every_scope_a_use() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in (CODE / "slack").glob("*.py"))
    called = set(re.findall(r'"([a-z]+(?:\.[a-zA-Z]+)+)"', source)) & web_api.METHODS.keys()
    wanted = {name: set(web_api.METHODS[name].scopes) for name in called if web_api.METHODS[name].caller == "bot"}

    assert {"chat.postMessage", "users.info", "usergroups.users.list"} <= called
    assert [name for name, scopes in wanted.items() if scopes and not scopes & NAMES] == []
    used = {scope for scopes in wanted.values() for scope in scopes}
    assert NAMES - used == {"app_mentions:read", "chat:write.customize", "commands", "reactions:read"}


def test_every_event_has_the_scope_that_slack_requires() -> None:
    listed = made()["settings"]["event_subscriptions"]["bot_events"]

    assert listed == list(EVENTS)
    assert {scope for scopes in EVENTS.values() for scope in scopes} <= set(made()["oauth_config"]["scopes"]["bot"])
    assert {event: SLACKS_EVENTS[event] for event in listed} == EVENTS


@each(
    ("given", "url"),
    [
        ("https://bridge.example.com", URL),
        ("https://bridge.example.com/", URL),
        ("https://bridge.example.com/slack/events", URL),
        ("https://example.com:8443/bridge", "https://example.com:8443/bridge/slack/events"),
        ("", "https://YOUR-HOST/slack/events"),
    ],
)
def test_a_url_may_omit_the_path(given: str, url: str) -> None:
    assert where_slack_sends(given, socket=False) == url


@each("given", ["http://plain.example.com", "bridge.example.com", "https://", "https://a:b@host", "https://h/?q=1"])
def test_an_unreachable_url_is_refused(given: str) -> None:
    with pytest.raises(typer.BadParameter, match="use one such as"):
        where_slack_sends(given, socket=False)


def test_socket_mode_has_no_url() -> None:
    assert where_slack_sends("", socket=True) is None
    with pytest.raises(typer.BadParameter, match="can't be used with --socket"):
        where_slack_sends("https://bridge.example.com", socket=True)


def test_the_manifest_has_home_and_every_shortcut() -> None:
    features = made()["features"]

    assert features["app_home"]["home_tab_enabled"] is True
    assert "app_home_opened" in EVENTS
    assert {(one["name"], one["type"]) for one in features["shortcuts"]} == {
        ("Run a workflow", "global"),
        ("Ask an agent", "global"),
        ("Ask an agent about this", "message"),
        ("Run a workflow with this", "message"),
        ("Why no answer?", "message"),
    }
    assert len({one["callback_id"] for one in features["shortcuts"]}) == 5
