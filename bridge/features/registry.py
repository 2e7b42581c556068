"""Everything that can be typed, pressed or filled in: a folder for each feature, and this list of their commands."""

from __future__ import annotations

from bridge.features.agents import commands as agents
from bridge.features.conversations import commands as conversations
from bridge.features.project_info import commands as project_info
from bridge.features.reports import commands as reports
from bridge.features.routing import Router
from bridge.features.stats import commands as stats
from bridge.features.workflows import commands as workflows

router = Router(
    workflows.router, agents.router, project_info.router, stats.router, reports.router, conversations.router
)
bang_line = router.bang_line
