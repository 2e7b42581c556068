"""Runs, forms, clicks and threads that are begun by command: each at most once."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from redis.asyncio import Redis

from bridge.errors import SlackAmbiguous, SlackRefused, StoreUnavailable
from bridge.features.conversations.menu import CHOOSE
from bridge.features.notices import SEND_AGAIN
from bridge.ids import TurnId
from bridge.inbound import Click, Inbound, SlashCommand
from bridge.queue.inbox import Queued
from bridge.queue.records import Conversation
from support.store import CHANNEL, PREFIX, ROOT, TEAM, THREAD, USER, message
from support.turns import SALES, SUPPORT, Bench, killed
from support.waiting import wait_until

URL = "https://slack.test/response"


async def queue(bench: Bench, inbound: Inbound, event: str = "e1") -> TurnId:
    put = await bench.store.process().inbox.put(inbound, event=event)
    assert isinstance(put, Queued)
    return put.turn


def command(line: str, **changes: Any) -> SlashCommand:
    name, _, text = line.partition(" ")
    fields = {"team": TEAM, "channel": CHANNEL, "user": USER, "response_url": URL, "trigger_id": "trigger"}
    return SlashCommand(command=name, text=text, **fields | changes)


def click(action: str, value: str = "", **changes: Any) -> Click:
    fields: dict[str, Any] = {
        "team": TEAM, "channel": CHANNEL, "user": USER, "message_ts": "1700000900.000100", "thread_ts": ROOT,
    }  # fmt: skip
    return Click(action_id=action, value=value, **fields | changes)


async def test_a_run_is_started_once_and_its_result_is_posted(bench: Bench) -> None:
    turn = await queue(bench, command("/workflows run 3 my secret input"))

    await bench.work()

    assert bench.service.runs == ["my secret input"]
    (card,) = bench.say.replies("bridge_run")
    assert (card.tag.turn, card.place.thread_ts) == (turn, "")
    assert await bench.store.results.get(turn) == {"n": 1}
    assert not await bench.store.holds_words("my secret input")


@pytest.mark.parametrize("answer", [httpx.Response(500), httpx.ReadTimeout("slow"), httpx.Response(400)])
async def test_a_run_that_went_wrong_is_not_started_again(bench: Bench, answer: httpx.Response | Exception) -> None:
    bench.service.run_answers = [answer]
    await queue(bench, command("/workflows run 3 input"))

    await bench.work()

    assert len(bench.service.runs) == 1
    assert len(bench.say.replies("bridge_run")) == 1


async def test_who_takes_a_run_over_says_that_nobody_knows(bench: Bench) -> None:
    turn = await queue(bench, command("/workflows run 3 input"))
    process = bench.store.process("a")
    taken = await process.take()
    await process.journal.sent(taken, note='{"workflow": 3, "name": "Import", "input": "input"}')

    await bench.take_over("b")

    assert bench.service.runs == []
    assert await bench.store.field(turn, "what") == "unknown"
    assert len(bench.say.replies("bridge_run")) == 1


async def test_the_card_of_a_run_becomes_its_result_though_its_worker_was_killed(bench: Bench) -> None:
    await queue(bench, command("/workflows run 3 input"))
    process = bench.store.process("a")
    taken = await process.take()
    await process.journal.sent(taken, note='{"workflow": 3, "name": "Import", "input": "input"}')
    await process.journal.card(taken, "1700000800.000100")

    await bench.take_over("b")

    assert [ts for ts, _ in bench.say.updates] == ["1700000800.000100"]
    assert bench.say.messages == []


async def test_where_the_bot_may_not_post_the_response_url_is_used(bench: Bench) -> None:
    bench.say.troubles = [SlackRefused("chat.postMessage", "not_in_channel")]
    await queue(bench, command("/workflows run 3 input"))

    await bench.work()

    assert [url for url, _ in bench.say.responses] == [URL]
    assert bench.say.messages == []


async def test_a_form_is_opened_with_the_trigger(bench: Bench) -> None:
    turn = await queue(bench, command("/workflows run 3"))

    await bench.work()

    assert [trigger for trigger, _ in bench.say.forms] == ["trigger"]
    assert await bench.store.field(turn, "what") == "form opened"


async def test_a_trigger_that_is_too_old_brings_a_button_instead(bench: Bench) -> None:
    await queue(bench, command("/workflows run 3"))
    await bench.store.process("a").take()

    await bench.take_over("b")

    assert bench.say.forms == []
    assert len(bench.say.whispers) == 1


async def test_a_chat_begun_by_command_is_one_thread_with_one_question(bench: Bench) -> None:
    bench.say.troubles = [SlackAmbiguous("chat.postMessage")]
    bench.say.ambiguous_arrive = True
    await queue(bench, command("/agents chat Support how are you?"))

    await bench.work()

    (root,) = bench.say.replies("bridge_root")
    (answer,) = bench.say.replies()
    assert (root.place.thread_ts, answer.place.thread_ts) == ("", root.ts)
    assert bench.service.asked == [{"message": "how are you?", "agent": 7}]


async def test_a_chat_begun_by_command_is_asked_once_though_its_worker_was_killed(bench: Bench) -> None:
    bench.say.after.clear()
    await queue(bench, command("/agents chat Support how are you?"))
    task = await bench.begin("a")
    await wait_until(lambda: bench.say.messages, "the root is there")
    await killed(task)
    bench.say.after.set()

    await bench.take_over("b")
    await bench.work("b")

    assert len(bench.say.replies("bridge_root")) == 1
    assert bench.service.messages == ["how are you?"]


async def test_the_choice_in_a_menu_lets_the_message_go_on(bench: Bench) -> None:
    bench.service.agents = [SUPPORT, SALES]
    await bench.store.queue(message("first"))
    await bench.work()
    await queue(bench, click(CHOOSE, "8"))

    await bench.work()

    assert bench.service.asked == [{"message": "first", "agent": 8}]
    assert await bench.store.sessions.thread(THREAD) == Conversation(agent=8, session=42, heard=ROOT)


async def test_send_again_sends_once_however_often_pressed(bench: Bench) -> None:
    bench.service.chats = [httpx.Response(500)]
    turn = await bench.store.queue(message("do it, please"))
    await bench.work()
    for number in range(3):
        await queue(bench, click(SEND_AGAIN, turn), event=f"click-{number}")

    await bench.work()

    assert bench.service.messages == ["do it, please"] * 2
    assert bench.say.words[-1] == "re: do it, please"
    assert not await bench.store.holds_words("do it, please")


async def test_a_text_that_is_no_longer_kept_is_not_sent(bench: Bench, redis: Redis) -> None:
    bench.service.chats = [httpx.Response(500)]
    turn = await bench.store.queue(message("first"))
    await bench.work()
    await redis.delete(f"{PREFIX}turn:{turn}")
    await queue(bench, click(SEND_AGAIN, turn))

    await bench.work()

    assert bench.service.messages == ["first"]
    assert len(bench.say.whispers) == 1


class AwayFor:
    """People whose language can't be looked up for some time, because Redis is away."""

    def __init__(self, times: int) -> None:
        self.left = times

    async def __call__(self, _user: str) -> str:
        self.left -= 1
        if self.left >= 0:
            raise StoreUnavailable("away")
        return ""


async def test_a_handler_waits_for_redis_however_long_it_is_away(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    away = AwayFor(1100)
    monkeypatch.setattr(bench.directory, "user_locale", away)
    await queue(bench, command("/stats"))

    await bench.work()

    assert away.left == -1
    assert "4,321 runs" in bench.say.whispers[0][1].text


async def test_what_a_failed_handler_staged_is_not_written(bench: Bench) -> None:
    turn = await bench.turn(message("hello"), agent=7)
    turn.stage(("push", f"{PREFIX}staged", 86_400_000, "x", 10))

    await turn.begin()

    assert turn.staged == []


async def test_a_handler_has_one_effect_only(bench: Bench) -> None:
    async def effect() -> str:
        return "done"

    turn = await bench.turn(message("hello"), agent=7)
    assert await turn.once(effect) == "done"

    with pytest.raises(RuntimeError, match="one effect"):
        await turn.once(effect)

    await turn.begin()
    assert await turn.once(effect) == "done"
