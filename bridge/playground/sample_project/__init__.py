"""A project service with believable content, for trying the bridge and testing any client."""

from bridge.playground.local_server import DropAfter, DropBefore
from bridge.playground.sample_project.answers import Hang, PlannedAnswer, Proper
from bridge.playground.sample_project.conversation import scripted
from bridge.playground.sample_project.sample import SampleAgent, SampleWorkflow
from bridge.playground.sample_project.server import ProjectCall, SampleProject

__all__ = [
    "DropAfter",
    "DropBefore",
    "Hang",
    "PlannedAnswer",
    "ProjectCall",
    "Proper",
    "SampleAgent",
    "SampleProject",
    "SampleWorkflow",
    "scripted",
]
