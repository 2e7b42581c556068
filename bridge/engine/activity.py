"""The records of a finished turn: an audit entry, and its person's recent activity for their Home tab.

Both are written in the step that ends the turn, so neither can be missing and neither costs a round trip.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from bridge.engine.dispatch import Features
from bridge.engine.distinct import token_of
from bridge.engine.home import Homes
from bridge.engine.projects import ASK
from bridge.engine.recent import MOST, RecentRun
from bridge.engine.results import NewThread, Outcome
from bridge.engine.turn import Turn
from bridge.ids import MessageKey, PersonKey, TurnId
from bridge.inbound import (
    ApprovalDue,
    ApprovedRun,
    Click,
    HomeOpened,
    Inbound,
    InboundMessage,
    MessagesTabOpened,
    Notice,
    Report,
    ScheduledRun,
    ScheduledTask,
    Shortcut,
    SlashCommand,
    Submission,
    TriggeredRun,
)
from bridge.metrics import Metrics
from bridge.queue.audit import FACTS, REFUSED
from bridge.queue.keys import AUDIT_LENGTH, ENDED, ENDED_LENGTH, RECENT, milliseconds
from bridge.queue.records import Append, Record, Step, Write
from bridge.queue.scripting import Scripts, epoch_ms
from bridge.slack.blockkit.folding import fold, may_have
from bridge.slack.blockkit.mrkdwn import bang

_SHOWN_MS: Final = milliseconds(RECENT)
_ENDED_MS: Final = milliseconds(ENDED)
_MENTIONS: Final = re.compile(r"\A\s*(?:<@[^>]*>[\s:,;-]*)+")
_AGENT: Final = re.compile(r"agent (\d+)\b")  # the subject of a turn
_LONGEST: Final = 500  # characters before and in a command


FixedWords = Mapping[str, frozenset[str]]
"""The commands, each with its fixed second words; the audit names no other words."""


class Activity:
    """Builds the writes of both. *audit_lifetime* is how long entries are stored; zero turns it off."""

    def __init__(
        self,
        scripts: Scripts,
        homes: Homes,
        features: Features,
        *,
        audit_lifetime: timedelta,
        now: Callable[[], datetime],
        metrics: Metrics,
    ) -> None:
        self._keys = scripts.keys
        self._homes = homes
        self._features = features
        self._audit_ms = milliseconds(audit_lifetime)
        self._now = now
        self._metrics = metrics

    def writes(
        self,
        turn: TurnId,
        record: Record | None,
        what: str,
        *,
        about: str = "",
        outcome: Outcome | None = None,
        posted: MessageKey | None = None,
    ) -> list[Write]:
        """Return what the step that ends *turn* with *what* writes; *record* is None if it couldn't be read.

        The *outcome* was shown in the message *posted*, if the bot itself could post it.
        """
        writes: list[Write] = []
        if record is not None and (key := self._looking(record)):
            writes.append(("left", key, 0))  # see `changes_home`
        if record is not None and outcome is not None:  # a run or an answer, for its person's Home tab
            body, person = record.body, PersonKey(record.body.team, record.body.user, outcome.project or "")
            if outcome.workflow is not None and outcome.ended:
                card = (posted.channel, posted.ts) if posted else ("", "")
                run = RecentRun(outcome.workflow, outcome.ran, outcome.ended, self._now(), *card)
                writes.append(("push", self._keys.recent_runs(person), _SHOWN_MS, run.to_line(), MOST))
                writes.append(self._homes.settled(person, record.id))
            elif isinstance(body, InboundMessage) and not body.app:
                is_unknown = outcome.what == "unknown"
                is_failed = outcome.cause != "" and outcome.concerns.startswith("agent ")
                if outcome.session is not None or is_unknown or is_failed:
                    writes.append(self._thread(body, person))
                if is_unknown:
                    writes.append(self._homes.unsettled(person, record.id))
        if self._audit_ms:
            writes.append(self._audited(turn, record, what, about, outcome))
        return writes

    def _audited(self, turn: TurnId, record: Record | None, what: str, about: str, outcome: Outcome | None) -> Append:
        """Return the write of the audit entry."""
        by = {"user": "", "channel": "", "thread": "", "did": ""}
        is_refused = what in REFUSED
        if record is not None:
            body = record.body
            by = {"user": body.user, "channel": body.channel, "thread": getattr(body, "thread_ts", "")}
            by["did"] = action_name(body, self._features.commands.fixed_words)
            is_refused |= isinstance(body, Notice) and not body.is_offer
            is_refused |= isinstance(body, HomeOpened | Shortcut) and body.refusal != ""
        is_unknown = record is not None and record.step is Step.SENT and what.startswith("dead: ")
        cause, project = "outcome unknown" if is_unknown else "", ""
        facts: Mapping[str, str] = {}
        if record is not None and record.body.project != ASK:
            project = record.body.project
        if outcome is not None:
            project = project if outcome.project is None else outcome.project
            about, cause, facts = outcome.concerns, outcome.cause, outcome.facts
            agents = [one.agent for one in outcome.after if isinstance(one, NewThread)]
            agent = agents[0] if agents else outcome.agent
            if not about and outcome.workflow is not None:
                about = f"workflow {outcome.workflow} {outcome.ran}".rstrip()
            elif not about and agent is not None:
                about = f"agent {agent}"
        entry = {"v": "1", "at": str(epoch_ms(record.accepted_at)) if record else "", **by, "about": about}
        entry |= {"allowed": "0" if is_refused else "1", "outcome": what, "turn": turn}
        entry |= {"cause": cause} if cause else {}
        entry |= {"project": project} if project else {}
        entry |= {name: value for name, value in facts.items() if name in FACTS and value}
        flat = tuple([part for field in entry.items() for part in field])
        return ("append", self._keys.audit(), self._audit_ms, AUDIT_LENGTH, *flat)

    def ended(self, turn: Turn, what: str, outcome: Outcome | None) -> list[Write]:
        """Return the write of how long an agent or a workflow took, and how that ended; nothing about people."""
        body = turn.body
        if (found := _ended(turn, what, outcome)) is None:
            return []
        kind, id_, how = found
        project, at = turn.project_key if outcome is None else outcome.project or "", epoch_ms(self._now())
        took = at - epoch_ms(turn.record.accepted_at)
        facts = ["at", str(at), "of", f"{kind} {id_}", "ms", str(took), "how", how, "project", project]
        if isinstance(body, InboundMessage):
            salt = self._keys.namespace  # only to count them
            facts += ["who", str(token_of(salt, body.user or body.app)), "in", str(token_of(salt, str(body.thread)))]
        self._metrics.ended(kind, id_, how, project, took / 1000)
        written: Append = ("append", self._keys.ended(kind), _ENDED_MS, ENDED_LENGTH, *facts)
        return [written]

    def changes_home(self, writes: Sequence[Write], answers: Sequence[str]) -> bool:
        """Whether a turn's *writes* may have changed a Home tab that its person has open, by Redis' *answers* to them.

        Any turn of theirs may: what doesn't isn't published (`bridge.engine.home`).
        """
        return bool(writes) and writes[0][0] == "left" and int(answers[0]) > 0

    def listed(self, record: Record, project: str) -> tuple[Write, ...]:
        """Return the writes that list the thread of a message that waits for the choice of its agent."""
        body = record.body
        if not isinstance(body, InboundMessage) or body.app:
            return ()
        return (self._thread(body, PersonKey(body.team, body.user, project)), *self.redraws(record))

    def given_up(self, record: Record) -> tuple[Write, ...]:
        """Return the writes that list a turn that's given up, if a button can repeat it."""
        body = record.body
        if not isinstance(body, InboundMessage | SlashCommand) or (isinstance(body, InboundMessage) and body.app):
            return ()
        project = "" if body.project == ASK else body.project
        return (self._homes.unsettled(PersonKey(body.team, body.user, project), record.id), *self.redraws(record))

    def redraws(self, record: Record) -> tuple[Write, ...]:
        """Return the writes that redraw the Home tab of the person whose turn this is, if they have it open."""
        return self._homes.redraws(record.body.team, record.body.user) if self._looking(record) else ()

    def _looking(self, record: Record) -> str:
        """Return the key that says whether a turn's person has Home open; ``""`` if the turn doesn't change that."""
        body = record.body
        is_quiet = isinstance(body, HomeOpened | MessagesTabOpened | Notice)
        if is_quiet or (isinstance(body, InboundMessage) and body.app) or not body.user:
            return ""
        return self._keys.looking(PersonKey(body.team, body.user))

    def _thread(self, message: InboundMessage, person: PersonKey) -> Write:
        score, thread = epoch_ms(self._now()), str(message.thread)
        return ("rank", self._keys.recent_threads(person), _SHOWN_MS, thread, score, MOST)


def _ended(turn: Turn, what: str, outcome: Outcome | None) -> tuple[str, str, str] | None:
    """Return whether an agent or a workflow has ended, which one, and how; None if neither.

    An agent's answer has no word; else it's ``failed``, ``stopped`` or ``unknown``.
    """
    if outcome is not None and outcome.workflow is not None and outcome.ended:
        return "workflow", str(outcome.workflow), "unknown" if what == "unknown" else outcome.ended
    if not isinstance(turn.body, InboundMessage):
        return None
    bound = turn.conversation.agent
    if outcome is None:
        return ("agent", str(bound), "stopped") if what == "stopped" and bound is not None else None
    if outcome.agent is not None:
        return ("agent", str(outcome.agent), "") if outcome.session is not None else None
    named = _AGENT.match(outcome.concerns)
    if named is None or not outcome.cause:
        return None
    return "agent", named[1], "unknown" if what == "unknown" else "failed"


def action_name(inbound: Inbound, commands: FixedWords) -> str:
    """Return the name of an input for the audit: its fixed words, never a person's text."""
    match inbound:
        case TriggeredRun():
            return "app message"
        case InboundMessage():
            may_be_one = not inbound.is_text and may_have(inbound.text, "!")
            word, rest = (bang(_MENTIONS.sub("", inbound.text)) if may_be_one else None) or ("", "")
            second = (fold(rest, _LONGEST).text.split() or [""])[0]
            return _with_second(f"!{word}", second, commands) if word in commands else "message"
        case SlashCommand():
            return _with_second(inbound.command, (fold(inbound.text, _LONGEST).text.split() or [""])[0], commands)
        case Click():
            return f"click {inbound.action_id}"
        case Submission():
            return f"form {inbound.form}"
        case Notice():
            return inbound.of or "message"
        case Shortcut():
            return f"shortcut {inbound.name}"
        case Report():
            return "report, by hand" if inbound.is_asked_for else "report"
        case ScheduledTask():
            return f"scheduled {inbound.does}{', by hand' if inbound.is_asked_for else ''}"
        case ScheduledRun():
            return "scheduled run"
        case ApprovedRun():
            return "approved run"
        case ApprovalDue():
            return f"approval {inbound.what}"
        case _:
            return inbound.kind


def _with_second(command: str, second: str, commands: FixedWords) -> str:
    """Return *command*, with the *second* word if it's a fixed one."""
    is_fixed = second in commands.get(command[1:].casefold(), ())
    return f"{command} {second}" if is_fixed else command
