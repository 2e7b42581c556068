"""What `bridge check --blocks` makes of what Slack says of the layouts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from bridge.cli.blocks import validated
from bridge.cli.layouts import Sample
from bridge.cli.rows import FAILURE, OK, Row
from bridge.slack.api import SlackWeb
from support.wire_slack import CutOff, WireSlack, limited, refused

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


async def rows_of(web: SlackWeb, samples: Sequence[Sample] = SAMPLES, slept: Slept | None = None) -> list[Row]:
    return await validated(web, samples, lambda _: None, sleep=slept or Slept())


async def test_what_slack_takes_is_one_row(slack: WireSlack, web: SlackWeb) -> None:
    (row,) = await rows_of(web)

    assert (row.state, row.detail) == (OK, "Slack takes all 2 layouts, in 3 samples")
    assert [list(asked) for asked in slack.calls(METHOD)] == [["message"], ["message"], ["view"]]


@pytest.mark.parametrize("answer", [refused("invalid_message", errors=[WRONG]), {"ok": True, "errors": [WRONG]}])
async def test_what_slack_would_refuse_is_named_with_its_place(
    slack: WireSlack, web: SlackWeb, answer: dict[str, Any]
) -> None:
    slack.script[METHOD] = [answer, answer, {"ok": True}]

    (row,) = await rows_of(web)

    assert (row.what, row.state) == ("stats.card", FAILURE)
    assert row.detail == "/blocks/0/text: must be less than 3001 characters (2 samples)"


async def test_a_refusal_without_a_place_has_slacks_word(slack: WireSlack, web: SlackWeb) -> None:
    slack.script[METHOD] = [refused("msg_blocks_too_long"), {"ok": True}]

    (row,) = await rows_of(web)

    assert row.detail == "msg_blocks_too_long"


async def test_slacks_limit_is_waited_out_and_slows_what_follows(slack: WireSlack, web: SlackWeb) -> None:
    slept = Slept()
    slack.script[METHOD] = [{"ok": True}, limited(7), {"ok": True}]

    (row,) = await rows_of(web, slept=slept)

    assert row.state == OK
    assert slept.seconds == [0, 0, 7, 0.5, 0.5]


@pytest.mark.parametrize(
    ("answer", "says", "calls"),
    [
        (refused("unknown_method"), "rejected by Slack (unknown_method), after 0 of 3", 1),
        (limited(60), "Slack is rate-limiting this app, after 0 of 3", 5),
        (CutOff(), "sent an unexpected response", 1),
    ],
)
async def test_what_cannot_be_asked_is_a_failure(
    slack: WireSlack, web: SlackWeb, answer: Any, says: str, calls: int
) -> None:
    slack.script[METHOD] = [answer]

    (row,) = await rows_of(web)

    assert (row.what, row.state) == ("validated", FAILURE)
    assert says in row.detail
    assert len(slack.calls(METHOD)) == calls


async def test_a_bad_token_is_told_before_anything_is_asked(slack: WireSlack, web: SlackWeb) -> None:
    slack.script["auth.test"] = [refused("invalid_auth")]

    (row,) = await rows_of(web)

    assert (row.what, row.state) == ("bot token", FAILURE)
    assert slack.calls(METHOD) == []
