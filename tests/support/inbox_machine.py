"""A state machine that does with the inbox and the journal whatever may happen to them, beside a model of both.

Two threads, two processes. Each command of the store is a move of its own, so that everything may come between any
two of them: another process, a kill, a lease that ends. Any step may be done twice, as when its answer was lost. What
reached the agent and what was posted is counted outside of Redis, where it happens.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from redis.asyncio import Redis

from bridge.errors import LaneLost
from bridge.ids import Lane, TurnId, thread_lane
from bridge.inbound import InboundMessage
from bridge.queue.inbox import Duplicate, Queued
from bridge.queue.records import Held, InDoubt, Record, Step, Taken
from bridge.queue.turn import LEASE, TurnChanged
from support.lifetimes import keys_without_lifetime
from support.store import PREFIX, Process, Store, a_store, message

T = TypeVar("T")

AGENT = 7
STAGED = f"{PREFIX}staged"  # where each outcome pushes the id of its turn
_STEPS = 8  # of a turn, at most
THREADS = ("1700000000.000100", "1700000500.000100")
PROCESSES = st.sampled_from(["a", "b"])
TWICE = st.booleans()
OFTEN = st.integers(0, 3).map(bool)


@dataclass
class Turn:
    """What the model knows of one message."""

    id: TurnId
    message: InboundMessage
    step: str = "queued"
    outcome: str = ""
    edits: int = 0
    is_withdrawn: bool = False
    asked: list[str] = field(default_factory=list)
    posts: int = 0


@dataclass
class Thread:
    """What the model knows of one lane. *owner* holds its entry; *is_over*: its lease is."""

    root: str
    lane: Lane
    box: list[Turn] = field(default_factory=list)
    written: list[Turn] = field(default_factory=list)
    owner: str = ""
    is_over: bool = False


@dataclass
class Job:
    """What a worker has taken: the head as it looked then, and how often it had been edited."""

    taken: Taken
    turn: Turn
    edits: int


@dataclass
class Worker:
    """What a process believes: the lane that it holds, and how far it is with the head of it."""

    process: Process
    thread: Thread | None = None
    held: Held | None = None
    job: Job | None = None
    at: str = "held"  # held, planned, may ask, asked, must say, may post, posted


class InboxMachine(RuleBasedStateMachine):
    """The moves. A subclass says which Redis it is, in `opened`."""

    def opened(self) -> AbstractAsyncContextManager[Redis]:
        """Open an empty Redis."""
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.opening = self.opened()
        self.redis: Redis = self.do(self.opening.__aenter__())
        self.store: Store = self.do(a_store(self.redis))
        self.threads = [Thread(root, thread_lane(message(ts=root).thread)) for root in THREADS]
        self.ready: list[Thread] = []
        self.workers = {name: Worker(self.store.process(name)) for name in ("a", "b")}

    def do(self, what: Awaitable[T]) -> T:
        """Carry out one command."""

        async def main() -> T:
            return await what

        return self.runner.run(main())

    # What people do

    @rule(at=st.integers(0, 1), twice=TWICE)
    def put(self, at: int, *, twice: bool) -> None:
        self.write(self.threads[at], "a", twice=twice)

    @rule(at=st.integers(0, 1), name=PROCESSES, is_lost=TWICE)
    def put_where_somebody_is_free(self, at: int, name: str, *, is_lost: bool) -> None:
        """The worker has the lane at once, if that was empty; where the answer *is_lost*, it finds that out."""
        worker, thread = self.workers[name], self.threads[at]
        if worker.thread is not None:
            return
        offer = self.do(worker.process.offer())
        is_empty, longest = not thread.box, self.ready[:1]

        turn = self.write(thread, name, twice=False)

        worker.process.inbox.hand_to(lambda: None)
        handed = offer.answer.result()
        head = self.do(worker.process.inbox.settle(InDoubt(turn.id))) if is_lost else handed
        if not is_empty:
            assert (handed, head) == (None, None)
        elif longest:  # another one has waited for longer
            assert isinstance(handed, Held)
            assert handed.lane == longest[0].lane
            self.take_hold(worker, self.ready.pop(0), handed)
            if is_lost:
                self.forget(worker)  # and nobody knows that this process has it, until its lease is over
        else:
            assert isinstance(handed, Taken)
            assert head == handed
            self.take_hold(worker, self.ready.pop(), handed.held)
            self.look_at(worker, thread, handed)

    def write(self, thread: Thread, by: str, *, twice: bool) -> Turn:
        ts = thread.root if not thread.written else f"{thread.root[:-3]}{len(thread.written) + 100:03d}"
        words = message(f"message {len(thread.written)}", ts, thread_ts="" if ts == thread.root else thread.root)

        first = self.do(self.store.put(words, by=by, agent=AGENT))

        assert isinstance(first, Queued)
        if twice:
            assert self.do(self.store.put(words, agent=AGENT)) == Duplicate(first.turn)
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

        assert (answer == "edited") == (turn.step == "queued")
        if turn.step == "queued":
            turn.message, turn.edits = changed, turn.edits + 1

    @precondition(lambda self: any(thread.written for thread in self.threads))
    @rule(data=st.data())
    def withdraw(self, data: st.DataObject) -> None:
        turn = self.choose(data)

        answer = self.do(self.store.process().inbox.withdraw(turn.message.key))

        assert answer == ("withdrawn" if turn.step == "queued" else "late")
        turn.is_withdrawn |= turn.step == "queued"

    @precondition(lambda self: any(thread.written for thread in self.threads))
    @rule(data=st.data())
    def deliver_again(self, data: st.DataObject) -> None:
        turn = self.choose(data)

        assert self.do(self.store.put(turn.message)) == Duplicate(turn.id)

    # What processes do

    @rule(name=PROCESSES, twice=TWICE, arrives=OFTEN)
    def go_on(self, name: str, *, twice: bool, arrives: bool) -> None:
        """Take the next step, whatever that is."""
        worker = self.workers[name]
        match worker:
            case (
                Worker(thread=Thread() as thread, held=Held() as held, job=None)
                | Worker(thread=Thread() as thread, held=Held() as held, at="held")
            ):
                self.take(worker, held, thread, twice=twice)
            case Worker(at="planned", job=Job(taken=Taken(record=Record(is_withdrawn=False))) as job):
                self.send(worker, job, twice=twice)
            case Worker(at="may ask", job=Job() as job) if arrives:
                self.ask(worker, job)
            case Worker(at="may ask", job=Job() as job):
                self.does_not_arrive(worker, job, twice=twice)
            case Worker(at="asked" | "must say", job=Job() as job):
                self.record(worker, job, twice=twice)
            case Worker(at="may post", job=Job() as job):
                self.post(worker, job)
            case Worker(thread=Thread() as thread, job=Job() as job):
                self.finish(worker, job, thread, twice=twice)
            case _:
                self.hold(worker)

    @rule(name=PROCESSES, twice=TWICE)
    def go_on_as_usual(self, name: str, *, twice: bool) -> None:
        self.go_on(name, twice=twice, arrives=True)

    def hold(self, worker: Worker) -> None:
        held = self.do(worker.process.hold(most=1))

        assert [one.lane for one in held] == [thread.lane for thread in self.ready[:1]]
        if held:
            self.take_hold(worker, self.ready.pop(0), held[0])

    @rule(name=PROCESSES)
    def claim(self, name: str) -> None:
        worker = self.workers[name]

        claimed = self.do(worker.process.inbox.claim_from_the_dead(lease=LEASE, most=10))

        over = [thread for thread in self.threads if thread.is_over]
        assert {one.lane for one in claimed} == {thread.lane for thread in over}
        for one in claimed:
            thread = next(thread for thread in over if thread.lane == one.lane)
            thread.owner, thread.is_over = name, False
            if worker.thread is None:
                self.take_hold(worker, thread, one)

    def take(self, worker: Worker, held: Held, thread: Thread, *, twice: bool) -> None:
        async def look() -> Taken:
            found = await worker.process.journal.take(held)
            assert isinstance(found, Taken)
            return replace(found, record=replace(found.record, takes=0))  # each look counts

        taken = self.step(worker, look, twice=twice)
        if isinstance(taken, Taken):
            self.look_at(worker, thread, taken)

    def look_at(self, worker: Worker, thread: Thread, taken: Taken) -> None:
        """See that the head is what the model has, and begin with it."""
        turn = thread.box[0]
        assert (taken.record.id, taken.record.body) == (turn.id, turn.message)
        assert taken.record.step == Step(turn.step)
        assert taken.record.is_withdrawn == turn.is_withdrawn
        worker.job = Job(taken, turn, turn.edits)
        worker.at = {"queued": "planned", "sent": "must say", "posting": "may post"}[turn.step]

    def send(self, worker: Worker, job: Job, *, twice: bool) -> None:
        async def sent() -> bool:
            try:
                await worker.process.journal.sent(job.taken)
            except TurnChanged:
                return False
            return True

        if job.turn.step != "queued":  # another process had the lane meanwhile, and went on
            self.is_lost(sent)
            self.forget(worker)
            return
        was_sent = self.step(worker, sent, twice=twice)

        if was_sent is not None:
            assert was_sent == (job.turn.edits == job.edits and not job.turn.is_withdrawn)
            job.turn.step, worker.at = ("sent", "may ask") if was_sent else (job.turn.step, "held")

    def ask(self, worker: Worker, job: Job) -> None:
        if self.has_lease(worker):
            assert isinstance(job.taken.record.body, InboundMessage)
            job.turn.asked.append(job.taken.record.body.text)
            worker.at = "asked"
        else:
            self.forget(worker)

    def does_not_arrive(self, worker: Worker, job: Job, *, twice: bool) -> None:
        if self.step(worker, lambda: worker.process.journal.unsent(job.taken), twice=twice, gives=True) is not None:
            job.turn.step, worker.at = "queued", "held"

    def record(self, worker: Worker, job: Job, *, twice: bool) -> None:
        outcome = "answered" if worker.at == "asked" else "unknown"

        def step() -> Awaitable[None]:
            staged = [("push", STAGED, 15_000, job.turn.id, 1000)]
            return worker.process.journal.outcome(job.taken, f'"{outcome}"', what=outcome, writes=staged)

        if self.step(worker, step, twice=twice, gives=True) is not None:
            job.turn.step, job.turn.outcome, worker.at = "posting", outcome, "may post"

    def post(self, worker: Worker, job: Job) -> None:
        if self.has_lease(worker):
            job.turn.posts += job.turn.posts == 0  # it looks first
            worker.at = "posted"
        else:
            self.forget(worker)

    def finish(self, worker: Worker, job: Job, thread: Thread, *, twice: bool) -> None:
        if self.step(worker, lambda: worker.process.journal.done(job.taken), gives=True) is None:
            return
        job.turn.step = "done"
        thread.box.remove(job.turn)
        self.gives_away(thread)
        if twice:
            self.is_lost(lambda: worker.process.journal.done(job.taken))
        self.forget(worker)

    @rule(name=PROCESSES)
    def release(self, name: str) -> None:
        worker = self.workers[name]
        if worker.held is None or worker.thread is None:
            return
        held, thread = worker.held, worker.thread

        if self.step(worker, lambda: worker.process.journal.release(held), gives=True) is not None:
            self.gives_away(thread)
            self.forget(worker)

    @rule(name=PROCESSES)
    def renew(self, name: str) -> None:
        worker = self.workers[name]
        if worker.held is None or worker.thread is None:
            return

        lost = self.do(worker.process.inbox.renew([worker.held.entry]))

        assert bool(lost) == (not self.owns(worker))
        if self.owns(worker):
            worker.thread.is_over = False
        else:
            self.forget(worker)

    # What befalls them

    @rule(at=st.integers(0, 1), name=PROCESSES)
    def is_taken_for_dead(self, at: int, name: str) -> None:
        self.lease_runs_out(at)
        self.claim(name)

    @rule(name=PROCESSES)
    def is_killed(self, name: str) -> None:
        self.forget(self.workers[name])

    @rule(at=st.integers(0, 1))
    def lease_runs_out(self, at: int) -> None:
        thread = self.threads[at]
        if not thread.owner:
            return
        for one in self.do(self.redis.xpending_range(f"{PREFIX}ready", "workers", "-", "+", 10)):
            held = Held(one["message_id"], thread.lane)
            ((_entry, fields),) = self.do(self.redis.xrange(f"{PREFIX}ready", held.entry, held.entry))
            if fields["lane"] == thread.lane:
                self.do(self.store.expire_lease(held))
        thread.is_over = True

    # What holds at any time

    @invariant()
    def redis_is_as_the_model_has_it(self) -> None:
        for thread in self.threads:
            assert self.do(self.store.box(thread.lane)) == [turn.id for turn in thread.box]
        assert self.do(self.store.entries()) == sum(bool(thread.box) for thread in self.threads)

    @invariant()
    def what_an_outcome_staged_is_written_with_it_and_once(self) -> None:
        written = [turn.id for thread in self.threads for turn in thread.written if turn.outcome]
        assert sorted(self.do(self.redis.lrange(STAGED, 0, -1))) == sorted(written)

    @invariant()
    def nobody_is_asked_or_answered_twice_or_out_of_order(self) -> None:
        for thread in self.threads:
            assert all(len(turn.asked) <= 1 and turn.posts <= 1 for turn in thread.written)
            numbers = [number for number, turn in enumerate(thread.written) if turn.step in {"sent", "posting"}]
            assert all(turn.step == "done" for number in numbers for turn in thread.written[:number])

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None:  # else it has failed already
                self.bring_to_an_end()
            self.do(self.opening.__aexit__(None, None, None))
        finally:
            self.runner.close()

    def bring_to_an_end(self) -> None:
        """Let everybody die, and one that lives finish everything; then look at each message."""
        for name in self.workers:
            self.forget(self.workers[name])
        for at in range(len(self.threads)):
            self.lease_runs_out(at)
        rounds = iter(range(10 * sum(1 + len(thread.written) for thread in self.threads)))
        while any(thread.box for thread in self.threads):
            assert next(rounds, None) is not None, "nobody waits for ever"
            self.claim("a")
            for _ in range(_STEPS):
                self.go_on_as_usual("a", twice=False)
            if any(thread.owner == "a" and thread is not self.workers["a"].thread for thread in self.threads):
                self.lease_runs_out(0)
                self.lease_runs_out(1)
        for turn in [turn for thread in self.threads for turn in thread.written]:
            assert turn.posts == (0 if turn.is_withdrawn else 1), turn
            assert turn.outcome != "answered" or turn.asked == [turn.message.text], "the last text is what was sent"
        assert self.do(keys_without_lifetime(self.redis)) == []

    # Words of the model

    def step(
        self, worker: Worker, step: Callable[[], Awaitable[T]], *, twice: bool = False, gives: bool = False
    ) -> T | bool | None:
        """Carry out a step behind the fence; None, and nothing is done, for one whose lane is lost."""
        if not self.owns(worker):
            self.is_lost(step)
            self.forget(worker)
            return None
        answer = self.do(step())
        if twice:
            assert self.do(step()) == answer
        return True if gives else answer

    def is_lost(self, step: Callable[[], Awaitable[object]]) -> None:
        """Whoever has lost the lane changes nothing."""
        before = self.do(self.store.dump())
        try:
            self.do(step())
        except LaneLost:
            assert self.do(self.store.dump()) == before
        else:
            raise AssertionError("it went on without its lane")

    def owns(self, worker: Worker) -> bool:
        """Whether the entry that a worker holds is pending for it."""
        return worker.thread is not None and worker.thread.owner == worker.process.name

    def has_lease(self, worker: Worker) -> bool:
        """What its own clock tells a worker before each effect: whoever was suspended does nothing."""
        return self.owns(worker) and worker.thread is not None and not worker.thread.is_over

    def take_hold(self, worker: Worker, thread: Thread, held: Held) -> None:
        """Begin with a lane."""
        self.forget(worker)
        worker.thread, worker.held = thread, held
        thread.owner, thread.is_over = worker.process.name, False

    def gives_away(self, thread: Thread) -> None:
        """The entry is gone; where more waits there is a new one, at the end."""
        thread.owner, thread.is_over = "", False
        if thread.box:
            self.ready.append(thread)

    def forget(self, worker: Worker) -> None:
        """Let a worker know nothing any more."""
        worker.thread = worker.held = worker.job = None
        worker.at = "held"

    def choose(self, data: st.DataObject) -> Turn:
        """Choose a message."""
        return data.draw(st.sampled_from([turn for thread in self.threads for turn in thread.written]))
