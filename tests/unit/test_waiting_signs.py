"""A message that waits behind another says so: quietly, once, and only until it is answered."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from redis.asyncio import Redis

from bridge.features.access import Access
from bridge.features.conversations.notices import in_line
from bridge.features.conversations.receive import Receiver
from bridge.queue.queued_reactions import QueuedReactionClaims
from bridge.slack.api import Identity, SlackWeb
from bridge.slack.indicators import REACTION, SHOWN_A_MINUTE, Indicators, QueuedReactions
from bridge.slack.post import Recipient
from support.saying import US
from support.store import CHANNEL, USER, message, ts
from support.turns import BOT, Bench, a_bench
from support.waiting import wait_until
from support.wire_slack import CutOff, Json, Raw, WireSlack, limited, refused

ADD, REMOVE = "reactions.add", "reactions.remove"


async def _at_once(_seconds: float) -> None:
    await asyncio.sleep(0)


@asynccontextmanager
async def a_door(bench: Bench) -> AsyncIterator[Receiver]:
    """Open a door whose signs are shown without the second of patience."""
    reactions = QueuedReactions(
        bench.say, bench.say, QueuedReactionClaims(bench.store.scripts), in_line, patience=timedelta(0),
        monotonic=lambda: bench.monotonic, sleep=_at_once,
    )  # fmt: skip
    access = Access(home=frozenset({"T1"}), directory=bench.directory)
    inbox = bench.store.process().inbox
    async with reactions.at_work():
        yield Receiver(
            inbox, access, BOT, mentions_only=False, store_since=lambda: None, waits_behind=reactions.waits_behind
        )


async def begun(bench: Bench, door: Receiver) -> asyncio.Task[None]:
    """Let the first message of a thread be with the agent, which thinks."""
    bench.service.gate.clear()
    await door.receive(message(f"<@{BOT}> first", is_mention=True))
    task = await bench.begin()
    await wait_until(lambda: bench.service.at_once == 1, "the agent is asked")
    return task


async def finished(bench: Bench, task: asyncio.Task[None]) -> None:
    bench.service.gate.set()
    await task
    await bench.work()


async def test_it_is_shown_while_the_message_waits_and_taken_away_when_it_is_answered(redis: Redis) -> None:
    async with a_bench(redis) as bench, a_door(bench) as door:
        task = await begun(bench, door)
        await door.receive(message("second", ts(1)))
        await wait_until(lambda: bench.say.hourglasses == [ts(1)], "the sign is shown")
        assert bench.say.taken_away == []

        await finished(bench, task)

        assert bench.say.words == ["re: first", "re: second"]
        assert bench.say.taken_away == [ts(1)]


async def test_who_cannot_be_shown_a_sign_is_told_the_place_in_line(redis: Redis) -> None:
    async with a_bench(redis) as bench, a_door(bench) as door:
        bench.say.may_react = False
        task = await begun(bench, door)
        for number in (1, 2):
            await door.receive(message("more", ts(number)))
        await wait_until(lambda: len(bench.say.whispers) == 2, "both are told")

        (first, line), (_, next_line) = bench.say.whispers
        assert first == Recipient(CHANNEL, USER, message(ts=ts(1)).thread_ts)
        assert "2nd in line" in line.text
        assert "3rd in line" in next_line.text
        await finished(bench, task)


async def test_what_is_taken_at_once_has_no_sign(redis: Redis) -> None:
    async with a_bench(redis) as bench, a_door(bench) as door:
        await door.receive(message(f"<@{BOT}> first", is_mention=True))
        await bench.work()
        await door.receive(message("second", ts(1)))
        await bench.work()
        await asyncio.sleep(0.05)

        assert (bench.say.hourglasses, bench.say.taken_away) == ([], [])


async def test_a_command_waits_for_nobody_and_has_no_sign(redis: Redis) -> None:
    async with a_bench(redis) as bench, a_door(bench) as door:
        task = await begun(bench, door)
        await door.receive(message("!stats", ts(1)))
        await door.receive(message("second", ts(2)))
        await wait_until(lambda: bool(bench.say.hourglasses), "the sign is shown")

        assert bench.say.hourglasses == [ts(2)]
        await finished(bench, task)


async def test_a_message_that_comes_twice_has_one_sign_whichever_process_takes_it_in(redis: Redis) -> None:
    async with a_bench(redis) as bench, a_door(bench) as door, a_door(bench) as other:
        task = await begun(bench, door)
        for each in (door, other, other):
            await each.receive(message("second", ts(1)))
        await door.receive(message("third", ts(2)))
        await wait_until(lambda: ts(2) in bench.say.hourglasses, "the last sign is shown")

        assert bench.say.hourglasses.count(ts(1)) == 1
        await finished(bench, task)


async def test_one_sign_is_claimed_by_one_and_only_while_the_message_waits(redis: Redis) -> None:
    async with a_bench(redis) as bench:
        claims = QueuedReactionClaims(bench.store.scripts)
        head = await bench.store.conversation(agent=7)
        behind = await bench.store.queue(message("second", ts(1)))

        assert not await claims.claim(head)
        assert await claims.claim(behind)
        assert not await claims.claim(behind)
        await bench.work()
        assert await claims.is_over(behind)
        assert not await claims.claim(behind)


async def test_a_sign_that_arrives_after_the_answer_is_taken_away_by_whoever_showed_it(redis: Redis) -> None:
    async with a_bench(redis) as bench, a_door(bench) as door:
        task = await begun(bench, door)
        bench.say.sign_gate.clear()
        await door.receive(message("second", ts(1)))
        await wait_until(lambda: bool(bench.say.hourglasses), "the sign is on its way")
        await finished(bench, task)
        assert bench.say.taken_away == [ts(1)]  # by the answer, too early

        bench.say.sign_gate.set()

        await wait_until(lambda: len(bench.say.taken_away) == 2, "it is taken away once more")


async def test_a_message_that_was_taken_back_gets_no_sign_any_more(redis: Redis) -> None:
    async with a_bench(redis) as bench:
        await bench.store.conversation(agent=7)
        behind = await bench.store.queue(message("second", ts(1)))
        await bench.store.process().inbox.withdraw(message(ts=ts(1)).key)

        assert not await QueuedReactionClaims(bench.store.scripts).claim(behind)


async def test_so_many_are_shown_in_a_minute_and_no_more(redis: Redis) -> None:
    async with a_bench(redis) as bench, a_door(bench) as door:
        task = await begun(bench, door)
        for number in range(1, SHOWN_A_MINUTE + 5):
            await door.receive(message("more", ts(number)))
        await wait_until(lambda: len(bench.say.hourglasses) == SHOWN_A_MINUTE, "as many as may be")
        await asyncio.sleep(0.05)
        assert len(bench.say.hourglasses) == SHOWN_A_MINUTE

        bench.monotonic += 61
        await door.receive(message("one more", ts(40)))

        await wait_until(lambda: bench.say.hourglasses[-1] == ts(40), "a minute later there is room again")
        await finished(bench, task)
        assert sorted(bench.say.taken_away) == sorted(bench.say.hourglasses)


def indicators(web: SlackWeb, *scopes: str) -> Indicators:
    return Indicators(web, Identity(US.team, "", US.bot_user, US.bot_id, scopes=frozenset(scopes)))


async def test_in_slack_it_is_a_reaction(slack: WireSlack, web: SlackWeb) -> None:
    assert await indicators(web, "reactions:write").add_queued_reaction(CHANNEL, "1.2")
    await indicators(web, "reactions:write").remove_queued_reaction(CHANNEL, "1.2")

    reaction = {"channel": CHANNEL, "timestamp": "1.2", "name": REACTION}
    assert slack.asked == [(ADD, reaction), (REMOVE, reaction)]


async def test_where_the_bot_may_not_react_nothing_is_asked(slack: WireSlack, web: SlackWeb) -> None:
    assert not await indicators(web, "chat:write").add_queued_reaction(CHANNEL, "1.2")
    await indicators(web, "chat:write").remove_queued_reaction(CHANNEL, "1.2")

    assert slack.asked == []


@pytest.mark.parametrize(
    ("trouble", "shown"),
    [
        (refused("missing_scope"), False),
        (refused("already_reacted"), True),
        (refused("message_not_found"), True),
        (limited(30), True),
        (Raw(status=500), True),
        (CutOff(), True),
    ],
)
async def test_a_failed_reaction_does_not_fail_the_turn(
    slack: WireSlack, web: SlackWeb, trouble: Json | Raw | CutOff, *, shown: bool
) -> None:
    slack.script[ADD] = [trouble]
    slack.script[REMOVE] = [trouble]

    assert await indicators(web, "reactions:write").add_queued_reaction(CHANNEL, "1.2") is shown
    await indicators(web, "reactions:write").remove_queued_reaction(CHANNEL, "1.2")
