"""Stories that together exercise everything a bridge does, and retry like people when it is down."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bridge.playground.emulator.deliver import AppDelivery
from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.sample import (
    ALICE,
    BOB,
    BRIDGE,
    CAROL,
    DM_ALICE,
    DM_BOB,
    DM_CAROL,
    GENERAL,
    PRIVATE,
    RANDOM,
    SHARED,
)
from bridge.playground.sample_project.answers import PlannedAnswer
from support.ledger import AGAIN, AGENT_CHOICE, AGENTS, Deliveries, Started, Thread, Written
from support.system import System, text_of
from support.waiting import wait_until

PATIENCE = 90.0
_TRIES = 60
_PAUSE = 0.2  # a person's pause between attempts
_BUSY = PlannedAnswer(429, {"error": "slow down"}, headers={"Retry-After": "0"})

Story = Callable[["Users"], Coroutine[None, None, None]]


@dataclass
class Users:
    """The people of one system, and the conversations they started."""

    system: System
    threads: list[Thread] = field(default_factory=list)
    runs: list[Started] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Give the projects their agents; a bridge that runs already may know an earlier list for a while."""
        self._deliveries = Deliveries(self.system)
        for project in self.system.projects:
            project.operations.agents = list(AGENTS)
            project.operations.workflows[0].seconds = 0.8

    async def run_stories(self, *stories: Story) -> None:
        """Run all *stories* concurrently to their end."""
        async with asyncio.TaskGroup() as group:
            for story in stories:
                group.create_task(story(self))
        await wait_until(self.is_settled, "everything is answered", PATIENCE)

    def is_settled(self) -> bool:
        """Whether nothing is pending."""
        return all(one.is_settled() for one in (*self.threads, *self.runs))

    def faults(self) -> Iterator[str]:
        """List the faults."""
        for one in (*self.threads, *self.runs):
            yield from one.faults()

    async def begin(
        self,
        user: str,
        channel: str,
        words: str,
        *,
        agent: str = "",
        is_patient: bool = True,
        project: str = "",
        is_named: bool = True,
    ) -> Thread:
        """Start a thread: by a mention, or by a plain message in a DM; its *project* is named, unless it isn't.

        If *is_patient*, wait until it is accepted: in a channel, an earlier reply is not for the bot.
        """
        thread = Thread(self.system, self._deliveries, channel, user, project=project)
        self.threads.append(thread)
        mention = "" if channel.startswith("D") else f"<@{BRIDGE}> "
        mention += f"@{project} " if project and is_named else ""
        await self.write(thread, user, f"{mention}{agent and f'{agent}: '}{words}", words)
        thread.root = thread.written[0].ts
        if is_patient:
            await wait_until(thread.are_all_accepted, f"{words} is accepted", PATIENCE)
        return thread

    async def reply(self, thread: Thread, user: str, words: str, *, wait: bool = True) -> Written:
        """Reply in a thread; with *wait*, return once Slack has tried to deliver it."""
        return await self.write(thread, user, words, words, wait=wait)

    async def write(self, thread: Thread, user: str, text: str, words: str, *, wait: bool = True) -> Written:
        """Write *text*, of which the agent gets *words*."""
        written = Written(words)
        thread.written.append(written)
        say = self.system.slack.people.say
        written.ts = await say(user, thread.channel, text, thread_ts=thread.root or None, wait=wait)
        return written

    async def settled(self, thread: Thread) -> None:
        """Wait until a thread is fully answered and Slack has stopped delivering its messages."""
        await wait_until(
            thread.is_settled, f"everything is answered: {[one.words for one in thread.written]}", PATIENCE
        )

    async def insist(self, act: Callable[[], Awaitable[AppDelivery]]) -> None:
        """Repeat an action until it is accepted or visibly was, as people do."""
        for _ in range(_TRIES):
            try:
                delivery = await act()
            except LookupError:  # the button is gone
                return
            if delivery.is_acked and "couldn't queue " not in delivery.body:
                return
            await asyncio.sleep(_PAUSE)
        raise AssertionError("the action is never accepted")

    async def run(
        self, user: str, channel: str, workflow: int, name: str, *, project: str = "", needs: str = ""
    ) -> None:
        """Start a workflow; each attempt has its own input, because the last one's outcome is unknown.

        *needs*: others have to approve it, and are going to do this (``approve``, ``withdraw``).
        """
        tries = iter(range(_TRIES))

        async def once() -> AppDelivery:
            given, now = f"{name}-{next(tries)}", time.time()
            delivery = await self.system.slack.ui.command(user, channel, "/workflows", f"run {workflow} {given}")
            is_accepted = delivery.is_acked and "couldn't queue " not in delivery.body
            self.runs.append(Started(self.system, user, channel, given, is_accepted, now, project, needs))
            return delivery

        await self.insist(once)


async def asks_in_a_row(users: Users) -> None:
    """Send messages without waiting for answers, and later start a new thread."""
    thread = await users.begin(ALICE, GENERAL, "row-one", agent="Memory")
    await users.reply(thread, ALICE, "row-two")
    await users.write(thread, BOB, f"<@{BRIDGE}> row-three", "row-three")
    await users.settled(thread)
    await users.system.slack.people.say(ALICE, GENERAL, "!new", thread_ts=thread.root)
    await users.system.slack.people.say(BOB, GENERAL, f"<@{CAROL}> lunch?", thread_ts=thread.root)
    await users.reply(thread, BOB, "row-four")
    await users.settled(thread)


async def chooses_from_the_menu(users: Users) -> None:
    """Without a default agent, everything waits for a choice."""
    thread = await users.begin(BOB, RANDOM, "menu-one")
    await users.reply(thread, BOB, "menu-two")

    def menu() -> list[Message]:
        return [one for one in thread.said() if AGENT_CHOICE in str(one.blocks)]

    await wait_until(menu, "the menu is shown", PATIENCE)
    ts = menu()[0].ts
    await users.insist(lambda: users.system.slack.ui.select(BOB, RANDOM, ts, AGENT_CHOICE, "1"))
    await users.settled(thread)


async def changes_what_waits(users: Users) -> None:
    """Edit and delete queued messages during a slow answer."""
    thread = await users.begin(CAROL, DM_CAROL, "wait-one", agent="Slow")
    changed = await users.reply(thread, CAROL, "wait-two")
    deleted = await users.reply(thread, CAROL, "wait-three")
    changed.changed = "wait-other"
    deleted.withdrawn = True
    await asyncio.gather(
        users.system.slack.people.edit(DM_CAROL, changed.ts, "wait-other"),
        users.system.slack.people.delete(DM_CAROL, deleted.ts),
    )
    await users.reply(thread, CAROL, "wait-four")
    await users.settled(thread)


async def presses_the_button(users: Users) -> None:
    """The agent fails with an unknown outcome, and the message is retried by button, twice at once."""
    thread = await users.begin(ALICE, DM_ALICE, "fail-one", agent="Grumpy")
    await wait_until(thread.unknown, "the outcome is shown as unknown", PATIENCE)
    thread.written[0].again += 1
    ts = thread.unknown()[0].ts

    def is_removed() -> bool:
        return all(one.ts != ts for one in thread.said())

    async def press() -> AppDelivery:
        return await users.system.slack.ui.click(ALICE, DM_ALICE, ts, AGAIN)

    await users.insist(press)
    await wait_until(lambda: is_removed() and thread.unknown(), "it failed again", PATIENCE)


async def meets_a_busy_service(users: Users) -> None:
    """The service is busy and asks for a retry."""
    users.system.project.on("POST", "/api/sdk/agents/4/chat", _BUSY, times=3)
    thread = await users.begin(BOB, DM_BOB, "busy-one", agent="Busy")
    await users.settled(thread)


async def gets_a_long_answer(users: Users) -> None:
    """An answer of several messages."""
    thread = await users.begin(ALICE, PRIVATE, "long-one", agent="Novelist")
    await users.settled(thread)

    def ends() -> list[str]:
        return [words for one in thread.said() if "Part 59:" in (words := text_of(one))]

    if not thread.unknown():
        await wait_until(ends, "the last part is posted", PATIENCE)
    parts = "".join(map(text_of, thread.said()))
    doubled = [number for number in range(60) if parts.count(f"Part {number}:") > 1]
    assert not doubled, f"parts posted twice: {doubled}"


async def runs_a_workflow(users: Users) -> None:
    """A run long enough to show a card first."""
    await users.run(ALICE, SHARED, 1, "run")


async def runs_for_a_long_output(users: Users) -> None:
    """A run whose output is a file."""
    await users.system.slack.ui.command(CAROL, RANDOM, "/workflows", "run 11 file-run")


async def begins_by_command(users: Users) -> None:
    """A thread started by a command."""
    await users.insist(lambda: users.system.slack.ui.command(BOB, GENERAL, "/agents", "chat Memory root-one"))


async def looks_around(users: Users) -> None:
    """Private answers, channel settings and a form."""
    await users.system.slack.ui.command(CAROL, SHARED, "/workflows", "list")
    await users.system.slack.ui.command(CAROL, SHARED, "/agents", "channel replies all")
    await users.system.slack.people.say(CAROL, SHARED, f"<@{BRIDGE}>")
    await users.system.slack.ui.command(CAROL, SHARED, "/workflows", "run 1")


async def is_refused_by_redis(users: Users) -> None:
    """Redis refuses for a moment; more messages follow before Slack retries the refused ones."""
    system, bridge = users.system, users.system.bridges[-1]
    async with refusing(system):
        thread = await users.begin(ALICE, GENERAL, "away-one", agent="Memory", is_patient=False)
        changed = await users.begin(BOB, DM_BOB, "away-two", agent="Memory", is_patient=False)
        deleted = await users.begin(CAROL, DM_CAROL, "away-three", agent="Memory", is_patient=False)
        changed.written[0].changed = "away-other"
        deleted.written[0].withdrawn = True
        await system.slack.people.edit(DM_BOB, changed.root, "Memory: away-other")
        await system.slack.people.delete(DM_CAROL, deleted.root)
        for one in (thread, changed, deleted):  # a slow machine may take three seconds to accept the first attempt
            await wait_until(lambda at=one: at.was_refused() or bridge.has_ended, "the message is refused", PATIENCE)  # type: ignore[misc]

    async def is_known() -> bool:
        is_recorded = bool(await system.redis.exists(f"{{{system.namespace}}}:refusing"))
        return is_recorded or (bridge.has_ended and thread.are_all_accepted())

    await wait_until(is_known, "the refusal is recorded, or the message is accepted", PATIENCE)
    await users.reply(thread, ALICE, "away-four")
    for one in (thread, changed, deleted):
        await users.settled(one)


@asynccontextmanager
async def refusing(system: System) -> AsyncIterator[None]:
    """Forbid scripts to the Redis user of *system*'s bridges."""
    await system.redis.execute_command("ACL", "SETUSER", system.namespace, "-eval", "-evalsha")  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        await system.redis.execute_command("ACL", "SETUSER", system.namespace, "+eval", "+evalsha")  # type: ignore[no-untyped-call]


async def waits_long(users: Users) -> None:
    """An answer that takes longer than an unrenewed lease."""
    thread = await users.begin(ALICE, GENERAL, "sleep-one", agent="Sleepy")
    await users.settled(thread)


CORE_STORIES: tuple[Story, ...] = (
    asks_in_a_row,
    chooses_from_the_menu,
    changes_what_waits,
    presses_the_button,
    meets_a_busy_service,
    gets_a_long_answer,
    runs_a_workflow,
    runs_for_a_long_output,
    begins_by_command,
    looks_around,
)
