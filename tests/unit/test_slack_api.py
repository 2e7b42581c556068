"""What a call of the Web API can come to, at the socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from bridge.errors import SlackAmbiguous, SlackError, SlackRefused, SlackUnreachable
from bridge.metrics import Metrics
from bridge.slack.api import Identity, SlackWeb, opened, proxy_for
from support.wire_slack import CutOff, Raw, Reaction, WireSlack, limited, refused, wire_slack

METHOD = "chat.postMessage"
TOKEN = "xoxb-a-token"


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
async def web(slack: WireSlack, metrics: Metrics) -> AsyncIterator[SlackWeb]:
    async with opened(slack.api, TOKEN, metrics) as web:
        yield web


async def test_a_call_sends_json_with_the_token_and_leaves_out_what_is_none(slack: WireSlack, web: SlackWeb) -> None:
    assert await web.call("views.open", {"view": {"a": 1}, "nothing": None}) == {"ok": True}

    assert slack.asked == [("views.open", {"view": {"a": 1}})]
    assert slack.authorizations == [f"Bearer {TOKEN}"]


async def test_reading_sends_a_query(slack: WireSlack, web: SlackWeb) -> None:
    await web.read("users.info", {"user": "U1"})

    assert slack.asked == [("users.info", {"user": "U1"})]


@pytest.mark.parametrize(("off", "followed"), [(-600, -600), (86_400, 86_400), (12, 0), (None, 0)])
async def test_a_wrong_clock_follows_slacks_as_soon_as_slack_answers(
    slack: WireSlack, web: SlackWeb, off: int | None, followed: int
) -> None:
    said = "then" if off is None else format_datetime(datetime.now(UTC) + timedelta(seconds=off), usegmt=True)
    slack.script["auth.test"] = [Raw('{"ok": true}', headers={"Date": said})]

    await web.call("auth.test", {})

    assert abs(web.now() - datetime.now(UTC) - timedelta(seconds=followed)) < timedelta(seconds=3)


AMBIGUOUS: dict[str, Reaction] = {
    "cut off after the request": CutOff(),
    "500": Raw("oops", 500),
    "503": Raw('{"ok": false}', 503),
    "HTML": Raw("<html>welcome</html>"),
    "nothing": Raw(""),
    "a list": Raw("[]"),
    "a number": Raw("1"),
    "not UTF-8": Raw(b'{"ok": "\xff"}', content_type="application/json"),
    "no ok": Raw("{}"),
    "ok that is not true": Raw('{"ok": "yes"}'),
    "neither ok nor error": Raw('{"ok": false}'),
    "Slack's own failure": Raw('{"ok": false, "error": "internal_error"}'),
    "may have been done": Raw('{"ok": false, "error": "fatal_error"}'),
}


@pytest.mark.parametrize("reaction", AMBIGUOUS.values(), ids=AMBIGUOUS.keys())
async def test_an_answer_that_says_nothing_leaves_the_outcome_open(
    slack: WireSlack, web: SlackWeb, metrics: Metrics, reaction: Reaction
) -> None:
    slack.script["auth.test"] = [reaction]

    with pytest.raises(SlackAmbiguous):
        await web.call("auth.test", {})

    assert slack.methods() == ["auth.test"]  # and it was not repeated
    assert 'bridge_slack_calls_total{method="auth.test",outcome="ambiguous"} 1.0' in metrics.exposition().decode()


async def test_a_connection_that_was_kept_alive_and_dies_does_not_repeat_a_post(
    slack: WireSlack, web: SlackWeb
) -> None:
    slack.script["auth.test"] = [{"ok": True}, CutOff()]
    await web.call("auth.test", {})

    with pytest.raises(SlackAmbiguous):
        await web.call("auth.test", {})

    assert len(slack.asked) == 2


async def test_no_answer_in_time_leaves_the_outcome_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        async with opened(f"http://127.0.0.1:{silent.getsockname()[1]}/api/", TOKEN, Metrics()) as quiet_web:
            with pytest.raises(SlackAmbiguous):
                await quiet_web.call(METHOD, {}, seconds=0.05)


async def test_where_no_connection_was_made_nothing_was_sent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as once:
        port = once.getsockname()[1]
    async with opened(f"http://127.0.0.1:{port}/api/", TOKEN, Metrics()) as web:
        with pytest.raises(SlackUnreachable) as caught:
            await web.call(METHOD, {})
    assert caught.value.retry_after is None


async def test_tls_that_does_not_come_about_sends_nothing(slack: WireSlack) -> None:
    async with opened(slack.api.replace("http:", "https:"), TOKEN, Metrics()) as web:
        with pytest.raises(SlackUnreachable):
            await web.call(METHOD, {})
    assert slack.asked == []


@pytest.mark.parametrize(
    ("said", "seconds"), [("7", 7), ("0", 0), ("", 1), ("soon", 1), ("-3", 1), ("²", 1), ("999999", 3600)]
)
async def test_a_429_says_when_to_come_back(slack: WireSlack, web: SlackWeb, said: str, seconds: int) -> None:
    slack.script[METHOD] = [limited(said)]

    with pytest.raises(SlackUnreachable) as caught:
        await web.call(METHOD, {})

    assert caught.value.retry_after == timedelta(seconds=seconds)


async def test_a_refusal_has_slacks_word_and_the_scope_it_wants(slack: WireSlack, web: SlackWeb) -> None:
    slack.script[METHOD] = [refused("missing_scope", needed="chat:write", provided="none")]

    with pytest.raises(SlackRefused) as caught:
        await web.call(METHOD, {"text": "what a person wrote"})

    assert (caught.value.method, caught.value.error, caught.value.needed) == (METHOD, "missing_scope", "chat:write")
    assert "person" not in str(caught.value)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_the_token_follows_no_redirect(slack: WireSlack, web: SlackWeb, status: int) -> None:
    async with wire_slack() as elsewhere:
        slack.script[METHOD] = [Raw(status=status, headers={"Location": f"{elsewhere.api}chat.postMessage"})]

        with pytest.raises(SlackRefused) as caught:
            await web.call(METHOD, {"text": "private"})
        with pytest.raises(Exception, match=str(status)):  # Bolt's client, on the same session
            await web.client.chat_postMessage(channel="C1", text="private")

        assert elsewhere.asked == []
    assert caught.value.error == f"http_{status}"


async def test_who_we_are(slack: WireSlack, web: SlackWeb) -> None:
    answer = {"ok": True, "team_id": "T1", "user_id": "UBOT", "bot_id": "B1", "enterprise_id": None}
    slack.script["auth.test"] = [
        Raw(json.dumps(answer), headers={"X-OAuth-Scopes": "chat:write,files:write, users:read"})
    ]

    assert await web.auth_test() == Identity(
        team="T1",
        enterprise="",
        bot_user="UBOT",
        bot_id="B1",
        scopes=frozenset({"chat:write", "files:write", "users:read"}),
    )


@pytest.mark.parametrize(
    ("message", "is_ours"),
    [
        ({"bot_id": "B1", "user": "UBOT"}, True),
        ({"bot_id": "B1"}, True),
        ({"user": "UBOT"}, True),
        ({"bot_id": "B2", "user": "UBOT"}, False),
        ({"user": "U1"}, False),
        ({}, False),
    ],
)
def test_only_our_own_messages_are_ours(message: dict[str, Any], *, is_ours: bool) -> None:
    identity = Identity(team="T1", enterprise="", bot_user="UBOT", bot_id="B1")

    assert identity.wrote(message) is is_ours


@pytest.mark.parametrize(
    ("reaction", "error"),
    [
        (Raw("used_url", 404), "used_url"),
        (Raw("expired_url", 404), "expired_url"),
        (refused("invalid_blocks"), "invalid_blocks"),
        (Raw('{"ok": false, "error": "invalid_blocks"}', 400), "invalid_blocks"),
        (Raw("<html>No.</html>", 403), "http_403"),
    ],
)
async def test_a_response_url_says_why_not(slack: WireSlack, web: SlackWeb, reaction: Reaction, error: str) -> None:
    slack.script["the_response_url"] = [reaction]

    with pytest.raises(SlackRefused) as caught:
        await web.respond(f"{slack.api}the_response_url", {"text": "hello"})

    assert caught.value.error == error


@pytest.mark.parametrize("reaction", [Raw("ok"), Raw(""), {"ok": True}])
async def test_a_response_url_takes_a_message_without_seeing_the_token(
    slack: WireSlack, web: SlackWeb, reaction: Reaction
) -> None:
    slack.script["the_response_url"] = [reaction]

    await web.respond(f"{slack.api}the_response_url", {"text": "hello"})

    assert slack.asked == [("the_response_url", {"text": "hello"})]
    assert slack.authorizations == [""]


async def test_a_file_goes_up_without_the_token_too(slack: WireSlack, web: SlackWeb) -> None:
    slack.script["the_upload"] = [Raw("OK - 5")]

    await web.upload(f"{slack.api}the_upload", b"bytes")

    assert slack.asked == [("the_upload", {"bytes": b"bytes"})]
    assert slack.authorizations == [""]


async def test_a_hundred_calls_at_once_are_all_made(slack: WireSlack, web: SlackWeb) -> None:
    await asyncio.gather(*(web.call(METHOD, {"text": str(number), "channel": "C1"}) for number in range(100)))

    assert sorted(int(text) for text in slack.texts()) == list(range(100))


async def test_every_end_of_a_call_is_counted(slack: WireSlack, web: SlackWeb, metrics: Metrics) -> None:
    slack.script[METHOD] = [{"ok": True}, refused("not_in_channel"), limited(1)]

    for _ in range(3):
        with contextlib.suppress(SlackError):
            await web.call(METHOD, {})

    exposed = metrics.exposition().decode()
    for outcome in ("ok", "refused", "rate_limited"):
        assert f'bridge_slack_calls_total{{method="{METHOD}",outcome="{outcome}"}} 1.0' in exposed


@pytest.mark.parametrize(
    ("environment", "url", "proxy"),
    [
        ({}, "https://slack.com/api/", None),
        ({"https_proxy": "http://proxy:8080"}, "https://slack.com/api/", "http://proxy:8080"),
        ({"http_proxy": "http://proxy:8080"}, "https://slack.com/api/", None),
        ({"https_proxy": "http://proxy:8080", "no_proxy": "slack.com"}, "https://slack.com/api/", None),
        ({"http_proxy": "http://proxy:8080", "no_proxy": "127.0.0.1"}, "http://127.0.0.1:1/api/", None),
    ],
)
def test_the_environments_proxy_is_used(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], url: str, proxy: str | None
) -> None:
    for name in ("http_proxy", "https_proxy", "no_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)

    assert proxy_for(url) == proxy
