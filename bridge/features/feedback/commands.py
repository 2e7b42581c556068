"""Feedback on answers: one vote per person and answer, which can be changed.

A vote is stored for `bridge.queue.keys.VOTES`.
"""

from __future__ import annotations

import re

from bridge.engine.feature import Feature
from bridge.engine.results import Result, shown
from bridge.engine.turn import Turn
from bridge.errors import ControlNotUnderstood
from bridge.features.buttons import FEEDBACK
from bridge.features.deps import Deps
from bridge.features.statistics.aggregating import WorkStore
from bridge.inbound import Click
from bridge.queue.finished_turns import named
from bridge.queue.keys import VOTES, milliseconds
from bridge.queue.scripting import epoch_ms
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Reply

_VOTE = re.compile(r"(?P<vote>up|down):(?P<turn>[\w-]{1,64}):(?P<agent>-?[0-9]{1,1000}):(?:-?[0-9]{1,1000})?")

feedback = Feature("feedback")
feedback.outcomes |= {"vote new": "voted", "vote same": "voted the same again"}


@feedback.button(FEEDBACK, label="feedback buttons")
async def vote(deps: Deps, turn: Turn, click: Click) -> Result:
    """Store a person's vote on an answer."""
    match = _VOTE.fullmatch(click.value)
    if match is None:
        raise ControlNotUnderstood(FEEDBACK)
    voted, agent, now = match["vote"], int(match["agent"]), epoch_ms(deps.now())
    key, mine = deps.scripts.keys.votes(match["turn"]), f"u:{turn.user}"
    before = str(await deps.scripts.redis.hget(key, mine) or "").partition(" ")[0]
    how = "same" if before == voted else "changed" if before else "new"
    if how != "same":
        turn.stage(("field", key, milliseconds(VOTES), mine, f"{voted} {now}"))
        work = WorkStore(deps.scripts)
        turn.stage(*work.vote(f"agent {agent}", turn.project_key, voted, before, deps.now()))
    deps.metrics.feedback.labels(voted, how).inc()
    return shown(thanks(is_up=voted == "up"), f"vote {how}", named("agent", agent))


def thanks(*, is_up: bool) -> Reply:
    """Thank for a vote."""
    more = "" if is_up else " Reply in this thread to say what was missing."
    return kit.reply(f"Thanks for the feedback.{more}")
