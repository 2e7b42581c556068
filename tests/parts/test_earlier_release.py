"""Turns of the release before, whose processes may still run: each reads and marks what the other has queued."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

import pytest

from bridge.engine.results import After, NewThread, Outcome
from bridge.features.approvals.records import ApproverAsked, RequestPosted
from bridge.features.approvals.request import Request
from bridge.features.conversations.records import AnswerShown, QueuedAgain
from bridge.features.incidents.records import IncidentChange
from bridge.features.registry import features
from bridge.features.schedules.records import PostedReport
from bridge.features.standing.records import PostedThing
from bridge.ids import TurnId
from bridge.inbound import from_json, to_json
from bridge.queue.journal import TurnChanged
from bridge.queue.records import Taken
from bridge.queue.stops import StopResult
from bridge.queue.trace import trace_of
from bridge.queue.watches import TurnStopped
from bridge.slack.blockkit.kit import reply
from support.store import LANE, PREFIX, ROOT, START, Process, Store, key_of, message, ts

_MS = int(START.timestamp() * 1000)
_CAME = f'[{_MS},"old:1","Ev1",1,"it mentions the bot"]'


async def earlier(store: Store, **fields: str) -> TurnId:
    """Queue a turn as the release before does, with more *fields*."""
    turn = await store.queue(agent=1)
    key = f"{PREFIX}turn:{turn}"
    await store.redis.hdel(key, "log", "token")
    await store.redis.hset(key, mapping={"came": _CAME, **fields})
    return turn


async def fields_of(store: Store, turn: TurnId, *names: str) -> list[str | None]:
    return [await store.field(turn, name) for name in names]


async def test_its_turn_is_answered(store: Store) -> None:
    turn = await earlier(store, takes="1", process=f"{_MS} old:1", edits="1", searches="1", unread="1")
    process = store.process()

    taken = await process.take()
    await process.journal.sent(taken)
    await process.journal.outcome(taken, "hello", what="answered")
    await process.journal.done(taken, what="answered")

    record = taken.record
    assert (record.takes, record.searches, record.has_unread_thread, record.end) == (2, True, True, "")
    assert await fields_of(store, turn, "step", "what") == ["done", "answered"]


async def test_its_log_is_read(store: Store) -> None:
    steps = {"t_sent": str(_MS + 1), "t_outcome": str(_MS + 2), "t_done": str(_MS + 3), "step": "done"}
    more = {"behind": "2", "unsent": "1", "edits": "3", "cause": "HTTP 500", "deaths": f"{_MS + 4} Slack: is_archived"}
    await earlier(store, process=f"{_MS} old:1", retries=str(_MS + 5), dropped=str(_MS + 6), **steps, **more)

    (found,) = (await trace_of(store.scripts, key_of(ROOT))).turns

    assert [one.why for one in found.deliveries] == ["it mentions the bot"]
    assert [process for _, process in found.takes] == ["old:1"]
    times = (found.sent_at, found.answered_at, found.retries[0], found.dropped_at)
    assert [round((at - START).total_seconds() * 1000) for at in times if at] == [1, 2, 5, 6]
    assert (found.behind, found.unsent, found.edits, found.cause) == (2, 1, 3, "HTTP 500")
    assert found.deaths[0][1] == "Slack: is_archived"


async def _stop(process: Process) -> None:
    assert (await process.inbox.stops.stop(LANE, ts(9))).result is StopResult.QUEUED


async def _delete(process: Process) -> None:
    assert await process.inbox.withdraw(key_of(ROOT)) == "withdrawn"


async def _edit(process: Process) -> None:
    assert await process.inbox.edit(message("hello again").model_copy(update={"edited_ts": ts(5)})) == "edited"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_stop, {"stopped": "queued", "withdrawn": "1"}),
        (_delete, {"deleted": "thread", "withdrawn": "1"}),
        (_edit, {"edits": "1"}),
    ],
)
async def test_a_process_that_works_on_it_notices_changes(
    store: Store, change: Callable[[Process], Awaitable[None]], expected: dict[str, str]
) -> None:
    turn = await earlier(store)

    await change(store.process())

    assert dict(zip(expected, await fields_of(store, turn, *expected), strict=True)) == expected


@pytest.mark.parametrize(
    ("marks", "error"),
    [
        ({"edits": "1"}, TurnChanged),
        ({"withdrawn": "1"}, TurnChanged),
        ({"stopped": "queued", "withdrawn": "1"}, TurnChanged),
        ({"deleted": "message", "withdrawn": "1"}, TurnChanged),
        ({"discarded": "stopped 2"}, TurnChanged),
    ],
)
async def test_its_mark_on_a_turn_taken_here_is_noticed(
    store: Store, marks: dict[str, str], error: type[Exception]
) -> None:
    turn = await store.queue(agent=1)
    taken = await store.process().take()
    await store.redis.hset(f"{PREFIX}turn:{turn}", mapping=marks)

    with pytest.raises(error):
        await store.process().journal.sent(taken)


@pytest.mark.parametrize(
    ("marks", "end"),
    [
        ({"stopped": "sent", "withdrawn": "1"}, "stopped sent"),
        ({"deleted": "message", "withdrawn": "1", "stopped": "deleted"}, "deleted message"),
        ({"deleted": "message"}, "private"),
        ({"discarded": "stopped 2"}, "discarded stopped 2"),
        ({"withdrawn": "1"}, "withdrawn"),
    ],
)
async def test_its_mark_is_read_with_the_turn(store: Store, marks: dict[str, str], end: str) -> None:
    turn = await store.queue(agent=1)
    await store.redis.hset(f"{PREFIX}turn:{turn}", mapping=marks)

    taken = await store.process().take()

    assert isinstance(taken, Taken)
    assert taken.record.end == end


async def test_its_stop_of_a_sent_turn_hides_the_answer(store: Store) -> None:
    turn = await store.queue(agent=1)
    process = store.process()
    taken = await process.take()
    await process.journal.sent(taken)
    await store.redis.hset(f"{PREFIX}turn:{turn}", mapping={"stopped": "sent", "withdrawn": "1"})

    with pytest.raises(TurnStopped):
        await process.journal.outcome(taken, "hello", what="answered")


@pytest.mark.parametrize(
    "after",
    [
        NewThread(agent=7, text="hello"),
        QueuedAgain(turn="t1"),
        AnswerShown(turn="t1", agent="Support"),
        RequestPosted(approval="a1"),
        ApproverAsked(approval="a1", user="U1"),
        PostedReport(report="r1", called="daily", slot=START, words="12 runs"),
    ],
    ids=lambda after: after.kind,
)
def test_what_is_left_to_do_is_read_without_its_kind(after: After) -> None:
    stored = Outcome(what="shown", reply=reply("hello"), after=(after,)).model_dump(mode="json")
    del stored["after"][0]["kind"]

    assert Outcome.from_json(json.dumps(stored)).after == (after,)


def test_what_is_left_to_do_is_told_apart_by_its_fields() -> None:
    assert features.events  # all features are imported, and with them their classes
    kinds = [*After.__subclasses__(), *PostedThing.__subclasses__()]
    fields = [frozenset(kind.model_fields) for kind in kinds if "kind" in kind.model_fields]

    assert len(fields) == len(set(fields)) > 10


def test_the_detail_of_an_episodes_change_is_stored_as_it_reads_it() -> None:
    change = IncidentChange(
        team="T1", channel="C1", user="", incident="dead", does="begins", at=START, since=START, detail="2 dead letters"
    )
    stored = to_json(change)

    assert json.loads(stored)["said"] == "2 dead letters"
    assert from_json(stored) == change


def test_the_message_of_a_request_for_approval_is_stored_as_it_reads_it() -> None:
    request = Request(
        team="T1", channel="C1", asker="U1", workflow=3, name="Refund", digest="0f", terms="-", asked_at=START,
        until=START, message_ts=ROOT,
    )  # fmt: skip
    stored = request.model_dump_json()

    assert json.loads(stored)["said"] == ROOT
    assert Request.model_validate_json(stored) == request
