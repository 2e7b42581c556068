"""The workspace itself: ``team.*``, ``bots.*``, ``emoji.*``."""

from __future__ import annotations

from bridge.playground.emulator import sample
from bridge.playground.emulator.entities import Json
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.web_api.method import Family, MethodCall

family = Family()


@family.method("team.info", "team:read")
def team_info(call: MethodCall) -> Json:
    """Describe the workspace: https://docs.slack.dev/reference/methods/team.info."""
    if call.text("team", sample.TEAM) != sample.TEAM:
        raise Refusal("team_not_found")
    url = f"https://{sample.TEAM_DOMAIN}.slack.com/"
    team = {"id": sample.TEAM, "name": "Playground", "domain": sample.TEAM_DOMAIN, "email_domain": "", "url": url}
    return {"ok": True, "team": team | {"icon": {"image_default": True}}}


@family.method("bots.info", "users:read")
def bot_info(call: MethodCall) -> Json:
    """Describe a bot by its bot id: https://docs.slack.dev/reference/methods/bots.info."""
    asked = call.text("bot", call.workspace.bot.bot_id)
    person = next((one for one in call.workspace.people.values() if one.bot_id and one.bot_id == asked), None)
    if person is None:
        raise Refusal("bot_not_found")
    bot = {"id": person.bot_id, "app_id": person.app_id, "user_id": person.id, "name": person.real_name}
    return {"ok": True, "bot": bot | {"deleted": person.deleted, "updated": 1_700_000_000, "icons": {}}}


@family.method("emoji.list", "emoji:read")
def emoji_list(_: MethodCall) -> Json:
    """List the workspace's own emoji, none here: https://docs.slack.dev/reference/methods/emoji.list."""
    return {"ok": True, "emoji": {}, "cache_ts": "1700000000.000000"}
