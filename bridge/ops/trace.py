"""`bridge trace`: what became of one Slack message, step by step, for people or for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Final

from bridge.ids import MessageKey
from bridge.metrics import Metrics
from bridge.ops.rows import printable
from bridge.queue.deliveries import NOT_YET, Delivery
from bridge.queue.redis.connection import connect
from bridge.queue.scripting import Scripts
from bridge.queue.trace import Known, TurnTrace, owner_of, trace_of

NOTHING: Final = (
    "Nothing is known of this message. That means one of these:\n"
    "  - Slack never delivered it: the bot is not in that channel, or the app is not subscribed to what is said there\n"
    "    (bridge manifest), or no bridge took it in; look at Slack's own page, Event Subscriptions\n"
    "  - it is older than 7 days, or one of very many that were not for the bot on that day\n"
    "  - another Redis or namespace has it: look at REDIS_URL and BRIDGE_NAMESPACE\n"
    "  - it is not a message that a person wrote, or the first of an answer"
)
NOBODYS: Final = "No bridge has used this namespace yet: look at REDIS_URL and BRIDGE_NAMESPACE."

_PERMALINK = re.compile(r"https?://[^/\s]+/(?:[^?#\s]*/)?archives/([A-Z0-9]+)/p(\d+)(\d{6})(?:[?#]\S*)?")
_CHANNEL_AND_TS = re.compile(r"([A-Z0-9]+)[\s/:]+(\d{1,12}\.\d{6})")


@dataclass(frozen=True, slots=True)
class Address:
    """A message, as an operator names it: its channel and its ``ts``."""

    channel: str
    ts: str


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One thing that happened: *what* it was in a word, *detail* in a phrase, and which *process* did it."""

    at: datetime
    what: str
    detail: str = ""
    process: str = ""


def address_of(text: str) -> Address | None:
    """Read a permalink (``https://….slack.com/archives/C…/p1700000000123456``), or ``CHANNEL TS``, ``CHANNEL/TS``."""
    stripped = text.strip().strip("<>")
    if link := _PERMALINK.fullmatch(stripped):
        return Address(link[1], f"{link[2]}.{link[3]}")
    if pair := _CHANNEL_AND_TS.fullmatch(stripped):
        return Address(pair[1], pair[2])
    return None


async def look_up(url: str, namespace: str, address: Address) -> Known | None:
    """Ask the Redis at *url*; None where the namespace is nobody's. Raises `StoreUnavailable`."""
    redis = connect(url)
    try:
        scripts = Scripts(redis, namespace, Metrics())
        owner = await owner_of(scripts)
        return await trace_of(scripts, MessageKey(owner.team, address.channel, address.ts)) if owner else None
    finally:
        await redis.aclose()


def steps_of(known: Known) -> list[TraceStep]:
    """Bring everything into the order in which it happened."""
    steps = [step for delivery in known.passed_over for step in _passed_over(delivery)]
    steps += [step for turn in known.turns for step in _steps(turn)]
    return sorted(steps, key=lambda step: step.at)


def to_json(address: Address, known: Known | None) -> str:
    """Write it for programs, in ASCII."""
    steps = [
        {"at": step.at.timestamp(), "what": step.what, "detail": step.detail, "process": step.process}
        for step in (steps_of(known) if known else [])
    ]
    turns = [turn.id for turn in known.turns] if known else []
    return json.dumps({"channel": address.channel, "ts": address.ts, "turns": turns, "steps": steps}, indent=2)


def table(steps: Sequence[TraceStep]) -> str:
    """Write it for people: when, how long after the first step, what, and by which process."""
    return "\n".join([_FORM.format("when (UTC)", "after", "what", "process", "detail").rstrip(), *_lines(steps)])


_FORM: Final = "{:<23}  {:>11}  {:<9}  {:<28}  {}"


def _lines(steps: Sequence[TraceStep]) -> Iterator[str]:
    for step in steps:
        after = (step.at - steps[0].at).total_seconds()
        when = f"{step.at:%Y-%m-%d %H:%M:%S}.{step.at.microsecond // 1000:03d}"
        words = (when, f"+{after:.3f} s", step.what, printable(step.process), printable(step.detail))
        yield _FORM.format(*words).rstrip()


def _passed_over(delivery: Delivery) -> Iterator[TraceStep]:
    yield TraceStep(delivery.at, "received", _how(delivery), delivery.process)
    why = delivery.why if delivery.why.startswith(NOT_YET) else f"not for an agent: {delivery.why}"
    yield TraceStep(delivery.at, "decided", why, delivery.process)


def _steps(turn: TurnTrace) -> Iterator[TraceStep]:
    yield from _at_the_door(turn)
    yield from _at_work(turn)
    yield from _at_the_end(turn)


def _at_the_door(turn: TurnTrace) -> Iterator[TraceStep]:
    if turn.of:
        yield TraceStep(turn.accepted_at, "queued", f"turn {turn.id}, the message of turn {turn.of} again{_now(turn)}")
        return
    first, *others = turn.deliveries or (Delivery(turn.accepted_at, ""),)
    yield TraceStep(first.at, "received", _how(first) or _KINDS.get(turn.kind, turn.kind), first.process)
    yield TraceStep(first.at, "decided", first.why or f"it is {_KINDS.get(turn.kind, 'for the bot')}", first.process)
    yield TraceStep(first.at, "queued", f"turn {turn.id}, {_queued(turn)}", first.process)
    for other in others:
        detail = ": ".join(filter(None, (_how(other), f"taken in already, as turn {turn.id}")))
        yield TraceStep(other.at, "duplicate", detail, other.process)


def _at_work(turn: TurnTrace) -> Iterator[TraceStep]:
    if turn.sent_at:
        yield TraceStep(turn.sent_at, "sent", _sent(turn), turn.process_at(turn.sent_at))
    if turn.card:
        shown_at = datetime.fromtimestamp(float(turn.card), turn.accepted_at.tzinfo)
        yield TraceStep(shown_at, "posted", f"Slack ts {turn.card}, which shows how it goes", turn.process_at(shown_at))
    if turn.answered_at:
        detail = _OUTCOMES.get(turn.what, turn.what)
        waits = "; it is not posted yet" if turn.step == "posting" else ""
        yield TraceStep(turn.answered_at, "answered", detail + waits, turn.process_at(turn.answered_at))


def _at_the_end(turn: TurnTrace) -> Iterator[TraceStep]:
    is_listed = turn.step == "dead" and not (turn.dropped_at or turn.again)
    for death, retried_at in zip_longest(turn.deaths, turn.retries):
        if death:
            hint = "; see bridge dead list" if is_listed and death is turn.deaths[-1] else ""
            yield TraceStep(death.at, "dead", death.word + hint, turn.process_at(death.at))
        if retried_at:
            yield TraceStep(retried_at, "queued", f"turn {turn.id} again, by bridge dead retry{_now(turn)}")
    if turn.dropped_at:
        yield TraceStep(turn.dropped_at, "done", "given up, by bridge dead drop")
    if turn.step != "done" or turn.ended_at is None:
        return
    process = turn.process_at(turn.ended_at)
    if turn.answered_at:
        detail = f"Slack ts {turn.posted}" if turn.posted else "in private, or by the command's own address"
        yield TraceStep(turn.ended_at, "posted", detail, process)
    yield TraceStep(turn.ended_at, "done", _done(turn), process)


def _how(delivery: Delivery) -> str:
    """Say how it came."""
    if delivery.event.startswith("root:"):
        return f"by turn {delivery.event.removeprefix('root:')}, which began this thread"
    if delivery.event.startswith("history:"):
        return "read again from the thread, for it came before the root"
    event = f"event {delivery.event}" if delivery.event else ""
    return f"{event}, which Slack sent again (retry {delivery.retry})".lstrip(", ") if delivery.retry else event


def _queued(turn: TurnTrace) -> str:
    behind = f"behind {turn.behind} {'other' if turn.behind == 1 else 'others'}" if turn.behind else "behind nobody"
    behind += f", before {turn.overtakes} written later" if turn.overtakes else ""
    edited = f"; its text was changed {turn.edits} times" if turn.edits > 1 else ""
    edited = "; its text was changed once" if turn.edits == 1 else edited
    return behind + edited + ("" if turn.retries else _now(turn))


def _now(turn: TurnTrace) -> str:
    """Say how it waits, if it does."""
    if turn.step != "queued" or turn.ahead is None:
        return ""
    if turn.is_parked:
        return "; it waits until somebody chooses an agent"
    return f"; it waits, with {turn.ahead} before it" if turn.ahead else "; it is the next"


def _sent(turn: TurnTrace) -> str:
    tries = f"{turn.unsent} {'request' if turn.unsent == 1 else 'requests'} surely did not arrive"
    if turn.step == "queued" and turn.unsent:
        return f"{tries}: it waits for the project service"
    missing = "; there is no answer yet" if turn.step == "sent" else ""
    return f"to the project service{f', after {tries}' if turn.unsent else ''}{missing}"


def _done(turn: TurnTrace) -> str:
    again = f"sent again as turn {turn.again}" if turn.again else ""
    return again if turn.answered_at else "; ".join(filter(None, (turn.what, again)))


_KINDS: Final = {
    "message": "a message",
    "command": "a slash command",
    "click": "a click",
    "stop": "a stop",
    "messages_opened": "a look at the Messages tab",
    "submission": "a form",
    "notice": "told to the person in private",
}

_OUTCOMES: Final = {
    "answered": "the agent answered",
    "ran": "the workflow ran",
    "shown": "by the bridge itself",
    "unknown": "nobody knows whether it arrived; a button offers to send it again",
}
