"""What comes in while the bridge still reads its code: messages and commands are taken, the rest waits for its turn."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.types import Receive, Scope, Send

from bridge.metrics import Metrics
from bridge.slack.door import Body, Response, ok
from bridge.slack.front import Listeners, Rest, over_http, over_socket
from bridge.slack.guard import PAYLOAD
from bridge.slack.reading import understand

MESSAGE = {"type": "event_callback", "event": {"type": "message", "text": "hello"}}
COMMAND = {"command": "/stats"}
CLICK = {"type": "block_actions", "actions": [{"action_id": "vote"}]}


class Late:
    """What is there later than the surfaces of messages and commands."""

    async def over_http(self, _scope: Scope, _receive: Receive, _send: Send) -> None:
        raise AssertionError("nothing here comes over HTTP")

    async def over_socket(self, payload: Body) -> Response:
        return ok({"text": payload["actions"][0]["action_id"]})


async def take(_: Body) -> Response:
    return ok()


async def answer(payload: Body) -> Response:
    return ok({"text": payload["command"]})


async def test_messages_and_commands_do_not_wait_and_all_else_does() -> None:
    rest: asyncio.Future[Rest] = asyncio.get_running_loop().create_future()
    dispatch = over_socket(Listeners(take, answer, rest), Metrics())

    click = asyncio.create_task(_dispatched(dispatch("interactive", CLICK)))
    assert await dispatch("events_api", MESSAGE) == {}
    assert await dispatch("slash_commands", COMMAND) == {"text": "/stats"}
    assert not click.done()

    rest.set_result(Late())
    assert await click == {"text": "vote"}


async def test_who_gives_up_waiting_takes_it_from_nobody_else() -> None:
    rest: asyncio.Future[Rest] = asyncio.get_running_loop().create_future()
    dispatch = over_socket(Listeners(take, answer, rest), Metrics())
    hasty, patient = (asyncio.create_task(_dispatched(dispatch("interactive", CLICK))) for _ in range(2))
    await asyncio.sleep(0)

    hasty.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hasty
    rest.set_result(Late())

    assert await patient == {"text": "vote"}


async def test_a_command_that_says_payload_is_a_command_over_http_too() -> None:
    rest: asyncio.Future[Rest] = asyncio.get_running_loop().create_future()
    form = {"command": "/workflows", "text": "run 3 the payload"}
    read = understand(urlencode(form).encode(), b"application/x-www-form-urlencoded").payload
    answered: list[Any] = []

    async def send(said: Any) -> None:
        answered.append(said)

    await over_http(Listeners(take, answer, rest))({"type": "http", "headers": [], PAYLOAD: read}, _nothing_more, send)

    assert (b"content-type", b"application/json") in answered[0]["headers"]
    assert json.loads(answered[1]["body"]) == {"text": "/workflows"}


async def _nothing_more() -> Any:
    raise AssertionError("the guard has read all of it")


async def _dispatched(dispatching: Any) -> Any:
    return await dispatching
