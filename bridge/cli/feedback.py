"""`bridge feedback`: votes on the agents' answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

import typer

from bridge.cli.printing import columns, to_json
from bridge.cli.store import JsonLinesOption, SinceOption, in_store, length_of_time

if TYPE_CHECKING:
    from bridge.features.feedback.votes import Vote
    from bridge.queue.scripting import Scripts

NONE: Final = "No votes in this period. People vote with the buttons below an answer."
_FORM: Final = "{:<12}  {:>5}  {:>5}  {}"
_LATEST: Final = 5


def feedback(
    *,
    since: SinceOption = "7d",
    as_json: JsonLinesOption = False,
) -> None:
    """Show the votes on agents' answers.

    Shows totals for each agent or, with --json, each vote. Message texts aren't recorded.
    """
    beginning = datetime.now(UTC) - length_of_time(since)

    async def show(scripts: Scripts) -> int:
        from bridge.features.feedback.votes import votes_since  # noqa: PLC0415 - see `store`

        votes = [vote async for vote in votes_since(scripts, beginning)]
        for line in map(to_json, votes) if as_json else table(votes):
            typer.echo(line)
        return 0

    in_store(show)


def table(votes: Iterable[Vote]) -> list[str]:
    """Count the votes for each agent, and list the sessions of its latest bad answers."""
    of_agents: defaultdict[int, list[Vote]] = defaultdict(list)
    for vote in votes:
        of_agents[vote.agent or 0].append(vote)
    lines = [_FORM.format("agent", "good", "bad", "sessions with the latest bad answers")] if of_agents else [NONE]
    for agent, cast in sorted(of_agents.items()):
        bad = sorted((vote for vote in cast if vote.vote == "down"), key=lambda vote: vote.at, reverse=True)
        sessions = list(dict.fromkeys(str(vote.session) for vote in bad if vote.session is not None))
        counts = (str(agent or "-"), str(len(cast) - len(bad)), str(len(bad)))
        lines.append(columns(_FORM, *counts, ", ".join(sessions[:_LATEST])))
    return lines
