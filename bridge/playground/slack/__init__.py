"""An emulated Slack workspace: `EmulatedSlack`, the faults that it can show, and its sample people and channels."""

from bridge.playground.slack import sample
from bridge.playground.slack.changes import Change
from bridge.playground.slack.deliver import Delivery
from bridge.playground.slack.emulator import EmulatedSlack
from bridge.playground.slack.entities import Channel, File, Group, Message, Person, View
from bridge.playground.slack.faults import DropAfter, DropBefore, Error, Http, RateLimited, Slow
from bridge.playground.slack.responses import Response
from bridge.playground.slack.server import ApiCall
from bridge.playground.slack.sessions import StatusChange
from bridge.playground.slack.sockets import Connection

__all__ = [
    "ApiCall",
    "Change",
    "Channel",
    "Connection",
    "Delivery",
    "DropAfter",
    "DropBefore",
    "EmulatedSlack",
    "Error",
    "File",
    "Group",
    "Http",
    "Message",
    "Person",
    "RateLimited",
    "Response",
    "Slow",
    "StatusChange",
    "View",
    "sample",
]
