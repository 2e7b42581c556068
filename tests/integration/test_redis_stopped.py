"""A hung Redis: everything is answered in time, and refused requests don't run later."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from http import HTTPStatus

from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, GENERAL
from support.real_redis import RealRedis
from support.waiting import wait_until
from support.world import World, a_world, words_of


def runs(world: World) -> list[object]:
    return [call.body["input"] for call in world.project.calls if call.path.endswith("/run")]


async def test_a_command_refused_while_redis_hung_does_not_run_later(
    private_redis: Callable[[], RealRedis],
) -> None:
    server = private_redis()
    async with a_world(server.url, "test") as world:
        bridge = await world.start_bridge(BRIDGE_DEFAULT_AGENT="1")
        await world.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1 before")
        await wait_until(lambda: runs(world), "the workflow runs")
        await wait_until(lambda: world.slack.messages(GENERAL), "the card is posted")
        card = next(message for message in world.slack.messages(GENERAL) if message.user == BRIDGE)
        await wait_until(lambda: "completed" in words_of(card), "the card shows the result")
        await world.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1")
        await wait_until(lambda: world.slack.views(ALICE), "the form is open")
        view = world.slack.views(ALICE)[-1]
        before = len(world.whispers(BOB))

        server.send_signal(signal.SIGSTOP)
        command, click, form, root = await asyncio.gather(
            world.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1 refused"),
            world.slack.ui.click(BOB, GENERAL, card.ts, "run:again"),
            world.slack.ui.submit(view.id, {"input": "refused"}, ALICE),
            world.mention(ALICE, GENERAL, "hello there"),
        )
        mention = next(one for one in world.slack.deliveries[::-1] if one.name == "app_mention")
        health = (await bridge.state())[0]
        server.send_signal(signal.SIGCONT)
        await world.answered(GENERAL, root)
        await world.slack.ui.command(ALICE, GENERAL, "/workflows", "run 1 after")
        await wait_until(lambda: "after" in runs(world), "the bridge works again")

        assert (command.status, click.status, form.status, mention.status) == (200, 200, 200, 503)
        assert max(command.ms, click.ms, form.ms) < 3000
        assert "couldn't queue this" in command.body
        assert "couldn't queue this" in words_of(world.whispers(BOB)[before])
        assert view.errors, "the form stays open with the error"
        assert health == 200
        assert runs(world) == ["before", "after"]
        assert world.chats() == ["hello there"], "Slack retried it"


async def test_a_reply_that_came_while_redis_hung_is_asked_once_and_its_outcome_is_known(
    private_redis: Callable[[], RealRedis],
) -> None:
    server = private_redis()
    async with a_world(server.url, "test") as world:
        await world.start_bridge(BRIDGE_DEFAULT_AGENT="1")
        root = await world.mention(ALICE, GENERAL, "hello there")
        await world.answered(GENERAL, root)

        for number in range(1, 4):
            server.send_signal(signal.SIGSTOP)
            await world.slack.people.say(ALICE, GENERAL, f"reply {number}", thread_ts=root)
            server.send_signal(signal.SIGCONT)
            answers = await world.answered(GENERAL, root, 1 + number)

            assert "can't tell whether" not in answers[-1], (
                "the receiving process learned that its worker has the message"
            )
            refused = [one for one in world.slack.deliveries if one.status == HTTPStatus.SERVICE_UNAVAILABLE]
            assert len(refused) >= number, "Slack was asked to retry it"

        assert world.chats() == ["hello there", *(f"reply {number}" for number in range(1, 4))]
