"""The Bolt app over a socket: what breaks inside ends nothing."""

from __future__ import annotations

import pytest
from slack_bolt.async_app import AsyncApp
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from bridge.listeners.app import over_socket
from bridge.metrics import Metrics

MESSAGE = {"type": "event_callback", "event": {"type": "message", "text": "hello"}}


class Broken(AsyncApp):
    def __init__(self) -> None:
        """Need nothing that an app needs."""

    async def async_dispatch(self, req: AsyncBoltRequest) -> BoltResponse:
        raise TypeError(req.body["type"])


async def test_an_envelope_that_breaks_inside_is_not_acknowledged_and_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    metrics = Metrics()

    answer = await over_socket(Broken(), metrics)("events_api", MESSAGE)

    assert answer is None
    assert b'bridge_rejected_requests_total{reason="broken_inside"} 1.0' in metrics.exposition()
    assert [record.message for record in caplog.records] == ["an envelope broke inside"]
