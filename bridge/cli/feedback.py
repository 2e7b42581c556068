"""`bridge feedback`: votes on the agents' answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from bridge.cli.names import DisplayNames, opened_names
from bridge.cli.printing import columns, form_for, moment, out, to_json
from bridge.cli.store import JsonLinesOption, SinceOption, in_store, length_of_time
from bridge.features.feedback.votes import Vote, votes_since
from bridge.queue.scripting import Scripts

_LATEST: Final = 5


def feedback(
    *,
    since: SinceOption = "7d",
    as_json: JsonLinesOption = False,
) -> None:
    """Show the votes on agents' answers.

    Shows totals for each agent or, with --json, each vote.
    """
    length = length_of_time(since)

    async def show(scripts: Scripts) -> int:
        beginning = scripts.clock.now() - length
        votes = [vote async for vote in votes_since(scripts, beginning)]
        if as_json:
            lines = [to_json(vote) for vote in votes]
        else:
            async with opened_names() as names:
                await names.look_up_agents()
            lines = table(votes, names)
            if not votes:
                lines = [f"No votes since {moment(beginning)}. People vote with the buttons below an answer."]
        for line in lines:
            out(line)
        return 0

    in_store(show)


def table(votes: Iterable[Vote], names: DisplayNames) -> list[str]:
    """Count the votes for each agent, and list the sessions of its latest bad answers."""
    of_agents: defaultdict[tuple[str, int], list[Vote]] = defaultdict(list)
    for vote in votes:
        of_agents[vote.project, vote.agent or 0].append(vote)
    rows = [("agent", "good", "bad", "sessions with the latest bad answers")]
    for (project, agent), cast in sorted(of_agents.items()):
        bad = sorted((vote for vote in cast if vote.vote == "down"), key=lambda vote: vote.at, reverse=True)
        sessions = list(dict.fromkeys(str(vote.session) for vote in bad if vote.session is not None))
        counts = (f"{len(cast) - len(bad):>4}", f"{len(bad):>3}")
        name = f"agent {agent} @{project}" if project else names.agent(agent)
        rows.append((name if agent else "unknown", *counts, ", ".join(sessions[:_LATEST])))
    form = form_for(rows)
    return [columns(form, *row) for row in rows]
