"""``pins.*``: https://docs.slack.dev/reference/methods?family=pins."""

from __future__ import annotations

from bridge.playground.emulator.entities import Json
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.web_api.method import Family, MethodCall

family = Family()


@family.method("pins.add", "pins:write")
def add(call: MethodCall) -> Json:
    """Pin a message to its channel."""
    channel = call.channel()
    message = call.message(channel, "timestamp")
    if any(pin["ts"] == message.ts for pin in channel.pins):
        raise Refusal("already_pinned")
    pin = {"ts": message.ts, "created": int(call.workspace.clock()), "created_by": call.workspace.bot.id}
    call.workspace.change_channel(channel, pins=[pin, *channel.pins])
    return {"ok": True}


@family.method("pins.remove", "pins:write")
def remove(call: MethodCall) -> Json:
    """Unpin a message."""
    channel = call.channel()
    ts = call.need("timestamp")
    rest = [pin for pin in channel.pins if pin["ts"] != ts]
    if len(rest) == len(channel.pins):
        raise Refusal("no_pin")
    call.workspace.change_channel(channel, pins=rest)
    return {"ok": True}


@family.method("pins.list", "pins:read")
def list_pins(call: MethodCall) -> Json:
    """List a channel's pins, newest first."""
    channel = call.channel()
    found = [(pin, call.workspace.messages.find(channel.id, pin["ts"])) for pin in channel.pins]
    items = [
        {"type": "message", "channel": channel.id, **_made(pin), "message": message.as_json()}
        for pin, message in found
        if message is not None
    ]
    return {"ok": True, "items": items}


def _made(pin: Json) -> Json:
    return {"created": pin["created"], "created_by": pin["created_by"]}
