"""People who talk in several threads at once, one message after the other, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bridge.playground.emulator.deliver import AppDelivery
from support.waiting import wait_until
from support.world import World

AHEAD = 3  # messages that a person writes before the first of them is answered
PATIENCE = 30.0
LAST_RETRY = 3


@dataclass
class Talk:
    """One person in one thread. *written* is all that was written, *accepted* what Slack was told was taken."""

    world: World
    user: str
    channel: str
    name: str
    root: str = ""
    written: list[str] = field(default_factory=list)
    accepted: list[str] = field(default_factory=list)

    async def begin(self) -> None:
        """Start the thread."""
        text = f"{self.name} begins"
        self.written.append(text)
        self.root = await self.world.mention(self.user, self.channel, text)
        await self._delivered(self.root, text)

    async def go_on(self, is_over: asyncio.Event) -> None:
        """Write until *is_over*."""
        while not is_over.is_set():
            # What Slack gave up was never accepted, and is not waited for.
            await wait_until(lambda: len(self.accepted) - len(self.answers()) < AHEAD, "the answers keep up", PATIENCE)
            text = f"{self.name} says number {len(self.written):03d}"
            self.written.append(text)
            ts = await self.world.slack.people.say(self.user, self.channel, text, thread_ts=self.root)
            await self._delivered(ts, text)

    async def _delivered(self, ts: str, text: str) -> None:
        """Wait until Slack is told that the message was taken, or gives up."""
        await wait_until(lambda: any(map(_has_ended, self._deliveries(ts))), f"{text} is delivered", PATIENCE)
        if any(delivery.is_acked for delivery in self._deliveries(ts)):
            self.accepted.append(text)

    def _deliveries(self, ts: str) -> list[AppDelivery]:
        events = [delivery for delivery in self.world.slack.deliveries if delivery.kind == "event"]
        return [delivery for delivery in events if delivery.payload["event"].get("ts") == ts]

    def asked(self) -> list[str]:
        """What of it reached the agent, in order."""
        return [words for words in self.world.chats() if words.startswith(self.name)]

    def answers(self) -> list[str]:
        """What was answered."""
        return self.world.said(self.channel, self.root)

    def is_answered(self) -> bool:
        """Whether nobody waits any more."""
        return len(self.answers()) >= len(set(self.accepted) | set(self.asked()))

    def check(self) -> None:
        """Nothing that was accepted is lost, nothing is doubled, the order is kept, and all is answered."""
        asked = self.asked()
        assert set(self.accepted) - set(asked) == set(), "lost"
        assert asked == [words for words in self.written if words in asked], "doubled, or out of order"
        assert len(self.answers()) == len(asked), (asked, self.answers())
        assert not [words for words in self.answers() if "not known" in words], "each outcome is known"


def _has_ended(delivery: AppDelivery) -> bool:
    return delivery.is_acked or (delivery.retry == LAST_RETRY and bool(delivery.error))


@dataclass
class Flow:
    """Several such threads."""

    talks: Sequence[Talk]

    async def passes(self, count: int) -> None:
        """Wait until *count* more messages have been accepted in each thread."""
        goals = [(talk, len(talk.accepted) + count) for talk in self.talks]
        await wait_until(
            lambda: all(len(talk.accepted) >= goal for talk, goal in goals),
            "the messages flow in each thread",
            PATIENCE,
        )


@asynccontextmanager
async def flow(world: World, *places: tuple[str, str]) -> AsyncIterator[Flow]:
    """Let people talk meanwhile, a thread for each user and channel of *places*; check in the end what came of it."""
    talks = [Talk(world, user, channel, f"thread {number}") for number, (user, channel) in enumerate(places)]
    is_over = asyncio.Event()
    for talk in talks:
        await talk.begin()
    async with asyncio.TaskGroup() as group:
        for talk in talks:
            group.create_task(talk.go_on(is_over))
        yield Flow(talks)
        is_over.set()
    for talk in talks:
        try:
            await wait_until(talk.is_answered, "all that was accepted is answered", PATIENCE)
        finally:
            talk.check()
