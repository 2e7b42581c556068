"""How `bridge check` compares the installed app and user groups with the manifest and the settings."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from bridge.cli.drift import drift_rows
from bridge.cli.manifest import app_manifest
from bridge.cli.probes import handle_rows
from bridge.cli.rows import FAILURE, OK, WARNING, State
from bridge.errors import SlackRefused
from bridge.features.agents.handles import Handle
from bridge.slack.user_groups import UserGroup
from support.tables import each

URL = "https://bridge.example.com/slack/events"
ELSEWHERE = "https://old.example.com/slack/events"


def drift(installed: dict[str, Any], *, uses_socket: bool = False, prefix: str = "") -> list[tuple[State, str]]:
    rows = drift_rows("Slack", installed, prefix, "paste it again", uses_socket=uses_socket)
    return [(row.state, row.detail) for row in rows]


@each(("url", "uses_socket"), [(URL, False), (None, True)])
def test_an_app_created_from_the_manifest_has_not_drifted(url: str | None, *, uses_socket: bool) -> None:
    installed = {"_metadata": {"major_version": 2}, **app_manifest(url, "acme-")}

    ((state, _),) = drift(installed, uses_socket=uses_socket, prefix="acme-")

    assert state == OK


def _set(path: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    def change(manifest: dict[str, Any]) -> None:
        *keys, last = path.split(".")
        for key in keys:
            manifest = manifest[key]
        manifest[last] = value

    return change


@each(
    ("change", "found"),
    [
        (lambda it: it["features"]["slash_commands"].pop(3), (FAILURE, "slash command /stats is missing")),
        (lambda it: it["features"]["slash_commands"].append({"command": "/old", "url": URL}),
         (WARNING, "slash command /old isn't in `bridge manifest`")),
        (lambda it: it["features"]["slash_commands"][1].update(should_escape=False, usage_hint="?"),
         (WARNING, "slash command /agents has a different usage_hint, should_escape")),
        (lambda it: it["features"]["slash_commands"][0].update(url=ELSEWHERE),
         (FAILURE, "slash command /workflows isn't sent to the events' request URL")),
        (lambda it: it["features"]["shortcuts"][0].update(name="Go"),
         (WARNING, "shortcut run has a different name")),
        (lambda it: it["settings"]["event_subscriptions"]["bot_events"].remove("message.mpim"),
         (WARNING, "event message.mpim is missing")),
        (lambda it: it["settings"]["event_subscriptions"]["bot_events"].remove("message.im"),
         (FAILURE, "event message.im is missing")),
        (lambda it: it["settings"]["event_subscriptions"]["bot_events"].append("team_join"),
         (WARNING, "event team_join isn't in `bridge manifest`")),
        (lambda it: it["oauth_config"]["scopes"]["bot"].remove("chat:write"), (FAILURE, "scope chat:write is missing")),
        (lambda it: it["oauth_config"]["scopes"]["bot_optional"].remove("users:read"),
         (WARNING, "optional scope users:read is missing")),
        (_set("settings.socket_mode_enabled", True), (FAILURE, "socket_mode_enabled is on, but must be off")),
        (_set("settings.token_rotation_enabled", True), (FAILURE, "token_rotation_enabled is on, but must be off")),
        (_set("settings.interactivity.is_enabled", False), (FAILURE, "interactivity is off, but must be on")),
        (_set("settings.interactivity.request_url", ELSEWHERE),
         (FAILURE, "settings.interactivity.request_url isn't the events' request URL")),
        (lambda it: it["features"].pop("agent_view"),
         (WARNING, "agent_view is missing: the app isn't shown as an agent")),
    ],
)  # fmt: skip
def test_each_difference_is_named(change: Callable[[Any], Any], found: tuple[State, str]) -> None:
    installed = copy.deepcopy(app_manifest(URL))
    change(installed)

    assert drift(installed) == [found]


@each("installed", [{}, {"settings": "odd", "features": {"slash_commands": [3, {}], "shortcuts": {}}}])
def test_an_odd_answer_shows_drift_without_a_crash(installed: dict[str, Any]) -> None:
    found = drift(installed)

    assert (FAILURE, "slash command /workflows is missing") in found
    assert (FAILURE, "the events' request URL doesn't end with /slack/events") in found


STORED = {"S1": Handle(agent=7, handle="support", owner="U1", team="T1").model_dump_json()}


@each(
    ("groups", "state", "detail"),
    [
        ({"S1": UserGroup("S1", handle="support")}, OK, "1 handle"),
        ({"S1": UserGroup("S1", handle="support", is_disabled=True)}, WARNING, "@support of agent 7 is disabled"),
        ({"S1": UserGroup("S1", handle="helpers")}, WARNING, "@helpers of agent 7 is renamed"),
        ({}, WARNING, "@support of agent 7 is removed"),
        ({"S2": UserGroup("S2", handle="support")}, WARNING, "@support of agent 7 is used by another group"),
        (SlackRefused("usergroups.list", "missing_scope"), WARNING, "can't be looked up"),
    ],
)
def test_a_handle_is_compared_with_its_group(
    groups: dict[str, UserGroup] | SlackRefused, state: str, detail: str
) -> None:
    (row,) = handle_rows(STORED, groups)

    assert row.state == state
    assert detail in row.detail


def test_no_handles_are_no_row() -> None:
    assert handle_rows({}, {"S1": UserGroup("S1")}) == []


def test_handles_without_a_look_at_slack_are_no_row() -> None:
    assert handle_rows(STORED, None) == []
