"""Socket Mode in the emulated Slack, driven by Slack's own client."""

from collections.abc import AsyncIterator

import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bridge.playground.emulator import EmulatedSlack, sample
from support.slack_app import SECRET, TOKEN, refusal
from support.socket_app import APP_TOKEN, SocketApp, connected, envelopes
from support.waiting import wait_until

BUTTON = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}}
MENU = {"type": "external_select", "action_id": "ask", "min_query_length": 0}
OPTION = {"text": {"type": "plain_text", "text": "One"}, "value": "one"}


@pytest.fixture
async def slack() -> AsyncIterator[EmulatedSlack]:
    async with EmulatedSlack(
        signing_secret=SECRET, bot_token=TOKEN, app_token=APP_TOKEN, retry_delays=(0.0, 0.05, 0.1), ack_seconds=0.5
    ) as slack:
        slack.use_sockets = True
        slack.events.echoes_own = False
        yield slack


@pytest.fixture
async def app(slack: EmulatedSlack) -> AsyncIterator[SocketApp]:
    async with connected(slack) as (app,):
        yield app


@pytest.mark.parametrize(
    ("token", "error"), [(TOKEN, "not_allowed_token_type"), ("xapp-wrong", "invalid_auth"), ("", "not_authed")]
)
async def test_only_an_app_level_token_opens_a_socket(slack: EmulatedSlack, token: str, error: str) -> None:
    client = AsyncWebClient(base_url=slack.api_url)

    assert (await refusal(client.apps_connections_open(app_token=token)))["error"] == error


async def test_an_app_level_token_works_for_no_other_method(slack: EmulatedSlack) -> None:
    client = AsyncWebClient(APP_TOKEN, base_url=slack.api_url)

    assert (await refusal(client.auth_test()))["error"] == "not_allowed_token_type"


async def test_hello_has_the_number_of_connections(slack: EmulatedSlack) -> None:
    async with connected(slack, 2) as (first, second):
        hellos = [first.messages[0], second.messages[0]]

        assert [one["type"] for one in hellos] == ["hello", "hello"]
        assert [one["num_connections"] for one in hellos] == [1, 2]
        assert hellos[0]["connection_info"] == {"app_id": sample.APP}
        assert hellos[0]["debug_info"]["approximate_connection_time"] > 0
        assert len(slack.sockets) == 2


async def test_envelopes_alternate_between_two_connections(slack: EmulatedSlack) -> None:
    async with connected(slack, 2) as (first, second):
        for number in range(4):
            await slack.people.say(sample.ALICE, sample.GENERAL, str(number))

        assert (first.texts, second.texts) == (["0", "2"], ["1", "3"])
        assert [len(envelopes(one)) for one in slack.sockets] == [2, 2]


async def test_a_commands_ack_payload_is_shown_to_its_author(slack: EmulatedSlack, app: SocketApp) -> None:
    app.answer = lambda _: {"text": "done"}

    delivery = await slack.ui.command(sample.ALICE, sample.NOBOT, "/workflows", "run 3 & more")

    (envelope,) = app.envelopes
    assert (envelope.type, envelope.accepts_response_payload) == ("slash_commands", True)
    assert (envelope.payload["command"], envelope.payload["text"]) == ("/workflows", "run 3 &amp; more")
    assert envelope.retry_attempt is None
    assert (delivery.is_acked, delivery.json) == (True, {"text": "done"})
    assert [one.text for one in slack.ephemerals(sample.ALICE)] == ["done"]


async def test_an_ack_can_carry_menu_options_but_no_response_to_a_click(slack: EmulatedSlack, app: SocketApp) -> None:
    client = AsyncWebClient(TOKEN, base_url=slack.api_url)
    blocks = [{"type": "actions", "elements": [BUTTON, MENU]}]
    ts = (await client.chat_postMessage(channel=sample.GENERAL, text="x", blocks=blocks))["ts"]
    app.answer = lambda _: {"options": [OPTION]}

    options = await slack.ui.suggestions(sample.ALICE, slack.messages(sample.GENERAL)[-1], "ask", "o")
    click = await slack.ui.click(sample.ALICE, sample.GENERAL, ts, "go")

    assert options == [OPTION]
    assert [one.accepts_response_payload for one in app.envelopes] == [True, False]
    assert (click.is_acked, click.body) == (True, "")


async def test_an_unacknowledged_event_is_retried_on_another_connection(slack: EmulatedSlack) -> None:
    async with connected(slack, 2) as (first, second):
        first.is_deaf = True

        await slack.people.say(sample.ALICE, sample.GENERAL, "hello")
        await slack.settled()

        assert [one.error for one in slack.deliveries] == ["timeout", ""]
        (lost,), (taken,) = first.envelopes, second.envelopes
        assert (taken.retry_attempt, taken.retry_reason) == (1, "timeout")
        assert taken.payload["event_id"] == lost.payload["event_id"]
        assert taken.envelope_id != lost.envelope_id


async def test_an_unacknowledged_event_is_dropped_after_three_retries(slack: EmulatedSlack, app: SocketApp) -> None:
    app.is_deaf = True

    await slack.people.say(sample.ALICE, sample.GENERAL, "hello")
    await slack.settled()

    assert [one.retry_attempt for one in app.envelopes] == [0, 1, 2, 3]


async def test_an_unacknowledged_command_fails_and_isnt_retried(slack: EmulatedSlack, app: SocketApp) -> None:
    app.is_deaf = True

    delivery = await slack.ui.command(sample.ALICE, sample.GENERAL, "/stats")
    await slack.settled()

    assert (delivery.is_acked, delivery.error, len(app.envelopes)) == (False, "timeout", 1)
    assert 450 <= delivery.ms < 2000


async def test_without_a_connection_commands_fail_and_events_wait(slack: EmulatedSlack) -> None:
    command = await slack.ui.command(sample.ALICE, sample.GENERAL, "/stats")
    await slack.people.say(sample.ALICE, sample.GENERAL, "kept")
    assert (command.is_acked, command.error) == (False, "connection_failed")

    async with connected(slack) as (app,):
        await slack.settled()

        assert app.texts == ["kept"]
        assert app.envelopes[0].retry_attempt == 1
        assert len(app.envelopes) == 1


@pytest.mark.parametrize("closes_after", [0.0, 10.0])
@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
async def test_a_client_asked_to_reconnect_misses_nothing(
    slack: EmulatedSlack, app: SocketApp, reason: str, closes_after: float
) -> None:
    (old,) = slack.sockets

    await slack.socket_mode.disconnect(reason, closes_after=closes_after)
    await wait_until(lambda: not old.is_open and slack.sockets, "a new connection has replaced the old one")
    await slack.people.say(sample.ALICE, sample.GENERAL, "after")
    await slack.settled()

    assert old.sent[-1]["reason"] == reason
    assert slack.deliveries[-1].is_acked
    assert slack.deliveries[-1].socket > old.number
    assert set(app.texts) == {"after"}


async def test_an_event_in_flight_on_a_broken_connection_is_retried(slack: EmulatedSlack, app: SocketApp) -> None:
    app.is_deaf = True
    await slack.people.say(sample.ALICE, sample.GENERAL, "hello", wait=False)
    await wait_until(lambda: app.envelopes, "the first attempt arrives")
    app.is_deaf = False

    slack.socket_mode.cut()
    await slack.settled()

    assert [one.error for one in slack.deliveries] == ["connection_failed", ""]
    assert app.texts == ["hello", "hello"]


async def test_the_request_url_is_used_while_socket_mode_is_off(slack: EmulatedSlack, app: SocketApp) -> None:
    slack.use_sockets = False

    delivery = await slack.ui.command(sample.ALICE, sample.GENERAL, "/stats")

    assert (delivery.socket, delivery.error) == (0, "connection_failed")
    assert app.envelopes == []
