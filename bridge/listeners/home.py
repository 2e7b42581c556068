"""The Home tab: that somebody opened it is kept like anything else that comes in, and a worker draws it.

https://docs.slack.dev/reference/events/app_home_opened
"""

from __future__ import annotations

from slack_bolt.async_app import AsyncApp

from bridge.inbound import HomeOpened
from bridge.listeners.door import Body, Door
from bridge.slack.api import Identity
from bridge.slack.payloads import mapping, text

_HOME = "home"


def parse(body: Body, identity: Identity) -> HomeOpened:
    """Make a value of an ``app_home_opened`` event.

    Slack does not say in it where the person belongs, and Home shows what the project has; so they count as somebody
    of another workspace until they are looked up.
    """
    event = mapping(body.get("event"))
    return HomeOpened(
        team=identity.team,
        channel=text(event, "channel"),
        user=text(event, "user"),
        is_shared=True,
        view_hash=text(mapping(event.get("view")), "hash"),
    )


class Home:
    """The surface of the Home tab."""

    def __init__(self, door: Door, identity: Identity) -> None:
        self._door = door
        self._identity = identity

    def register(self, app: AsyncApp) -> None:
        """Listen to this tab only; the other one is the direct message."""
        app.event("app_home_opened", matchers=[_is_home])(self.on_opened)

    async def on_opened(self, body: Body) -> None:
        """Keep it. Raises `NotTaken`."""
        await self._door.take(parse(body, self._identity), identity=text(body, "event_id"))


async def _is_home(body: Body) -> bool:
    return mapping(body.get("event")).get("tab") == _HOME
