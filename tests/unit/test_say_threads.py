"""Reading a thread in Slack: what people and other apps said in it, without what the bot says itself."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.errors import SlackRefused, SlackUnreachable
from bridge.slack.api import Identity, SlackWeb
from bridge.slack.history import NEWEST, Place, Recalled, ThreadMessage
from bridge.slack.post import Say
from support.saying import US
from support.wire_slack import Json, WireSlack, limited

ROOT = "1700000000.000100"
HERE = Place("C1", ROOT)
REPLIES = "conversations.replies"


def at(number: int) -> str:
    return f"1700000000.{100 + number:06d}"


def said(number: int, text: str, **more: Any) -> Json:
    return {"ts": at(number), "user": "U1", "text": text, "thread_ts": ROOT, **more}


def page(*messages: Json, cursor: str = "") -> Json:
    return {"ok": True, "messages": list(messages), "response_metadata": {"next_cursor": cursor}}


async def test_it_reads_the_root_and_what_was_said_before_the_question(slack: WireSlack, say: Say) -> None:
    slack.script[REPLIES] = [
        page(said(0, "the root"), said(1, "one"), said(2, "two", user="U2"), said(3, "the question"), said(4, "later"))
    ]

    read = await say.read_thread(HERE, before=at(3))

    assert read.root == ThreadMessage("U1", "", "the root")
    assert read.newest == (ThreadMessage("U1", "", "one"), ThreadMessage("U2", "", "two"))
    assert (read.left_out, read.recalled, read.cut_short) == (0, None, None)


async def test_after_a_message_it_reads_only_what_is_newer_and_no_root(slack: WireSlack, say: Say) -> None:
    slack.script[REPLIES] = [page(said(0, "the root"), said(1, "heard"), said(2, "new"))]

    read = await say.read_thread(HERE, after=at(1), before=at(3))

    assert (read.root, [one.text for one in read.newest]) == (None, ["new"])
    assert slack.calls(REPLIES)[0]["oldest"] == at(1)


async def test_what_the_bot_says_is_left_out_and_tells_its_session(slack: WireSlack, say: Say) -> None:
    metadata = {"event_type": "bridge_turn", "event_payload": {"turn": "t", "part": 0, "agent": 3, "session": 77}}
    answer = said(1, "an answer", bot_id="B1", user="UBOT", metadata=metadata)
    slack.script[REPLIES] = [page(said(0, "the root"), answer, said(2, "a notice", bot_id="B1", user="UBOT"))]

    read = await say.read_thread(HERE, before=at(3))

    assert (read.recalled, read.newest) == (Recalled(3, 77), ())


async def test_a_root_of_the_bot_is_what_people_talk_about(slack: WireSlack, say: Say) -> None:
    slack.script[REPLIES] = [page(said(0, "a report", bot_id="B1", user="UBOT"), said(1, "hm"))]

    read = await say.read_thread(HERE, before=at(3))

    assert read.root is not None
    assert (read.root.text, read.root.user) == ("a report", "UBOT")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (said(1, "see", files=[{"title": "Plan", "name": "plan.pdf"}, {"name": "b.png"}]),
         ThreadMessage("U1", "", "see", ("Plan", "b.png"))),
        (said(1, "", files=[{"name": "b.png"}], subtype="file_share"), ThreadMessage("U1", "", "", ("b.png",))),
        (said(1, "down!", subtype="bot_message", bot_id="B2", username="Alarm", user=""),
         ThreadMessage("", "Alarm", "down!")),
        (said(1, "", bot_id="B2", bot_profile={"name": "Alarm"}, attachments=[{"fallback": "CPU at 99 %"}]),
         ThreadMessage("", "Alarm", "CPU at 99 %")),
        (said(1, "all of you", subtype="thread_broadcast"), ThreadMessage("U1", "", "all of you")),
        (said(1, "has joined", subtype="channel_join"), None),
        (said(1, "secret", hidden=True), None),
        (said(1, "  "), None),
        ({"ts": None, "text": 5, "files": ["?"], "attachments": "?", "bot_profile": 3, "user": "U1"}, None),
    ],
)  # fmt: skip
async def test_what_counts_as_said(slack: WireSlack, say: Say, message: Json, expected: ThreadMessage | None) -> None:
    slack.script[REPLIES] = [page(said(0, "the root"), message)]

    read = await say.read_thread(HERE, before=at(3))

    assert read.newest == ((expected,) if expected else ())


async def test_of_a_long_thread_it_keeps_the_newest_and_counts_the_others(slack: WireSlack, say: Say) -> None:
    slack.script[REPLIES] = [
        page(said(0, "the root"), *(said(number, str(number)) for number in range(1, 31)), cursor="more"),
        page(*(said(number, str(number)) for number in range(31, 61))),
    ]

    read = await say.read_thread(HERE, before=at(99))

    assert [one.text for one in read.newest] == [str(number) for number in range(61 - NEWEST, 61)]
    assert read.left_out == 60 - NEWEST


async def test_what_was_read_before_slack_wanted_a_pause_is_better_than_nothing(slack: WireSlack, say: Say) -> None:
    slack.script[REPLIES] = [page(said(0, "the root"), said(1, "one"), cursor="more"), limited(60)]

    read = await say.read_thread(HERE, before=at(3))

    assert [one.text for one in read.newest] == ["one"]
    assert isinstance(read.cut_short, SlackUnreachable)


@pytest.mark.parametrize(
    ("channel", "scopes", "is_read"),
    [
        ("C1", {"channels:history"}, True),
        ("C1", {"groups:history"}, True),  # whether a channel is private cannot be seen
        ("C1", {"im:history", "chat:write"}, False),
        ("D1", {"im:history"}, True),
        ("D1", {"channels:history"}, False),
        ("C1", set(), True),  # Slack did not say
    ],
)
async def test_without_the_permission_slack_is_not_asked(
    slack: WireSlack, web: SlackWeb, channel: str, scopes: set[str], *, is_read: bool
) -> None:
    say = Say(web, Identity(US.team, "", US.bot_user, US.bot_id, scopes=frozenset(scopes)))

    if is_read:
        await say.read_thread(Place(channel, ROOT))
    else:
        with pytest.raises(SlackRefused):
            await say.read_thread(Place(channel, ROOT))

    assert bool(slack.calls(REPLIES)) is is_read
