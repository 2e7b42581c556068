"""Model checking: every promise of the models holds in every interleaving, and each precaution matters."""

from __future__ import annotations

import pytest

from model import approvals_model, recovery_model, slots_model
from model.inbox_model import MUTANTS, SCENARIOS, search, search_mutant


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_promise_holds_in_every_interleaving(scenario: str) -> None:
    has_agent, budget = SCENARIOS[scenario]

    found = search(budget, has_agent=has_agent)

    assert not found.fault, "\n".join([found.fault, *found.path])
    assert found.states > 200  # the search isn't trivial


@pytest.mark.parametrize("mutant", MUTANTS)
def test_each_mutant_breaks_a_promise(mutant: str) -> None:
    found = search_mutant(mutant)

    assert found.fault
    assert found.path  # not in the initial state


def test_each_slot_is_queued_once_in_every_interleaving() -> None:
    found = slots_model.search()

    assert not found.fault, "\n".join([found.fault, *found.path])
    assert found.states > 200


@pytest.mark.parametrize("mutant", slots_model.MUTANTS)
def test_each_mutant_of_a_claim_breaks_a_promise(mutant: str) -> None:
    found = slots_model.search(mutant)

    assert found.fault
    assert found.path


@pytest.mark.parametrize("scenario", recovery_model.SCENARIOS)
def test_refused_events_keep_every_promise_in_every_interleaving(scenario: str) -> None:
    found = recovery_model.search(recovery_model.SCENARIOS[scenario])

    assert not found.fault, "\n".join([found.fault, *found.path])
    assert found.states > 100


@pytest.mark.parametrize("mutant", recovery_model.MUTANTS | recovery_model.WISHES)
def test_each_mutant_of_the_recovery_breaks_a_promise(mutant: str) -> None:
    found = recovery_model.search((recovery_model.MUTANTS | recovery_model.WISHES)[mutant], mutant)

    assert found.fault
    assert found.path


@pytest.mark.parametrize("limit", recovery_model.LIMITS)
def test_the_documented_limits_of_the_recovery_exist(limit: str) -> None:
    assert recovery_model.search(recovery_model.LIMITS[limit]).fault


@pytest.mark.parametrize("scenario", approvals_model.SCENARIOS)
def test_approvals_keep_every_promise_in_every_interleaving(scenario: str) -> None:
    found = approvals_model.search(approvals_model.SCENARIOS[scenario])

    assert not found.fault, "\n".join([found.fault, *found.path])
    assert found.states > 50


@pytest.mark.parametrize("mutant", approvals_model.MUTANTS)
def test_each_mutant_of_an_approval_breaks_a_promise(mutant: str) -> None:
    found = approvals_model.search(approvals_model.SCENARIOS[approvals_model.MUTANTS[mutant]], mutant)

    assert found.fault
    assert found.path
