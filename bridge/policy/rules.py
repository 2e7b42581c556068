"""Who may do what: the rules of the operator's file, and of the settings that are rules in short. No I/O.

`decide` walks lists of rules. Each list has to allow what's asked, and in each the first rule that fits decides; what
no rule fits is refused. Facts that must be read from Slack (is a person in a user group?) are looked up only when a
rule turns on them: the verdict then says which fact is missing, and `bridge.engine.access` asks again with it. A fact
that Slack doesn't give refuses: it's not known which rule would decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import lru_cache, reduce
from typing import Final, Literal

from bridge.config import Config
from bridge.config_tables import Act, RuleTable
from bridge.inbound import Starter
from bridge.names.folding import name_key

GUEST: Final = "guest"
"""The fact that the person is a guest."""

PUBLIC: Final = "public"
"""The fact that the place is a public channel."""

_ANYTHING: Final = "\u2042"  # for an asterisk, which folding takes for a mark of formatting


@dataclass(frozen=True, slots=True)
class Target:
    """A workflow or an agent. *is_any*: one that isn't chosen yet."""

    kind: Literal["workflow", "agent"]
    id: str = ""
    name: str = ""
    trigger: str = ""
    category: str = ""
    is_any: bool = False


ANY_WORKFLOW: Final = Target("workflow", is_any=True)
ANY_AGENT: Final = Target("agent", is_any=True)


@dataclass(frozen=True, slots=True)
class Asked:
    """What *person* wants to do (*act*), in *channel*, with *target* of the project with this ID and name.

    *by* says what started it; *person* is then its owner, or ``""`` if the operator's file set it up. *app* is the
    app's ID (``A…``). Without a *channel*, it's in Home, and without a *project*, that isn't chosen yet. *facts* are
    what's known: whether the person is in a user group or a channel, by ID, `GUEST` and `PUBLIC`; None means that Slack
    doesn't say.
    """

    act: Act
    person: str
    channel: str = ""
    project: str = "default"
    project_name: str = ""
    target: Target | None = None
    by: Starter = "person"
    app: str = ""
    holders: tuple[str, ...] = ()
    facts: Mapping[str, bool | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ApprovalTerms:
    """Who has to agree: *count* of the people, user groups and channels in *by*, *within* a time.

    Without *by*, those whom the rules let approve (`may_approve`). The person who asks may approve only with *self_*,
    and has to say why with *reason*. These have to agree *also*, if that's for two people (`both`).
    """

    by: tuple[str, ...] = ()
    count: int = 1
    self_: bool = False
    within: timedelta = timedelta(hours=4)
    reason: bool = False
    also: ApprovalTerms | None = None

    @property
    def each(self) -> tuple[ApprovalTerms, ...]:
        """These terms, and those that hold besides."""
        return (self, self.also) if self.also else (self,)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; what's empty doesn't restrict it. *index* counts from 1."""

    index: int = 0
    who: frozenset[str] = frozenset()
    may: frozenset[str] = frozenset()
    projects: tuple[str, ...] = ()
    workflows: tuple[str, ...] = ()
    triggers: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    channels: frozenset[str] = frozenset()
    refuse: bool = False
    confirm: bool = False
    approval: ApprovalTerms | None = None

    @classmethod
    def of(cls, table: RuleTable, index: int) -> Rule:
        """Return the rule that a table of the operator's file describes."""
        terms = table.approve
        return cls(
            index,
            frozenset(table.who or ()),
            frozenset(table.may or ()),
            table.projects or (),
            table.workflows or (),
            table.triggers or (),
            table.agents or (),
            table.categories or (),
            frozenset(table.channels or ()),
            table.refuse,
            table.confirm,
            ApprovalTerms(terms.by or (), terms.count, terms.self_, terms.within, terms.reason) if terms else None,
        )

    def fits(self, asked: Asked) -> tuple[bool | None, frozenset[str]]:
        """Whether the rule decides what's *asked*; None if that depends on facts that aren't known, which it names."""
        if self.may and asked.act not in self.may:
            return False, frozenset()
        if self.projects and asked.project and not is_listed(self.projects, asked.project, asked.project_name):
            return False, frozenset()
        if not self.is_about(asked.target):
            return False, frozenset()
        missing: frozenset[str] = frozenset()
        for one, unknown in (self._is_there(asked), self._is_for(asked)):
            if one is False:
                return False, frozenset()
            missing |= unknown
        return (None, missing) if missing else (True, missing)

    def is_about(self, target: Target | None) -> bool:
        """Whether the rule may be about this workflow or agent, or about none."""
        of_workflows, of_agents = bool(self.workflows or self.triggers), bool(self.agents)
        if not (of_workflows or of_agents or self.categories):
            return True
        if target is None:
            return False
        is_workflow = target.kind == "workflow"
        if (of_workflows or of_agents) and not (of_workflows if is_workflow else of_agents):
            return False
        if target.is_any:
            return True
        names = self.workflows if is_workflow else self.agents
        if names and not is_listed(names, target.id, target.name):
            return False
        if is_workflow and self.triggers and not is_listed(self.triggers, target.trigger):
            return False
        return not self.categories or is_listed(self.categories, target.category)

    def _is_there(self, asked: Asked) -> tuple[bool | None, frozenset[str]]:
        if not self.channels or asked.channel in self.channels:
            return True, frozenset()
        if not asked.channel or asked.channel.startswith("D"):
            return "direct" in self.channels, frozenset()
        kinds = self.channels & {"public", "private"}
        if len(kinds) != 1:
            return bool(kinds), frozenset()
        fact = asked.facts.get(PUBLIC)
        return (None, frozenset({PUBLIC})) if fact is None else (fact is (kinds == {"public"}), frozenset())

    def _is_for(self, asked: Asked) -> tuple[bool | None, frozenset[str]]:
        if not self.who or (self.who & {asked.person, asked.app, f"{asked.by}s"} - {""}):
            return True, frozenset()
        if not asked.person:
            return False, frozenset()
        wanted = {one: True for one in self.who if one[0] in "SCG"}
        if kinds := self.who & {"members", "guests"}:
            if len(kinds) > 1:
                return True, frozenset()
            wanted[GUEST] = kinds == {"guests"}
        missing = frozenset(one for one in wanted if asked.facts.get(one) is None)
        if any(asked.facts.get(one) is value for one, value in wanted.items()):
            return True, frozenset()
        return (None, missing) if missing else (False, missing)


@dataclass(frozen=True, slots=True)
class RuleList:
    """Rules of one *origin*: a file, or a setting. *reason* is that of `bridge.errors.NotAllowed`."""

    origin: str
    rules: tuple[Rule, ...]
    reason: Literal["rule", "user", "channel", "runner", "key"] = "rule"


Rules = Sequence[RuleList]
"""All lists of rules, each of which has to allow what's asked."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether something *is_allowed*, and the *rule* of a *list* that decided; None: no rule fits.

    Before a workflow runs, the person has to *confirm* it, and others to agree to the *approval*. *missing* facts
    leave it open; it's then refused.
    """

    is_allowed: bool
    rule: Rule | None
    of: RuleList | None
    confirm: bool = False
    approval: ApprovalTerms | None = None
    missing: frozenset[str] = frozenset()


def decide(rules: Rules, asked: Asked) -> Verdict:
    """Decide what's *asked* by the *rules*; without any list, it's allowed."""
    verdict = Verdict(True, None, None)
    for listed in rules:
        found = _first(listed, asked)
        if not found.is_allowed:
            return found
        if found.approval or found.confirm or not (verdict.approval or verdict.confirm):
            verdict = found
    return verdict


def _first(listed: RuleList, asked: Asked) -> Verdict:
    is_any = asked.target is not None and asked.target.is_any
    for rule in listed.rules:
        fits, missing = rule.fits(asked)
        if fits is None:
            return Verdict(False, rule, listed, missing=missing)
        # Of workflows, agents or projects of which none is chosen yet, one that refuses some leaves the others.
        leaves_some = (is_any and names_some(rule)) or (not asked.project and rule.projects)
        if not fits or (rule.refuse and leaves_some):
            continue
        if rule.refuse:
            return Verdict(False, rule, listed)
        runs = asked.act == "run"
        return Verdict(
            True,
            rule,
            listed,
            confirm=runs and rule.confirm and asked.by == "person",
            approval=rule.approval if runs else None,
        )
    return Verdict(False, None, listed)


def both(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict if all *verdicts* about one thing must hold; all that ask for approval count."""
    refused = next((one for one in verdicts if not one.is_allowed), None)
    asking = [one for one in verdicts if one.approval]
    terms = reduce(_and, [one.approval for one in asking if one.approval]) if asking else None
    last = [*verdicts, *asking][-1]
    return refused or replace(last, approval=terms, confirm=any(one.confirm for one in verdicts))


def _and(earlier: ApprovalTerms, later: ApprovalTerms) -> ApprovalTerms:
    """Return the terms that are met if both are."""
    is_same = set(earlier.by) == set(later.by)
    return replace(
        later,
        count=max(earlier.count, later.count) if is_same else later.count,
        self_=(earlier.self_ and later.self_) if is_same else later.self_,
        within=min(earlier.within, later.within),
        reason=earlier.reason or later.reason,
        also=None if is_same else earlier,
    )


def names_some(rule: Rule) -> bool:
    """Whether a rule is about some workflows or agents only, so that others are left."""
    return bool(rule.workflows or rule.triggers or rule.agents or rule.categories)


def may_approve(rules: Rules, terms: ApprovalTerms, asked: Asked) -> Verdict:
    """Decide whether ``asked.person`` may approve by *terms*, with *asked* for the act ``approve``.

    Someone in *terms.by* needs no rule besides; but a rule that refuses decides.
    """
    verdict = decide(rules, asked)
    if not terms.by or verdict.missing or (verdict.rule is not None and verdict.rule.refuse):
        return verdict
    if not verdict.is_allowed and verdict.of is not None and verdict.of.reason in {"user", "channel"}:
        return verdict
    listed = RuleList(verdict.of.origin if verdict.of else "", (Rule(who=frozenset(terms.by)),))
    return decide([listed], replace(asked, by="person", app=""))


def rules_of(
    config: Config,
    *,
    allowed_channels: frozenset[str] = frozenset(),
    allowed_users: frozenset[str] = frozenset(),
    runners: frozenset[str] = frozenset(),
) -> Rules:
    """Return the rules of the operator's file and of the settings, which are rules in short."""
    lists = []
    if allowed_channels:
        places = allowed_channels | {""}  # Home isn't in a channel
        lists.append(RuleList("BRIDGE_ALLOWED_CHANNELS", (Rule(1, channels=places),), "channel"))
    if allowed_users:
        lists.append(RuleList("BRIDGE_ALLOWED_USERS", (Rule(1, who=allowed_users),), "user"))
    for_all = Rule(1, may=frozenset({"ask", "trace", "approve"}))
    if runners:
        lists.append(RuleList("BRIDGE_RUNNERS", (for_all, Rule(2, who=runners)), "runner"))
    if config.rules:
        listed = (Rule.of(one, at) for at, one in enumerate(config.rules, start=1))
        lists.append(RuleList(str(config.file or ""), tuple(listed)))
    elif not runners:
        lists.append(RuleList("", (for_all, Rule(2, who=frozenset({"members"}))), "runner"))
    return lists


def has_file(rules: Rules) -> bool:
    """Whether the operator's file has rules."""
    return any(one.reason == "rule" for one in rules)


def is_listed(entries: Iterable[str], *names: str) -> bool:
    """Whether one of *names* is one of the *entries*: an ID, a name in any spelling, or a pattern with ``*``."""
    keys = [name_key(name) for name in names if name]
    return any(_is_like(key, *_parts(entry)) for entry in entries for key in keys)


@lru_cache(maxsize=4096)
def _parts(entry: str) -> tuple[str, ...]:
    """Return the folded parts of a pattern, between its asterisks."""
    return tuple(name_key(entry.replace("*", _ANYTHING)).split(_ANYTHING))


def _is_like(key: str, first: str, *others: str) -> bool:
    """Whether *key* has these parts, in this order, with anything between them; in linear time."""
    if not others:
        return key == first
    *middle, last = others
    if not key.startswith(first) or not key.endswith(last):
        return False
    at, end = len(first), len(key) - len(last)
    for part in middle:
        found = key.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return at <= end
