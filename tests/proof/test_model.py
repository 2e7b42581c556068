"""Model checking: every promise of the models holds in every interleaving, and each precaution matters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from model import approvals_model, inbox_model, limits_model, recovery_model, slots_model
from model.search import Found

Search = Callable[[], Found]
HOLD: dict[str, Search] = {
    **{
        name: partial(inbox_model.search, budget, has_agent=has)
        for name, (has, budget) in inbox_model.SCENARIOS.items()
    },
    "slots": slots_model.search,
    **{f"recovery: {name}": partial(recovery_model.search, at) for name, at in recovery_model.SCENARIOS.items()},
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


@pytest.mark.parametrize("search", HOLD.values(), ids=HOLD)
def test_every_promise_holds_in_every_interleaving(search: Search) -> None:
    found = search()

    assert not found.fault, "\n".join([found.fault, *found.path])
    assert found.states > 50  # the search isn't trivial


@pytest.mark.parametrize("search", BREAK.values(), ids=BREAK)
def test_each_mutant_breaks_a_promise(search: Search) -> None:
    found = search()

    assert found.fault
    assert found.path  # not in the initial state


@pytest.mark.parametrize("limit", recovery_model.LIMITS)
def test_the_documented_limits_of_the_recovery_exist(limit: str) -> None:
    assert recovery_model.search(recovery_model.LIMITS[limit]).fault
