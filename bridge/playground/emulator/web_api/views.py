"""``views.*``: https://docs.slack.dev/reference/methods?family=views."""

from __future__ import annotations

from bridge.playground.emulator import limits
from bridge.playground.emulator.entities import Json
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.tickets import TicketError, Trigger
from bridge.playground.emulator.web_api.method import Family, MethodCall

family = Family()


@family.method("views.open", tier=100)
def open_view(call: MethodCall) -> Json:
    """Open a modal for the trigger's person."""
    content = _content(call, "modal")
    trigger = _exchange(call)
    call.workspace.close_views(call.workspace.stack(trigger.user, trigger.window))  # it replaces the old ones
    view = call.workspace.make_view(trigger.user, content, window=trigger.window)
    call.workspace.open_view(view)
    return {"ok": True, "view": view.as_json()}


@family.method("views.publish", tier=100)
def publish(call: MethodCall) -> Json:
    """Publish a person's Home tab."""
    content = _content(call, "home")
    user = call.person("user_id").id
    shown = call.workspace.homes.get(user)
    if shown is not None and call.text("hash") and call.text("hash") != shown.hash:
        raise Refusal("hash_conflict")
    view = call.workspace.make_view(user, content)
    if shown is not None:
        view.id = view.root_id = shown.id
    call.workspace.show_home(view)
    return {"ok": True, "view": view.as_json()}


def _content(call: MethodCall, kind: str) -> Json:
    view = call.json("view")
    if not isinstance(view, dict):
        raise Refusal("invalid_arguments", messages=["[ERROR] missing required field: view"])
    limits.check_view(view)
    if view["type"] != kind:
        raise Refusal("invalid_arguments", messages=[f"[ERROR] view must be of type {kind}"])
    return {**view, "blocks": call.workspace.messages.identified(view["blocks"])}


def _exchange(call: MethodCall) -> Trigger:
    try:
        return call.tickets.exchange(call.text("trigger_id") or call.text("interactivity_pointer"))
    except TicketError as exc:
        raise Refusal(exc.error) from exc
