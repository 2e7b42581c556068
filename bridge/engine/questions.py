"""Questions with buttons that act once, however often and by whomever they're pressed.

A question is used up in the step that writes SENT before its effect, or that queues it: not by a press that was refused
or that failed. A later press is told who answered.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from bridge.ends import notices
from bridge.engine.deps import EngineDeps
from bridge.engine.results import Modal, Outcome, Result, shown
from bridge.engine.turn import Turn
from bridge.errors import BridgeError, SlackError, StoreError
from bridge.ids import MessageKey, TurnId
from bridge.inbound import Click
from bridge.project.models import Workflow
from bridge.queue.keys import ANSWERED, milliseconds
from bridge.queue.writes import Write, only_if
from bridge.slack.blockkit import kit

log = logging.getLogger(__name__)


async def remove_notice(deps: EngineDeps, turn: TurnId, channel: str, notice: str = "") -> None:
    """Remove the *notice* that *turn* was queued again, which has ended. Repeatable. Raises `StoreUnavailable`."""
    if not (notice := notice or await deps.inbox.drafts.noted(turn)):
        return
    try:
        await deps.slack.remove(channel, notice)
    except SlackError as exc:
        log.info("can't remove a notice", extra={"detail": exc.detail})
    await deps.inbox.drafts.forget_note(turn)


@dataclass(frozen=True, slots=True)
class Permit:
    """What lets a run start that was approved, once: the writes that it *uses*, and *undo* if it surely didn't start.

    *used* is shown if another turn has used them. *workflow*, as it is now, and *given* are what was approved, *by*
    says by whom.
    """

    workflow: Workflow
    given: Any
    by: str
    people: tuple[str, ...]
    uses: tuple[Write, ...]
    undo: tuple[Write, ...]
    used: Outcome


@dataclass(frozen=True, slots=True)
class Question:
    """The question whose button *turn*'s *click* pressed."""

    deps: EngineDeps
    turn: Turn
    click: Click

    @property
    def _key(self) -> str:
        click = self.click
        return self.deps.scripts.keys.answered(MessageKey(click.team, click.channel, click.message_ts))

    @property
    def _acts_once(self) -> bool:
        """Not a button in a form, which closes, nor a press that its person repeats after it couldn't be finished."""
        return bool(self.click.message_ts) and not self.turn.record.is_again

    def uses(self) -> tuple[Write, ...]:
        """Return the writes that use the question up, after an ``if`` that fails if it's already used up."""
        if not self._acts_once:
            return ()
        lives, who = milliseconds(ANSWERED), {"turn": self.turn.id, "user": self.click.user}
        claims: list[Write] = [("field", self._key, lives, name, value) for name, value in who.items()]
        return only_if(self._key, {"turn": ""}, *claims)

    def undo(self) -> tuple[Write, ...]:
        """Return the writes that undo `uses`: the effect certainly didn't happen."""
        if not self._acts_once:
            return ()
        return only_if(self._key, {"turn": self.turn.id}, ("delete", self._key, 0))

    async def answered(self) -> Outcome | None:
        """Return what to show if another press has used the question up. Raises `StoreUnavailable`."""
        if not self._acts_once:
            return None
        by, user = await self.deps.scripts.redis.hmget(self._key, ["turn", "user"])
        if by in {None, self.turn.id}:
            return None
        who = "You" if user == self.click.user else await self.deps.directory.user_name(str(user))
        return shown(notices.already_used(who), "already")

    async def settled(self, act: Callable[[], Awaitable[Result]], chosen: str) -> Result:
        """Use the question up, *act* on the answer, and say what was *chosen*; undo that if it fails, or opens a form.

        Raises what *act* raises, and `StoreUnavailable`.
        """
        await self.deps.inbox.write(*self.uses())
        if answered := await self.answered():  # by another press at the same moment
            return answered
        try:
            result = await act()
        except BridgeError as exc:
            if not isinstance(exc, StoreError):
                await self.deps.inbox.write(*self.undo())
            raise
        if isinstance(result, Modal):
            await self.deps.inbox.write(*self.undo())
        elif self.click.response_url:
            note = kit.note(f"You chose {kit.one_line(chosen, 80)}.", replaces_original=True)
            try:
                await self.deps.slack.whisper(self.turn.destination.recipient, note)
            except SlackError as exc:
                log.info("can't replace a question that was answered", extra={"detail": exc.detail})
        return result
