"""Finished turns: the entry that each leaves (`bridge.queue.finished_turns`), and what features derive from them.

Once a second, one process hands new entries to the handlers that features register (`Feature.on_finished_turns`). The
writes that these return are made in one step with how far the stream was read, if that's still as it was. So each entry
is applied exactly once, whichever process dies; a handler's calls of others may be repeated. If the process that does
this dies, another one begins within seconds.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, Final

from bridge.engine.deps import EngineDeps
from bridge.engine.feature import OnFinishedTurns
from bridge.engine.projects import ASK
from bridge.engine.results import NewThread, Outcome
from bridge.errors import StoreUnavailable
from bridge.ids import MessageKey, TurnId
from bridge.inbound import Click, HomeOpened, Inbound, InboundMessage, Notice, Shortcut, SlashCommand, Submission
from bridge.names.folding import fold, may_have
from bridge.queue.finished_turns import FACTS, REFUSED, page_of_finished_turns
from bridge.queue.keys import AUDIT_LENGTH, CONSUMING, SNAPSHOTS, UNAUDITED, Keys, milliseconds
from bridge.queue.patience import Draining, Patience
from bridge.queue.records import Record, Step
from bridge.queue.scripting import epoch_ms
from bridge.queue.writes import Append, Write, only_if
from bridge.slack.blockkit.mrkdwn import bang

log = logging.getLogger(__name__)

_EVERY: Final = timedelta(seconds=1)
_MENTIONS: Final = re.compile(r"\A\s*(?:<@[^>]*>[\s:,;-]*)+")
_AGENT: Final = re.compile(r"agent (\d+)\b")  # the subject of a turn
_LONGEST: Final = 500  # characters before and in a command


FixedWords = Mapping[str, frozenset[str]]
"""The commands, each with its fixed second words; the audit names no other words."""


class Entries:
    """Builds the entries of *keys*, stored for *lifetime*; zero turns the audit off."""

    def __init__(self, keys: Keys, commands: FixedWords, *, lifetime: timedelta, now: Callable[[], datetime]) -> None:
        self._key = keys.audit()
        self._commands = commands
        self._ms = milliseconds(lifetime or UNAUDITED)
        self._now = now

    def of(
        self,
        turn: TurnId,
        record: Record | None,
        what: str,
        *,
        about: str = "",
        outcome: Outcome | None = None,
        posted: MessageKey | None = None,
        agent: int | None = None,
        project: str | None = None,
        is_open: bool = False,
    ) -> Append:
        """Return the write of the entry of a *turn* that ends with *what*; *record* is None if it couldn't be read.

        The *outcome* was shown in the message *posted*, if the bot itself could post it. *agent* is the thread's, and
        *project* the turn's. It *is_open* if a button can have the turn done again.
        """
        entry = {"v": "1", "at": "", "user": "", "channel": "", "thread": "", "did": "", "about": about}
        is_refused, more = what in REFUSED, dict[str, str]()
        if record is not None:
            body = record.body
            entry |= {"at": str(epoch_ms(record.accepted_at)), "user": body.user, "channel": body.channel}
            entry |= {"thread": getattr(body, "thread_ts", ""), "did": action_name(body, self._commands)}
            is_refused |= isinstance(body, Notice) and not body.is_offer
            is_refused |= isinstance(body, HomeOpened | Shortcut) and body.refusal != ""
            is_unknown = record.step is Step.SENT and what.startswith("dead: ")
            more = {"cause": "outcome unknown" if is_unknown else "", "kind": body.kind, "team": body.team}
            more["project"] = "" if body.project == ASK else body.project
            more["ms"] = str(epoch_ms(self._now()) - epoch_ms(record.accepted_at))
            more |= {"open": "1" if is_open else "", "reaction": "1" if record.has_queued_reaction else ""}
            if isinstance(body, InboundMessage):
                more |= {"app": body.app, "ts": body.ts}
                if outcome is None and what == "stopped" and agent is not None:
                    more |= {"of": f"agent {agent}", "how": what, "project": project or ""}
        if outcome is not None:
            more |= {"cause": outcome.cause, "project": more["project"] if outcome.project is None else outcome.project}
            more |= {name: value for name, value in outcome.facts.items() if name in FACTS}
            more |= _ended(what, outcome, is_message="ts" in more)
            more["card"] = f"{posted.channel} {posted.ts}" if posted and "name" in more else ""  # a run's
            began = [effect.agent for effect in outcome.after if isinstance(effect, NewThread)]
            of = began[0] if began else outcome.agent
            entry["about"] = outcome.concerns
            if not outcome.concerns and outcome.workflow is not None:
                entry["about"] = f"workflow {outcome.workflow} {outcome.ran}".rstrip()
            elif not outcome.concerns and of is not None:
                entry["about"] = f"agent {of}"
        entry |= {"allowed": "0" if is_refused else "1", "outcome": what, "turn": turn}
        entry |= {name: value for name, value in more.items() if value}
        return ("append", self._key, self._ms, AUDIT_LENGTH, *chain.from_iterable(entry.items()))


def _ended(what: str, outcome: Outcome, *, is_message: bool) -> dict[str, str]:
    """Return which agent or workflow has ended, and how: an agent's answer has no word."""
    if outcome.workflow is not None and outcome.ended:
        how = "unknown" if what == "unknown" else outcome.ended
        return {"of": f"workflow {outcome.workflow}", "how": how, "name": outcome.ran}
    if not is_message:
        return {}
    if outcome.agent is not None:
        is_answer = outcome.session is not None and not outcome.concerns  # not about the thread's session
        return {"of": f"agent {outcome.agent}"} if is_answer else {}
    named = _AGENT.match(outcome.concerns)
    if named is None or not outcome.cause:
        return {}
    return {"of": f"agent {named[1]}", "how": "unknown" if what == "unknown" else "failed"}


def action_name(inbound: Inbound, commands: FixedWords) -> str:
    """Return the name of an input for the audit: its fixed words, never a person's text."""
    match inbound:
        case InboundMessage():
            line = inbound.line.removeprefix("/")
            if not line and not inbound.is_text and may_have(inbound.text, "!"):  # an edited text
                line = " ".join(bang(_MENTIONS.sub("", inbound.text)) or ())
            word, second, *_ = [*fold(line, _LONGEST).text.split(maxsplit=2), "", ""]
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
        case _:
            return inbound.did


def _with_second(command: str, second: str, commands: FixedWords) -> str:
    """Return *command*, with the *second* word if it's a fixed one."""
    is_fixed = second in commands.get(command[1:].casefold(), ())
    return f"{command} {second}" if is_fixed else command


class FinishedTurns:
    """Hands new entries to *handlers*. Without an audit, they're deleted then."""

    def __init__(
        self, deps: EngineDeps, handlers: Sequence[OnFinishedTurns], patience: Patience, *, has_audit: bool
    ) -> None:
        self._deps = deps
        self._handlers = handlers
        self._patience = patience
        self._has_audit = has_audit

    async def run(self) -> None:
        """Look for new entries until the process drains."""
        try:
            while True:
                await self._patience.pause(_EVERY)
                try:
                    await self.apply()
                except StoreUnavailable as exc:
                    log.debug("can't read finished turns, will retry", extra={"why": exc.reason})
        except Draining:
            return

    async def apply(self) -> int:
        """Apply new entries, unless another process does; returns how many. Raises `StoreUnavailable`."""
        scripts, inbox, count = self._deps.scripts, self._deps.inbox, 0
        key = scripts.keys.consumed()
        while True:
            known: Any = await scripts.redis.hmget(key, ["entry", "erased"])  # the latter changes if a person is erased
            state = {name: str(value or "") for name, value in zip(("entry", "erased"), known, strict=True)}
            before = state["entry"]
            page, last = await page_of_finished_turns(scripts, f"({before}" if before else "-")
            if not page or not await scripts.claim(scripts.keys.consuming(), inbox.consumer, CONSUMING):
                return count
            turns, writes = [turn for turn in page if turn.kind], list[Write]()
            for handler in self._handlers if turns else ():
                writes += await handler(self._deps, turns)
            if not self._has_audit:
                ms, _, number = last.partition("-")
                writes.append(("trim", scripts.keys.audit(), 0, f"{ms}-{int(number) + 1}"))
            read: Write = ("field", key, milliseconds(SNAPSHOTS), "entry", last)
            await inbox.write(*only_if(key, state, read, *writes))
            count += len(page)
