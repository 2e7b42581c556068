"""Run a workflow, and keep its card up to date: one message from "running" to its result."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from bridge.errors import ProjectError, RecordNotUnderstood, SlackAmbiguous, SlackError
from bridge.features.conversations.ask import Answer
from bridge.features.outcome import Outcome
from bridge.features.plan import RunWorkflow
from bridge.features.show import RUN_MARK, place_of
from bridge.features.workflows import run_card as cards
from bridge.project import ProjectClient
from bridge.queue.journal import Journal
from bridge.queue.lanes import Taken
from bridge.queue.patience import Patience
from bridge.queue.records import Turn
from bridge.slack.blockkit.reply import Reply
from bridge.slack.history import MessageTag
from bridge.slack.indicators import after_a_while
from bridge.slack.people import Directory
from bridge.slack.post import ExistingParts, Say

log = logging.getLogger(__name__)

_NAME = 200  # characters of what is kept for Home


def to_json(plan: RunWorkflow) -> str:
    """The form in which the journal keeps what was started; `from_json` reads it."""
    return json.dumps({"workflow": plan.workflow, "name": plan.workflow_name, "input": plan.input})


def from_json(text: str) -> RunWorkflow:
    """Read what `to_json` made. Raises `RecordNotUnderstood`."""
    try:
        record = json.loads(text)
        return RunWorkflow(int(record["workflow"]), str(record["name"]), record["input"])
    except (ValueError, KeyError, TypeError) as exc:
        raise RecordNotUnderstood("run") from exc


class Runs:
    """Starts runs. Whatever happens is an outcome: a person stands by, and may start it once more."""

    def __init__(
        self,
        *,
        project: ProjectClient,
        say: Say,
        directory: Directory,
        journal: Journal,
        patience: Patience,
        now: Callable[[], datetime],
    ) -> None:
        self._project = project
        self._say = say
        self._directory = directory
        self._journal = journal
        self._patience = patience
        self._now = now

    async def run(self, taken: Taken, plan: RunWorkflow) -> tuple[Answer, Taken]:
        """Start one run and wait for its result. Also returns *taken* with the card that was posted meanwhile."""
        run = await self._described(taken, plan)
        turn = taken.turn

        async def show_card() -> None:
            nonlocal turn
            turn = await self._post_card(taken, run)

        began = self._now()
        async with after_a_while(show_card):
            answer = await self._started(plan, run, began)
        return answer, replace(taken, turn=turn)

    async def unknown(self, taken: Taken) -> Outcome:
        """An earlier worker may have started the run, and never heard what came of it."""
        run = await self._described(taken, from_json(taken.turn.run))
        return _outcome("unknown", cards.unknown(run), run, cards.OUTCOME_UNKNOWN)

    async def _described(self, taken: Taken, plan: RunWorkflow) -> cards.Run:
        user = taken.turn.body.user
        started_by = await self._directory.user_name(user)
        if started_by == user:  # an id tells people nothing
            started_by = ""
        return cards.Run(plan.workflow, plan.workflow_name, plan.input, started_by, taken.turn.id)

    async def _started(self, plan: RunWorkflow, run: cards.Run, began: datetime) -> Answer:
        try:
            result = await self._project.run_workflow(plan.workflow, plan.input)
        except ProjectError as exc:
            if exc.may_have_happened:
                return Answer(_outcome("unknown", cards.unknown(run), run, cards.OUTCOME_UNKNOWN))
            return Answer(_outcome(type(exc).__name__, cards.failed(run, exc, self._took(began)), run, cards.FAILED))
        results = json.dumps(result.nodeResults) if result.nodeResults else ""
        outcome = _outcome("ran", cards.finished(run, result, self._took(began)), run, result.status or cards.FINISHED)
        return Answer(outcome, results=results)

    def _took(self, began: datetime) -> timedelta:
        return self._now() - began

    async def _post_card(self, taken: Taken, run: cards.Run) -> Turn:
        """Show that it runs. Where Slack does not take that, the result is posted as a new message later."""
        try:
            tag = MessageTag(RUN_MARK, taken.turn.id)
            ts = await self._say.post(place_of(taken.turn.body), cards.running(run), tag, ExistingParts())
        except SlackError as exc:
            log.info("the card of a run could not be posted yet", extra={"detail": exc.detail})
            return replace(taken.turn, is_card_in_doubt=isinstance(exc, SlackAmbiguous))
        await self._patience.through_outages(lambda: self._journal.card(taken, ts))
        return replace(taken.turn, card=ts)


def _outcome(what: str, card: Reply, run: cards.Run, ended: str) -> Outcome:
    return Outcome(
        what=what, reply=card, mark=RUN_MARK, workflow=run.workflow, ran=run.name[:_NAME], ended=ended[:_NAME]
    )
