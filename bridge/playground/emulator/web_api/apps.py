"""``apps.*``: https://docs.slack.dev/reference/methods?family=apps."""

from __future__ import annotations

from bridge.playground.emulator import sample
from bridge.playground.emulator.entities import Json
from bridge.playground.emulator.manifests import problems
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.web_api.method import Family, MethodCall

family = Family()


@family.method("apps.connections.open", "connections:write", caller="app")
def open_connection(call: MethodCall) -> Json:
    """Return a WebSocket URL: https://docs.slack.dev/reference/methods/apps.connections.open."""
    base = call.base_url.replace("http", "ws", 1)
    return {"ok": True, "url": f"{base}/link/?ticket={call.tickets.socket()}&app_id={sample.APP}"}


@family.method("apps.manifest.export", "app_configurations:read", caller="owner")
def export_manifest(call: MethodCall) -> Json:
    """Export the app's manifest: https://docs.slack.dev/reference/methods/apps.manifest.export."""
    if call.need("app_id") != sample.APP:
        raise Refusal("invalid_app_id")
    return {"ok": True, "manifest": call.manifest()}


@family.method("apps.manifest.validate", caller="owner")
def validate_manifest(call: MethodCall) -> Json:
    """Validate a manifest: https://docs.slack.dev/reference/methods/apps.manifest.validate."""
    manifest = call.json("manifest", error="invalid_manifest")
    if manifest is None:
        raise Refusal("invalid_arguments", messages=["[ERROR] missing required field: manifest"])
    if errors := list(problems(manifest)):
        raise Refusal("invalid_manifest", errors=errors)
    return {"ok": True, "errors": []}
