"""Model of approvals (`bridge.features.approvals`): who decides about one request, and its run.

A request waits until enough people have approved it, or someone denies it, its asker withdraws it, its time is over, or
the rules change. Each click is a turn: a worker takes it, *judges* it by the rules that are in force, and *decides* it
in one script behind the fence. That script looks at the request's state, its deadline, its terms and who has approved
before; with the last approval it also queues the run's turn. The run's worker judges everyone's rights once more,
writes SENT, and starts it. In between, workers are killed or lose their lane (and go on, not knowing it), and the rules
change. Two processes look for what's due, and claim it in one script: the reminder, and the end of the request's time.

The promises: a run starts at most once, and only after approvals by as many different people as its terms say, each of
whom had the right when they clicked and when it was about to start. A request ends in one way, and nothing counts after
that. Who is told that their click counted has been counted, and who is refused hasn't. Every approved run starts, or
says why it didn't.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from proof.model.search import Found, search as breadth_first

ASKER, PETRA, QUENTIN = "asker", "Petra", "Quentin"
APPROVERS: Final = frozenset({PETRA, QUENTIN})
Judged = tuple[int, bool, bool]  # a worker; whether the person may decide; whether the terms are in force


class World(NamedTuple):
    """What may happen in a scenario: *clicks*, how many must approve, and what *changes* in the rules."""

    clicks: tuple[tuple[str, str], ...]
    count: int = 1
    changes: str = ""  # "approver": Petra may no longer approve; "asker": may no longer run it; "terms": others
    kills: int = 0
    losses: int = 0  # a worker loses its lane and doesn't know it
    expires: bool = False


class Click(NamedTuple):
    """A click's turn: its *worker*, what workers have *judged* and not decided yet, and what it was told."""

    who: str
    what: str
    worker: int = -1
    takes: int = 0
    judged: tuple[Judged, ...] = ()
    is_written: bool = False  # its worker knows the script's answer
    told: str = ""


class Run(NamedTuple):
    """The turn of the approved run: its *step*, its worker, and what workers have judged."""

    step: str = "queued"
    worker: int = -1
    takes: int = 0
    judged: tuple[tuple[int, bool], ...] = ()
    sent_by: int = -1
    ended: str = ""


class Place(NamedTuple):
    """The state. *decisions* are the clicks (by their place) that count; *seen* is what each process saw as due."""

    left: World
    clicks: tuple[Click, ...]
    state: str = "waiting"
    decisions: tuple[int, ...] = ()
    has_changed: bool = False  # the rules
    clock: str = "early"  # early, half, late
    is_reminded: bool = False
    is_queued_later: bool = False  # only a mutant's: the run has yet to be queued by the worker that approved it
    seen: tuple[str, ...] = ("", "")
    runs: tuple[Run, ...] = ()
    # For the promises
    started: int = 0
    ends: int = 0
    reminders: int = 0
    fault: str = ""


Move = tuple[str, Place]

SCENARIOS: Final[dict[str, World]] = {
    "one approves": World(((PETRA, "approve"),), kills=2, losses=1),
    "two must approve": World(((PETRA, "approve"), (QUENTIN, "approve")), count=2, kills=1, losses=1),
    "a double click isn't two approvals": World(((PETRA, "approve"), (PETRA, "approve")), count=2, kills=1),
    "a second approver clicks, too": World(((PETRA, "approve"), (QUENTIN, "approve")), kills=1, losses=1),
    "the asker approves": World(((ASKER, "approve"), (PETRA, "approve")), count=2, kills=1),
    "one approves, one denies": World(((PETRA, "approve"), (QUENTIN, "deny")), kills=1, losses=1),
    "the asker withdraws it": World(((PETRA, "approve"), (ASKER, "withdraw")), kills=1, losses=1),
    "its time is over": World(((PETRA, "approve"),), kills=1, losses=1, expires=True),
    "someone else withdraws it": World(((QUENTIN, "withdraw"), (PETRA, "approve")), kills=1),
    "an approver loses the right": World(((PETRA, "approve"),), changes="approver", kills=1, losses=1),
    "one of two loses the right": World(((PETRA, "approve"), (QUENTIN, "approve")), 2, "approver", kills=1),
    "the asker loses the right": World(((PETRA, "approve"),), changes="asker", kills=1, losses=1),
    "other terms": World(((PETRA, "approve"), (QUENTIN, "approve")), changes="terms", kills=1),
}

MUTANTS: Final[dict[str, str]] = {
    "clicks aren't judged": "an approver loses the right",
    "a repeated click is judged anew": "an approver loses the right",
    "a decision without the fence": "an approver loses the right",
    "the start isn't judged": "an approver loses the right",
    "only the approvers are judged at the start": "the asker loses the right",
    "terms aren't compared": "other terms",
    "a person counts twice": "a double click isn't two approvals",
    "the asker counts": "the asker approves",
    "anyone withdraws": "someone else withdraws it",
    "the state isn't compared": "one approves, one denies",
    "a withdrawal doesn't look at the state": "the asker withdraws it",
    "the worker looks at the clock": "its time is over",
    "the end of its time doesn't look at the state": "its time is over",
    "a reminder without a mark": "its time is over",
    "the run is queued apart": "one approves",
    "a repeated decision queues another run": "one approves",
    "a run that may have started is repeated": "one approves",
    "a worker without its lane starts the run": "one approves",
}
"""The precautions that are left out, and a scenario that shows it."""


class Approvals:
    """The rules of the game, perhaps without a precaution."""

    def __init__(self, without: str = "") -> None:
        self.without = without

    def moves(self, s: Place) -> Iterator[Move]:
        """Yield the possible next steps."""
        for at, click in enumerate(s.clicks):
            yield from self._click(s, at, click)
        for at, run in enumerate(s.runs):
            yield from self._run(s, at, run)
        yield from self._clock(s)
        if s.left.changes and not s.has_changed:
            yield "the rules change", s._replace(has_changed=True)
        if s.is_queued_later:
            yield "the run is queued", s._replace(runs=(*s.runs, Run()), is_queued_later=False)
            if s.left.kills:
                yield "the process is killed", s._replace(is_queued_later=False, left=_less(s, "kills"))

    # A click

    def _click(self, s: Place, at: int, click: Click) -> Iterator[Move]:
        name = f"{click.who}'s {click.what} ({at})"
        if not click.told:
            if click.worker < 0:
                yield f"a worker takes {name}", _put(s, at, click._replace(worker=click.takes, takes=click.takes + 1))
            else:
                yield from self._work(s, at, click, name)
        for worker, *_ in click.judged:  # workers that lost their lane go on
            if worker != click.worker or click.told:
                gone = click._replace(judged=tuple(one for one in click.judged if one[0] != worker))
                if self.without == "a decision without the fence":
                    yield f"{worker} decides {name} without its lane", self._decide(s, at, worker, gone)
                else:
                    yield f"{worker} finds that it lost {name}", _put(s, at, gone)

    def _work(self, s: Place, at: int, click: Click, name: str) -> Iterator[Move]:
        worker, mine = click.worker, [one for one in click.judged if one[0] == click.worker]
        if click.is_written:
            yield f"{name} is answered", _put(s, at, click._replace(told="counted", worker=-1))
            if s.left.kills:  # its answer was lost, too
                again = self._decided_before(s, click)
                yield f"Redis runs the script of {name} twice", again._replace(left=_less(s, "kills"))
        elif mine:
            yield f"{worker} decides {name}", self._decide(s, at, worker, click)
        else:
            is_known = at in s.decisions and self.without != "a repeated click is judged anew"
            if is_known:
                yield f"{worker} finds that {name} counts", _put(s, at, click._replace(is_written=True))
            else:
                judged = (worker, self._may(s, click), self._terms_hold(s))
                if self.without == "the worker looks at the clock":
                    judged = (worker, judged[1] and s.clock != "late", judged[2])
                yield f"{worker} judges {name}", _put(s, at, click._replace(judged=(*click.judged, judged)))
        if s.left.kills:
            dead = tuple(one for one in click.judged if one[0] != worker)
            killed = click._replace(worker=-1, judged=dead, is_written=False)
            yield f"{worker} is killed at {name}", _put(s, at, killed)._replace(left=_less(s, "kills"))
        if s.left.losses and not click.is_written:
            lost = click._replace(worker=-1)
            yield f"{worker} loses {name}", _put(s, at, lost)._replace(left=_less(s, "losses"))

    def _may(self, s: Place, click: Click) -> bool:
        if self.without == "clicks aren't judged":
            return True
        if click.what == "withdraw":
            return click.who == ASKER or self.without == "anyone withdraws"
        if click.who == ASKER:
            return self.without == "the asker counts"
        return click.who in _approvers(s)

    def _terms_hold(self, s: Place) -> bool:
        if self.without == "terms aren't compared":
            return True
        return not (s.has_changed and s.left.changes in {"terms", "asker"})

    def _decide(self, s: Place, at: int, worker: int, click: Click) -> Place:
        """Decide a click in one script."""
        may, terms_hold = next((judged[1:] for judged in s.clicks[at].judged if judged[0] == worker), (False, False))
        answered = click._replace(judged=tuple(one for one in click.judged if one[0] != worker))
        is_mine = worker == click.worker
        refused = answered._replace(told="refused", worker=-1) if is_mine else answered
        counted = answered._replace(is_written=True) if is_mine else answered
        if not may:
            return _put(s, at, refused)
        if at in s.decisions:
            return self._decided_before(_put(s, at, counted), click)
        ignores_state = self.without == "the state isn't compared" or (
            click.what == "withdraw" and self.without == "a withdrawal doesn't look at the state"
        )
        if s.state != "waiting" and not ignores_state:
            return _put(s, at, refused)
        if s.clock == "late" and self.without != "the worker looks at the clock":
            return _put(s, at, refused)
        if click.what != "withdraw" and not terms_hold:
            return _put(s, at, refused)._replace(state="void", ends=s.ends + 1)
        if s.clock == "late":
            s = s._replace(fault="a click counted although the request's time was over")
        after = _put(s, at, counted)._replace(decisions=(*s.decisions, at))
        if click.what != "approve":
            return after._replace(state=click.what, ends=s.ends + 1)
        return self._approve(after, click)

    def _decided_before(self, s: Place, click: Click) -> Place:
        is_queued_again = self.without == "a repeated decision queues another run" and click.what == "approve"
        return s._replace(runs=(*s.runs, Run())) if is_queued_again and s.state == "approved" else s

    def _approve(self, s: Place, click: Click) -> Place:
        approvals = [s.clicks[one].who for one in s.decisions if s.clicks[one].what == "approve"]
        if approvals.count(click.who) > 1 and self.without != "a person counts twice":
            return s._replace(decisions=s.decisions[:-1])  # it's theirs already: it counts as the first one
        if len(approvals) < s.left.count:
            return s
        s = s._replace(state="approved", ends=s.ends + 1)
        return (
            s._replace(is_queued_later=True)
            if self.without == "the run is queued apart"
            else s._replace(runs=(*s.runs, Run()))
        )

    # The run

    def _run(self, s: Place, at: int, run: Run) -> Iterator[Move]:
        for worker, may in run.judged:
            if worker != run.worker:
                gone = run._replace(judged=tuple(one for one in run.judged if one[0] != worker))
                if run.sent_by == worker and self.without == "a worker without its lane starts the run":
                    yield f"{worker} starts the run without its lane", self._start(s, at, gone, may=may)
                else:
                    yield f"{worker} finds that it lost the run", _with_run(s, at, gone)
        if run.ended:
            return
        if run.worker < 0:
            yield "a worker takes the run", _with_run(s, at, run._replace(worker=run.takes, takes=run.takes + 1))
            return
        worker, mine = run.worker, [one for one in run.judged if one[0] == run.worker]
        is_repeated = self.without == "a run that may have started is repeated"
        if run.step == "sent" and run.sent_by != worker and not is_repeated:
            yield "its outcome is unknown", _with_run(s, at, run._replace(ended="unknown", worker=-1))
        elif not mine:
            judged = (worker, self._may_start(s))
            yield f"{worker} judges the run", _with_run(s, at, run._replace(judged=(*run.judged, judged)))
        elif not mine[0][1]:
            yield "the run is refused", _with_run(s, at, run._replace(ended="refused", worker=-1, judged=()))
        elif run.step == "queued" or (run.sent_by != worker and is_repeated):
            yield f"{worker} writes SENT", _with_run(s, at, run._replace(step="sent", sent_by=worker))
        else:
            yield f"{worker} starts the run", self._start(s, at, run, may=mine[0][1])
        if s.left.kills:
            killed = run._replace(worker=-1, judged=tuple(one for one in run.judged if one[0] != worker))
            yield "the run's worker is killed", _with_run(s, at, killed)._replace(left=_less(s, "kills"))
            if run.step == "sent" and run.sent_by == worker and mine:
                started = self._start(s, at, killed, may=True)
                begun = started.runs[at]._replace(ended="", worker=-1)
                yield "it's killed after the start", _with_run(started, at, begun)._replace(left=_less(s, "kills"))
        if s.left.losses:
            yield f"{worker} loses the run", _with_run(s, at, run._replace(worker=-1))._replace(left=_less(s, "losses"))

    def _may_start(self, s: Place) -> bool:
        if self.without == "the start isn't judged":
            return True
        is_asker_out = s.has_changed and s.left.changes == "asker"
        if is_asker_out and self.without != "only the approvers are judged at the start":
            return False
        if s.has_changed and s.left.changes == "terms" and self.without != "terms aren't compared":
            return False
        return {s.clicks[one].who for one in s.decisions} - {ASKER} <= _approvers(s)

    def _start(self, s: Place, at: int, run: Run, *, may: bool) -> Place:
        who = {s.clicks[one].who for one in s.decisions if s.clicks[one].what == "approve"}
        fault = s.fault
        if s.started:
            fault = "the run started twice"
        elif s.state != "approved":
            fault = f"it started although its state is {s.state}"
        elif len(who - {ASKER}) < s.left.count:
            fault = "it started without enough approvals by different people"
        elif not may:
            fault = "it started although someone had lost the right"
        return _with_run(s, at, run._replace(ended="started", worker=-1))._replace(started=s.started + 1, fault=fault)

    # What's due

    def _clock(self, s: Place) -> Iterator[Move]:
        if s.left.expires and s.clock != "late":
            yield "time passes", s._replace(clock="half" if s.clock == "early" else "late")
        for at, seen in enumerate(s.seen):
            due = ""
            if s.state == "waiting" and s.clock == "late":
                due = "end"
            elif s.state == "waiting" and s.clock == "half" and not s.is_reminded:
                due = "reminder"
            if not seen and due:
                yield f"process {at} sees that the {due} is due", s._replace(seen=_replaced(s.seen, at, due))
            if seen:
                done = s._replace(seen=_replaced(s.seen, at, ""))
                yield f"process {at} claims the {seen}", self._claim(done, seen)

    def _claim(self, s: Place, what: str) -> Place:
        is_waiting = s.state == "waiting"
        if what == "reminder":
            if (not is_waiting or s.is_reminded) and self.without != "a reminder without a mark":
                return s
            return s._replace(is_reminded=True, reminders=s.reminders + 1)
        if not is_waiting and self.without != "the end of its time doesn't look at the state":
            return s
        return s._replace(state="expired", ends=s.ends + 1)


def begin(world: World) -> Place:
    """Return a scenario's first state."""
    return Place(left=world, clicks=tuple(Click(*click) for click in world.clicks))


def _approvers(s: Place) -> frozenset[str]:
    return APPROVERS - {PETRA} if s.has_changed and s.left.changes == "approver" else APPROVERS


def _put(s: Place, at: int, click: Click) -> Place:
    return s._replace(clicks=(*s.clicks[:at], click, *s.clicks[at + 1 :]))


def _with_run(s: Place, at: int, run: Run) -> Place:
    return s._replace(runs=(*s.runs[:at], run, *s.runs[at + 1 :]))


def _replaced(values: tuple[str, ...], at: int, value: str) -> tuple[str, ...]:
    return (*values[:at], value, *values[at + 1 :])


def _less(s: Place, what: str) -> World:
    return s.left._replace(**{what: getattr(s.left, what) - 1})


def broken(s: Place) -> str:
    """Describe the promise that a state breaks, if any."""
    if s.fault:
        return s.fault
    if s.ends > 1:
        return "the request ended in two ways"
    if s.reminders > 1:
        return "there were two reminders"
    if len(s.runs) > 1:
        return "its run was queued twice"
    counted = {s.clicks[one].who for one in s.decisions}
    if ASKER in counted and s.state == "approved":
        return "the asker's own approval counted"
    for at, click in enumerate(s.clicks):
        if click.told == "refused" and at in s.decisions:
            return f"{click.who} was refused, but the click counted"
        if click.told == "counted" and click.who not in counted:
            return f"{click.who} was told that the click counts, but it doesn't"
        if at in s.decisions and click.what == "withdraw" and click.who != ASKER:
            return "someone else withdrew it"
    if any(run.ended == "started" for run in s.runs) and not s.started:
        return "the run was shown, but never started"
    return ""


def at_the_end(s: Place) -> str:
    """Describe what is wrong with a final state, if anything."""
    if s.state == "approved" and not any(run.ended for run in s.runs):
        return "it was approved, but its run was lost"
    if s.state == "waiting" and s.clock == "late":
        return "its time is over, but it waits"
    if any(not click.told for click in s.clicks):
        return "a click has no answer"
    return ""


def _rights_at_start(before: Place, after: Place) -> str:
    """Describe a judgement of the start that ignores a right that someone has lost."""
    for old, new in zip(before.runs, after.runs, strict=False):
        has_judged = len(new.judged) > len(old.judged) and new.judged[-1][1]
        if not (has_judged and before.has_changed):
            continue
        who = {before.clicks[one].who for one in before.decisions}
        if before.left.changes in {"asker", "terms"} or (before.left.changes == "approver" and PETRA in who):
            return "it's about to start although someone has lost the right"
    for at, (old_click, new_click) in enumerate(zip(before.clicks, after.clicks, strict=True)):
        has_judged = len(new_click.judged) > len(old_click.judged) and new_click.judged[-1][1]
        lost = before.has_changed and before.left.changes == "approver" and new_click.who == PETRA
        if has_judged and lost and new_click.what == "approve":
            return f"click {at} counts although its person has no right to it"
    return ""


_OPTIONAL: Final = ("time passes", "the rules change", "the process is killed")


def search(world: World, without: str = "") -> Found:
    """Search a scenario, perhaps without a precaution."""

    def fault_of(s: Place, following: list[Move]) -> str:
        is_over = all(said.startswith(_OPTIONAL) for said, _ in following)
        unjudged = next(filter(None, (_rights_at_start(s, after) for _, after in following)), "")
        return broken(s) or (at_the_end(s) if is_over else "") or unjudged

    return breadth_first(begin(world), Approvals(without).moves, fault_of)
