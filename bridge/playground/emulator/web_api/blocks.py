"""``blocks.validate``: https://docs.slack.dev/reference/methods/blocks.validate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from bridge.playground.emulator import limits
from bridge.playground.emulator.entities import Json
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.rules import located
from bridge.playground.emulator.web_api.method import Family, MethodCall

family = Family()

_ONE: Final = "must provide exactly one of `blocks`, `view`, or `message`"


def _check_message(message: Any) -> None:
    if not isinstance(message, dict):
        raise Refusal("invalid_message", messages=["[ERROR] must provide an object [json-pointer:]"])
    limits.check_blocks(message.get("blocks") or [])


_CHECKS: Final[dict[str, Callable[[Any], None]]] = {
    "blocks": limits.check_blocks,
    "message": _check_message,
    "view": limits.check_view,
}


@family.method(
    "blocks.validate",
    tier=20,
    differs=(
        "`constraint` is empty, `code` always `failed_constraint`; the rate limit, and that the limits of a whole"
        " message are checked, are guesses"
    ),
)
def validate(call: MethodCall) -> Json:
    """Validate blocks, a message or a view, with the place of each error."""
    asked = {name: call.json(name, error=f"invalid_{name}") for name in _CHECKS}
    names = [name for name, value in asked.items() if value is not None]
    if len(names) != 1:
        raise Refusal("invalid_arguments", messages=[_ONE])
    (name,) = names
    try:
        _CHECKS[name](asked[name])
    except Refusal as refusal:
        errors = [_error(line, name) for line in refusal.messages or [refusal.error]]
        raise Refusal(f"invalid_{name}", errors=errors) from None
    return {"ok": True}


def _error(line: str, name: str) -> Json:
    """The errors; their places are relative to the argument, without ``/blocks`` before a block's number."""
    message, pointer = located(line)
    return {
        "code": "failed_constraint",
        "message": message,
        "pointer": pointer.removeprefix({"blocks": "/blocks", "view": "/view"}.get(name, "")),
        "constraint": {},
    }
