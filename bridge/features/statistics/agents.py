"""How the agents and workflows of a project are doing, for ``/stats agents`` and for reports."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final

from bridge.errors import ProjectError
from bridge.features.deps import Deps
from bridge.features.statistics.aggregating import WorkStore
from bridge.features.statistics.earlier import REST
from bridge.features.statistics.layout import NAME, WorkRow, work_card
from bridge.features.statistics.work import Tally
from bridge.metrics import MOST_COUNTED
from bridge.names.matching import namesakes
from bridge.project.connection import DEFAULT, ProjectConnection
from bridge.project.models import Agent, Workflow
from bridge.queue.scripting import from_epoch_ms
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Attachment, Audience, Reply

_COLUMNS: Final = (
    "kind", "id", "name", "turns", "people", "threads", "median_seconds", "p95_seconds", "good", "failed", "stopped",
    "unknown", "votes_up", "votes_down",
)  # fmt: skip
_KINDS: Final = {"a": "agent", "w": "workflow"}
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet takes for a formula."""


async def agents_reply(
    deps: Deps,
    project: ProjectConnection,
    since: datetime,
    *,
    audience: Audience = Audience.PRIVATE,
) -> tuple[Reply, Attachment]:
    """Return what shows what a project's agents and workflows did since a moment, and the same as CSV.

    Raises `StoreUnavailable`.
    """
    now = deps.now()
    done = await WorkStore(deps.scripts).since(since, now, project.key)
    agents, workflows = list[Agent](), list[Workflow]()
    with suppress(ProjectError):  # then they're shown by their IDs
        agents += await project.catalog.get_agents()
        workflows += await project.catalog.get_workflows()
    names = _names("a", agents) | _names("w", workflows)
    named = {"a": project.catalog.agent_name, "w": project.catalog.workflow_name}
    for key in done.work:
        if key.endswith(REST):
            names[key] = "Others"
        elif key not in names:  # the list may be a part
            name = await named[key[:1]](int(key[1:]), is_current=True)
            names[key] = name or f"{_KINDS[key[:1]].capitalize()} {key[1:]}"
    rows = [WorkRow(key, names[key], work) for key, work in done.work.items() if work.turns]
    rows.sort(key=lambda row: (row.key.endswith(REST), -row.work.turns))
    of_agents, of_workflows = ([row for row in rows if row.key[:1] == kind] for kind in ("a", "w"))
    file = Attachment(name=f"agents-{now:%Y-%m-%d}.csv", content=_csv([*of_agents, *of_workflows]))
    card = work_card(
        of_agents,
        of_workflows,
        [*done.outages, *await _outage_now(deps, project, now)],
        done.since,
        project=project.name if deps.projects.is_several else "",
        audience=audience,
    )
    return card, file


async def exposed(deps: Deps, project: ProjectConnection, since: datetime) -> list[tuple[str, tuple[str, ...], float]]:
    """Return the numbers of a project's agents for `bridge.metrics.Metrics.lately`. Raises `StoreUnavailable`."""
    now, here = deps.now(), project.key or DEFAULT
    done = await WorkStore(deps.scripts).since(since, now, project.key)
    agents = sorted(((key, work) for key, work in done.work.items() if key[:1] == "a"), key=lambda item: -item[1].turns)
    shown = dict[str, Tally]()
    for at, (key, work) in enumerate(agents):
        is_own = at < MOST_COUNTED and not key.endswith(REST)
        shown.setdefault(key[1:] if is_own else "other", Tally()).add(work)
    numbers: list[tuple[str, tuple[str, ...], float]] = []
    for agent, work in shown.items():
        numbers += [
            ("agent_people", (agent, here), work.people),
            ("agent_threads", (agent, here), work.threads),
            ("agent_votes", (agent, "up", here), work.up),
            ("agent_votes", (agent, "down", here), work.down),
        ]
    outages = [*done.outages, *await _outage_now(deps, project, now)]
    length = sum((min(end, now) - max(begin, since)).total_seconds() for begin, end in outages)
    return [*numbers, ("outages", (here,), len(outages)), ("outage_seconds", (here,), length)]


async def _outage_now(deps: Deps, project: ProjectConnection, now: datetime) -> list[tuple[datetime, datetime]]:
    since = await deps.scripts.redis.hget(deps.scripts.keys.service_down(), project.id)
    return [(from_epoch_ms(since), now)] if since else []


def _names(kind: str, items: Sequence[Agent] | Sequence[Workflow]) -> dict[str, str]:
    shared = namesakes(items, NAME)
    return {
        f"{kind}{item.id}": kit.with_id(item.name, item.id, NAME) if item.id in shared else item.name for item in items
    }


def _csv(rows: Sequence[WorkRow]) -> str:
    """Return the rows as CSV; a name can't become a formula of a spreadsheet."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for key, called, tally in rows:
        kind, name = _KINDS[key[:1]], f"'{called}" if called.startswith(_FORMULA) else called
        times = (tally.percentile(share) for share in (0.5, 0.95))
        median, p95 = ("" if seconds is None else f"{seconds:.3f}" for seconds in times)
        ends = (tally.good, tally.failed, tally.stopped, tally.unknown, tally.up, tally.down)
        writer.writerow((kind, key[1:], name, tally.turns, tally.people, tally.threads, median, p95, *ends))
    return text.getvalue()
