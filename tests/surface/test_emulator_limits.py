"""What the emulated Slack accepts and rejects: Block Kit, sizes, totals."""

from typing import Any

import pytest

from bridge.playground.emulator import limits
from bridge.playground.emulator.refusal import Refusal
from support.tables import each

Block = dict[str, Any]


def plain(text: str) -> Block:
    return {"type": "plain_text", "text": text}


def words(text: str) -> Block:
    return {"type": "mrkdwn", "text": text}


def button(action_id: str = "a", text: str = "Go", **more: Any) -> Block:
    return {"type": "button", "action_id": action_id, "text": plain(text), **more}


def section(text: str) -> Block:
    return {"type": "section", "text": words(text)}


def actions(*elements: Block) -> Block:
    return {"type": "actions", "elements": list(elements)}


def menu(options: int, text: str = "One") -> Block:
    values = [{"text": plain(text), "value": str(one)} for one in range(options)]
    return {"type": "static_select", "action_id": "m", "options": values}


def chart(points: int) -> Block:
    segments = [{"label": str(one), "value": one + 1} for one in range(points)]
    return {"type": "data_visualization", "title": "T", "chart": {"type": "pie", "segments": segments}}


def table(*cells: str) -> Block:
    return {"type": "data_table", "caption": "T", "rows": [[{"type": "raw_text", "text": text}] for text in cells]}


TAKEN: dict[str, list[Block]] = {
    "nothing": [],
    "a section of 3000": [section("x" * 3000)],
    "10000 characters in cells": [table(*["x" * 2500] * 2)] * 2,
    "fifty blocks": [{"type": "divider"}] * 50,
    "a button of 75 with a value of 2000": [actions(button(text="x" * 75, value="v" * 2000))],
    "a button with a question": [
        actions(button(confirm={"title": plain("t"), "text": words("?"), "confirm": plain("y"), "deny": plain("n")}))
    ],
    "25 elements": [actions(*(button(str(one)) for one in range(25)))],
    "a menu of 100": [actions(menu(100))],
    "the same action in two blocks": [actions(button()), actions(button())],
    "a header of 150": [{"type": "header", "text": plain("x" * 150)}],
    "markdown that becomes 50 blocks": [{"type": "markdown", "text": "---\n\n# h\n\nx\n\n- a\n- b\n\n> q\n\n" * 10}],
    "markdown with 20 headings": [{"type": "markdown", "text": "# h\n" * 20 + "x" * 10_500}],
    "markdown of 12000": [{"type": "markdown", "text": "x" * 12_000}],
    "a context": [{"type": "context", "elements": [words("x"), plain("y")]}],
    "a section with fields only": [{"type": "section", "fields": [words("x")] * 10}],
    "a section with a menu": [{**section("x"), "accessory": menu(2)}],
    "an external menu": [actions({"type": "external_select", "action_id": "e", "min_query_length": 0})],
    "two charts": [chart(6), chart(6)],
    "a table": [{"type": "table", "rows": [[{"type": "raw_text", "text": "x"}] * 20] * 100}],
    "an input": [{"type": "input", "label": plain("l"), "element": {"type": "plain_text_input", "action_id": "i"}}],
}

REFUSED: dict[str, tuple[list[Any], str, str]] = {
    "a section of 3001": ([section("x" * 3001)], "must be less than 3001 characters", "/blocks/0/text/text"),
    "an empty section text": ([section("")], "must be more than 0 characters", "/blocks/0/text/text"),
    "a section with nothing": ([{"type": "section"}], "missing required field: text or fields", "/blocks/0"),
    "markdown that becomes 51 blocks": (
        [{"type": "markdown", "text": "---\n\n# h\n\nx\n\n|a|\n|-|\n\n```\n```\n\n" * 10}, {"type": "divider"}],
        "no more than 50 items allowed",
        "/blocks",
    ),
    "51 blocks": ([{"type": "divider"}] * 51, "no more than 50 items allowed", "/blocks"),
    "an unknown block": ([{"type": "marquee"}], "unsupported type: marquee", "/blocks/0/type"),
    "a block that is none": (["text"], "missing required field: type", "/blocks/0"),
    "a button text of 76": (
        [actions(button(text="x" * 76))],
        "must be less than 76 characters",
        "/blocks/0/elements/0/text/text",
    ),
    "a button value of 2001": (
        [actions(button(value="x" * 2001))],
        "must be less than 2001 characters",
        "/blocks/0/elements/0/value",
    ),
    "mrkdwn on a button": (
        [actions({"type": "button", "action_id": "a", "text": words("x")})],
        "unsupported type: mrkdwn",
        "/blocks/0/elements/0/text/type",
    ),
    "an unknown style": (
        [actions(button(style="default"))],
        "must be one of primary, danger",
        "/blocks/0/elements/0/style",
    ),
    "an unknown field": ([{"type": "divider", "color": "red"}], "invalid additional property: color", "/blocks/0"),
    "26 elements": (
        [actions(*(button(str(one)) for one in range(26)))],
        "no more than 25 items allowed",
        "/blocks/0/elements",
    ),
    "no elements": ([actions()], "must have at least 1 items", "/blocks/0/elements"),
    "the same action twice in a block": (
        [actions(button(), button())],
        "duplicate action_id: a",
        "/blocks/0/elements/1/action_id",
    ),
    "the same block id twice": (
        [{"type": "divider", "block_id": "b"}] * 2,
        "duplicate block_id: b",
        "/blocks/1/block_id",
    ),
    "101 options": ([actions(menu(101))], "no more than 100 items allowed", "/blocks/0/elements/0/options"),
    "an option of 76": (
        [actions(menu(1, "x" * 76))],
        "must be less than 76 characters",
        "/blocks/0/elements/0/options/0/text/text",
    ),
    "a menu without options": (
        [actions({"type": "static_select", "action_id": "m"})],
        "missing required field: options or option_groups",
        "/blocks/0/elements/0",
    ),
    "a header of 151": (
        [{"type": "header", "text": plain("x" * 151)}],
        "must be less than 151 characters",
        "/blocks/0/text/text",
    ),
    "markdown of 12001": (
        [{"type": "markdown", "text": "x" * 12_001}],
        "must be less than 12001 characters",
        "/blocks/0/text",
    ),
    "11 fields": (
        [{"type": "section", "fields": [words("x")] * 11}],
        "no more than 10 items allowed",
        "/blocks/0/fields",
    ),
    "a button in a context": (
        [{"type": "context", "elements": [button()]}],
        "unsupported type: button",
        "/blocks/0/elements/0/type",
    ),
    "7 segments": ([chart(7)], "no more than 6 items allowed", "/blocks/0/chart/segments"),
    "three charts": ([chart(1)] * 3, "no more than 2 data_visualization blocks allowed", "/blocks"),
    "10001 characters in cells": (
        [table(*["x" * 2500] * 2), table("x" * 2500, "x" * 2501)],
        "no more than 10000 characters in the cells of all data_table blocks allowed",
        "/blocks",
    ),
    "an empty cell": ([table("x", "")], "must be more than 0 characters", "/blocks/0/rows/1/0/text"),
    "an alert in a message": ([{"type": "alert", "text": plain("x")}], "unsupported type: alert", "/blocks/0/type"),
}


@each("blocks", TAKEN.values())
def test_blocks_within_the_limits_are_accepted(blocks: list[Block]) -> None:
    limits.check_blocks(blocks)


@each(("blocks", "why", "where"), REFUSED.values())
def test_blocks_beyond_the_limits_are_refused_with_the_reason_and_the_place(
    blocks: list[Any], why: str, where: str
) -> None:
    with pytest.raises(Refusal) as refused:
        limits.check_blocks(blocks)

    assert refused.value.as_json()["error"] == "invalid_blocks"
    assert refused.value.messages == [f"[ERROR] {why} [json-pointer:{where}]"]


@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param([{"type": "markdown", "text": "x" * 6001}] * 2, id="markdown together"),
        pytest.param([section("x" * 2999)] * 5, id="everything together"),
        pytest.param([{"type": "markdown", "text": "x > y && z" * 1000}], id="with entities"),
        pytest.param([{"type": "markdown", "text": "# h\n" * 40 + "x" * 9_500}], id="with headings"),
    ],
)
def test_blocks_that_are_too_long_only_together_are_refused(blocks: list[Block]) -> None:
    with pytest.raises(Refusal) as refused:
        limits.check_blocks(blocks)

    assert refused.value.error == "msg_blocks_too_long"


def modal(**more: Any) -> Block:
    return {"type": "modal", "title": plain("A form"), "blocks": [section("x")], **more}


INPUT = {"type": "input", "label": plain("l"), "element": {"type": "plain_text_input", "action_id": "i"}}


@pytest.mark.parametrize(
    "view",
    [
        modal(),
        modal(submit=plain("Send"), blocks=[INPUT], private_metadata="x" * 3000, callback_id="c"),
        {"type": "home", "blocks": [section("x")] * 100},
    ],
)
def test_views_within_the_limits_are_accepted(view: Block) -> None:
    limits.check_view(view)


@each(
    ("view", "why"),
    [
        (modal(title=plain("x" * 25)), "must be less than 25 characters"),
        (modal(private_metadata="x" * 3001), "must be less than 3001 characters"),
        (modal(blocks=[INPUT]), "missing required field: submit"),
        (modal(blocks=[section("x")] * 101), "no more than 100 items allowed"),
        (modal(blocks=[{"type": "markdown", "text": "x"}]), "unsupported type: markdown"),
        ({"type": "modal", "blocks": []}, "missing required field: title"),
        ({"type": "window", "blocks": []}, "must be one of modal, home"),
        ("modal", "must provide an object"),
    ],
)
def test_views_beyond_the_limits_are_refused_with_the_reason(view: Any, why: str) -> None:
    with pytest.raises(Refusal) as refused:
        limits.check_view(view)

    assert any(why in message for message in refused.value.messages)


@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ({"event_type": "t"}, "invalid_metadata_format"),
        ("t", "invalid_metadata_format"),
        ({"event_type": "t", "event_payload": {"x": "x" * 20_000}}, "metadata_too_large"),
    ],
)
def test_metadata_has_a_shape_and_a_size(metadata: Any, error: str) -> None:
    with pytest.raises(Refusal) as refused:
        limits.check_metadata(metadata)

    assert refused.value.error == error
