"""Possible results of a Web API call, at the socket."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from yarl import URL

from bridge.errors import SlackAmbiguous, SlackError, SlackRefused, SlackUnreachable
from bridge.metrics import Metrics
from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.playground.emulator.faults import DropBefore, Http
from bridge.playground.emulator.sample import ALICE, GENERAL
from bridge.slack.api import Identity, SlackWeb, opened
from bridge.slack.blockkit import kit
from support.secrecy import BOT_TOKEN
from support.slack_fixtures import Answer, answers, asked, limited, methods, refused
from support.tables import each

METHOD = "chat.postMessage"


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
async def web(emulated: EmulatedSlack, metrics: Metrics) -> AsyncIterator[SlackWeb]:
    async with opened(emulated.api_url, BOT_TOKEN, metrics) as web:
        yield web


async def test_a_call_sends_json_with_the_token_and_omits_none(emulated: EmulatedSlack, web: SlackWeb) -> None:
    view = {"type": "home", "blocks": []}

    assert (await web.call("views.publish", {"user_id": ALICE, "view": view, "nothing": None}))["ok"] is True

    (call,) = emulated.calls
    assert (call.method, call.args, call.token_ok) == ("views.publish", {"user_id": ALICE, "view": view}, True)


async def test_a_command_that_a_text_names_is_sent_with_the_prefix(emulated: EmulatedSlack, web: SlackWeb) -> None:
    web.command_prefix = "acme-"
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": f"Type {kit.command('/agents')} or /agents."}}]

    await web.call("views.publish", {"user_id": ALICE, "view": {"type": "home", "blocks": blocks}})

    (call,) = emulated.calls
    assert call.args["view"]["blocks"][0]["text"]["text"] == "Type /acme-agents or /agents."


@pytest.mark.parametrize(("off", "followed"), [(-600, -600), (86_400, 86_400), (12, 0), (None, 0)])
async def test_a_wrong_clock_is_corrected_by_slacks_first_answer(
    emulated: EmulatedSlack, web: SlackWeb, off: int | None, followed: int
) -> None:
    said = "then" if off is None else format_datetime(datetime.now(UTC) + timedelta(seconds=off), usegmt=True)
    answers(emulated, "auth.test", Http(200, '{"ok": true}', {"Date": said}))

    await web.call("auth.test", {})

    assert abs(web.now() - datetime.now(UTC) - timedelta(seconds=followed)) < timedelta(seconds=3)


async def test_slack_is_asked_for_its_clock_at_most_every_ten_seconds(
    emulated: EmulatedSlack, web: SlackWeb, caplog: pytest.LogCaptureFixture
) -> None:
    said = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    answers(emulated, "auth.test", Http(200, '{"ok": false, "error": "account_inactive"}', {"Date": said}))

    known = [await web.ask_clock(), await web.ask_clock()]

    assert known == [True, True]
    assert len(asked(emulated, "auth.test")) == 1
    assert "s behind Slack's" in web.clock.trouble
    assert [record.message for record in caplog.records] == ["this machine's clock is wrong: synchronize it (NTP)"]


@pytest.mark.parametrize(("hours", "times"), [(2, 2), (0, 1)])
async def test_slack_is_asked_again_at_once_only_for_a_time_in_the_future(
    emulated: EmulatedSlack, web: SlackWeb, hours: int, times: int
) -> None:
    """Anybody can repeat an old request, but only Slack can sign a later time."""
    said = format_datetime(datetime.now(UTC) + timedelta(hours=1), usegmt=True)
    answers(emulated, "auth.test", Http(200, '{"ok": true}', {"Date": said}))

    await web.ask_clock()
    await web.ask_clock(int((datetime.now(UTC) + timedelta(hours=hours)).timestamp()))

    assert len(asked(emulated, "auth.test")) == times


@pytest.mark.parametrize("answer", [Http(503), Http(200, '{"ok": true}', {"Date": "then"}), DropBefore()])
async def test_slacks_clock_may_stay_unknown(emulated: EmulatedSlack, web: SlackWeb, answer: Answer) -> None:
    answers(emulated, "auth.test", answer)

    assert not await web.ask_clock()


async def test_each_address_is_called_through_its_proxy(
    emulated: EmulatedSlack, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", emulated.url)
    monkeypatch.setenv("no_proxy", "[fd00::/8],127.0.0.1,direct.invalid")
    async with opened("http://slack.invalid/api/", BOT_TOKEN, metrics) as web:
        await web.call("auth.test", {})
        await web.client.api_call("auth.test")
        for host in ("files.invalid", "direct.invalid"):
            with pytest.raises(SlackError) as caught:
                await web.download(URL(f"http://{host}/files-pri/F1/a.txt"), 100)

    assert [call.method for call in emulated.calls] == ["auth.test", "auth.test", "download"]
    assert isinstance(caught.value, SlackUnreachable)


async def test_a_proxys_exception_is_called_directly(
    emulated: EmulatedSlack, metrics: Metrics, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.0/8")
    async with opened(emulated.api_url, BOT_TOKEN, metrics) as web:
        await web.call("auth.test", {})
        await web.client.api_call("auth.test")


AMBIGUOUS: dict[str, Answer] = {
    "cut off after the request": DropBefore(),
    "500": Http(500, "oops"),
    "503": Http(503, '{"ok": false}'),
    "HTML": Http(200, "<html>welcome</html>"),
    "nothing": Http(200, ""),
    "a list": Http(200, "[]"),
    "a number": Http(200, "1"),
    "too deep": Http(200, '{"ok": true, "deep": ' + "[" * 100 + "]" * 100 + "}"),
    "not UTF-8": Http(200, b'{"ok": "\xff"}'),
    "no ok": Http(200, "{}"),
    "ok that is not true": Http(200, '{"ok": "yes"}'),
    "neither ok nor error": Http(200, '{"ok": false}'),
    "Slack's own failure": Http(200, '{"ok": false, "error": "internal_error"}'),
    "may have been done": Http(200, '{"ok": false, "error": "fatal_error"}'),
}


@pytest.mark.parametrize("reaction", AMBIGUOUS.values(), ids=AMBIGUOUS.keys())
async def test_an_unreadable_answer_leaves_the_outcome_unknown(
    emulated: EmulatedSlack, web: SlackWeb, metrics: Metrics, reaction: Answer
) -> None:
    answers(emulated, "auth.test", reaction)

    with pytest.raises(SlackAmbiguous):
        await web.call("auth.test", {})

    assert methods(emulated) == ["auth.test"]  # no retry
    assert 'bridge_slack_calls_total{method="auth.test",outcome="ambiguous"} 1.0' in metrics.exposition().decode()


async def test_a_dying_kept_alive_connection_does_not_repeat_a_post(emulated: EmulatedSlack, web: SlackWeb) -> None:
    answers(emulated, "auth.test", {"ok": True}, DropBefore())
    await web.call("auth.test", {})

    with pytest.raises(SlackAmbiguous):
        await web.call("auth.test", {})

    assert len(emulated.calls) == 2


async def test_a_timeout_leaves_the_outcome_unknown() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        async with opened(f"http://127.0.0.1:{silent.getsockname()[1]}/api/", BOT_TOKEN, Metrics()) as quiet_web:
            with pytest.raises(SlackAmbiguous):
                await quiet_web.call(METHOD, {}, seconds=0.05)


async def test_without_a_connection_nothing_was_sent() -> None:
    with socket.create_server(("127.0.0.1", 0)) as once:
        port = once.getsockname()[1]
    async with opened(f"http://127.0.0.1:{port}/api/", BOT_TOKEN, Metrics()) as web:
        with pytest.raises(SlackUnreachable) as caught:
            await web.call(METHOD, {})
    assert caught.value.retry_after is None


async def test_failed_tls_sends_nothing(emulated: EmulatedSlack) -> None:
    async with opened(emulated.api_url.replace("http:", "https:"), BOT_TOKEN, Metrics()) as web:
        with pytest.raises(SlackUnreachable):
            await web.call(METHOD, {})
    assert emulated.calls == []


@each(("said", "seconds"), [("7", 7), ("0", 0), ("", 1), ("soon", 1), ("-3", 1), ("²", 1), ("999999", 3600)])
async def test_a_429_says_when_to_retry(emulated: EmulatedSlack, web: SlackWeb, said: str, seconds: int) -> None:
    answers(emulated, METHOD, limited(said))

    with pytest.raises(SlackUnreachable) as caught:
        await web.call(METHOD, {})

    assert caught.value.retry_after == timedelta(seconds=seconds)


async def test_a_refusal_has_slacks_error_and_the_missing_scope(emulated: EmulatedSlack, web: SlackWeb) -> None:
    answers(emulated, METHOD, refused("missing_scope", needed="chat:write", provided="none"))

    with pytest.raises(SlackRefused) as caught:
        await web.call(METHOD, {"text": "what a person wrote"})

    assert (caught.value.method, caught.value.error, caught.value.needed) == (METHOD, "missing_scope", "chat:write")
    assert "person" not in str(caught.value)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_the_token_follows_no_redirect(emulated: EmulatedSlack, web: SlackWeb, status: int) -> None:
    elsewhere = f"{emulated.api_url}chat.meMessage"
    answers(emulated, METHOD, Http(status, "", {"Location": elsewhere}))

    with pytest.raises(SlackRefused) as caught:
        await web.call(METHOD, {"text": "private"})
    with pytest.raises(Exception, match=str(status)):  # Bolt's client, on the same session
        await web.client.chat_postMessage(channel=GENERAL, text="private")

    assert methods(emulated) == [METHOD, METHOD]
    assert caught.value.error == f"http_{status}"


@each(
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


def response_url(emulated: EmulatedSlack) -> str:
    return f"{emulated.url}/response/{emulated.tickets.response(ALICE, GENERAL)}"


@pytest.mark.parametrize(
    ("reaction", "error"),
    [
        (Http(404, "used_url"), "used_url"),
        (Http(404, "expired_url"), "expired_url"),
        (refused("invalid_blocks"), "invalid_blocks"),
        (Http(400, '{"ok": false, "error": "invalid_blocks"}'), "invalid_blocks"),
        (Http(403, "<html>No.</html>"), "http_403"),
    ],
)
async def test_a_response_url_says_why_not(
    emulated: EmulatedSlack, web: SlackWeb, reaction: Answer, error: str
) -> None:
    answers(emulated, "response_url", reaction)

    with pytest.raises(SlackRefused) as caught:
        await web.respond(response_url(emulated), {"text": "hello"})

    assert caught.value.error == error


@pytest.mark.parametrize("reaction", [Http(200, "ok"), Http(200, ""), {"ok": True}])
async def test_a_response_url_gets_the_message_without_the_token(
    emulated: EmulatedSlack, web: SlackWeb, reaction: Answer
) -> None:
    answers(emulated, "response_url", reaction)

    await web.respond(response_url(emulated), {"text": "hello"})

    assert [(call.method, call.args, call.has_token) for call in emulated.calls] == [
        ("response_url", {"text": "hello"}, False)
    ]


async def test_a_file_is_uploaded_without_the_token(emulated: EmulatedSlack, web: SlackWeb) -> None:
    begun = await web.read("files.getUploadURLExternal", {"filename": "a.txt", "length": 5})

    await web.upload(begun["upload_url"], b"bytes")

    assert [one.content for one in emulated.files] == [b"bytes"]
    assert [(call.method, call.has_token) for call in emulated.calls] == [
        ("files.getUploadURLExternal", True),
        ("upload", False),
    ]


async def test_every_end_of_a_call_is_counted(emulated: EmulatedSlack, web: SlackWeb, metrics: Metrics) -> None:
    answers(emulated, METHOD, {"ok": True}, refused("not_in_channel"), limited(1))

    for _ in range(3):
        with contextlib.suppress(SlackError):
            await web.call(METHOD, {})

    exposed = metrics.exposition().decode()
    for outcome in ("ok", "refused", "rate_limited"):
        assert f'bridge_slack_calls_total{{method="{METHOD}",outcome="{outcome}"}} 1.0' in exposed
    assert f'bridge_slack_pause_seconds_total{{method="{METHOD}"}} 1.0' in exposed
