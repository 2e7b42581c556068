"""Feedback on answers: one vote per person and answer, which can be changed.

A vote is stored for `bridge.queue.keys.VOTES`.
"""

from __future__ import annotations

from bridge.engine.feature import Feature
from bridge.engine.results import Result, shown
from bridge.engine.turn import Turn
from bridge.features.buttons import FEEDBACK
from bridge.features.deps import Deps
from bridge.features.feedback.votes import DOWN, PERSON, UP, read_vote
from bridge.inbound import Click
from bridge.queue.audit import named
from bridge.queue.keys import ENDED, ENDED_LENGTH, VOTED_LENGTH, VOTES, milliseconds
from bridge.queue.scripting import epoch_ms, or_empty
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Reply

feedback = Feature("feedback")
feedback.outcomes |= {"vote new": "voted", "vote same": "voted the same again"}


@feedback.button(FEEDBACK, label="feedback buttons")
async def vote(deps: Deps, turn: Turn, click: Click) -> Result:
    """Store a person's vote on an answer."""
    is_up, of = read_vote(click.value)
    given, now, lives = UP if is_up else DOWN, epoch_ms(deps.now()), milliseconds(VOTES)
    key, voted, mine = deps.scripts.keys.votes(of.turn), deps.scripts.keys.voted(), f"{PERSON}{turn.user}"
    before = str(await deps.scripts.redis.hget(key, mine) or "").partition(" ")[0]
    await deps.scripts.redis.zremrangebyscore(voted, "-inf", now - lives)
    how = "same" if before == given else "changed" if before else "new"
    if how != "same":
        fields = {"v": "1", "agent": of.agent, "session": or_empty(of.session), mine: f"{given} {now}"}
        if turn.project_key:
            fields["project"] = turn.project_key
        turn.stage(*(("field", key, lives, name, str(value)) for name, value in fields.items()))
        turn.stage(("rank", voted, lives, of.turn, now, VOTED_LENGTH))
        facts = ("at", str(now), "of", f"agent {of.agent}", "how", given, "before", before, "project", turn.project_key)
        turn.stage(("append", deps.scripts.keys.ended("vote"), milliseconds(ENDED), ENDED_LENGTH, *facts))
    deps.metrics.feedback.labels(given, how).inc()
    return shown(thanks(is_up=is_up), f"vote {how}", named("agent", of.agent))


def thanks(*, is_up: bool) -> Reply:
    """Thank for a vote."""
    more = "" if is_up else " Reply in this thread to say what was missing."
    return kit.reply(f"Thanks for the feedback.{more}")
