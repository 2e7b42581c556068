"""Slack's verdict on the layouts."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.playground.emulator.faults import RateLimited
from bridge.slack.api import SlackWeb
from support.layouts import Sample
from support.slack_fixtures import answers, refused
from support.validate_blocks import problems

WRONG = {"pointer": "/blocks/0/text", "code": "failed_constraint", "message": "must be less than 3001 characters"}
SAMPLES = [Sample("stats.card", "message", {"text": text, "blocks": []}) for text in ("x", "y")]


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

    assert await problems(slack_web, SAMPLES) == [found]
