"""The theories of operation, of the inbox and of schedules, hold in every interleaving, and need each precaution."""

from __future__ import annotations

import pytest

from model import slots_model
from model.inbox_model import LIVES, MUTANTS, search, search_mutant


@pytest.mark.parametrize("life", LIVES)
def test_every_promise_holds_in_every_interleaving(life: str) -> None:
    has_agent, budget = LIVES[life]

    found = search(budget, has_agent=has_agent)

    assert not found.fault, "\n".join([found.fault, *found.path])
    assert found.states > 200  # it did go round


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_precaution_that_is_left_out_is_missed(mutant: str) -> None:
    found = search_mutant(mutant)

    assert found.fault
    assert found.path  # and it takes a while until it shows


def test_each_slot_is_put_once_in_every_interleaving() -> None:
    found = slots_model.search()

    assert not found.fault, "\n".join([found.fault, *found.path])
    assert found.states > 200


@pytest.mark.parametrize("mutant", slots_model.MUTANTS)
def test_a_slot_needs_each_part_of_its_claim(mutant: str) -> None:
    found = slots_model.search(mutant)

    assert found.fault
    assert found.path
