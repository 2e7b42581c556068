"""The app itself: its token, its bot and its sockets."""

from __future__ import annotations

from bridge.playground.emulator import sample
from bridge.playground.emulator.entities import Json
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.web_api.method import Family, MethodCall

family = Family()


@family.method("auth.test", differs="accepts the bot's token only; one workspace")
def auth_test(call: MethodCall) -> Json:
    """Identify the token: https://docs.slack.dev/reference/methods/auth.test."""
    bot = call.workspace.bot
    organization = {"enterprise_id": call.workspace.organization} if call.workspace.organization else {}
    return organization | {
        "ok": True,
        "url": f"https://{sample.TEAM_DOMAIN}.slack.com/",
        "team": "Playground",
        "user": bot.name,
        "team_id": sample.TEAM,
        "user_id": bot.id,
        "bot_id": bot.bot_id,
        "is_enterprise_install": False,
    }


@family.method("bots.info", "users:read", tier=50, takes_json=False)
def bot_info(call: MethodCall) -> Json:
    """Describe a bot by its bot id: https://docs.slack.dev/reference/methods/bots.info."""
    asked = call.text("bot", call.workspace.bot.bot_id)
    person = next((bot for bot in call.workspace.people.values() if bot.bot_id and bot.bot_id == asked), None)
    if person is None:
        raise Refusal("bot_not_found")
    bot = {"id": person.bot_id, "app_id": person.app_id, "user_id": person.id, "name": person.real_name}
    return {"ok": True, "bot": bot | {"deleted": person.deleted, "updated": 1_700_000_000, "icons": {}}}


@family.method(
    "apps.connections.open",
    "connections:write",
    caller="app",
    tier=50,
    differs="an unused ticket never expires",
)
def open_connection(call: MethodCall) -> Json:
    """Return a WebSocket URL: https://docs.slack.dev/reference/methods/apps.connections.open."""
    base = call.base_url.replace("http", "ws", 1)
    return {"ok": True, "url": f"{base}/link/?ticket={call.tickets.socket()}&app_id={sample.APP}"}
