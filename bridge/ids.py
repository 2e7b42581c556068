"""Identifiers: made and parsed here, and opaque everywhere else.

They're stored in Redis and in Slack's message metadata, so changing a format is a migration.
"""

from __future__ import annotations

import re
import secrets
from datetime import UTC, datetime
from typing import Final, NamedTuple, NewType

_PERMALINK: Final = re.compile(r"https?://[^/\s]+/(?:[^?#\s]*/)?archives/([A-Z0-9]+)/p(\d+)(\d{6})(?:[?#]\S*)?")
_OF_THREAD: Final = re.compile(r"[?&]thread_ts=(\d{1,12}\.\d{6})(?=[&#]|$)")

ERASED_PERSON: Final = "erased"
"""Stands where the user ID of a person was whom `bridge forget` erased; it's nobody's."""

TurnId = NewType("TurnId", str)
"""A message, command, click or form in the queue: 16 random characters."""

Lane = NewType("Lane", str)
"""A queue processed in order: a Slack thread (``t:…``), or a single turn (``o:…``)."""


def new_turn_id() -> TurnId:
    """Return a new ID of 95 random bits, which no other process makes.

    It has no hyphens: a shell would take a leading one for an option, and a double click selects the whole ID.
    """
    return TurnId(secrets.token_urlsafe(12).replace("-", "_"))


def base_of(project: str) -> str:
    """Return the project that a record is about (`ProjectConnection.key`), whichever of its keys the record names."""
    return project.partition("+")[0]


def side_id(turn: TurnId, what: str) -> TurnId:
    """Return the ID of a turn's other message *what*, so that it isn't mistaken for the turn's answer."""
    return TurnId(f"{turn}.{what}")


class ThreadKey(NamedTuple):
    """A Slack thread: the installing *team*, the *channel*, and the ``ts`` of the thread's *root* message."""

    team: str
    channel: str
    root: str

    def __str__(self) -> str:
        """Return the stored form, for `parse`."""
        return f"{self.team}:{self.channel}:{self.root}"

    @classmethod
    def parse(cls, text: str) -> ThreadKey:
        """Parse the stored form. Raises ValueError."""
        team, channel, root = text.split(":")
        return cls(team, channel, root)

    def is_older_than(self, moment: datetime | None) -> bool:
        """Whether the thread was started before *moment*; False if *moment* is None."""
        return moment is not None and datetime.fromtimestamp(float(self.root), UTC) < moment


class MessageKey(NamedTuple):
    """A Slack message: *team*, *channel* and *ts*, which both events of a mention share."""

    team: str
    channel: str
    ts: str

    def __str__(self) -> str:
        """Return the stored form."""
        return f"{self.team}:{self.channel}:{self.ts}"


class PersonKey(NamedTuple):
    """A Slack *user* of a *team*, for what they do in one *project* (``""``: the default one, or any)."""

    team: str
    user: str
    project: str = ""

    def __str__(self) -> str:
        """Return the stored form."""
        return f"{self.team}:{self.user}:{self.project}" if self.project else f"{self.team}:{self.user}"

    @classmethod
    def parse(cls, stored: str) -> PersonKey:
        """Return the person whose stored form this is."""
        return cls(*stored.split(":", 2))


class InProject(NamedTuple):
    """The *id* of a session or workflow of a *project* (``""``: the default one)."""

    project: str
    id: int

    def __str__(self) -> str:
        """Return the stored form."""
        return f"{self.project}/{self.id}" if self.project else str(self.id)


class LinkedMessage(NamedTuple):
    """A message that a permalink leads to; *thread_ts* is ``""`` if the link doesn't name its thread."""

    channel: str
    ts: str
    thread_ts: str

    @classmethod
    def parse(cls, link: str) -> LinkedMessage | None:
        """Read a permalink, in angle brackets or not; None for anything else."""
        link = link.strip().strip("<>")
        match, thread = _PERMALINK.fullmatch(link), _OF_THREAD.search(link)
        return cls(match[1], f"{match[2]}.{match[3]}", thread[1] if thread else "") if match else None


def thread_lane(thread: ThreadKey) -> Lane:
    """Return the lane of a thread: its messages go to the agent one after another."""
    return Lane(f"t:{thread}")


def own_lane(turn: TurnId) -> Lane:
    """Return the lane of a turn that waits for no other: a command, a click, a workflow run."""
    return Lane(f"o:{turn}")
