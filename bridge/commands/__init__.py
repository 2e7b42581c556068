"""Everything that can be typed, pressed or filled in: one file for each slash command, and this list of them."""

from __future__ import annotations

from bridge.commands import agents, conversation, project, reports, stats, workflows
from bridge.commands.routing import Router

router = Router(workflows.router, agents.router, project.router, stats.router, reports.router, conversation.router)
bang_line = router.bang_line
