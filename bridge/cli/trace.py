"""`bridge trace`: what happened to one Slack message, step by step."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import Annotated, Final

import typer

from bridge.cli.audit import REFUSALS, RESULTS
from bridge.cli.printing import columns, moment, out, to_json
from bridge.cli.running import CANNOT_RUN, say, values_or_exit
from bridge.cli.store import JsonOption, in_store
from bridge.ends.decisions import explain
from bridge.ends.messages import NOT_YET
from bridge.ids import LinkedMessage, MessageKey
from bridge.inbound import kind_in_words
from bridge.queue.scripting import Scripts
from bridge.queue.trace import MessageTrace, TurnTrace, owner_of, trace_of
from bridge.queue.turn_log import Delivery
from bridge.slack.blockkit.kit import as_typed, counted

_NOTHING: Final = (
    "No record of this message. Possible reasons:\n"
    "  - Slack didn't deliver it: the bot isn't in that channel, the app doesn't subscribe to its events\n"
    "    (bridge manifest), or no bridge was running; see Event Subscriptions on your Slack app's page\n"
    "  - it's older than 7 days, or that channel was too busy that day to record every message\n"
    "  - it's in another Redis or namespace: check REDIS_URL and BRIDGE_NAMESPACE\n"
    "  - it isn't a person's message or the first message of an answer"
)
_UNUSED: Final = "No bridge has used this namespace yet: check REDIS_URL and BRIDGE_NAMESPACE."

_CHANNEL_AND_TS: Final = re.compile(r"([A-Z0-9]+)[\s/:]+(\d{1,12}\.\d{6})")
_FORM: Final = "{:<24}  {:>11}  {:<9}  {:<28}  {}"


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step of the trace: *what* happened in a word, *detail* in a phrase, and the *process* that did it.

    *event* is the ID of the delivery that was received: an event's, or ``trigger:`` and that of a click or command.
    """

    at: datetime
    what: str
    detail: str = ""
    process: str = ""
    event: str = ""


def trace(
    message: Annotated[
        list[str],
        typer.Argument(metavar="PERMALINK", help="A message's link, or its channel's ID and its timestamp (ts)."),
    ],
    *,
    as_json: JsonOption = False,
) -> None:
    """Show what happened to one Slack message.

    Shows each step with its time, but not the text. Goes back seven days. To get
    the link in Slack: More actions → Copy link.
    """
    address = address_of(" ".join(message))
    if address is None:
        raise typer.BadParameter(
            f"“{' '.join(message)}” isn't a message link, or a channel and ts: use More actions → Copy link",
            param_hint="PERMALINK",
        )
    channel, ts = address
    prefix = values_or_exit("BRIDGE_COMMAND_PREFIX")["BRIDGE_COMMAND_PREFIX"]

    async def show(scripts: Scripts) -> int:
        owner = await owner_of(scripts)
        known = await trace_of(scripts, MessageKey(owner.team, channel, ts)) if owner else MessageTrace()
        if as_json:
            out(for_programs(channel, ts, known, prefix))
        elif known:
            out(table(steps_of(known)))
            if summary := summary_of(known, prefix):
                out(f"\n{summary}")
        else:
            for line in (_NOTHING if owner else _UNUSED).splitlines():
                say(line)
        return 0 if known else CANNOT_RUN

    in_store(show)


def address_of(text: str) -> tuple[str, str] | None:
    """Parse a permalink, ``CHANNEL TS`` or ``CHANNEL/TS`` into channel and ts; None for anything else."""
    if linked := LinkedMessage.parse(text):
        return linked.channel, linked.ts
    pair = _CHANNEL_AND_TS.fullmatch(text.strip().strip("<>"))
    return (pair[1], pair[2]) if pair else None


def for_programs(channel: str, ts: str, known: MessageTrace, prefix: str = "") -> str:
    """Format the trace as JSON."""
    summary = summary_of(known, prefix)
    facts = {"channel": channel, "ts": ts, "turns": [turn.id for turn in known.turns], "summary": summary}
    return to_json({**facts, "steps": steps_of(known)}, indent=2)


def summary_of(known: MessageTrace, prefix: str = "") -> str:
    """Say what happened and what helps, as ``!why`` does; *prefix* is the slash commands'."""
    explained = explain(known)
    if explained is None:
        return ""
    since = moment(explained.since, "seconds") if explained.since else ""
    summary: str = as_typed(f"{explained.happened(since)} {explained.meaning.cure}", prefix)
    return summary


def table(steps: Sequence[TraceStep]) -> str:
    """Format the trace for people: when, how long after the first step, what, and by which process."""
    lines = [columns(_FORM, "when", "after", "what", "process", "detail")]
    for step in steps:
        after = f"+{(step.at - steps[0].at).total_seconds():.3f} s"
        lines.append(columns(_FORM, moment(step.at, "milliseconds"), after, step.what, step.process, step.detail))
    return "\n".join(lines)


def steps_of(known: MessageTrace) -> list[TraceStep]:
    """Return all steps in the order they happened."""
    steps: list[TraceStep] = []
    for delivery in known.passed_over:
        why = delivery.why if delivery.why.startswith(NOT_YET) else f"not for an agent: {_reason(delivery.why)}"
        steps.append(TraceStep(delivery.at, "received", _arrival(delivery), delivery.process, delivery.event))
        steps.append(TraceStep(delivery.at, "decided", why, delivery.process))
    for turn in known.turns:
        steps += [*_queued(turn), *_sent_and_answered(turn), *_ended(turn)]
    return sorted(steps, key=lambda step: step.at)


def _queued(turn: TurnTrace) -> Iterator[TraceStep]:
    if turn.of:
        yield TraceStep(turn.accepted_at, "queued", f"ID {turn.id}, sending ID {turn.of} again{_waiting(turn)}")
        return
    first = turn.deliveries[0] if turn.deliveries else None
    at, process = (first.at, first.process) if first else (turn.accepted_at, "")
    queued = f"ID {turn.id}" + (f", after {counted(turn.behind, 'other')}" if turn.behind else ", first in line")
    queued += f", ahead of {counted(turn.overtakes, 'newer message')}" if turn.overtakes else ""
    queued += f"; edited {counted(turn.edits, 'time')} while it waited" if turn.edits else ""
    queued += f"; OpenTelemetry's trace {turn.trace_id}" if turn.trace_id else ""
    queued += "" if turn.retries else _waiting(turn)
    arrived = (first and _arrival(first)) or kind_in_words(turn.kind)
    yield TraceStep(at, "received", arrived, process, first.event if first else "")
    yield TraceStep(at, "decided", (first and _reason(first.why)) or "accepted", process)
    yield TraceStep(at, "queued", queued, process)
    repeats = [other for other in turn.deliveries[1:] if not other.event]  # an outage may have it read again and again
    times = f", {len(repeats)} times until {moment(repeats[-1].at, 'milliseconds')}" if len(repeats) > 1 else ""
    for other in turn.deliveries[1:]:
        if other.event or other is repeats[0]:
            arrived = _arrival(other) + ("" if other.event else times)
            detail = ": ".join(filter(None, (arrived, f"already received as ID {turn.id}")))
            yield TraceStep(other.at, "duplicate", detail, other.process, other.event)


def _reason(why: str) -> str:
    """Say why a message was refused; the stored reason ends with a word for it, such as ``refused: stranger``."""
    text, _, word = why.partition(": ")
    name, _, facts = word.partition(":")
    words = REFUSALS.get(name)
    if words and facts and name == "rule":
        words = f"{words} ({facts})"
    return f"{text}: {words}" if words else why


def _sent_and_answered(turn: TurnTrace) -> Iterator[TraceStep]:
    if turn.repeated_at:
        detail = "no answer came back; its agent only reads, so it's asked once more"
        yield TraceStep(turn.repeated_at, "queued", detail, turn.process_at(turn.repeated_at))
    if turn.sent_at:
        tries = f"{counted(turn.unsent, 'request')} that didn't arrive"
        after = f", after {tries}" if turn.unsent else ""
        whom = f"to the project {turn.project}" if turn.project else "to the project service"
        sent = f"{whom}{after}{'; no answer yet' if turn.step == 'sent' else ''}"
        if turn.step == "queued" and turn.unsent:
            sent = f"{tries}{_next_try(turn) or '; waiting for the project service'}"
        yield TraceStep(turn.sent_at, "sent", sent, turn.process_at(turn.sent_at))
    if turn.card:
        shown_at = datetime.fromtimestamp(float(turn.card), turn.accepted_at.tzinfo)
        shows = "asking which agent" if turn.kind == "message" else "showing the progress"
        yield TraceStep(shown_at, "posted", f"Slack ts {turn.card}, {shows}", turn.process_at(shown_at))
    if turn.answered_at:
        what = turn.was if turn.step == "dead" else turn.what
        waits = "; not posted yet" if turn.step == "posting" else ""
        cause = f" ({turn.cause})" if turn.cause and what not in {"answered", "ran"} else ""  # of an earlier attempt
        is_refused = turn.kind == "notice" and what in REFUSALS
        detail = f"refused: {REFUSALS[what]}" if is_refused else _OUTCOMES.get(what) or RESULTS.get(what, what)
        word = "unknown" if what == "unknown" else "answered"
        yield TraceStep(turn.answered_at, word, detail + cause + waits, turn.process_at(turn.answered_at))


def _ended(turn: TurnTrace) -> Iterator[TraceStep]:
    is_listed = turn.step == "dead" and not (turn.dropped_at or turn.again)
    for place, (death, retry) in enumerate(zip_longest(turn.deaths, turn.retries), 1):
        if death:
            is_last = place == len(turn.deaths)
            unknown = "; the outcome is unknown" if is_last and turn.died == "sent" else ""
            hint = "; see bridge dead list" if is_listed and is_last else ""
            yield TraceStep(death[0], "dead", death[1] + unknown + hint, turn.process_at(death[0]))
        if retry:
            yield TraceStep(retry, "queued", f"ID {turn.id} again, with bridge dead retry{_waiting(turn)}")
    if turn.dropped_at:
        yield TraceStep(turn.dropped_at, "done", "discarded with bridge dead drop")
    if turn.step == "done" and turn.ended_at:
        process = turn.process_at(turn.ended_at)
        if turn.answered_at and (turn.posted or turn.what not in _NOT_SHOWN):
            detail = f"Slack ts {turn.posted}" if turn.posted else "visible to one person only, so without a ts"
            yield TraceStep(turn.ended_at, "posted", detail, process)
        ended = turn.what if turn.what in _NOT_SHOWN or not turn.answered_at else ""
        details = (ended, f"sent again as ID {turn.again}" if turn.again else "")
        yield TraceStep(turn.ended_at, "done", "; ".join(filter(None, details)), process)


def _arrival(delivery: Delivery) -> str:
    """Say how the message arrived."""
    if delivery.event.startswith("root:"):
        return f"from turn {delivery.event.removeprefix('root:')}, which started this thread"
    if delivery.event.startswith("history:"):
        return "read again from the thread, because it arrived before the thread's first message"
    if not delivery.event:
        return "found in Slack's history" if delivery.retry else ""
    if ":" in delivery.event:  # it's no event of Slack's
        return ""
    resent = f", resent by Slack (retry {delivery.retry})" if delivery.retry else ""
    return f"event {delivery.event}{resent}"


def _waiting(turn: TurnTrace) -> str:
    """Say what the turn is waiting for, if anything."""
    if turn.step != "queued" or turn.ahead is None:
        return ""
    if turn.is_held:
        return "; the thread was stopped: waiting for someone to send it, discard it or write again"
    if turn.is_parked:
        return "; waiting for someone to pick an agent"
    if turn.ahead:
        return f"; waiting, with {turn.ahead} ahead of it"
    return ("" if turn.unsent else _next_try(turn)) or "; next in line"


def _next_try(turn: TurnTrace) -> str:
    """Say when a turn that waits for the service is tried again, if that isn't in a few seconds."""
    return f"; waiting for the project service until {moment(turn.next_try, 'seconds')}" if turn.next_try else ""


_NOT_SHOWN: Final = ("deleted", "stopped")
_OUTCOMES: Final = {
    "answered": "the agent answered",
    "ran": "the workflow ran",
    "deleted": "nothing is posted, because the message was deleted",
    "discarded": "not sent: nobody decided about it for as long as conversations last, or its thread was deleted",
    "shown": "the bridge answered without the service",
    "unknown": "the outcome is unknown; a button offers to send it again",
}
