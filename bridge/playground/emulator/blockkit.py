"""Block Kit as tables: every block and element, its fields and their limits.

https://docs.slack.dev/reference/block-kit/blocks
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from bridge.playground.emulator.rules import (
    Rule,
    anything,
    at_least_one,
    boolean,
    both,
    by_type,
    items,
    number,
    one_of,
    problem,
    shape,
    string,
    unique_by,
)


def plain(most: int) -> Rule:
    return by_type({"plain_text": shape({"type": anything, "text": string(most, least=1)}, {"emoji": boolean})})


def words(most: int) -> Rule:
    """A text object of either kind."""
    fields = {"type": anything, "text": string(most, least=1)}
    return by_type({"plain_text": shape(fields, {"emoji": boolean}), "mrkdwn": shape(fields, {"verbatim": boolean})})


_CONFIRM: Final = shape(
    {"title": plain(100), "text": words(300), "confirm": plain(30), "deny": plain(30)},
    {"style": one_of("primary", "danger")},
)
_OPTION: Final = shape(
    {"text": words(75), "value": string(150, least=1)}, {"description": words(75), "url": string(3000)}
)
_OPTIONS: Final = items(_OPTION, most=100)
_GROUPS: Final = items(shape({"label": plain(75), "options": _OPTIONS}), most=100)


def _web_address(*schemes: str) -> Rule:
    """An address with one of these schemes."""
    begins = tuple(f"{scheme}://" for scheme in schemes)

    def rule(value: Any, pointer: str) -> Iterator[str]:
        problems = list(string(3000, least=1)(value, pointer))
        yield from problems
        if not problems and not value.lower().startswith(begins):
            yield problem(f"must be a valid {' or '.join(schemes)} url", pointer)

    return rule


def _element(required: dict[str, Rule] | None = None, /, **optional: Rule) -> Rule:
    always: dict[str, Rule] = {"action_id": string(255, least=1), "confirm": _CONFIRM, "focus_on_load": boolean}
    return shape({"type": anything, **(required or {})}, {**always, **optional})


def _selects(kind: str, **single: Rule) -> dict[str, Rule]:
    """A menu's single and multiple forms; *single* are the fields that differ by *kind*."""
    more: dict[str, Rule] = {"placeholder": plain(150), **single}
    many = {name.replace("initial_option", "initial_options"): rule for name, rule in more.items()}
    return {
        f"{kind}_select": _element(**more, response_url_enabled=boolean),
        f"multi_{kind}_select": _element(**many | {"max_selected_items": number(1, 1000)} | _initial_lists(kind)),
    }


def _initial_lists(kind: str) -> dict[str, Rule]:
    return {"initial_options": _OPTIONS, f"initial_{kind}": anything}


_STATIC: Final = {
    name: both(rule, at_least_one("options", "option_groups"))
    for name, rule in _selects("static", options=_OPTIONS, option_groups=_GROUPS, initial_option=_OPTION).items()
}
_BUTTON: Final = _element(
    {"text": plain(75)},
    value=string(2000),
    url=string(3000),
    style=one_of("primary", "danger"),
    accessibility_label=string(75),
    agent_prompt=string(4000),
    visible_to_user_ids=items(string(255), most=10),
)
_INPUT_TEXT: Final[dict[str, Rule]] = {
    "placeholder": plain(150),
    "initial_value": string(3000),
    "multiline": boolean,
    "min_length": number(0, 3000),
    "max_length": number(1, 3000),
    "dispatch_action_config": anything,
}
_CHOICES: Final[dict[str, Rule]] = {"initial_options": items(_OPTION, most=10), "initial_option": _OPTION}

_TRIGGER: Final = shape(
    {"url": string(3000, least=1)},
    {"customizable_input_parameters": items(shape({"name": string(255, least=1), "value": anything}), most=100)},
)
_RICH_TEXT: Final = by_type(
    {"rich_text": shape({"type": anything, "elements": items(anything, most=1000)}, {"block_id": string(255)})}
)

ELEMENTS: Final[dict[str, Rule]] = {
    "button": _BUTTON,
    "workflow_button": _element(
        {"text": plain(75), "workflow": shape({"trigger": _TRIGGER})},
        style=one_of("primary", "danger"),
        accessibility_label=string(75),
    ),
    "checkboxes": _element({"options": items(_OPTION, most=10)}, **_CHOICES),
    "radio_buttons": _element({"options": items(_OPTION, most=10)}, **_CHOICES),
    "overflow": _element({"options": items(_OPTION, most=5)}),
    "datepicker": _element(initial_date=string(10), placeholder=plain(150)),
    "timepicker": _element(initial_time=string(5), placeholder=plain(150), timezone=string(100)),
    "datetimepicker": _element(initial_date_time=number(1e9, 1e10)),
    "plain_text_input": _element(**_INPUT_TEXT),
    "email_text_input": _element(**_INPUT_TEXT),
    "url_text_input": _element(**_INPUT_TEXT),
    "number_input": _element(
        {"is_decimal_allowed": boolean}, **_INPUT_TEXT, min_value=string(100), max_value=string(100)
    ),
    "rich_text_input": _element(
        placeholder=plain(150),
        initial_value=_RICH_TEXT,
        dispatch_action_config=anything,
        min_lines=number(1, 100),
        max_lines=number(1, 100),
    ),
    "file_input": _element(filetypes=anything, max_files=number(1, 10)),
    "image": shape({"type": anything, "alt_text": string(2000)}, {"image_url": string(3000), "slack_file": anything}),
    "feedback_buttons": _element({"positive_button": anything, "negative_button": anything}),
    "icon_button": _element(
        {"icon": one_of("trash"), "text": plain(75)},
        value=string(2000),
        accessibility_label=string(75),
        visible_to_user_ids=items(string(255), most=10),
    ),
    **_STATIC,
    **_selects("external", initial_option=_OPTION, min_query_length=number(0, 1000)),
    **_selects("users", initial_user=string(255)),
    **_selects("channels", initial_channel=string(255)),
    **_selects(
        "conversations", initial_conversation=string(255), filter=anything, default_to_current_conversation=boolean
    ),
}


def elements(*kinds: str) -> Rule:
    return by_type({kind: ELEMENTS[kind] for kind in kinds})


_MENUS: Final = tuple(name for name in ELEMENTS if name.endswith("_select"))
_PICKERS: Final = ("datepicker", "timepicker", "datetimepicker", "checkboxes", "radio_buttons")
_CLICKED: Final = ("button", "workflow_button", "overflow", *_PICKERS, *_MENUS)
_TYPED: Final = tuple(name for name in ELEMENTS if name.endswith("_input"))


def _block(required: dict[str, Rule] | None = None, /, **optional: Rule) -> Rule:
    return shape({"type": anything, **(required or {})}, {"block_id": string(255), **optional})


def _in_context(value: Any, pointer: str) -> Any:
    """An image or text, for a context block."""
    is_image = isinstance(value, dict) and value.get("type") == "image"
    return (ELEMENTS["image"] if is_image else words(3000))(value, pointer)


_CELL: Final = by_type(
    {
        "raw_text": shape({"type": anything, "text": string(3000, least=1)}),
        "raw_number": shape({"type": anything, "value": number(-1e15, 1e15)}, {"text": string(3000, least=1)}),
        "rich_text": shape({"type": anything, "elements": anything}, {"block_id": string(255)}),
    }
)


def _data_rows(value: Any, pointer: str) -> Iterator[str]:
    """A header without rich text, and rows of its width."""
    rows = [row for row in value if isinstance(row, list)] if isinstance(value, list) else []
    for place, cell in enumerate(rows[0] if rows else []):
        if isinstance(cell, dict) and cell.get("type") == "rich_text":
            yield problem("header cells must not be rich_text", f"{pointer}/0/{place}")
    for place, row in enumerate(rows):
        if len(row) != len(rows[0]):
            yield problem(f"must have {len(rows[0])} cells, as the header has", f"{pointer}/{place}")


def _series_fit(value: Any, pointer: str) -> Iterator[str]:
    """Each series has a point for each category, by name."""
    if not isinstance(value, dict) or not isinstance(value.get("axis_config"), dict):
        return
    categories = value["axis_config"].get("categories")
    for place, series in enumerate(value.get("series") or []):
        points = series.get("data") if isinstance(series, dict) else None
        labels = [point.get("label") for point in points or [] if isinstance(point, dict)]
        if not isinstance(categories, list) or sorted(map(str, labels)) != sorted(map(str, categories)):
            yield problem("labels must be the categories of axis_config", f"{pointer}/series/{place}/data")


_POINT: Final = shape({"label": string(20, least=1), "value": number(-1e15, 1e15)})
_SEGMENT: Final = shape({"label": string(20, least=1), "value": number(1e-9, 1e15)})
_SERIES: Final = shape({"name": string(20, least=1), "data": items(_POINT, most=20)})
_AXES: Final = shape(
    {"categories": items(string(20, least=1), most=20)}, {"x_label": string(50), "y_label": string(50)}
)
_ALL_SERIES: Final = both(items(_SERIES, most=6), unique_by("name"))
_LINES: Final = both(shape({"type": anything, "series": _ALL_SERIES, "axis_config": _AXES}), _series_fit)
_CHART: Final = by_type(
    {
        "pie": shape({"type": anything, "segments": items(_SEGMENT, most=6)}),
        "bar": _LINES,
        "line": _LINES,
        "area": _LINES,
    }
)
_ACTIONS: Final = both(items(elements(*_CLICKED), most=25), unique_by("action_id"))

BLOCKS: Final[dict[str, Rule]] = {
    "section": both(
        _block(
            text=words(3000),
            fields=items(words(2000), most=10),
            accessory=elements("image", *_CLICKED),
            expand=boolean,
        ),
        at_least_one("text", "fields"),
    ),
    "actions": _block({"elements": _ACTIONS}),
    "context": _block({"elements": items(_in_context, most=10)}),
    "context_actions": _block({"elements": items(elements("feedback_buttons", "icon_button"), most=5)}),
    "divider": _block(),
    "header": _block({"text": plain(150)}),
    "image": both(
        _block({"alt_text": string(2000)}, image_url=string(3000), slack_file=anything, title=plain(2000)),
        at_least_one("image_url", "slack_file"),
    ),
    "markdown": _block({"text": string(12_000, least=1)}),
    "input": _block(
        {"label": plain(2000), "element": elements(*_TYPED, *_PICKERS, *_MENUS)},
        hint=plain(2000),
        optional=boolean,
        dispatch_action=boolean,
    ),
    "table": _block({"rows": items(items(_CELL, most=20), most=100)}, column_settings=anything),
    "data_table": _block(
        {"caption": string(2000, least=1), "rows": both(items(items(_CELL, most=20), most=101, least=2), _data_rows)},
        page_size=number(1, 100),
        row_header_column_index=number(0, 19),
    ),
    "data_visualization": _block({"title": string(50, least=1), "chart": _CHART}),
    "alert": _block({"text": words(3000)}, level=one_of("default", "info", "warning", "error", "success")),
    "card": both(
        _block(
            title=words(150),
            subtitle=words(150),
            body=words(200),
            subtext=words(200),
            icon=anything,
            slack_icon=anything,
            hero_image=anything,
            actions=items(elements("button"), most=3),
        ),
        at_least_one("hero_image", "title", "actions", "body"),
    ),
    "carousel": _block({"elements": items(anything, most=10)}),
    "rich_text": _block({"elements": items(anything, most=1000)}),
    "plan": _block({"title": string(2000)}, tasks=anything),
    "task_card": _block(
        {"task_id": string(255), "title": string(2000)},
        status=one_of("pending", "in_progress", "complete", "error"),
        details=anything,
        output=anything,
        sources=anything,
    ),
    "video": _block(
        {
            "alt_text": string(2000, least=1),
            "title": plain(200),
            "video_url": _web_address("https"),
            "thumbnail_url": _web_address("http", "https"),
        },
        title_url=_web_address("https"),
        author_name=string(50),
        provider_name=string(2000),
        provider_icon_url=_web_address("http", "https"),
        description=plain(200),
    ),
    "file": _block({"external_id": string(255), "source": one_of("remote")}),
}

_IN_A_CONTAINER: Final = (
    "actions", "context", "divider", "file", "header", "image", "input", "rich_text", "section", "table", "video",
)  # fmt: skip


def _collapsed_by_default(value: Any, pointer: str) -> Iterator[str]:
    """Only a container that can be collapsed may begin so."""
    if isinstance(value, dict) and value.get("default_collapsed") and not value.get("is_collapsible"):
        yield problem("default_collapsed requires is_collapsible", f"{pointer}/default_collapsed")


BLOCKS["container"] = both(
    _block(
        {"child_blocks": items(by_type({kind: BLOCKS[kind] for kind in _IN_A_CONTAINER}), most=10)},
        title=plain(150),
        rich_text_title=_RICH_TEXT,
        subtitle=words(150),
        width=one_of("narrow", "standard", "wide", "full"),
        icon=ELEMENTS["image"],
        is_collapsible=boolean,
        default_collapsed=boolean,
        has_header_divider=boolean,
    ),
    at_least_one("title", "rich_text_title"),
    _collapsed_by_default,
)

_ONLY_IN_VIEWS: Final = {"alert"}  # according to third parties; Slack's page doesn't say
_NOT_IN_VIEWS: Final = {"markdown", "table", "data_table", "data_visualization", "plan", "task_card", "file", "card"}
IN_MESSAGES: Final = by_type({kind: rule for kind, rule in BLOCKS.items() if kind not in _ONLY_IN_VIEWS})
IN_VIEWS: Final = by_type({kind: rule for kind, rule in BLOCKS.items() if kind not in _NOT_IN_VIEWS})
