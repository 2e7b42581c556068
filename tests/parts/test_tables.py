"""The tests' own helpers."""

from __future__ import annotations

from typing import Any

import pytest
from redis.asyncio import Redis

from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.playground.emulator.faults import RateLimited
from bridge.slack.api import SlackWeb
from support.layouts import Payload
from support.lifetimes import keys_without_lifetime
from support.slack_fixtures import answers, refused
from support.tables import each
from support.validate_blocks import problems


def test_every_row_that_fails_is_named() -> None:
    @each(("number", "square"), [(1, 1), (2, 5), (3, 9), (4, 15)])
    def check(number: int, square: int) -> None:
        assert number**2 == square

    with pytest.raises(BaseExceptionGroup) as failed:
        check()

    assert [one.__notes__ for one in failed.value.exceptions] == [["row: (2, 5)"], ["row: (4, 15)"]]


async def test_only_unlisted_keys_without_a_lifetime_are_found(redis: Redis) -> None:
    await redis.set("{b}:brief", "1", ex=60)
    await redis.set("{b}:owner", "1")
    await redis.set("{b}:forgotten", "1")

    assert await keys_without_lifetime(redis) == ["{b}:forgotten"]
    await redis.flushdb()


WRONG = {"pointer": "/blocks/0/text", "code": "failed_constraint", "message": "must be less than 3001 characters"}
PAYLOADS = [Payload("stats.card", "message", {"text": text, "blocks": []}) for text in ("x", "y")]


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (refused("invalid_message", errors=[WRONG]), "stats.card: /blocks/0/text: must be less than 3001 characters"),
        ({"ok": True, "errors": [WRONG]}, "stats.card: /blocks/0/text: must be less than 3001 characters"),
        (refused("msg_blocks_too_long"), "stats.card: msg_blocks_too_long"),
    ],
)
async def test_a_rejected_layout_is_named_once(
    emulated: EmulatedSlack, slack_web: SlackWeb, answer: dict[str, Any], found: str
) -> None:
    answers(emulated, "blocks.validate", RateLimited(0), answer, answer)

    assert await problems(slack_web, PAYLOADS) == [found]
