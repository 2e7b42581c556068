"""What people wrote and what happened to it, to check the bridge's promises.

Messages are identified by their unique words. The agents of `AGENTS` repeat them, so each answer names its message.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

from bridge.playground.emulator.deliver import AppDelivery
from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.sample import BRIDGE
from bridge.playground.sample_project.conversation import AgentReply, Talk
from bridge.playground.sample_project.sample import SampleAgent
from bridge.playground.sample_project.server import ProjectCall, SampleProject
from support.system import System, text_of

UNKNOWN = "can't tell whether"
STOPPED = "Stopped."
AGAIN = "turn:again"
EDITED = "turn:edited"
AGENT_CHOICE = "agent:choose"
OTHER = "other"
"""The ID of the second project, if there is one."""

AT_ONCE = 20.0
"""Seconds in which a request may still go out: a process may be suspended between its last check and its request."""

_TOO_MANY_REQUESTS = 429
_UNAVAILABLE = 503
_GIVEN_UP = 40.0  # seconds without another attempt; longer than between any two
_ANSWERED = re.compile(r"re: ([\w-]+)")


def last_word(message: str) -> str:
    """The message without what the bridge adds: the speaker and earlier messages."""
    return (message.split() or [""])[-1]


def _repeats(_talk: Talk, message: str) -> AgentReply:
    return AgentReply(f"re: {last_word(message)}")


def _long(_talk: Talk, message: str) -> AgentReply:
    return AgentReply(
        "\n\n".join([f"re: {last_word(message)}", *(f"Part {number}: " + "word " * 60 for number in range(60))])
    )


def _fails(_talk: Talk, message: str) -> AgentReply:
    return AgentReply(f"failed at {message}", status=500)


AGENTS = [
    SampleAgent(1, "Memory", None, "m", _repeats),
    SampleAgent(2, "Slow", None, "m", _repeats, seconds=0.6),
    SampleAgent(3, "Novelist", None, "m", _long),
    SampleAgent(4, "Busy", None, "m", _repeats),
    SampleAgent(5, "Grumpy", None, "m", _fails),
    SampleAgent(6, "Sleepy", None, "m", _repeats, seconds=4.5),
    SampleAgent(7, "Slower", None, "m", _repeats, seconds=1.8),
    SampleAgent(8, "Sloth", None, "m", _repeats, seconds=30),
]
"""Each is named for its behavior."""


@dataclass
class Written:
    """One message. *withdrawn*: its author deleted it. *again*: how often its retry button was pressed.

    *changed* are its words after an edit, which may have come too late.
    """

    words: str
    ts: str = ""
    withdrawn: bool = False
    changed: str = ""
    again: int = 0

    @property
    def texts(self) -> set[str]:
        """The words with which it may have reached the agent."""
        return {self.words, self.changed} - {""}


class Deliveries:
    """The delivery attempts for each message, by ts, and for its edit or deletion."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._read = 0
        self._by_ts: dict[str, list[AppDelivery]] = {}
        self._changes: dict[str, list[AppDelivery]] = {}

    def of(self, ts: str) -> list[AppDelivery]:
        """The attempts for one message."""
        self._read_on()
        return self._by_ts.get(ts, [])

    def of_changes(self, ts: str) -> list[AppDelivery]:
        """The attempts for the edit or the deletion of one message."""
        self._read_on()
        return self._changes.get(ts, [])

    def _read_on(self) -> None:
        for delivery in self._system.slack.deliveries[self._read :]:
            self._read += 1
            if delivery.kind != "event":
                continue
            event = delivery.payload["event"]
            self._by_ts.setdefault(str(event.get("ts")), []).append(delivery)
            changed = event.get("deleted_ts") or event.get("message", {}).get("ts")
            if event.get("subtype") in {"message_changed", "message_deleted"} and changed:
                self._changes.setdefault(str(changed), []).append(delivery)


@dataclass
class Thread:
    """A thread of *author*, and its messages in order."""

    system: System
    deliveries: Deliveries
    channel: str
    author: str = ""
    root: str = ""
    project: str = ""
    written: list[Written] = field(default_factory=list)

    def said(self) -> list[Message]:
        """What the bot posted there."""
        return self.system.answers(self.channel, self.root) if self.root else []

    def answers(self) -> list[tuple[str, Message]]:
        """The answered words, each with its answer, in the order of the answers."""
        found = [(_ANSWERED.search(text_of(message)), message) for message in self.said()]
        return [(one[1], message) for one, message in found if one]

    def answered(self) -> list[str]:
        """The answered words, in that order."""
        return [words for words, _message in self.answers()]

    def unknown(self) -> list[Message]:
        """The notices of an unknown outcome."""
        return [message for message in self.said() if UNKNOWN in text_of(message)]

    def asked(self) -> list[str]:
        """The messages that reached an agent, in order."""
        mine = {text for one in self.written for text in one.texts}
        return [words for call in chats(self.system) if (words := last_word(call.body["message"])) in mine]

    def astray(self) -> list[str]:
        """The messages that reached an agent of another project."""
        mine = {text for one in self.written for text in one.texts}
        theirs = chats(self.system, "" if self.project else OTHER) if self.system.other else []
        return [words for call in theirs if (words := last_word(call.body["message"])) in mine]

    def accepted_at(self, one: Written) -> float:
        """When it was acknowledged to Slack."""
        acked = [delivery.at + delivery.ms / 1000 for delivery in self.deliveries.of(one.ts) if delivery.is_acked]
        return min(acked, default=math.inf)

    def stopped(self) -> list[Message]:
        """The notices that a message was stopped."""
        return [message for message in self.said() if text_of(message).startswith(STOPPED)]

    def told(self) -> int:
        """How many messages have no answer, and a notice that says so."""
        return len(self.unknown()) + len(self.stopped())

    def is_settled(self) -> bool:
        """Whether everything is accepted, and answered or reported as unknown or stopped."""
        return self.are_all_accepted() and len(self.owed()) <= self.told()

    def are_all_accepted(self) -> bool:
        """Whether everything was acknowledged to Slack, edits and deletions too."""
        return all(map(self.was_accepted, self.written)) and all(
            self.changed_at(one) < math.inf for one in self.written if self.deliveries.of_changes(one.ts)
        )

    def changed_at(self, one: Written) -> float:
        """When its edit or deletion was acknowledged to Slack."""
        acked = [
            delivery.at + delivery.ms / 1000 for delivery in self.deliveries.of_changes(one.ts) if delivery.is_acked
        ]
        return min(acked, default=math.inf)

    def was_refused(self) -> bool:
        """Whether the bridge reported that it couldn't accept the first message."""
        return any(one.status == _UNAVAILABLE for one in self.deliveries.of(self.written[0].ts))

    def were_given_up(self) -> bool:
        """Whether Slack has given up on any of them."""
        return any(_has_given_up(self.deliveries.of(one.ts)) for one in self.written)

    def owed(self) -> list[Written]:
        """Accepted messages that still exist and have no answer."""
        if self.is_gone():
            return []  # whoever waited in a deleted thread has a private notice
        if any(AGENT_CHOICE in str(message.blocks) for message in self.said()):
            return []  # a menu asks which agent should get what waits
        answered = set(self.answered())
        standing = [one for one in self.written if not one.withdrawn and self.was_accepted(one)]
        return [one for one in standing if not one.texts & answered]

    def is_gone(self) -> bool:
        """Whether the message that began it was deleted."""
        return self.written[0].withdrawn

    def was_accepted(self, one: Written) -> bool:
        """Whether it was acknowledged to Slack."""
        return self.accepted_at(one) < math.inf

    def faults(self) -> Iterator[str]:
        """List the faults."""
        asked, answered = self.asked(), self.answered()
        for one in self.written:
            reached = sum(words in one.texts for words in asked)
            if reached > 1 + one.again:
                yield f"doubled: {one.words} reached the agent {reached} times"
            if sum(words in one.texts for words in answered) > 1 + one.again:
                yield f"doubled: {one.words} was answered more than once"
        if len(self.owed()) > self.told():
            yield f"lost: {[one.words for one in self.owed()]}; told: {self.told()}"
        yield from (f"in another project: {words}" for words in self.astray())
        yield from self._in_spite_of_changes()
        yield from self._disorder(asked, "asked")
        yield from self._disorder(answered, "answered")
        for notice in self.unknown():
            if AGAIN not in str(notice.blocks):
                yield "an unknown outcome without its button"

    def _in_spite_of_changes(self) -> Iterator[str]:
        """Find what was asked or answered although an edit or a deletion had been acknowledged before.

        That is before the message itself was, or well before the request.
        """
        calls = {last_word(call.body["message"]): call for call in chats(self.system)}
        answers = dict(self.answers())
        for one in self.written:
            changed_at = self.changed_at(one)
            at = changed_at if changed_at < self.accepted_at(one) else changed_at + AT_ONCE
            call, answer = calls.get(one.words), answers.get(one.words) or answers.get(one.changed)
            if one.withdrawn and call and call.at > at:
                yield f"in spite of: {one.words} was asked {call.at - at:.1f} s after its deletion"
            if one.withdrawn and answer and call and call.at + call.seconds > at:
                yield f"in spite of: {one.words} was answered after its deletion"
            if one.changed and not one.withdrawn and call and call.at > at and not self._was_offered(one):
                yield f"in spite of: {one.words} was asked {call.at - at:.1f} s after its edit"
        for message in self.system.slack.messages(self.channel):
            found = _ANSWERED.search(text_of(message)) if message.user == BRIDGE else None
            if found and any(found[1] in one.texts for one in self.written):
                yield f"in spite of: {found[1]} was answered outside its thread"

    def _was_offered(self, one: Written) -> bool:
        """Whether its author was asked in private to send its new words, as the agent had the earlier ones."""
        private = self.system.slack.workspace.messages.private
        return any(EDITED in str(notice.blocks) and one.ts in str(notice.blocks) for notice in private)

    def _disorder(self, found: list[str], what: str) -> Iterator[str]:
        """Find pairs in the wrong order: one was accepted before the other was sent, but came after it."""
        by_words = {text: one for one in self.written for text in one.texts if not one.again}
        order = [by_words[words] for words in found if words in by_words]
        for earlier, later in combinations(order, 2):
            if self.accepted_at(later) < min(delivery.at for delivery in self.deliveries.of(earlier.ts)):
                yield f"out of order: {what} {earlier.words} before {later.words}"


def _has_given_up(tries: list[AppDelivery]) -> bool:
    return bool(tries) and not any(one.is_acked for one in tries) and time.time() - tries[-1].at > _GIVEN_UP


def chats(system: System, project: str | None = None) -> list[ProjectCall]:
    """The requests that reached an agent of any *project*, or of that one, except those answered with 429."""
    calls = [call for one in _services(system, project) for call in one.calls]
    found = [call for call in calls if call.path.endswith("/chat") and call.status != _TOO_MANY_REQUESTS]
    return sorted(found, key=lambda call: call.at)


def _services(system: System, project: str | None) -> list[SampleProject]:
    if project is None:
        return system.projects
    return [system.other if project and system.other else system.project]


@dataclass
class Started:
    """A run requested by *user* at *requested_at*, with an *input* of its own."""

    system: System
    user: str
    channel: str
    input: str
    is_accepted: bool
    requested_at: float
    project: str = ""
    needs: str = ""  # what others do with its request for approval

    def requests(self) -> list[Message]:
        """Its requests for approval, which have cards of their own."""
        return [one for one in self._shown() if (one.metadata or {}).get("event_type") == "bridge_approval"]

    def _shown(self) -> list[Message]:
        shown = [one for one in self.system.slack.messages(self.channel) if one.user == BRIDGE]
        return [one for one in shown if self.input in str(one.blocks)]

    def cards(self) -> list[str]:
        """Its cards in the channel."""
        requests = self.requests()
        return [text_of(one) for one in self._shown() if one not in requests]

    def notices(self) -> list[str]:
        """Private notices to *user* since then, such as a failed lookup."""
        private = self.system.slack.workspace.messages.private
        mine = [one for one in private if (one.to, one.channel) == (self.user, self.channel)]
        return [text_of(one) for one in mine if float(one.ts) >= self.requested_at]

    def is_settled(self) -> bool:
        """Whether its card shows the outcome, or the user was notified why there is none."""
        cards = self.cards()
        if (
            self.needs and self.requests() and self.is_accepted
        ):  # nobody decides about one that was refused, but arrived
            is_over = not any("waits" in one.text for one in self.requests())
            return is_over and (bool(cards) or self.needs != "approve") and not any("running" in card for card in cards)
        if any("running" in card for card in cards):
            return False
        return bool(cards or self.notices()) or not self.is_accepted

    def faults(self) -> Iterator[str]:
        """List the faults."""
        times = self._times(None)
        if times != self._times(self.project):
            yield f"in another project: {self.input} ran"
        if self.needs == "withdraw" and times:
            yield f"not approved: {self.input} ran"
        if len(self.requests()) > 1:
            yield f"doubled: {self.input} has {len(self.requests())} requests"
        if times > 1:
            yield f"doubled: {self.input} ran {times} times"
        if len(self.cards()) > 1:
            yield f"doubled: {self.input} has {len(self.cards())} cards"
        if not self.is_settled():
            yield f"lost: {self.input}, cards {self.cards()}"

    def _times(self, project: str | None) -> int:
        calls = [call for one in _services(self.system, project) for call in one.calls if call.path.endswith("/run")]
        return sum(call.body["input"] == self.input for call in calls)
