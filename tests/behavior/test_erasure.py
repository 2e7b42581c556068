"""What is stored about a person is erased on request, and nothing of anyone else."""

from __future__ import annotations

import pytest

from bridge.cli.forget import erase_set_up
from bridge.features.buttons import FEEDBACK
from bridge.features.channels.settings import AppRule
from bridge.features.workflows.inputs import Remembered, remember
from bridge.ids import InProject, PersonKey
from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import BOB, RANDOM
from bridge.queue.erasure import Erased, erase_person, line_of
from bridge.queue.records import Step
from support.dead_letters import bury
from support.harness import POST, SALES, Harness
from support.store import CHANNEL, ROOT, SESSION_LIFETIME, TEAM, USER, message


async def contents(harness: Harness) -> dict[str, str]:
    """Every key with all it holds, as text."""
    return {key: f"{key} {value}" for key, value in (await harness.store.dump()).items()}


async def act(harness: Harness, user: str) -> None:
    """Do a bit of everything as *user*."""
    await harness.type_command("/workflows run 3 hello", user, works=False)
    await harness.type_command('/workflows run 3 {"a": ', user, works=False)
    await harness.type_command("/stats report weekly mon 09:00 berlin", user, works=False)
    await harness.type_command(f'/agents ask Support daily 9 "words of {user}"', user, works=False)
    await harness.type_command(f"/stats alert runs > {1 if user == USER else 2} #general", user)
    await harness.press("alert:save", user=user, works=False)
    await harness.slack.people.open_home(user)
    await harness.work()
    await harness.slack.people.say(user, CHANNEL, f"<@U0BRIDGE> words of {user}")
    await harness.work()
    (*_, posted) = harness.seen.replies()
    vote = posted.blocks[-1]["elements"][0]["positive_button"]["value"]
    await harness.click(FEEDBACK, vote, user=user, ts="1.2", thread_ts=ROOT)
    await harness.work()
    await remember(
        harness.store.scripts,
        PersonKey(TEAM, user),
        InProject("", 3),
        Remembered(kind="text", typed=f"input of {user}"),
    )
    harness.slack.faults.on(POST, Error("is_archived"), channel=CHANNEL)
    await harness.slack.people.say(user, CHANNEL, "<@U0BRIDGE> lost")
    await harness.work()  # a private notice says so


@pytest.fixture
async def busy(harness: Harness) -> Harness:
    """A harness in which Alice and Bob did a bit of everything."""
    harness.configure(BRIDGE_USER_TURNS_PER_MINUTE="100", BRIDGE_USER_RUNS_PER_HOUR="100")
    for user in (USER, BOB):
        await act(harness, user)
    return harness


async def erase(harness: Harness, user: str) -> Erased:
    await erase_set_up(harness.store.scripts, user)
    return await erase_person(harness.store.scripts, user, SESSION_LIFETIME)


async def test_nothing_about_a_person_stays(busy: Harness) -> None:
    for owner in (USER, BOB):
        stored = await busy.store.channels.stored(TEAM, RANDOM)
        settings = stored.settings.with_app(f"A0{owner}", AppRule(agent=7, owner=owner))
        assert await busy.store.channels.replace(TEAM, RANDOM, stored, settings)
    before = await contents(busy)
    assert {line_of(key.partition(":")[2]).name for key, text in before.items() if USER in text} >= {
        "alert", "audit", "channels", "home", "input", "recent_runs", "recent_threads", "report",
        "shown", "thread", "typed", "votes",
    }  # fmt: skip

    await erase(busy, USER)

    after = await contents(busy)
    assert [key for key, text in after.items() if USER in text] == []
    assert [key for key, text in before.items() if BOB in text and USER not in text and after.get(key) != text] == []


async def test_only_keys_that_the_table_names_are_about_people(busy: Harness) -> None:
    for key, text in (await contents(busy)).items():
        assert line_of(key.partition(":")[2]).erased or USER not in text, key


@pytest.mark.parametrize("is_parked", [True, False])
async def test_a_waiting_message_is_discarded(harness: Harness, *, is_parked: bool) -> None:
    if is_parked:
        harness.service.agents.append(SALES)
    await harness.store.queue(message("my very own words"))
    if is_parked:
        await harness.work()
    await harness.store.queue(message("and Bob's", "1700000000.000101", user=BOB))

    erased = await erase(harness, USER)

    assert (erased.turns, erased.running) == (1, 0)
    assert not await harness.store.contains_text("my very own words")
    harness.service.agents[1:] = []
    harness.monotonic += 10  # the list of agents is read again
    await harness.work()
    assert [words.rpartition("\n")[2] for words in harness.service.messages] == ["and Bob's"]


async def test_a_lane_left_empty_is_retired(harness: Harness) -> None:
    await harness.store.queue(message("my very own words"))

    await erase(harness, USER)
    await harness.work()

    assert harness.service.messages == []
    assert await harness.store.redis.xlen(harness.store.scripts.keys.ready()) == 0


async def test_a_message_that_an_agent_works_on_is_left_until_it_is_answered(harness: Harness) -> None:
    await harness.turn(message("my very own words"))

    assert (await erase(harness, USER)).running == 1

    await harness.take_over()
    assert harness.service.messages == ["my very own words"]
    assert (await erase(harness, USER)).running == 0


async def test_a_dead_letter_is_deleted(harness: Harness) -> None:
    await harness.store.queue(message("my very own words"))
    turn = await bury(harness.store, Step.QUEUED)

    await erase(harness, USER)

    assert (
        await harness.store.redis.exists(harness.store.scripts.keys.turn(turn), harness.store.scripts.keys.dead()) == 0
    )
