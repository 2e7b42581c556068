"""What is said in Slack: parts, the ladder, files, and what is done in doubt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiohttp import web as aioweb

from bridge.blocks.reply import Attachment, Reply
from bridge.errors import SlackAmbiguous, SlackRefused, SlackUnreachable
from bridge.ids import TurnId
from bridge.metrics import Metrics
from bridge.slack.say import SlackSay
from bridge.slack.web import Identity, SlackWeb, opened
from bridge.turns.ports import Found, Mark, Place, Recalled, Whom
from support.clocks import Clock
from support.wire_slack import CutOff, Json, WireSlack, limited, refused, wire_slack

HERE = Place("C1", "1699999999.000001")
TURN = TurnId("abcDEF123-_xyz00")
MARK = Mark("bridge_turn", TURN, agent=3, session=77)
US = Identity(team="T1", enterprise="", bot_user="UBOT", bot_id="B1", scopes=frozenset({"files:write"}))
NO_FILES = Identity(team="T1", enterprise="", bot_user="UBOT", bot_id="B1")
FOOTER = {"type": "context", "elements": [{"type": "plain_text", "text": "used search"}]}
SECTION = {"type": "section", "text": {"type": "plain_text", "text": "hi"}}
SINCE = datetime(2023, 11, 14, tzinfo=UTC)


def long_markdown(characters: int) -> str:
    lines = [f"Paragraph {number} has some words in it, to be read.\n\n" for number in range(characters // 50 + 1)]
    return "".join(lines)[:characters]


def answer(markdown: str, **more: Any) -> Reply:
    return Reply(text="An answer", markdown=markdown, **more)


@pytest.fixture
async def slack() -> AsyncIterator[WireSlack]:
    async with wire_slack() as slack:
        yield slack


@pytest.fixture
async def web(slack: WireSlack) -> AsyncIterator[SlackWeb]:
    async with opened(slack.api, "xoxb-1", Metrics()) as web:
        yield web


async def _at_once(_: float) -> None:
    await asyncio.sleep(0)


@pytest.fixture
def say(web: SlackWeb) -> SlackSay:
    return SlackSay(web, US, sleep=_at_once)


@pytest.fixture
def say_without_files(web: SlackWeb) -> SlackSay:
    return SlackSay(web, NO_FILES, sleep=_at_once)


def numbers(slack: WireSlack) -> list[int]:
    return [message["metadata"]["event_payload"]["part"] for message in slack.posted]


async def test_an_answer_is_one_markdown_block_with_a_fallback_and_a_mark(slack: WireSlack, say: SlackSay) -> None:
    there = Found({})

    ts = await say.post(HERE, answer("**Hello**", footer=(FOOTER,)), MARK, there)

    assert slack.asked == [
        (
            "chat.postMessage",
            {
                "channel": "C1",
                "thread_ts": "1699999999.000001",
                "text": "An answer",
                "blocks": [{"type": "markdown", "text": "**Hello**"}, FOOTER],
                "metadata": {
                    "event_type": "bridge_turn",
                    "event_payload": {"turn": TURN, "part": 0, "parts": 1, "agent": 3, "session": 77},
                },
                "unfurl_links": False,
                "unfurl_media": False,
            },
        )
    ]
    assert there.parts == {0: ts}


async def test_a_long_answer_is_several_messages_and_its_footer_comes_last(slack: WireSlack, say: SlackSay) -> None:
    markdown = long_markdown(30_000)

    ts = await say.post(HERE, answer(markdown, footer=(FOOTER,)), MARK, Found({}))

    assert numbers(slack) == [0, 1, 2]
    assert ts == slack.posted[0]["ts"]
    assert "".join(message["blocks"][0]["text"] for message in slack.posted) == markdown
    assert [FOOTER in message["blocks"] for message in slack.posted] == [False, False, True]
    assert all(message["text"] for message in slack.posted)


async def test_an_answer_pings_nobody_in_any_form(slack: WireSlack, say: SlackSay) -> None:
    slack.script["chat.postMessage"] = [refused("invalid_blocks"), {"ok": True}]

    await say.post(HERE, answer("<!channel> and <@U2>, @here"), MARK, Found({}))

    for message in slack.calls("chat.postMessage"):
        for shown in [message["text"], *(block["text"] for block in message.get("blocks", []))]:
            assert "<!channel>" not in shown
            assert "<@U2>" not in shown
            assert "@here" not in shown


async def test_blocks_go_out_as_they_are(slack: WireSlack, say: SlackSay) -> None:
    await say.post(Place("C1"), Reply(text="words", blocks=(SECTION,)), MARK, Found({}))

    (message,) = slack.posted
    assert message["blocks"] == [SECTION]
    assert "thread_ts" not in message


async def test_text_alone_makes_no_links_of_bare_words(slack: WireSlack, say: SlackSay) -> None:
    await say.post(HERE, Reply(text="words"), MARK, Found({}))

    (message,) = slack.posted
    assert (message["text"], message["parse"]) == ("words", "none")
    assert "blocks" not in message


async def test_a_successor_posts_only_what_is_missing(slack: WireSlack, say: SlackSay) -> None:
    there = Found({0: "1.1", 2: "1.3"})

    ts = await say.post(HERE, answer(long_markdown(30_000)), MARK, there)

    assert numbers(slack) == [1]
    assert ts == "1.1"
    assert sorted(there.parts) == [0, 1, 2]


async def test_when_everything_is_there_nothing_is_posted(slack: WireSlack, say: SlackSay) -> None:
    assert await say.post(HERE, answer("Hello"), MARK, Found({0: "1.1"})) == "1.1"
    assert slack.asked == []


@pytest.mark.parametrize("error", ["invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "block_mismatch"])
async def test_refused_blocks_become_plain_text_and_lose_nothing(
    slack: WireSlack, say: SlackSay, error: str
) -> None:
    markdown = long_markdown(10_000)
    slack.script["chat.postMessage"] = [refused(error), {"ok": True}]

    await say.post(HERE, answer(markdown), MARK, Found({}))

    assert "".join(slack.texts()) == markdown
    assert all(len(text) <= 4000 for text in slack.texts())
    assert all("blocks" not in message for message in slack.posted)


async def test_what_was_begun_as_plain_text_is_finished_as_that(slack: WireSlack, say: SlackSay) -> None:
    markdown = long_markdown(10_000)
    slack.script["chat.postMessage"] = [refused("invalid_blocks"), {"ok": True}, CutOff()]
    slack.script["conversations.replies"] = [refused("missing_scope")]
    with pytest.raises(SlackAmbiguous):
        await say.post(HERE, answer(markdown), MARK, Found({}))
    del slack.script["conversations.replies"]

    slack.script["chat.postMessage"] = [{"ok": True}]
    await say.post(HERE, answer(markdown), MARK, await say.find(HERE, TURN, SINCE))

    assert "".join(slack.texts()) == markdown


async def test_text_that_is_refused_as_well_becomes_a_file(slack: WireSlack, say: SlackSay) -> None:
    slack.script["chat.postMessage"] = [refused("invalid_blocks"), refused("msg_too_long")]

    await say.post(HERE, answer("The answer"), MARK, Found({}))

    assert slack.calls("the_upload") == [{"bytes": b"The answer"}]
    (shared,) = slack.calls("files.completeUploadExternal")
    assert (shared["channel_id"], shared["thread_ts"]) == (HERE.channel, HERE.thread_ts)


async def test_a_refusal_that_has_nothing_to_do_with_blocks_is_final(slack: WireSlack, say: SlackSay) -> None:
    slack.script["chat.postMessage"] = [refused("is_archived")]

    with pytest.raises(SlackRefused, match="is_archived"):
        await say.post(HERE, answer("Hello"), MARK, Found({}))

    assert slack.methods() == ["chat.postMessage"]


async def test_a_very_long_answer_is_its_beginning_and_a_file_with_the_whole(slack: WireSlack, say: SlackSay) -> None:
    markdown = long_markdown(150_000)

    await say.post(HERE, answer(markdown, footer=(FOOTER,)), MARK, Found({}))

    (message,) = slack.posted
    assert markdown.startswith(message["blocks"][0]["text"])
    assert FOOTER in message["blocks"]
    assert slack.calls("the_upload") == [{"bytes": markdown.encode()}]
    (wanted,) = slack.calls("files.getUploadURLExternal")
    assert wanted["length"] == str(len(markdown.encode()))
    (shared,) = slack.calls("files.completeUploadExternal")
    assert shared["files"] == [{"id": "F1", "title": "answer.md"}]
    assert shared["thread_ts"] == HERE.thread_ts


async def test_without_files_a_very_long_answer_is_as_many_messages_as_it_takes(
    slack: WireSlack, say_without_files: SlackSay
) -> None:
    markdown = long_markdown(150_000)

    await say_without_files.post(HERE, answer(markdown), MARK, Found({}))

    assert len(slack.posted) > 8
    assert "".join(message["blocks"][0]["text"] for message in slack.posted) == markdown


async def test_a_file_that_slack_refuses_after_all_goes_on_as_messages(slack: WireSlack, say: SlackSay) -> None:
    markdown = long_markdown(150_000)
    slack.script["files.completeUploadExternal"] = [refused("missing_scope")]

    await say.post(HERE, answer(markdown), MARK, Found({}))

    assert "".join(message["blocks"][0]["text"] for message in slack.posted) == markdown


async def test_attachments_follow_the_message_into_its_thread(slack: WireSlack, say: SlackSay) -> None:
    there = Found({})
    reply = Reply(text="ran", blocks=(SECTION,), files=(Attachment(name="output.json", content='{"a": 1}'),))

    ts = await say.post(Place("C1"), reply, MARK, there)

    (shared,) = slack.calls("files.completeUploadExternal")
    assert shared["thread_ts"] == ts
    assert slack.calls("the_upload") == [{"bytes": b'{"a": 1}'}]
    await say.post(Place("C1"), reply, MARK, there)
    assert len(slack.calls("the_upload")) == 1


async def test_a_file_that_is_there_is_found_by_its_name(slack: WireSlack, say: SlackSay) -> None:
    reply = Reply(text="ran", blocks=(SECTION,), files=(Attachment(name="output.json", content="{}"),))
    await say.post(HERE, reply, MARK, Found({}))
    name = slack.calls("files.getUploadURLExternal")[0]["filename"]
    slack.posted.append({"ts": "1700000009.1", "bot_id": "B1", "files": [{"name": name}]})

    there = await say.find(HERE, TURN, SINCE)
    await say.post(HERE, reply, MARK, there)

    assert sorted(there.parts.values()) == [slack.posted[0]["ts"], "1700000009.1"]
    assert len(slack.calls("the_upload")) == 1


async def test_without_files_an_attachment_is_shown_as_text(slack: WireSlack, say_without_files: SlackSay) -> None:
    content = "\n".join(f"line {number} of <b>" for number in range(600))

    await say_without_files.post(
        HERE, Reply(text="ran", files=(Attachment(name="output.txt", content=content),)), MARK, Found({})
    )

    shown = "".join(slack.texts()[1:]).replace("&lt;", "<").replace("&gt;", ">")
    assert shown == content


async def test_a_429_is_waited_out(slack: WireSlack, web: SlackWeb) -> None:
    clock = Clock()
    slack.script["chat.postMessage"] = [limited(3), {"ok": True}]
    say = SlackSay(web, US, monotonic=clock, sleep=lambda seconds: _pass(clock, seconds))

    await say.post(HERE, answer("Hello"), MARK, Found({}))

    assert len(slack.posted) == 1
    assert clock.time == pytest.approx(1003)


async def _pass(clock: Clock, seconds: float) -> None:
    clock.time += seconds
    await asyncio.sleep(0)


async def test_a_429_beyond_the_budget_says_when_to_come_back_and_what_is_done(slack: WireSlack, say: SlackSay) -> None:
    slack.script["chat.postMessage"] = [{"ok": True}, limited(30)]
    there = Found({})

    with pytest.raises(SlackUnreachable) as caught:
        await say.post(HERE, answer(long_markdown(30_000)), MARK, there)

    assert caught.value.retry_after is not None
    assert caught.value.retry_after > timedelta(seconds=29)
    assert list(there.parts) == [0]
    slack.script["chat.postMessage"] = [{"ok": True}]


async def test_in_doubt_a_message_that_is_there_is_not_posted_again(slack: WireSlack, say: SlackSay) -> None:
    def lost(message: Json) -> Any:
        slack.keep(message)
        return CutOff()

    slack.script["chat.postMessage"] = [lost]

    ts = await say.post(HERE, answer("Hello"), MARK, Found({}))

    assert len(slack.posted) == 1
    assert ts == slack.posted[0]["ts"]
    assert slack.methods() == ["chat.postMessage", "conversations.replies"]


async def test_in_doubt_a_message_that_is_surely_not_there_is_posted(slack: WireSlack, say: SlackSay) -> None:
    slack.script["chat.postMessage"] = [aioweb.Response(status=502), {"ok": True}]

    await say.post(HERE, answer("Hello"), MARK, Found({}))

    assert len(slack.posted) == 1


@pytest.mark.parametrize("look", [refused("missing_scope"), limited(60), aioweb.Response(status=500)])
async def test_where_nobody_can_look_the_doubt_remains(slack: WireSlack, say: SlackSay, look: Any) -> None:
    slack.script["chat.postMessage"] = [CutOff(), {"ok": True}]
    slack.script["conversations.replies"] = [look]

    with pytest.raises(SlackAmbiguous):
        await say.post(HERE, answer("Hello"), MARK, Found({}))

    assert slack.posted == []


async def test_a_second_doubt_is_not_settled_by_a_third_post(slack: WireSlack, say: SlackSay) -> None:
    slack.script["chat.postMessage"] = [CutOff()]

    with pytest.raises(SlackAmbiguous):
        await say.post(HERE, answer("Hello"), MARK, Found({}))

    assert len(slack.calls("chat.postMessage")) == 2


def marked(turn: str = TURN, part: int = 0, **more: Any) -> Json:
    payload = {"turn": turn, "part": part, "agent": 3, "session": 77}
    return {
        "ts": f"17.{part}",
        "bot_id": "B1",
        "metadata": {"event_type": "bridge_turn", "event_payload": payload},
        **more,
    }


async def test_finding_goes_through_all_pages_of_the_thread(slack: WireSlack, say: SlackSay) -> None:
    slack.script["conversations.replies"] = [
        {"ok": True, "messages": [marked(part=0)], "response_metadata": {"next_cursor": "more"}},
        {"ok": True, "messages": [marked(part=1)], "response_metadata": {"next_cursor": ""}},
    ]

    assert await say.find(HERE, TURN, SINCE) == Found({0: "17.0", 1: "17.1"})

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
        {"ts": "1.1", "user": "U1", "files": [{"name": f"output-{TURN}-2000000.json"}]},
        "odd",
    ],
)
async def test_finding_believes_only_own_messages_of_the_turn(slack: WireSlack, say: SlackSay, message: Any) -> None:
    slack.script["conversations.replies"] = [{"ok": True, "messages": [message]}]

    assert await say.find(HERE, TURN, SINCE) == Found({})


async def test_finding_in_a_channel_looks_below_the_message_too(slack: WireSlack, say: SlackSay) -> None:
    slack.script["conversations.history"] = [{"ok": True, "messages": [marked()]}]
    file = {"ts": "17.5", "bot_id": "B1", "files": [{"name": f"output-{TURN}-2000000.json"}]}
    slack.script["conversations.replies"] = [{"ok": True, "messages": [marked(), file]}]

    assert await say.find(Place("C1"), TURN, SINCE) == Found({0: "17.0", 2_000_000: "17.5"})
    assert slack.calls("conversations.replies")[0]["ts"] == "17.0"


async def test_the_newest_answer_of_a_thread_says_which_session_it_was(slack: WireSlack, say: SlackSay) -> None:
    newer = marked(turn="later")
    newer["metadata"]["event_payload"]["session"] = 78
    forged = marked(turn="forged", bot_id="B2")
    forged["metadata"]["event_payload"]["session"] = 666
    notice = {"ts": "18", "bot_id": "B1", "metadata": {"event_type": "bridge_notice", "event_payload": {}}}
    slack.script["conversations.replies"] = [{"ok": True, "messages": [marked(), newer, forged, notice]}]

    assert await say.recall(HERE) == Recalled(agent=3, session=78)


async def test_a_thread_without_answers_says_nothing(slack: WireSlack, say: SlackSay) -> None:
    assert await say.recall(HERE) is None


async def test_a_whisper_goes_by_response_url_while_that_is_good(slack: WireSlack, say: SlackSay) -> None:
    whom = Whom("C1", "U1", response_url=f"{slack.api}the_response_url")

    await say.whisper(whom, Reply(text="psst", blocks=(SECTION,), replaces_original=True))

    ((name, body),) = slack.asked
    assert name == "the_response_url"
    assert (body["response_type"], body["replace_original"]) == ("ephemeral", True)
    assert (body["text"], body["blocks"]) == ("psst", [SECTION])


async def test_a_whisper_whose_url_is_used_up_becomes_an_ephemeral_message(slack: WireSlack, say: SlackSay) -> None:
    slack.script["the_response_url"] = [aioweb.Response(text="used_url", status=404)]
    whom = Whom("C1", "U1", thread_ts="1.1", response_url=f"{slack.api}the_response_url")

    await say.whisper(whom, Reply(text="psst"))

    (message,) = slack.calls("chat.postEphemeral")
    assert (message["channel"], message["user"], message["thread_ts"]) == ("C1", "U1", "1.1")
    assert message["text"] == "psst"


async def test_a_whisper_that_reaches_nobody_is_an_error(slack: WireSlack, say: SlackSay) -> None:
    slack.script["chat.postEphemeral"] = [refused("user_not_in_channel")]

    with pytest.raises(SlackRefused, match="user_not_in_channel"):
        await say.whisper(Whom("C1", "U1"), Reply(text="psst"))


async def test_a_whisper_steps_down_the_ladder_and_shows_files_as_text(slack: WireSlack, say: SlackSay) -> None:
    slack.script["chat.postEphemeral"] = [refused("invalid_blocks"), {"ok": True}]
    reply = Reply(text="psst", blocks=(SECTION,), files=(Attachment(name="a.txt", content="a < b"),))

    await say.whisper(Whom("C1", "U1"), reply)

    _, plain, file = slack.calls("chat.postEphemeral")
    assert plain["text"] == "psst"
    assert "blocks" not in plain
    assert file["text"] == "a &lt; b"
    assert slack.posted == []


async def test_responding_shows_it_to_the_channel(slack: WireSlack, say: SlackSay) -> None:
    slack.script["the_response_url"] = [aioweb.Response(text="invalid_blocks", status=400), aioweb.Response(text="ok")]

    await say.respond(f"{slack.api}the_response_url", Reply(text="ran", blocks=(SECTION,)))

    _, body = slack.calls("the_response_url")
    assert (body["response_type"], body["text"]) == ("in_channel", "ran")
    assert "blocks" not in body


async def test_updating_replaces_text_blocks_and_mark(slack: WireSlack, say: SlackSay) -> None:
    await say.update("C1", "1.1", Reply(text="x" * 5000, blocks=(SECTION,)), Mark("bridge_run", TURN))

    (body,) = slack.calls("chat.update")
    assert (body["channel"], body["ts"], body["blocks"], body["parse"]) == ("C1", "1.1", [SECTION], "none")
    assert len(body["text"]) == 4000
    assert body["metadata"]["event_type"] == "bridge_run"


async def test_updating_with_refused_blocks_clears_them(slack: WireSlack, say: SlackSay) -> None:
    slack.script["chat.update"] = [refused("invalid_blocks"), {"ok": True}]

    await say.update("C1", "1.1", Reply(text="ran", blocks=(SECTION,)), MARK)

    assert slack.calls("chat.update")[1]["blocks"] == []


async def test_updating_puts_files_into_the_thread_of_the_message_once(slack: WireSlack, say: SlackSay) -> None:
    reply = Reply(text="ran", blocks=(SECTION,), files=(Attachment(name="output.json", content="{}"),))
    slack.posted.append({"ts": "5.5", "thread_ts": "5.1", "bot_id": "B1"})

    await say.update("C1", "5.5", reply, MARK)
    name = slack.calls("files.getUploadURLExternal")[0]["filename"]
    slack.posted.append({"ts": "5.6", "bot_id": "B1", "files": [{"name": name}]})
    await say.update("C1", "5.5", reply, MARK)

    (shared,) = slack.calls("files.completeUploadExternal")
    assert shared["thread_ts"] == "5.1"


async def test_a_form_is_opened_by_its_trigger(slack: WireSlack, say: SlackSay) -> None:
    await say.open_form("123.456", {"type": "modal"})

    assert slack.asked == [("views.open", {"trigger_id": "123.456", "view": {"type": "modal"}})]
