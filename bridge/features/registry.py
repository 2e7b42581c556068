"""The list of features, from which dispatch, help, the manifest and the Bolt listeners follow."""

from __future__ import annotations

from bridge.engine.dispatch import Features
from bridge.features.agents.commands import agents
from bridge.features.alerts.commands import alerts
from bridge.features.approvals.commands import approvals
from bridge.features.channels.commands import channels
from bridge.features.conversations.commands import conversations
from bridge.features.feedback.commands import feedback
from bridge.features.home.commands import home
from bridge.features.incidents.commands import incidents
from bridge.features.project_info.commands import project_info
from bridge.features.schedules.commands import schedules
from bridge.features.statistics.commands import stats
from bridge.features.why.commands import why
from bridge.features.workflows.commands import workflows

features = Features(
    workflows,
    agents,
    channels,
    project_info,
    stats,
    schedules,
    alerts,
    approvals,
    conversations,
    home,
    feedback,
    why,
    incidents,
)
