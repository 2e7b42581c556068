"""Requests for approval behave like their model: random walks through it, made with the real scripts on a real Redis.

Each step of a walk is one of the model's moves (`model.approvals_model`). It's made by the process that the model says,
and then Redis has the model's state, decisions and runs.
"""

from __future__ import annotations

import random
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from redis.asyncio import Redis

from bridge.errors import LaneLost
from bridge.features.approvals.records import ApprovalDue
from bridge.features.approvals.request import Request, digest_of
from bridge.features.approvals.store import ApprovalStore
from bridge.features.run_records import ApprovedRun
from bridge.inbound import Click, from_json
from bridge.queue.journal import AlreadyUsed
from bridge.queue.records import Held, Step, Taken
from model.approvals_model import SCENARIOS, Approvals, Place, World, begin
from support.lifetimes import keys_without_lifetime
from support.store import CHANNEL, PREFIX, START, TEAM, Store, open_store

WALKS = 8
STATES = {
    "waiting": "waiting", "approved": "approved", "deny": "denied", "withdraw": "withdrawn", "void": "changed",
    "expired": "expired",
}  # fmt: skip
CLOCK = {"early": 1.0, "half": 2.5, "late": 4.5}  # hours; a request has four
ID, WRITTEN, TERMS = "r1", '"x"', "terms"


@dataclass
class Walk:
    """One walk: the real turns of clicks and runs, by their place in the model, and what each worker took."""

    store: Store
    world: World
    entries: dict[str, Held] = field(default_factory=dict)
    taken: dict[str, Taken] = field(default_factory=dict)
    sent: set[str] = field(default_factory=set)
    started: int = 0

    @property
    def approvals(self) -> ApprovalStore:
        return ApprovalStore(self.store.scripts)

    async def begin(self) -> None:
        request = Request(
            team=TEAM, channel=CHANNEL, asker="asker", workflow=3, name="Import", digest=digest_of(WRITTEN),
            by=("U1",), count=self.world.count, terms=TERMS, asked_at=START, until=START + timedelta(hours=4),
        )  # fmt: skip
        inbox = self.store.process("start").inbox
        await inbox.write(*self.approvals.add(ID, request, WRITTEN))
        for who, what in self.world.clicks:
            await inbox.put(Click(team=TEAM, channel=CHANNEL, user=who, action_id=what))
        await self.hold("click")
        self.move_clock("early")

    async def hold(self, kind: str) -> None:
        """Claim what's queued; a worker gets it from this process."""
        for held in await self.store.process("start").hold(most=20):
            count = sum(one.startswith(kind) for one in self.entries)
            self.entries[f"{kind} {count}"] = held

    def move_clock(self, name: str) -> None:
        self.store.clock.time = START + timedelta(hours=CLOCK[name])
        self.store.process_clock.redis_ahead = datetime.now(UTC) - self.store.clock.time

    async def take(self, what: str, worker: int) -> None:
        """Have a worker, a process of its own, take a turn from whoever holds it."""
        name = f"{what}-{worker}".replace(" ", "")
        held = await self.claim_lane(what, name)
        self.taken[f"{what} {worker}"] = await self.store.process(name).take(held)

    async def claim_lane(self, what: str, process: str) -> Held:
        """Make a process the owner of a lane, whoever has it: the lease is over."""
        held = self.entries[what]
        claim = ("XCLAIM", f"{PREFIX}ready", "workers", process, 0, held.entry, "JUSTID")
        await self.store.redis.execute_command(*claim)  # type: ignore[no-untyped-call]
        return held

    async def decide(self, at: int, worker: int, before: Place) -> str:
        """Decide a click as its worker has judged it; returns the script's answer."""
        judged = {one[0]: one[1:] for one in before.clicks[at].judged}
        may, terms_hold = judged.get(worker, (True, True))
        if not may:
            return "refused"
        taken = self.taken[f"click {at} {worker}"]
        process = self.store.process(f"click{at}-{worker}")

        async def run(script: str, *args: str | int) -> Any:
            return await process.journal.behind_fence(taken, script, *args)

        turn: Any = SimpleNamespace(id=taken.record.id, user=before.clicks[at].who, run=run)
        stored, what = await self.approvals.get(ID), before.clicks[at].what
        assert stored is not None
        body = ApprovedRun(team=TEAM, channel=CHANNEL, user="asker", approval=ID, digest=stored.request.digest)
        ends = (process.inbox.queues(body, why="approved"),) if what == "approve" else ()
        try:
            return await self.approvals.decide(
                turn, stored, what, now=self.store.clock(), terms=TERMS if terms_hold else "others", ends=ends
            )
        except LaneLost:
            return "lost"

    async def claim(self, name: str, what: str) -> None:
        inbox = self.store.process(name).inbox
        stored = await self.approvals.get(ID)
        assert stored is not None
        due = ApprovalDue(team=TEAM, channel=CHANNEL, user="asker", approval=ID, what="end" if what == "end" else what)  # type: ignore[arg-type]
        writes = self.approvals.ends(ID, "expired") if what == "end" else self.approvals.reminds(stored)
        await inbox.put(due, event=f"{ID}:{what}", why="due", writes=writes)

    async def write_sent(self, at: int, worker: int) -> None:
        taken = self.taken[f"run {at} {worker}"]
        journal = self.store.process(f"run{at}-{worker}").journal
        await journal.sent(taken, note="run", writes=self.approvals.starts(ID, taken.record.id))

    async def matches(self, s: Place) -> None:
        """Compare Redis with the model."""
        stored = await self.approvals.get(ID)
        assert stored is not None
        assert stored.state == STATES[s.state]
        assert [one.user for one in stored.decisions] == [s.clicks[at].who for at in s.decisions]
        assert await self.count(ApprovedRun) == len(s.runs)
        due = [one async for one in self.bodies() if isinstance(one, ApprovalDue)]
        assert sum(one.what == "reminder" for one in due) == s.reminders
        assert sum(one.what == "end" for one in due) == (s.state == "expired")

    async def count(self, kind: type) -> int:
        return sum([isinstance(one, kind) async for one in self.bodies()])

    async def bodies(self) -> AsyncIterator[Any]:
        async for key in self.store.redis.scan_iter(f"{PREFIX}turn:*"):
            body = await self.store.redis.hget(key, "body")
            if body:
                yield from_json(str(body))

    async def make(self, said: str, before: Place, after: Place) -> None:
        """Make the model's move."""
        number = int(found[1]) if (found := re.search(r"\((\d)\)", said)) else 0
        click = before.clicks[number]
        run = before.runs[-1] if before.runs else None
        match said:
            case "time passes":
                self.move_clock(after.clock)
            case "a worker takes the run" if run:
                await self.hold("run")
                await self.take("run 0", run.takes)
                step = self.taken[f"run 0 {run.takes}"].record.step
                assert (step is Step.SENT) == (run.step == "sent")
            case _ if said.startswith("a worker takes"):
                await self.take(f"click {number}", click.takes)
            case _ if re.match(r"\d loses", said):
                await self.claim_lane("run 0" if said.endswith("the run") else f"click {number}", "start")
            case _ if said.endswith(("claims the end", "claims the reminder")):
                await self.claim(said.split()[1], said.rpartition(" ")[2])
            case _ if re.match(r"\d decides", said):
                answer = await self.decide(number, int(said[0]), before)
                is_counted = after.clicks[number].is_written
                assert (answer in {"counted", "already"}) == is_counted, answer
            case _ if "twice" in said:
                assert await self.decide(number, click.worker, before) in {"counted", "already"}
            case _ if "finds that it lost" in said and "the run" not in said:
                assert await self.decide(number, int(said[0]), before) in {"lost", "refused"}
            case _ if "finds that it lost the run" in said:
                if before.runs[0].step == "queued" or int(said[0]) != before.runs[0].sent_by:
                    with pytest.raises((LaneLost, AlreadyUsed)):
                        await self.write_sent(0, int(said[0]))
            case _ if said.endswith("writes SENT"):
                await self.write_sent(0, int(said[0]))
            case _ if said.endswith(("starts the run", "after the start")):
                self.started += 1


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_redis_agrees_with_the_model_on_random_walks(real_redis: Redis, scenario: str) -> None:
    world, approvals = SCENARIOS[scenario], Approvals()
    for seed in range(WALKS):
        await real_redis.flushdb()
        chance = random.Random(f"{scenario} {seed}")  # noqa: S311 - it's repeatable
        walk = Walk(await open_store(real_redis), world)
        s, path = begin(world), list[str]()
        await walk.begin()
        while moves := list(approvals.moves(s)):
            said, after = chance.choice(moves)
            path.append(said)
            try:
                await walk.make(said, s, after)
                await walk.matches(after)
            except AssertionError as exc:
                raise AssertionError("\n".join([*path, str(exc)])) from exc
            s = after
        assert walk.started == s.started <= 1
        assert await keys_without_lifetime(real_redis) == []
