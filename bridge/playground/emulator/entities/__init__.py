"""The objects of a workspace, with Slack's JSON for each."""

from bridge.playground.emulator.entities.channels import Channel
from bridge.playground.emulator.entities.files import File
from bridge.playground.emulator.entities.json import Json
from bridge.playground.emulator.entities.messages import Message
from bridge.playground.emulator.entities.people import Group, Member
from bridge.playground.emulator.entities.views import View

__all__ = ["Channel", "File", "Group", "Json", "Member", "Message", "View"]
