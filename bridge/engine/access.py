"""Whether people may do what they want, when any input arrives, and again when it's acted on later.

The rules decide (`bridge.policy.rules`); this reads the facts that they need from Slack, only as far as they turn on
them. A person about whom Slack says too little is refused, with the reason ``unknown``. Only if the app lacks
``users:read``, no one counts as a guest, unless ``BRIDGE_RUNNERS`` or the operator's file says who may run workflows.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from bridge.config_tables import Act
from bridge.engine.projects import ASK, ServedProjects
from bridge.engine.results import try_later
from bridge.engine.turn import Turn
from bridge.errors import NotAllowed, SlackError, SlackRefused
from bridge.ids import base_of
from bridge.inbound import Inbound, Starter
from bridge.names.listing import Listing
from bridge.policy.rules import (
    ANY_AGENT,
    GUEST,
    PUBLIC,
    Asked,
    Rule,
    RuleList,
    Rules,
    Target,
    Verdict,
    both,
    decide,
    has_file,
)
from bridge.policy.words import alternatives, ids_of, needs_of, refusal
from bridge.project import Catalog
from bridge.project.connection import DEFAULT
from bridge.project.models import Agent, Workflow
from bridge.slack.people import Directory

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
class Access:
    """Applies the *rules*, which change when the operator's file is read again.

    *home* are the IDs of the workspace and its organization, if any. *project_name* returns the name of a project with
    a key.
    """

    home: frozenset[str]
    directory: Directory
    rules: Rules
    project_name: Callable[[str], str] = str
    holders: Callable[[str], tuple[str, ...]] = lambda _: ()

    async def refusal(self, inbound: Inbound, *, asks: bool = False) -> str | None:
        """Return why this person may not talk to the bridge here, or None if they may.

        It's one of the reasons of `bridge.errors.NotAllowed`. *asks*: it's for an agent, and not for a command. Raises
        `SlackError` if Slack doesn't answer right now, so that Slack retries the event.
        """
        team, in_organization = inbound.user_team, any(place.startswith("E") for place in self.home)
        if team.startswith("T") and team in self.home:
            is_home = True
        elif team and not in_organization:
            is_home = False
        elif not team and not inbound.is_shared and not in_organization:
            is_home = True  # only members can write there
        else:
            # In an organization, people may be members of more workspaces than the event names, and those of others
            # may write in channels that aren't shared with another company.
            try:
                is_home = await self.directory.is_home(inbound.user)
            except SlackRefused as exc:  # a retry would get the same answer
                log.warning("Slack didn't say which workspace a person is from", extra={"detail": exc.detail})
                return "unknown"
        if not is_home:
            return "stranger"
        if reason := self.not_listed(inbound.user, inbound.place):
            return reason
        if not (asks and has_file(self.rules)):
            return None
        asked = self._asked("ask", inbound.user, inbound.channel, inbound.project, ANY_AGENT)
        verdict = await self.decide(asked)
        return None if verdict.is_allowed else await self._reason(verdict, asked)

    def not_listed(self, user: str, channel: str) -> str | None:
        """Return the reason if the settings' lists lack this *user* or *channel*; ``""`` is no one or no channel.

        Direct messages count as channels.
        """
        given = {"user": user, "channel": channel}
        short = [one for one in self.rules if given.get(one.reason)]
        if not short:
            return None
        verdict = decide(short, Asked("ask", user, channel))
        return None if verdict.is_allowed or verdict.of is None else verdict.of.reason

    async def refusal_now(self, user: str, channel: str, *wanted: Asked) -> str | None:
        """Return why what *user* sent earlier may no longer happen in *channel*, or None if it may.

        Whatever isn't done at once is decided here when it's done: reports, apps' rules, and messages that waited.
        What's set up goes on until someone changes it, so its owner must still have the rights *wanted* for it. Without
        a *user* (earlier versions stored none), only the channel counts. The result is a reason of
        `bridge.errors.NotAllowed`, without the words of a rule. Raises `TryLater` if Slack doesn't answer right now.
        """
        with try_later():
            return await self._refusal_now(user, channel, *wanted)

    async def _refusal_now(self, user: str, channel: str, *wanted: Asked) -> str | None:
        """Return the same. Raises `SlackError`."""
        if refused := self.not_listed("", channel) or self.not_listed(user, ""):
            return refused
        if not user:
            return None
        at_most = _AT_ONCE if wanted else _LATELY
        try:
            try:
                person = await self.directory.person(user, at_most=at_most)
            except SlackRefused as exc:
                if exc.error != "missing_scope":
                    raise
            else:
                if person.kind == "deactivated" or person.is_home is False:
                    return "deactivated" if person.kind == "deactivated" else "stranger"
        except SlackRefused as exc:  # a retry would get the same answer
            log.warning("Slack doesn't say whether a person still has access", extra={"detail": exc.detail})
            return "unknown"
        for asked in wanted:
            verdict = await self.decide(asked, at_most=at_most)
            if not verdict.is_allowed:
                if verdict.of is _KEY:
                    return "key"
                is_rule = verdict.of is None or verdict.of.reason == "rule"
                return "rule" if is_rule else "unknown" if verdict.missing else "runner"
        is_theirs = not wanted or not channel or channel.startswith("D")
        return None if is_theirs or await self.directory.sees(user, channel) else "left"

    def asked(self, turn: Turn, act: Act, target: Workflow | Agent | Target | None = None, **more: str) -> Asked:
        """Return what *turn*'s person wants to do there, with *target*; *more* replaces fields."""
        asked = self._asked(act, turn.user, turn.channel, turn.project_key, target_of(target))
        return replace(asked, **more)  # type: ignore[arg-type]

    def asked_by(
        self,
        act: Act,
        user: str,
        channel: str,
        project: str,
        target: Workflow | Agent | Target | None = None,
        *,
        by: Starter = "person",
        app: str = "",
    ) -> Asked:
        """Return what *user* wants to do in *channel* with *target* of the *project* with this key."""
        return replace(self._asked(act, user, channel, project, target_of(target)), by=by, app=app)

    def _asked(self, act: Act, user: str, channel: str, project: str, target: Target | None) -> Asked:
        if project == ASK:
            return Asked(act, user, channel, "", target=target)
        asked = Asked(act, user, channel, project or DEFAULT, self.project_name(project), target)
        if "+" in project:  # with a key of some people
            return replace(asked, project=base_of(project) or DEFAULT, holders=self.holders(project))
        return asked

    async def holds(self, holders: Sequence[str], user: str, *, if_unknown: bool = False) -> bool:
        """Whether *user* is one of those people, or in one of those user groups, now. Raises `SlackError`.

        If Slack refuses to say who is in a group, the answer is *if_unknown*.
        """
        for holder in holders:
            try:
                if holder == user or (
                    holder.startswith("S") and await self.directory.in_group(user, holder, at_most=_AT_ONCE)
                ):
                    return True
            except SlackRefused as exc:  # a retry would get the same answer
                log.warning("Slack doesn't say who has a key", extra={"group": holder, "detail": exc.detail})
                return if_unknown
        return False

    async def key_for(self, projects: ServedProjects, project: str, user: str) -> str:
        """Return what records say about a *project* as *user* uses it: with a key of theirs, if they have one.

        If that's unknown, it's a key that they're refused. Raises `SlackError`.
        """
        for keyed in projects.keyed(project):
            if await self.holds(keyed.who, user, if_unknown=True):
                return keyed.key
        return project

    async def decide(
        self, asked: Asked, *, at_most: float | None = None, how: Callable[[Rules, Asked], Verdict] = decide
    ) -> Verdict:
        """Decide *how* what's *asked*, with facts from Slack that are *at_most* so many seconds old.

        Raises `SlackError`.
        """
        if asked.holders and asked.person and not await self.holds(asked.holders, asked.person):
            return Verdict(False, None, _KEY)
        troubles: list[SlackError] = []
        # The settings restrict people; what the operator's file sets up is nobody's.
        rules = self.rules if asked.person else [one for one in self.rules if one.reason in {"rule", "channel"}]
        while True:
            verdict = how(rules, asked)
            wanted = [one for one in verdict.missing if one not in asked.facts]
            if not wanted:
                break
            found = await asyncio.gather(*(self._fact(one, asked, at_most, troubles) for one in wanted))
            asked = replace(asked, facts={**asked.facts, **dict(zip(wanted, found, strict=True))})
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
            if wanted == GUEST and getattr(exc, "error", "") == "missing_scope" and not has_file(self.rules):
                return False
            troubles.append(exc)
            return None

    async def require(
        self, turn: Turn, act: Act, target: Workflow | Agent | Target | None = None, **more: str
    ) -> Verdict:
        """Return the verdict that *turn*'s person may do this; *more* is as for `asked`. Raises `NotAllowed`."""
        return await self.check(self.asked(turn, act, target, **more))

    async def check(self, asked: Asked) -> Verdict:
        """Return the verdict that what's *asked* is allowed. Raises `NotAllowed`."""
        try:
            verdict = await self.decide(asked)
        except SlackError as exc:
            log.warning("Slack doesn't say whether a person may do this", extra={"detail": exc.detail})
            raise NotAllowed("unanswered") from exc
        if not verdict.is_allowed:
            raise NotAllowed(await self._reason(verdict, asked))
        return verdict

    async def require_start(self, turn: Turn, act: Act, target: Workflow | Agent | Target) -> Verdict:
        """Return the verdict that *turn* may start this, for all of `starters_of`. Raises `NotAllowed`."""
        asked = [
            self.asked(turn, act, target, person=person, by=by, app=app)
            for person, by, app in starters_of(turn.body, turn.causer)
        ]
        return both([await self.check(one) for one in asked])

    async def may(self, turn: Turn, act: Act, target: Workflow | Agent | Target | None = None) -> bool:
        """Whether to offer *turn*'s person something; False if it's unknown whether they may do it."""
        try:
            return (await self.decide(self.asked(turn, act, target))).is_allowed
        except SlackError:
            return False

    async def offered(self, turn: Turn, act: Act, items: Sequence[Workflow | Agent]) -> Mapping[int, str]:
        """Return what has to happen before *turn*'s person does this with each item that they may, by ID.

        It's ``""`` if nothing has to. Without rules in the operator's file, lists show everything.
        """
        return await self.offered_to(self.asked(turn, act), items)

    async def offered_to(self, asked: Asked, items: Sequence[Workflow | Agent]) -> Mapping[int, str]:
        """Return the same for what's *asked* about each item."""
        if not has_file(self.rules):
            return {item.id: "" for item in items}
        facts: dict[str, bool | None] = {}
        found: dict[int, Verdict] = {}
        for item in items:
            asked = replace(asked, target=target_of(item), facts=facts)
            while (verdict := decide(self.rules, asked)).missing - facts.keys():
                for one in verdict.missing - facts.keys():
                    facts[one] = await self._fact(one, asked, None, [])
            if verdict.is_allowed:
                found[item.id] = verdict
        rules = [verdict.rule for verdict in found.values() if verdict.rule]
        names = await self._names(rules)
        return {id_: needs_of(verdict.approval, confirm=verdict.confirm, names=names) for id_, verdict in found.items()}

    def among(self, catalog: Catalog, user: str, channel: str, project: str, act: Act) -> Offered:
        """Return the part of a project's *catalog* with which *user* may do this in *channel*."""
        return Offered(self, catalog, self._asked(act, user, channel, project, None))

    async def _reason(self, verdict: Verdict, asked: Asked) -> str:
        """Return the reason of a refusal (`bridge.errors.NotAllowed`)."""
        if verdict.of is None or verdict.of.reason == "rule":
            rules = [*([verdict.rule] if verdict.rule else ()), *alternatives(verdict, asked)]
            return f"rule:{refusal(verdict, asked, await self._names(rules, verdict.missing))}"
        if verdict.missing:
            return "unknown"
        if verdict.of.reason != "runner":
            return verdict.of.reason
        return "handle" if asked.target is not None and asked.act == "settings" else _REASONS.get(asked.act, "runner")

    async def _names(self, rules: Sequence[Rule], more: frozenset[str] = frozenset()) -> dict[str, str]:
        """Return the names of user groups and public channels that *rules* name."""
        return await self.names({*more, *(id_ for rule in rules for id_ in ids_of(rule))} - {GUEST, PUBLIC})

    async def names(self, ids: Iterable[str]) -> dict[str, str]:
        """Return the names of user groups and public channels by their *ids*; private channels stay unnamed."""
        names = {}
        for one in sorted(ids):
            if one.startswith("S"):
                if (name := await self.directory.group_name(one)) != one:
                    names[one] = f"@{name}"
                continue
            try:
                if await self.directory.is_public(one):
                    names[one] = f"#{await self.directory.channel_name(one)}"
            except SlackError as exc:
                log.info("can't name a rule's channel", extra={"detail": exc.detail})
        return names


@dataclass(frozen=True, slots=True)
class Offered:
    """The workflows and agents of a *catalog* about which what's *asked* is allowed. Raises `ProjectError`."""

    access: Access
    catalog: Catalog
    asked: Asked

    async def candidates(self, kind: str, typed: str) -> Listing[Any]:
        """Return the workflows or the agents, like `Catalog.candidates`."""
        found = await self.catalog.candidates(kind, typed)
        offered = await self.access.offered_to(self.asked, found)
        return found.only(one for one in found if one.id in offered)


def starters_of(body: Inbound | None, causer: str) -> list[tuple[str, Starter, str]]:
    """Return those for whom something that *body* starts is judged, each with what starts it, and the app's ID.

    That's the owner of what starts it by itself, or the author of a message, and last the person who causes it now.
    """
    starters = [*body.starters] if body else []
    return starters if any(person == causer for person, _, _ in starters) else [*starters, (causer, "person", "")]


def target_of(target: Workflow | Agent | Target | None) -> Target | None:
    """Return a workflow or an agent as the rules see it."""
    match target:
        case Workflow():
            return Target("workflow", str(target.id), target.name, target.trigger_type or "", _category(target))
        case Agent():
            return Target("agent", str(target.id), target.name, category=_category(target))
    return target


def _category(item: Workflow | Agent) -> str:
    category = (item.model_extra or {}).get("category")
    return category if isinstance(category, str) else ""
