"""Which repetition by Slack a payload is: an envelope says so, or a header, which stands in the payload then."""

from __future__ import annotations

import pytest

from bridge.inbound import InboundMessage
from bridge.listeners.messages import parse
from bridge.slack.api import Identity
from bridge.slack.payloads import RETRY, retry_of

US = Identity("T1", "", "UBOT", "B1")


@pytest.mark.parametrize(
    ("value", "expected"), [(None, 0), (0, 0), (2, 2), ("3", 3), ("", 0), ("many", 0), ([], 0), ({}, 0)]
)
def test_it_is_read_from_whatever_stands_there(value: object, expected: int) -> None:
    assert retry_of({RETRY: value}) == expected


def test_a_payload_that_says_nothing_comes_for_the_first_time() -> None:
    assert retry_of({}) == 0


def test_a_message_knows_which_repetition_it_came_with() -> None:
    event = {"type": "message", "user": "U1", "channel": "C1", "ts": "1700000000.000100", "text": "hello"}

    message = parse({"event": event, "event_id": "Ev1", RETRY: 2}, US)

    assert isinstance(message, InboundMessage)
    assert (message.event_id, message.retry) == ("Ev1", 2)
