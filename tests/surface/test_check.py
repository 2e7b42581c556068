"""What `bridge check` reports for given settings, Slack responses and Redis states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from bridge.cli.check import probe
from bridge.cli.check.redis import condition_rows
from bridge.cli.check.slack import app_token_row, bot_rows, ops_channel_row, secret_row
from bridge.cli.rows import FAILURE, OK, WARNING, Row, State, trouble_row
from bridge.errors import SlackError
from bridge.metrics import Metrics
from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.playground.emulator.faults import Hang, Http, Redirect
from bridge.playground.emulator.sample import BRIDGE, GENERAL
from bridge.queue.redis.condition import RedisCondition
from bridge.queue.wipe import Wipe
from bridge.settings import Settings, load, well_formed
from bridge.slack.api import Identity, SlackWeb, opened
from bridge.slack.scopes import SCOPES, USER_GROUPS
from support.secrecy import APP_TOKEN
from support.slack_fixtures import Answer, answers, limited, refused
from support.tables import each

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ALL_SCOPES = tuple(scope.name for scope in SCOPES)

# Settings

GOOD = {
    "SLACK_BOT_TOKEN": "xoxb-1",
    "SLACK_SIGNING_SECRET": "s",
    "PROJECT_BASE_URL": "https://project.example/",
    "PROJECT_API_KEY": "k",
    "REDIS_URL": "redis://localhost",
    "BRIDGE_RUNNERS": "U123,S123",
}


def test_good_settings_are_well_formed_as_they_are_loaded() -> None:
    settings = load(GOOD)

    assert well_formed(GOOD) == {
        str(field.alias): getattr(settings, name) for name, field in Settings.model_fields.items()
    }


def test_malformed_settings_hide_no_others() -> None:
    broken = {**GOOD, "SLACK_BOT_TOKEN": "xoxp-1", "BRIDGE_MAX_AGE": "soon", "REDIS_URL_FILE": "/nowhere"}
    del broken["PROJECT_API_KEY"]

    values = well_formed(broken)

    missing = {"SLACK_BOT_TOKEN", "BRIDGE_MAX_AGE", "PROJECT_API_KEY", "REDIS_URL"}
    assert well_formed(GOOD).keys() - values.keys() == missing
    assert values["PROJECT_BASE_URL"] == "https://project.example"


async def test_unconfigured_parts_are_not_probed() -> None:
    assert await probe(well_formed({}), now=lambda: NOW) == []


# Slack


def greeting(*, granted: Sequence[str] = ALL_SCOPES, at: datetime | None = NOW) -> Http:
    """Answer ``auth.test`` with these scopes and this server time."""
    body = '{"ok": true, "team": "Acme", "team_id": "T1", "user": "helper", "user_id": "UBOT", "bot_id": "B1"}'
    headers = {"x-oauth-scopes": ",".join(granted), "Date": format_datetime(at) if at else "then"}
    return Http(200, body, headers)


async def look(
    emulated: EmulatedSlack,
    slack_web: SlackWeb,
    answer: Answer,
    *,
    required: Sequence[str] = (),
    uses_http: bool = True,
) -> tuple[list[Row], Identity | None]:
    answers(emulated, "auth.test", answer)
    return await bot_rows(slack_web, now=lambda: NOW, required_scopes=required, uses_http=uses_http)


def of(rows: Sequence[Row], what: str) -> list[tuple[State, str]]:
    return [(row.state, row.detail) for row in rows if row.what == what]


async def test_a_good_token_shows_its_bot(emulated: EmulatedSlack, slack_web: SlackWeb) -> None:
    rows, identity = await look(emulated, slack_web, greeting())

    assert of(rows, "bot token") == [(OK, "bot “helper” (UBOT) in “Acme” (T1)")]
    assert [row.state for row in rows] == [OK] * 3
    assert identity is not None
    assert identity.bot_user == "UBOT"


@each(
    ("answer", "says", "cure"),
    [
        (refused("invalid_auth"), "rejected by Slack (invalid_auth)", "copy SLACK_BOT_TOKEN again"),
        (refused("account_inactive"), "(account_inactive)", "reinstalling the app"),
        (Http(200, "<html>Welcome</html>"), "didn't come from Slack (200, not JSON)", "check SLACK_API_URL"),
        (Http(200, "[]"), "didn't come from Slack (200, not in Slack's format)", "SLACK_API_URL"),
        (Redirect("/sign-in"), "a redirect (302)", "check SLACK_API_URL (normally not set) and the proxy"),
        (Http(503), "sent an unexpected response (503)", "slack-status.com"),
        (limited(30), "rate-limiting", "wait a minute"),
    ],
)
async def test_a_bad_token_is_one_row_with_its_fix(
    emulated: EmulatedSlack, slack_web: SlackWeb, answer: Answer, says: str, cure: str
) -> None:
    rows, identity = await look(emulated, slack_web, answer)

    assert [(row.what, row.state, identity) for row in rows] == [("bot token", FAILURE, None)]
    assert says in rows[0].detail
    assert cure in rows[0].cure


async def test_an_unresponsive_slack_is_a_timeout(emulated: EmulatedSlack, slack_web: SlackWeb) -> None:
    answers(emulated, "auth.test", Hang())
    with pytest.raises(SlackError) as caught:
        await slack_web.call("auth.test", {}, seconds=0.1)

    row = trouble_row("bot token", caught.value, "")

    assert row.detail == "Slack timed out: no answer within 10 s"
    assert "slack-status.com" in row.cure


async def test_an_unreachable_slack_names_the_proxy() -> None:
    async with opened("http://127.0.0.1:1/api/", "xoxb-1", Metrics()) as slack_web:
        rows, _ = await bot_rows(slack_web, now=lambda: NOW, required_scopes=(), uses_http=True)

    assert rows[0].detail == "can't connect (connection refused or host unreachable)"
    assert "HTTPS_PROXY" in rows[0].cure


@each(
    ("granted", "required", "found"),
    [
        ([name for name in ALL_SCOPES if name != "chat:write"], [],
         (FAILURE, "chat:write is missing; the bot needs it to answer")),
        ([name for name in ALL_SCOPES if name != "files:write"], [],
         (WARNING, "files:write isn't granted; the bot needs it to send long answers")),
        ([name for name in ALL_SCOPES if name != USER_GROUPS], [USER_GROUPS], (FAILURE, f"{USER_GROUPS} is missing")),
        ([name for name in ALL_SCOPES if name != USER_GROUPS], [], (WARNING, f"{USER_GROUPS} isn't granted")),
        ([*ALL_SCOPES, "channels:join"], [], (WARNING, "granted, but not in the manifest: channels:join")),
        ([], [], (WARNING, "Slack didn't say which scopes the token has")),
    ],
)  # fmt: skip
async def test_a_missing_or_unused_scope_is_reported(
    emulated: EmulatedSlack, slack_web: SlackWeb, *, granted: list[str], required: list[str], found: tuple[State, str]
) -> None:
    rows, _ = await look(emulated, slack_web, greeting(granted=granted), required=required)

    ((state, detail),) = of(rows, "scopes")
    assert state == found[0]
    assert detail.startswith(found[1])


@each(
    ("ahead", "uses_http", "state", "says"),
    [
        (timedelta(seconds=60), True, OK, "agrees"),
        (timedelta(seconds=61), True, WARNING, "61 s ahead of Slack's"),
        (timedelta(seconds=-90), True, WARNING, "90 s behind Slack's"),
        (timedelta(seconds=-301), True, FAILURE, "301 s behind Slack's; requests from Slack are refused whenever"),
        (timedelta(seconds=-301), False, WARNING, "301 s behind Slack's"),
        (None, True, WARNING, "Slack didn't send its time"),
    ],
)
async def test_the_clock_is_compared_with_slacks(
    emulated: EmulatedSlack, slack_web: SlackWeb, *, ahead: timedelta | None, uses_http: bool, state: State, says: str
) -> None:
    at = None if ahead is None else NOW - ahead
    rows, _ = await look(emulated, slack_web, greeting(at=at), uses_http=uses_http)

    ((found, detail),) = of(rows, "clock")
    assert found == state
    assert detail.startswith(says)


@pytest.mark.parametrize(
    ("change", "state", "says"),
    [
        ({}, OK, "the bot is in"),
        ({"is_archived": True}, FAILURE, "is archived"),
        ({"id": "C0NOWHERE"}, FAILURE, "channel_not_found"),
    ],
)
async def test_the_channel_for_incidents_is_looked_up(
    emulated: EmulatedSlack, slack_web: SlackWeb, change: dict[str, Any], state: State, says: str
) -> None:
    emulated.workspace.channels[GENERAL].is_archived = bool(change.get("is_archived"))

    row = await ops_channel_row(slack_web, change.get("id", GENERAL), posts_test=False)

    assert (row.what, row.state) == ("BRIDGE_OPS_CHANNEL", state)
    assert says in row.detail
    assert bool(row.cure) == (state == FAILURE)
    assert "chat.postMessage" not in [call.method for call in emulated.calls]


async def test_a_channel_without_the_bot_is_a_failure(emulated: EmulatedSlack, slack_web: SlackWeb) -> None:
    emulated.workspace.channels[GENERAL].members.remove(BRIDGE)

    row = await ops_channel_row(slack_web, GENERAL, posts_test=False)

    assert (row.state, "isn't in" in row.detail, "/invite" in row.cure) == (FAILURE, True, True)


async def test_a_test_is_posted_on_request(emulated: EmulatedSlack, slack_web: SlackWeb) -> None:
    row = await ops_channel_row(slack_web, GENERAL, posts_test=True)
    refused = await ops_channel_row(slack_web, "C0NOWHERE", posts_test=True)

    assert (row.state, refused.state) == (OK, FAILURE)
    assert [one.text for one in emulated.workspace.messages.of(GENERAL)][-1].startswith("✅ This is a test.")


async def test_an_app_token_is_tried_without_opening_a_socket(emulated: EmulatedSlack, slack_web: SlackWeb) -> None:
    assert (await app_token_row(slack_web, APP_TOKEN)).state == OK

    assert [(call.method, call.token_ok) for call in emulated.calls] == [("apps.connections.open", True)]
    assert emulated.sockets == []


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (refused("invalid_auth"), "(invalid_auth)"),
        (refused("missing_scope", needed="connections:write"), "the token lacks the scope connections:write"),
    ],
)
async def test_a_bad_app_token_names_the_scope_that_it_needs(
    emulated: EmulatedSlack, slack_web: SlackWeb, answer: Answer, says: str
) -> None:
    answers(emulated, "apps.connections.open", answer)

    row = await app_token_row(slack_web, "xapp-1")

    assert row.state == FAILURE
    assert says in row.detail
    assert "connections:write" in row.cure
    assert "Socket Mode" in row.cure


@each(
    ("secret", "state"),
    [("0123456789abcdef" * 2, OK), ("0123456789abcdef", WARNING), ("0123456789ABCDEF" * 2, WARNING)],
)
def test_a_signing_secret_is_judged_by_shape_and_never_shown(secret: str, state: State) -> None:
    row = secret_row(secret)

    assert row.state == state
    assert secret not in row.detail + row.cure


# Redis

US = Identity("T1", "", "UBOT", "B1")
HEALTHY = RedisCondition(
    product="Redis",
    version=(7, 0, 15),
    is_replica=False,
    is_append_only=True,
    appendfsync="always",
    syncs_in_rewrites=True,
    can_write=True,
    policy="noeviction",
    maxmemory=0,
    memory=1_200_000,
    replicas=1,
    confirming=1,
    owner=("T1", "UBOT"),
    round_trip=0.0004,
)


def test_a_healthy_redis_is_ok_in_every_row() -> None:
    rows = condition_rows(HEALTHY, "bridge", US)

    assert {row.state for row in rows} == {OK}
    assert {row.what: row.detail for row in rows} == {
        "reachable": "round trip 0.4 ms",
        "version": "Redis 7.0.15",
        "persistence": "append-only file, synced on every write",
        "memory": "1.2 MB used; maxmemory isn't set",
        "maxmemory-policy": "noeviction",
        "replicas": "1; critical writes wait for one of them",
        "namespace": "“bridge” belongs to this bot (UBOT in T1)",
    }


@each(
    ("change", "what", "state", "says"),
    [
        ({"is_replica": True}, "reachable", FAILURE, "read-only replica"),
        ({"round_trip": 0.025}, "reachable", WARNING, "25.0 ms"),
        ({"version": (6, 0, 16)}, "version", FAILURE, "Redis 6.0.16"),
        ({"version": (6, 2)}, "version", OK, "Redis 6.2"),
        ({"version": (10, 0, 0)}, "version", OK, "Redis 10.0.0"),
        ({"product": "Valkey", "version": (8, 1, 0)}, "version", OK, "Valkey 8.1.0"),
        ({"version": ()}, "version", FAILURE, "(unknown version)"),
        ({"is_append_only": False}, "persistence", WARNING, "no append-only file"),
        ({"appendfsync": "no"}, "persistence", WARNING, "30 s"),
        ({"appendfsync": "everysec"}, "persistence", WARNING, "a crash on a busy disk the last two"),
        ({"syncs_in_rewrites": False}, "persistence", WARNING, "except during rewrites"),
        ({"can_write": False}, "persistence", FAILURE, "can't be written"),
        ({"appendfsync": ""}, "persistence", OK, "unknown"),
        ({"maxmemory": 2_400_000}, "memory", OK, "1.2 MB of 2.4 MB used"),
        ({"maxmemory": 1_300_000}, "memory", WARNING, "1.2 MB of 1.3 MB used"),
        ({"maxmemory": 1_200_000}, "memory", FAILURE, "it refuses writes, so it accepts no messages"),
        ({"policy": "allkeys-lru"}, "maxmemory-policy", WARNING, "harmless while maxmemory isn't set"),
        ({"policy": "volatile-ttl", "maxmemory": 1_200_000}, "maxmemory-policy", FAILURE, "evicts sessions"),
        ({"policy": "noeviction", "maxmemory": 2_400_000}, "maxmemory-policy", OK, "noeviction"),
        ({"replicas": 0, "confirming": 0}, "replicas", OK, "none"),
        ({"confirming": 0}, "replicas", WARNING, "none of them confirms"),
        ({"owner": None}, "namespace", OK, "is free"),
        ({"owner": ("T1", "UOTHER")}, "namespace", FAILURE, "bot UOTHER in workspace T1, not to this one"),
        ({"owner": ("T2", "UBOT")}, "namespace", FAILURE, "in workspace T2, not to this one"),
    ],
)
def test_each_fact_of_redis_is_judged_by_itself(change: dict[str, Any], what: str, state: State, says: str) -> None:
    rows = {row.what: row for row in condition_rows(replace(HEALTHY, **change), "bridge", US)}

    assert rows[what].state == state
    assert says in rows[what].detail
    assert bool(rows[what].cure) is (state != OK)
    assert {row.state for name, row in rows.items() if name != what} == {OK}


def test_a_wipe_is_a_warning_with_a_next_step() -> None:
    wipe = Wipe(datetime(2026, 11, 22, 9, tzinfo=UTC), "3 schedules, 2 alerts")

    row = condition_rows(replace(HEALTHY, wipe=wipe), "bridge", US)[-1]

    assert (row.what, row.state) == ("data", WARNING)
    assert "wiped before 2026-11-22T09:00:00Z. Gone: 3 schedules, 2 alerts" in row.detail
    assert "docs/how-to/back-up-and-restore.md" in row.cure


def test_without_an_identity_the_namespace_stays_open() -> None:
    namespace = condition_rows(HEALTHY, "bridge", None)[-1]

    assert namespace.state == WARNING
    assert "belongs to bot UBOT" in namespace.detail


async def test_the_token_of_an_org_wide_install_says_what_to_install(
    emulated: EmulatedSlack, slack_web: SlackWeb
) -> None:
    said = '{"ok": true, "team": "Acme", "team_id": "E1", "user": "helper", "user_id": "UBOT", "bot_id": "B1"'
    answer = Http(200, f'{said}, "enterprise_id": "E1", "is_enterprise_install": true}}', greeting().headers)

    rows, _ = await look(emulated, slack_web, answer)

    [refused] = [row for row in rows if row.state is FAILURE]
    assert (refused.what, "one workspace" in refused.detail) == ("bot token", True)
    assert "install the app in the workspace" in refused.cure
