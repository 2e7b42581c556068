"""What there is in a workspace, and how Slack's JSON shows each thing."""

from bridge.playground.slack.entities.channels import Channel
from bridge.playground.slack.entities.files import File
from bridge.playground.slack.entities.json import Json
from bridge.playground.slack.entities.messages import Message
from bridge.playground.slack.entities.people import Group, Person
from bridge.playground.slack.entities.views import View
from bridge.playground.slack.entities.work import Execution, Scheduled

__all__ = ["Channel", "Execution", "File", "Group", "Json", "Message", "Person", "Scheduled", "View"]
