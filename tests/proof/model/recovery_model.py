"""Model of the recovery of events that were refused because Redis was away, in one thread.

People write a root and a reply, and edit or delete them. Slack delivers each event in order; it repeats one that was
refused at any later time, up to `ATTEMPTS` times in all, and now and then an accepted one. Redis is away once. The
process that refuses an event remembers it, and *marks* the thread as unread as soon as Redis is back, before it accepts
anything. If it's killed meanwhile, that's forgotten, and its successor only knows *when* messages were refused, perhaps
some seconds late.

The *reader* copies a marked thread from Slack's history and puts the messages, oldest first, through the same door as
Slack's deliveries. Slack may deny it the history, or limit it so that it never comes in time; its copy may lag behind
what Slack delivers. A worker doesn't send while a refused message has neither arrived nor been looked for.

A process may also *end* with a root that it didn't acknowledge, while Redis is there. Nobody knows of that root until
Slack sends it again, so a reply that arrives first isn't for the bot. So a thread is marked with any root that Slack
sends again: it's either such a one, or it was refused, and so may earlier replies be that Slack has yet to repeat.

The promises: a message is sent at most once. None is lost, except one that Slack gives up on and that can't be read.
None is sent after its deletion, or its edit, was known. None overtakes an earlier one that was known to be refused, or
to have overtaken its root, if the history can be read in time. None waits for what has arrived.

The inbox's own model (`inbox_model`) has crashes, leases and the steps of a turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from proof.model.search import Found, search as breadth_first

ROOT, REPLY = 0, 1
UNKNOWN: Final = -1  # replies of which nobody knows whether they were written
ATTEMPTS: Final = 3  # to deliver an event
Event = tuple[str, int]  # message, edit or deletion; of the root or the reply
Text = tuple[int, int]  # a message, and its text: 0, or 1 once edited


class World(NamedTuple):
    """What may happen in a scenario. *history*: ``read``, ``denied``, or ``limited``: the reader comes too late."""

    history: str = "read"
    is_bound: bool = False  # the thread had a conversation before; else the root starts it
    edits: int = 0
    deletions: int = 0
    kills: int = 0
    lags: int = 0  # the reader's copy lacks the newest message or edit
    reader_kills: int = 0
    gives_up: bool = False  # Redis may be away for longer than Slack repeats
    is_noted_late: bool = (
        False  # that messages were refused, by a process that was killed: some seconds after Redis is back
    )
    ends: int = 0  # a process ends with the root, unacknowledged; Redis stays
    replies: int = 1
    calls: bool = False  # the last reply mentions the bot


class Delivery(NamedTuple):
    """How often an event was delivered, and whether it was accepted."""

    event: Event
    attempts: int = 0
    is_accepted: bool = False


class Place(NamedTuple):
    """The state."""

    left: World
    # Slack's
    written: int = 0
    edited: frozenset[int] = frozenset()
    deleted: frozenset[int] = frozenset()
    deliveries: tuple[Delivery, ...] = ()
    # The process's
    redis: str = "before"  # before, away, back
    memory: frozenset[Event] = frozenset()
    is_dated: bool = False  # it refused new messages, so it knows when; of repeats it knows only which
    was_killed: bool = False
    reader: tuple[int, tuple[Text, ...]] | None = None  # the mark at the time of its copy, and what isn't put yet
    # In Redis
    is_bound: bool = False
    seen: frozenset[int] = frozenset()
    box: tuple[Text, ...] = ()
    gone: frozenset[int] = frozenset()  # tombstones
    newer: frozenset[int] = frozenset()  # messages whose edit was refused
    void: frozenset[int] = frozenset()  # messages whose edit wasn't for the bot
    since: int = ROOT  # the message that called the bot into the thread
    knows_when: bool = False  # messages were refused
    mark: int = 0  # how often the thread was marked as unread
    waits_for: frozenset[int] = frozenset()  # refused messages
    # For the promises
    known: frozenset[Event] = frozenset()  # events that reached a process that lives
    missed: frozenset[Event] = frozenset()  # edits that were refused after their message was queued
    sent: tuple[Text, ...] = ()
    offered: frozenset[int] = frozenset()
    had_no_order: bool = False
    was_lost: bool = False  # its process or its history
    fault: str = ""


Move = tuple[str, Place]

_OPTIONAL: Final = (
    "people",
    "Redis goes",
    "the process is killed",
    "Slack repeats",
    "the reader is killed",
    "a process ends",
)

SCENARIOS: Final = {
    "a root and a reply": World(),
    "a root and a reply, edited": World(edits=1),
    "a root and a reply, deleted": World(deletions=1),
    "a root and two replies": World(replies=2),
    "two replies": World(is_bound=True),
    "two replies, deleted": World(is_bound=True, deletions=1),
    "a killed process": World(kills=1),
    "a killed process in a thread with a conversation": World(kills=1, is_bound=True),
    "a killed process, noted late": World(kills=1, is_noted_late=True),
    "a killed reader": World(reader_kills=1),
    "a history that lags": World(lags=1),
    "a long outage": World(gives_up=True),
    "a long outage and a killed reader": World(gives_up=True, reader_kills=1, is_bound=True),
    "no history": World("denied"),
    "no history, and a deletion": World("denied", deletions=1),
    "no history, and a long outage": World("denied", gives_up=True),
    "no history, in a thread with a conversation": World("denied", is_bound=True, edits=1),
    "no history, and a killed process": World("denied", kills=1),
    "limited history": World("limited"),
    "a root sent again, and two replies": World(ends=1, replies=2),
    "a root sent again, and a second mention": World(ends=1, replies=2, calls=True),
    "a root sent again, edited": World(ends=1, edits=1),
    "a root sent again, deleted": World(ends=1, deletions=1),
    "a root sent again, and a killed reader": World(ends=1, reader_kills=1),
    "a root sent again, and limited history": World("limited", ends=1),
}

LARGER: Final = {
    "a root and two replies, and limited history": World("limited", replies=2),
    "two replies, edited": World(is_bound=True, edits=1),
    "a history that lags, and a deletion": World(lags=1, deletions=1),
    "limited history in a thread with a conversation": World("limited", is_bound=True, edits=1),
}
"""Scenarios of up to 40,000 states, none of which a mutant needs."""

LIMITS: Final = {
    "an edit of an early reply, if the history lags": World(lags=1, edits=1),
    "an edit of an early reply, without history": World("denied", edits=1),
    "a reply before a root sent again, if the history lags": World(ends=1, lags=1),
    "a reply before a root sent again, without history": World("denied", ends=1),
    "a reply before an outage was noted, without history": World("denied", kills=1, is_noted_late=True),
}
"""What isn't kept: such an edit is accepted at once, and the earlier text may be sent instead; such a reply is lost."""

WISHES: Final = {
    "early replies are accepted": World("denied"),
    "messages are accepted before their refused edits": World("denied", is_bound=True, edits=1),
    "deletions leave no mark": World(deletions=1),
    "refused deletions aren't remembered": World(deletions=1),
    "what history lacks is withdrawn": World(lags=1, is_bound=True),
    "only places are marked, no times": World("denied", kills=1),
    "repeats are dropped": World(kills=1, is_bound=True),
}
"""Simplifications of which each breaks a promise, and where."""

MUTANTS: Final = {
    "marks are written later": World(is_bound=True),
    "a live message doesn't wait": World(is_bound=True),
    "a repeat doesn't end the waiting": World("limited", is_bound=True),
    "a denied history doesn't end the waiting": World("denied", is_bound=True, gives_up=True),
    "a late reply is accepted without a mark": World(edits=1),
    "an early reply is refused without a mark": World(replies=2),
    "a mark set meanwhile is removed": World(gives_up=True),
    "found without dedup": World(is_bound=True),
    "found newest first": World(replies=2),
    "an earlier copy is put despite a newer text": World(edits=1),
    "found texts aren't edits": World(edits=1, gives_up=True, is_bound=True),
    "a reader's death ends the reading": World(reader_kills=1, gives_up=True),
    "a late message goes last": World(is_bound=True),
    "a root sent again isn't read": World(ends=1),
    "a root sent again is read after it's handled": World(ends=1, replies=2),
    "a reply below a root sent again is put twice": World(ends=1),
    "an edit hides a root sent again": World(ends=1, edits=1),
    "a refusal hides a root sent again": World(kills=1, is_noted_late=True),
    "a second mention hides a root sent again": World(ends=1, replies=2, calls=True),
}
"""The precaution that each leaves out, and the scenario that reveals it."""


class Thread:
    """The rules, without the precaution that *without* names."""

    def __init__(self, without: str = "") -> None:
        self.without = without

    def moves(self, s: Place) -> Iterator[Move]:
        """Yield the possible next moves."""
        yield from self._people(s)
        yield from self._redis(s)
        for at, delivery in enumerate(s.deliveries):
            # The n-th attempts come in order, but for delays, which only history makes up for.
            repeats = delivery.attempts if s.left.history == "denied" else 0
            is_next = all(one.attempts > (0 if one.is_accepted else repeats) for one in s.deliveries[:at])
            most = ATTEMPTS - (s.redis == "away" and not s.left.gives_up)
            if delivery.attempts < most and is_next:
                after = self._deliver(s, at)
                if not delivery.is_accepted or after._replace(deliveries=s.deliveries) != s:  # else it's without effect
                    how = "repeats" if delivery.is_accepted else "delivers"
                    yield f"Slack {how} {_name(delivery.event)}", after
                if s.left.ends and delivery == Delivery(("message", ROOT)):
                    left = s.left._replace(ends=0)
                    yield "a process ends with the root", _tried(s, at, is_accepted=False)._replace(left=left)
        if s.redis != "away":
            yield from self._read(s)
            yield from self._work(s)

    def _people(self, s: Place) -> Iterator[Move]:
        if s.written <= s.left.replies and ROOT not in s.deleted:
            yield f"people write {s.written}", _occurs(s._replace(written=s.written + 1), ("message", s.written))
        for m in range(s.written):
            if s.left.edits and m not in s.edited | s.deleted:
                left = s._replace(edited=s.edited | {m}, left=s.left._replace(edits=s.left.edits - 1))
                yield f"people edit {m}", _occurs(left, ("edit", m))
            if s.left.deletions and m not in s.deleted:
                left = s._replace(deleted=s.deleted | {m}, left=s.left._replace(deletions=s.left.deletions - 1))
                yield f"people delete {m}", _occurs(left, ("deletion", m))

    def _redis(self, s: Place) -> Iterator[Move]:
        if s.redis == "before":
            yield "Redis goes away", s._replace(redis="away")
        elif s.redis == "away":
            back = s._replace(redis="back")
            if s.was_killed and not s.left.is_noted_late and self.without != "only places are marked, no times":
                back = back._replace(knows_when=True)
            yield "Redis is back", back if self.without == "marks are written later" else self._marked(back)
            if s.left.kills and s.memory:
                forgotten = s._replace(memory=frozenset(), is_dated=False, known=s.known - s.memory, was_killed=True)
                yield "the process is killed", forgotten._replace(left=s.left._replace(kills=0))
        elif s.was_killed and not s.knows_when and s.left.is_noted_late:
            yield "the outage is noted", s._replace(knows_when=True)
        elif s.memory:
            yield "the marks are written", self._marked(s)

    def _marked(self, s: Place) -> Place:
        """Write what the process remembers."""
        memory, is_dated, s = s.memory, s.is_dated, s._replace(memory=frozenset(), is_dated=False)
        if not memory:
            return s
        is_dated = is_dated and self.without != "only places are marked, no times"
        s = s._replace(knows_when=s.knows_when or is_dated, mark=s.mark + 1)
        for kind, m in sorted(memory):
            if kind == "deletion" and self.without != "refused deletions aren't remembered":
                s = self._withdraw(s, m)
            elif kind == "edit" and m not in s.seen | s.gone:
                s = s._replace(newer=s.newer | {m}, waits_for=s.waits_for | {m})
            elif kind == "message" and m not in s.seen | s.gone:
                s = s._replace(waits_for=s.waits_for | {m})
        return s

    # The door.

    def _deliver(self, s: Place, at: int) -> Place:
        delivery = s.deliveries[at]
        attempts = delivery.attempts + 1
        kind, m = event = delivery.event
        if s.redis == "away":
            s = s._replace(memory=s.memory | {event} if not delivery.is_accepted else s.memory)
            s = s._replace(is_dated=s.is_dated or (kind == "message" and not delivery.attempts))
            s = s._replace(missed=s.missed | {event} if m in s.seen else s.missed)
            accepted = None
        elif delivery.attempts and self.without == "repeats are dropped":
            accepted = s
        else:
            accepted = self._accept(s, kind, m, is_last=attempts == ATTEMPTS)
        was_refused = accepted is None
        after = s if accepted is None else accepted
        is_early = was_refused and s.redis != "away" and not s.is_bound and m not in s.newer
        if is_early and self.without != "an early reply is refused without a mark":
            after = self._early(s, m)
        if event == ("message", ROOT) and delivery.attempts and not (was_refused or delivery.is_accepted):
            after = self._sent_again(s, after)
        after = _tried(after, at, is_accepted=delivery.is_accepted or not was_refused)
        return after._replace(known=after.known | {event})

    def _sent_again(self, s: Place, after: Place) -> Place:
        """Mark the thread of a root that Slack sent again: earlier replies may have been passed over or refused."""
        is_by_edit = ROOT in s.seen
        is_hidden = (is_by_edit and self.without == "an edit hides a root sent again") or (
            s.is_bound and not is_by_edit and self.without == "a second mention hides a root sent again"
        )
        is_hidden = is_hidden or (s.knows_when and self.without == "a refusal hides a root sent again")
        if ROOT in s.gone or is_hidden or self.without == "a root sent again isn't read":
            return after
        waits_for = after.waits_for | ({UNKNOWN} if "after it's handled" not in self.without else frozenset())
        return after._replace(mark=after.mark + 1, waits_for=waits_for)

    def _accept(self, s: Place, kind: str, m: int, *, is_last: bool) -> Place | None:
        """Accept an event, or refuse it for now (None)."""
        if kind == "deletion":
            return self._withdraw(s, m)
        if kind == "edit" and m in s.seen:
            return self._changed(s, m)
        if m in s.gone | s.seen or (kind == "message" and m in s.void):
            return s
        is_too_early = kind == "message" and m in s.newer
        if is_too_early and not is_last and self.without != "messages are accepted before their refused edits":
            return None
        if ROOT < m < s.since:
            return s
        if s.left.calls and m == s.left.replies and not s.is_bound:
            return self._put(s, m, int(kind == "edit"))._replace(since=m, had_no_order=True)
        if m != ROOT and not s.is_bound:
            if ROOT in s.seen | s.gone or not s.knows_when:  # it isn't for the bot
                return s._replace(void=s.void | {m}) if kind == "edit" else s
            if kind == "message" and not is_last and self.without != "early replies are accepted":
                return None
            if self.without == "a late reply is accepted without a mark":
                return s
            return self._early(s, m)._replace(newer=s.newer | {m} if kind == "edit" else s.newer)
        return self._put(s, m, int(kind == "edit"))

    def _early(self, s: Place, m: int) -> Place:
        """Mark the thread of a reply whose root is missing: it's found below that, and later ones wait for it."""
        return s._replace(mark=s.mark + 1, waits_for=s.waits_for | {m})

    def _put(self, s: Place, m: int, text: int) -> Place:
        """Queue a message, before later ones that wait."""
        goes_last = self.without == "a late message goes last"
        place = len(s.box) if goes_last else sum(k < m for k, _ in s.box)
        waits_for = s.waits_for if self.without == "a repeat doesn't end the waiting" else s.waits_for - {m}
        return s._replace(
            seen=s.seen | {m},
            box=(*s.box[:place], (m, text), *s.box[place:]),
            is_bound=True,
            since=ROOT if m == ROOT else s.since,
            newer=s.newer - {m},
            void=s.void - {m},
            waits_for=waits_for,
        )

    def _changed(self, s: Place, m: int) -> Place:
        """Give the turn the new text, or offer it if the agent has the earlier one."""
        if (m, 0) in s.box:
            return s._replace(box=tuple((k, 1 if k == m else text) for k, text in s.box))
        return s._replace(offered=s.offered | {m}) if (m, 0) in s.sent else s

    def _withdraw(self, s: Place, m: int) -> Place:
        if m in s.seen:
            return s._replace(box=tuple(one for one in s.box if one[0] != m))
        if self.without == "deletions leave no mark":
            return s
        return s._replace(gone=s.gone | {m}, waits_for=s.waits_for - {m})

    # The reader.

    def _read(self, s: Place) -> Iterator[Move]:
        if s.reader is None:
            if s.mark and ("after it's handled" not in self.without or s.sent):
                yield from self._begin(s)
            return
        at, copies = s.reader
        if s.left.reader_kills:
            killed = s._replace(reader=None, left=s.left._replace(reader_kills=0))
            yield "the reader is killed", _all_read(killed) if "reader's death" in self.without else killed
        if not copies:
            is_done = at == s.mark or self.without == "a mark set meanwhile is removed"
            yield "the reader finishes", _all_read(s) if is_done else s._replace(reader=None)
            return
        (m, text), *rest = copies
        after = self._found(s._replace(reader=(at, tuple(rest))), m, text)
        yield f"the reader puts {m}", after

    def _begin(self, s: Place) -> Iterator[Move]:
        if s.left.history == "denied":
            is_kept = self.without == "a denied history doesn't end the waiting"
            yield "Slack denies the history", s._replace(mark=0) if is_kept else _all_read(s, had_no_order=True)
            return
        if s.left.history == "limited" and s.waits_for:
            late = s._replace(waits_for=frozenset(), had_no_order=True)
            yield "the reader doesn't come in time", late
            return
        copies = tuple((m, int(m in s.edited)) for m in range(s.written) if m not in s.deleted)
        if self.without == "found newest first":
            copies = copies[::-1]
        yield "the reader copies the thread", self._copied(s, copies)
        if not s.left.lags or not copies:
            return
        lagging = s._replace(left=s.left._replace(lags=0), had_no_order=True)
        m, text = copies[-1]
        if all(one.attempts <= 1 for one in s.deliveries if one.event == ("edit" if text else "message", m)):
            old = (*copies[:-1], (m, 0)) if text else copies[:-1]
            yield "the reader gets an old copy", self._copied(lagging, old)

    def _copied(self, s: Place, copies: tuple[Text, ...]) -> Place:
        if self.without == "what history lacks is withdrawn":
            found = {m for m, _ in copies}
            s = s._replace(box=tuple(one for one in s.box if one[0] in found))
        return s._replace(reader=(s.mark, copies))

    def _found(self, s: Place, m: int, text: int) -> Place:
        if m in s.gone:
            return s
        if m in s.newer | s.void and not text and self.without != "an earlier copy is put despite a newer text":
            return s._replace(reader=None)  # it reads again
        is_put_twice = self.without == "found without dedup" or (m != ROOT and self.without.endswith("is put twice"))
        if m in s.seen and not is_put_twice:
            return self._changed(s, m) if text and self.without != "found texts aren't edits" else s
        if m != ROOT and (not s.is_bound or m < s.since):
            return s
        return self._put(s, m, text)

    # The worker.

    def _work(self, s: Place) -> Iterator[Move]:
        if not s.box or (s.waits_for and self.without != "a live message doesn't wait"):
            return
        (m, text), *rest = s.box
        yield f"the agent gets {m}", _judged(s, m, text)._replace(box=tuple(rest), sent=(*s.sent, (m, text)))


def _occurs(s: Place, event: Event) -> Place:
    return s._replace(deliveries=(*s.deliveries, Delivery(event)))


def _tried(s: Place, at: int, *, is_accepted: bool) -> Place:
    """Count an attempt to deliver an event."""
    event, attempts, _ = s.deliveries[at]
    changed = Delivery(event, attempts + 1, is_accepted)
    return s._replace(deliveries=(*s.deliveries[:at], changed, *s.deliveries[at + 1 :]))


def _all_read(s: Place, *, had_no_order: bool = False) -> Place:
    return s._replace(reader=None, mark=0, waits_for=frozenset(), had_no_order=s.had_no_order or had_no_order)


def _name(event: Event) -> str:
    return f"{event[0]} {event[1]}"


def _judged(s: Place, m: int, text: int) -> Place:
    """Note the promise that sending this breaks."""
    attempts = {one.event: one.attempts for one in s.deliveries}
    if m in {k for k, _ in s.sent}:
        return s._replace(fault=f"message {m} reached the agent twice")
    if ("deletion", m) in s.known:
        return s._replace(fault=f"message {m} was sent although it was known to be deleted")
    if ("edit", m) in s.known - s.missed and not text and attempts["message", m] < ATTEMPTS:
        return s._replace(fault=f"message {m} was sent with a text from before a known edit")
    missing = {k for k in range(m) if ("message", k) in s.known} - s.seen - s.gone - s.deleted
    if missing and not s.had_no_order:
        return s._replace(fault=f"message {m} overtook one that was known to be missing")
    if (
        m == ROOT
        and m not in s.deleted
        and REPLY in {k for k, _ in s.sent}
        and ("message", ROOT) in s.known
        and not (s.had_no_order or s.was_killed)
    ):
        return s._replace(fault="out of order")
    return s


def broken(s: Place) -> str:
    """Describe the promise that a state breaks, if any."""
    if s.waits_for and s.waits_for <= s.seen | s.gone and s.redis != "away":
        return "a message waits although nothing is missing"
    return s.fault


def at_the_end(s: Place) -> str:
    """Describe what is wrong with a final state, if anything."""
    if s.box:
        return "a message waits forever"
    sent = dict(s.sent)
    for m in range(s.written):
        if m in s.deleted or (ROOT in s.deleted and not s.left.is_bound):
            continue
        if s.left.gives_up and s.left.history == "denied":
            continue
        if m not in sent:
            return f"message {m} is lost"
        if m in s.edited and not sent[m] and m not in s.offered:
            return f"the edit of {m} is lost"
    return ""


def fault_of(s: Place, following: list[Move]) -> str:
    """Describe the promise that a state breaks, if any; *following* are its moves."""
    is_over = all(said.startswith(_OPTIONAL) for said, _ in following)
    return broken(s) or (at_the_end(s) if is_over else "")


def start(world: World) -> Place:
    """Return the first state of a scenario."""
    return Place(left=world, is_bound=world.is_bound, redis="back" if world.ends else "before")


def search(world: World, without: str = "") -> Found:
    """Search a scenario, perhaps without a precaution."""
    return breadth_first(start(world), Thread(without).moves, fault_of)
