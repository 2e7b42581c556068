"""Who may do what: the rules of the operator's file, and of the settings that are rules in short. No I/O.

Facts that must be read from Slack (is a person in a user group?) are looked up only when a rule turns on them: the
verdict then says which fact is missing, and `bridge.policy.policy` asks again with it. A fact that Slack doesn't give
refuses: it's not known which rule would decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import lru_cache, reduce
from typing import Final, Literal

from bridge.config import Config
from bridge.config_tables import ACTS, Act, RuleTable
from bridge.inbound import Starter
from bridge.names.folding import name_key
from bridge.project.models import Agent, Workflow

GUEST: Final = "guest"
"""The fact that the person is a guest."""

PUBLIC: Final = "public"
"""The fact that the place is a public channel."""

_KINDS_OF_PEOPLE: Final = frozenset({"members", "guests"})
_KINDS_OF_CHANNELS: Final = frozenset({"public", "private"})
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


def target_of(target: Workflow | Agent | Target | None) -> Target | None:
    """Return what rules judge of a workflow or an agent; its category is a field that the service may add."""
    if target is None or isinstance(target, Target):
        return target
    category = (target.model_extra or {}).get("category")
    category = category if isinstance(category, str) else ""
    if isinstance(target, Agent):
        return Target("agent", str(target.id), target.name, category=category)
    return Target("workflow", str(target.id), target.name, target.trigger_type or "", category)


@dataclass(frozen=True, slots=True)
class ApprovalTerms:
    """Who has to agree: *count* of the people, user groups and channels in *by*, *within* a time.

    Without *by*, those whom the rules let approve (`Rules.judge_approver`). The person who asks may approve only with
    *self_*, and has to say why with *reason*. These have to agree *also*, if that's for two people (`both`).
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
class Asked:
    """What *person* wants to do (*act*), in *channel*, with *target* of the project with this ID and name.

    *by* says what started it; *person* is then its owner, or ``""`` if the operator's file set it up. *app* is the
    app's ID (``A…``), *terms* are those of the approval that it's about, and *holders* those who have the project's
    key. Without a *channel*, it's in Home, and without a *project*, that isn't chosen yet. *facts* are what's known:
    whether the person is in a user group or a channel, by ID, `GUEST` and `PUBLIC`; None means that Slack doesn't say.
    """

    act: Act
    person: str
    channel: str = ""
    project: str = "default"
    project_name: str = ""
    target: Target | None = None
    by: Starter = "person"
    app: str = ""
    terms: ApprovalTerms | None = None
    holders: tuple[str, ...] = ()
    facts: Mapping[str, bool | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule; what's empty doesn't restrict it. *index* counts from 1.

    If it *is_of_some*, it's about some workflows or agents only, so that others are left.
    """

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
    is_of_some: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Note what `needs` would ask each time."""
        names = self.workflows or self.triggers or self.agents or self.categories
        object.__setattr__(self, "is_of_some", bool(names))

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

    def needs(self, asked: Asked) -> frozenset[str] | None:
        """Return the facts that have to be known to say whether the rule is about what's *asked*; none: it is.

        None if it isn't, whatever they are. The act isn't looked at (`Rules`).
        """
        if self.projects and asked.project and not is_listed(self.projects, asked.project, asked.project_name):
            return None
        if self.is_of_some and not self.is_about(asked.target):
            return None
        missing: frozenset[str] = frozenset()
        if self.channels and asked.channel not in self.channels:
            is_channel, is_public = asked.channel[:1] not in {"", "D"}, asked.facts.get(PUBLIC)
            kinds = self.channels & (_KINDS_OF_CHANNELS if is_channel else {"direct"})
            if not kinds or (len(kinds) == 1 and is_channel and is_public is ("public" not in kinds)):
                return None
            if len(kinds) == 1 and is_channel and is_public is None:
                missing = frozenset({PUBLIC})
        if not self.who or self.who & ({asked.person, asked.app, f"{asked.by}s"} - {""}):
            return missing
        if not asked.person:
            return None
        wanted = {id_: True for id_ in self.who if id_[0] in "SCG"}
        if kinds := self.who & _KINDS_OF_PEOPLE:
            wanted[GUEST] = kinds == {"guests"}
        if kinds == _KINDS_OF_PEOPLE or any(asked.facts.get(fact) is value for fact, value in wanted.items()):
            return missing
        unknown = frozenset(fact for fact in wanted if asked.facts.get(fact) is None)
        return (missing | unknown) if unknown else None

    def is_about(self, target: Target | None) -> bool:
        """Whether the rule may be about this workflow or agent, or about none."""
        if not self.is_of_some:
            return True
        of_workflows, of_agents = bool(self.workflows or self.triggers), bool(self.agents)
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


@dataclass(frozen=True, slots=True)
class RuleList:
    """Rules of one *origin*: a file, or a setting. *reason* is that of `bridge.errors.NotAllowed`."""

    origin: str
    rules: tuple[Rule, ...]
    reason: Literal["rule", "user", "channel", "runner", "key"] = "rule"


_SETTINGS: Final = {
    "channel": RuleList("BRIDGE_ALLOWED_CHANNELS", (), "channel"),
    "user": RuleList("BRIDGE_ALLOWED_USERS", (), "user"),
}


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


class Rules:
    """All *lists* of rules, each of which has to allow what's asked; *users* and *channels* are all, if there are none.

    They're compiled once, for each file that's loaded: of the rules, each act has those that may be about it.
    """

    def __init__(
        self, *lists: RuleList, users: frozenset[str] = frozenset(), channels: frozenset[str] = frozenset()
    ) -> None:
        self.lists, self.users, self.channels = lists, users, channels
        self.has_file = any(listed.reason == "rule" for listed in lists)
        self._by_act = {
            act: [(listed, tuple(rule for rule in listed.rules if not rule.may or act in rule.may)) for listed in lists]
            for act in ACTS
        }

    def not_listed(self, user: str, channel: str) -> Literal["user", "channel"] | None:
        """Return the reason if the settings' lists lack this *user* or *channel*; ``""`` is no one or no channel.

        Direct messages count as channels.
        """
        if channel and self.channels and channel not in self.channels:
            return "channel"
        return "user" if user and self.users and user not in self.users else None

    def judge(self, asked: Asked) -> Verdict:
        """Judge what's *asked*. In each list, the first rule that fits decides; what no rule fits is refused."""
        if reason := self.not_listed(asked.person, asked.channel):
            return Verdict(False, None, _SETTINGS[reason])
        verdict, runs = Verdict(True, None, None), asked.act == "run"
        is_any = asked.target is not None and asked.target.is_any
        for listed, rules in self._by_act[asked.act]:
            if listed.reason == "runner" and not asked.person:  # what the operator's file sets up is nobody's
                continue
            for rule in rules:
                missing = rule.needs(asked)
                if missing is None:
                    continue
                if missing:
                    return Verdict(False, rule, listed, missing=missing)
                # Of workflows, agents or projects of which none is chosen yet, one that refuses some leaves the others.
                if rule.refuse and ((is_any and rule.is_of_some) or (rule.projects and not asked.project)):
                    continue
                break
            else:
                return Verdict(False, None, listed)
            if rule.refuse:
                return Verdict(False, rule, listed)
            confirm, approval = runs and rule.confirm and asked.by == "person", rule.approval if runs else None
            if approval or confirm or not (verdict.approval or verdict.confirm):
                verdict = Verdict(True, rule, listed, confirm, approval)
        return verdict

    def judge_approver(self, asked: Asked) -> Verdict:
        """Judge whether ``asked.person`` may approve by ``asked.terms``.

        Someone whom these name needs no rule besides; but a rule that refuses decides.
        """
        verdict = self.judge(asked)
        by = asked.terms.by if asked.terms else ()
        if not by or verdict.missing or (verdict.rule is not None and verdict.rule.refuse):
            return verdict
        if verdict.of in _SETTINGS.values():
            return verdict
        named = RuleList(verdict.of.origin if verdict.of else "", (Rule(who=frozenset(by)),))
        return Rules(named).judge(replace(asked, by="person", app=""))


def both(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict if all *verdicts* about one thing must hold; all that ask for approval count."""
    refused = next((verdict for verdict in verdicts if not verdict.is_allowed), None)
    asking = [verdict for verdict in verdicts if verdict.approval]
    approvals = [verdict.approval for verdict in asking if verdict.approval]
    last = [*verdicts, *asking][-1]
    terms = reduce(_and, approvals) if approvals else None
    return refused or replace(last, approval=terms, confirm=any(verdict.confirm for verdict in verdicts))


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


def rules_of(
    config: Config,
    *,
    allowed_channels: frozenset[str] = frozenset(),
    allowed_users: frozenset[str] = frozenset(),
    runners: frozenset[str] = frozenset(),
) -> Rules:
    """Return the rules of the operator's file and of the settings, which are rules in short."""
    lists = []
    for_all = Rule(1, may=frozenset({"ask", "trace", "approve"}))
    if runners:
        lists.append(RuleList("BRIDGE_RUNNERS", (for_all, Rule(2, who=runners)), "runner"))
    if config.rules:
        listed = (Rule.of(table, at) for at, table in enumerate(config.rules, start=1))
        lists.append(RuleList(str(config.file or ""), tuple(listed)))
    elif not runners:
        lists.append(RuleList("", (for_all, Rule(2, who=frozenset({"members"}))), "runner"))
    return Rules(*lists, users=allowed_users, channels=allowed_channels)


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
        begin = key.find(part, at, end)
        if begin < 0:
            return False
        at = begin + len(part)
    return at <= end
