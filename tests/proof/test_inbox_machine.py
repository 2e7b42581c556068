"""The inbox and the journal behave like a model of both under random moves of a Hypothesis state machine.

It has two threads and two processes. Each command of the store is a separate move, so anything can happen between two
of them: a move of another process, a kill, an expired lease. Any step may run twice, as after a lost reply. Requests to
the agent and posts are counted outside Redis.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, Phase, seed, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from redis.asyncio import Redis

from bridge.errors import LaneLost
from bridge.ids import Lane, TurnId, thread_lane
from bridge.inbound import InboundMessage
from bridge.queue.journal import TurnChanged
from bridge.queue.lease import LEASE
from bridge.queue.put import NotQueued, Queued
from bridge.queue.records import Held, Record, Step, Taken
from bridge.queue.redis.connection import connect
from bridge.queue.watches import TurnStopped
from support.lifetimes import keys_without_lifetime
from support.real_redis import RealRedis
from support.store import PREFIX, Process, Store, message, open_store

T = TypeVar("T")

AGENT = 7
DATABASE = 8  # reserved for this test
STAGED = f"{PREFIX}staged"  # where each outcome pushes its turn's ID
_STEPS = 8  # the most that a turn has
THREADS = ("1700000000.000100", "1700000500.000100")
PROCESSES = st.sampled_from(["a", "b"])
TWICE = st.booleans()
OFTEN = st.integers(0, 3).map(bool)


@dataclass
class Turn:
    """The model of one message."""

    id: TurnId
    message: InboundMessage
    step: str = "queued"
    outcome: str = ""
    changes: int = 0  # takes and edits: a worker notices each later one
    is_withdrawn: bool = False
    asked: list[str] = field(default_factory=list)
    posts: int = 0


@dataclass
class Thread:
    """The model of one lane: the process *owner* holds its *entry*; *has_expired* is about its lease."""

    root: str
    lane: Lane
    box: list[Turn] = field(default_factory=list)
    written: list[Turn] = field(default_factory=list)
    owner: str = ""
    entry: str = ""
    has_expired: bool = False


@dataclass
class Job:
    """A taken head, with the number of *changes* at that time."""

    taken: Taken
    turn: Turn
    changes: int


@dataclass
class Worker:
    """A process's own view: the lane it holds, and its progress with the head."""

    process: Process
    thread: Thread | None = None
    held: Held | None = None
    job: Job | None = None
    at: str = "held"  # held, planned, may ask, asked, must report, may post, posted


class InboxMachine(RuleBasedStateMachine):
    """The moves. A subclass provides the Redis in `open_redis`."""

    def open_redis(self) -> AbstractAsyncContextManager[Redis]:
        """Open an empty Redis."""
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.redis_context = self.open_redis()
        self.redis: Redis = self.do(self.redis_context.__aenter__())
        self.store: Store = self.do(open_store(self.redis))
        self.threads = [Thread(root, thread_lane(message(ts=root).thread)) for root in THREADS]
        self.ready: list[Thread] = []
        self.workers = {name: Worker(self.store.process(name)) for name in ("a", "b")}

    def do(self, what: Awaitable[T]) -> T:
        """Run a coroutine to its end."""

        async def main() -> T:
            return await what

        return self.runner.run(main())

    # People

    @rule(at=st.integers(0, 1), twice=TWICE)
    def put(self, at: int, *, twice: bool) -> None:
        self.write(self.threads[at], "a", twice=twice)

    @rule(at=st.integers(0, 1), name=PROCESSES, is_lost=TWICE)
    def put_with_a_free_worker(self, at: int, name: str, *, is_lost: bool) -> None:
        """An empty lane goes to the free worker at once, which doesn't know if the reply *is_lost*."""
        worker, thread = self.workers[name], self.threads[at]
        if worker.thread is not None:
            return
        offer = self.do(worker.process.offer())
        is_empty, longest = not thread.box, self.ready[:1]

        self.write(thread, name, twice=False)

        worker.process.inbox.hand_to(lambda: None)
        handed = offer.answer.result()
        if not is_empty:
            assert handed is None
            return
        if longest:  # another lane has waited longer
            assert isinstance(handed, Held)
            assert handed.lane == longest[0].lane
            self.assign(worker, self.ready.pop(0), handed)
        else:
            assert isinstance(handed, Taken)
            self.assign(worker, self.ready.pop(), handed.held)
            self.check_head(worker, thread, handed)
        if is_lost:
            self.forget(worker)  # its process doesn't know that it holds this lane, until the lease expires

    def write(self, thread: Thread, by: str, *, twice: bool) -> Turn:
        ts = thread.root if not thread.written else f"{thread.root[:-3]}{len(thread.written) + 100:03d}"
        words = message(f"message {len(thread.written)}", ts, thread_ts="" if ts == thread.root else thread.root)

        first = self.do(self.store.put(words, by=by, agent=AGENT))

        assert isinstance(first, Queued)
        if twice:
            assert self.do(self.store.put(words, agent=AGENT)) == NotQueued("duplicate", first.turn)
        turn = Turn(first.turn, words)
        thread.written.append(turn)
        thread.box.append(turn)
        if len(thread.box) == 1:
            self.ready.append(thread)
        return turn

    @precondition(lambda self: any(thread.written for thread in self.threads))
    @rule(data=st.data())
    def edit(self, data: st.DataObject) -> None:
        turn = self.choose(data)
        changed = turn.message.model_copy(update={"text": f"{turn.message.text}+"})

        answer = self.do(self.store.process().inbox.edit(changed))

        is_waiting = turn.step == "queued" and not turn.is_withdrawn
        assert (answer == "edited") == is_waiting
        if is_waiting:
            turn.message, turn.changes = changed, turn.changes + 1

    @precondition(lambda self: any(thread.written[1:] for thread in self.threads))
    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        """Delete a reply: one that waits is withdrawn, and work on one is stopped."""
        turn = data.draw(st.sampled_from([turn for thread in self.threads for turn in thread.written[1:]]))

        answer = self.do(self.store.process().inbox.withdraw(turn.message.key))

        assert answer == {"queued": "withdrawn", "done": "late"}.get(turn.step, "stopped")
        turn.is_withdrawn |= turn.step != "done"

    @precondition(lambda self: any(thread.written for thread in self.threads))
    @rule(data=st.data())
    def deliver_again(self, data: st.DataObject) -> None:
        turn = self.choose(data)

        assert self.do(self.store.put(turn.message)) == NotQueued("duplicate", turn.id)

    # Processes

    @rule(name=PROCESSES, twice=TWICE, arrives=OFTEN)
    def take_next_step(self, name: str, *, twice: bool, arrives: bool) -> None:
        """Take the next step from the worker's current state."""
        worker = self.workers[name]
        match worker:
            case (
                Worker(thread=Thread() as thread, held=Held() as held, job=None)
                | Worker(thread=Thread() as thread, held=Held() as held, at="held")
            ):
                self.take(worker, held, thread, twice=twice)
            case Worker(at="planned", job=Job(taken=Taken(record=Record(end=""))) as job):
                self.send(worker, job, twice=twice)
            case Worker(at="may ask", job=Job() as job) if arrives:
                self.ask(worker, job)
            case Worker(at="may ask", job=Job() as job):
                self.record_unsent(worker, job, twice=twice)
            case Worker(at="asked" | "must report", job=Job() as job):
                self.record(worker, job, twice=twice)
            case Worker(at="may post", job=Job() as job):
                self.post(worker, job)
            case Worker(thread=Thread() as thread, job=Job() as job):
                self.finish(worker, job, thread, twice=twice)
            case _:
                self.hold(worker)

    @rule(name=PROCESSES, twice=TWICE)
    def take_usual_step(self, name: str, *, twice: bool) -> None:
        self.take_next_step(name, twice=twice, arrives=True)

    def hold(self, worker: Worker) -> None:
        held = self.do(worker.process.hold(most=1))

        assert [one.lane for one in held] == [thread.lane for thread in self.ready[:1]]
        if held:
            self.assign(worker, self.ready.pop(0), held[0])

    @rule(name=PROCESSES)
    def claim(self, name: str) -> None:
        worker = self.workers[name]

        claimed = self.do(worker.process.inbox.claim_from_the_dead(lease=LEASE, most=10))

        over = [thread for thread in self.threads if thread.has_expired]
        assert {one.lane for one in claimed} == {thread.lane for thread in over}
        for one in claimed:
            thread = next(thread for thread in over if thread.lane == one.lane)
            self.give(thread, name, one)
            if worker.thread is None:  # otherwise the process holds the lane without working on it
                worker.thread, worker.held = thread, one

    def take(self, worker: Worker, held: Held, thread: Thread, *, twice: bool) -> None:
        async def look() -> Taken:
            found = await worker.process.journal.take(held)
            assert isinstance(found, Taken)
            return replace(found, record=replace(found.record, takes=0))  # each take is counted

        taken = self.step(worker, look, twice=twice)
        if isinstance(taken, Taken):
            self.check_head(worker, thread, taken)

    def check_head(self, worker: Worker, thread: Thread, taken: Taken) -> None:
        """Check that the head matches the model, and start it."""
        turn = thread.box[0]
        assert (taken.record.id, taken.record.body) == (turn.id, turn.message)
        assert taken.record.step == Step(turn.step)
        assert bool(taken.record.end) == turn.is_withdrawn
        turn.changes += 1
        worker.job = Job(taken, turn, turn.changes)
        places = {"queued": "planned", "sent": "must report", "posting": "posted" if turn.is_withdrawn else "may post"}
        worker.at = places[turn.step]

    def send(self, worker: Worker, job: Job, *, twice: bool) -> None:
        async def sent() -> bool:
            try:
                await worker.process.journal.sent(job.taken)
            except TurnChanged:
                return False
            return True

        if job.turn.step != "queued":  # another process had the lane in the meantime, and continued
            self.check_fenced(sent)
            self.forget(worker)
            return
        was_sent = self.step(worker, sent, twice=twice)

        if was_sent is not None:
            assert was_sent == (job.turn.changes == job.changes and not job.turn.is_withdrawn)
            job.turn.step, worker.at = ("sent", "may ask") if was_sent else (job.turn.step, "held")

    def ask(self, worker: Worker, job: Job) -> None:
        if self.has_lease(worker):
            assert isinstance(job.taken.record.body, InboundMessage)
            job.turn.asked.append(job.taken.record.body.text)
            worker.at = "asked"
        else:
            self.forget(worker)

    def record_unsent(self, worker: Worker, job: Job, *, twice: bool) -> None:
        if self.step(worker, lambda: worker.process.journal.unsent(job.taken), twice=twice, is_void=True) is not None:
            job.turn.step, worker.at = "queued", "held"

    def record(self, worker: Worker, job: Job, *, twice: bool) -> None:
        outcome = "answered" if worker.at == "asked" else "unknown"

        def step() -> Awaitable[None]:
            staged = [("push", STAGED, 15_000, job.turn.id, 1000)]
            return worker.process.journal.outcome(job.taken, f'"{outcome}"', what=outcome, writes=staged)

        async def recorded() -> bool:
            try:
                await step()
            except TurnStopped:
                return False
            return True

        is_shown = self.step(worker, recorded, twice=twice)
        if is_shown is not None:
            assert is_shown != job.turn.is_withdrawn
            job.turn.step, job.turn.outcome, worker.at = "posting", outcome, "may post" if is_shown else "posted"

    def post(self, worker: Worker, job: Job) -> None:
        if self.has_lease(worker):
            job.turn.posts += job.turn.posts == 0  # it reads the history first
            worker.at = "posted"
        else:
            self.forget(worker)

    def finish(self, worker: Worker, job: Job, thread: Thread, *, twice: bool) -> None:
        if self.step(worker, lambda: worker.process.journal.done(job.taken), is_void=True) is None:
            return
        job.turn.step = "done"
        thread.box.remove(job.turn)
        self.release_entry(thread)
        if twice:
            self.check_fenced(lambda: worker.process.journal.done(job.taken))
        self.forget(worker)

    @rule(name=PROCESSES)
    def release(self, name: str) -> None:
        worker = self.workers[name]
        if worker.held is None or worker.thread is None:
            return
        held, thread = worker.held, worker.thread

        if self.step(worker, lambda: worker.process.journal.release(held), is_void=True) is not None:
            self.release_entry(thread)
            self.forget(worker)

    @rule(name=PROCESSES)
    def renew(self, name: str) -> None:
        worker = self.workers[name]
        if worker.held is None or worker.thread is None:
            return

        lost = self.do(worker.process.inbox.renew([worker.held.entry]))

        assert bool(lost) == (not self.owns(worker))
        if self.owns(worker):
            worker.thread.has_expired = False
        else:
            self.forget(worker)

    # Failures

    @rule(at=st.integers(0, 1), name=PROCESSES)
    def expire_and_claim(self, at: int, name: str) -> None:
        self.expire_lease_of(at)
        self.claim(name)

    @rule(name=PROCESSES)
    def kill(self, name: str) -> None:
        self.forget(self.workers[name])

    @rule(at=st.integers(0, 1))
    def expire_lease_of(self, at: int) -> None:
        thread = self.threads[at]
        if not thread.owner:
            return
        for one in self.do(self.redis.xpending_range(f"{PREFIX}ready", "workers", "-", "+", 10)):
            held = Held(one["message_id"], thread.lane)
            ((_entry, fields),) = self.do(self.redis.xrange(f"{PREFIX}ready", held.entry, held.entry))
            if fields["lane"] == thread.lane:
                self.do(self.store.expire_lease(held))
        thread.has_expired = True

    # Invariants

    @invariant()
    def redis_matches_the_model(self) -> None:
        for thread in self.threads:
            assert self.do(self.store.box(thread.lane)) == [turn.id for turn in thread.box]
        assert self.do(self.store.entries()) == sum(bool(thread.box) for thread in self.threads)

    @invariant()
    def staged_writes_are_committed_once_with_the_outcome(self) -> None:
        written = [turn.id for thread in self.threads for turn in thread.written if turn.outcome]
        assert sorted(self.do(self.redis.lrange(STAGED, 0, -1))) == sorted(written)

    @invariant()
    def no_message_is_sent_or_posted_twice_or_out_of_order(self) -> None:
        for thread in self.threads:
            assert all(len(turn.asked) <= 1 and turn.posts <= 1 for turn in thread.written)
            numbers = [number for number, turn in enumerate(thread.written) if turn.step in {"sent", "posting"}]
            assert all(turn.step == "done" for number in numbers for turn in thread.written[:number])

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None:  # otherwise it has already failed
                self.finish_everything()
            self.do(self.redis_context.__aexit__(None, None, None))
        finally:
            self.runner.close()

    def finish_everything(self) -> None:
        """Kill all workers, have a single one finish everything, and check each message."""
        for name in self.workers:
            self.forget(self.workers[name])
        for at in range(len(self.threads)):
            self.expire_lease_of(at)
        rounds = iter(range(10 * sum(1 + len(thread.written) for thread in self.threads)))
        while any(thread.box for thread in self.threads):
            assert next(rounds, None) is not None, "nothing is stuck"
            self.claim("a")
            for _ in range(_STEPS):
                self.take_usual_step("a", twice=False)
            if any(thread.owner == "a" and thread is not self.workers["a"].thread for thread in self.threads):
                self.expire_lease_of(0)
                self.expire_lease_of(1)
        for turn in [turn for thread in self.threads for turn in thread.written]:
            assert turn.posts == 1 or (turn.is_withdrawn and not turn.posts), turn
            assert turn.outcome != "answered" or turn.asked == [turn.message.text], "the last text was sent"
        assert self.do(keys_without_lifetime(self.redis)) == []

    # Helpers

    def step(
        self, worker: Worker, step: Callable[[], Awaitable[T]], *, twice: bool = False, is_void: bool = False
    ) -> T | bool | None:
        """Run a fenced step; return None, after checking that it changes nothing, if the worker has lost its lane.

        Steps without a result (*is_void*) return True.
        """
        if not self.owns(worker):
            self.check_fenced(step)
            self.forget(worker)
            return None
        answer = self.do(step())
        if twice:
            first, answer = answer, self.do(step())
            assert first == answer
        return True if is_void else answer

    def check_fenced(self, step: Callable[[], Awaitable[object]]) -> None:
        """Check that a step of a worker that lost its lane changes nothing."""
        before = self.do(self.store.dump())
        try:
            self.do(step())
        except LaneLost:
            assert self.do(self.store.dump()) == before
        else:
            raise AssertionError("it continued without its lane")

    def owns(self, worker: Worker) -> bool:
        """Whether the worker's entry is pending for its process, which may hold the lane by a later entry instead."""
        thread, held = worker.thread, worker.held
        return (
            thread is not None
            and held is not None
            and (thread.owner, thread.entry) == (worker.process.name, held.entry)
        )

    def has_lease(self, worker: Worker) -> bool:
        """Whether the lease is still valid by the worker's own clock, as it checks before each effect."""
        return self.owns(worker) and worker.thread is not None and not worker.thread.has_expired

    def assign(self, worker: Worker, thread: Thread, held: Held) -> None:
        """Give a lane to a worker."""
        self.forget(worker)
        worker.thread, worker.held = thread, held
        self.give(thread, worker.process.name, held)

    def give(self, thread: Thread, owner: str, held: Held) -> None:
        """Note that a process got a lane's entry."""
        thread.owner, thread.entry, thread.has_expired = owner, held.entry, False

    def release_entry(self, thread: Thread) -> None:
        """Remove the lane's entry; if more turns are queued, add a new one at the end."""
        thread.owner, thread.entry, thread.has_expired = "", "", False
        if thread.box:
            self.ready.append(thread)

    def forget(self, worker: Worker) -> None:
        """Reset a worker, as if its process had restarted."""
        worker.thread = worker.held = worker.job = None
        worker.at = "held"

    def choose(self, data: st.DataObject) -> Turn:
        """Choose a message."""
        return data.draw(st.sampled_from([turn for thread in self.threads for turn in thread.written]))


@asynccontextmanager
async def empty_redis(url: str) -> AsyncIterator[Redis]:
    async with connect(url) as redis:
        await redis.flushdb()
        yield redis
        await redis.flushdb()


SEEDS = range(int(os.environ.get("SEEDS") or 0)) or [None]
"""The seeds to try (`make seeds`); None: pytest's ``--hypothesis-seed``, or else a random one."""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", SEEDS)
def test_redis_agrees_with_the_model_after_random_moves(
    number: int | None, redis_server: RealRedis, pytestconfig: pytest.Config
) -> None:
    class OnAServer(InboxMachine):
        def open_redis(self) -> AbstractAsyncContextManager[Redis]:
            return empty_redis(f"{redis_server.url}?db={DATABASE}")

    asked: str | None = pytestconfig.getoption("--hypothesis-seed")
    number = secrets.randbelow(2**32) if number is None and asked is None else int(asked or number or 0)
    try:
        run_state_machine_as_test(
            seed(number)(OnAServer),
            settings=settings(
                max_examples=20,
                stateful_step_count=50,
                deadline=None,
                database=None,
                report_multiple_bugs=False,
                # Shrinking takes minutes, until the time limit would end the test without a word of what failed.
                phases=[Phase.generate] if asked is None else [Phase.generate, Phase.shrink],
                suppress_health_check=list(HealthCheck),
            ),
        )
    except BaseException as failure:
        failure.add_note(f"To repeat and shrink it: pytest {Path(__file__).name} --hypothesis-seed={number}")
        raise
