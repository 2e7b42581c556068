"""What every kind of thing that people set up promises: a table over the registry, so that a new kind is in it."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.cli.forget import erase_set_up
from bridge.engine.standing import Standing
from bridge.features.registry import features
from bridge.playground.emulator.sample import ALICE, BOB, GUEST
from support.buttons import shown
from support.harness import SUPPORT, WORKFLOW, Harness

KINDS = [kind for kind in features.standing if kind.example]

pytestmark = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


async def set_up(harness: Harness, kind: Standing, user: str = BOB) -> str:
    """Set one up; return what its person reads."""
    harness.service.agents, harness.service.workflows = [SUPPORT], [WORKFLOW]
    await harness.type_command(kind.example, user)
    if f"'{kind.name}:save'" in str(harness.seen.ephemerals[-1].blocks):
        await harness.press(f"{kind.name}:save", user=user)
    return harness.seen.ephemerals[-1].text


async def listed(harness: Harness, kind: Standing, user: str = BOB) -> str:
    await harness.type_command(kind.lists, user)
    return harness.seen.ephemerals[-1].text


async def home(harness: Harness, user: str = BOB) -> str:
    await harness.slack.people.open_home(user)
    await harness.work()
    shown = harness.slack.home(user)
    assert shown is not None
    return str(shown.content["blocks"])


async def press(harness: Harness, kind: Standing, verb: str, user: str = BOB) -> str:
    await harness.press(f"{kind.name}:{verb}", user=user)
    return harness.seen.ephemerals[-1].text


async def test_it_is_listed_and_in_the_home_of_its_owner_only(harness: Harness, kind: Standing) -> None:
    nothing = await listed(harness, kind)
    await set_up(harness, kind)

    assert await listed(harness, kind) != nothing
    assert f"{kind.name}:pause" in await home(harness)
    assert f"{kind.name}:pause" not in await home(harness, ALICE)


async def test_it_is_paused_resumed_and_deleted(harness: Harness, kind: Standing) -> None:
    nothing = await listed(harness, kind)
    await set_up(harness, kind)
    shown = await listed(harness, kind)

    assert "Paused" in await press(harness, kind, "pause")
    assert "Paused" in await listed(harness, kind)
    assert await press(harness, kind, "resume") == shown
    assert (await press(harness, kind, "delete")).endswith(nothing)
    assert await listed(harness, kind) == nothing
    assert await kind.count(harness.store.scripts) == 0


async def test_the_same_is_not_set_up_twice(harness: Harness, kind: Standing) -> None:
    await set_up(harness, kind)

    assert "already exists" in await set_up(harness, kind, ALICE)
    assert await kind.count(harness.store.scripts) == 1


@pytest.mark.parametrize(("verb", "did"), [("pause", "paused"), ("delete", "deleted")])
async def test_its_owner_hears_what_someone_else_did(harness: Harness, kind: Standing, verb: str, did: str) -> None:
    await set_up(harness, kind)
    await listed(harness, kind, ALICE)

    await press(harness, kind, verb, ALICE)

    assert any(f"Alice Adler {did} your {kind.noun}" in one.text for one in harness.seen.messages)


async def test_its_owner_is_not_told_what_they_did(harness: Harness, kind: Standing) -> None:
    await set_up(harness, kind)
    await listed(harness, kind)

    await press(harness, kind, "delete")

    assert not any(f"your {kind.noun}" in one.text for one in harness.seen.messages)


async def test_whoever_may_not_set_one_up_may_not_change_it(harness: Harness, kind: Standing) -> None:
    await set_up(harness, kind)
    shown = await listed(harness, kind)

    await listed(harness, kind, GUEST)

    assert f"{kind.name}:pause" not in str(harness.seen.ephemerals[-1].blocks)
    assert await listed(harness, kind) == shown


@pytest.mark.parametrize("verb", ["pause", "resume", "edit", "delete"])
async def test_a_press_of_someone_who_may_not_changes_nothing(harness: Harness, kind: Standing, verb: str) -> None:
    await set_up(harness, kind)
    text = await listed(harness, kind)
    if verb == "resume":
        await press(harness, kind, "pause")
        text = await listed(harness, kind)
    action_id = f"{kind.name}:{verb}"
    if f"'{action_id}'" not in str(harness.seen.ephemerals[-1].blocks):
        assert verb == "edit"
        return

    button = shown(harness, action_id)
    await harness.click(action_id, button.value, user=GUEST, channel=button.channel, ts=button.ts, is_ephemeral=True)
    await harness.work()

    assert not harness.seen.forms
    assert await listed(harness, kind) == text


async def test_it_is_exported_and_imported(harness: Harness, kind: Standing) -> None:
    assert kind.portable is not None
    await set_up(harness, kind)
    shown, at_home = await listed(harness, kind), await home(harness)
    items: list[Any] = [kind.portable.read(line) for line in await kind.portable.lines(harness.store.scripts)]
    await press(harness, kind, "delete")

    assert await kind.portable.written(harness.store.scripts, items, harness.store.clock()) == 1
    assert await kind.portable.written(harness.store.scripts, items, harness.store.clock()) == 0

    assert await listed(harness, kind) == shown
    assert (f"{kind.name}:pause" in await home(harness)) == (f"{kind.name}:pause" in at_home)


async def test_it_is_erased_with_its_owner(harness: Harness, kind: Standing) -> None:
    await set_up(harness, kind)

    assert (await erase_set_up(harness.store.scripts, ALICE))[kind] == 0
    assert (await erase_set_up(harness.store.scripts, BOB))[kind] == 1
    assert await kind.count(harness.store.scripts) == 0
