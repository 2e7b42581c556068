"""Requests for approval, as stored and as decided: one hash each, changed by scripts only.

What's approved is the input's canonical JSON, fixed by its SHA-256: the card shows it, and the run gets it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, NamedTuple, Self

from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from bridge import ids
from bridge.errors import RecordNotUnderstood
from bridge.features.approvals.records import ApprovalDue
from bridge.features.run_records import ScheduledRun, TriggeredRun
from bridge.queue.scripting import from_epoch_ms
from bridge.unseen import escaped

WAITING: Final = "waiting"
APPROVED: Final = "approved"
DENIED: Final = "denied"
EXPIRED: Final = "expired"
WITHDRAWN: Final = "withdrawn"
CHANGED: Final = "changed"
"""The rules or the workflow have changed since it was asked for, or someone lost the right."""


def canonical(value: Any) -> str:
    """Write JSON in its one form: sorted names, no blanks, and escapes for all that can't be seen."""
    return escaped(json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":")))


def digest_of(written: str) -> str:
    """Return the SHA-256 of an input's canonical JSON."""
    return hashlib.sha256(written.encode()).hexdigest()


class Needed(BaseModel, frozen=True):
    """Which approvals it takes: *count* of the people, user groups and channels in *by* (IDs).

    Nobody: those whom the rules let approve. The asker's counts only with *by_asker*.
    """

    by: tuple[str, ...] = ()
    count: int = 1
    by_asker: bool = False


class Request(Needed, frozen=True, validate_by_name=True, serialize_by_alias=True):
    """What *asker* wants to run, and which approvals that takes: its own, and those that it takes *also*.

    *workflow*, *name*, *trigger*, *category* and *is_active* are the workflow's. *rule* names the rule that asks for
    approval, and *terms* is a fingerprint of what it takes. *started_by* is what started it if its asker didn't, or
    what they started by hand. Its card is posted by the turn *posted_by*, for the message *message_ts*, if it was one.
    """

    team: str
    channel: str
    thread_ts: str = ""
    asker: str
    project: str = ""
    workflow: int
    name: str
    trigger: str = ""
    category: str = ""
    is_active: bool = True
    digest: str
    why: str = ""
    rule: str = ""
    also: Needed | None = None
    terms: str
    asked_at: AwareDatetime
    until: AwareDatetime
    started_by: ScheduledRun | TriggeredRun | None = None
    posted_by: str = ""
    message_ts: str = Field(default="", alias="said")  # stored by the name that the release before reads

    @property
    def needs(self) -> tuple[Needed, ...]:
        """Which approvals it takes, each with its own people."""
        return (self, self.also) if self.also else (self,)

    @property
    def lets_asker(self) -> bool:
        """Whether the asker may approve it."""
        return any(needed.by_asker for needed in self.needs)

    @property
    def has_too_few(self) -> bool:
        """Whether too few of the people who may approve it are left; groups and channels count as enough."""
        for needed in self.needs:
            left = set(needed.by) - {ids.ERASED_PERSON, "" if needed.by_asker else self.asker}
            are_people = not any(id_[0] in "SCG" for id_ in needed.by)
            if needed.by and are_people and len(left) < needed.count:
                return True
        return False

    @property
    def remind_at(self) -> datetime:
        """When those who haven't decided are reminded: half-way."""
        return self.asked_at + (self.until - self.asked_at) / 2


def _without(user: str, by: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ids.ERASED_PERSON if id_ == user else id_ for id_ in by))


class ApproverDecision(NamedTuple):
    """What *user* decided (``approve``, ``deny``, ``withdraw``), in *turn*.

    ``approve:2`` counts for the second of the approvals that it takes only.
    """

    at: datetime
    user: str
    decided: str
    turn: str

    @property
    def is_approval(self) -> bool:
        """Whether it's an approval, of whichever kind."""
        return self.decided.startswith("approve")

    def counts_for(self, number: int) -> bool:
        """Whether it's an approval of the kind with this *number*, from 0 on."""
        return self.decided in {"approve", f"approve:{number + 1}"}


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A request as it's stored: its *state*, its *card* (a ``ts``) once that's posted, and who has decided what.

    *input* is the canonical JSON. *reason* is why it was denied (stored as ``said``), *started* the turn that started
    the run. *lost* is why it's `CHANGED`: a reason (`bridge.errors.NotAllowed`) and whose, or ``workflow`` and what has
    changed about it, in words; ``""`` if the rules changed.
    """

    id: str
    request: Request
    input: str
    state: str
    card: str = ""
    decisions: tuple[ApproverDecision, ...] = ()
    reason: str = ""
    started: str = ""
    revision: str = ""
    lost: str = ""

    @property
    def approved_by(self) -> tuple[str, ...]:
        """Who has approved it, in order."""
        return tuple(decision.user for decision in self.decisions if decision.is_approval)

    @property
    def left(self) -> int:
        """How many approvals it still takes."""
        had = (
            sum(decision.counts_for(number) for decision in self.decisions) for number in range(len(self.request.needs))
        )
        return sum(max(needed.count - count, 0) for needed, count in zip(self.request.needs, had, strict=True))

    def without(self, user: str) -> Self:
        """Return it without a person who isn't its asker: an approval that they gave no longer counts.

        Nor may what they had set up start.
        """
        begun = self.request.started_by
        if isinstance(begun, ScheduledRun) and begun.owner == user:
            begun = begun.model_copy(update={"owner": ids.ERASED_PERSON})
        also = self.request.also and self.request.also.model_copy(update={"by": _without(user, self.request.also.by)})
        decisions = tuple(
            decision._replace(user=ids.ERASED_PERSON) if decision.user == user else decision
            for decision in self.decisions
            if self.state != WAITING or decision.user != user
        )
        reason, _, whose = self.lost.partition(" ")
        return replace(
            self,
            request=self.request.model_copy(
                update={"by": _without(user, self.request.by), "also": also, "started_by": begun}
            ),
            decisions=decisions,
            reason="" if any(decision.user == user for decision in self.decisions) else self.reason,
            lost=f"{reason} {ids.ERASED_PERSON}" if whose == user else self.lost,
        )

    @property
    def redraw(self) -> ApprovalDue:
        """The input that has its card show its state."""
        request = self.request
        return ApprovalDue(
            team=request.team, channel=request.channel, user=request.asker, project=request.project, approval=self.id,
            what="end",
        )  # fmt: skip

    @property
    def is_intact(self) -> bool:
        """Whether the stored input is the one that was shown."""
        return digest_of(self.input) == self.request.digest

    def of_turn(self, turn: str) -> ApproverDecision | None:
        """Return what was decided in *turn*."""
        return next((decision for decision in self.decisions if decision.turn == turn), None)

    @classmethod
    def from_redis(cls, id_: str, fields: Mapping[str, str]) -> Self:
        """Read a hash. Raises `RecordNotUnderstood`."""
        try:
            request = Request.model_validate_json(fields["body"])
            lines = [line.split(" ") for line in fields.get("decisions", "").splitlines()]
            decisions = [ApproverDecision(from_epoch_ms(at), *rest) for at, *rest in lines]
            return cls(
                id_, request, fields["input"], fields["state"], fields.get("card", ""), tuple(decisions),
                fields.get("said", ""), fields.get("started", ""), fields.get("decisions", "") + fields["state"],
                fields.get("lost", ""),
            )  # fmt: skip
        except (KeyError, ValueError, TypeError, ValidationError) as exc:
            raise RecordNotUnderstood("approval") from exc
