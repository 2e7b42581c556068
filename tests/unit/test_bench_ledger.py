"""The benchmark's ledger catches every lost, duplicated, misplaced or out-of-order message."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bench.fakes import FakeProject, FakeSlack, Ledger, Verdict
from bench.traffic import ChatMessage

ROOT = "1790000000.000001"
FIRST, SECOND = ChatMessage(ROOT, 0), ChatMessage(ROOT, 1)


@pytest.mark.parametrize(
    ("posts", "expected"),
    [
        ([FIRST, SECOND], Verdict()),
        ([FIRST], Verdict(lost=1)),
        ([FIRST, SECOND, SECOND], Verdict(doubled=1)),
        ([SECOND, FIRST], Verdict(out_of_order=1)),
        ([], Verdict(lost=2)),
    ],
)
def test_the_ledger_sees_each_post(posts: Sequence[ChatMessage], expected: Verdict) -> None:
    ledger = Ledger()

    for message in posts:
        ledger.note_post(message, message.thread)

    assert ledger.verdict([FIRST, SECOND]) == expected


def test_the_ledger_sees_a_post_in_another_thread() -> None:
    ledger = Ledger()

    ledger.note_post(FIRST, "1790000000.000777")

    assert ledger.verdict([FIRST]).wrong == 1


def test_the_ledger_sees_a_repeated_request() -> None:
    ledger = Ledger()
    ledger.note_post(FIRST, ROOT)

    session = ledger.note_request(FIRST, None)
    ledger.note_request(FIRST, session)

    assert ledger.verdict([FIRST]) == Verdict(asked_twice=1)


@pytest.mark.parametrize("session", [None, 7])
def test_the_ledger_sees_a_turn_without_its_session(session: int | None) -> None:
    ledger = Ledger()

    ledger.note_request(FIRST, None)
    ledger.note_request(SECOND, session)

    assert ledger.verdict([]).wrong == 1


def test_the_ledger_counts_requests_in_flight() -> None:
    ledger = Ledger()

    ledger.note_request(FIRST, None)
    ledger.note_request(ChatMessage("1790000000.000002", 0), None)
    ledger.note_answer(FIRST)

    assert (ledger.in_flight, ledger.most_in_flight) == (1, 2)


async def test_an_answer_is_waited_for() -> None:
    ledger = Ledger()
    slack, sent = FakeSlack(ledger), list[bytes]()

    posted = ledger.expect(FIRST)
    body = b'{"channel": "C", "thread_ts": "%b", "text": "%b"}' % (ROOT.encode(), FIRST.answer.encode())
    slack.answer(b"/api/chat.postMessage", body, sent.append)

    await posted
    assert b'"ok": true' in sent[0]
    assert ledger.verdict([FIRST]).is_clean


def test_the_agent_repeats_the_words_and_gives_each_thread_a_session() -> None:
    ledger = Ledger()
    project, sent = FakeProject(ledger), list[bytes]()

    project.answer(b"/api/sdk/agents/1/chat", b'{"message": "%b"}' % FIRST.words.encode(), sent.append)
    body = b'{"message": "%b", "sessionId": 1001}' % SECOND.words.encode()
    project.answer(b"/api/sdk/agents/1/chat", body, sent.append)

    assert [FIRST.answer.encode() in sent[0], SECOND.answer.encode() in sent[1]] == [True, True]
    assert ledger.wrong == []


def test_a_post_that_is_not_an_answer_is_noticed() -> None:
    ledger = Ledger()

    FakeSlack(ledger).answer(b"/api/chat.postMessage", b'{"text": "an error"}', list[bytes]().append)

    assert ledger.verdict([]).wrong == 1
