"""The people who want to be notified when a turn ends: a workflow's run, or an agent's answer."""

from __future__ import annotations

from collections.abc import Callable

from bridge.engine.turn import Turn
from bridge.errors import SlackError
from bridge.features.deps import Deps
from bridge.ids import TurnId
from bridge.inbound import Notice
from bridge.queue.keys import WAITERS, milliseconds
from bridge.queue.records import Step
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Reply


async def add_waiter(deps: Deps, turn: TurnId, user: str) -> bool:
    """Have a person wait for a turn, and return whether it still goes on: then its end finds them.

    The outcome is recorded before the people are read. So if it isn't recorded yet, they're read later than this.
    Raises `StoreUnavailable`.
    """
    keys = deps.scripts.keys
    await deps.inbox.write(("field", keys.waiters(turn), milliseconds(WAITERS), user, "1"))
    return await deps.scripts.redis.hget(keys.turn(turn), "step") in {Step.QUEUED, Step.SENT}


async def notify_waiters(
    deps: Deps, turn: Turn, ended: TurnId, what: str, reply: Callable[[str], Reply], *, ts: str
) -> None:
    """Send each person who waits for the turn *ended* a direct message, once, if they still have access.

    *what* names the notice, and *reply* returns it with a link to the message *ts*, or without one if it's ``""``.
    """
    link = kit.permalink(deps.workspace, turn.channel, ts) if ts else ""
    waiting = sorted(map(str, await deps.scripts.redis.hkeys(deps.scripts.keys.waiters(ended))))
    for user in waiting:
        try:
            refusal = await deps.policy.refusal_now(user, "")
        except SlackError:  # what the settings say is known all the same
            refusal = deps.policy.rules.not_listed(user, "")
        if refusal:
            continue
        notice = Notice.direct(turn.team, user, what, reply(link).stored())
        await deps.inbox.put(notice, event=f"{what}:{ended}:{user}")
