"""What a check says of Slack, against answers of every kind on a real socket."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from bridge.metrics import Metrics
from bridge.ops.rows import Row, State
from bridge.ops.slack_rows import app_token_row, bot_rows, secret_row
from bridge.slack.api import Identity, SlackWeb, opened
from bridge.slack.scopes import SCOPES, USER_GROUPS
from support.wire_slack import Raw, Reaction, WireSlack, limited, refused

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ALL_SCOPES = tuple(scope.name for scope in SCOPES)


def greeting(*, granted: Sequence[str] = ALL_SCOPES, at: datetime | None = NOW) -> Raw:
    """Answer ``auth.test`` with these scopes, at this time of Slack's."""
    body = '{"ok": true, "team": "Acme", "team_id": "T1", "user": "helper", "user_id": "UBOT", "bot_id": "B1"}'
    headers = {"x-oauth-scopes": ",".join(granted), "Date": format_datetime(at) if at else "then"}
    return Raw(body, 200, headers, "application/json")


async def look(
    slack: WireSlack, web: SlackWeb, answer: Reaction, *, required: Sequence[str] = (), uses_http: bool = True
) -> tuple[list[Row], Identity | None]:
    slack.script["auth.test"] = [answer]
    return await bot_rows(web, now=lambda: NOW, required_scopes=required, uses_http=uses_http)


def row_of(rows: Sequence[Row], what: str) -> Row:
    return next(row for row in rows if row.what == what)


async def test_a_good_token_shows_whose_it_is(slack: WireSlack, web: SlackWeb) -> None:
    rows, identity = await look(slack, web, greeting())

    assert row_of(rows, "bot token") == Row("Slack", "bot token", State.OK, "bot “helper” (UBOT) in “Acme” (T1)")
    assert [row.state for row in rows] == [State.OK] * 3
    assert identity is not None
    assert identity.bot_user == "UBOT"


@pytest.mark.parametrize(
    ("answer", "says", "cure"),
    [
        (refused("invalid_auth"), "Slack does not accept it (invalid_auth)", "copy SLACK_BOT_TOKEN again"),
        (refused("account_inactive"), "(account_inactive)", "installing the app again"),
        (Raw("<html>Welcome</html>"), "that is not Slack (200, not JSON)", "look at SLACK_API_URL"),
        (Raw("[]", content_type="application/json"), "that is not Slack (200, not of Slack's shape)", "SLACK_API_URL"),
        (Raw("", 302, {"Location": "/sign-in"}), "a redirect (302)", "a proxy that may stand between"),
        (Raw("", 503), "did not answer properly (503)", "slack-status.com"),
        (limited(30), "asks to wait", "wait a minute"),
    ],
)
async def test_what_is_wrong_with_the_token_is_one_row_with_its_cure(
    slack: WireSlack, web: SlackWeb, answer: Reaction, says: str, cure: str
) -> None:
    rows, identity = await look(slack, web, answer)

    assert [(row.what, row.state) for row in rows] == [("bot token", State.FAILURE)]
    assert says in rows[0].detail
    assert cure in rows[0].cure
    assert identity is None


async def test_where_slack_cannot_be_reached_the_way_there_is_to_blame() -> None:
    async with opened("http://127.0.0.1:1/api/", "xoxb-1", Metrics()) as web:
        rows, _ = await bot_rows(web, now=lambda: NOW, required_scopes=(), uses_http=True)

    assert rows[0].detail == "no connection could be made (ClientConnectorError)"
    assert "HTTPS_PROXY" in rows[0].cure


async def test_a_needed_scope_that_is_missing_fails_and_an_optional_one_warns(slack: WireSlack, web: SlackWeb) -> None:
    granted = [name for name in ALL_SCOPES if name not in {"chat:write", "files:write"}]

    rows, _ = await look(slack, web, greeting(granted=granted))

    needed, optional = [row for row in rows if row.what == "scopes"]
    assert (needed.state, optional.state) == (State.FAILURE, State.WARNING)
    assert needed.detail.startswith("chat:write is missing; it is needed to answer")
    assert "bridge manifest" in needed.cure
    assert optional.detail == (
        "files:write is not granted: without it the bot cannot send what is too long for messages as a file"
    )


async def test_an_optional_scope_that_the_settings_use_is_needed(slack: WireSlack, web: SlackWeb) -> None:
    granted = [name for name in ALL_SCOPES if name != USER_GROUPS]

    rows, _ = await look(slack, web, greeting(granted=granted), required=[USER_GROUPS])

    assert row_of(rows, "scopes").state is State.FAILURE


async def test_scopes_that_slack_does_not_tell_are_not_guessed(slack: WireSlack, web: SlackWeb) -> None:
    rows, _ = await look(slack, web, greeting(granted=()))

    assert [(row.what, row.state) for row in rows][1] == ("scopes", State.WARNING)


@pytest.mark.parametrize(
    ("ahead", "uses_http", "state", "says"),
    [
        (timedelta(seconds=60), True, State.OK, "agrees"),
        (timedelta(seconds=61), True, State.WARNING, "61 s ahead of Slack's"),
        (timedelta(seconds=-90), True, State.WARNING, "90 s behind Slack's"),
        (timedelta(seconds=-301), True, State.FAILURE, "301 s behind Slack's; beyond 300 s every request"),
        (timedelta(seconds=-301), False, State.WARNING, "301 s behind Slack's"),
    ],
)
async def test_the_clock_is_compared_with_slacks(
    slack: WireSlack, web: SlackWeb, *, ahead: timedelta, uses_http: bool, state: State, says: str
) -> None:
    rows, _ = await look(slack, web, greeting(at=NOW - ahead), uses_http=uses_http)

    clock = row_of(rows, "clock")
    assert clock.state is state
    assert clock.detail.startswith(says)


async def test_an_answer_without_a_date_says_nothing_of_the_clock(slack: WireSlack, web: SlackWeb) -> None:
    rows, _ = await look(slack, web, greeting(at=None))

    assert row_of(rows, "clock").state is State.WARNING


async def test_a_good_app_token_is_asked_for_an_address_and_no_socket_is_opened(
    slack: WireSlack, web: SlackWeb
) -> None:
    slack.script["apps.connections.open"] = [{"ok": True, "url": f"ws{slack.url.removeprefix('http')}/api/link"}]

    row = await app_token_row(web, "xapp-1")

    assert row.state is State.OK
    assert slack.methods() == ["apps.connections.open"]
    assert slack.authorizations == ["Bearer xapp-1"]


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (refused("invalid_auth"), "(invalid_auth)"),
        (refused("missing_scope", needed="connections:write"), "it lacks the scope connections:write"),
    ],
)
async def test_a_bad_app_token_names_the_scope_that_it_needs(
    slack: WireSlack, web: SlackWeb, answer: Reaction, says: str
) -> None:
    slack.script["apps.connections.open"] = [answer]

    row = await app_token_row(web, "xapp-1")

    assert row.state is State.FAILURE
    assert says in row.detail
    assert "connections:write" in row.cure
    assert "Socket Mode" in row.cure


@pytest.mark.parametrize(
    ("secret", "state"),
    [
        ("0123456789abcdef0123456789abcdef", State.OK),
        ("0123456789abcdef0123456789abcde", State.WARNING),
        ("0123456789ABCDEF0123456789ABCDEF", State.WARNING),
    ],
)
def test_a_signing_secret_is_judged_by_its_shape_and_never_shown(secret: str, state: State) -> None:
    row = secret_row(secret)

    assert row.state is state
    assert secret not in row.detail + row.cure
