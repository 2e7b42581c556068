"""``blocks.validate``: https://docs.slack.dev/reference/methods/blocks.validate."""

from __future__ import annotations

from bridge.playground.emulator import limits
from bridge.playground.emulator.entities import Json
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.web_api.method import Family, MethodCall

family = Family()


@family.method("blocks.validate")
def validate(call: MethodCall) -> Json:
    """Say whether blocks, a message or a view would be taken."""
    blocks, message, view = (call.json(name) for name in ("blocks", "message", "view"))
    if sum(one is not None for one in (blocks, message, view)) != 1:
        raise Refusal("invalid_arguments", messages=["[ERROR] exactly one of blocks, message, view"])
    if view is not None:
        limits.check_view(view)
    else:
        limits.check_blocks(blocks if message is None else message.get("blocks") or [])
    return {"ok": True}
