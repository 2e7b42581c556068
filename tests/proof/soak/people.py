"""People who keep talking through every failure, in threads that are checked at the end.

They change their minds: they edit and delete what they wrote, often before the message itself has arrived, and stop the
agent.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from contextlib import suppress

from bridge.playground.emulator.sample import (
    ALICE,
    BOB,
    CAROL,
    DM_ALICE,
    DM_BOB,
    DM_CAROL,
    GENERAL,
    PRIVATE,
    RANDOM,
    SHARED,
)
from support.ledger import AGENT_CHOICE, AGENTS, Thread, Written
from support.stories import Users

PLACES = (
    (ALICE, GENERAL),
    (BOB, GENERAL),
    (CAROL, RANDOM),
    (BOB, RANDOM),
    (ALICE, PRIVATE),
    (BOB, PRIVATE),
    (CAROL, SHARED),
    (ALICE, DM_ALICE),
    (BOB, DM_BOB),
    (CAROL, DM_CAROL),
)
LENGTH = 25  # messages per thread
AHEAD = 4  # unanswered messages at which a person waits
_LOOK = 0.25
_HASTY = 0.3  # of the messages are edited or deleted, if at all, before Slack has delivered them
_BY_BUTTON = 0.5
_DELETES_THREAD = 0.1
_AGENTS = ("Memory", "Memory", "Slow", "Memory", "Novelist")


class Person:
    """Writes one thread after another in one channel."""

    def __init__(self, users: Users, user: str, channel: str, chance: random.Random) -> None:
        self._users = users
        self._user = user
        self._channel = channel
        self._chance = chance

    async def talk(self, is_over: asyncio.Event) -> None:
        """Write threads until *is_over*."""
        for number in itertools.count():
            name = f"{self._user}-{self._channel}-{number}"
            agent = self._chance.choice(_AGENTS)
            thread = await self._users.begin(self._user, self._channel, f"{name}-000", agent=agent, is_patient=False)
            await self._continue(thread, name, is_over)
            if self._chance.random() < _DELETES_THREAD:
                await self._delete(thread.written[0])
            if is_over.is_set():
                return

    async def _continue(self, thread: Thread, name: str, is_over: asyncio.Event) -> None:
        for number in range(1, LENGTH):
            await asyncio.sleep(self._chance.uniform(0.3, 2.0))
            while len(thread.owed()) - thread.told() >= AHEAD or not thread.are_all_accepted():
                if is_over.is_set() or thread.were_given_up():
                    return
                await asyncio.sleep(_LOOK)
            if is_over.is_set():
                return
            is_hasty = self._chance.random() < _HASTY
            one = await self._users.reply(thread, self._user, f"{name}-{number:03d}", wait=not is_hasty)
            match self._chance.choices(("keeps", "edits", "deletes", "stops"), weights=(20, 4, 2, 2))[0]:
                case "edits":
                    await self._edit(one, 0 if is_hasty else self._chance.uniform(0, 1.5))
                case "deletes":
                    await asyncio.sleep(0 if is_hasty else self._chance.uniform(0, 1.5))
                    await self._delete(one)
                case "stops":
                    await self._stop(thread, f"{name}-{number:03d}-on")

    async def _edit(self, one: Written, after: float) -> None:
        await asyncio.sleep(after)
        one.changed = f"{one.words}-edited"
        await self._users.system.slack.people.edit(self._channel, one.ts, one.changed)

    async def _delete(self, one: Written) -> None:
        one.withdrawn = True
        await self._users.system.slack.people.delete(self._channel, one.ts)

    async def _stop(self, thread: Thread, words: str) -> None:
        """Stop the agent, then write on, which also sends what waits after the stopped message."""
        await asyncio.sleep(self._chance.uniform(0, 1.0))
        if self._chance.random() < _BY_BUTTON:
            await self._users.system.slack.people.press_stop(self._user, self._channel, thread.root)
        else:
            await self._users.system.slack.people.say(self._user, self._channel, "!stop", thread_ts=thread.root)
        await asyncio.sleep(self._chance.uniform(0.2, 1.5))
        await self._users.reply(thread, self._user, words)


async def choose_agents(users: Users) -> None:
    """Answer the menus of agents: a thread asks for one if the message that named it was stopped or deleted."""
    chosen: set[str] = set()
    while True:
        await asyncio.sleep(_LOOK)
        for thread in users.threads:
            menu = next(
                (one for one in thread.said() if AGENT_CHOICE in str(one.blocks) and one.ts not in chosen), None
            )
            if menu is None or thread.is_gone():
                continue
            with suppress(LookupError):  # it has just been answered
                picked = await users.system.slack.ui.select(
                    thread.author, thread.channel, menu.ts, AGENT_CHOICE, str(AGENTS[0].id)
                )
                if picked.is_acked and "couldn't queue " not in picked.body:
                    chosen.add(menu.ts)


async def run_things(users: Users, chance: random.Random, is_over: asyncio.Event) -> None:
    """Start a workflow now and then."""
    for number in itertools.count():
        await asyncio.sleep(chance.uniform(3, 8))
        if is_over.is_set():
            return
        with suppress(AssertionError):  # a refused command, which Slack doesn't retry
            await users.run(chance.choice((ALICE, BOB, CAROL)), SHARED, 1, f"run-{number:04d}")
