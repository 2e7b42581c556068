"""Model checking: every promise of the models holds in every interleaving, and each precaution matters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from model import approvals_model, inbox_model, limits_model, one_recovery_model, recovery_model, slots_model
from model.search import Found
from support.tables import each

pytestmark = pytest.mark.timeout(600)  # each test has half a million states

Search = Callable[[], Found]
HOLD: dict[str, Search] = {
    **{
        name: partial(inbox_model.search, budget, has_agent=has)
        for name, (has, budget) in inbox_model.SCENARIOS.items()
    },
    "slots": slots_model.search,
    **{f"recovery: {name}": partial(recovery_model.search, at) for name, at in recovery_model.SCENARIOS.items()},
    **{
        f"one recovery, {changed}: {name}": partial(one_recovery_model.search, recovery_model.SCENARIOS[name], *changes)
        for changed, (changes, names) in one_recovery_model.HOLD.items()
        for name in sorted(names)
    },
    **{f"approvals: {name}": partial(approvals_model.search, at) for name, at in approvals_model.SCENARIOS.items()},
    **{f"limits: {name}": partial(limits_model.search, at) for name, at in limits_model.SCENARIOS.items()},
}
BREAK: dict[str, Search] = {
    **{name: partial(inbox_model.search_mutant, name) for name in inbox_model.MUTANTS},
    **{f"slots: {name}": partial(slots_model.search, name) for name in slots_model.MUTANTS},
    **{
        f"recovery: {name}": partial(recovery_model.search, world, name)
        for name, world in (recovery_model.MUTANTS | recovery_model.WISHES).items()
    },
    **{
        f"approvals: {name}": partial(approvals_model.search, approvals_model.SCENARIOS[scenario], name)
        for name, scenario in approvals_model.MUTANTS.items()
    },
    **{
        f"limits: {name}": partial(limits_model.search, limits_model.SCENARIOS[scenario], name)
        for name, scenario in limits_model.MUTANTS.items()
    },
}


@each("name", HOLD)
def test_every_promise_holds_in_every_interleaving(name: str) -> None:
    found = HOLD[name]()

    assert not found.fault, "\n".join([found.fault, *found.path])
    assert found.states > 50  # the search isn't trivial


@each("name", BREAK)
def test_each_mutant_breaks_a_promise(name: str) -> None:
    found = BREAK[name]()

    assert found.fault
    assert found.path  # not in the initial state


@each("limit", recovery_model.LIMITS)
def test_the_documented_limits_of_the_recovery_exist(limit: str) -> None:
    assert recovery_model.search(recovery_model.LIMITS[limit]).fault


ONE_RECOVERY = [
    (changes, name, fault) for changes, faults in one_recovery_model.BREAKS.items() for name, fault in faults.items()
]


@each(("changes", "name", "fault"), ONE_RECOVERY)
def test_one_recovery_breaks_promises(changes: tuple[str, ...], name: str, fault: str) -> None:
    assert one_recovery_model.search(recovery_model.SCENARIOS[name], *changes).fault == fault
