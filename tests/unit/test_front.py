"""What comes in while the bridge is still reading its code: messages are taken, everything else waits for its turn."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.types import Receive, Scope, Send

from bridge.metrics import Metrics
from bridge.slack.door import Body, Response, ok
from bridge.slack.front import Listeners, Rest, over_socket

MESSAGE = {"type": "event_callback", "event": {"type": "message", "text": "hello"}}
COMMAND = {"command": "/stats"}


class Late:
    """What is there later than the messages' surface."""

    async def over_http(self, _scope: Scope, _receive: Receive, _send: Send) -> None:
        raise AssertionError("nothing here comes over HTTP")

    async def over_socket(self, payload: Body) -> Response:
        return ok({"text": payload["command"]})


async def take(_: Body) -> Response:
    return ok()


async def test_messages_do_not_wait_and_commands_do() -> None:
    rest: asyncio.Future[Rest] = asyncio.get_running_loop().create_future()
    dispatch = over_socket(Listeners(take, rest), Metrics())

    command = asyncio.create_task(_dispatched(dispatch("slash_commands", COMMAND)))
    assert await dispatch("events_api", MESSAGE) == {}
    assert not command.done()

    rest.set_result(Late())
    assert await command == {"text": "/stats"}


async def test_who_gives_up_waiting_takes_it_from_nobody_else() -> None:
    rest: asyncio.Future[Rest] = asyncio.get_running_loop().create_future()
    dispatch = over_socket(Listeners(take, rest), Metrics())
    hasty, patient = (asyncio.create_task(_dispatched(dispatch("slash_commands", COMMAND))) for _ in range(2))
    await asyncio.sleep(0)

    hasty.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hasty
    rest.set_result(Late())

    assert await patient == {"text": "/stats"}


async def _dispatched(dispatching: Any) -> Any:
    return await dispatching
