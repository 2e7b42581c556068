"""What a person's hands do with interactive blocks: find one, press it, choose, type; pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from bridge.playground.slack.entities import Json


def find(blocks: list[Json], action_id: str) -> tuple[Json, str]:
    """The element with this *action_id*, and the id of its block. Raises LookupError."""
    for element, block_id in _elements(blocks):
        if element.get("action_id") == action_id:
            return element, block_id
    raise LookupError(action_id)


def action_ids(blocks: list[Json]) -> list[str]:
    """All that can be pressed or chosen, in the order in which it is shown."""
    return [element["action_id"] for element, _ in _elements(blocks) if "action_id" in element]


def _elements(blocks: list[Json]) -> Iterator[tuple[Json, str]]:
    for block in blocks:
        single = [block[name] for name in ("accessory", "element") if name in block]
        many = block.get("elements", []) if block["type"] != "rich_text" else []
        for element in [*single, *many]:
            yield element, block.get("block_id", "")


def pressed(element: Json, block_id: str, at: str) -> Json:
    """The action of pressing a button."""
    action = {"type": element["type"], "action_id": element["action_id"], "block_id": block_id, "action_ts": at}
    more = {name: element[name] for name in ("text", "value", "style", "confirm") if name in element}
    return action | more


def chosen(element: Json, block_id: str, value: Any, at: str) -> Json:
    """The action of choosing *value* (an option's value, or the option itself where it came from outside)."""
    action = {"type": element["type"], "action_id": element["action_id"], "block_id": block_id, "action_ts": at}
    return action | entered(element, value) | {"type": element["type"]}


def entered(element: Json, value: Any) -> Json:
    """An input's part of a state: its type, and *value* in the field where that type has it."""
    kind: str = element["type"]
    if kind.startswith("multi_") or kind == "checkboxes":
        return {"type": kind, **_several(element, kind, list(value or []))}
    if kind in {"static_select", "external_select", "radio_buttons", "overflow"}:
        return {"type": kind, "selected_option": _option(element, value) if value is not None else None}
    if kind.endswith("_select"):
        return {"type": kind, f"selected_{kind.removesuffix('s_select')}": value}
    field = {"datepicker": "selected_date", "timepicker": "selected_time", "datetimepicker": "selected_date_time"}
    return {"type": kind, field.get(kind, "value"): value}


def _several(element: Json, kind: str, values: list[Any]) -> Json:
    if kind in {"checkboxes", "multi_static_select", "multi_external_select"}:
        return {"selected_options": [_option(element, one) for one in values]}
    return {f"selected_{kind.removeprefix('multi_').removesuffix('_select')}": values}


def _option(element: Json, value: Any) -> Json:
    """The option that has *value*. Raises LookupError: a person cannot choose what is not offered."""
    if isinstance(value, dict):
        return value
    groups = [group["options"] for group in element.get("option_groups", [])]
    for option in [option for options in [element.get("options", []), *groups] for option in options]:
        if option["value"] == value:
            found: Json = option
            return found
    raise LookupError(value)


def state_of(blocks: list[Json], values: Mapping[str, Any]) -> dict[str, dict[str, Json]]:
    """The state of a modal after *values* (by action_id or block_id) were entered; the rest is as it was opened.

    Raises ValueError where something is left empty that must be filled in: Slack would not let it be sent.
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
    """What the app put into an input, as something that can be entered."""
    if "initial_options" in element:
        return [option["value"] for option in element["initial_options"]]
    return next((value for name, value in element.items() if name.startswith("initial_")), None)
