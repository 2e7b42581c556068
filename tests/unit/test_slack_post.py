"""What goes out to Slack: parts, plainer forms where blocks are refused, files, doubt, private lines and updates."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st

from bridge.errors import SlackAmbiguous, SlackRefused, SlackUnreachable
from bridge.playground.emulator.sample import BRIDGE_BOT
from bridge.slack import parts
from bridge.slack.api import SlackWeb
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Attachment, Block, Reply
from bridge.slack.parts import MessageTag, Place
from bridge.slack.post import ExistingParts, Recipient, Say
from support.clocks import Clock
from support.saying import FOOTER, HERE, SECTION, SINCE, TAG, TURN, US, answer, long_markdown
from support.store import CHANNEL
from support.wire_slack import CutOff, Json, Raw, WireSlack, limited, refused

POST, UPDATE, EPHEMERAL, URL = "chat.postMessage", "chat.update", "chat.postEphemeral", "the_response_url"
CHART: Block = {"type": "data_visualization", "title": "T", "chart": {"type": "pie", "segments": []}}
TABLE: Block = {"type": "data_table", "caption": "T", "rows": []}
CHARTED = Reply(text="all of it", blocks=(CHART, TABLE), plainer=((TABLE,), (kit.section("in words"),)))
BOTH, TABLE_ONLY, IN_WORDS = ["data_visualization", "data_table"], ["data_table"], ["section"]
RAN = Reply(text="ran", blocks=(SECTION,), files=(Attachment(name="output.json", content="{}"),))


async def post(say: Say, reply: Reply, existing: ExistingParts | None = None, place: Place = HERE) -> str:
    return await say.post(place, reply, TAG, {} if existing is None else existing)


def numbers(slack: WireSlack) -> list[str]:
    return [message["metadata"]["event_payload"]["part"] for message in slack.posted]


def markdown_of(slack: WireSlack) -> str:
    return "".join(message["blocks"][0]["text"] for message in slack.posted)


def kinds(slack: WireSlack, method: str = POST) -> list[list[str]]:
    return [[block["type"] for block in asked.get("blocks") or []] for asked in slack.calls(method)]


def without(*refused_kinds: str, error: str = "invalid_blocks") -> Callable[[Json], Json | CutOff]:
    """Answer as a workspace that does not take these kinds of blocks."""

    def react(asked: Json) -> Json:
        used = {block["type"] for block in asked.get("blocks") or []}
        return refused(error) if used & set(refused_kinds) else {"ok": True, "ts": "1.2"}

    return react


# Parts


async def test_an_answer_is_a_markdown_block_with_fallback_and_tag(slack: WireSlack, say: Say) -> None:
    existing: ExistingParts = {}

    ts = await post(say, answer("**Hello**", footer=(FOOTER,)), existing)

    body = {
        "channel": CHANNEL,
        "thread_ts": HERE.thread_ts,
        "text": "An answer",
        "blocks": [{"type": "markdown", "text": "**Hello**"}, FOOTER],
        "metadata": {
            "event_type": "bridge_turn",
            "event_payload": {"turn": TURN, "part": "0", "parts": 1, "agent": 3, "session": 77},
        },
        "unfurl_links": False,
        "unfurl_media": False,
    }
    assert slack.asked == [(POST, body)]
    assert existing == {"0": ts}


async def test_a_long_answer_is_several_messages_with_its_footer_last(slack: WireSlack, say: Say) -> None:
    markdown = long_markdown(30_000)

    ts = await post(say, answer(markdown, footer=(FOOTER,)))

    assert numbers(slack) == ["0", "1", "2"]
    assert ts == slack.posted[0]["ts"]
    assert markdown_of(slack) == markdown
    assert [FOOTER in message["blocks"] for message in slack.posted] == [False, False, True]
    assert all(message["text"] for message in slack.posted)


async def test_an_answer_pings_nobody_in_any_form(slack: WireSlack, say: Say) -> None:
    slack.script[POST] = [refused("invalid_blocks"), {"ok": True}]

    await post(say, answer("<!channel> and <@U2>, @here"))

    for message in slack.calls(POST):
        for shown in [message["text"], *(block["text"] for block in message.get("blocks", []))]:
            assert not any(ping in shown for ping in ("<!channel>", "<@U2>", "@here"))


async def test_text_without_blocks_makes_no_links_of_bare_words(slack: WireSlack, say: Say) -> None:
    await post(say, Reply(text="words", blocks=(SECTION,)), place=Place(CHANNEL))
    await post(say, Reply(text="words"))

    blocks, text = slack.posted
    assert (blocks["blocks"], "thread_ts" in blocks, "parse" in blocks) == ([SECTION], False, False)
    assert (text["text"], text["parse"], "blocks" in text) == ("words", "none", False)


async def test_a_successor_posts_only_missing_parts(slack: WireSlack, say: Say) -> None:
    existing = {"0": "1.1", "2": "1.3"}

    for _ in range(2):
        assert await post(say, answer(long_markdown(30_000)), existing) == "1.1"

    assert numbers(slack) == ["1"]


async def test_a_very_long_answer_is_its_beginning_and_a_file(slack: WireSlack, say: Say) -> None:
    markdown = long_markdown(150_000)

    await post(say, answer(markdown, footer=(FOOTER,)))

    (message,) = slack.posted
    assert markdown.startswith(message["blocks"][0]["text"])
    assert FOOTER in message["blocks"]
    assert slack.calls("the_upload") == [{"bytes": markdown.encode()}]
    (wanted,), (shared,) = slack.calls("files.getUploadURLExternal"), slack.calls("files.completeUploadExternal")
    assert wanted["length"] == str(len(markdown.encode()))
    assert (shared["files"], shared["thread_ts"]) == ([{"id": "F1", "title": "answer.md"}], HERE.thread_ts)


@pytest.mark.parametrize("may_upload", [True, False])
async def test_a_very_long_answer_whose_file_is_refused_is_messages(
    slack: WireSlack, say: Say, say_without_files: Say, *, may_upload: bool
) -> None:
    markdown = long_markdown(150_000)
    slack.script["files.completeUploadExternal"] = [refused("missing_scope")]

    await post(say if may_upload else say_without_files, answer(markdown))

    assert len(slack.posted) > 8
    assert markdown_of(slack) == markdown


@given(st.text(alphabet="ab &;<>\n", max_size=300), st.integers(min_value=8, max_value=50))
def test_pieces_are_the_whole_text_within_the_limit(text: str, limit: int) -> None:
    found = parts.pieces(text, limit)

    assert all(0 < len(piece) <= limit for piece in found)
    assert "".join("".join(found).split()) == "".join(text.split())  # only what nobody sees is left out


@given(st.lists(st.sampled_from(["&amp;", "&lt;", "&gt;", "word", "x"]), max_size=80))
def test_a_cut_never_tears_an_entity(words: list[str]) -> None:
    for piece in [*parts.pieces("".join(words), 17), parts.cut("".join(words), 17)]:
        assert len(piece) <= 17
        assert piece.count("&") == piece.count(";")


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("one two\n\nthree four", "one two\n\n"),
        ("one two\nthree four", "one two\n"),
        ("one two three four", "one two "),
        ("onetwothreefour", "onetwothree"),
    ],
)
def test_text_is_cut_where_it_reads_best(text: str, first: str) -> None:
    assert parts.pieces(text, 11)[0] == first


@pytest.mark.parametrize("reply", [Reply(text=""), Reply(text=" ", markdown=" \n")])
async def test_an_empty_reply_is_no_message(slack: WireSlack, say: Say, reply: Reply) -> None:
    assert await post(say, reply) == ""
    assert slack.asked == []


# Plainer forms


@pytest.mark.parametrize("error", ["invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "block_mismatch"])
async def test_refused_blocks_become_plain_text_and_lose_nothing(slack: WireSlack, say: Say, error: str) -> None:
    markdown = long_markdown(10_000)
    slack.script[POST] = [refused(error), {"ok": True}]

    await post(say, answer(markdown))

    assert "".join(slack.texts()) == markdown
    assert all(len(text) <= 4000 for text in slack.texts())
    assert all("blocks" not in message for message in slack.posted)


async def test_an_answer_begun_as_plain_text_is_finished_as_such(slack: WireSlack, say: Say) -> None:
    markdown = long_markdown(10_000)
    slack.script[POST] = [refused("invalid_blocks"), {"ok": True}, CutOff()]
    slack.script["conversations.replies"] = [refused("missing_scope")]
    with pytest.raises(SlackAmbiguous):
        await post(say, answer(markdown))
    del slack.script["conversations.replies"]

    slack.script[POST] = [{"ok": True}]
    await post(say, answer(markdown), await say.find(HERE, TURN, SINCE))

    assert "".join(slack.texts()) == markdown


async def test_text_that_is_refused_as_well_becomes_a_file(slack: WireSlack, say: Say) -> None:
    slack.script[POST] = [refused("invalid_blocks"), refused("msg_too_long")]

    await post(say, answer("The answer"))

    assert slack.calls("the_upload") == [{"bytes": b"The answer"}]
    (shared,) = slack.calls("files.completeUploadExternal")
    assert (shared["channel_id"], shared["thread_ts"]) == (HERE.channel, HERE.thread_ts)


@pytest.mark.parametrize("reply", [answer("Hello"), CHARTED])
async def test_a_refusal_not_about_blocks_is_final(slack: WireSlack, say: Say, reply: Reply) -> None:
    slack.script[POST] = [refused("is_archived")]

    with pytest.raises(SlackRefused, match="is_archived"):
        await post(say, reply)

    assert slack.methods() == [POST]


@pytest.mark.parametrize(
    ("workspace", "tried"),
    [
        (without(), [BOTH, BOTH]),
        (without("data_visualization"), [BOTH, TABLE_ONLY, TABLE_ONLY]),
        (without("data_visualization", "data_table"), [BOTH, TABLE_ONLY, IN_WORDS, IN_WORDS]),
        (without("data_visualization", error="msg_blocks_too_long"), [BOTH, TABLE_ONLY, BOTH, TABLE_ONLY]),
        (without(*BOTH, *IN_WORDS), [BOTH, TABLE_ONLY, IN_WORDS, []] * 2),  # says nothing about any kind
    ],
)
async def test_a_refused_kind_of_block_is_tried_once(
    slack: WireSlack, say: Say, workspace: Callable[[Json], Json | CutOff], tried: list[list[str]]
) -> None:
    slack.script[POST] = [workspace]

    for _ in range(2):
        await post(say, CHARTED)

    assert kinds(slack) == tried
    assert slack.texts() == ["all of it"] * 2


async def test_a_refusal_of_one_method_counts_for_the_others(slack: WireSlack, say: Say) -> None:
    slack.script |= {method: [without("data_visualization")] for method in (EPHEMERAL, UPDATE)}

    await say.whisper(Recipient(CHANNEL, "U1"), CHARTED)
    await say.update(CHANNEL, "5.0", CHARTED, TAG)
    await post(say, CHARTED)

    assert [kinds(slack, method) for method in (EPHEMERAL, UPDATE, POST)] == [
        [BOTH, TABLE_ONLY], [TABLE_ONLY], [TABLE_ONLY],
    ]  # fmt: skip


async def test_an_answer_without_its_refused_buttons_keeps_markdown(slack: WireSlack, say: Say) -> None:
    slack.script[POST] = [without("context_actions")]

    for _ in range(2):
        await post(say, answer("**Hello**", footer=({"type": "context_actions", "elements": []},)))

    assert kinds(slack) == [["markdown", "context_actions"], ["markdown"], ["markdown"]]


async def test_refused_metadata_moves_into_a_block_and_is_found(slack: WireSlack, say: Say) -> None:
    slack.script[POST] = [refused("metadata_too_large"), {"ok": True}]

    ts = await post(say, answer("Hello"))

    (message,) = slack.posted
    assert "metadata" not in message
    assert await say.find(HERE, TURN, SINCE) == {"0": ts}


# Files


async def test_attachments_follow_once_into_the_messages_thread(slack: WireSlack, say: Say) -> None:
    existing: ExistingParts = {}

    ts = await post(say, RAN, existing, Place(CHANNEL))
    await post(say, RAN, existing, Place(CHANNEL))

    (shared,) = slack.calls("files.completeUploadExternal")
    assert shared["thread_ts"] == ts
    assert slack.calls("the_upload") == [{"bytes": b"{}"}]


async def test_a_shared_file_is_found_by_its_name(slack: WireSlack, say: Say) -> None:
    await post(say, RAN)
    name = slack.calls("files.getUploadURLExternal")[0]["filename"]
    slack.posted.append({"ts": "1700000009.1", "bot_id": BRIDGE_BOT, "files": [{"name": name}]})

    existing = await say.find(HERE, TURN, SINCE)
    await post(say, RAN, existing)

    assert existing == {"0": slack.posted[0]["ts"], "file0": "1700000009.1"}
    assert len(slack.calls("the_upload")) == 1


async def test_without_files_an_attachment_is_shown_as_text(slack: WireSlack, say_without_files: Say) -> None:
    content = "\n".join(f"line {number} of <b>" for number in range(600))

    await post(say_without_files, Reply(text="ran", files=(Attachment(name="output.txt", content=content),)))

    assert "".join(slack.texts()[1:]).replace("&lt;", "<").replace("&gt;", ">") == content


async def test_an_upload_that_broke_off_is_repeated(slack: WireSlack, say: Say) -> None:
    slack.script["the_upload"] = [CutOff()]
    existing: ExistingParts = {}

    with pytest.raises(SlackUnreachable):
        await post(say, RAN, existing)
    slack.script["the_upload"] = [Raw("OK")]
    await post(say, RAN, existing)

    assert slack.texts() == ["ran"]
    assert len(slack.calls("files.completeUploadExternal")) == 1


# Time and doubt


async def test_a_429_is_waited_out(slack: WireSlack, web: SlackWeb) -> None:
    clock = Clock()

    async def sleep(seconds: float) -> None:
        clock.time += seconds
        await asyncio.sleep(0)

    slack.script[POST] = [limited(3), {"ok": True}]

    await post(Say(web, US, monotonic=clock, sleep=sleep), answer("Hello"))

    assert len(slack.posted) == 1
    assert clock.time == pytest.approx(1003)


async def test_a_429_beyond_the_budget_says_when_to_come_back(slack: WireSlack, say: Say) -> None:
    slack.script[POST] = [{"ok": True}, limited(30)]
    existing: ExistingParts = {}

    with pytest.raises(SlackUnreachable) as caught:
        await post(say, answer(long_markdown(30_000)), existing)

    assert caught.value.retry_after is not None
    assert caught.value.retry_after > timedelta(seconds=29)
    assert list(existing) == ["0"]


async def test_a_call_without_time_left_is_not_begun(slack: WireSlack, web: SlackWeb) -> None:
    clock = Clock()

    def slowly(_: Json) -> Json:
        clock.time += 9.5
        return {"ok": True}

    slack.script[POST] = [slowly]
    existing: ExistingParts = {}

    with pytest.raises(SlackUnreachable):
        await post(Say(web, US, monotonic=clock), answer(long_markdown(30_000)), existing)

    assert list(existing) == ["0"]
    assert len(slack.posted) == 1


async def test_a_post_whose_answer_was_lost_is_not_repeated(slack: WireSlack, say: Say) -> None:
    def lost(message: Json) -> Any:
        slack.keep(message)
        return CutOff()

    slack.script[POST] = [lost]

    assert await post(say, answer("Hello")) == slack.posted[0]["ts"]
    assert slack.methods() == [POST, "conversations.replies"]


async def test_a_post_that_never_arrived_is_repeated(slack: WireSlack, say: Say) -> None:
    slack.script[POST] = [Raw(status=502), {"ok": True}]

    await post(say, answer("Hello"))

    assert len(slack.posted) == 1


async def test_a_second_doubt_is_not_settled_by_a_third_post(slack: WireSlack, say: Say) -> None:
    slack.script[POST] = [CutOff()]

    with pytest.raises(SlackAmbiguous):
        await post(say, answer("Hello"))

    assert len(slack.calls(POST)) == 2


@pytest.mark.parametrize("look", [refused("missing_scope"), limited(60), Raw(status=500)])
async def test_a_doubt_remains_where_nobody_can_look(slack: WireSlack, say: Say, look: Any) -> None:
    slack.script[POST] = [CutOff(), {"ok": True}]
    slack.script["conversations.replies"] = [look]

    with pytest.raises(SlackAmbiguous):
        await post(say, answer("Hello"))

    assert slack.posted == []


# Private lines, responses, updates, forms


async def test_a_private_line_goes_by_response_url(slack: WireSlack, say: Say) -> None:
    reply = Reply(text="psst", blocks=(SECTION,), replaces_original=True)

    await say.whisper(Recipient(CHANNEL, "U1", response_url=f"{slack.api}{URL}"), reply)

    ((name, body),) = slack.asked
    assert (name, body["response_type"], body["replace_original"]) == (URL, "ephemeral", True)
    assert (body["text"], body["blocks"]) == ("psst", [SECTION])


async def test_a_private_line_whose_url_is_used_up_is_ephemeral(slack: WireSlack, say: Say) -> None:
    slack.script[URL] = [Raw("used_url", 404)]

    await say.whisper(Recipient(CHANNEL, "U1", "1.1", f"{slack.api}{URL}"), Reply(text="psst"))

    (message,) = slack.calls(EPHEMERAL)
    assert message == {"channel": CHANNEL, "user": "U1", "thread_ts": "1.1", "text": "psst", "parse": "none"}


async def test_a_private_line_that_reaches_nobody_is_an_error(slack: WireSlack, say: Say) -> None:
    slack.script[EPHEMERAL] = [refused("user_not_in_channel")]

    with pytest.raises(SlackRefused, match="user_not_in_channel"):
        await say.whisper(Recipient(CHANNEL, "U1"), Reply(text="psst"))


async def test_a_private_line_shows_files_as_text(slack: WireSlack, say: Say) -> None:
    slack.script[EPHEMERAL] = [refused("invalid_blocks"), {"ok": True}]
    reply = Reply(text="psst", blocks=(SECTION,), files=(Attachment(name="a.txt", content="a < b"),))
    existing: ExistingParts = {}

    for _ in range(2):
        await say.whisper(Recipient(CHANNEL, "U1"), reply, existing)

    assert [(asked["text"], "blocks" in asked) for asked in slack.calls(EPHEMERAL)] == [
        ("psst", True), ("psst", False), ("a &lt; b", False),
    ]  # fmt: skip
    assert slack.posted == []


async def test_a_response_is_shown_to_the_channel(slack: WireSlack, say: Say) -> None:
    slack.script[URL] = [Raw("invalid_blocks", 400), Raw("ok")]

    await say.respond(f"{slack.api}{URL}", Reply(text="ran", blocks=(SECTION,)), {})

    _, body = slack.calls(URL)
    assert (body["response_type"], body["text"], "blocks" in body) == ("in_channel", "ran", False)


async def test_an_update_replaces_text_blocks_and_tag(slack: WireSlack, say: Say) -> None:
    await say.update(CHANNEL, "1.1", Reply(text="x" * 5000, blocks=(SECTION,)), MessageTag("bridge_run", TURN))

    (body,) = slack.calls(UPDATE)
    assert (body["channel"], body["ts"], body["blocks"], body["parse"]) == (CHANNEL, "1.1", [SECTION], "none")
    assert (len(body["text"]), body["metadata"]["event_type"]) == (4000, "bridge_run")


async def test_an_update_goes_down_to_text_and_clears_blocks(slack: WireSlack, say: Say) -> None:
    slack.script[UPDATE] = [without(*BOTH, *IN_WORDS)]

    await say.update(CHANNEL, "5.0", CHARTED, TAG)

    assert kinds(slack, UPDATE) == [BOTH, TABLE_ONLY, IN_WORDS, []]
    assert (slack.calls(UPDATE)[-1]["text"], slack.calls(UPDATE)[-1]["blocks"]) == ("all of it", [])


async def test_an_update_with_refused_metadata_goes_without(slack: WireSlack, say: Say) -> None:
    slack.script[UPDATE] = [
        lambda asked: refused("metadata_too_large") if asked.get("metadata") else {"ok": True, "ts": "1.2"}
    ]

    await say.update(CHANNEL, "1.1", CHARTED, TAG)

    assert [bool(asked.get("metadata")) for asked in slack.calls(UPDATE)] == [True, False]


async def test_an_update_puts_files_once_into_the_thread(slack: WireSlack, say: Say) -> None:
    slack.posted.append({"ts": "5.5", "thread_ts": "5.1", "bot_id": BRIDGE_BOT})

    await say.update(CHANNEL, "5.5", RAN, TAG)
    name = slack.calls("files.getUploadURLExternal")[0]["filename"]
    slack.posted.append({"ts": "5.6", "bot_id": BRIDGE_BOT, "files": [{"name": name}]})
    await say.update(CHANNEL, "5.5", RAN, TAG)

    (shared,) = slack.calls("files.completeUploadExternal")
    assert shared["thread_ts"] == "5.1"


async def test_a_form_is_opened_by_its_trigger(slack: WireSlack, say: Say) -> None:
    await say.open_form("123.456", {"type": "modal"})

    assert slack.asked == [("views.open", {"trigger_id": "123.456", "view": {"type": "modal"}})]
