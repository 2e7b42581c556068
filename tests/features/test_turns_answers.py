"""An uninterrupted turn: the request to the agent, and what people see."""

from __future__ import annotations

from datetime import timedelta

import httpx
import pytest
from redis.asyncio import Redis

from bridge.ids import TurnId
from bridge.playground.emulator.faults import DropAfter, DropBefore, Fault, Http, RateLimited
from bridge.queue.records import NEWEST, Conversation
from bridge.slack.parts import MessageTag, Place
from support.harness import NOT_NOW, POST, READ, WHISPER, Harness
from support.store import CHANNEL, PREFIX, ROOT, THREAD, message, ts

BAD_GATEWAY = httpx.Response(502)
GONE = httpx.Response(404, json={"error": "no such session"})


async def test_a_first_message_is_answered_in_its_thread_and_binds_the_session(harness: Harness) -> None:
    turn = await harness.store.queue(message("<@U0BRIDGE> hello"))

    await harness.work()

    assert harness.service.asked == [{"message": "hello", "agent": 7}]
    (answer,) = harness.seen.messages
    assert (answer.words, answer.place) == ("re: hello", Place(CHANNEL, ROOT))
    assert answer.tag == MessageTag("bridge_turn", turn, agent=7, session=42)
    assert await harness.store.sessions.thread(THREAD) == Conversation(agent=7, session=42, heard=ROOT)
    assert await harness.store.field(turn, "step") == "done"
    assert not await harness.store.contains_text("hello")


CODE = (
    "`table[row.name](row)` and `@here`\n\n```\n<https://evil.example|bank.example> <!channel>\n```\n\n    @everyone\n"
)


async def test_code_in_an_answer_is_posted_as_the_agent_wrote_it(harness: Harness) -> None:
    harness.service.chats.append(
        httpx.Response(200, json={"sessionId": 42, "message": f"{CODE}\nTell @here <!channel>"})
    )
    await harness.store.queue(message("hello"))

    await harness.work()

    (answer,) = harness.seen.messages
    assert answer.words == f"{CODE}\nTell @\u2060here <\u2060!channel>"


async def test_an_answer_of_many_blocks_is_split_before_slacks_limit(harness: Harness) -> None:
    markdown = "## Step\n\nDo this & that.\n\n---\n\n" * 50
    harness.service.chats.append(httpx.Response(200, json={"sessionId": 42, "message": markdown}))
    await harness.store.queue(message("hello"))

    await harness.work()

    assert "".join(answer.words for answer in harness.seen.messages) == markdown
    assert all(call.is_ok for call in harness.seen.called(POST))


async def test_replies_continue_the_session_in_order(harness: Harness) -> None:
    await harness.store.queue(message("first"))
    for number in (1, 2, 3):
        await harness.store.queue(message(f"reply {number}", ts(number)))

    await harness.work()

    assert harness.service.messages == ["first", "reply 1", "reply 2", "reply 3"]
    assert [body.get("sessionId") for body in harness.service.asked] == [None, 42, 42, 42]
    assert harness.seen.texts == ["re: first", "re: reply 1", "re: reply 2", "re: reply 3"]
    assert (harness.seen.reads, harness.seen.statuses) == (0, [])  # quick answers cost one Slack call each


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (httpx.Response(500), "Support answered with an error (500), and I can't tell whether the agent did the work."),
        (
            BAD_GATEWAY,
            "The project service answered with an error (502), and I can't tell whether the agent received your",
        ),
        (httpx.Response(200, text="<html>"), "Support sent an answer I couldn't read, and I can't tell"),
        (httpx.Response(200, json={}), "Support sent an answer I couldn't read, and I can't tell"),
        (
            httpx.Response(200, json={"error": "overloaded"}),
            "Support reported a problem (“overloaded”), and I can't tell",
        ),
        (
            httpx.ReadTimeout("slow"),
            "No answer came from Support within 2 min, and I can't tell whether the agent received your message.",
        ),
        (httpx.ReadError("broken"), "The connection broke before an answer came from Support, and I can't tell"),
    ],
    ids=["500", "502", "no JSON", "another shape", "error in JSON", "time-out", "connection lost"],
)
async def test_an_unknown_outcome_brings_its_cause_a_button_and_no_retry(
    harness: Harness, answer: httpx.Response | Exception, words: str
) -> None:
    harness.service.chats = [answer]
    turn = await harness.store.queue(message("do it once"))
    await harness.store.queue(message("and go on", ts(1)))

    await harness.work()

    assert harness.service.messages == ["do it once", "and go on"]
    unknown, after = harness.seen.messages
    assert words in unknown.words
    assert turn in str(unknown.blocks)
    assert after.words == "re: and go on"
    assert await harness.store.field(turn, "what") == "unknown"
    assert await harness.store.contains_text("do it once")  # needed by the retry button


@pytest.mark.parametrize("status", [400, 401, 403, 413, 422])
async def test_a_rejected_message_brings_a_notice_and_its_text_is_deleted(harness: Harness, status: int) -> None:
    harness.service.chats = [httpx.Response(status, json={"error": "no"})]
    turn = await harness.store.queue(message("something odd"))

    await harness.work()

    assert harness.service.messages == ["something odd"]
    assert len(harness.seen.replies()) == 1
    assert turn not in str(harness.seen.messages[0].blocks)
    assert not await harness.store.contains_text("something odd")


@pytest.mark.parametrize("status", [101, 402, 405, 409, 418, 421, 423, 426, 451, 600])
async def test_nobody_has_to_change_a_message_that_was_not_the_cause(harness: Harness, status: int) -> None:
    harness.service.chats = [httpx.Response(status)]
    await harness.store.queue(message("hello"))

    await harness.work()

    assert str(status) in harness.seen.texts[-1]
    assert "Change" not in harness.seen.texts[-1]
    assert ("can't tell" in harness.seen.texts[-1]) is (status in {101, 600})  # nobody knows what those mean


@pytest.mark.parametrize("session", [None, 42])
async def test_not_found_does_not_mean_that_a_listed_agent_is_gone(harness: Harness, session: int | None) -> None:
    await harness.store.conversation(agent=7)
    await harness.store.sessions.rebind(THREAD, expected=None, session=session)
    harness.service.chats = [GONE, GONE]

    await harness.work()

    assert len(harness.service.asked) == (1 if session is None else 2)
    assert "has this agent, but answered “not found”: “no such session”." in harness.seen.texts[-1]


async def test_a_lost_session_is_replaced_with_the_same_message(harness: Harness) -> None:
    await harness.store.queue(message("first"))
    await harness.work()
    harness.service.chats = [GONE, httpx.Response(200, json={"sessionId": 43, "message": "hello again"})]
    await harness.store.queue(message("second", ts(1)))

    await harness.work()

    _, gone, anew = harness.service.asked
    assert gone == {"message": "second", "sessionId": 42, "agent": 7}
    assert "sessionId" not in anew
    assert "> Alice Adler: first" in anew["message"]  # a new session lacks the history
    assert anew["message"].endswith("second")
    assert "hello again" in harness.seen.texts[-1]
    assert "starts a new one" in str(harness.seen.messages[-1].blocks)
    assert await harness.store.sessions.thread(THREAD) == Conversation(agent=7, session=43, heard=ts(1))


@pytest.mark.parametrize(
    ("second", "words"), [(httpx.Response(500), "can't tell"), (httpx.Response(400), "")], ids=["unknown", "refused"]
)
async def test_the_second_sending_is_the_last(harness: Harness, second: httpx.Response, words: str) -> None:
    await harness.store.conversation(agent=7)
    await harness.store.sessions.rebind(THREAD, expected=None, session=42)
    harness.service.chats = [GONE, second]

    await harness.work()

    assert len(harness.service.asked) == 2
    assert words in harness.seen.texts[-1]


async def test_a_deleted_agent_is_not_asked_again(harness: Harness) -> None:
    await harness.store.conversation(agent=99)
    await harness.store.sessions.rebind(THREAD, expected=None, session=42)
    harness.service.chats = [GONE]

    await harness.work()

    assert len(harness.service.asked) == 1
    assert len(harness.seen.replies()) == 1
    assert await harness.store.sessions.thread(THREAD) == Conversation(agent=99, session=42)


async def test_a_message_that_waited_too_long_is_offered_instead_of_sent(harness: Harness) -> None:
    turn = await harness.store.queue(message("old news"), agent=7)
    harness.store.clock.time += timedelta(hours=25)

    await harness.work()

    assert harness.service.asked == []
    (offer,) = harness.seen.messages
    assert "waited for" in offer.words
    assert turn in str(offer.blocks)
    assert (await harness.store.process().inbox.drafts.put(turn, by=TurnId("click"))).end == "queued"
    await harness.work()
    assert harness.service.messages == ["old news"]


@pytest.mark.parametrize(("fault", "pauses"), [(NOT_NOW, [1, 2]), (RateLimited(30), [30, 30])])
async def test_a_post_that_slack_refused_is_retried_without_reading_history(
    harness: Harness, fault: Fault, pauses: list[float]
) -> None:
    harness.slack.faults.on(POST, fault, times=2)
    await harness.store.queue()

    await harness.work()

    assert harness.seen.texts == ["re: hello there"]
    assert (harness.seen.attempts, harness.seen.reads) == (3, 0)
    assert harness.slept == pauses


@pytest.mark.parametrize("did_arrive", [True, False])
async def test_an_ambiguous_post_is_settled_by_history(harness: Harness, *, did_arrive: bool) -> None:
    harness.slack.faults.on(POST, DropAfter() if did_arrive else DropBefore())
    await harness.store.queue()

    await harness.work()

    assert harness.seen.texts == ["re: hello there"]
    assert (harness.seen.attempts, harness.seen.reads) == ((1, 1) if did_arrive else (2, 3))


async def test_settling_a_post_is_retried_until_slack_answers(harness: Harness) -> None:
    harness.slack.faults.on(POST, DropAfter())
    for fault in (Http(500), NOT_NOW, Http(500)):
        harness.slack.faults.on(READ, fault)
    await harness.store.queue()

    await harness.work()

    assert harness.seen.texts == ["re: hello there"]
    assert (harness.seen.attempts, harness.seen.reads) == (1, 4)


@pytest.mark.parametrize("failures", [0, 1])
async def test_a_mention_without_words_gets_a_notice(harness: Harness, failures: int) -> None:
    harness.slack.faults.on(WHISPER, NOT_NOW, times=failures)
    await harness.store.queue(message("<@U0BRIDGE>"))

    await harness.work()

    assert (harness.service.asked, harness.seen.messages) == ([], [])
    assert len(harness.seen.ephemerals) == 1
    assert "!help" in str(harness.seen.ephemerals[0].blocks)
    await harness.store.queue(message("hello there", ts(1)))
    await harness.work()
    assert harness.service.messages == ["hello there"]


async def test_a_record_of_a_later_release_is_left_to_a_process_that_reads_it(harness: Harness, redis: Redis) -> None:
    turn = await harness.store.queue(message("first"))
    await redis.hset(f"{PREFIX}turn:{turn}", "v", NEWEST + 1)

    await (await harness.start_next())

    assert await harness.store.field(turn, "step") == "queued"
    assert await harness.store.box() == [turn]
    assert await harness.store.entries() == 1
    assert harness.seen.texts == []
