"""A project service with believable content, to try the bridge on and to test any client of the service with."""

from bridge.playground.project.answers import Answer, DropAfter, DropBefore, Hang, Proper
from bridge.playground.project.conversation import scripted
from bridge.playground.project.sample import Agent, Workflow
from bridge.playground.project.server import ProjectCall, SampleProject

__all__ = [
    "Agent",
    "Answer",
    "DropAfter",
    "DropBefore",
    "Hang",
    "ProjectCall",
    "Proper",
    "SampleProject",
    "Workflow",
    "scripted",
]
