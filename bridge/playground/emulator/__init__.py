"""An emulated Slack workspace: `EmulatedSlack`, the faults that it can show, and its sample people and channels."""

from bridge.playground.emulator import sample
from bridge.playground.emulator.changes import Change
from bridge.playground.emulator.deliver import Delivery
from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.playground.emulator.entities import Channel, File, Group, Message, Person, View
from bridge.playground.emulator.faults import DropAfter, DropBefore, Error, Http, RateLimited, Slow
from bridge.playground.emulator.responses import Response
from bridge.playground.emulator.server import ApiCall
from bridge.playground.emulator.sessions import StatusChange
from bridge.playground.emulator.sockets import Connection

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
