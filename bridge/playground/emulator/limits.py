"""Slack's limits on messages and views: sizes, Block Kit, and totals of a payload.

Documented numbers are in `blockkit`; observed ones are here.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from markdown_it import MarkdownIt

from bridge.playground.emulator import blockkit
from bridge.playground.emulator.entities import Json
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.rules import (
    Rule,
    anything,
    boolean,
    both,
    items,
    one_of,
    problem,
    shape,
    string,
    unique_by,
)

TEXT_IS_CUT_AT: Final = 40_000
TEXT_OF_AN_UPDATE: Final = 4_000
BLOCKS_IN_A_MESSAGE: Final = 50
BLOCKS_IN_A_VIEW: Final = 100
MARKDOWN_IN_A_MESSAGE: Final = 12_000
TEXT_IN_ALL_BLOCKS: Final = 13_200  # with &<> escaped; undocumented: https://github.com/slackapi/bolt-js/issues/2509
HEADING: Final = 100  # what each heading counts in TEXT_IN_ALL_BLOCKS, as others measured
CHARTS_IN_A_MESSAGE: Final = 2
CELLS_IN_A_MESSAGE: Final = 10_000  # characters; https://docs.slack.dev/reference/block-kit/blocks/data-table-block
METADATA: Final = 16_000
VIEW_BYTES: Final = 250_000

_VIEW: Final[Rule] = shape(
    {"type": one_of("modal", "home"), "blocks": anything},
    {
        "title": blockkit.plain(24),
        "submit": blockkit.plain(24),
        "close": blockkit.plain(24),
        "private_metadata": string(3000),
        "callback_id": string(255),
        "external_id": string(255),
        "clear_on_close": boolean,
        "notify_on_close": boolean,
        "submit_disabled": boolean,
    },
)


def check_blocks(blocks: Any) -> None:
    """Raise `Refusal` unless *blocks* are valid in a message."""
    problems = list(_problems(blocks, blockkit.IN_MESSAGES, BLOCKS_IN_A_MESSAGE, least=0))
    if problems:
        raise Refusal("invalid_blocks", messages=problems)
    markdown = [block["text"] for block in blocks if block["type"] == "markdown"]
    shown = [kind for text in markdown for kind in expanded(text)]
    if len(shown) + len(blocks) - len(markdown) > BLOCKS_IN_A_MESSAGE:
        raise Refusal(
            "invalid_blocks", messages=[problem(f"no more than {BLOCKS_IN_A_MESSAGE} items allowed", "/blocks")]
        )
    length = _length(blocks) + HEADING * (
        shown.count("heading_open") + sum(block["type"] == "header" for block in blocks)
    )
    if sum(map(len, markdown)) > MARKDOWN_IN_A_MESSAGE or length > TEXT_IN_ALL_BLOCKS:
        raise Refusal("msg_blocks_too_long")
    if sum(block["type"] == "data_visualization" for block in blocks) > CHARTS_IN_A_MESSAGE:
        words = f"no more than {CHARTS_IN_A_MESSAGE} data_visualization blocks allowed"
        raise Refusal("invalid_blocks", messages=[problem(words, "/blocks")])
    if _length([block["rows"] for block in blocks if block["type"] == "data_table"]) > CELLS_IN_A_MESSAGE:
        words = f"no more than {CELLS_IN_A_MESSAGE} characters in the cells of all data_table blocks allowed"
        raise Refusal("invalid_blocks", messages=[problem(words, "/blocks")])


def expanded(markdown: str) -> list[str]:
    """The blocks that Slack makes of one: of each heading, table, list, code block, paragraph, rule and image.

    Undocumented; others measured it: https://github.com/archestra-ai/archestra/pull/4980
    """
    types = []
    for token in _parser().parse(markdown):
        if token.type in _EXPANDED or (token.level == 0 and token.nesting == 1):
            types.append(token.type)
        types += [child.type for child in token.children or () if child.type == "image"]
    return types


_EXPANDED: Final = frozenset({"heading_open", "fence", "code_block", "hr", "table_open", "blockquote_open"})


@cache
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("html_block")


def check_view(view: Any) -> None:
    """Raise `Refusal` unless *view* is valid."""
    problems = list(_VIEW(view, "/view"))
    if not problems:
        problems = [*_problems(view["blocks"], blockkit.IN_VIEWS, BLOCKS_IN_A_VIEW, least=0), *_modal(view)]
    if problems:
        raise Refusal("invalid_arguments", messages=problems)
    if len(str(view).encode()) > VIEW_BYTES:
        raise Refusal("view_too_large")


def check_metadata(metadata: Any) -> None:
    """Raise `Refusal` unless *metadata* is valid."""
    if not isinstance(metadata, dict) or not isinstance(metadata.get("event_type"), str):
        raise Refusal("invalid_metadata_format")
    if not isinstance(metadata.get("event_payload"), dict):
        raise Refusal("invalid_metadata_format")
    if len(str(metadata)) > METADATA:
        raise Refusal("metadata_too_large")


def _problems(blocks: Any, allowed: Rule, most: int, *, least: int) -> Iterator[str]:
    yield from both(items(allowed, most=most, least=least), unique_by("block_id"))(blocks, "/blocks")


def _modal(view: Json) -> Iterator[str]:
    if view["type"] != "modal":
        return
    if "title" not in view:
        yield problem("missing required field: title", "/view")
    if "submit" not in view and any(block["type"] == "input" for block in view["blocks"]):
        yield problem("missing required field: submit (there are input blocks)", "/view")


def _length(value: Any) -> int:
    """The number of characters of text in *value*, at any depth."""
    if isinstance(value, list):
        return sum(_length(part) for part in value)
    if isinstance(value, dict):
        own = len(html.escape(value["text"], quote=False)) if isinstance(value.get("text"), str) else 0
        return own + sum(_length(part) for part in value.values() if isinstance(part, dict | list))
    return 0
