"""An emulated Slack workspace: `EmulatedSlack`, its faults, and its sample people and channels."""

from bridge.playground.emulator import sample
from bridge.playground.emulator.deliver import AppDelivery
from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.playground.emulator.entities import Channel, File, Group, Member, Message, View
from bridge.playground.emulator.faults import Error, Http, RateLimited, Redirect, Slow
from bridge.playground.emulator.responses import Response
from bridge.playground.emulator.server import ApiCall
from bridge.playground.emulator.sessions import StatusChange
from bridge.playground.emulator.sockets import Connection
from bridge.playground.local_server import DropAfter, DropBefore

__all__ = [
    "ApiCall",
    "AppDelivery",
    "Channel",
    "Connection",
    "DropAfter",
    "DropBefore",
    "EmulatedSlack",
    "Error",
    "File",
    "Group",
    "Http",
    "Member",
    "Message",
    "RateLimited",
    "Redirect",
    "Response",
    "Slow",
    "StatusChange",
    "View",
    "sample",
]
