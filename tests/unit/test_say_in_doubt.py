"""What is done when Slack holds us back, or nobody knows what became of a message; and how messages are found."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from bridge.errors import SlackAmbiguous, SlackUnreachable
from bridge.slack.api import SlackWeb
from bridge.slack.blockkit.reply import Attachment, Reply
from bridge.slack.history import Place, Recalled
from bridge.slack.post import ExistingParts, Say
from support.clocks import Clock
from support.saying import HERE, MARK, SINCE, TURN, US, answer, long_markdown
from support.wire_slack import CutOff, Json, Raw, WireSlack, limited, refused


async def test_a_429_is_waited_out(slack: WireSlack, web: SlackWeb) -> None:
    clock = Clock()
    slack.script["chat.postMessage"] = [limited(3), {"ok": True}]
    say = Say(web, US, monotonic=clock, sleep=lambda seconds: _pass(clock, seconds))

    await say.post(HERE, answer("Hello"), MARK, ExistingParts())

    assert len(slack.posted) == 1
    assert clock.time == pytest.approx(1003)


async def _pass(clock: Clock, seconds: float) -> None:
    clock.time += seconds
    await asyncio.sleep(0)


async def test_a_429_beyond_the_budget_says_when_to_come_back_and_what_is_done(slack: WireSlack, say: Say) -> None:
    slack.script["chat.postMessage"] = [{"ok": True}, limited(30)]
    existing = ExistingParts()

    with pytest.raises(SlackUnreachable) as caught:
        await say.post(HERE, answer(long_markdown(30_000)), MARK, existing)

    assert caught.value.retry_after is not None
    assert caught.value.retry_after > timedelta(seconds=29)
    assert list(existing) == ["0"]
    slack.script["chat.postMessage"] = [{"ok": True}]


async def test_in_doubt_a_message_that_is_there_is_not_posted_again(slack: WireSlack, say: Say) -> None:
    def lost(message: Json) -> Any:
        slack.keep(message)
        return CutOff()

    slack.script["chat.postMessage"] = [lost]

    ts = await say.post(HERE, answer("Hello"), MARK, ExistingParts())

    assert len(slack.posted) == 1
    assert ts == slack.posted[0]["ts"]
    assert slack.methods() == ["chat.postMessage", "conversations.replies"]


async def test_in_doubt_a_message_that_is_surely_not_there_is_posted(slack: WireSlack, say: Say) -> None:
    slack.script["chat.postMessage"] = [Raw(status=502), {"ok": True}]

    await say.post(HERE, answer("Hello"), MARK, ExistingParts())

    assert len(slack.posted) == 1


@pytest.mark.parametrize("look", [refused("missing_scope"), limited(60), Raw(status=500)])
async def test_where_nobody_can_look_the_doubt_remains(slack: WireSlack, say: Say, look: Any) -> None:
    slack.script["chat.postMessage"] = [CutOff(), {"ok": True}]
    slack.script["conversations.replies"] = [look]

    with pytest.raises(SlackAmbiguous):
        await say.post(HERE, answer("Hello"), MARK, ExistingParts())

    assert slack.posted == []


async def test_a_second_doubt_is_not_settled_by_a_third_post(slack: WireSlack, say: Say) -> None:
    slack.script["chat.postMessage"] = [CutOff()]

    with pytest.raises(SlackAmbiguous):
        await say.post(HERE, answer("Hello"), MARK, ExistingParts())

    assert len(slack.calls("chat.postMessage")) == 2


def marked(turn: str = TURN, part: str = "0", **more: Any) -> Json:
    payload = {"turn": turn, "part": part, "agent": 3, "session": 77}
    return {
        "ts": f"17.{part}",
        "bot_id": "B1",
        "metadata": {"event_type": "bridge_turn", "event_payload": payload},
        **more,
    }


async def test_finding_goes_through_all_pages_of_the_thread(slack: WireSlack, say: Say) -> None:
    slack.script["conversations.replies"] = [
        {"ok": True, "messages": [marked(part="0")], "response_metadata": {"next_cursor": "more"}},
        {"ok": True, "messages": [marked(part="1")], "response_metadata": {"next_cursor": ""}},
    ]

    assert await say.find(HERE, TURN, SINCE) == ExistingParts({"0": "17.0", "1": "17.1"})

    first, second = slack.calls("conversations.replies")
    assert first["include_all_metadata"] == "true"
    assert (first["ts"], float(first["oldest"])) == (HERE.thread_ts, SINCE.timestamp())
    assert second["cursor"] == "more"


@pytest.mark.parametrize(
    "message",
    [
        marked(bot_id="B2"),
        marked(bot_id=None, user="U1"),
        marked(turn="another"),
        {"ts": "1.1", "bot_id": "B1"},
        {"ts": "1.1", "bot_id": "B1", "metadata": {"event_type": "bridge_turn", "event_payload": {"turn": TURN}}},
        {"ts": "1.1", "bot_id": "B1", "metadata": "odd", "files": ["odd", {"name": None}, {"name": "output.json"}]},
        {"ts": "1.1", "user": "U1", "files": [{"name": f"output-{TURN}-file0.json"}]},
        "odd",
    ],
)
async def test_finding_believes_only_own_messages_of_the_turn(slack: WireSlack, say: Say, message: Any) -> None:
    slack.script["conversations.replies"] = [{"ok": True, "messages": [message]}]

    assert await say.find(HERE, TURN, SINCE) == ExistingParts()


async def test_finding_in_a_channel_looks_below_the_message_too(slack: WireSlack, say: Say) -> None:
    slack.script["conversations.history"] = [{"ok": True, "messages": [marked()]}]
    file = {"ts": "17.5", "bot_id": "B1", "files": [{"name": f"output-{TURN}-file0.json"}]}
    slack.script["conversations.replies"] = [{"ok": True, "messages": [marked(), file]}]

    assert await say.find(Place("C1"), TURN, SINCE) == ExistingParts({"0": "17.0", "file0": "17.5"})
    assert slack.calls("conversations.replies")[0]["ts"] == "17.0"


async def test_the_newest_answer_of_a_thread_says_which_session_it_was(slack: WireSlack, say: Say) -> None:
    newer = marked(turn="later")
    newer["metadata"]["event_payload"]["session"] = 78
    forged = marked(turn="forged", bot_id="B2")
    forged["metadata"]["event_payload"]["session"] = 666
    notice = {"ts": "18", "bot_id": "B1", "metadata": {"event_type": "bridge_notice", "event_payload": {}}}
    slack.script["conversations.replies"] = [{"ok": True, "messages": [marked(), newer, forged, notice]}]

    assert (await say.read_thread(HERE)).recalled == Recalled(agent=3, session=78)


async def test_a_thread_without_answers_says_nothing(say: Say) -> None:
    assert (await say.read_thread(HERE)).recalled is None


async def test_a_page_that_comes_too_late_does_not_take_away_what_was_recalled(slack: WireSlack, say: Say) -> None:
    first: Json = {"ok": True, "messages": [marked()], "response_metadata": {"next_cursor": "more"}}
    slack.script["conversations.replies"] = [first, limited(60)]

    assert (await say.read_thread(HERE)).recalled == Recalled(agent=3, session=77)


async def test_a_thread_that_cannot_be_read_recalls_nothing_by_mistake(slack: WireSlack, say: Say) -> None:
    slack.script["conversations.replies"] = [limited(60)]

    with pytest.raises(SlackUnreachable):
        await say.read_thread(HERE)


async def test_what_nobody_saw_of_a_file_may_be_sent_again(slack: WireSlack, say: Say) -> None:
    slack.script["the_upload"] = [CutOff()]
    existing = ExistingParts()
    reply = Reply(text="ran", files=(Attachment(name="output.txt", content="all of it"),))

    with pytest.raises(SlackUnreachable):
        await say.post(HERE, reply, MARK, existing)
    slack.script["the_upload"] = [Raw("OK")]
    await say.post(HERE, reply, MARK, existing)

    assert slack.texts() == ["ran"]
    assert len(slack.calls("files.completeUploadExternal")) == 1


async def test_what_cannot_be_ended_in_time_is_not_begun(slack: WireSlack, web: SlackWeb) -> None:
    clock = Clock()

    def slowly(_: Json) -> Json:
        clock.time += 9.5
        return {"ok": True}

    slack.script["chat.postMessage"] = [slowly]
    existing = ExistingParts()

    with pytest.raises(SlackUnreachable):
        await Say(web, US, monotonic=clock).post(HERE, answer(long_markdown(30_000)), MARK, existing)

    assert list(existing) == ["0"]
    assert len(slack.posted) == 1
