"""``apps.*``: https://docs.slack.dev/reference/methods?family=apps."""

from __future__ import annotations

from bridge.playground.slack import sample
from bridge.playground.slack.entities import Json
from bridge.playground.slack.web_api.method import Call, Family

family = Family()


@family.method("apps.connections.open", "connections:write", takes_app_token=True)
def open_connection(call: Call) -> Json:
    """Give an address for one WebSocket: https://docs.slack.dev/reference/methods/apps.connections.open."""
    base = call.base_url.replace("http", "ws", 1)
    return {"ok": True, "url": f"{base}/link/?ticket={call.tickets.socket()}&app_id={sample.APP}"}
