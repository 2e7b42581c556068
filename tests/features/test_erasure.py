"""What is stored about a person is erased on request, and nothing of anyone else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from bridge.cli.forget import erase_set_up
from bridge.ends import notices
from bridge.engine.standing import Standing, all_counted
from bridge.features.agents.handles import Handle
from bridge.features.approvals.layout import APPROVE
from bridge.features.buttons import FEEDBACK
from bridge.features.channels.settings import AppRule
from bridge.features.registry import features
from bridge.features.workflows.inputs import Remembered, remember
from bridge.ids import InProject, PersonKey
from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import BOB, CAROL, GENERAL, RANDOM, RUNNERS
from bridge.queue.erasure import Erased, erase_person, line_of
from bridge.queue.keys import TABLE
from bridge.queue.records import Step
from bridge.queue.writes import Write
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
    for kind in features.standing:
        if kind.example and not await kind.count(harness.store.scripts):
            await harness.type_command(kind.example, user)
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


async def set_up(harness: Harness, user: str) -> None:
    """Set up one of each kind as *user*."""
    stored = await harness.store.channels.stored(TEAM, RANDOM)
    settings = stored.settings.with_app(f"A0{user}", AppRule(agent=7, owner=user))
    assert await harness.store.channels.replace(TEAM, RANDOM, stored, settings)
    handle = Handle(agent=7, handle=user.lower(), owner=user, team=TEAM)
    await harness.store.redis.hset(harness.store.scripts.keys.handles(), f"S0{user[-3:]}", handle.model_dump_json())
    harness.use_file(f'[[rules]]\nmay = ["run"]\napprove = {{by = ["{CAROL}"]}}\n[[rules]]\n')
    await harness.type_command("/workflows run 3 approve", user)


async def erase(harness: Harness, user: str) -> Erased:
    await erase_set_up(harness.store.scripts, user)
    return await erase_person(harness.store.scripts, user, SESSION_LIFETIME)


async def test_a_person_erased_while_their_turns_are_derived_from_is_in_no_key(harness: Harness) -> None:
    await harness.store.queue(message())
    process = harness.store.process()
    await harness.work_on(process, harness.lease(process, (await process.hold())[0]))
    events = harness.parts().finished_turns

    async def erases(_deps: object, _turns: object) -> list[Write]:
        await erase_person(harness.store.scripts, USER, SESSION_LIFETIME)
        return []

    events._handlers = (*events._handlers, erases)
    await events.apply()

    assert [key for key in await contents(harness) if USER in key] == []


async def test_nothing_about_a_person_stays(busy: Harness) -> None:
    for owner in (USER, BOB):
        await set_up(busy, owner)
    scripts = busy.store.scripts
    assert [kind.noun for kind in features.standing if not await kind.count(scripts)] == [], "set one up here, too"
    counted = [kind.counted(await kind.count(scripts)) for kind in features.standing]
    assert await all_counted(features.standing, scripts) == ", ".join(counted), "what's lost if Redis is emptied"
    before = await contents(busy)
    lines = [line_of(key.partition(":")[2]) for key, text in before.items() if USER in text]
    assert {line.name for line in lines if line} >= {
        "alert", "approval", "audit", "channels", "handles", "home", "input", "recent_runs", "recent_threads", "report",
        "choice", "shown", "thread", "votes",
    }  # fmt: skip

    await erase(busy, USER)

    after = await contents(busy)
    assert [key for key, text in after.items() if USER in text] == []
    assert [key for key, text in before.items() if BOB in text and USER not in text and after.get(key) != text] == []
    assert (await busy.store.redis.hlen(scripts.keys.handles()), await kind_of("handle").count(scripts)) == (2, 2)
    assert await kind_of("request for approval").count(scripts) == 1, "Bob's"


def kind_of(noun: str) -> Standing:
    (kind,) = [kind for kind in features.standing if kind.noun == noun]
    return kind


def test_what_stays_until_it_is_deleted_is_a_kind_of_what_people_set_up() -> None:
    known = {line for kind in features.standing for line in kind.keys}
    permanent = {line.name for line in TABLE if line.lives in {"forever", "until deleted"}}

    assert permanent - known == {"owner", "ready"}, "about no person, channel or project"
    assert {line.name for line in TABLE if line.erased == "set up"} <= known
    by_line = {line: [kind for kind in features.standing if line in kind.keys and kind.erase] for line in known}
    assert [line.name for line in TABLE if line.erased == "set up" and not by_line[line.name]] == []


def test_what_is_stored_is_documented() -> None:
    page = Path("docs/how-to/stored-data.md").read_text(encoding="utf-8")

    assert [kind.plural for kind in features.standing if kind.plural not in page] == []


async def test_a_handle_outlives_who_set_it(harness: Harness) -> None:
    await harness.type_command("/agents handle Support @support")
    (group,) = await harness.parts().turns.deps.handles.all()
    assert await erase_set_up(harness.store.scripts, USER)

    await harness.slack.people.change_group(BOB, replace(harness.slack.workspace.groups[group], deleted_at=1))
    await harness.work()

    (handle,) = (await harness.parts("b").turns.deps.handles.all()).values()
    assert (handle.handle, handle.owner, handle.trouble) == ("support", "", "disabled")


ASKS = '[[rules]]\nmay = ["run"]\napprove = {{by = {by}, count = {count}}}\n[[rules]]\n'


@pytest.mark.parametrize(
    ("by", "count", "approves", "is_told", "then"),
    [
        ([BOB, CAROL], 1, False, False, "✅"),
        ([BOB, CAROL], 2, False, True, "🔐"),
        ([BOB, CAROL], 2, True, True, "🔐"),
        ([BOB], 1, False, True, "🔐"),
        ([RUNNERS, BOB], 1, False, False, "✅"),
    ],
)
async def test_a_colleagues_request_outlives_an_approver(
    harness: Harness, by: list[str], count: int, *, approves: bool, is_told: bool, then: str
) -> None:
    harness.use_file(ASKS.format(by=json.dumps(by), count=count))
    await harness.type_command("/workflows run 3 hello")
    (card,) = harness.seen.replies("bridge_approval")
    if approves:
        await harness.slack.ui.click(BOB, GENERAL, card.ts, "approval:approve")
        await harness.work()
    (key,) = await harness.store.redis.keys("{*}:approval:*")
    await harness.store.redis.hset(key, "notice:D0BOB:1.000100", f"{BOB} turn")  # as an earlier release

    await erase(harness, BOB)
    assert [key for key, text in (await contents(harness)).items() if BOB in text] == []
    await harness.work()
    told = [one.text for one in harness.seen.messages if one.text.startswith("⚠️ Too few")]
    await harness.slack.ui.click(CAROL, GENERAL, card.ts, "approval:approve")
    await harness.work()

    assert bool(told) is is_told
    (card,) = harness.seen.replies("bridge_approval")
    assert card.text.startswith(then)
    assert "Bob" not in str(card.blocks)
    assert len(harness.service.runs) == (then == "✅")


async def test_only_keys_that_the_table_names_are_about_people(busy: Harness) -> None:
    await set_up(busy, USER)
    for key, text in (await contents(busy)).items():
        line = line_of(key.partition(":")[2])
        assert line is not None
        assert line.erased or USER not in text, key


async def test_what_another_release_stores_is_erased(harness: Harness) -> None:
    redis, prefix = harness.store.redis, harness.store.scripts.keys.everything()
    await redis.hset(f"{prefix}later", mapping={USER: "1", BOB: "2"})
    await redis.zadd(f"{prefix}ranked", {USER: 1, BOB: 2})
    await redis.rpush(f"{prefix}listed", "T1")
    for name, value in (("note", USER), (f"of:{USER}", "3"), ("other", BOB)):
        await redis.set(f"{prefix}{name}", value)

    await erase(harness, USER)

    left = {key.removeprefix(prefix) for key in await redis.keys("*")}
    assert left >= {"later", "ranked", "listed", "other"}
    assert not left & {"note", f"of:{USER}"}
    assert (await redis.hgetall(f"{prefix}later"), await redis.zrange(f"{prefix}ranked", 0, -1)) == ({BOB: "2"}, [BOB])
    await redis.flushdb()  # these have no lifetime


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


async def test_the_request_for_a_run_of_an_erased_person_starts_nothing(harness: Harness) -> None:
    """Bob pressed Run now on a schedule of Alice's, which is deleted."""
    harness.use_file(f'[[rules]]\nmay = ["run"]\napprove = {{by = ["{CAROL}"]}}\n[[rules]]\n')
    await harness.type_command("/workflows schedule Import daily 9", USER)
    await harness.type_command("/schedules", BOB)
    await harness.press("report:now", user=BOB)

    await erase(harness, USER)
    assert [key for key, text in (await contents(harness)).items() if USER in text] == []
    await harness.press(APPROVE, user=CAROL)

    assert harness.service.started == []
    assert any("not started, because the schedule was deleted" in one.words for one in harness.seen.messages)


async def test_an_approval_of_an_erased_person_starts_nothing(harness: Harness) -> None:
    harness.use_file(ASKS.format(by=json.dumps([BOB]), count=1))
    await harness.type_command("/workflows run 3 hello")
    (card,) = harness.seen.replies("bridge_approval")
    await harness.slack.ui.click(BOB, GENERAL, card.ts, "approval:approve")
    await (await harness.start_next())  # the click's turn; the run's is queued

    await erase(harness, BOB)
    await harness.work()

    assert harness.service.started == []
    told = [one.text for one in harness.seen.messages if "the data of someone who approved it was erased" in one.text]
    assert len(told) == 3  # the card, its thread's notice, and the asker
    assert await harness.store.redis.zcard(harness.store.scripts.keys.dead()) == 0


async def test_who_sent_a_message_again_or_owns_its_rule_is_erased(harness: Harness) -> None:
    harness.service.chats = [httpx.ReadTimeout("no answer")] * 2
    await harness.say("<@U0BRIDGE> hello", user=USER)
    await harness.press(notices.SEND_AGAIN, user=BOB)  # and its turn ends without a known outcome, too
    await harness.store.set_channel(apps={"A0OTHERBOT": AppRule(agent=7, owner=BOB)})
    harness.service.chats = [httpx.ReadTimeout("no answer")]
    await harness.slack.people.app_posts(GENERAL, "disk full")
    await harness.slack.settled()
    await harness.work()

    await erase(harness, BOB)

    after = await contents(harness)
    assert [key for key, text in after.items() if BOB in text] == []
    assert any("hello" in text for key, text in after.items() if ":turn:" in key), "Alice's message"


async def test_what_an_erased_person_had_ignored_stays_ignored(harness: Harness) -> None:
    ignored = AppRule(ignores=True, name="Grafana", owner=USER)
    apps = {"A0X": AppRule(agent=7, owner=BOB), "A0X grafana": ignored}
    mine = {"A0Y": AppRule(agent=7, owner=USER), "A0Y grafana": ignored}
    await harness.store.set_channel(apps=apps | mine)

    await erase(harness, USER)

    left = (await harness.store.channels.get(TEAM, CHANNEL)).apps
    assert left == apps | {"A0X grafana": ignored.model_copy(update={"owner": ""})}
