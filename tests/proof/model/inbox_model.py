"""Exhaustive model of the inbox, the journal and the handlers: every interleaving possible in one lane.

Two messages are each delivered twice to two workers. A `Budget` limits the kills, expired leases, lost Redis replies,
requests that don't arrive, drains, edits, withdrawals, dead letters and their retries, messages delivered after a
later one, after their own edit or deletion, and messages that Slack gives up on and that are found in its history. The
search visits every reachable state and checks the promises. Mutants test the model: each leaves out one precaution
and must break a promise.

The model mirrors ``bridge/queue/scripts``: each move is one script, one external effect or one failure. A stop is
requested at one moment and arrives later.

A turn's steps:

1. **Take.** A worker reads the head of the lane. The turn depends on nothing that this writes.
2. **Run.** A ``queued`` turn's handler runs from the start. Until its outcome is recorded, it may run again: in
   another process after a crash, in the same one after a Redis outage, or after an edit or withdrawal. Everything it
   awaits must be repeatable *per turn*: a choice is stored with the turn that won it, so a second run gets the same
   result.
3. **Once.** The one effect that can't be repeated: the request. A separate script writes SENT before it, and only if
   the turn hasn't been edited, withdrawn or stopped since it was taken. A second `once` in a turn fails the handler.
   This process remembers the result (an answer, or *unknown*) for another run of the handler. Another process finds
   ``sent``, doesn't run the handler, and records *unknown*. A request that certainly didn't arrive goes back to
   ``queued``.
   Writes can go with SENT, after a condition: a question that only one turn may answer is used up by that script, and
   not by anything earlier. UNSENT undoes them.
4. **Staged writes.** A handler collects them: a push to a list, a counter, a field that is set if it still has the
   value that the handler read. Each run starts with none. The script that writes OUTCOME commits them, on its first
   run. A turn without its handler's outcome (unknown, failed, withdrawn) commits none.
5. **Outcome**, written by the same script together with ``posting``, and never replaced. A handler that sent nothing
   gets here straight from ``queued``, if its message hasn't changed.
6. **Post**, then **done**. Writes that need the post's ``ts`` are recorded with OUTCOME and committed by the script
   that finishes the turn, if the reply is known to be in Slack.
7. **Dead**, instead of the rest, if the turn can't be finished. The same script queues the notice about it.

Catching up from Slack's history after an outage:

1. Before new messages are accepted, each thread to read is marked. Its live messages are queued, and a worker that has
   one as the head **waits** until the mark is gone: nothing has started, so older messages can still go first.
2. A **reader**, in any process, copies the thread's messages and puts them, oldest first, with the same script and
   deduplication as Slack's deliveries.
3. An edit or deletion of a message that isn't queued yet leaves a mark, since a reader may have an earlier copy. A put
   of an earlier text is void, and the reader reads again.
4. After the last put the thread's mark is removed. If a reader dies, another starts over. The mark has a lifetime;
   once it expires, nothing waits, and messages found later go last.
5. A message that is too old is offered, not sent.

A **wipe** of the store deletes all of this, and no worker passes the fence from then on. Unanswered messages are found
as after an outage; each post names the message it answers. A reader starts only when all leases from before have
expired, so that no earlier worker posts after it has looked. An agent may receive a message again that it was working
on, once per wipe, and order isn't preserved; but nothing is answered twice or lost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from proof.model.search import Found, search as breadth_first

MESSAGES = 2
DEAD = -1  # the owner of an entry whose worker was killed
NONE = -1
OTHER = -2
EDITED = -3  # instead of the token of a take, since its message was edited


def _quickly_replaced(kind: type[Any]) -> Any:
    """Let a named tuple replace fields in half the time: the searches do so millions of times."""
    places = {name: place for place, name in enumerate(kind._fields)}

    def _replace(self: Any, **changes: object) -> Any:
        values = [*self]
        for name, value in changes.items():
            values[places[name]] = value
        return tuple.__new__(kind, values)

    kind._replace = _replace
    return kind


@_quickly_replaced
class Budget(NamedTuple):
    """How much may go wrong, of each kind, in one scenario."""

    kills: int = 0
    stalls: int = 0  # a worker outlasts its lease, and its own clock shows it
    losses: int = 0  # a script's reply is lost and it is repeated; a PUT may also run later than its repetition
    refusals: int = 0  # a request certainly didn't arrive
    releases: int = 0  # a draining worker releases its lane
    withdrawals: int = 0  # deletions of messages that wait, are worked on, or whose answer waits for Slack
    deaths: int = 0  # a turn can't be finished: Slack refuses it permanently, or too many workers failed at it
    retries: int = 0  # of dead letters
    stops: int = 0  # of running turns
    delays: int = 0  # a message was refused and arrives after a later one
    deletions: int = 0  # a message was refused and is deleted before its redelivery
    limits: int = 0  # Slack certainly didn't accept a post
    doubts: int = 0  # it's unknown whether Slack accepted a post
    edits: int = 0  # of a queued message
    overtakes: int = 0  # an edit arrives before its message
    reruns: int = 0  # a handler runs again in the same process after a Redis outage
    timeouts: int = 0  # it's unknown whether a request arrived, and its worker lives
    bugs: int = 0  # a handler calls `once` again
    rebinds: int = 0  # another process sets the field that handlers stage
    losses_in_slack: int = 0  # Slack gives up on a message after too many refusals
    reads: int = 0  # readers of Slack's history
    lapses: int = 0  # nobody decides about a parked lane for too long
    expiries: int = 0  # reading takes too long, and live messages stop waiting
    wipes: int = 0  # the store is emptied
    is_old: bool = False  # found messages are too old to send
    is_choice: bool = False  # handlers send no request: each claims the only choice
    is_question: bool = False  # all requests use up the same question
    is_blind: bool = False  # the bridge may not look for its posts in Slack
    is_by_url: bool = False  # answers go by response_url and can't be looked for


@_quickly_replaced
class Turn(NamedTuple):
    """One message: *token* is that of its last take. *end* is how it will end, if that's decided before.

    It's ``withdrawn`` (while it waits), ``stopped <step>`` or ``deleted <step>``, each with the step it was at.
    """

    step: str = "queued"  # queued, sent, posting, done, dead, replaced
    outcome: str = ""  # answer, won, lost; unknown, failed, used
    token: int = NONE
    text: int = 0  # number of edits
    end: str = ""
    died: str = ""  # at this step
    is_told: bool = False  # the notice that it was given up is queued
    was_retried: bool = False  # which loses its place
    is_held: bool = False  # it waits for a decision after the stop of an earlier turn
    is_held_in_vain: bool = False  # although someone had gone on writing by then
    is_overtaken: bool = False  # a later message was in progress when it arrived, so it can't go first
    waits: bool = False  # its outcome waits for Slack, and no post is under way
    out: int = NONE  # the take that marked its post by response_url
    is_doubtful: bool = False  # it's unknown whether its outcome is in Slack
    given: int = NONE  # the text that was sent or handled
    was_found: bool = False  # in Slack's history
    is_out_of_place: bool = False  # a later message was in progress when it was found
    is_unread: bool = False  # its thread wasn't read yet when it arrived
    has_missed_edit: bool = False  # it was put with a text from before an edit
    heard: str = ""  # the result of the choice in its handler's first run
    written: int = 0  # how often its staged writes were committed
    written_after: int = 0  # how often the staged writes that need its post's ts were committed

    @property
    def is_withdrawn(self) -> bool:
        """Whether it was withdrawn while it waited."""
        return self.end == "withdrawn"

    @property
    def stopped_at(self) -> str:
        """The step at which it was stopped."""
        return self.end.partition(" ")[2]

    @property
    def is_deleted(self) -> bool:
        """Whether it was stopped because its message was deleted, which holds nothing."""
        return self.end.startswith("deleted")


@_quickly_replaced
class Worker(NamedTuple):
    """One worker: *token* identifies its last take; *has_lease* is by its own clock."""

    at: str = "idle"
    entry: int = NONE
    turn: int = NONE
    token: int = NONE
    has_lease: bool = False
    must_look: bool = False  # its own post may have arrived
    knows_ts: bool = False  # of the reply in Slack
    text: int = 0  # as given to the handler
    bound: int = NONE  # the field as the handler read it
    staged: int = 0  # number of pushes
    result: str = ""  # of `once` or the choice; the handler's next run gets it too
    was_wiped: bool = False  # the store, since it took its lane


_IDLE = Worker()


class Late(NamedTuple):
    """A PUT that was given up on but may still run, handing the lane to *owner*."""

    message: int
    owner: int
    token: int


Copies = tuple[tuple[int, int], ...]
"""A reader's copies that it hasn't put yet: messages with their texts at that time."""


@_quickly_replaced
class State(NamedTuple):
    """The lane, its workers, the requests to the agent and the posts."""

    delivered: tuple[int, ...] = (0,) * MESSAGES
    seen: frozenset[int] = frozenset()
    gone: frozenset[int] = frozenset()  # deleted before they arrived
    deciding: tuple[int, ...] = ()  # messages whose edit arrived, found no turn, and isn't stored yet
    void: frozenset[int] = frozenset()  # messages whose earlier text isn't accepted
    box: tuple[int, ...] = ()
    ready: tuple[int, ...] = ()  # entries without an owner
    pending: frozenset[tuple[int, int]] = frozenset()  # (entry, owner)
    is_parked: bool = False
    is_held: bool = False  # a turn was stopped, and the turns after it wait for a decision
    given: int = NONE  # the number of messages when the stop that is under way was requested
    has_agent: bool = True
    winner: int = NONE  # the turn that won the choice, or used up the question
    bound: int = NONE  # the turn that set the field; a staged write sets it if it is unchanged since it was read
    is_overwritten: bool = False  # it was set although it had changed
    turns: tuple[Turn, ...] = (Turn(),) * MESSAGES
    late: tuple[Late, ...] = ()
    is_unread: bool = False  # the thread hasn't been read yet
    has_no_order: bool = False  # reading it took too long
    readers: tuple[Copies, ...] = ()
    workers: tuple[Worker, ...] = (Worker(), Worker())
    sent: tuple[int, ...] = ()
    posts: tuple[tuple[int, str], ...] = ()
    sent_before: tuple[int, ...] = ()  # before or across a wipe
    was_wiped: bool = False
    left: Budget = Budget()

    def with_turn(self, number: int, **changes: object) -> State:
        """Change one turn."""
        changed = self.turns[number]._replace(**changes)  # type: ignore[arg-type]
        return self._replace(turns=(*self.turns[:number], changed, *self.turns[number + 1 :]))

    def with_worker(self, number: int, **changes: object) -> State:
        """Change one worker."""
        changed = self.workers[number]._replace(**changes)  # type: ignore[arg-type]
        return self._replace(workers=(*self.workers[:number], changed, *self.workers[number + 1 :]))

    def spend(self, kind: str) -> State:
        """Subtract one from the budget."""
        return self._replace(left=self.left._replace(**{kind: getattr(self.left, kind) - 1}))

    def idle(self, number: int) -> State:
        """Make a worker idle."""
        return self._replace(workers=(*self.workers[:number], _IDLE, *self.workers[number + 1 :]))

    def woken(self) -> State:
        """Add an entry, with a number that isn't in use."""
        used = {*self.ready, *(entry for entry, _ in self.pending), *(worker.entry for worker in self.workers)}
        return self._replace(ready=(*self.ready, min(set(range(len(used) + 1)) - used)))

    def holding(self, number: int) -> State:
        """Start a take with a new token."""
        used = {
            *(turn.token for turn in self.turns),
            *(turn.out for turn in self.turns),
            *(worker.token for worker in self.workers),
            *(put.token for put in self.late),
        }
        token = min(set(range(len(used) + 1)) - used)
        fresh = {"result": "", "knows_ts": False, "was_wiped": False}
        return self.with_worker(number, at="held", turn=NONE, token=token, **fresh)

    def retired(self, entry: int) -> State:
        """Remove an entry, whichever worker has it."""
        return self._replace(pending=frozenset(pair for pair in self.pending if pair[0] != entry))

    def in_order(self) -> State:
        """Sort the workers, which are interchangeable, so that mirrored states become one."""
        first, second = self.workers
        if first <= second:
            return self
        return self._replace(
            workers=(second, first),
            pending=frozenset((entry, _MIRRORED[owner]) for entry, owner in self.pending),
            late=tuple(put._replace(owner=_MIRRORED[put.owner]) for put in self.late),
        )


_MIRRORED = {0: 1, 1: 0, DEAD: DEAD}

SAYS = {"answer", "won", "lost"}
"""Outcomes of a handler that completed."""

Move = tuple[str, State]

MUTANTS = {
    "no dedup": Budget(),
    "always wake": Budget(),
    "never wake after done": Budget(),
    "no fence": Budget(stalls=1),
    "ask again": Budget(kills=1),
    "no look": Budget(kills=1),
    "no clock": Budget(stalls=1),
    "renewal steals": Budget(stalls=1),
    "no token": Budget(losses=1),
    "once without a mark": Budget(),
    "a second once": Budget(bugs=1),
    "once forgotten in the same process": Budget(reruns=1),
    "doubt forgotten in the same process": Budget(timeouts=1, reruns=1),
    "sent despite an edit": Budget(edits=1),
    "outcome despite an edit": Budget(edits=1, is_choice=True),
    "a mark without its replacement": Budget(overtakes=1),
    "an edit that meets its message is dropped": Budget(overtakes=1),
    "outcome despite withdrawal": Budget(withdrawals=1, is_choice=True),
    "staged writes apart from the outcome": Budget(kills=1),
    "staged writes again after a lost reply": Budget(losses=1),
    "staged writes of an earlier run": Budget(reruns=1),
    "staged writes of a failed run": Budget(bugs=1),
    "staged write to a changed field": Budget(rebinds=1),
    "writes after the post in their own script": Budget(kills=1),
    "writes after the post without a post": Budget(stops=1),
    "writes after the post forgotten at takeover": Budget(kills=1),
    "a question without its claim": Budget(is_question=True),
    "a claim that outlives UNSENT": Budget(refusals=1, is_question=True),
    "a claim before SENT": Budget(withdrawals=1, is_question=True),
    "choice without the winner's turn": Budget(kills=1, is_choice=True),
    "unsent without fence": Budget(stalls=1, losses=1, refusals=1),
    "unsent forgotten": Budget(refusals=1),
    "sent despite withdrawal": Budget(withdrawals=1),
    "park without checking for the choice": Budget(),
    "park without checking for withdrawal": Budget(withdrawals=1),
    "park without retiring": Budget(),
    "choice wakes no worker": Budget(),
    "withdrawal wakes no worker": Budget(withdrawals=1),
    "lapse wakes no worker": Budget(lapses=1),
    "release without retiring": Budget(releases=1),
    "release without waking": Budget(releases=1),
    "death wakes no worker": Budget(deaths=1),
    "a notice after the death": Budget(kills=1, deaths=1),
    "a notice before the death": Budget(kills=1, deaths=1),
    "retry wakes no worker": Budget(deaths=1, retries=1),
    "retry always wakes": Budget(deaths=1, retries=1),
    "retry leaves it on the list": Budget(deaths=1, retries=2),
    "retry asks again after an answer": Budget(deaths=1, retries=1),
    "retry of an unknown outcome as the same turn": Budget(kills=1, deaths=1, retries=1),
    "sent despite a stop": Budget(stops=1),
    "takeover despite a stop": Budget(kills=1, stops=1),
    "outcome despite a stop": Budget(stops=1),
    "unsent despite a stop": Budget(refusals=1, stops=1),
    "stop of a later message": Budget(stops=1),
    "deletion stops nothing": Budget(withdrawals=1),
    "a deleted message becomes a dead letter": Budget(withdrawals=1, deaths=1),
    "stop holds nothing": Budget(stops=1),
    "a late stop holds what was written after it": Budget(stops=1),
    "park despite a stop": Budget(stops=1),
    "stop wakes no worker": Budget(stops=1),
    "resume wakes no worker": Budget(stops=1),
    "withdrawal ends the hold": Budget(withdrawals=1, stops=1),
    "hold of a withdrawn message": Budget(withdrawals=1, stops=1),
    "hold outlives its lane": Budget(stops=1),
    "hand over and wake": Budget(),
    "hand over a message that isn't the head": Budget(),
    "a late message goes last": Budget(delays=1),
    "a late message overtakes one that was taken": Budget(delays=1),
    "a late message overtakes one that was sent": Budget(delays=1),
    "a late message overtakes one that was stopped": Budget(delays=1, stops=1),
    "a late message ends the hold": Budget(delays=1, stops=1),
    "a late message wakes": Budget(delays=1),
    "no tombstone": Budget(deletions=1),
    "post despite a stop": Budget(stops=1, limits=1),
    "stop of a post under way": Budget(stops=1),
    "post a waiting outcome unchecked": Budget(kills=1, stops=1, limits=1),
    "no look after a doubt": Budget(doubts=1),
    "post again when blind": Budget(doubts=1, is_blind=True),
    "takeover when blind": Budget(kills=1, is_blind=True),
    "no mark by url": Budget(kills=1, is_by_url=True),
    "post by url again": Budget(doubts=1, is_by_url=True),
    "mark outlives a refusal": Budget(limits=1, releases=1, is_by_url=True),
    "found without dedup": Budget(losses_in_slack=1, reads=1),
    "found despite its deletion": Budget(losses_in_slack=1, reads=1, deletions=1),
    "found despite an edit": Budget(losses_in_slack=1, reads=1, edits=1),
    "a void text isn't read again": Budget(losses_in_slack=1, reads=1, edits=1),
    "found and sent although too old": Budget(losses_in_slack=1, reads=1, is_old=True),
    "found newest first": Budget(losses_in_slack=2, reads=1),
    "a live message doesn't wait": Budget(losses_in_slack=1, reads=1),
    "found goes after live messages": Budget(losses_in_slack=1, reads=1),
    "a reader's death ends the reading": Budget(losses_in_slack=1, reads=1, kills=1),
    "found overtakes one in progress": Budget(losses_in_slack=1, reads=1, expiries=1),
    "read during leases from before a wipe": Budget(wipes=1),
    "answered messages are found after a wipe": Budget(wipes=1),
    "nothing is read after a wipe": Budget(wipes=1),
}
"""The precaution that each mutant leaves out, and the failures that reveal it."""

SCENARIOS = {
    "a kill and a slow worker": (True, Budget(kills=1, stalls=1)),
    "a kill and a withdrawal": (True, Budget(kills=1, withdrawals=1)),
    "a slow worker and a withdrawal": (True, Budget(stalls=1, withdrawals=1)),
    "two kills": (True, Budget(kills=2)),
    "two stalls": (True, Budget(stalls=2)),
    "lost replies": (True, Budget(stalls=1, losses=1)),
    "requests that don't arrive": (True, Budget(kills=1, losses=1, refusals=1)),
    "a drain": (True, Budget(kills=1, refusals=1, releases=1)),
    "a drain of a slow worker": (True, Budget(stalls=1, releases=1)),
    "a thread without an agent": (False, Budget(kills=1, withdrawals=1)),
    "a slow menu": (False, Budget(stalls=1)),
    "a menu and lost replies": (False, Budget(losses=1, withdrawals=1)),
    "a drain at a menu": (False, Budget(releases=1, withdrawals=1)),
    "a menu that nobody uses": (False, Budget(lapses=1, kills=1, withdrawals=1)),
    "a menu that nobody uses, and a slow worker": (False, Budget(lapses=1, stalls=1)),
    "a stop that nobody follows up": (True, Budget(lapses=1, stops=1, losses=1)),
    "a dead letter": (True, Budget(kills=1, deaths=1, retries=1)),
    "a dead letter and a slow worker": (True, Budget(stalls=1, deaths=1, retries=1)),
    "a dead letter and lost replies": (True, Budget(losses=1, deaths=1, retries=1)),
    "a message that is dead-lettered twice": (True, Budget(deaths=2, retries=2)),
    "a dead letter and a withdrawal": (False, Budget(withdrawals=1, deaths=2, retries=1)),
    "a stop and a kill": (True, Budget(kills=1, stops=1)),
    "a stop and a slow worker": (True, Budget(stalls=1, stops=1)),
    "a stop and lost replies": (True, Budget(losses=1, stops=1)),
    "a stop and requests that don't arrive": (True, Budget(refusals=1, losses=1, stops=1)),
    "a stop and a withdrawal": (True, Budget(withdrawals=1, stops=1)),
    "a stop and a drain": (True, Budget(refusals=1, releases=1, stops=1)),
    "two stops": (True, Budget(stops=2)),
    "deletions and a kill": (True, Budget(kills=1, withdrawals=2)),
    "a deletion and requests that don't arrive": (True, Budget(refusals=2, releases=1, withdrawals=1)),
    "a deletion and an answer that waits for Slack": (True, Budget(kills=1, withdrawals=1, limits=1, doubts=1)),
    "a deletion and a dead letter": (True, Budget(withdrawals=1, deaths=1, retries=1)),
    "a stop before an agent is chosen": (False, Budget(kills=1, stops=1)),
    "a stop of a dead letter": (True, Budget(deaths=1, retries=1, stops=1)),
    "a late message and a kill": (True, Budget(kills=1, delays=1)),
    "a late message and a slow worker": (True, Budget(stalls=1, delays=1)),
    "a late message and lost replies": (True, Budget(losses=1, delays=1)),
    "a late message and requests that don't arrive": (True, Budget(refusals=1, releases=1, delays=1)),
    "a late message and a withdrawal": (True, Budget(kills=1, withdrawals=1, delays=1)),
    "a late message and a stop": (True, Budget(stops=1, delays=1)),
    "a late message and a dead letter": (True, Budget(deaths=1, retries=1, delays=1)),
    "a late message and a menu": (False, Budget(withdrawals=1, delays=1)),
    "a late message, a menu and a stop": (False, Budget(stops=1, delays=1)),
    "a deleted message and a kill": (True, Budget(kills=1, delays=1, deletions=1)),
    "a deleted message and a slow worker": (True, Budget(stalls=1, delays=1, deletions=1)),
    "an answer that waits for Slack, and a stop": (True, Budget(stops=1, limits=1, doubts=1)),
    "an answer that waits for Slack, a kill and a stop": (True, Budget(kills=1, stops=1, limits=1)),
    "an answer that waits for Slack, a drain and a stop": (True, Budget(releases=1, stops=1, limits=1)),
    "an answer that waits for Slack, lost replies and a stop": (True, Budget(losses=1, stops=1, limits=1)),
    "posts in doubt": (True, Budget(kills=1, doubts=2)),
    "posts in doubt when blind": (True, Budget(kills=1, doubts=1, stops=1, is_blind=True)),
    "a slow worker when blind": (True, Budget(stalls=1, limits=1, is_blind=True)),
    "answers by url": (True, Budget(kills=1, limits=1, doubts=1, is_by_url=True)),
    "answers by url and a slow worker": (True, Budget(stalls=1, limits=1, is_by_url=True)),
    "answers by url and lost replies": (True, Budget(losses=1, limits=1, is_by_url=True)),
    "answers by url and a drain": (True, Budget(kills=1, limits=1, releases=1, is_by_url=True)),
    "handlers that run again": (True, Budget(kills=1, reruns=2)),
    "handlers that run again, and a slow worker": (True, Budget(stalls=1, reruns=1)),
    "handlers that run again, and lost replies": (True, Budget(losses=1, reruns=1, bugs=1)),
    "handlers that run again, and requests in doubt": (True, Budget(kills=1, refusals=1, timeouts=1, reruns=1)),
    "handlers that run again, and a stop": (True, Budget(reruns=1, timeouts=1, stops=1)),
    "handlers that run again, and a dead letter": (True, Budget(reruns=1, deaths=1, retries=1)),
    "edits": (True, Budget(kills=1, edits=1, reruns=1)),
    "edits and lost replies": (True, Budget(losses=1, edits=1)),
    "edits and requests that don't arrive": (True, Budget(refusals=1, edits=2)),
    "edits and a menu": (False, Budget(edits=1, withdrawals=1)),
    "edits that overtake, and a kill": (True, Budget(kills=1, overtakes=2)),
    "edits that overtake, and lost replies": (True, Budget(losses=1, overtakes=1)),
    "edits that overtake, and a late message": (True, Budget(overtakes=1, delays=1, refusals=1)),
    "a field that others set": (True, Budget(losses=1, rebinds=1, reruns=1)),
    "a field that others set, and a kill": (True, Budget(kills=1, rebinds=1)),
    "a choice": (True, Budget(kills=1, losses=1, reruns=1, is_choice=True)),
    "a choice and a slow worker": (True, Budget(stalls=1, reruns=1, is_choice=True)),
    "a choice, an edit and a withdrawal": (True, Budget(kills=1, edits=1, withdrawals=1, is_choice=True)),
    "a question and a kill": (True, Budget(kills=1, refusals=1, is_question=True)),
    "a question and a slow worker": (True, Budget(stalls=1, losses=1, is_question=True)),
    "a question, lost replies and a withdrawal": (True, Budget(losses=1, refusals=1, withdrawals=1, is_question=True)),
    "found in history": (True, Budget(losses_in_slack=2, reads=2)),
    "found in history, and a kill": (True, Budget(losses_in_slack=1, reads=1, kills=1)),
    "found in history, and lost replies": (True, Budget(losses_in_slack=1, reads=1, losses=1)),
    "found in history, and refusals": (True, Budget(losses_in_slack=1, reads=1, delays=1, refusals=1)),
    "found in history, and a stop": (True, Budget(losses_in_slack=1, reads=1, stops=1)),
    "found in history, and a drain": (True, Budget(losses_in_slack=1, reads=1, releases=1)),
    "found in history, and a menu": (False, Budget(losses_in_slack=1, reads=1, withdrawals=1)),
    "a wiped store": (True, Budget(wipes=1, losses_in_slack=1)),
    "a choice and a dead letter": (True, Budget(kills=1, deaths=1, retries=1, is_choice=True)),
}

LARGER = {
    "a deletion, a slow worker and lost replies": (True, Budget(stalls=1, losses=1, withdrawals=1)),
    "a lost hand-over and a kill": (True, Budget(kills=1, losses=2)),
    "a lost hand-over and a slow worker": (True, Budget(stalls=1, losses=2)),
    "a lost hand-over and a withdrawal": (True, Budget(losses=2, withdrawals=1)),
    "a lost hand-over without an agent": (False, Budget(stalls=1, losses=1)),
    "an answer that waits for Slack, a slow worker and a stop": (True, Budget(stalls=1, stops=1, limits=1)),
    "edits that overtake, and a slow worker": (True, Budget(stalls=1, overtakes=1, edits=1)),
    "edits that overtake, and deletions": (True, Budget(overtakes=2, deletions=1, withdrawals=1)),
    "edits that overtake, and a menu": (False, Budget(overtakes=2, withdrawals=1)),
    "found in history, and a slow worker": (True, Budget(losses_in_slack=1, reads=1, stalls=1)),
    "found in history by two readers": (True, Budget(losses_in_slack=1, reads=2, kills=1)),
    "found in history, and an edit": (True, Budget(losses_in_slack=1, reads=2, edits=2)),
    "found in history, and a deletion": (True, Budget(losses_in_slack=1, reads=2, deletions=1, withdrawals=1)),
    "found in history too late": (True, Budget(losses_in_slack=1, reads=1, expiries=1, kills=1)),
    "found in history, and too old": (True, Budget(losses_in_slack=2, reads=2, kills=1, is_old=True)),
    "a wiped store, and a kill": (True, Budget(wipes=1, kills=1)),
    "a wiped store, and a slow worker": (True, Budget(wipes=1, stalls=1)),
    "a store wiped twice": (True, Budget(wipes=2)),
}
"""Scenarios of up to 40,000 states, none of which a mutant needs."""
"""Scenarios for a lane: whether its thread has an agent from the start, and the budget of failures."""

_WITHOUT_AGENT = (
    "park",
    "choice",
    "withdrawal wakes",
    "lapse",
    "stop wakes",
    "a late message overtakes one that was taken",
)


class Lane:
    """The rules, without the precaution that a *mutant* leaves out."""

    def __init__(self, mutant: str = "") -> None:
        self.mutant = mutant
        self._works: dict[str, Callable[[State, int], Iterator[Move]]] = {
            "idle": self._idle,
            "held": self._held,
            "choosing": self._choosing,
            "chosen": self._chosen,
            "waiting": self._waiting,
            "menu": self._menu,
            "decided": self._decided,
            "sending": self._sending,
            "refused": self._refused,
            "calling": self._calling,
            "unsure": self._unsure,
            "looking": self._looking,
            "going": self._going,
            "posting": self._posting,
            "held back": self._held_back,
            "doubtful": self._doubtful,
            "notifying": self._notifying,
            "posted": self._posted,
            "burying": self._burying,
        }

    def moves(self, s: State) -> Iterator[Move]:
        """Yield the possible next moves."""
        yield from self._outside(s)
        for i, worker in enumerate(s.workers):
            for what, after in self._works[worker.at](s, i):
                yield f"w{i} {what}", after
            if worker.at != "idle":
                yield from self._misfortune(s, i)

    # External events.

    def _outside(self, s: State) -> Iterator[Move]:
        left = s.left
        for m in range(MESSAGES):
            yield from self._deliveries(s, m)
            if left.losses_in_slack or left.edits:
                yield from self._given_up(s, m)
            if left.overtakes or s.deciding:
                yield from self._overtaking(s, m)
            if left.edits or left.withdrawals:
                yield from self._changes(s, m)
        for late in s.late:
            yield f"late PUT {late.message}", self._late(s, late)
        if left.reads or left.expiries or s.readers:
            yield from self._readings(s)
        if s.left.wipes and any(s.delivered):
            yield "wipe the store", self._wiped(s.spend("wipes"))
        if left.stops or s.given != NONE or s.is_held:
            yield from self._stops(s)
        if not s.has_agent:
            yield "choose", self._choose(s)
        if s.left.lapses and s.is_parked:
            discarded = tuple(
                turn._replace(end=turn.end or "withdrawn") if m in s.box else turn for m, turn in enumerate(s.turns)
            )
            lapsed = s.spend("lapses")._replace(is_held=False, turns=discarded)
            yield "nobody decides", self._unparked(lapsed, "lapse wakes no worker")
        if s.left.rebinds:
            yield "rebind", s._replace(bound=OTHER).spend("rebinds")
        for m, turn in enumerate(s.turns if s.left.retries else ()):
            if turn.step == "dead" or (turn.died and self.mutant == "retry leaves it on the list"):
                yield f"retry {m}", self._retry(s.spend("retries"), m)

    def _changes(self, s: State, m: int) -> Iterator[Move]:
        """Edit or delete a message: while it's queued, or while it's worked on."""
        turn = s.turns[m]
        if m in s.seen and turn.step == "queued" and not turn.is_withdrawn:
            if s.left.edits:
                yield f"edit {m}", self._edited(s.spend("edits"), m)
            if s.left.withdrawals:
                yield f"withdraw {m}", self._withdraw(s.spend("withdrawals"), m)
        elif s.left.withdrawals and self._may_stop(turn) and not (turn.is_withdrawn or turn.is_deleted):
            at = "" if self.mutant == "deletion stops nothing" else turn.stopped_at or turn.step
            yield f"delete {m} while it runs", s.spend("withdrawals").with_turn(m, end=f"deleted {at}")

    def _edited(self, s: State, m: int) -> State:
        """EDIT: the text, and the token, so that a worker with the earlier text looks again."""
        turn = s.turns[m]
        return s.with_turn(m, text=turn.text + 1, token=NONE if turn.token == NONE else EDITED)

    def _deliveries(self, s: State, m: int) -> Iterator[Move]:
        """Deliver a message, a second time as another event or a retry; or delete it before its delivery."""
        is_next = all(s.delivered[:m])
        if s.delivered[m] < 2 and (is_next or s.left.delays):
            sent = s if is_next else s.spend("delays")
            put = self._put(sent, m)
            if put != sent or not s.delivered[m]:  # skip redeliveries without effect
                yield f"deliver {m}", self._delivered(put, m)
            yield from self._hand_over(sent, m)
        if s.left.deletions and m not in s.seen | s.gone:
            yield f"delete {m}", s._replace(gone=s.gone | {m}).spend("deletions")

    def _given_up(self, s: State, m: int) -> Iterator[Move]:
        """Let Slack give up on a message that wasn't accepted, or edit one that isn't queued yet."""
        if s.left.losses_in_slack and not s.delivered[m] and all(s.delivered[:m]):
            lost = tuple(2 if k == m else count for k, count in enumerate(s.delivered))
            yield f"Slack gives up on {m}", s._replace(delivered=lost).spend("losses_in_slack")
        if s.left.edits and (s.readers or s.left.reads) and m not in s.seen | s.gone:
            yield f"edit {m} before it is queued", s.spend("edits").with_turn(m, text=s.turns[m].text + 1)

    def _overtaking(self, s: State, m: int) -> Iterator[Move]:
        """Let an edit arrive before its message. It finds no turn, and becomes that turn unless it's refused for good.

        It's decided about in between, and the message itself may arrive meanwhile; then the edit changes its turn.
        """
        if s.left.overtakes and m not in s.seen | s.gone and all(s.delivered[:m]):
            void = s.void | {m} if self.mutant == "a mark without its replacement" else s.void
            arrived = s._replace(deciding=tuple(sorted((*s.deciding, m))), void=void)
            yield f"edit {m} arrives first", arrived.spend("overtakes")
        if m not in s.deciding:
            return
        deciding = list(s.deciding)
        deciding.remove(m)
        decided = s._replace(deciding=tuple(deciding))
        yield f"edit {m} is refused", decided
        if m in s.gone or (m in s.seen and s.turns[m].step != "queued"):
            return
        if m in s.seen and self.mutant == "an edit that meets its message is dropped":
            yield f"edit {m} is dropped", decided.with_turn(m, has_missed_edit=True)
        elif m in s.seen:
            yield f"edit {m} changes its turn", self._edited(decided, m)
        else:
            yield f"edit {m} becomes its turn", self._put(self._edited(decided, m), m, is_edit=True)

    # Catching up from Slack's history.

    def _readings(self, s: State) -> Iterator[Move]:
        is_early = any(worker.was_wiped and worker.has_lease for worker in s.workers)
        if s.left.reads and not (is_early and self.mutant != "read during leases from before a wipe"):
            yield "a reader starts", self._copied(s.spend("reads"))
        if s.left.expiries and s.is_unread:
            yield "reading takes too long", s._replace(is_unread=False, has_no_order=True).spend("expiries")
        for copies in set(s.readers):
            others = list(s.readers)
            others.remove(copies)
            left = s._replace(readers=tuple(others))
            if s.left.kills:
                killed = left.spend("kills")
                is_over = self.mutant == "a reader's death ends the reading"
                yield "a reader is killed", self._all_read(killed) if is_over else self._copied(killed)
            if not copies:
                yield "a reader finishes", self._all_read(left)
                continue
            (m, text), *rest = copies
            if m not in s.seen and text != s.turns[m].text and self.mutant != "found despite an edit":
                is_forgotten = self.mutant == "a void text isn't read again"
                yield (
                    f"a reader puts {m}: void",
                    left._replace(readers=(*others, tuple(rest))) if is_forgotten else self._copied(left),
                )
                continue
            put = self._put(left, m, is_found=True)
            if put != left and text != s.turns[m].text:
                put = put.with_turn(m, has_missed_edit=True)
            yield f"a reader puts {m}", put._replace(readers=tuple(sorted((*others, tuple(rest)))))

    def _wiped(self, s: State) -> State:
        """Delete everything stored; deliveries, requests and posts remain.

        Which threads to read is unknown, so live messages don't wait. Deduplication is lost too; the model assumes that
        Slack redelivers nothing across a wipe.
        """
        is_read = self.mutant != "nothing is read after a wipe"
        return State(
            delivered=tuple(2 if count or m in s.seen else 0 for m, count in enumerate(s.delivered)),
            has_agent=s.has_agent,
            has_no_order=True,
            workers=tuple(worker._replace(was_wiped=worker.at != "idle") for worker in s.workers),
            posts=s.posts,
            sent_before=(*s.sent_before, *s.sent),
            was_wiped=True,
            left=s.left._replace(reads=int(is_read)),
        )

    def _copied(self, s: State) -> State:
        """Copy the thread's current messages, without deleted and answered ones; a post names what it answers."""
        known = {m for m, _ in s.posts} if self.mutant != "answered messages are found after a wipe" else set[int]()
        without = s.gone | known if s.was_wiped else s.gone
        copies = tuple((m, turn.text) for m, turn in enumerate(s.turns[:MESSAGES]) if m not in without)
        if self.mutant == "found newest first":
            copies = copies[::-1]
        return s._replace(readers=tuple(sorted((*s.readers, copies))))

    def _all_read(self, s: State) -> State:
        return s._replace(is_unread=False)

    def _delivered(self, s: State, m: int) -> State:
        return s._replace(delivered=tuple(count + (k == m) for k, count in enumerate(s.delivered)))

    def _hand_over(self, s: State, m: int) -> Iterator[Move]:
        """Deliver to a process with a free worker, which gets an empty lane at once.

        If the reply is lost, the entry is pending for a process that doesn't know it, until it's taken over.
        """
        if m in s.seen or self._is_gone(s, m) or (s.box and self.mutant != "hand over a message that isn't the head"):
            return
        for i, worker in enumerate(s.workers):
            if worker.at != "idle":
                continue
            mine = s.holding(i)
            token = mine.workers[i].token
            ran = self._delivered(self._handed_over(mine, m, i, token), m)
            yield f"deliver {m} to w{i}", self._taken(ran, i)
            if s.left.losses:
                yield f"deliver {m} to w{i}, reply lost", ran.idle(i).spend("losses")
                yield f"deliver {m} to w{i}, late", s._replace(late=(*s.late, Late(m, i, token))).spend("losses")

    def _handed_over(self, s: State, m: int, owner: int, token: int) -> State:
        """PUT and TAKE in one: the entry is *owner*'s from the start."""
        s = self._put(s, m)
        s = s if s.ready else s.woken()
        *others, entry = s.ready
        left = s.ready if self.mutant == "hand over and wake" else tuple(others)
        s = s._replace(ready=left, pending=s.pending | {(entry, owner)}).with_turn(s.box[0], token=token)
        return s if owner == DEAD else s.with_worker(owner, entry=entry, has_lease=True)

    def _late(self, s: State, put: Late) -> State:
        """Run a PUT that was already reported as failed, so that no worker knows it has the lane."""
        s = s._replace(late=tuple(other for other in s.late if other != put))
        if put.message in s.seen or self._is_gone(s, put.message):
            return s
        s = self._delivered(s, put.message)
        if s.box:
            return self._put(s, put.message)
        return self._handed_over(s, put.message, put.owner, put.token)._replace(workers=s.workers)

    def _put(self, s: State, m: int, *, is_found: bool = False, is_edit: bool = False) -> State:
        has_dedup = self.mutant != ("found without dedup" if is_found else "no dedup")
        if (m in s.seen and has_dedup) or (self._is_gone(s, m, is_found=is_found) and not is_edit):
            return s
        later = [other for other in s.seen if other > m]
        before = [other for other in later if other not in s.box or self._is_dealt_with(s, other)]
        is_out_of_place = is_found and any(
            not (s.turns[other].is_withdrawn or s.turns[other].stopped_at) for other in before
        )
        wakes = not s.box or self.mutant == "always wake" or (bool(later) and self.mutant == "a late message wakes")
        place = self._place(s, m)
        s = s._replace(seen=s.seen | {m}, box=(*s.box[:place], m, *s.box[place:]))
        turn = Turn(
            is_overtaken=bool(before),
            is_out_of_place=is_out_of_place,
            is_held=bool(later) and s.is_held,
            text=s.turns[m].text,
            was_found=is_found,
            is_unread=s.is_unread,
        )
        s = s.with_turn(m, **turn._asdict())
        if wakes:
            return s.woken()
        # A new message resumes a held lane; a late one from before the stop doesn't.
        if later:
            return self._unparked(s._replace(is_held=False), "") if self._ends_the_hold(s) else s
        return self._resume(s)

    def _ends_the_hold(self, s: State) -> bool:
        return s.is_held and self.mutant == "a late message ends the hold"

    def _is_gone(self, s: State, m: int, *, is_found: bool = False) -> bool:
        mutant = "found despite its deletion" if is_found else "no tombstone"
        return m in s.void or (m in s.gone and self.mutant != mutant)

    def _place(self, s: State, m: int) -> int:
        """The position of a message: before later ones that haven't been started."""
        place = len(s.box)
        while place and self.mutant != "a late message goes last":
            other = s.box[place - 1]
            turn = s.turns[other]
            if other < m or other >= MESSAGES or turn.was_retried or self._is_dealt_with(s, other, can_forget=True):
                break
            place -= 1
        return place

    def _is_dealt_with(self, s: State, m: int, *, can_forget: bool = False) -> bool:
        """Whether it is too late for another to go first; no worker holds a parked head."""
        turn, left_out = s.turns[m], self.mutant.removeprefix("a late message overtakes one that was ") * can_forget
        if turn.step != "queued":
            return left_out != "sent"
        if s.box[:1] != (m,):
            return False
        if turn.is_withdrawn or turn.stopped_at:
            return left_out != "stopped"
        if turn.is_unread and self.mutant == "found overtakes one in progress":
            return False
        if turn.is_unread and s.is_unread and self.mutant != "found goes after live messages":
            return False  # its worker waits for the reader
        return turn.token != NONE and not s.is_parked and left_out != "taken"

    def _stops(self, s: State) -> Iterator[Move]:
        """Request a stop, let it arrive later, and decide what happens to the turns after the stopped one."""
        if s.left.stops and s.given == NONE:
            written = max((m + 1 for m, count in enumerate(s.delivered) if count), default=0)
            yield "request a stop", s._replace(given=written).spend("stops")
        if s.given != NONE:
            yield "stop", self._stop(s._replace(given=NONE), s.given)
        if s.is_held:
            yield "resume", self._resume(s)
            yield "discard", self._discard(s)

    def _stop(self, s: State, given: int) -> State:
        """STOP: mark the head, if the stop was meant for it, and hold the turns after it."""
        if not s.box:
            return s
        head, *rest = s.box
        turn = s.turns[head]
        is_later = head >= given or turn.was_retried
        if (
            (is_later and self.mutant != "stop of a later message")
            or turn.is_held
            or turn.is_withdrawn
            or turn.stopped_at
            or not self._may_stop(turn)
        ):
            return s
        # Writing on resumes a held lane, so a stop that arrives only after that holds nothing.
        went_on = any(waiting >= given for waiting in rest)
        s = s.with_turn(head, end=f"stopped {'too early' if is_later else turn.step}")
        if not went_on or self.mutant == "a late stop holds what was written after it":
            s = s._replace(is_held=True)
            for waiting in rest:
                s = s.with_turn(waiting, is_held=True, is_held_in_vain=went_on)
        return self._unparked(s, "stop wakes no worker")

    def _may_stop(self, turn: Turn) -> bool:
        is_back = turn.step == "posting" and (turn.waits or self.mutant == "stop of a post under way")
        return turn.step in {"queued", "sent"} or is_back

    def _resume(self, s: State) -> State:
        """RESUME: release all held turns, and unpark the lane, since holding parked it."""
        if not s.is_held:
            return s
        s = s._replace(is_held=False, turns=tuple(turn._replace(is_held=False) for turn in s.turns))
        return self._unparked(s, "resume wakes no worker")

    def _discard(self, s: State) -> State:
        """DISCARD: withdraw all held turns."""
        for m in s.box:
            if s.turns[m].is_held and s.turns[m].step == "queued":
                s = s.with_turn(m, end="withdrawn")
        return self._resume(s)

    def _withdraw(self, s: State, m: int) -> State:
        s = s.with_turn(m, end="withdrawn")
        if self.mutant == "withdrawal ends the hold":
            s = s._replace(is_held=False)
        return self._unparked(s, "withdrawal wakes no worker") if s.box[:1] == (m,) else s

    def _choose(self, s: State) -> State:
        s = self._resume(s._replace(has_agent=True))
        return self._unparked(s, "choice wakes no worker")

    def _retry(self, s: State, m: int) -> State:
        """RETRY: go to the end of the lane, as a new turn if it's unknown whether the old one arrived."""
        turn = s.turns[m]
        is_unknown = turn.died == "sent" or turn.outcome == "unknown"
        wakes = not s.box and self.mutant != "retry wakes no worker"
        if is_unknown and self.mutant != "retry of an unknown outcome as the same turn":
            new = Turn(was_retried=True)
            s = s.with_turn(m, step="replaced", is_told=False)._replace(
                turns=(*s.turns, new), box=(*s.box, len(s.turns))
            )
        else:
            shows = turn.died == "posting" and not is_unknown and self.mutant != "retry asks again after an answer"
            step = "posting" if shows else "queued"
            s = s.with_turn(m, step=step, token=NONE, was_retried=True, is_told=False)._replace(box=(*s.box, m))
        return s.woken() if wakes or self.mutant == "retry always wakes" else s

    def _unparked(self, s: State, mutant: str) -> State:
        return s._replace(is_parked=False).woken() if s.is_parked and self.mutant != mutant else s

    def _misfortune(self, s: State, i: int) -> Iterator[Move]:
        worker = s.workers[i]
        if s.left.kills:
            owners = frozenset((entry, DEAD if owner == i else owner) for entry, owner in s.pending)
            late = tuple(put._replace(owner=DEAD) if put.owner == i else put for put in s.late)
            yield f"w{i} killed", s._replace(pending=owners, late=late).idle(i).spend("kills")
        if s.left.stalls and worker.has_lease:
            yield f"w{i} stalls", s.with_worker(i, has_lease=False).spend("stalls")
        if worker.was_wiped and worker.has_lease:
            yield f"w{i}'s lease expires", s.with_worker(i, has_lease=False)
        if not worker.has_lease and ((worker.entry, i) in s.pending or self._steals(s, worker)):
            yield f"w{i} renews", self._claimed(s, worker.entry, i).with_worker(i, has_lease=True)

    def _steals(self, s: State, worker: Worker) -> bool:
        return self.mutant == "renewal steals" and any(entry == worker.entry for entry, _ in s.pending)

    # A worker's moves, by its place.

    def _owns(self, s: State, i: int) -> bool:
        """The fence: the entry is pending for this worker, and its turn is the head."""
        worker = s.workers[i]
        if self.mutant == "no fence":
            return True
        return (worker.entry, i) in s.pending and (worker.turn == NONE or s.box[:1] == (worker.turn,))

    def _script(self, s: State, i: int, what: str, after: State) -> Iterator[Move]:
        """Run a fenced script; if its reply is lost, the worker repeats it."""
        if not self._owns(s, i):
            yield f"{what}: lost the lane", s.idle(i)
            return
        yield what, after
        if s.left.losses:
            yield f"{what}, reply lost", after._replace(workers=s.workers).spend("losses")

    def _claimed(self, s: State, entry: int, i: int) -> State:
        return s._replace(pending=s.retired(entry).pending | {(entry, i)})

    def _idle(self, s: State, i: int) -> Iterator[Move]:
        if s.ready:
            entry = s.ready[0]
            held = self._claimed(s._replace(ready=s.ready[1:]), entry, i)
            yield "is woken", held.with_worker(i, entry=entry, has_lease=True).holding(i)
        for entry, owner in s.pending:
            holder = s.workers[owner]
            if owner == DEAD or not (holder.entry == entry and holder.has_lease):  # perhaps its own
                claimed = self._claimed(s, entry, i).with_worker(i, entry=entry, has_lease=True)
                yield "takes over", claimed.holding(i)

    def _held(self, s: State, i: int) -> Iterator[Move]:
        """TAKE: read the head."""
        if not s.box:
            yield from self._script(s, i, "finds nothing", s.retired(s.workers[i].entry).idle(i))
            return
        taken = s.with_turn(s.box[0], token=s.workers[i].token)
        yield from self._script(s, i, f"takes {s.box[0]}", self._taken(taken, i))
        yield from self._release(s, i)

    def _taken(self, s: State, i: int) -> State:
        """Continue with the head; a queued one's handler runs."""
        head = s.box[0]
        place = self._next_place(s, s.turns[head])
        run = self._run(s, i) if place in {"decided", "choosing"} else {"at": place}
        return s.with_worker(i, turn=head, text=s.turns[head].text, **run)

    def _run(self, s: State, i: int) -> dict[str, object]:
        """Start the handler, with the message as taken, the result of its `once` and no staged writes.

        It stages one push and one field at once.
        """
        worker = s.workers[i]
        earlier = worker.staged if self.mutant == "staged writes of an earlier run" else 0
        forgets = {"once forgotten in the same process": "answer", "doubt forgotten in the same process": "unknown"}
        is_forgotten = s.left.is_choice or worker.result == forgets.get(self.mutant)
        return {
            "at": "choosing" if s.left.is_choice else "decided",
            "staged": earlier + 1,
            "bound": s.bound,
            "result": "" if is_forgotten else worker.result,
        }

    def _run_again(self, s: State, i: int) -> Iterator[Move]:
        if s.left.reruns:
            yield "runs again", s.with_worker(i, **self._run(s, i)).spend("reruns")

    def _next_place(self, s: State, turn: Turn) -> str:
        if turn.stopped_at and turn.step != "queued" and self.mutant != "takeover despite a stop":
            return "posted"  # with nothing to post, continue to DONE
        if turn.step == "queued":
            if self._is_off(turn):
                return "posted"
            if self._waits_for_the_reader(s, turn):
                return "waiting"
            return "menu" if not s.has_agent else "choosing" if s.left.is_choice else "decided"
        if turn.step == "sent":
            return "sending" if self.mutant == "ask again" else "unsure"
        if turn.is_doubtful:
            return "notifying"
        if s.left.is_by_url:
            return "going"
        return "posting" if self.mutant == "no look" else "looking"

    def _is_off(self, turn: Turn, *mutants: str) -> bool:
        """Whether the message was withdrawn or its turn stopped."""
        is_stopped = bool(turn.stopped_at) and (turn.stopped_at, self.mutant) != ("unsent", "unsent despite a stop")
        return (turn.is_withdrawn and self.mutant not in mutants[:1]) or (is_stopped and self.mutant not in mutants[1:])

    def _waits_for_the_reader(self, s: State, turn: Turn) -> bool:
        return turn.is_unread and s.is_unread and not turn.was_found and self.mutant != "a live message doesn't wait"

    def _waiting(self, s: State, i: int) -> Iterator[Move]:
        """Wait until the thread has been read or an older message is the head; then take the head again."""
        turn = s.workers[i].turn
        if s.box[:1] != (turn,) or self._is_off(s.turns[turn]) or not self._waits_for_the_reader(s, s.turns[turn]):
            yield "stops waiting", s.holding(i)
        yield from self._release(s, i)

    def _menu(self, s: State, i: int) -> Iterator[Move]:
        """PARK after showing the menu, unless an agent was chosen or the message withdrawn in the meantime."""
        head = s.workers[i].turn
        chosen = s.has_agent and self.mutant != "park without checking for the choice"
        forgotten = self._is_off(s.turns[head], "park without checking for withdrawal", "park despite a stop")
        if chosen or forgotten:
            yield from self._script(s, i, "doesn't park", s.holding(i))
            return
        retired = s if self.mutant == "park without retiring" else s.retired(s.workers[i].entry)
        yield from self._script(s, i, "parks", retired._replace(is_parked=True).idle(i))
        yield from self._release(s, i)

    def _decided(self, s: State, i: int) -> Iterator[Move]:
        """SENT, unless the message has been edited or withdrawn; or reuse the earlier result of `once`."""
        worker = s.workers[i]
        turn = s.turns[worker.turn]
        if worker.result:
            yield "reuses its result", s.with_worker(i, at="calling")
            return
        if turn.was_found and s.left.is_old and self.mutant != "found and sent although too old":
            yield from self._outcome(s, i, "offered")
            return
        is_edited = turn.token != worker.token and self.mutant != "sent despite an edit"
        is_off = self._is_off(turn, "sent despite withdrawal", "sent despite a stop")
        if turn.step == "queued" and (is_edited or is_off):
            yield from self._script(s, i, "takes it again", s.holding(i))
            return
        if s.left.is_question and turn.step == "queued" and self.mutant != "a question without its claim":
            if s.winner != NONE and (s.winner != worker.turn or self.mutant != "a claim before SENT"):
                yield "finds the question used up", s.with_worker(i, at="calling", result="used")
                return
            if self.mutant == "a claim before SENT" and s.winner == NONE:
                yield f"claims the question for {worker.turn}", s._replace(winner=worker.turn)
                return
        sent = s.with_worker(i, at="sending")
        if turn.step == "sent" and (turn.token != worker.token or self.mutant == "no token"):
            sent = s.with_worker(i, at="unsure")
        elif self.mutant != "once without a mark":
            winner = worker.turn if s.left.is_question else s.winner
            sent = sent.with_turn(worker.turn, step="sent")._replace(winner=winner)
        yield from self._script(s, i, f"SENT {worker.turn}", sent)
        yield from self._run_again(s, i)
        yield from self._give_up(s, i)

    def _choosing(self, s: State, i: int) -> Iterator[Move]:
        """CHOOSE: an unfenced effect of the handler. The first turn wins, in each of its runs."""
        m = s.workers[i].turn
        is_won = s.winner in {NONE, m}
        winner = OTHER if self.mutant == "choice without the winner's turn" else m
        result = "won" if is_won else "lost"
        heard = result if s.turns[m].heard in {"", result} else "both"
        chosen = s.with_turn(m, heard=heard)._replace(winner=winner if is_won else s.winner)
        yield f"CHOOSE {m}", chosen.with_worker(i, at="chosen", result=result)
        if s.left.losses:
            yield f"CHOOSE {m}, reply lost", chosen.spend("losses")

    def _chosen(self, s: State, i: int) -> Iterator[Move]:
        yield from self._outcome(s, i, s.workers[i].result)
        yield from self._run_again(s, i)
        yield from self._give_up(s, i)

    def _sending(self, s: State, i: int) -> Iterator[Move]:
        worker = s.workers[i]
        if not worker.has_lease and self.mutant != "no clock":
            yield "gives up before the request", s.idle(i)
            return
        if worker.was_wiped:
            asked = s._replace(sent_before=(*s.sent_before, worker.turn))
        else:
            asked = s._replace(sent=(*s.sent, worker.turn)).with_turn(worker.turn, given=worker.text)
        yield f"asks {worker.turn}", asked.with_worker(i, at="calling", result="answer")
        if s.left.timeouts:
            doubt = {"at": "calling", "result": "unknown"}
            yield f"asks {worker.turn}, in doubt", asked.with_worker(i, **doubt).spend("timeouts")
            yield f"can't ask {worker.turn}, in doubt", s.with_worker(i, **doubt).spend("timeouts")
        if s.left.refusals:
            yield f"can't ask {worker.turn}", s.with_worker(i, at="refused").spend("refusals")
        yield from self._give_up(s, i)

    def _refused(self, s: State, i: int) -> Iterator[Move]:
        """UNSENT: queue the message as before, and take the head again."""
        turn = s.workers[i].turn
        again = s.holding(i)
        if s.turns[turn].step == "sent" and self.mutant != "unsent forgotten":
            again = again.with_turn(turn, step="queued")
            if s.left.is_question and self.mutant != "a claim that outlives UNSENT":
                again = again._replace(winner=NONE)
            if s.turns[turn].stopped_at:
                again = again.with_turn(turn, end=f"{s.turns[turn].end.partition(' ')[0]} unsent")
        if self.mutant == "unsent without fence" and not self._owns(s, i):
            yield f"UNSENT {turn} of another", again.idle(i)
            return
        yield from self._script(s, i, f"UNSENT {turn}", again)

    def _calling(self, s: State, i: int) -> Iterator[Move]:
        """Record OUTCOME once the request is answered; until then the handler may run again."""
        worker = s.workers[i]
        yield from self._outcome(s, i, worker.result)
        yield from self._run_again(s, i)
        if s.left.bugs and worker.result == "answer":
            failed = s.with_worker(i, result="failed").spend("bugs")
            asked = s._replace(sent=(*s.sent, worker.turn)) if self.mutant == "a second once" else failed
            yield f"calls once again for {worker.turn}", asked
        if s.turns[worker.turn].stopped_at:
            yield "notices the stop", s.with_worker(i, at="posted")

    def _unsure(self, s: State, i: int) -> Iterator[Move]:
        yield from self._outcome(s, i, "unknown")
        yield from self._give_up(s, i)

    def _give_up(self, s: State, i: int) -> Iterator[Move]:
        """Give up when Slack refuses it permanently or too many workers failed; only DEAD can follow."""
        if s.left.deaths:
            yield f"gives up on {s.workers[i].turn}", s.with_worker(i, at="burying").spend("deaths")

    def _burying(self, s: State, i: int) -> Iterator[Move]:
        """DEAD: like DONE, but keep the record unchanged, and queue the notice about it."""
        worker = s.workers[i]
        turn = s.turns[worker.turn]
        if self.mutant == "a notice before the death" and not turn.is_told:
            yield "queues its notice", s.with_turn(worker.turn, is_told=True)
            return
        is_told = self.mutant != "a notice after the death"  # an own script, which a kill may skip
        dead = s.with_turn(worker.turn, step="dead", died=turn.step, is_told=is_told)
        if turn.is_deleted and self.mutant != "a deleted message becomes a dead letter":
            dead = s.with_turn(worker.turn, step="done")
        dead = dead.retired(worker.entry).idle(i)
        yield from self._script(s, i, f"buries {worker.turn}", self._popped(dead, "death wakes no worker"))

    def _popped(self, s: State, mutant: str) -> State:
        """Remove the head; the next turn continues or is held."""
        s = s._replace(box=s.box[1:])
        if not s.box:
            return s if self.mutant == "hold outlives its lane" else s._replace(is_held=False)
        is_forgotten = s.turns[s.box[0]].is_withdrawn and self.mutant != "hold of a withdrawn message"
        if s.is_held and not is_forgotten and self.mutant != "stop holds nothing":
            return s._replace(is_parked=True)
        return s if self.mutant == mutant else s.woken()

    def _outcome(self, s: State, i: int, outcome: str) -> Iterator[Move]:
        """OUTCOME and ``posting`` in one step, with the staged writes. An existing outcome remains."""
        worker = s.workers[i]
        m, turn = worker.turn, s.turns[worker.turn]
        is_edited = turn.token != worker.token and self.mutant != "outcome despite an edit"
        is_off = turn.is_withdrawn and self.mutant != "outcome despite withdrawal"
        if turn.step == "queued" and (is_edited or is_off or turn.stopped_at):
            yield from self._script(s, i, "takes it again", s.holding(i))
            return
        if self.mutant == "staged writes apart from the outcome" and worker.staged and outcome in SAYS:
            yield "commits its staged writes", s.with_turn(m, written=turn.written + 1).with_worker(i, staged=0)
            return
        written = s
        if turn.step != "posting":
            given = worker.text if outcome in SAYS else turn.given
            written = self._committed(s.with_turn(m, step="posting", outcome=outcome, given=given), i)
        elif self.mutant == "staged writes again after a lost reply":
            written = self._committed(s, i)
        is_shown = not turn.stopped_at or self.mutant == "outcome despite a stop"
        shows = "going" if s.left.is_by_url else "posting"
        after = written.with_worker(i, at=shows if is_shown else "posted")
        yield from self._script(s, i, f"OUTCOME {outcome} {m}", after)

    def _committed(self, s: State, i: int) -> State:
        """Commit the staged writes of a completed run."""
        worker = s.workers[i]
        turn = s.turns[worker.turn]
        if turn.outcome not in SAYS and self.mutant != "staged writes of a failed run":
            return s
        s = s.with_turn(worker.turn, written=turn.written + worker.staged)
        if s.bound != worker.bound and self.mutant != "staged write to a changed field":
            return s
        return s._replace(bound=worker.turn, is_overwritten=s.is_overwritten or s.bound != worker.bound)

    def _looking(self, s: State, i: int) -> Iterator[Move]:
        """Look for an earlier worker's post, which has ended, since the lease outlasts it."""
        turn = s.workers[i].turn
        again = {"post again when blind": True, "takeover when blind": False}.get(self.mutant)
        if s.left.is_blind and again is not s.workers[i].must_look:
            yield "may not look", s.with_worker(i, at="doubtful", must_look=False)
            return
        is_there = any(posted == turn for posted, _ in s.posts) and not s.left.is_blind
        waits = s.turns[turn].waits and self.mutant != "post a waiting outcome unchecked"
        looked = s.with_worker(i, must_look=False, knows_ts=is_there)
        if self.mutant == "writes after the post forgotten at takeover":
            looked = looked.with_worker(i, knows_ts=False)
        yield "looks", looked.with_worker(i, at="posted" if is_there else "going" if waits else "posting")
        yield from self._release(s, i)
        yield from self._give_up(s, i)

    def _going(self, s: State, i: int) -> Iterator[Move]:
        """GOES: from here a stop is too late. A post by url is marked, since it can't be looked for."""
        worker = s.workers[i]
        turn = s.turns[worker.turn]
        if turn.stopped_at and self.mutant != "post despite a stop":
            yield from self._script(s, i, f"GOES {worker.turn}: stopped", s.with_worker(i, at="posted"))
        elif s.left.is_by_url and turn.out not in {NONE, worker.token}:
            yield from self._script(s, i, f"GOES {worker.turn}: again", s.with_worker(i, at="doubtful"))
        else:
            out = worker.token if s.left.is_by_url and self.mutant != "no mark by url" else NONE
            goes = s.with_turn(worker.turn, waits=False, out=out).with_worker(i, at="posting")
            yield from self._script(s, i, f"GOES {worker.turn}", goes)
        yield from self._release(s, i)

    def _posting(self, s: State, i: int) -> Iterator[Move]:
        """Post; it may certainly fail, or with an unknown result."""
        worker = s.workers[i]
        if worker.has_lease or self.mutant == "no clock":
            turn = s.turns[worker.turn]
            outcome = worker.result if worker.was_wiped else turn.outcome  # from memory after a wipe
            post = (worker.turn, "too late" if turn.stopped_at or turn.is_deleted else outcome)
            posted = s._replace(posts=(*s.posts, post))
            yield f"posts {worker.turn}", posted.with_worker(i, at="posted", knows_ts=not s.left.is_by_url)
            if s.left.limits:
                yield f"can't post {worker.turn}", s.with_worker(i, at="held back").spend("limits")
            if s.left.doubts:
                doubts = {"at": "held back", "must_look": self.mutant != "no look after a doubt"}
                yield f"posts {worker.turn}, in doubt", posted.with_worker(i, **doubts).spend("doubts")
                yield f"can't post {worker.turn}, in doubt", s.with_worker(i, **doubts).spend("doubts")
        else:
            yield "gives up before the post", s.idle(i)
        yield from self._release(s, i) if not s.left.is_by_url else ()
        yield from self._give_up(s, i)

    def _held_back(self, s: State, i: int) -> Iterator[Move]:
        """WAITS: a stop can take effect. A post by url that certainly failed may be sent that way again."""
        worker = s.workers[i]
        if s.left.is_by_url and worker.must_look and self.mutant != "post by url again":
            yield "can't look", s.with_worker(i, at="doubtful", must_look=False)
            return
        is_off = bool(s.turns[worker.turn].stopped_at) and self.mutant != "post despite a stop"
        place = "looking" if worker.must_look and not s.left.is_by_url else "going"
        waits = s.with_turn(worker.turn, waits=True).with_worker(i, at="posted" if is_off else place)
        if self.mutant != "mark outlives a refusal":
            waits = waits.with_turn(worker.turn, out=NONE)
        yield from self._script(s, i, f"WAITS {worker.turn}", waits)

    def _doubtful(self, s: State, i: int) -> Iterator[Move]:
        """DOUBT: people will be notified, and the outcome is saved for a button."""
        turn = s.workers[i].turn
        doubtful = s.with_turn(turn, is_doubtful=True).with_worker(i, at="notifying")
        yield from self._script(s, i, f"DOUBT {turn}", doubtful)

    def _notifying(self, s: State, i: int) -> Iterator[Move]:
        """Post the notice; a harmless duplicate may follow a kill."""
        worker = s.workers[i]
        notified = s.posts if (worker.turn, "doubtful") in s.posts else (*s.posts, (worker.turn, "doubtful"))
        yield f"posts a notice about {worker.turn}", s._replace(posts=notified).with_worker(i, at="posted")
        yield from self._give_up(s, i)

    def _posted(self, s: State, i: int) -> Iterator[Move]:
        """DONE: commit the writes that need the post's ts, pop, retire, and wake a worker if more turns wait."""
        worker = s.workers[i]
        turn = s.turns[worker.turn]
        knows_ts = worker.knows_ts or self.mutant == "writes after the post without a post"
        written = turn.written_after + (knows_ts and turn.outcome in SAYS)
        if written != turn.written_after and self.mutant == "writes after the post in their own script":
            yield (
                "writes after the post",
                s.with_turn(worker.turn, written_after=written).with_worker(i, knows_ts=False),
            )
            return
        done = s.with_turn(worker.turn, step="done", written_after=written).retired(worker.entry).idle(i)
        yield from self._script(s, i, f"DONE {worker.turn}", self._popped(done, "never wake after done"))

    def _release(self, s: State, i: int) -> Iterator[Move]:
        if not s.left.releases or not self._owns(s, i):
            return
        freed = s if self.mutant == "release without retiring" else s.retired(s.workers[i].entry)
        freed = freed.idle(i).spend("releases")
        yield "releases the lane", freed.woken() if s.box and self.mutant != "release without waking" else freed


def broken(s: State, budget: Budget) -> str:
    """Describe the promise that a state breaks, if any."""
    said = [m for m, outcome in s.posts if outcome != "doubtful"]
    for m in s.sent_before:
        if s.sent_before.count(m) > budget.wipes:
            return f"message {m} reached the agent more often than the store was wiped"
    for m in s.sent:
        if s.sent.count(m) > 1:
            return f"message {m} reached the agent twice"
        if s.turns[m].step == "queued":
            return f"message {m} is queued although it was sent"
    for m in said:
        if said.count(m) > 1:
            return f"message {m} was answered twice"
        if (m, "answer") in s.posts and m not in (*s.sent, *s.sent_before):
            return f"message {m} was answered without being asked"
    for m in (*s.sent, *said):
        if m in s.gone:
            return f"message {m} was handled although it was deleted"
        if s.turns[m].is_withdrawn:
            return f"message {m} was handled although it was withdrawn"
    for m in s.sent:
        if s.turns[m].has_missed_edit:
            return f"message {m} was sent with a text from before an edit"
        if s.turns[m].was_found and budget.is_old:
            return f"message {m} was sent although it is too old"
    return (
        _wrongly_run(s)
        or (_wrongly_stopped(s) if budget.stops or budget.withdrawals else "")
        or (_wrongly_lost(s, budget) if budget[:2] == s.left[:2] else "")
        or _out_of_order(s)
        or _wrong_entries(s)
    )


def _wrongly_lost(s: State, budget: Budget) -> str:
    """Check for losses without a lost worker."""
    for m, outcome in s.posts:
        if outcome == "unknown" and budget.timeouts == s.left.timeouts:
            return f"message {m} has an unknown outcome although no worker was lost"
        if outcome == "doubtful" and budget.doubts == s.left.doubts:
            return f"message {m} is in doubt although nothing was lost"
    is_idle = any(owner != DEAD and s.workers[owner].at == "idle" for _, owner in s.pending)
    return "an idle worker holds a lane" if is_idle and budget.losses == s.left.losses else ""


def _wrongly_run(s: State) -> str:
    """Check the handlers' results and their staged writes."""
    for m, turn in enumerate(s.turns):
        if turn.written != (turn.outcome in SAYS):
            return f"message {m}'s staged writes were committed {turn.written} times, with the outcome “{turn.outcome}”"
        if turn.written_after > 1:
            return f"message {m}'s writes after its post were committed {turn.written_after} times"
        if turn.heard == "both" or (turn.outcome in {"won", "lost"} and turn.outcome != turn.heard):
            return f"message {m}'s handler got different results of the choice in two runs"
        if turn.given not in {NONE, turn.text}:
            return f"message {m} was handled with a text from before an edit"
        if turn.is_told != (turn.step == "dead"):
            return f"message {m} was given up without its notice, or the notice is queued without that"
        if turn.step == "done":
            is_shown = turn.outcome in SAYS and (m, turn.outcome) in s.posts
            is_known = is_shown and not (turn.is_doubtful or turn.stopped_at or s.left.is_by_url)
            if (is_known and not turn.written_after) or (turn.written_after and not is_shown):
                return f"message {m}'s writes after its post were committed {turn.written_after} times"
    if s.left.is_question and len({*s.sent}) > 1:
        return "a question was answered twice"
    return "a field was overwritten although it had changed" if s.is_overwritten else ""


def _wrongly_stopped(s: State) -> str:
    posted = {turn for turn, _ in s.posts}
    for m, turn in enumerate(s.turns):
        if turn.is_deleted and ((m, "too late") in s.posts or turn.step == "dead"):
            return f"message {m} was answered, or is a dead letter, although it was deleted"
        if turn.stopped_at == "too early":
            return f"message {m} was stopped by a stop from before it"
        if turn.stopped_at and m in posted and (turn.stopped_at != "posting" or (m, "too late") in s.posts):
            return f"message {m} was answered although it was stopped"
        if (turn.stopped_at == "queued" and m in s.sent) or (turn.stopped_at == "unsent" and turn.step == "sent"):
            return f"message {m} was sent although it was stopped"
        if turn.is_held and ((m in s.sent and not turn.was_retried) or turn.step == "sent"):
            return f"message {m} was sent while it was held"
        if turn.is_held_in_vain:
            return f"message {m} is held by a stop from before someone wrote on"
    return ""


def _out_of_order(s: State) -> str:
    if s.was_wiped:
        return ""
    for m, turn in enumerate(s.turns):
        if turn.is_out_of_place and not s.has_no_order:
            return f"message {m} was found after a later one had started"
    has_place = [not (turn.was_retried or turn.is_overtaken) for turn in s.turns]
    posted = [turn for turn, _ in s.posts if has_place[turn]]
    sent = [turn for turn in s.sent if has_place[turn]]
    if sent != sorted(sent):
        return "out of order at the agent"
    if posted != sorted(posted):
        return "out of order in the thread"
    at_work = {worker.turn for worker in s.workers if worker.at in {"calling", "posting"} and worker.has_lease}
    return "two turns at once" if len(at_work) > 1 else ""


def _wrong_entries(s: State) -> str:
    """Check the invariant: a lane with work has exactly one entry or is parked; one without has none."""
    entries = len(s.ready) + len(s.pending) + s.is_parked
    if s.is_parked and (s.turns[s.box[0]].is_withdrawn or s.turns[s.box[0]].stopped_at):
        return "a lane is parked at a withdrawn or stopped message"
    if s.is_held and not s.box:
        return "an empty lane is held"
    return "" if entries == bool(s.box) else f"{entries} entries for a lane with {len(s.box)} turns"


def at_the_end(s: State) -> str:
    """Describe what is wrong with a final state, if anything."""
    left = {m for m, turn in enumerate(s.turns) if turn.step not in {"done", "dead", "replaced"}}
    left -= {m for m, _ in s.posts} if s.was_wiped else set()
    if s.box or left - s.gone:
        return "stuck with unfinished turns"
    answered = {turn for turn, _ in s.posts} | {
        m for m, turn in enumerate(s.turns) if turn.is_withdrawn or turn.stopped_at
    }
    outcomes = {turn.outcome for turn in s.turns}
    if "used" in outcomes and not outcomes & {"answer", "unknown"} and not any(turn.is_deleted for turn in s.turns):
        return "a question is used up although nothing was sent"
    done = {m for m, turn in enumerate(s.turns) if turn.step == "done"}
    return "" if done <= answered else "a message got no answer"


def search(has_agent: bool, budget: Budget, mutant: str = "") -> Found:  # noqa: FBT001 - as in `SCENARIOS`
    """Search a scenario, perhaps without a precaution."""
    lane = Lane(mutant)
    return breadth_first(
        State(left=budget, has_agent=has_agent, is_unread=bool(budget.reads)),
        lambda s: [(what, moved.in_order()) for what, moved in lane.moves(s)],
        lambda s, following: broken(s, budget) or ("" if following else at_the_end(s)),
    )


def world_of(mutant: str) -> tuple[bool, Budget]:
    """Return a scenario that reveals a mutant: whether there's an agent, and the budget."""
    return not mutant.startswith(_WITHOUT_AGENT), MUTANTS[mutant]
