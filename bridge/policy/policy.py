"""What people may do, when any input arrives, and again when it's acted on later.

The rules decide (`bridge.policy.rules`); this reads the facts that they need from Slack, only as far as they turn on
them. A person about whom Slack says too little is refused, with the reason ``unknown``. Only if the app lacks
``users:read``, no one counts as a guest, unless ``BRIDGE_RUNNERS`` or the operator's file says who may run workflows.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, Final

from bridge.config_tables import Act
from bridge.errors import NotAllowed, SlackError, SlackRefused
from bridge.inbound import Inbound
from bridge.names.listing import Listing
from bridge.policy.limits import Limit, Limits
from bridge.policy.rules import GUEST, PUBLIC, Asked, RuleList, Rules, Verdict, both, target_of
from bridge.policy.words import alternatives, ids_of, needs_of, refusal
from bridge.project import Catalog
from bridge.project.connection import DEFAULT
from bridge.project.models import Agent, Workflow
from bridge.queue.quotas import Quota
from bridge.slack.directory import Directory

log = logging.getLogger(__name__)

UNREACHABLE: Final = frozenset({"deactivated", "stranger"})
"""Reasons against people who get no private messages."""

_KEY: Final = RuleList("", (), "key")
_AT_ONCE: Final = 1.0  # seconds; one lookup for everything that's due at the same moment
_LATELY: Final = 60.0  # seconds
_REASONS: Final[Mapping[Act, str]] = {
    "run": "runner", "settings": "default", "report": "report", "schedule": "schedule", "alert": "alert",
}  # fmt: skip


@dataclass(slots=True)
class Policy:
    """Judges by the *rules*, and counts for the *limits*, with facts from the *directory*.

    Both change when the operator's file is read again.

    *home* are the IDs of the workspace and its organization, if any.
    """

    home: frozenset[str]
    directory: Directory
    rules: Rules
    limits: Limits = field(default_factory=Limits)

    async def refusal(self, inbound: Inbound, asked: Asked | None = None) -> str | None:
        """Return why this person may not talk to the bridge here, or do what's *asked*; None if they may.

        It's one of the reasons of `bridge.errors.NotAllowed`. Raises `SlackError` if Slack doesn't answer right now, so
        that Slack retries the event.
        """
        team = inbound.user_team
        if not (team.startswith("T") and team in self.home):
            is_home = not team  # only members can write there
            if any(place.startswith("E") for place in self.home) or (is_home and inbound.is_shared):
                # In an organization, people may be members of more workspaces than the event names, and those of
                # others may write in channels that aren't shared with another company.
                try:
                    is_home = await self.directory.is_home(inbound.user)
                except SlackRefused as exc:  # a retry would get the same answer
                    log.warning("Slack didn't say which workspace a person is from", extra={"detail": exc.detail})
                    return "unknown"
            if not is_home:
                return "stranger"
        if reason := self.rules.not_listed(inbound.user, inbound.place):
            return reason
        if asked is None or (verdict := await self.judge(asked)).is_allowed:
            return None
        return await self._reason(verdict, asked)

    async def refusal_now(self, user: str, channel: str, *wanted: Asked) -> str | None:
        """Return why what *user* sent earlier may no longer happen in *channel*, or None if it may.

        Whatever isn't done at once is judged here when it's done: reports, apps' rules, and messages that waited.
        What's set up goes on until someone changes it, so its owner must still have the rights *wanted* for it. Without
        a *user* (earlier versions stored none), only the channel counts. The result is a reason of
        `bridge.errors.NotAllowed`, without the words of a rule. Raises `SlackError` if Slack doesn't answer right now.
        """
        if refused := self.rules.not_listed(user, channel):
            return refused
        if not user:
            return None
        at_most = _AT_ONCE if wanted else _LATELY
        try:
            person = await self.directory.person(user, at_most=at_most)
        except SlackRefused as exc:
            if exc.error != "missing_scope":  # a retry would get the same answer
                log.warning("Slack doesn't say whether a person still has access", extra={"detail": exc.detail})
                return "unknown"
        else:
            if person.kind == "deactivated" or person.is_home is False:
                return "deactivated" if person.kind == "deactivated" else "stranger"
        for asked in wanted:
            verdict = await self.judge(asked, at_most=at_most)
            if not verdict.is_allowed:
                if verdict.of is _KEY:
                    return "key"
                is_rule = verdict.of is None or verdict.of.reason == "rule"
                return "rule" if is_rule else "unknown" if verdict.missing else "runner"
        is_theirs = not wanted or not channel or channel.startswith("D")
        return None if is_theirs or await self.directory.sees(user, channel) else "left"

    async def judge(self, asked: Asked, *, at_most: float | None = None) -> Verdict:
        """Judge what's *asked*, with facts from Slack that are *at_most* so many seconds old. Raises `SlackError`."""
        if asked.holders and asked.person and not await self.holds(asked.holders, asked.person):
            return Verdict(False, None, _KEY)
        judge = self.rules.judge_approver if asked.terms else self.rules.judge
        troubles: list[SlackError] = []
        while wanted := (verdict := judge(asked)).missing - asked.facts.keys():
            facts = await asyncio.gather(*(self._fact(fact, asked, at_most, troubles) for fact in wanted))
            asked = replace(asked, facts={**asked.facts, **dict(zip(wanted, facts, strict=True))})
        for trouble in troubles if verdict.missing else ():
            if not isinstance(trouble, SlackRefused):
                raise trouble
            log.warning("Slack doesn't say what a rule turns on", extra={"detail": trouble.detail})
        return verdict

    async def _fact(self, wanted: str, asked: Asked, at_most: float | None, troubles: list[SlackError]) -> bool | None:
        """Read a fact about the person or the place; None if Slack doesn't say, with the trouble in *troubles*."""
        try:
            if wanted == PUBLIC:
                return await self.directory.is_public(asked.channel, at_most=at_most)
            if wanted == GUEST:
                return await self.directory.is_guest(asked.person, at_most=at_most)
            if wanted.startswith("S"):
                return await self.directory.in_group(asked.person, wanted, at_most=at_most)
            return await self.directory.in_channel(asked.person, wanted, at_most=at_most)
        except SlackError as exc:
            if wanted == GUEST and getattr(exc, "error", "") == "missing_scope" and not self.rules.has_file:
                return False
            troubles.append(exc)
            return None

    async def holds(self, holders: Sequence[str], user: str, *, if_unknown: bool = False) -> bool:
        """Whether *user* is one of those people, or in one of those user groups, now. Raises `SlackError`.

        If Slack refuses to say who is in a group, and they're in none of the others, the answer is *if_unknown*.
        """
        if user in holders:
            return True
        is_known = True
        for group in (holder for holder in holders if holder.startswith("S")):
            try:
                if await self.directory.in_group(user, group, at_most=_AT_ONCE):
                    return True
            except SlackRefused as exc:  # a retry would get the same answer
                log.warning("Slack doesn't say who has a key", extra={"group": group, "detail": exc.detail})
                is_known = False
        return if_unknown and not is_known

    async def require(self, *asked: Asked) -> Verdict:
        """Return the verdict that all that's *asked*, about one thing, is allowed. Raises `NotAllowed`."""
        verdicts = []
        for what in asked:
            try:
                verdict = await self.judge(what)
            except SlackError as exc:
                log.warning("Slack doesn't say whether a person may do this", extra={"detail": exc.detail})
                raise NotAllowed("unanswered") from exc
            if not verdict.is_allowed:
                raise NotAllowed(await self._reason(verdict, what))
            verdicts.append(verdict)
        return verdicts[0] if len(verdicts) == 1 else both(verdicts)

    async def may(self, asked: Asked) -> bool:
        """Whether to offer what's *asked*; False if it's unknown whether it's allowed."""
        try:
            return (await self.judge(asked)).is_allowed
        except SlackError:
            return False

    async def offered(self, asked: Asked, items: Sequence[Workflow | Agent]) -> Mapping[int, str]:
        """Return what has to happen before what's *asked* is done with each item that it's allowed with, by ID.

        It's ``""`` if nothing has to. Without rules in the operator's file, lists show everything.
        """
        if not self.rules.has_file:
            return {item.id: "" for item in items}
        facts: dict[str, bool | None] = {}
        allowed: dict[int, Verdict] = {}
        for item in items:
            asked = replace(asked, target=target_of(item), facts=facts)
            while wanted := (verdict := self.rules.judge(asked)).missing - facts.keys():
                for fact in wanted:
                    facts[fact] = await self._fact(fact, asked, None, [])
            if verdict.is_allowed:
                allowed[item.id] = verdict
        names = await self.names(ids_of(*[verdict.rule for verdict in allowed.values() if verdict.rule]))
        return {
            id_: needs_of(verdict.approval, confirm=verdict.confirm, names=names) for id_, verdict in allowed.items()
        }

    async def quotas(self, asked: Asked, content: Any, *, team: str = "") -> tuple[Quota, ...]:
        """Return what a request with this input counts for once it's sent: a question, or a run in a *team*.

        Limits on the same thing share a counter, which counts once, for the strictest.
        """
        quotas: dict[str, Quota] = {}
        for limit in self.limits.asks if asked.act == "ask" else self.limits.runs:
            if limit.called:  # a setting's
                project = "" if asked.project == DEFAULT else asked.project
                counted = [limit.quota(1, team, asked.person, project)]
            elif limit.per in {"person", "group"}:
                counted = [
                    limit.quota(limit.amount(content), subject) for subject in await self._people(limit, asked.person)
                ]
            else:
                counted = [limit.quota(limit.amount(content), subject) for subject in [limit.subject(asked)] if subject]
            for quota in counted:
                quotas[quota.id] = min(quotas.get(quota.id, quota), quota, key=attrgetter("most"))
        return tuple(quotas.values())

    async def _people(self, limit: Limit, person: str) -> list[str]:
        """Return the *person* if a limit per person is theirs, or their groups among those of a limit per group."""
        only = limit.only or ()
        if not person or (limit.per == "person" and (limit.only is None or person in only)):
            return [person] if person else []
        groups = []
        for group in (id_ for id_ in only if id_.startswith("S")):
            try:
                is_in = await self.directory.in_group(person, group)
            except SlackError as exc:  # they count as if they were
                log.warning("Slack doesn't list a limit's user group", extra={"detail": exc.detail})
                is_in = True
            if is_in and limit.per == "person":
                return [person]
            groups += [group] if is_in else []
        return groups

    async def _reason(self, verdict: Verdict, asked: Asked) -> str:
        """Return the reason of a refusal (`bridge.errors.NotAllowed`)."""
        if verdict.of is None or verdict.of.reason == "rule":
            rules = [*([verdict.rule] if verdict.rule else ()), *alternatives(verdict, asked)]
            names = await self.names(ids_of(*rules) | verdict.missing - {GUEST, PUBLIC})
            return f"rule:{refusal(verdict, asked, names)}"
        if verdict.missing:
            return "unknown"
        if verdict.of.reason != "runner":
            return verdict.of.reason
        return "handle" if asked.target is not None and asked.act == "settings" else _REASONS.get(asked.act, "runner")

    async def names(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the names of user groups and public channels by their *ids*; private channels stay unnamed."""
        names = {}
        for id_ in sorted(ids):
            if id_.startswith("S"):
                if (name := await self.directory.group_name(id_)) != id_:
                    names[id_] = f"@{name}"
                continue
            try:
                if await self.directory.is_public(id_):
                    names[id_] = f"#{await self.directory.channel_name(id_)}"
            except SlackError as exc:
                log.info("can't name a rule's channel", extra={"detail": exc.detail})
        return names


@dataclass(frozen=True, slots=True)
class Offered:
    """The workflows and agents of a *catalog* with which what's *asked* is allowed. Raises `ProjectError`."""

    policy: Policy
    catalog: Catalog
    asked: Asked

    async def candidates(self, kind: str, typed: str) -> Listing[Any]:
        """Return the workflows or the agents, like `Catalog.candidates`."""
        items = await self.catalog.candidates(kind, typed)
        offered = await self.policy.offered(self.asked, items)
        return items.only(item for item in items if item.id in offered)
