"""Ask an agent, and make an `Outcome` of whatever comes of it."""

from __future__ import annotations

from dataclasses import dataclass

from bridge.errors import Busy, CannotConnect, CircuitOpen, NotFound, ProjectError
from bridge.features.conversations import answers, notices
from bridge.features.outcome import Outcome
from bridge.features.plan import AskAgent
from bridge.ids import ThreadKey, TurnId
from bridge.project import ChatAnswer, ProjectClient
from bridge.queue.journal import Binding
from bridge.queue.lease import Lease
from bridge.slack.blockkit import failures
from bridge.slack.blockkit.reply import Audience

NOT_ARRIVED = (CannotConnect, CircuitOpen, Busy)
"""What says for certain that a request had no effect and may be made again."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An outcome, with what it binds its thread to, and the node results to keep."""

    outcome: Outcome
    binding: Binding | None = None
    results: str = ""


async def ask_agent(project: ProjectClient, plan: AskAgent, turn: TurnId, thread: ThreadKey, lease: Lease) -> Answer:
    """Send one message to an agent. Raises one of `NOT_ARRIVED` where it may be sent again; all else is an outcome.

    If the service does not know the session any more while the agent is still there, the same message begins a new
    session: the one permitted second sending.
    """
    try:
        answer, is_new = await project.send_message(plan.agent, plan.message, session_id=plan.session), False
    except NOT_ARRIVED:
        raise
    except NotFound as exc:
        if plan.session is None or not await _agent_is_there(project, plan.agent):
            return Answer(_failed(exc, turn))
        lease.check()
        try:
            answer, is_new = await project.send_message(plan.agent, plan.message), True
        except NOT_ARRIVED:
            raise
        except ProjectError as second:
            return Answer(_failed(second, turn))
    except ProjectError as exc:
        return Answer(_failed(exc, turn))
    return _answered(plan, answer, turn, thread, is_new=is_new)


async def _agent_is_there(project: ProjectClient, agent: int) -> bool:
    try:
        await project.get_agent(agent)
    except ProjectError:
        return False
    return True


def _answered(plan: AskAgent, answer: ChatAnswer, turn: TurnId, thread: ThreadKey, *, is_new: bool) -> Answer:
    notes = [answers.SESSION_GONE] if is_new else []
    feedback = answers.Answered(turn, plan.agent, answer.sessionId)
    reply = answers.answer(answer.message, answer.toolsUsed, notes=notes, feedback=feedback)
    outcome = Outcome(what="answered", reply=reply, agent=plan.agent, session=answer.sessionId)
    return Answer(outcome, Binding(thread, answer.sessionId, plan.session, plan.agent))


def _failed(error: ProjectError, turn: TurnId) -> Outcome:
    if error.may_have_happened:
        return unknown(turn)
    return Outcome(what=type(error).__name__, reply=failures.failure(error, audience=Audience.THREAD))


def unknown(turn: TurnId) -> Outcome:
    """Nobody knows whether the agent got the message: say so, and offer to send it again."""
    return Outcome(what="unknown", reply=notices.outcome_unknown(turn), keeps_text=True)
