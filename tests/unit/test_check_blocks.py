"""How `bridge check --blocks` interprets Slack's verdict on the layouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from bridge.cli.blocks import validated
from bridge.cli.layouts import Sample
from bridge.cli.rows import FAILURE, OK, Row
from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.playground.emulator.faults import DropBefore, RateLimited
from bridge.slack.api import SlackWeb
from support.slack_fixtures import answers, asked, refused

METHOD = "blocks.validate"
WRONG = {"pointer": "/blocks/0/text", "code": "failed_constraint", "message": "must be less than 3001 characters"}
SAMPLES = (
    Sample("stats.card", "message", {"text": "x", "blocks": []}),
    Sample("stats.card", "message", {"text": "y", "blocks": []}),
    Sample("home.view", "view", {"type": "home", "blocks": []}),
)


class Slept:
    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


async def rows_of(slack_web: SlackWeb, samples: Sequence[Sample] = SAMPLES, slept: Slept | None = None) -> list[Row]:
    return await validated(slack_web, samples, lambda _: None, sleep=slept or Slept())


async def test_accepted_layouts_are_one_row(emulated: EmulatedSlack, slack_web: SlackWeb) -> None:
    (row,) = await rows_of(slack_web)

    assert (row.state, row.detail) == (OK, "Slack accepts all 2 layouts (3 samples)")
    assert [list(one) for one in asked(emulated, METHOD)] == [["message"], ["message"], ["view"]]


@pytest.mark.parametrize("answer", [refused("invalid_message", errors=[WRONG]), {"ok": True, "errors": [WRONG]}])
async def test_a_refused_layout_is_named_with_its_place(
    emulated: EmulatedSlack, slack_web: SlackWeb, answer: dict[str, Any]
) -> None:
    answers(emulated, METHOD, answer, answer, {"ok": True})

    (row,) = await rows_of(slack_web)

    assert (row.what, row.state) == ("stats.card", FAILURE)
    assert row.detail == "/blocks/0/text: must be less than 3001 characters (2 samples)"


async def test_a_refusal_without_a_place_has_slacks_error(emulated: EmulatedSlack, slack_web: SlackWeb) -> None:
    answers(emulated, METHOD, refused("msg_blocks_too_long"), {"ok": True})

    (row,) = await rows_of(slack_web)

    assert row.detail == "msg_blocks_too_long"


async def test_a_rate_limit_is_waited_out_and_slows_later_calls(emulated: EmulatedSlack, slack_web: SlackWeb) -> None:
    slept = Slept()
    answers(emulated, METHOD, {"ok": True}, RateLimited(7), {"ok": True})

    (row,) = await rows_of(slack_web, slept=slept)

    assert row.state == OK
    assert slept.seconds == [0, 0, 7, 0.5, 0.5]


@pytest.mark.parametrize(
    ("answer", "says", "calls"),
    [
        (refused("unknown_method"), "rejected by Slack (unknown_method), after 0 of 3", 1),
        (RateLimited(60), "Slack is rate-limiting this app, after 0 of 3", 5),
        (DropBefore(), "sent an unexpected response", 1),
    ],
)
async def test_an_unanswered_call_is_a_failure(
    emulated: EmulatedSlack, slack_web: SlackWeb, answer: Any, says: str, calls: int
) -> None:
    answers(emulated, METHOD, answer)

    (row,) = await rows_of(slack_web)

    assert (row.what, row.state) == ("validated", FAILURE)
    assert says in row.detail
    assert len(asked(emulated, METHOD)) == calls


async def test_a_bad_token_is_reported_before_any_call(emulated: EmulatedSlack, slack_web: SlackWeb) -> None:
    answers(emulated, "auth.test", refused("invalid_auth"))

    (row,) = await rows_of(slack_web)

    assert (row.what, row.state) == ("bot token", FAILURE)
    assert asked(emulated, METHOD) == []
