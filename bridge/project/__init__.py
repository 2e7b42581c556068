"""The project service: a client for its eight operations, and their data. Usable without Slack."""

from bridge.project.catalog import Catalog
from bridge.project.client import ProjectClient
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
    "Project",
    "ProjectClient",
    "RunResult",
    "Stats",
    "Workflow",
    "WorkflowDetail",
]
