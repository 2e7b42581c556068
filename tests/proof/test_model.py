"""Model checking: every promise of the models holds in every interleaving, and each precaution matters.

`make model` also searches the larger scenarios.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial

import pytest

from proof.model import approvals_model, inbox_model, limits_model, recovery_model, slots_model
from proof.model.search import Found
from support.tables import each

pytestmark = pytest.mark.timeout(600)  # each test has a quarter of a million states

Search = Callable[[], Found]
IS_DEEP = os.environ.get("DEEP") == "1"
INBOX = inbox_model.SCENARIOS | (inbox_model.LARGER if IS_DEEP else {})
RECOVERY = recovery_model.SCENARIOS | (recovery_model.LARGER if IS_DEEP else {})
# Each world is searched once without a mutant, however many mutants it reveals.
REVEALING = {inbox_model.world_of(name): f"without “{name}”" for name in inbox_model.MUTANTS}
REVEALING |= {world: name for name, world in INBOX.items()}
REVEALING_RECOVERY = {
    world: f"without “{name}”" for name, world in (recovery_model.MUTANTS | recovery_model.WISHES).items()
} | {world: name for name, world in RECOVERY.items()}
HOLD: dict[str, Search] = {
    **{name: partial(inbox_model.search, *world) for world, name in REVEALING.items()},
    "slots": slots_model.search,
    **{f"recovery: {name}": partial(recovery_model.search, world) for world, name in REVEALING_RECOVERY.items()},
    **{f"approvals: {name}": partial(approvals_model.search, at) for name, at in approvals_model.SCENARIOS.items()},
    **{f"limits: {name}": partial(limits_model.search, at) for name, at in limits_model.SCENARIOS.items()},
}
BREAK: dict[str, Search] = {
    **{name: partial(inbox_model.search, *inbox_model.world_of(name), name) for name in inbox_model.MUTANTS},
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
    assert found.states > 20  # the search isn't trivial


@each("name", BREAK)
def test_each_mutant_breaks_a_promise(name: str) -> None:
    found = BREAK[name]()

    assert found.fault
    assert found.path  # not in the initial state


@each("limit", recovery_model.LIMITS)
def test_the_documented_limits_of_the_recovery_exist(limit: str) -> None:
    assert recovery_model.search(recovery_model.LIMITS[limit]).fault
