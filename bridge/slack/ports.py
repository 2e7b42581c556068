"""What turns need of Slack, as protocols: `bridge.slack` implements them and may not be imported from here.

Imports point down, and effects point up; these few signatures are where the two cross.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from bridge.errors import SlackUnreachable
from bridge.ids import TurnId
from bridge.slack.blockkit.reply import Reply, View

RESPONSE_URL = "response_url"
"""The method of a `SlackError` that is about a post by response_url."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where everybody sees a message: a *channel*, and a thread in it (``""``: the channel itself)."""

    channel: str
    thread_ts: str = ""


@dataclass(frozen=True, slots=True)
class Whom:
    """Whom only one person's message reaches: *user* in *channel*, by *response_url* where there is one."""

    channel: str
    user: str
    thread_ts: str = ""
    response_url: str = ""

    @property
    def can_be_told(self) -> bool:
        """Whether there is any way to them."""
        return bool(self.response_url or self.channel)


@dataclass(frozen=True, slots=True)
class Mark:
    """What a message carries as metadata, so that it is found again: ``event_type`` and its payload.

    *kind* is ``bridge_turn`` (an agent's answer, or a notice in its place), ``bridge_run`` or ``bridge_root``.
    Metadata is readable by everybody in the workspace: ids only.
    """

    kind: str
    turn: TurnId
    agent: int | None = None
    session: int | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Own messages that carry a turn's mark: the ``ts`` of each by its part number (from 0)."""

    parts: dict[int, str]


@dataclass(frozen=True, slots=True)
class Recalled:
    """What the metadata of a thread's answers says: the *agent* and the *session* of the newest one."""

    agent: int
    session: int


@dataclass(frozen=True, slots=True)
class Said:
    """What somebody said in a thread: a person by id, or an *app* by its name; *text* has Slack's escapes."""

    user: str
    app: str
    text: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ThreadRead:
    """What a thread says, read once: what the bot's own answers *recalled*, and what others said.

    The *root*, whoever wrote it, and the *newest* after it, oldest first; *left_out* were more. A reading that was
    *cut_short* has only the beginning.
    """

    recalled: Recalled | None = None
    root: Said | None = None
    newest: tuple[Said, ...] = ()
    left_out: int = 0
    cut_short: SlackUnreachable | None = None

    @property
    def all(self) -> tuple[Said, ...]:
        """Root and newest."""
        return (*((self.root,) if self.root else ()), *self.newest)


class Say(Protocol):
    """The only way out to Slack. Every method may raise `bridge.errors.SlackError`.

    Nothing here is called when the lease is about to run out, and no call takes longer than the Slack
    time-out (10 s): waits for a rate limit end with `SlackUnreachable` instead, which says when to try again.
    """

    async def post(self, place: Place, reply: Reply, mark: Mark, there: Found) -> str:
        """Post a reply, as several messages where it is long; parts that are *there* already are left out.

        What it posts it adds to *there*, so that the call can be repeated after an error. Returns the ``ts`` of the
        first message. Steps down the ladder when Slack refuses the blocks.
        """
        ...

    async def find(self, place: Place, turn: TurnId, since: datetime) -> Found:
        """Look for own messages with the mark of *turn*, not older than *since*."""
        ...

    async def read_thread(self, place: Place, after: str = "", before: str = "") -> ThreadRead:
        """Read which session a thread's own messages continued last, and what others said after and before a ``ts``."""
        ...

    async def whisper(self, whom: Whom, reply: Reply, there: Found | None = None) -> None:
        """Show a reply to one person only; `replaces_original` works where there is a response_url.

        Of what is *there* already, see `post`.
        """
        ...

    async def respond(self, response_url: str, reply: Reply, there: Found) -> None:
        """Show a reply to the channel by response_url, where the bot itself may not post. Of *there*, see `post`."""
        ...

    async def update(self, channel: str, ts: str, reply: Reply, mark: Mark) -> None:
        """Replace an own message; may be repeated freely."""
        ...

    @property
    def is_accepted(self) -> bool:
        """Whether Slack accepts the bot's token. Where it does not, nothing is to be begun."""
        ...

    async def until_accepted(self) -> None:
        """Wait until it does."""
        ...

    async def open_form(self, trigger_id: str, view: View) -> None:
        """Open a modal."""
        ...

    async def publish_home(self, user: str, view: View, view_hash: str) -> None:
        """Show the Home tab of *user*; refused with ``hash_conflict`` where it is no longer the one of *view_hash*."""
        ...

    async def working(self, place: Place, status: str) -> None:
        """Show that an agent works in a thread; best effort, never raises."""
        ...

    async def idle(self, place: Place) -> None:
        """Take that sign away; best effort, never raises."""
        ...

    async def entitle(self, place: Place, title: str) -> None:
        """Name the conversation of a thread; best effort, never raises."""
        ...

    async def suggest(self, channel: str, prompts: list[dict[str, str]]) -> None:
        """Offer up to four prompts (``title``, ``message``) in a direct message; best effort, never raises."""
        ...

    async def waits(self, whom: Whom, ts: str, line: Reply) -> None:
        """Show at the message *ts* that it waits, or tell its author with *line*; best effort, never raises."""
        ...

    async def waits_no_more(self, channel: str, ts: str) -> None:
        """Take that sign away; best effort, never raises."""
        ...


class Directory(Protocol):
    """People and channels by their Slack ids; cached, and never failing over a name."""

    async def user_name(self, user: str) -> str:
        """The display name, or the id where it cannot be read."""
        ...

    async def channel_name(self, channel: str) -> str:
        """The name without ``#``, or the id where it cannot be read."""
        ...

    async def channel_called(self, name: str, user: str) -> str:
        """The id of the channel that *user* means by ``#name``; ``""`` where the bot knows of none."""
        ...

    async def time_zone(self, user: str) -> str:
        """The time zone (``Europe/Berlin``), or ``""`` where it cannot be read."""
        ...

    async def may_post(self, channel: str) -> bool:
        """Whether the bot is in *channel*; True where that cannot be known before it posts there."""
        ...

    async def in_group(self, user: str, group: str) -> bool:
        """Whether *user* is in the user group (``S…``). Raises `SlackError` where that cannot be known."""
        ...

    async def is_home(self, user: str) -> bool:
        """Whether *user* belongs to the installing workspace. Raises `SlackError` where that cannot be known."""
        ...

    async def is_bot(self, user: str) -> bool:
        """Whether *user* is the bot of an app; False where that cannot be known."""
        ...

    async def is_guest(self, user: str) -> bool:
        """Whether *user* is anything less than a full member. Raises `SlackError` where that cannot be known."""
        ...
