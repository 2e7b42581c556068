"""A turn that nothing interrupts: what the agent is asked, and what people see."""

from __future__ import annotations

from datetime import timedelta

import httpx
import pytest
from redis.asyncio import Redis

from bridge.errors import SlackAmbiguous, SlackError, SlackUnreachable
from bridge.queue.records import VERSION, Conversation
from support.store import PREFIX, ROOT, THREAD, message, ts
from support.turns import Bench

BAD_GATEWAY = httpx.Response(502)
GONE = httpx.Response(404, json={"error": "no such session"})


async def test_a_first_message_is_answered_in_its_thread_and_binds_the_session(bench: Bench) -> None:
    turn = await bench.store.queue(message("<@UBOT> hello"))

    await bench.work()

    assert bench.service.asked == [{"message": "hello", "agent": 7}]
    (answer,) = bench.say.messages
    assert answer.words == "re: hello"
    assert (answer.place.channel, answer.place.thread_ts) == ("C1", ROOT)
    assert (answer.tag.kind, answer.tag.turn, answer.tag.agent, answer.tag.session) == (
        "bridge_turn", turn, 7, 42,
    )  # fmt: skip
    assert await bench.store.sessions.thread(THREAD) == Conversation(agent=7, session=42, heard=ROOT)
    assert await bench.store.field(turn, "step") == "done"
    assert not await bench.store.holds_words("hello")


async def test_replies_continue_the_session_in_order(bench: Bench) -> None:
    await bench.store.queue(message("first"))
    for number in (1, 2, 3):
        await bench.store.queue(message(f"reply {number}", ts(number)))

    await bench.work()

    assert bench.service.messages == ["first", "reply 1", "reply 2", "reply 3"]
    assert [body.get("sessionId") for body in bench.service.asked] == [None, 42, 42, 42]
    assert bench.say.words == ["re: first", "re: reply 1", "re: reply 2", "re: reply 3"]
    assert (bench.say.looks, bench.say.signs) == (0, [])  # quick answers cost one Slack call each


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(500), BAD_GATEWAY, httpx.Response(200, text="<html>"), httpx.Response(200, json={}),
        httpx.ReadTimeout("slow"), httpx.ReadError("broken"),
    ],
    ids=["500", "502", "no JSON", "another shape", "time-out", "connection lost"],
)  # fmt: skip
async def test_what_nobody_can_know_is_said_with_a_button_and_never_asked_again(
    bench: Bench, answer: httpx.Response | Exception
) -> None:
    bench.service.chats = [answer]
    turn = await bench.store.queue(message("do it once"))
    await bench.store.queue(message("and go on", ts(1)))

    await bench.work()

    assert bench.service.messages == ["do it once", "and go on"]
    unknown, after = bench.say.messages
    assert "not known whether the agent got this message" in unknown.words
    assert turn in str(unknown.reply.blocks)
    assert after.words == "re: and go on"
    assert await bench.store.field(turn, "what") == "unknown"
    assert await bench.store.holds_words("do it once")  # for the button


@pytest.mark.parametrize("status", [400, 401, 403, 413, 422])
async def test_what_was_refused_is_said_and_its_text_leaves(bench: Bench, status: int) -> None:
    bench.service.chats = [httpx.Response(status, json={"error": "no"})]
    turn = await bench.store.queue(message("something odd"))

    await bench.work()

    assert bench.service.messages == ["something odd"]
    assert len(bench.say.replies()) == 1
    assert turn not in str(bench.say.messages[0].reply.blocks)
    assert not await bench.store.holds_words("something odd")


async def test_a_session_that_is_gone_is_begun_anew_with_the_same_message(bench: Bench) -> None:
    await bench.store.queue(message("first"))
    await bench.work()
    bench.service.chats = [GONE, httpx.Response(200, json={"sessionId": 43, "message": "hello again"})]
    await bench.store.queue(message("second", ts(1)))

    await bench.work()

    assert bench.service.asked[1:] == [
        {"message": "second", "sessionId": 42, "agent": 7},
        {"message": "second", "agent": 7},
    ]
    assert "hello again" in bench.say.words[-1]
    assert "begins a new one" in str(bench.say.messages[-1].reply.footer)
    assert await bench.store.sessions.thread(THREAD) == Conversation(agent=7, session=43, heard=ts(1))


@pytest.mark.parametrize(
    ("second", "words"), [(httpx.Response(500), "not known"), (httpx.Response(400), "")], ids=["unknown", "refused"]
)
async def test_the_second_sending_is_the_last(bench: Bench, second: httpx.Response, words: str) -> None:
    await bench.store.conversation(agent=7)
    await bench.store.sessions.rebind(THREAD, expected=None, session=42)
    bench.service.chats = [GONE, second]

    await bench.work()

    assert len(bench.service.asked) == 2
    assert words in bench.say.words[-1]


async def test_an_agent_that_is_gone_is_not_asked_a_second_time(bench: Bench) -> None:
    await bench.store.conversation(agent=99)
    await bench.store.sessions.rebind(THREAD, expected=None, session=42)
    bench.service.chats = [GONE]

    await bench.work()

    assert len(bench.service.asked) == 1
    assert len(bench.say.replies()) == 1
    assert await bench.store.sessions.thread(THREAD) == Conversation(agent=99, session=42)


async def test_a_message_that_waited_too_long_is_offered_instead_of_sent(bench: Bench) -> None:
    turn = await bench.store.queue(message("old news"), agent=7)
    bench.store.clock.time += timedelta(hours=25)

    await bench.work()

    assert bench.service.asked == []
    (offer,) = bench.say.messages
    assert "waited for" in offer.words
    assert turn in str(offer.reply.blocks)
    assert await bench.store.process().inbox.again(turn) == "queued"
    await bench.work()
    assert bench.service.messages == ["old news"]


async def test_a_withdrawn_message_is_passed_over(bench: Bench) -> None:
    await bench.store.queue(message("never mind"))
    await bench.store.queue(message("this one", ts(1)))
    await bench.store.process().inbox.withdraw(message().key)

    await bench.work()

    assert bench.service.messages == ["this one"]
    assert bench.say.words == ["re: this one"]
    assert not await bench.store.holds_words("never mind")


@pytest.mark.parametrize(
    "trouble",
    [SlackUnreachable("chat.postMessage"), SlackUnreachable("chat.postMessage", "", timedelta(seconds=30))],
    ids=["no connection", "429"],
)
async def test_a_post_that_slack_did_not_take_is_made_again_without_looking(
    bench: Bench, trouble: SlackUnreachable
) -> None:
    bench.say.troubles = [trouble, trouble]
    await bench.store.queue()

    await bench.work()

    assert bench.say.words == ["re: hello there"]
    assert (bench.say.attempts, bench.say.looks) == (3, 0)
    assert bench.slept == ([30, 30] if trouble.retry_after else [1, 2])


@pytest.mark.parametrize("did_arrive", [True, False])
async def test_an_ambiguous_post_is_settled_by_looking(bench: Bench, *, did_arrive: bool) -> None:
    bench.say.troubles = [SlackAmbiguous("chat.postMessage")]
    bench.say.ambiguous_arrive = did_arrive
    await bench.store.queue()

    await bench.work()

    assert bench.say.words == ["re: hello there"]
    assert (bench.say.attempts, bench.say.looks) == (1 if did_arrive else 2, 1)


async def test_looking_is_repeated_until_slack_answers(bench: Bench) -> None:
    bench.say.troubles = [SlackAmbiguous("chat.postMessage")]
    bench.say.ambiguous_arrive = True
    bench.say.look_troubles = [SlackUnreachable("conversations.replies"), SlackAmbiguous("conversations.replies")]
    await bench.store.queue()

    await bench.work()

    assert bench.say.words == ["re: hello there"]
    assert (bench.say.attempts, bench.say.looks) == (1, 3)


@pytest.mark.parametrize("troubles", [[], [SlackUnreachable("chat.postEphemeral")]], ids=["", "Slack is away"])
async def test_a_mention_without_words_gets_a_private_line(bench: Bench, troubles: list[SlackError | None]) -> None:
    bench.say.troubles = list(troubles)
    await bench.store.queue(message("<@UBOT>"))

    await bench.work()

    assert (bench.service.asked, bench.say.messages) == ([], [])
    assert len(bench.say.whispers) == 1


async def test_a_record_that_cannot_be_read_is_buried_and_the_lane_goes_on(bench: Bench, redis: Redis) -> None:
    turn = await bench.store.queue(message("first"))
    await bench.store.queue(message("second", ts(1)))
    await redis.hset(f"{PREFIX}turn:{turn}", "body", "no JSON")

    await bench.work()

    assert await bench.store.field(turn, "step") == "dead"
    assert bench.say.words == ["re: second"]


async def test_a_record_of_a_later_release_is_left_to_the_process_that_can_read_it(bench: Bench, redis: Redis) -> None:
    turn = await bench.store.queue(message("first"))
    await redis.hset(f"{PREFIX}turn:{turn}", "v", VERSION + 1)

    await (await bench.begin())

    assert await bench.store.field(turn, "step") == "queued"
    assert await bench.store.box() == [turn]
    assert await bench.store.entries() == 1
    assert bench.say.words == []
