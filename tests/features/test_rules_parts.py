"""Rules: which one decides, checked against a reference of thirty lines."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from bridge.cli.check.rules import never_fits
from bridge.config import Config, default_project, read_config
from bridge.config_tables import ACTS, KINDS_OF_PEOPLE, KINDS_OF_PLACES, STARTERS, Act
from bridge.policy.rules import (
    GUEST,
    PUBLIC,
    ApprovalTerms,
    Asked,
    Rule,
    RuleList,
    Rules,
    Target,
    rules_of,
)
from support.tables import each

PEOPLE = ["U0AMY", "U0BOB", ""]
GROUPS = ["S0FINANCE", "S0LEADS"]
MEMBERS_OF = ["C0TEAM"]
PLACES = ["C0TEAM", "C0OTHER", "D0AMY", ""]
WORKFLOWS = [("1", "Refund all", "webhook"), ("2", "Refunding", "manual"), ("3", "Digest", "")]
AGENTS = [("1", "Support", ""), ("7", "Refund helper", "")]
ABOUT: dict[str | None, list[Act]] = {
    "workflow": ["run", "schedule", "alert", "approve"],
    "agent": ["ask", "schedule", "settings"],
    None: [one for one in ACTS if one != "run"],
}
PATTERNS = ["Refund *", "refund all", "3", "*", "support", "7", "*help*"]


def some(random: Random, values: Sequence[str]) -> list[str]:
    return random.sample(values, random.choice([0, 0, 1, 2]))


def a_rule(random: Random, index: int) -> Rule:
    return Rule(
        index,
        who=frozenset(some(random, [*PEOPLE[:2], *GROUPS, *MEMBERS_OF, "A0APP", *KINDS_OF_PEOPLE, *STARTERS])),
        may=frozenset(some(random, ACTS)),
        projects=random.choice([(), (), ("data",), ("Company",)]),
        workflows=tuple(some(random, PATTERNS)),
        triggers=random.choice([(), (), ("webhook",)]),
        agents=tuple(some(random, PATTERNS)),
        categories=random.choice([(), (), (), ("billing",)]),
        channels=frozenset(some(random, [*PLACES[:3], *KINDS_OF_PLACES])),
        refuse=random.choice([True, False]),
        confirm=random.choice([True, False]),
        approval=random.choice([None, None, ApprovalTerms(("S0LEADS",), 2)]),
    )


def a_request(random: Random) -> Asked:
    act = random.choice(ACTS)
    kind: Any = random.choice([kind for kind, acts in ABOUT.items() if act in acts])
    id_, name, trigger = random.choice(WORKFLOWS if kind == "workflow" else AGENTS)
    by: Any = random.choice(["person", "app", "schedule", "alert"])
    project, project_name = random.choice([("default", "Company"), ("data", "Data")])
    return Asked(
        act,
        random.choice(PEOPLE),
        random.choice(PLACES),
        project,
        project_name,
        target=Target(kind, id_, name, trigger, random.choice(["", "Billing"])) if kind else None,
        by=by,
        app="A0APP" if by == "app" else "",
        facts={one: random.choice([True, False, None]) for one in [*GROUPS, *MEMBERS_OF, GUEST, PUBLIC]},
    )


def expected(listed: list[Rule], asked: Asked) -> tuple[str, Rule | None]:
    """The reference: every condition written out, three-valued, without any shortcut."""
    is_direct = asked.channel[:1] in {"", "D"}
    for rule in listed:
        who: list[bool | None] = []
        for one in rule.who:
            person = asked.person != ""
            who.append(
                {"members": person and (None if asked.facts[GUEST] is None else not asked.facts[GUEST]),
                 "guests": person and asked.facts[GUEST], "apps": asked.by == "app",
                 "schedules": asked.by == "schedule", "alerts": asked.by == "alert", "A0APP": asked.app == one}.get(
                    one, asked.person == one if one[0] == "U" else person and asked.facts.get(one))
            )  # fmt: skip
        if {"members", "guests"} <= rule.who and asked.person:
            who.append(True)
        places = [
            {"direct": is_direct, "public": not is_direct and asked.facts[PUBLIC],
             "private": not is_direct and (None if asked.facts[PUBLIC] is None else not asked.facts[PUBLIC])}.get(
                one, one == asked.channel) for one in rule.channels
        ]  # fmt: skip
        if {"public", "private"} <= rule.channels:
            places.append(not is_direct)
        target, names = asked.target, {"workflow": rule.workflows, "agent": rule.agents}
        about = not (rule.workflows or rule.triggers or rule.agents or rule.categories)
        if not about and target is not None:
            own = bool(names[target.kind] or (rule.triggers and target.kind == "workflow"))
            other = bool(rule.workflows or rule.triggers or rule.agents)
            about = (own or not other) and like(names[target.kind], target.id, target.name)
            about = about and (target.kind == "agent" or like(rule.triggers, target.trigger))
            about = about and like(rule.categories, target.category)
        certain = [not rule.may or asked.act in rule.may, like(rule.projects, asked.project, asked.project_name), about]
        if not all(certain) or (who and not any(who) and None not in who):
            continue
        if places and not any(places) and None not in places:
            continue
        if (who and not any(who)) or (places and not any(places)):
            return "unknown", rule
        return ("refused" if rule.refuse else "allowed"), rule
    return "refused", None


def like(patterns: tuple[str, ...], *names: str) -> bool:
    found = {"Refund *": lambda n: n.startswith("refund "), "*": bool, "*help*": lambda n: "help" in n}
    return not patterns or any(
        found.get(one, lambda n, one=one: bool(n == one.lower()))(name.lower())
        for one in patterns
        for name in names
        if name
    )


def test_rules_decide_like_the_reference() -> None:
    random = Random(37)  # noqa: S311 - requests to try
    ends = Counter[str]()
    for _ in range(10_000):
        listed, asked = [a_rule(random, at) for at in range(random.choice([0, 1, 2, 3, 4]))], a_request(random)

        verdict = Rules(RuleList("bridge.toml", tuple(listed))).judge(asked)

        how = "unknown" if verdict.missing else "allowed" if verdict.is_allowed else "refused"
        assert (how, verdict.rule) == expected(listed, asked), (listed, asked)
        if how == "allowed" and verdict.rule is not None:
            is_run = asked.act == "run"
            assert verdict.approval == (verdict.rule.approval if is_run else None)
            assert verdict.confirm == (is_run and verdict.rule.confirm and asked.by == "person")
        ends[how] += 1
    assert min(ends[how] for how in ("allowed", "refused", "unknown")) > 100, ends


def test_a_rule_that_is_covered_never_decides() -> None:
    random, covered = Random(38), 0  # noqa: S311 - requests to try
    for _ in range(1_000):
        listed = [a_rule(random, at) for at in range(3)]
        never = [rule.index for rule, _over in never_fits(listed)]
        covered += len(never)
        for _ in range(3):
            asked = a_request(random)
            known = replace(asked, facts={name: bool(fact) for name, fact in asked.facts.items()})

            verdict = Rules(RuleList("bridge.toml", tuple(listed))).judge(known)

            assert verdict.rule is None or verdict.rule.index not in never, (listed, asked)
    assert covered > 100


def test_a_file_says_what_its_rules_do(tmp_path: Path) -> None:
    random = Random(39)  # noqa: S311 - files to try
    for _ in range(100):
        listed = [a_rule(random, at + 1) for at in range(3)]
        listed = [
            replace(one, confirm=False, approval=None)
            if one.refuse or not (one.may == frozenset() or "run" in one.may)
            else one
            for one in listed
        ]
        (tmp_path / "bridge.toml").write_text("\n".join(map(as_toml, listed)), encoding="utf-8")

        (read,) = rules_of(read_config(tmp_path / "bridge.toml", {}, default_project({}))).lists

        assert list(read.rules) == [replace(one, who=one.who - {""}) for one in listed]


def as_toml(rule: Rule) -> str:
    names = ("who", "may", "projects", "workflows", "triggers", "agents", "categories", "channels")
    lists = {name: list(getattr(rule, name)) for name in names}
    lines = ["[[rules]]", *(f"{name} = {json.dumps(values)}" for name, values in lists.items() if values)]
    lines += [f"{name} = true" for name in ("refuse", "confirm") if getattr(rule, name)]
    if rule.approval:
        lines.append(f"approve = {{by = {json.dumps(list(rule.approval.by))}, count = {rule.approval.count}}}")
    return "\n".join(lines)


@each(
    ("terms", "rules", "person", "may"),
    [
        (ApprovalTerms(("U0AMY",)), [Rule(1, may=frozenset({"ask"}))], "U0AMY", True),  # no rule besides is needed
        (ApprovalTerms(("U0AMY",)), [Rule(1, may=frozenset({"ask"}))], "U0BOB", False),
        (ApprovalTerms(("S0LEADS",)), [Rule(1)], "U0BOB", False),  # who may approve others' runs isn't asked
        (ApprovalTerms(("U0AMY",)), [Rule(1, who=frozenset({"U0AMY"}), refuse=True)], "U0AMY", False),
        (ApprovalTerms(), [Rule(1, who=frozenset({"U0AMY"}), may=frozenset({"approve"}))], "U0AMY", True),
        (ApprovalTerms(), [Rule(1, who=frozenset({"U0AMY"}), may=frozenset({"approve"}))], "U0BOB", False),
    ],
)
def test_approvers_are_those_of_the_terms_or_of_the_rules(
    terms: ApprovalTerms, rules: list[Rule], person: str, *, may: bool
) -> None:
    asked = Asked("approve", person, terms=terms, facts={"S0LEADS": False})

    verdict = Rules(RuleList("bridge.toml", tuple(rules))).judge_approver(asked)

    assert verdict.is_allowed is may


@each(("lists", "person", "may"), [("U0AMY", "U0AMY", True), ("U0AMY", "U0BOB", False)])
def test_settings_are_lists_of_rules_that_all_must_allow(lists: str, person: str, *, may: bool) -> None:
    rules = rules_of(Config(()), allowed_users=frozenset(["U0AMY", "U0BOB"]), runners=frozenset([lists]))

    assert rules.judge(Asked("run", person)).is_allowed is may
    assert rules.judge(Asked("ask", person)).is_allowed
    assert not rules.judge(Asked("ask", "U0CAT")).is_allowed


@each(
    ("person", "channel", "reason"),
    [("U0AMY", "C0TEAM", None), ("U0BOB", "C0TEAM", "user"), ("U0BOB", "D0BOB", "channel"), ("", "", None)],
)
def test_nobody_and_no_channel_are_always_listed(person: str, channel: str, reason: str | None) -> None:
    rules = Rules(users=frozenset({"U0AMY"}), channels=frozenset({"C0TEAM"}))

    assert rules.not_listed(person, channel) == reason
    assert rules.judge(Asked("run", person, channel)).is_allowed is (reason is None)


def test_what_the_file_sets_up_needs_no_runner() -> None:
    rules = rules_of(Config(()), runners=frozenset({"U0AMY"}))

    assert rules.judge(Asked("run", "")).is_allowed
    assert not rules.judge(Asked("run", "U0BOB")).is_allowed
