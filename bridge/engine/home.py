"""The Home tab, as features see it: what they add to it, how they read that, and when it's redrawn.

It's drawn for people who have it open, after anything that may change it, in the step that does so, or a second or two
after a turn of theirs has ended (`bridge.features.home.recent`): Redis queues the redraw only if they opened it within
the hour, and none waits already. If nothing has changed, nothing is published.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bridge.engine.projects import ServedProjects
from bridge.ids import PersonKey, ThreadKey, TurnId
from bridge.inbound import HomeOpened
from bridge.project.connection import DEFAULT
from bridge.queue.inbox import Inbox
from bridge.queue.keys import LOOKING, RECENT, milliseconds
from bridge.queue.scripting import Scripts, epoch_ms
from bridge.queue.writes import Write, only_if
from bridge.slack.blockkit.reply import Block

_TICKS = 3  # of the event loop

MOST_RECENT = 10
"""How many runs and conversations are stored for each person."""

MOST_UNSETTLED = 20
"""How many running runs and unknown outcomes are stored for each person."""


@dataclass(frozen=True, slots=True)
class Need:
    """Something that waits for a person, since *at*: the *blocks* that show it in Home, at most three."""

    at: datetime
    blocks: tuple[Block, ...]


class Reads:
    """Reads of Home's parts, sent to Redis together: those asked for at the same moment share one round trip.

    So a part must await nothing else between its reads.
    """

    def __init__(self, scripts: Scripts) -> None:
        self.keys = scripts.keys
        self._redis = scripts.redis
        self._waiting: list[tuple[Callable[[Any], object], asyncio.Future[list[Any]]]] = []

    async def ask(self, commands: Callable[[Any], object]) -> list[Any]:
        """Return Redis's answers to the *commands* that are called on a pipeline. Raises `StoreUnavailable`."""
        answer: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()
        self._waiting.append((commands, answer))
        if len(self._waiting) > 1:
            return await answer  # the first sends them all
        for _ in range(_TICKS):  # the others are asking now, some of them in a task of a task
            await asyncio.sleep(0)
        sent, self._waiting = self._waiting, []
        try:
            async with self._redis.pipeline(transaction=False) as pipe:
                ends = []
                for call, _ in sent:
                    call(pipe)
                    ends.append(len(pipe))
                answers = await pipe.execute()
        except BaseException as exc:
            for _, waiting in sent[1:]:  # the first is this one's own
                if isinstance(exc, Exception) and not waiting.done():
                    waiting.set_exception(exc)
                else:
                    waiting.cancel()
            raise
        for begin, end, (_, waiting) in zip([0, *ends], ends, sent, strict=False):
            if not waiting.done():
                waiting.set_result(answers[begin:end])
        return await answer


class Homes:
    """The writes by which the tabs of people are redrawn, for the step that changes what they show."""

    def __init__(
        self, scripts: Scripts, inbox: Inbox, projects: ServedProjects, *, now: Callable[[], datetime]
    ) -> None:
        self._redis = scripts.redis
        self._keys = scripts.keys
        self._inbox = inbox
        self._projects = projects
        self._now = now

    async def redraws_of_all(self, project: str) -> tuple[Write, ...]:
        """Return the writes that redraw the tabs about a *project* of all who have one open, at most `MOST_LOOKERS`.

        Raises `StoreUnavailable`.
        """
        since = epoch_ms(self._now() - LOOKING)
        looking = await self._redis.zrangebyscore(self._keys.lookers(), since, "+inf")
        people = [PersonKey.parse(str(person)) for person in looking]
        return tuple([write for person in people for write in self.redraws(person.team, person.user, project)])

    def redraws(self, team: str, user: str, project: str | None = None) -> tuple[Write, ...]:
        """Return the writes that redraw the Home tab of *user*, about the project it shows, if they have it open.

        With a *project*, it's redrawn only if it shows that one.
        """
        key, writes = self._keys.looking(PersonKey(team, user)), list[Write]()
        for shown in self._projects.connections:
            if project not in {None, shown.key}:
                continue
            home = HomeOpened(team=team, channel="", user=user, project=shown.key)
            redraw = self._inbox.queues(home, why="what it shows has changed")
            writes += only_if(
                key, {"project": shown.key or DEFAULT, "queued": ""}, ("field", key, 0, "queued", "1"), redraw
            )
        return tuple(writes)

    def thread(self, person: PersonKey, thread: ThreadKey, at: datetime) -> Write:
        """Return the write that lists a conversation in Home."""
        lives, key = milliseconds(RECENT), self._keys.recent_threads(person)
        return ("rank", key, lives, str(thread), epoch_ms(at), MOST_RECENT)

    def unsettled(self, person: PersonKey, turn: TurnId, at: datetime) -> Write:
        """Return the write that lists *turn* in Home: its run has begun, its outcome is unknown, or it was given up."""
        return ("rank", self._keys.unsettled(person), milliseconds(RECENT), turn, epoch_ms(at), MOST_UNSETTLED)

    def settled(self, person: PersonKey, turn: TurnId) -> Write:
        """Return the write that undoes `unsettled`."""
        return ("unrank", self._keys.unsettled(person), 0, turn)
