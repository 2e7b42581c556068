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
from bridge.queue.redis.connection import translated
from bridge.slack.blockkit import kit


class Waiters:
    """The people who want to be notified, by the turn that they wait for."""

    def __init__(self, deps: Deps) -> None:
        self._redis, self._keys, self._inbox = deps.scripts.redis, deps.scripts.keys, deps.inbox

    async def add(self, turn: TurnId, user: str) -> bool:
        """Add a person, and return whether the turn still goes on: then its end finds them. Raises `StoreUnavailable`.

        The outcome is recorded before the people are read. So if it isn't recorded yet, they're read later than this.
        """
        await self._inbox.write(("field", self._keys.waiters(turn), milliseconds(WAITERS), user, "1"))
        with translated():
            return await self._redis.hget(self._keys.turn(turn), "step") in {Step.QUEUED, Step.SENT}

    async def of(self, turn: TurnId) -> list[str]:
        """Return the people who wait for a turn. Raises `StoreUnavailable`."""
        with translated():
            return sorted(map(str, await self._redis.hkeys(self._keys.waiters(turn))))


async def notify_waiters(
    deps: Deps, turn: Turn, ended: TurnId, what: Callable[[str], str], *, event: str, ts: str
) -> None:
    """Send each person who waits for the turn *ended* a direct message, once, if they still have access.

    *what* returns the `Notice.what` with a link to the message *ts*, or without one if it's ``""``.
    """
    link = kit.permalink(deps.workspace, turn.channel, ts) if ts else ""
    for user in await Waiters(deps).of(ended):
        try:
            refusal = await deps.access.refusal_now(user, "")
        except SlackError:  # what the settings say is known all the same
            refusal = deps.access.not_listed(user, "")
        if refusal:
            continue
        notice = Notice.direct(turn.team, user, what(link))
        await deps.inbox.put(notice, event=f"{event}:{ended}:{user}")
