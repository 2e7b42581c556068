"""Reading Slack's history: our own messages by their metadata, and other people's messages in a thread."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.errors import SlackRefused, SlackUnreachable
from bridge.ids import new_turn_id
from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.playground.emulator.sample import BRIDGE_BOT
from bridge.slack.api import Identity, SlackWeb
from bridge.slack.history import NEWEST, Recalled, ThreadMessage
from bridge.slack.parts import MessageTag, Place, tagged_parts
from bridge.slack.post import Poster
from support.payloads import AS_MARKDOWN, PASTED, forward
from support.sample_posts import SINCE, TURN, US
from support.slack_fixtures import Json, answers, asked, at_once, limited
from support.store import BOT
from support.tables import each

ROOT = "1700000000.000100"
HERE = Place("C1", ROOT)
REPLIES = "conversations.replies"


@pytest.fixture
def poster(slack_web: SlackWeb) -> Poster:
    return Poster(slack_web, US, sleep=at_once)


def at(number: int) -> str:
    return f"1700000000.{100 + number:06d}"


def said(number: int, text: str, **more: Any) -> Json:
    return {"ts": at(number), "user": "U1", "text": text, "thread_ts": ROOT, **more}


def tagged(turn: str = TURN, part: str = "0", **more: Any) -> Json:
    payload = {"turn": turn, "part": part, "agent": 3, "session": more.pop("session", 77)}
    tag = {"event_type": "bridge_turn", "event_payload": payload}
    return {"ts": f"17.{part}", "bot_id": BRIDGE_BOT, "metadata": tag, **more}


def page(*messages: Any, cursor: str = "") -> Json:
    return {"ok": True, "messages": list(messages), "response_metadata": {"next_cursor": cursor}}


# Our own messages


@each(
    "message",
    [
        tagged(bot_id="B2"),
        tagged(bot_id=None, user="U1"),
        tagged(turn="another"),
        {"ts": "1.1", "bot_id": BRIDGE_BOT},
        {"ts": "1.1", "bot_id": BRIDGE_BOT, "metadata": {"event_type": "bridge_turn", "event_payload": {"turn": TURN}}},
        {
            "ts": "1.1",
            "bot_id": BRIDGE_BOT,
            "metadata": "odd",
            "files": ["odd", {"name": None}, {"name": "output.json"}],
        },
        {"ts": "1.1", "user": "U1", "files": [{"name": f"output-{TURN}-file0.json"}]},
        {"ts": "1.1", "bot_id": BRIDGE_BOT, "blocks": ["odd", {"block_id": None}, {"block_id": "bridge_another:0"}]},
        "odd",
    ],
)
async def test_finding_accepts_only_the_bots_messages_of_the_turn(
    emulated: EmulatedSlack, poster: Poster, message: Any
) -> None:
    answers(emulated, REPLIES, page(message))

    assert await poster.history().find(HERE, TURN, SINCE) == {}


async def test_finding_in_a_channel_also_reads_the_thread(emulated: EmulatedSlack, poster: Poster) -> None:
    file = {"ts": "17.5", "bot_id": BRIDGE_BOT, "files": [{"name": f"output-{TURN}-file0.json"}]}
    answers(emulated, "conversations.history", page(tagged()))
    answers(emulated, REPLIES, page(tagged(), file))

    assert await poster.history().find(Place("C1"), TURN, SINCE) == {"0": "17.0", "file0": "17.5"}
    assert asked(emulated, REPLIES)[0]["ts"] == "17.0"


@each(
    ("name", "made"),
    [
        ("output.json", f"output-{TURN}-file3.json"),
        ("", f"file-{TURN}-file3.txt"),
        ("README", f"README-{TURN}-file3.txt"),
        ("../../etc/a.b.md", f"a.b-{TURN}-file3.md"),
    ],
)
def test_a_files_name_identifies_its_part(name: str, made: str) -> None:
    assert MessageTag("bridge_turn", TURN).file_name(name, "file3") == made
    assert list(tagged_parts(TURN, {"files": [{"name": made}]})) == ["file3"]
    assert list(tagged_parts(new_turn_id(), {"files": [{"name": made}]})) == []


# Other people's messages


async def test_own_answers_and_run_cards_are_read_on_request(emulated: EmulatedSlack, poster: Poster) -> None:
    own = {"bot_id": BRIDGE_BOT, "user": BOT}
    card = {"event_type": "bridge_run", "event_payload": {"turn": TURN, "part": "0"}}
    notice = {"event_type": "bridge_turn", "event_payload": {"turn": TURN, "part": "0"}}
    answer = {**tagged(), **said(1, "an answer", **own)}
    answers(
        emulated,
        REPLIES,
        page(said(0, "root"), answer, said(2, "✅ Report", **own, metadata=card), said(3, "!", **own, metadata=notice)),
    )

    read = await poster.history().read_thread(HERE, before=at(4), with_own=True)

    assert [(one.text, one.is_own) for one in read.newest] == [("an answer", True), ("✅ Report", True)]


@each(
    ("message", "expected"),
    [
        (said(1, "see", files=[{"title": "Plan", "name": "plan.pdf"}, {"name": "b.png"}]),
         ThreadMessage("U1", "", "see", ("plan.pdf", "b.png"))),
        (said(1, "see", attachments=[forward("it is <@U3>", files=[{"name": "c.png"}]), PASTED]),
         ThreadMessage("U1", "", "see\n\nA forwarded message from Ada Lovelace in <#C2> "
                       "(https://acme.slack.com/archives/C2/p1724952281623809):\n> it is &lt;@U3&gt;"
                       f"\n\nA table:\n\n{AS_MARKDOWN}", ("c.png",))),
        (said(1, "", files=[{"name": "b.png"}], subtype="file_share"), ThreadMessage("U1", "", "", ("b.png",))),
        (said(1, "down!", subtype="bot_message", bot_id="B2", username="Alarm", user=""),
         ThreadMessage("", "Alarm", "down!")),
        (said(1, "", bot_id="B2", bot_profile={"name": "Alarm"}, attachments=[{"fallback": "CPU at 99 %"}]),
         ThreadMessage("U1", "Alarm", "CPU at 99 %")),
        (said(1, "all of you", subtype="thread_broadcast"), ThreadMessage("U1", "", "all of you")),
        (said(1, "has joined", subtype="channel_join"), None),
        (said(1, "secret", hidden=True), None),
        (said(1, "  "), None),
        ({"ts": None, "text": 5, "files": ["?"], "attachments": "?", "bot_profile": 3, "user": "U1"}, None),
    ],
)  # fmt: skip
async def test_a_message_is_a_persons_text_or_skipped(
    emulated: EmulatedSlack, poster: Poster, message: Json, expected: ThreadMessage | None
) -> None:
    answers(emulated, REPLIES, page(said(0, "the root"), message))

    assert (await poster.history().read_thread(HERE, before=at(3))).newest == ((expected,) if expected else ())


async def test_a_long_thread_is_read_to_its_newest_messages(emulated: EmulatedSlack, poster: Poster) -> None:
    answers(
        emulated,
        REPLIES,
        page(said(0, "the root"), *(said(number, str(number)) for number in range(1, 31)), cursor="more"),
        page(*(said(number, str(number)) for number in range(31, 61))),
    )

    read = await poster.history().read_thread(HERE, before=at(99))

    assert [one.text for one in read.newest] == [str(number) for number in range(61 - NEWEST, 61)]
    assert read.left_out == 60 - NEWEST


async def test_an_interrupted_read_returns_the_messages_so_far(emulated: EmulatedSlack, poster: Poster) -> None:
    answers(emulated, REPLIES, page(said(0, "the root"), tagged(), said(1, "one"), cursor="more"), limited(60))

    read = await poster.history().read_thread(HERE, before=at(3))

    assert ([one.text for one in read.newest], read.recalled) == (["one"], Recalled(3, 77))
    assert isinstance(read.cut_short, SlackUnreachable)
    with pytest.raises(SlackUnreachable):  # no result at all if nothing was read
        await poster.history().read_thread(HERE)


def short_page(first: int, *, cursor: str = "", replies: int = 40) -> Json:
    """A page for an app limited to one call a minute: the root and fourteen replies."""
    root = said(0, "the root", reply_count=replies, latest_reply=at(replies))
    return page(root, *(said(number, str(number)) for number in range(first, first + 14)), cursor=cursor)


async def test_with_short_pages_the_next_read_starts_near_the_end(emulated: EmulatedSlack, poster: Poster) -> None:
    root = said(0, "the root", reply_count=40, latest_reply=at(40))
    answers(emulated, REPLIES, short_page(1, cursor="more"), limited(60), short_page(27))
    answers(emulated, "conversations.history", page(root))

    beginning = await poster.history().read_thread(HERE, before=at(41))
    newest = await poster.history().read_thread(HERE, before=at(41))

    assert (beginning.newest[0].text, beginning.left_out, bool(beginning.cut_short)) == ("1", 25, True)
    assert (newest.newest[-1].text, newest.left_out, newest.cut_short) == ("40", 25, None)
    assert newest.root is not None
    assert float(at(26)) < float(asked(emulated, REPLIES)[2]["oldest"]) < float(at(40))


async def test_without_messages_near_the_end_the_beginning_is_read(emulated: EmulatedSlack, poster: Poster) -> None:
    root = said(0, "the root", reply_count=40, latest_reply=at(40))
    answers(emulated, REPLIES, short_page(1, cursor="more"), limited(60), page(root), short_page(1, cursor="more"))
    answers(emulated, "conversations.history", page(root))

    await poster.history().read_thread(HERE, before=at(999_000))
    read = await poster.history().read_thread(HERE, before=at(999_000))

    assert (read.newest[0].text, read.left_out) == ("1", 25)
    assert "oldest" not in asked(emulated, REPLIES)[3]


async def test_with_short_pages_only_one_page_is_read(emulated: EmulatedSlack, poster: Poster) -> None:
    answers(emulated, REPLIES, short_page(1, cursor="more"), limited(60), short_page(20, cursor="more"))
    answers(emulated, "conversations.history", page(said(0, "the root", reply_count=40)))

    await poster.history().read_thread(HERE, before=at(41))
    read = await poster.history().read_thread(HERE, before=at(41))

    assert (len(read.newest), read.left_out, read.cut_short, read.stops_early) == (14, 25, None, True)
    assert len(asked(emulated, REPLIES)) == 3


@pytest.mark.parametrize("answer", [limited(60), page(), page({"ts": ROOT}), page({"ts": ROOT, "reply_count": 3})])
async def test_a_thread_of_unknown_length_is_read_from_its_beginning(
    emulated: EmulatedSlack, poster: Poster, answer: Any
) -> None:
    answers(emulated, REPLIES, short_page(1, cursor="more"), limited(60), page(said(0, "the root"), said(1, "one")))
    answers(emulated, "conversations.history", answer)

    await poster.history().read_thread(HERE, before=at(41))
    read = await poster.history().read_thread(HERE, before=at(41))

    assert "oldest" not in asked(emulated, REPLIES)[2]
    assert ([one.text for one in read.newest], read.left_out) == (["one"], 0)


async def test_a_long_page_shows_that_pages_are_not_short(emulated: EmulatedSlack, poster: Poster) -> None:
    answers(
        emulated,
        REPLIES,
        short_page(1, cursor="more"),
        limited(60),
        page(*(said(number, str(number)) for number in range(30)), cursor="more"),
        page(said(31, "the last")),
    )

    await poster.history().read_thread(HERE, before=at(41))
    read = await poster.history().read_thread(HERE, after=at(1), before=at(41))

    assert read.newest[-1].text == "the last"


@pytest.mark.parametrize(
    ("channel", "scopes", "is_read"),
    [
        ("C1", {"channels:history"}, True),
        ("C1", {"groups:history"}, True),  # can't tell whether the channel is private
        ("C1", {"mpim:history"}, True),
        ("C1", {"im:history", "chat:write"}, False),
        ("D1", {"im:history"}, True),
        ("D1", {"channels:history"}, False),
        ("C1", set(), True),  # Slack didn't list the scopes
    ],
)
async def test_without_the_permission_slack_is_not_called(
    emulated: EmulatedSlack, slack_web: SlackWeb, channel: str, scopes: set[str], *, is_read: bool
) -> None:
    answers(emulated, REPLIES, page())
    poster = Poster(slack_web, Identity(US.team, "", US.bot_user, US.bot_id, scopes=frozenset(scopes)))

    if is_read:
        await poster.history().read_thread(Place(channel, ROOT))
    else:
        with pytest.raises(SlackRefused):
            await poster.history().read_thread(Place(channel, ROOT))

    assert bool(asked(emulated, REPLIES)) is is_read
