"""`Deps`: the parts of the bridge that handlers use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bridge.engine.deps import EngineDeps
from bridge.engine.feature import HomeSection, NeedsOf
from bridge.engine.standing import Standing
from bridge.engine.unknown_names import GateCheck
from bridge.features.agents.faces import Faces
from bridge.features.agents.handles import Handles
from bridge.features.approvals.requesting import Approvals
from bridge.features.channels.settings import Channels
from bridge.features.conversations.contents import PartReader
from bridge.features.conversations.context import Context
from bridge.features.conversations.sessions import Sessions
from bridge.features.home.first_words import FirstWords
from bridge.features.home.seen import SeenHomes
from bridge.features.incidents.incident import Troubles
from bridge.features.statistics.reader import Statistics
from bridge.features.statistics.snapshots import SnapshotStore
from bridge.metrics import Metrics
from bridge.project.connection import ProjectConnection


@dataclass(frozen=True, slots=True, kw_only=True)
class Deps(EngineDeps):
    """The parts of a bridge that handlers use.

    *gates* looks for rules without an effect. *troubles* are what this process knows to be wrong, *team* is the bot's
    workspace, and *ops_channel* the channel for incidents, or ``""``. *store_since* returns since when the store has
    data. *workspace* is the workspace's address in Slack. With *names_caller*, the service learns who asks. *long_run*
    is how long a run takes before its card offers to notify people.
    """

    approvals: Approvals
    sessions: Sessions
    channels: Channels
    faces: Faces
    handles: Handles
    seen_homes: SeenHomes
    first_words: FirstWords
    context: Context
    parts: PartReader
    store_since: Callable[[], datetime | None]
    session_lifetime: timedelta
    metrics: Metrics
    home_sections: Sequence[HomeSection]
    needs: Sequence[NeedsOf]
    standing: Sequence[Standing]
    gates: GateCheck
    troubles: Troubles
    team: str = ""
    ops_channel: str = ""
    workspace: str = ""
    names_caller: bool = False
    long_run: timedelta = timedelta(minutes=1)

    def statistics(self, project: ProjectConnection) -> Statistics:
        """Return the statistics of *project*, with what was recorded of them."""
        name = project.name if self.projects.is_several else ""
        return Statistics(project.client, SnapshotStore(self.scripts, project.key), self.now, name)
