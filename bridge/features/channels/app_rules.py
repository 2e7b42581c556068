"""Rules for apps, as they count when an app's post is answered: whether its owner may still have it."""

from __future__ import annotations

from functools import partial
from typing import Final

from bridge.ends.refusals import no_longer
from bridge.engine.results import Done, TryLater
from bridge.engine.turn import Turn
from bridge.errors import NotAllowed
from bridge.features.channels.settings import AppRule
from bridge.features.deps import Deps
from bridge.features.lookups import rights
from bridge.features.standing.pauses import notify_of_pause
from bridge.inbound import InboundMessage
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.card import card
from bridge.slack.blockkit.reply import Audience, Block, Reply

RULE_PAUSED: Final = "rule_paused"
"""The name of the notice that an app's rule is paused."""


def rule_paused(app: str, channel: str, reason: str, owner: str, *, is_owner: bool) -> Reply:
    """Tell the owner of an app's rule, or its channel, that the rule is paused."""
    of = kit.named(app, 80) or "an app"
    who = "" if is_owner else owner or "the person who set this up"
    fix = f"Someone with permission can set it up again there with {kit.command('/agents channel')}."
    why = no_longer(reason, who) or no_longer("unknown", who)
    place: list[Block | str] = [" in ", kit.place(channel)] if is_owner and kit.is_channel(channel) else [" here"]
    text = kit.paragraph(f"⚠️ I no longer answer posts from {of}", *place, f": {why}. {fix}")
    return card(kit.rich(text), audience=Audience.CHANNEL)


async def check_rule(deps: Deps, turn: Turn, message: InboundMessage) -> Done | None:
    """Return why an app's *message* starts nothing, or None if it does: its rule counts as it is now.

    A rule whose owner may no longer set it up is paused, with one notice. Raises `TryLater`.
    """
    while True:
        stored = await deps.channels.stored(turn.team, turn.channel)
        settings = await deps.channels.in_force(turn.channel, stored.settings)
        key = message.rule or message.app  # as an earlier release stored it
        rule = settings.of(turn.project_key).apps.get(key)
        if rule is None:
            return Done("its app no longer has a rule here")
        if "apps" in deps.channels.fixed(turn.channel):
            return await _check_fixed(deps, turn, rule, message.app)
        if rule.paused:
            return Done(f"its app's rule is paused: {rule.paused}")
        wanted = await rights(
            deps, "settings", rule.owner, turn.channel, turn.project_key, workflow=rule.workflow, agent=rule.agent,
            by="app", app=message.app,
        )  # fmt: skip
        reason = await deps.refusal_now(rule.owner, turn.channel, *wanted)
        if reason is None:
            return None
        hour = int(deps.now().timestamp()) // 3600  # it's paused at once: this only spares turns at the same moment
        event = f"{RULE_PAUSED}:{turn.team}:{turn.channel}:{key}:{hour}"
        says = partial(rule_paused, rule.name or message.app_name or message.app)
        await notify_of_pause(deps, turn, rule.owner, reason, what=RULE_PAUSED, says=says, event=event)
        paused = stored.settings.with_app(key, rule.model_copy(update={"paused": reason}))
        if await deps.channels.replace(turn.team, turn.channel, stored, paused):
            return Done(f"its app's rule is paused: {reason}")


async def _check_fixed(deps: Deps, turn: Turn, rule: AppRule, app: str) -> Done | None:
    """Return why a rule in the operator's file, which nobody owns, starts nothing, or None if it does."""
    of = ("", turn.channel, turn.project_key)
    wanted = await rights(deps, "settings", *of, workflow=rule.workflow, agent=rule.agent, by="app", app=app)
    for asked in (right for right in wanted if right.act != "settings"):
        try:
            await deps.policy.require(asked)
        except NotAllowed as exc:
            if exc.reason == "unanswered":
                raise TryLater from exc
            return Done(f"refused: {exc.reason}")
    reason = deps.policy.rules.not_listed("", turn.channel)
    return Done(f"refused: {reason}") if reason else None
