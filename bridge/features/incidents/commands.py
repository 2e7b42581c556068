"""The jobs that look for incidents, and the messages about them."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Final

from bridge.engine.feature import Feature
from bridge.engine.results import Done, Outcome, Result
from bridge.engine.turn import Turn
from bridge.features.deps import Deps
from bridge.features.episodes.telling import tell, unless_posted
from bridge.features.incidents import layout
from bridge.features.incidents.records import IncidentChange, PostedIncident
from bridge.features.incidents.watching import IncidentStore, measure_redis, report_troubles, watch
from bridge.queue.keys import INCIDENT, milliseconds
from bridge.queue.scripting import epoch_ms

log = logging.getLogger(__name__)

MARK: Final = "bridge_incident"

incidents = Feature("incidents")
incidents.every(timedelta(seconds=10), everywhere=True)(report_troubles)
incidents.every(timedelta(seconds=30))(watch)
incidents.every(timedelta(minutes=1), everywhere=True)(measure_redis)
incidents.outcomes |= {"incident begins": "posted an incident", "incident changes": "posted a change of an incident"}
incidents.outcomes |= {"incident again": "posted an incident that's back", "incident ends": "posted an incident's end"}


@incidents.kind(IncidentChange)
async def changed(deps: Deps, turn: Turn, change: IncidentChange) -> Result:
    """Post an incident as it is now, or edit its message and say in its thread what has changed."""
    incident = await IncidentStore(deps.scripts).get(change.incident)
    if incident is None or incident.since is None:
        return Done("the incident is over")
    what, facts = f"incident {change.does}", (incident.kind, incident.detail, incident.since)
    reply = layout.on(*facts, incident.project_name)
    if incident.ended is not None:
        reply = layout.over(*facts, incident.ended, incident.project_name)
    if change.does != "begins":
        return await tell(deps, turn, change, reply, layout.news(change), what=what, mark=MARK)
    if incident.post:
        return Done("the incident was posted")
    return Outcome(
        what=what, reply=reply, mark=MARK, after=(PostedIncident(incident=incident.id, since=incident.since),)
    )


@incidents.once_posted(PostedIncident)
async def posted(deps: Deps, turn: Turn, incident: PostedIncident, ts: str) -> None:
    """Store where an incident was posted."""
    key = deps.scripts.keys.incident(incident.incident)
    turn.stage(*unless_posted(key, incident.since, ("field", key, milliseconds(INCIDENT), "post", ts)))


@incidents.once_refused(PostedIncident)
async def refused(deps: Deps, turn: Turn, incident: PostedIncident, error: str) -> None:
    """Note that Slack refused an incident's message, which is tried again later."""
    log.error("an incident can't be posted; see bridge check", extra={"incident": incident.incident, "error": error})
    key, now = deps.scripts.keys.incident(incident.incident), str(epoch_ms(deps.now()))
    turn.stage(*unless_posted(key, incident.since, ("field", key, 0, "refused", now)))
