"""A project service with believable content, to try the bridge on and to test any client of the service with."""

from bridge.playground.sample_project.answers import Answer, DropAfter, DropBefore, Hang, Proper
from bridge.playground.sample_project.conversation import scripted
from bridge.playground.sample_project.sample import Agent, Workflow
from bridge.playground.sample_project.server import ProjectCall, SampleProject

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
