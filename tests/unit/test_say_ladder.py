"""Where Slack refuses blocks: plainer forms, nothing lost, and not tried again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bridge.errors import SlackRefused
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Block, Reply
from bridge.slack.post import ExistingParts, Recipient, Say
from support.saying import HERE, MARK, answer
from support.wire_slack import CutOff, Json, WireSlack, refused

CHART: Block = {"type": "data_visualization", "title": "T", "chart": {"type": "pie", "segments": []}}
TABLE: Block = {"type": "data_table", "caption": "T", "rows": []}
TEXT = kit.section("in words")
REPLY = Reply(text="all of it", blocks=(CHART, TABLE), plainer=((TABLE,), (TEXT,)))
WHOM = Recipient("C1", "U1")


def without(*kinds: str, error: str = "invalid_blocks") -> Callable[[Json], Json | CutOff]:
    """Answer as a workspace that does not take these kinds of blocks."""

    def react(asked: Json) -> Json:
        used = {block["type"] for block in asked.get("blocks") or []}
        return refused(error) if used & set(kinds) else {"ok": True, "ts": "1.2"}

    return react


def tried(slack: WireSlack, method: str = "chat.postMessage") -> list[list[str]]:
    return [[block["type"] for block in asked.get("blocks") or []] for asked in slack.calls(method)]


async def test_a_workspace_that_takes_charts_gets_them_at_once(slack: WireSlack, say: Say) -> None:
    await say.post(HERE, REPLY, MARK, ExistingParts())

    assert tried(slack) == [["data_visualization", "data_table"]]


async def test_charts_are_tried_once_and_then_left_out(slack: WireSlack, say: Say) -> None:
    slack.script["chat.postMessage"] = [without("data_visualization")]

    for _ in range(3):
        await say.post(HERE, REPLY, MARK, ExistingParts())

    assert tried(slack) == [["data_visualization", "data_table"], ["data_table"], ["data_table"], ["data_table"]]
    assert slack.texts() == ["all of it"] * 3


def only_without_metadata(asked: Json) -> Json:
    return refused("metadata_too_large") if asked.get("metadata") else {"ok": True, "ts": "1.2"}


async def test_a_card_whose_metadata_slack_refuses_is_updated_without(slack: WireSlack, say: Say) -> None:
    slack.script["chat.update"] = [only_without_metadata]

    await say.update("C1", "1.1", REPLY, MARK)

    assert [bool(asked.get("metadata")) for asked in slack.calls("chat.update")] == [True, False]


async def test_tables_are_left_out_as_well_where_they_are_refused(slack: WireSlack, say: Say) -> None:
    slack.script["chat.postMessage"] = [without("data_visualization", "data_table")]

    for _ in range(2):
        await say.post(HERE, REPLY, MARK, ExistingParts())

    assert tried(slack) == [["data_visualization", "data_table"], ["data_table"], ["section"], ["section"]]


async def test_what_one_surface_learns_the_others_know(slack: WireSlack, say: Say) -> None:
    slack.script["chat.postEphemeral"] = [without("data_visualization")]
    slack.script["chat.update"] = [without("data_visualization")]

    await say.whisper(WHOM, REPLY)
    await say.update("C1", "5.0", REPLY, MARK)
    await say.post(HERE, REPLY, MARK, ExistingParts())

    assert tried(slack, "chat.postEphemeral") == [["data_visualization", "data_table"], ["data_table"]]
    assert tried(slack, "chat.update") == tried(slack) == [["data_table"]]


async def test_an_update_goes_down_the_ladder(slack: WireSlack, say: Say) -> None:
    slack.script["chat.update"] = [without("data_visualization", "data_table", "section")]

    await say.update("C1", "5.0", REPLY, MARK)

    assert tried(slack, "chat.update") == [["data_visualization", "data_table"], ["data_table"], ["section"], []]
    assert slack.calls("chat.update")[-1]["text"] == "all of it"


async def test_where_no_blocks_are_taken_the_text_says_all_and_nothing_is_concluded(slack: WireSlack, say: Say) -> None:
    no_blocks = without("data_visualization", "data_table", "section")
    slack.script["chat.postMessage"] = [no_blocks, no_blocks, no_blocks, {"ok": True}]

    await say.post(HERE, REPLY, MARK, ExistingParts())
    await say.post(HERE, REPLY, MARK, ExistingParts())

    assert tried(slack)[:4] == [["data_visualization", "data_table"], ["data_table"], ["section"], []]
    assert tried(slack)[4] == ["data_visualization", "data_table"]


async def test_a_message_that_is_only_too_long_does_not_cost_the_charts(slack: WireSlack, say: Say) -> None:
    slack.script["chat.postMessage"] = [without("data_visualization", error="msg_blocks_too_long")]
    await say.post(HERE, REPLY, MARK, ExistingParts())
    slack.script["chat.postMessage"] = [{"ok": True}]

    await say.post(HERE, REPLY, MARK, ExistingParts())

    assert tried(slack) == [["data_visualization", "data_table"], ["data_table"], ["data_visualization", "data_table"]]


async def test_other_refusals_are_no_matter_of_blocks(slack: WireSlack, say: Say) -> None:
    slack.script["chat.postMessage"] = [refused("channel_not_found")]

    with pytest.raises(SlackRefused, match="channel_not_found"):
        await say.post(HERE, REPLY, MARK, ExistingParts())

    assert len(tried(slack)) == 1


async def test_an_answer_keeps_its_markdown_where_only_its_buttons_are_refused(slack: WireSlack, say: Say) -> None:
    slack.script["chat.postMessage"] = [without("context_actions")]
    buttons: Block = {"type": "context_actions", "elements": []}

    for _ in range(2):
        await say.post(HERE, answer("**Hello**", footer=(buttons,)), MARK, ExistingParts())

    assert tried(slack) == [["markdown", "context_actions"], ["markdown"], ["markdown"]]
