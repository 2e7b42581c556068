"""People writing in several threads at once, message after message, whatever happens meanwhile.

They don't wait for a message to be accepted. So Slack's retries arrive among later messages, and go before any
message that hasn't started.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import combinations

from bridge.playground.emulator.deliver import AppDelivery
from bridge.playground.emulator.entities import Message
from support.ledger import Deliveries
from support.waiting import wait_until
from support.world import World, words_of

WAITING = 10  # messages per person that may wait for answers
PATIENCE = 30.0
THINKS = 0.15  # seconds that an answer takes, and that a person waits before the next message: so a few are queued
RETRIES = (0.2, 0.5, *(0.3, 0.7, 0.5) * 30)  # Slack doesn't give up here; refused messages come back out of order


@dataclass
class Talk:
    """One person in one thread. *written* is everything written, in order, each with its ``ts``."""

    world: World
    user: str
    channel: str
    name: str
    root: str = ""
    is_impatient: bool = False
    written: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._deliveries = Deliveries(self.world)

    async def begin(self) -> None:
        """Start the thread."""
        text = f"{self.name} begins"
        self.root = self.written[text] = await self.world.mention(self.user, self.channel, text)
        await wait_until(self.accepted, f"{text} is accepted", PATIENCE)

    async def go_on(self, is_over: asyncio.Event) -> None:
        """Write until *is_over*, whatever happened to earlier messages."""
        while not is_over.is_set():
            await wait_until(self.may_go_on, "the answers keep up", PATIENCE)
            text = f"{self.name} says number {len(self.written):03d}"
            self.written[text] = await self.world.slack.people.say(self.user, self.channel, text, thread_ts=self.root)
            await asyncio.sleep(THINKS)

    def may_go_on(self) -> bool:
        """Whether few enough messages wait for answers."""
        return self.is_impatient or len(self.written) - len(self.answers()) < WAITING

    def accepted(self) -> list[str]:
        """Messages acknowledged to Slack."""
        return [words for words in self.written if self._accepted_at(words) < math.inf]

    def refused(self) -> list[str]:
        """Messages refused at first."""
        return [words for words in self.written if any(one.error for one in self._tries(words))]

    def _accepted_at(self, words: str) -> float:
        return min((one.at + one.ms / 1000 for one in self._tries(words) if one.is_acked), default=math.inf)

    def _tries(self, words: str) -> list[AppDelivery]:
        return self._deliveries.of(self.written[words])

    def asked(self) -> list[str]:
        """The messages that reached the agent, in order."""
        return [words for words in self.world.chats() if words.startswith(self.name)]

    def answers(self) -> list[Message]:
        """The answers."""
        return self.world.answers(self.channel, self.root)

    def is_answered(self) -> bool:
        """Whether nothing is pending."""
        return len(self.answers()) >= len(self.written)

    def faults(self) -> Iterator[str]:
        """List what is lost, doubled, out of order or unanswered."""
        asked, answers = self.asked(), self.answers()
        for words in self.written:
            if asked.count(words) != 1:
                yield f"{words} reached the agent {asked.count(words)} times: {self._told(words)}"
        if len(answers) != len(asked):
            yield f"{self.name}: {len(answers)} answers to {len(asked)} messages"
        if any("can't tell" in words_of(one) for one in answers):
            yield f"{self.name}: an outcome is not known"
        yield from self._disorder(asked, [float(one.ts) for one in answers])

    def _disorder(self, asked: list[str], answered_at: list[float]) -> Iterator[str]:
        """Find messages sent before an earlier one that was accepted before they could start.

        A message starts after the answer to the one sent before it.
        """
        places = {words: place for place, words in enumerate(asked)}
        for earlier, later in combinations([words for words in self.written if words in places], 2):
            place = places[later]
            if place < places[earlier] and 0 < place <= len(answered_at):
                free_at = answered_at[place - 1]
                if self._accepted_at(earlier) < free_at:
                    yield f"{later} was sent before {earlier}, free at {free_at}: {self._told(earlier)}"

    def _told(self, words: str) -> list[str]:
        """Slack's delivery attempts for a message, with the responses."""
        return [f"{one.at:.3f} +{one.ms:.0f} ms #{one.retry} {one.error or one.status}" for one in self._tries(words)]


@dataclass
class Flow:
    """Several such threads."""

    talks: Sequence[Talk]

    async def are_refused(self, count: int) -> None:
        """Wait until *count* more messages are refused in each thread, however many are waiting there."""
        goals = [(talk, len(talk.refused()) + count) for talk in self.talks]
        for talk in self.talks:
            talk.is_impatient = True
        await wait_until(
            lambda: all(len(talk.refused()) >= goal for talk, goal in goals),
            "messages are refused in each thread",
            PATIENCE,
        )
        for talk in self.talks:
            talk.is_impatient = False

    async def passes(self, count: int) -> None:
        """Wait until *count* more messages have been accepted in each thread."""
        goals = [(talk, len(talk.accepted()) + count) for talk in self.talks]
        await wait_until(
            lambda: all(len(talk.accepted()) >= goal for talk, goal in goals),
            "messages are accepted in each thread",
            PATIENCE,
        )


@asynccontextmanager
async def flow(world: World, *places: tuple[str, str]) -> AsyncIterator[Flow]:
    """Have people write during the block, one thread per user and channel of *places*; check the outcome at the end."""
    agents = world.project.operations.agents
    agents[0] = replace(agents[0], seconds=THINKS)
    talks = [Talk(world, user, channel, f"thread {number}") for number, (user, channel) in enumerate(places)]
    is_over = asyncio.Event()
    for talk in talks:
        await talk.begin()
    async with asyncio.TaskGroup() as group:
        for talk in talks:
            group.create_task(talk.go_on(is_over))
        yield Flow(talks)
        is_over.set()
    with suppress(AssertionError):  # missing answers are reported below
        await wait_until(lambda: all(talk.is_answered() for talk in talks), "everything is answered", PATIENCE)
    faults = [fault for talk in talks for fault in talk.faults()]
    assert not faults, "\n".join(faults)
