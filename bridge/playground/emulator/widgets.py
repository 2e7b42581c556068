"""Interactive blocks: find an element, press, choose, type; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from bridge.playground.emulator.entities import Json

_FIELDS: Final = {
    "datepicker": "selected_date",
    "timepicker": "selected_time",
    "datetimepicker": "selected_date_time",
    "rich_text_input": "rich_text_value",
    "file_input": "files",
}


def find(blocks: list[Json], action_id: str, block_id: str = "", *, user: str = "") -> tuple[Json, str]:
    """The element with this *action_id*, in that block if one is named, and its block's id.

    With *user*, only if they see it. Raises LookupError.
    """
    for element, block in _elements(blocks):
        if (
            element.get("action_id") == action_id
            and block_id in {"", block}
            and not (user and is_hidden(element, user))
        ):
            return element, block
    raise LookupError(action_id)


def is_hidden(element: Any, user: str) -> bool:
    """Whether a button is shown to others only (``visible_to_user_ids``)."""
    shown_to = element.get("visible_to_user_ids") if isinstance(element, Mapping) else None
    return bool(shown_to) and user not in (shown_to or ())


def _elements(blocks: list[Json]) -> Iterator[tuple[Json, str]]:
    for block in blocks:
        single = [block[name] for name in ("accessory", "element") if name in block]
        for element in [*single, *_several_in(block)]:
            yield element, block.get("block_id", "")
        yield from _elements(block.get("child_blocks", []))


def _several_in(block: Json) -> list[Json]:
    match block["type"]:
        case "rich_text":
            return []
        case "carousel":
            return [action for card in block["elements"] for action in card.get("actions", [])]
        case "card":
            return list(block.get("actions", []))
        case _:
            return list(block.get("elements", []))


def pressed(element: Json, block_id: str, at: str) -> Json:
    action = {"type": element["type"], "action_id": element["action_id"], "block_id": block_id, "action_ts": at}
    if element["type"] == "icon_button":
        action["value"] = ""
    more = {name: element[name] for name in ("icon", "text", "value", "url", "style", "confirm") if name in element}
    return action | more


def chosen(element: Json, block_id: str, value: Any, at: str) -> Json:
    """The action of choosing *value* (an option's value, or the external option itself)."""
    action = {"type": element["type"], "action_id": element["action_id"], "block_id": block_id, "action_ts": at}
    if element["type"] == "feedback_buttons":
        pair = (element["positive_button"], element["negative_button"])
        action["text"] = next((option["text"] for option in pair if option.get("value") == value), pair[0]["text"])
    return action | entered(element, value) | {"type": element["type"]}


def entered(element: Json, value: Any) -> Json:
    """An input's part of a state: its type, and *value* in that type's field."""
    kind: str = element["type"]
    if kind.startswith("multi_") or kind == "checkboxes":
        return {"type": kind, **_several(element, kind, list(value or []))}
    if kind in {"static_select", "external_select", "radio_buttons", "overflow"}:
        return {"type": kind, "selected_option": _option(element, value) if value is not None else None}
    if kind.endswith("_select"):
        return {"type": kind, f"selected_{kind.removesuffix('s_select')}": value}
    return {"type": kind, _FIELDS.get(kind, "value"): value}


def _several(element: Json, kind: str, values: list[Any]) -> Json:
    if kind in {"checkboxes", "multi_static_select", "multi_external_select"}:
        return {"selected_options": [_option(element, value) for value in values]}
    return {f"selected_{kind.removeprefix('multi_').removesuffix('_select')}": values}


def _option(element: Json, value: Any) -> Json:
    """The option with *value*. Raises LookupError if it isn't offered."""
    if isinstance(value, dict):
        return value
    groups = [group["options"] for group in element.get("option_groups", [])]
    for option in [option for options in [element.get("options", []), *groups] for option in options]:
        if option["value"] == value:
            chosen: Json = option
            return chosen
    raise LookupError(value)


def state_of(blocks: list[Json], values: Mapping[str, Any]) -> dict[str, dict[str, Json]]:
    """The state of a modal with *values* (by action_id or block_id) entered; the rest is initial.

    Raises ValueError if a required input is empty, since Slack wouldn't submit it.
    """
    state: dict[str, dict[str, Json]] = {}
    left = set(values)
    for block in blocks:
        if "element" not in block:
            continue
        element, block_id = block["element"], block["block_id"]
        names = left & {element["action_id"], block_id}
        left -= names
        value = values[names.pop()] if names else _initial(element)
        if value in (None, "", []) and not block.get("optional"):
            raise ValueError(f"{block_id} must be filled in")
        state.setdefault(block_id, {})[element["action_id"]] = entered(element, value or None)
    if left:
        raise LookupError(f"no such input: {', '.join(sorted(left))}")
    return state


def _initial(element: Json) -> Any:
    if "initial_options" in element:
        return [option["value"] for option in element["initial_options"]]
    return next((value for name, value in element.items() if name.startswith("initial_")), None)
