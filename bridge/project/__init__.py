"""The project service: a client for its eight operations, and what they answer. Usable without Slack."""

# ruff: noqa: E402 - one line has to stand before httpx is read
import sys

# httpx' own command line is read with it wherever typer has brought rich along: 35 ms of each start, for nothing.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type] # so that it is not found, says `import`

from bridge.project.catalog import Catalog
from bridge.project.client import Observe, ProjectClient
from bridge.project.models import (
    Agent,
    AgentDetail,
    ChatAnswer,
    NamedCount,
    Project,
    RunResult,
    Stats,
    Workflow,
    WorkflowDetail,
)

__all__ = [
    "Agent",
    "AgentDetail",
    "Catalog",
    "ChatAnswer",
    "NamedCount",
    "Observe",
    "Project",
    "ProjectClient",
    "RunResult",
    "Stats",
    "Workflow",
    "WorkflowDetail",
]
