"""People who keep writing in several threads at once, whatever fails.

They don't wait until a message is accepted. So Slack's retries arrive among later messages, and go before any message
that hasn't started.
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
from support.system import System, text_of
from support.waiting import wait_until

WAITING = 10  # messages per person that may wait for answers
PATIENCE = 30.0
THINKS = 0.15  # seconds that an answer takes, and that a person waits before the next message: so a few are queued
RETRIES = (0.2, 0.5, *(0.3, 0.7, 0.5) * 30)  # Slack doesn't give up here; refused messages come back out of order


@dataclass
class Writer:
    """One person in one thread. *written* is everything written, in order, each with its ``ts``."""

    system: System
    user: str
    channel: str
    name: str
    root: str = ""
    is_impatient: bool = False
    written: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._deliveries = Deliveries(self.system)

    async def begin(self) -> None:
        """Start the thread."""
        text = f"{self.name} begins"
        self.root = self.written[text] = await self.system.mention(self.user, self.channel, text)
        await wait_until(self.accepted, f"{text} is accepted", PATIENCE)

    async def write_until(self, is_over: asyncio.Event) -> None:
        """Write until *is_over*, whatever happened to earlier messages."""
        while not is_over.is_set():
            await wait_until(self.may_write, "the answers keep up", PATIENCE)
            text = f"{self.name} says number {len(self.written):03d}"
            self.written[text] = await self.system.slack.people.say(self.user, self.channel, text, thread_ts=self.root)
            await asyncio.sleep(THINKS)

    def may_write(self) -> bool:
        """Whether few enough messages wait for answers."""
        return self.is_impatient or len(self.written) - len(self.answers()) < WAITING

    def accepted(self) -> list[str]:
        """Messages acknowledged to Slack."""
        return [words for words in self.written if self._accepted_at(words) < math.inf]

    def refused(self) -> list[str]:
        """Messages refused at first."""
        return [words for words in self.written if any(one.error for one in self._deliveries_of(words))]

    def _accepted_at(self, words: str) -> float:
        return min((one.at + one.ms / 1000 for one in self._deliveries_of(words) if one.is_acked), default=math.inf)

    def _deliveries_of(self, words: str) -> list[AppDelivery]:
        return self._deliveries.of(self.written[words])

    def asked(self) -> list[str]:
        """The messages that reached the agent, in order."""
        return [words for words in self.system.chats() if words.startswith(self.name)]

    def answers(self) -> list[Message]:
        """The answers."""
        return self.system.answers(self.channel, self.root)

    def is_answered(self) -> bool:
        """Whether nothing is pending."""
        return len(self.answers()) >= len(self.written)

    def faults(self) -> Iterator[str]:
        """List what is lost, doubled, out of order or unanswered."""
        asked, answers = self.asked(), self.answers()
        for words in self.written:
            if asked.count(words) != 1:
                yield f"{words} reached the agent {asked.count(words)} times: {self._attempts(words)}"
        if len(answers) != len(asked):
            yield f"{self.name}: {len(answers)} answers to {len(asked)} messages"
        if any("can't tell" in text_of(one) for one in answers):
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
                    yield f"{later} was sent before {earlier}, free at {free_at}: {self._attempts(earlier)}"

    def _attempts(self, words: str) -> list[str]:
        """Slack's delivery attempts for a message, with the responses."""
        return [
            f"{one.at:.3f} +{one.ms:.0f} ms #{one.retry} {one.error or one.status}"
            for one in self._deliveries_of(words)
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
    agents = system.project.operations.agents
    agents[0] = replace(agents[0], seconds=THINKS)
    writers = [Writer(system, user, channel, f"thread {number}") for number, (user, channel) in enumerate(places)]
    is_over = asyncio.Event()
    for writer in writers:
        await writer.begin()
    async with asyncio.TaskGroup() as group:
        for writer in writers:
            group.create_task(writer.write_until(is_over))
        yield ContinuousLoad(writers)
        is_over.set()
    with suppress(AssertionError):  # missing answers are reported below
        await wait_until(lambda: all(writer.is_answered() for writer in writers), "everything is answered", PATIENCE)
    faults = [fault for writer in writers for fault in writer.faults()]
    assert not faults, "\n".join(faults)
