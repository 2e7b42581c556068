"""``auth.*`` and ``api.test``."""

from __future__ import annotations

from bridge.playground.emulator import sample
from bridge.playground.emulator.entities import Json
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.web_api.method import Family, MethodCall

family = Family()


@family.method("auth.test")
def auth_test(call: MethodCall) -> Json:
    """Identify the token: https://docs.slack.dev/reference/methods/auth.test."""
    bot = call.workspace.bot
    return {
        "ok": True,
        "url": f"https://{sample.TEAM_DOMAIN}.slack.com/",
        "team": "Playground",
        "user": bot.name,
        "team_id": sample.TEAM,
        "user_id": bot.id,
        "bot_id": bot.bot_id,
        "is_enterprise_install": False,
    }


@family.method("api.test", needs_token=False)
def api_test(call: MethodCall) -> Json:
    """Echo the arguments: https://docs.slack.dev/reference/methods/api.test."""
    if call.text("error"):
        raise Refusal(call.text("error"), args=call.args)
    return {"ok": True, "args": call.args}
