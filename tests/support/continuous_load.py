"""People who keep writing in several threads at once, whatever fails.

They don't wait until a message is accepted. So Slack's retries arrive among later messages, and go before any message
that hasn't started.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from itertools import combinations

from support.ledger import AGENTS, Deliveries, Thread, Written
from support.system import System
from support.waiting import wait_until

WAITING = 10  # messages per person that may wait for answers
PATIENCE = 30.0
THINKS = 0.15  # seconds that an answer takes, and that a person waits before the next message: so a few are queued
RETRIES = (0.2, 0.5, *(0.3, 0.7, 0.5) * 30)  # Slack doesn't give up here; refused messages come back out of order


@dataclass
class Writer(Thread):
    """One person in a thread of their own, who writes whatever happened to earlier messages."""

    name: str = ""
    is_impatient: bool = False

    async def begin(self) -> None:
        """Start the thread."""
        self.root = await self.system.mention(self.author, self.channel, f"{self.name}-begins")
        self.written.append(Written(f"{self.name}-begins", self.root))
        await wait_until(self.accepted, f"{self.name} begins", PATIENCE)

    async def write_until(self, is_over: asyncio.Event) -> None:
        """Write until *is_over*."""
        while not is_over.is_set():
            await wait_until(self.may_write, "the answers keep up", PATIENCE)
            one = Written(f"{self.name}-number-{len(self.written):03d}")
            self.written.append(one)
            say = self.system.slack.people.say
            one.ts = await say(self.author, self.channel, one.words, thread_ts=self.root)
            await asyncio.sleep(THINKS)

    def may_write(self) -> bool:
        """Whether few enough messages wait for answers."""
        return self.is_impatient or len(self.written) - len(self.said()) < WAITING

    def accepted(self) -> list[Written]:
        """Messages acknowledged to Slack."""
        return [one for one in self.written if self.was_accepted(one)]

    def refused(self) -> list[Written]:
        """Messages refused at first."""
        return [one for one in self.written if any(delivery.error for delivery in self.deliveries.of(one.ts))]

    def faults(self) -> Iterator[str]:
        """List the faults; here nothing may be lost or unknown, as Slack doesn't give up."""
        yield from super().faults()
        asked, answered = self.asked(), self.answers()
        missing = [one for one in self.written if one.words not in asked]
        yield from (f"{one.words} never reached the agent: {self._attempts(one)}" for one in missing)
        if len(answered) != len(self.written):
            yield f"{self.name}: {len(answered)} answers to {len(self.written)} messages, {len(self.unknown())} unknown"
        yield from self._overtaken(asked, [float(message.ts) for _, message in answered])

    def _overtaken(self, asked: list[str], answered_at: list[float]) -> Iterator[str]:
        """Find messages sent before an earlier one that was accepted before they could start.

        A message starts after the answer to the one sent before it.
        """
        places = {words: place for place, words in enumerate(asked)}
        for earlier, later in combinations([one for one in self.written if one.words in places], 2):
            place = places[later.words]
            if place < places[earlier.words] and 0 < place <= len(answered_at):
                free_at = answered_at[place - 1]
                if self.accepted_at(earlier) < free_at:
                    attempts = self._attempts(earlier)
                    yield f"{later.words} was sent before {earlier.words}, free at {free_at}: {attempts}"

    def _attempts(self, one: Written) -> list[str]:
        """Slack's delivery attempts for a message, with the responses."""
        return [
            f"{tried.at:.3f} +{tried.ms:.0f} ms #{tried.retry} {tried.error or tried.status}"
            for tried in self.deliveries.of(one.ts)
        ]


@dataclass
class ContinuousLoad:
    """The writers of several threads."""

    writers: Sequence[Writer]

    async def wait_until_refused(self, count: int) -> None:
        """Wait until *count* more messages are refused in each thread, however many are waiting there."""
        goals = [(writer, len(writer.refused()) + count) for writer in self.writers]
        for writer in self.writers:
            writer.is_impatient = True
        await wait_until(
            lambda: all(len(writer.refused()) >= goal for writer, goal in goals),
            "messages are refused in each thread",
            PATIENCE,
        )
        for writer in self.writers:
            writer.is_impatient = False

    async def wait_until_accepted(self, count: int) -> None:
        """Wait until *count* more messages have been accepted in each thread."""
        goals = [(writer, len(writer.accepted()) + count) for writer in self.writers]
        await wait_until(
            lambda: all(len(writer.accepted()) >= goal for writer, goal in goals),
            "messages are accepted in each thread",
            PATIENCE,
        )


@asynccontextmanager
async def continuous_load(system: System, *places: tuple[str, str]) -> AsyncIterator[ContinuousLoad]:
    """Have people write during the block, one thread per user and channel of *places*; check the outcome at the end."""
    operations = system.project.operations
    before, operations.agents = operations.agents, [replace(AGENTS[0], seconds=THINKS)]
    deliveries = Deliveries(system)
    writers = [
        Writer(system, deliveries, channel, user, name=f"thread-{number}")
        for number, (user, channel) in enumerate(places)
    ]
    is_over = asyncio.Event()
    for writer in writers:
        await writer.begin()
    async with asyncio.TaskGroup() as group:
        for writer in writers:
            group.create_task(writer.write_until(is_over))
        yield ContinuousLoad(writers)
        is_over.set()
    with suppress(AssertionError):  # missing answers are reported below
        await wait_until(
            lambda: all(len(one.answers()) >= len(one.written) for one in writers), "all is answered", PATIENCE
        )
    operations.agents = before
    faults = [fault for writer in writers for fault in writer.faults()]
    assert not faults, "\n".join(faults)
