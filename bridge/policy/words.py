"""What rules do, and why they refuse, in words: of the operator's file, for people and for operators."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from bridge.config_tables import ACTS, STARTERS
from bridge.ends.refusals import ACCESS, ASK
from bridge.inbound import Starter
from bridge.policy.rules import GUEST, PUBLIC, ApprovalTerms, Asked, Rule, Verdict
from bridge.slack.blockkit import kit

_DOES: Final[Mapping[str, str]] = {
    "ask": "talk to agents",
    "run": "run workflows",
    "schedule": "schedule anything",
    "report": "schedule reports",
    "alert": "set up alerts",
    "settings": "change settings",
    "approve": "approve runs",
    "trace": "see what happened to messages",
}
_ON: Final[Mapping[str, str]] = {
    "ask": "talk to",
    "run": "run",
    "schedule": "schedule",
    "alert": "set up alerts on",
    "settings": "change",
    "approve": "approve",
}
_PLACES: Final = {"public": "public channels", "private": "private channels", "direct": "direct messages"}
_MOST_WORDS: Final = 3  # rules that a refusal names


def ids_of(*rules: Rule) -> frozenset[str]:
    """Return the IDs of user groups and channels that the words of *rules* name."""
    named = [id_ for rule in rules for id_ in (*rule.who, *rule.channels, *(rule.approval.by if rule.approval else ()))]
    return frozenset(id_ for id_ in named if id_[:1] in {"S", "C", "G"})


_SUBJECTS: Final[Mapping[Starter, str]] = {
    "person": "You", "app": "Apps' posts", "schedule": "Schedules", "alert": "Alerts",
}  # fmt: skip


def alternatives(verdict: Verdict, asked: Asked) -> list[Rule]:
    """Return the rules that allow what was refused, for others or elsewhere.

    Of a rule that refuses it for the rest, those are before it. One for some people is reason enough. What only apps,
    schedules and alerts may start helps no person.
    """
    listed = verdict.of.rules if verdict.of else ()
    if verdict.rule is not None:
        listed = () if verdict.rule.who else listed[: listed.index(verdict.rule)]
    fitting = [
        rule for rule in listed
        if not rule.refuse
        and (not rule.may or asked.act in rule.may)
        and replace(rule, who=frozenset(), channels=frozenset()).needs(asked) is not None
    ]  # fmt: skip
    if asked.by == "person":
        fitting = [rule for rule in fitting if not rule.who or any(n[0] != "A" and n not in STARTERS for n in rule.who)]
    return fitting[:_MOST_WORDS]


def in_words(rule: Rule, names: Mapping[str, str]) -> str:
    """Say what a rule of the operator's file does; *names* are those of user groups and channels, by ID."""
    who = kit.joined(_people(rule.who, names)) or ("nobody" if rule.refuse else "everyone")
    may = "may not" if rule.refuse and rule.who else "may"
    acts = [_DOES[act] for act in ACTS if act in rule.may] or ["do anything" if rule.refuse else "do everything"]
    about = [kit.quoted(name, 60) for name in (*rule.workflows, *rule.agents)]
    about += [f"trigger {kit.quoted(trigger, 40)}" for trigger in rule.triggers]
    about += [f"category {kit.quoted(category, 40)}" for category in rule.categories]
    with_ = f" ({', '.join(about)})" if about else ""
    of = f" of {kit.joined([kit.quoted(project, 40) for project in rule.projects])}" if rule.projects else ""
    where = f" in {kit.joined(_places(rule.channels, names))}" if rule.channels else ""
    how = f"; it {needs}" if (needs := needs_of(rule.approval, confirm=rule.confirm, names=names)) else ""
    return f"{who} {may} {kit.joined(acts, 'or' if rule.refuse else 'and')}{with_}{of}{where}{how}"


def refusal(verdict: Verdict, asked: Asked, names: Mapping[str, str]) -> str:
    """Say why the operator's file refuses what was asked, and whom to ask."""
    if verdict.missing:
        unsure = {GUEST: "whether you're a guest", PUBLIC: "whether this channel is public"}
        unknown = [
            unsure.get(fact) or f"who is in {names.get(fact, _unnamed(fact))}" for fact in sorted(verdict.missing)
        ]
        cure = ACCESS["unknown"].cure
        return f"Slack doesn't say {kit.joined(unknown[:_MOST_WORDS])}, so nothing was done. {cure}"
    target = asked.target
    what = _DOES[asked.act]
    if target is not None and not target.is_any and asked.act in _ON:
        what = f"{_ON[asked.act]} {kit.quoted(target.name or target.id, 60)}"
    others = alternatives(verdict, asked)
    if verdict.rule is not None and not others:
        who = kit.joined(_people(verdict.rule.who, names))
        subject = f"{who} can't" if who else "nobody can"
        if asked.by != "person":
            subject = "a rule refuses it"
        where = f" in {kit.joined(_places(verdict.rule.channels, names))}" if verdict.rule.channels else ""
        return f"{_SUBJECTS[asked.by]} can't {what} here: {subject}{where}. {ASK}"
    clauses: dict[str, list[str]] = {}  # by place
    for rule in others:
        clauses.setdefault(kit.joined(_places(rule.channels, names)), []).extend(_people(rule.who, names))
    words = [
        f"{kit.joined(list(dict.fromkeys(who)))} can{f', in {places}' if places else ''}"
        if who else f"that's possible in {places}"
        for places, who in clauses.items()
    ]  # fmt: skip
    only = "only " if others and others[0].who else ""
    why = f"{only}{', or '.join(words)}" if words else "no rule allows it"
    groups = [names[id_] for rule in others for id_ in sorted(rule.who) if id_ in names]
    whom = f"{groups[0]} or your admin" if groups and groups[0].startswith("@") else "your admin"
    return f"{_SUBJECTS[asked.by]} can't {what} here: {why}. Ask {whom} for access."


def needs_of(terms: ApprovalTerms | None, *, names: Mapping[str, str], confirm: bool = False) -> str:
    """Say what has to happen before a workflow runs; ``""`` if nothing has to."""
    if terms is None:
        return "asks you to confirm" if confirm else ""
    by = kit.joined(_people(terms.by, names), "or")
    count = f" of {terms.count} people" if terms.count > 1 else ""
    return f"needs approval{count}{f' by {by}' if by and not count else f' ({by})' if by else ''}"


def _people(who: Iterable[str], names: Mapping[str, str]) -> list[str]:
    """Return words for those in *who*, without the names of people."""
    words = []
    for id_ in sorted(who, key=lambda id_: (id_[0] not in "SCG", id_)):
        if id_[0] in "UW":
            words.append("certain people")
        elif id_[0] == "A":
            words.append("certain apps")
        elif id_[0] in "CG":
            words.append(f"members of {names.get(id_, _unnamed(id_))}")
        else:
            words.append(names.get(id_, _unnamed(id_)) if id_[0] == "S" else id_)
    return list(dict.fromkeys(words))


def _places(channels: Iterable[str], names: Mapping[str, str]) -> list[str]:
    known = [_PLACES.get(id_) or names.get(id_) or _unnamed(id_) for id_ in sorted(channels)]
    return list(dict.fromkeys(known))


def _unnamed(id_: str) -> str:
    return "a user group" if id_[0] == "S" else "certain direct messages" if id_[0] == "D" else "certain channels"
