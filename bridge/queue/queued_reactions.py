"""Which queued messages show that they are: noted in the turn, so that no reaction is shown twice or left behind."""

from __future__ import annotations

from bridge.ids import TurnId
from bridge.queue.records import Step
from bridge.queue.redis.connection import translated
from bridge.queue.scripting import Scripts


class QueuedReactionClaims:
    """The notes. Both methods may raise `StoreUnavailable`."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    async def claim(self, turn: TurnId) -> bool:
        """Whether the reaction is to be shown: *turn* still waits behind another, and nobody has shown it before."""
        return str(await self._scripts.run("queued_reaction", turn)) == "ok"

    async def is_over(self, turn: TurnId) -> bool:
        """Whether *turn* has ended."""
        with translated():
            step = await self._scripts.redis.hget(self._scripts.keys.turn(turn), "step")
        return step not in {Step.QUEUED, Step.SENT, Step.POSTING}
