"""Some people writing during an outage: in threads, in DMs and by mentions in channels."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from bridge.playground.emulator.entities import Member
from bridge.playground.emulator.sample import BRIDGE, GENERAL, RANDOM, TEAM
from support.ledger import UNKNOWN
from support.outage import Line, outage, talk
from support.system import System, text_of
from support.waiting import wait_until

THREADS = 8
MENTION = f"<@{BRIDGE}> "


@dataclass
class Crowd:
    """The *people*, *size* of them, their *threads* with an agent (channel and root), and the words meant for an agent.

    *said* lists the words of the outage by thread, in order; a top-level message is a thread of its own.
    """

    system: System
    size: int = 5
    people: list[str] = field(default_factory=list)
    threads: list[tuple[str, str]] = field(default_factory=list)
    said: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    async def gather(self, threads: int = THREADS, *, since: float = 7200.0) -> None:
        """Add the people, and start *threads* some seconds ago that an agent has answered."""
        workspace = self.system.slack.workspace
        for number in range(self.size):
            person = Member(f"U0CROWD{number:02d}", f"crowd{number}", f"Crowd {number}", TEAM)
            workspace.add_person(person)
            self.people.append(person.id)
            for channel in (GENERAL, RANDOM):
                workspace.enter(person.id, workspace.channels[channel])
        roots = [
            self.system.slack.people.say(
                self._person(number), self._channel(number), f"{MENTION}root-{number}", at=time.time() - since
            )
            for number in range(threads)
        ]
        self.threads = [(self._channel(number), ts) for number, ts in enumerate(await asyncio.gather(*roots))]
        await self.settled(threads)

    async def talk(self, seconds: float, *, rounds: int = 2) -> None:
        """Have everyone write, spread over the last *seconds*, while the app receives nothing."""
        lines: list[Line] = []
        for _ in range(rounds):
            for number, (channel, root) in enumerate(self.threads):
                lines.append(Line(self._person(number), channel, f"reply-{len(lines):04d}", root))
            for number, person in enumerate(self.people):
                direct = self.system.slack.workspace.direct_message(person).id
                lines.append(Line(person, direct, f"direct-{len(lines):04d}"))
                lines.append(Line(person, self._channel(number), f"{MENTION}mention-{len(lines):04d}"))
                lines.append(Line(person, self._channel(number), f"aside-{len(lines):04d}"))
        with outage(self.system.slack):
            written = await talk(self.system.slack, seconds, lines)
        for line, ts in zip(lines, written, strict=True):
            if "aside" not in line.text:
                self.said[line.thread_ts or ts].append(line.text.removeprefix(MENTION))

    def faults(self) -> list[str]:
        """List what was lost, doubled or out of order; a reported unknown outcome is not lost."""
        asked = [words.rpartition(": ")[2] for words in self.system.chats()]  # "Crowd 3: …" where several people speak
        found = [words for words in asked if words.startswith("aside")]
        unknown = self.unknown()
        for thread, words in self.said.items():
            found += [f"{one}: {asked.count(one)} times" for one in words if asked.count(one) > 1]
            missing = [one for one in words if one not in asked]
            found += [f"lost: {missing}"] if len(missing) > unknown[thread] else []
            came = [one for one in words if one in asked]
            if (order := [one for one in asked if one in words]) != came:
                found.append(f"{words} came as {order}")
        return found

    def unknown(self) -> Counter[str]:
        """Count the notices of an unknown outcome, by thread."""
        slack = self.system.slack
        posted = [message for channel in slack.workspace.channels for message in slack.workspace.messages.of(channel)]
        ending = UNKNOWN.rpartition("'")[2]  # a quick look first: reading each text took a third of these tests' time
        likely = [one for one in posted if one.user == BRIDGE and ending in f"{one.blocks} {one.text}"]
        return Counter(message.thread_ts for message in likely if UNKNOWN in text_of(message))

    async def settled(self, count: int, timeout: float = 90.0) -> None:  # noqa: ASYNC109
        """Wait until that many messages reached an agent or have an unknown outcome, and nothing is queued."""

        def have_come() -> bool:
            return len(self.system.chats()) + self.unknown().total() >= count

        await wait_until(have_come, f"{count} messages have arrived", timeout)
        await wait_until(self.system.is_at_rest, "nothing is queued", timeout)

    @property
    def count(self) -> int:
        """The number of messages."""
        return len(self.threads) + sum(map(len, self.said.values()))

    def _person(self, number: int) -> str:
        return self.people[number % self.size]

    def _channel(self, number: int) -> str:
        return (GENERAL, RANDOM)[number % 2]


async def was_away(system: System, seconds: float) -> None:
    """Set the time since the bridge last heard from Slack."""
    heard = int((time.time() - seconds) * 1000)
    await system.redis.hset(f"{{{system.namespace}}}:owner", "listened", str(heard))


async def was_down(system: System, seconds: float) -> None:
    """Make a stopped bridge's store look old, and set how long ago the bridge went down."""
    since = int((time.time() - seconds - 86_400.0) * 1000)
    await system.redis.hset(f"{{{system.namespace}}}:owner", "since", str(since))
    await was_away(system, seconds)
