"""``users.*``: https://docs.slack.dev/reference/methods?family=users."""

from __future__ import annotations

from bridge.playground.slack.entities import Json
from bridge.playground.slack.web_api.method import Call, Family, paged

family = Family()


@family.method("users.info", "users:read")
def info(call: Call) -> Json:
    """Describe one person."""
    return {"ok": True, "user": call.person().as_json()}


@family.method("users.list", "users:read")
def list_people(call: Call) -> Json:
    """List the people of the workspace; those from other companies are not among them."""
    home = call.workspace.bot.team
    shown = [one.as_json() for one in call.workspace.people.values() if one.team == home]
    page, following = call.page(shown)
    return paged("members", page, following)
