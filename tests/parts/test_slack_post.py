"""Posting to Slack: parts, simpler forms when blocks are refused, files, unknown outcomes, private replies."""

from __future__ import annotations

import asyncio
import html
import re
from datetime import timedelta

import pytest
from hypothesis import example, given, strategies as st

from bridge.errors import SlackAmbiguous, SlackRefused, SlackUnreachable
from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.faults import Error, Fault, Http, RateLimited
from bridge.playground.emulator.sample import ALICE, BRIDGE, GENERAL, TEAM
from bridge.playground.local_server import DropAfter, DropBefore
from bridge.slack import parts
from bridge.slack.api import Identity, SlackWeb
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Attachment, Block, Reply
from bridge.slack.parts import MessageTag, Place
from bridge.slack.post import ExistingParts, Poster, Recipient
from support.sample_posts import FOOTER, HERE, NO_FILES, SECTION, SINCE, TAG, TURN, US, answer, long_markdown
from support.slack_fixtures import Json, asked, at_once, methods
from support.tables import each

POST, UPDATE, EPHEMERAL, URL = "chat.postMessage", "chat.update", "chat.postEphemeral", "response_url"
READ, WANTED, SHARED = "conversations.replies", "files.getUploadURLExternal", "files.completeUploadExternal"
TOP = Place(GENERAL)
CHART: Block = {
    "type": "data_visualization", "title": "T", "chart": {"type": "pie", "segments": [{"label": "a", "value": 1}]},
}  # fmt: skip
CELL: Block = {"type": "raw_text", "text": "a"}
TABLE: Block = {"type": "data_table", "caption": "T", "rows": [[CELL], [CELL]]}
CHARTED = Reply(text="all of it", blocks=(CHART, TABLE), plainer=((TABLE,), (kit.section("in words"),)))
BOTH, TABLE_ONLY, IN_WORDS = ["data_visualization", "data_table"], ["data_table"], ["section"]
RAN = Reply(text="ran", blocks=(SECTION,), files=(Attachment(name="output.json", content="{}"),))


@pytest.fixture
def slack(emulated: EmulatedSlack) -> EmulatedSlack:
    """A workspace with the thread that is answered."""
    emulated.workspace.messages.insert(Message(HERE.channel, HERE.thread_ts, ALICE, "What is this?", TEAM), None)
    return emulated


@pytest.fixture
def poster(slack_web: SlackWeb) -> Poster:
    return Poster(slack_web, US, sleep=at_once)


async def post(poster: Poster, reply: Reply, existing: ExistingParts | None = None, place: Place = HERE) -> str:
    return await poster.post(place, reply, TAG, {} if existing is None else existing)


def posted(slack: EmulatedSlack) -> list[Json]:
    """The arguments of successful posts."""
    return [call.args for call in slack.calls_of(POST) if call.is_ok]


def in_channel(slack: EmulatedSlack) -> list[Message]:
    """The bot's messages in the channel and its threads, including files."""
    return [one for one in slack.workspace.messages.of(GENERAL) if one.user == BRIDGE]


def texts(slack: EmulatedSlack) -> list[str]:
    return [message["text"] for message in posted(slack)]


def numbers(slack: EmulatedSlack) -> list[str]:
    return [message["metadata"]["event_payload"]["part"] for message in posted(slack)]


def markdown_of(slack: EmulatedSlack) -> str:
    return "".join(message["blocks"][0]["text"] for message in posted(slack))


def kinds(slack: EmulatedSlack, method: str = POST) -> list[list[str]]:
    return [[block["type"] for block in args.get("blocks") or []] for args in asked(slack, method)]


def contents(slack: EmulatedSlack) -> list[bytes | None]:
    return [file.content for file in slack.files]


def refuses(slack: EmulatedSlack, method: str, *refused_kinds: str, error: str = "invalid_blocks") -> None:
    """Make the workspace refuse these kinds of blocks, and name them if it says ``invalid_blocks``."""

    def has_one(args: Json) -> bool:
        return any(block["type"] in refused_kinds for block in args.get("blocks") or [])

    named = [f"[ERROR] unsupported type: {kind} [json-pointer:/blocks/0/type]" for kind in refused_kinds]
    messages = named if error == "invalid_blocks" else ["[ERROR] no more than 50 items allowed [json-pointer:/blocks]"]
    slack.faults.on(method, Error(error, messages), times=None, when=has_one)


def own_message(slack: EmulatedSlack, thread_ts: str = "") -> str:
    """Post a message of the bot."""
    return slack.workspace.messages.post(BRIDGE, GENERAL, "Working", thread_ts=thread_ts).ts


def response_url(slack: EmulatedSlack) -> str:
    return f"{slack.url}/response/{slack.tickets.response(ALICE, GENERAL)}"


# Parts


async def test_an_answer_is_a_markdown_block_with_fallback_and_tag(slack: EmulatedSlack, poster: Poster) -> None:
    existing: ExistingParts = {}

    ts = await post(poster, answer("**Hello**", footer=(FOOTER,)), existing)

    body = {
        "channel": GENERAL,
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
    assert methods(slack) == [POST]
    assert asked(slack, POST) == [body]
    assert existing == {"0": ts}


async def test_a_long_answer_is_several_messages_with_its_footer_last(slack: EmulatedSlack, poster: Poster) -> None:
    markdown = long_markdown(30_000)

    ts = await post(poster, answer(markdown, footer=(FOOTER,)))

    assert numbers(slack) == ["0", "1", "2"]
    assert ts == in_channel(slack)[0].ts
    assert markdown_of(slack) == markdown
    assert [FOOTER in message["blocks"] for message in posted(slack)] == [False, False, True]
    assert all(message["text"] for message in posted(slack))


async def test_a_long_table_is_laid_out_beside_other_tasks(slack: EmulatedSlack, poster: Poster) -> None:
    rounds = 0

    async def count() -> None:
        nonlocal rounds
        while True:
            rounds += 1
            await asyncio.sleep(0.001)  # not 0, which would take half of the processor from the thread

    counting = asyncio.create_task(count())
    await post(poster, answer("-|\n" * 15_000), {})
    counting.cancel()

    assert len(posted(slack)) > 1
    assert rounds > 15, "a table is parsed in one piece, so that others wait for it if it isn't in a thread"


async def test_an_answer_pings_no_one_in_any_form(slack: EmulatedSlack, poster: Poster) -> None:
    slack.faults.on(POST, Error("invalid_blocks"))

    await post(poster, answer("<!channel> and <@U2>, @here"))

    for message in asked(slack, POST):
        for shown in [message["text"], *(block["text"] for block in message.get("blocks", []))]:
            assert not any(ping in shown for ping in ("<!channel>", "<@U2>", "@here"))


async def test_text_without_blocks_makes_no_links_of_bare_words(slack: EmulatedSlack, poster: Poster) -> None:
    await post(poster, Reply(text="words", blocks=(SECTION,)), place=TOP)
    await post(poster, Reply(text="words"))

    blocks, text = posted(slack)
    assert (blocks["blocks"], "thread_ts" in blocks, "parse" in blocks) == ([SECTION], False, False)
    assert (text["text"], text["parse"], "blocks" in text) == ("words", "none", False)


async def test_a_very_long_answer_is_its_beginning_and_a_file(slack: EmulatedSlack, poster: Poster) -> None:
    markdown = long_markdown(150_000)

    await post(poster, answer(markdown, footer=(FOOTER,)))

    (message,) = posted(slack)
    assert markdown.startswith(message["blocks"][0]["text"])
    assert FOOTER in message["blocks"]
    assert contents(slack) == [markdown.encode()]
    (wanted,), (shared,) = asked(slack, WANTED), asked(slack, SHARED)
    assert wanted["length"] == str(len(markdown.encode()))
    assert (shared["files"], shared["thread_ts"]) == ([{"id": slack.files[0].id, "title": "answer.md"}], HERE.thread_ts)


LINES = 3_000
LONG = "".join(f"{number:07d} of many lines & <tags>\n" for number in range(LINES))  # more than eight messages
LONG_FILE = Attachment(name="output.txt", content=LONG)
LEFT_OUT = re.compile(r"([\d,]+) characters left out here\. (.*)")


def shown_in(message: Json) -> str:
    """What people read in a message."""
    return html.unescape("\n".join(words_in(message["blocks"]) if message.get("blocks") else [message["text"]]))


def words_in(blocks: list[Json]) -> list[str]:
    words = [
        block["text"] if block["type"] == "markdown" else block["text"]["text"] for block in blocks if "text" in block
    ]
    return words + [one["text"] for block in blocks if block["type"] == "context" for one in block["elements"]]


@pytest.mark.parametrize(
    ("refused", "may_upload"), [((), True), ((), False), (("markdown",), False), (("markdown", "section"), True)]
)
@pytest.mark.parametrize(
    "reply",
    [
        answer(LONG, footer=(FOOTER,)),
        Reply(text=kit.escape(LONG)),
        Reply(text="ran", blocks=(SECTION,), files=(LONG_FILE,)),
        Reply(text="ran", blocks=(SECTION,), files=(LONG_FILE, Attachment(name="more.txt", content=LONG))),
        answer(LONG, files=(LONG_FILE,)),
    ],
    ids=["markdown", "text", "file", "files", "both"],
)
async def test_nothing_is_more_than_eight_messages(
    slack: EmulatedSlack, slack_web: SlackWeb, reply: Reply, refused: tuple[str, ...], *, may_upload: bool
) -> None:
    slack.faults.on(SHARED, Error("file_uploads_disabled"), times=None)
    refuses(slack, POST, *refused)
    poster = Poster(slack_web, US if may_upload else NO_FILES, sleep=at_once)

    await post(poster, reply)

    found = [shown_in(message) for message in posted(slack)]
    assert len(found) <= 8
    gaps = [hit for text in found if (hit := LEFT_OUT.search(text))]
    assert len(gaps) == bool(reply.markdown) + len(reply.files) + (not reply.markdown and not reply.files)
    hint = "ask your admin to give the app the permission files:write" if not may_upload else "file_uploads_disabled"
    assert all(hint in gap[2] for gap in gaps)
    whole = "".join(found)
    assert whole.count("0000000 of many") == whole.count(f"{LINES - 1:07d} of many") == len(gaps)
    shown = sum(len(line) + 1 for line in whole.splitlines() if "of many" in line)
    missing = sum(int(gap[1].replace(",", "")) for gap in gaps)
    assert abs(shown + missing - len(LONG) * len(gaps)) < 200 * len(gaps)


async def test_a_private_reply_is_no_more_than_eight_messages(slack: EmulatedSlack, poster: Poster) -> None:
    await poster.whisper(Recipient(GENERAL, ALICE), Reply(text="x", blocks=(SECTION,), files=(LONG_FILE,)))

    sent = [str(args["text"]) for args in asked(slack, EPHEMERAL)]
    assert len(sent) == 8
    assert "0000000 of many" in sent[1]
    assert f"{LINES - 1:07d} of many" in sent[-1]
    assert LEFT_OUT.search("".join(sent))


async def test_a_response_url_is_used_no_more_than_five_times(slack: EmulatedSlack, poster: Poster) -> None:
    await poster.respond(response_url(slack), Reply(text="x", blocks=(SECTION,), files=(LONG_FILE,)), {})

    assert len(slack.calls_of(URL)) == 5
    assert all(call.is_ok for call in slack.calls_of(URL))


@given(st.text(alphabet="ab &;<>\n", max_size=300), st.integers(min_value=8, max_value=50))
@example("<" + 20 * "a", 8)  # markup that no piece holds
def test_pieces_are_the_whole_text_within_the_limit(text: str, limit: int) -> None:
    found = parts.pieces(text, limit)

    assert all(0 < len(piece) <= limit for piece in found)
    assert "".join("".join(found).split()) == "".join(text.split())  # only whitespace is left out


@given(st.lists(st.sampled_from(["&amp;", "&lt;", "&gt;", "word", "x"]), max_size=80))
def test_a_cut_never_tears_an_entity(words: list[str]) -> None:
    for piece in [*parts.pieces("".join(words), 17), kit.cut_escaped("".join(words), 17)]:
        assert len(piece) <= 17
        assert piece.count("&") == piece.count(";")


@each(
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
async def test_an_empty_reply_is_no_message(slack: EmulatedSlack, poster: Poster, reply: Reply) -> None:
    assert await post(poster, reply) == ""
    assert slack.calls == []


# Simpler forms


@pytest.mark.parametrize("error", ["invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "block_mismatch"])
async def test_refused_blocks_become_plain_text_without_loss(slack: EmulatedSlack, poster: Poster, error: str) -> None:
    markdown = long_markdown(10_000)
    slack.faults.on(POST, Error(error))

    await post(poster, answer(markdown))

    assert "".join(texts(slack)) == markdown
    assert all(len(text) <= 4000 for text in texts(slack))
    assert all("blocks" not in message for message in posted(slack))


async def test_an_answer_started_as_plain_text_continues_as_such(slack: EmulatedSlack, poster: Poster) -> None:
    markdown = long_markdown(10_000)
    slack.faults.on(POST, Error("invalid_blocks"))
    slack.faults.on(POST, DropBefore(), when=lambda _args: len(posted(slack)) == 1)
    slack.faults.on(READ, Error("missing_scope"))
    with pytest.raises(SlackAmbiguous):
        await post(poster, answer(markdown))

    await post(poster, answer(markdown), await poster.history().find(HERE, TURN, SINCE))

    assert "".join(texts(slack)) == markdown


async def test_refused_plain_text_becomes_a_file(slack: EmulatedSlack, poster: Poster) -> None:
    slack.faults.on(POST, Error("invalid_blocks"))
    slack.faults.on(POST, Error("msg_too_long"))

    await post(poster, answer("The answer"))

    assert contents(slack) == [b"The answer"]
    (shared,) = asked(slack, SHARED)
    assert (shared["channel_id"], shared["thread_ts"]) == (HERE.channel, HERE.thread_ts)


@pytest.mark.parametrize("reply", [answer("Hello"), CHARTED])
async def test_a_refusal_not_about_blocks_is_final(slack: EmulatedSlack, poster: Poster, reply: Reply) -> None:
    slack.faults.on(POST, Error("is_archived"))

    with pytest.raises(SlackRefused, match="is_archived"):
        await post(poster, reply)

    assert methods(slack) == [POST]


@pytest.mark.parametrize(
    ("refused", "error", "tried"),
    [
        ([], "", [BOTH, BOTH]),
        (["data_visualization"], "invalid_blocks", [BOTH, TABLE_ONLY, TABLE_ONLY]),
        (BOTH, "invalid_blocks", [BOTH, IN_WORDS, IN_WORDS]),
        (["data_visualization"], "msg_blocks_too_long", [BOTH, TABLE_ONLY, BOTH, TABLE_ONLY]),
        (["data_visualization"], "invalid_blocks_format", [BOTH, TABLE_ONLY, BOTH, TABLE_ONLY]),
        ([*BOTH, *IN_WORDS], "msg_too_long", [BOTH, TABLE_ONLY, IN_WORDS, []] * 2),
    ],
)
async def test_a_kind_of_block_is_left_out_only_if_slack_named_it(
    slack: EmulatedSlack, poster: Poster, refused: list[str], error: str, tried: list[list[str]]
) -> None:
    refuses(slack, POST, *refused, error=error)

    for _ in range(2):
        await post(poster, CHARTED)

    assert kinds(slack) == tried
    assert texts(slack) == ["all of it"] * 2


async def test_too_many_blocks_are_not_a_refused_kind(slack: EmulatedSlack, poster: Poster) -> None:
    many = "[ERROR] no more than 50 items allowed [json-pointer:/blocks]"
    slack.faults.on(POST, Error("invalid_blocks", [many]))

    for _ in range(2):
        await post(poster, CHARTED)

    assert kinds(slack) == [BOTH, TABLE_ONLY, BOTH]


async def test_a_refusal_of_one_method_counts_for_the_others(slack: EmulatedSlack, poster: Poster) -> None:
    refuses(slack, EPHEMERAL, "data_visualization")
    refuses(slack, UPDATE, "data_visualization")

    await poster.whisper(Recipient(GENERAL, ALICE), CHARTED)
    await poster.update(GENERAL, own_message(slack), CHARTED, TAG)
    await post(poster, CHARTED)

    assert [kinds(slack, method) for method in (EPHEMERAL, UPDATE, POST)] == [
        [BOTH, TABLE_ONLY], [TABLE_ONLY], [TABLE_ONLY],
    ]  # fmt: skip


async def test_an_answer_without_its_refused_buttons_keeps_markdown(slack: EmulatedSlack, poster: Poster) -> None:
    refuses(slack, POST, "context_actions")

    for _ in range(2):
        await post(poster, answer("**Hello**", footer=({"type": "context_actions", "elements": []},)))

    assert kinds(slack) == [["markdown", "context_actions"], ["markdown"], ["markdown"]]


@pytest.mark.parametrize(
    ("error", "is_answer_lost"), [("metadata_too_large", False), ("metadata_must_be_sent_from_app", True)]
)
@pytest.mark.parametrize(
    "reply",
    [
        answer("Hello"),
        answer("Hello", footer=(FOOTER,)),
        answer(long_markdown(30_000), footer=(FOOTER,)),
        Reply(text="Hello", blocks=(SECTION,)),
        Reply(text="Hello &lt;here&gt;"),
        Reply(text="word " * 1600),
        Reply(text="ran", blocks=(SECTION,), files=(Attachment(name="output.txt", content="out"),)),
    ],
    ids=["markdown", "footer", "long", "blocks", "text", "texts", "file"],
)
async def test_refused_metadata_moves_into_a_block_and_is_found(
    slack: EmulatedSlack, slack_web: SlackWeb, error: str, reply: Reply, *, is_answer_lost: bool
) -> None:
    poster = Poster(slack_web, NO_FILES, sleep=at_once)
    slack.faults.on(POST, Error(error), times=None, when=lambda args: bool(args.get("metadata")))
    if is_answer_lost:
        slack.faults.on(POST, DropAfter(), when=lambda args: not args.get("metadata"))
    existing: ExistingParts = {}

    await post(poster, reply, existing)

    assert [message.metadata for message in in_channel(slack)] == [None] * len(existing)
    assert await poster.history().find(HERE, TURN, SINCE) == existing
    blocks = [block for message in in_channel(slack) for block in message.blocks or []]
    assert "".join(block["text"] for block in blocks if block["type"] == "markdown") == reply.markdown
    if not (reply.markdown or reply.blocks):
        assert "".join(block["text"]["text"] for block in blocks) == reply.text


async def test_a_shared_file_is_found_by_its_name(slack: EmulatedSlack, poster: Poster) -> None:
    await post(poster, RAN)

    existing = await poster.history().find(HERE, TURN, SINCE)
    await post(poster, RAN, existing)

    message, shared = in_channel(slack)
    assert existing == {"0": message.ts, "file0": shared.ts}
    assert len(slack.files) == 1


# Files


@pytest.mark.parametrize("fault", [Http(502), DropAfter()])
@pytest.mark.parametrize("place", [HERE, TOP])
async def test_a_file_as_text_goes_once_into_the_messages_thread(
    slack: EmulatedSlack, slack_web: SlackWeb, place: Place, fault: Fault
) -> None:
    poster, reply = Poster(slack_web, NO_FILES, sleep=at_once), RAN.model_copy(update={"files": (LONG_FILE,)})
    slack.faults.on(POST, fault, when=lambda _args: len(posted(slack)) == 2)

    first = await post(poster, reply, place=place)

    assert len(in_channel(slack)) == len({one.text for one in in_channel(slack)}) == 8
    assert {one.thread_ts for one in in_channel(slack) if one.ts != first} == {place.thread_ts or first}


async def test_a_file_that_may_have_been_shared_is_not_shared_again(slack: EmulatedSlack, poster: Poster) -> None:
    slack.faults.on(SHARED, DropAfter())

    await post(poster, RAN)

    assert len(asked(slack, SHARED)) == 1


async def test_an_interrupted_upload_is_repeated(slack: EmulatedSlack, poster: Poster) -> None:
    slack.faults.on("upload", DropBefore())
    existing: ExistingParts = {}

    with pytest.raises(SlackUnreachable):
        await post(poster, RAN, existing)
    await post(poster, RAN, existing)

    assert texts(slack) == ["ran"]
    assert len(asked(slack, SHARED)) == 1


# Timeouts and unknown outcomes


async def test_a_429_beyond_the_budget_says_when_to_retry(slack: EmulatedSlack, poster: Poster) -> None:
    slack.faults.on(POST, RateLimited(30), when=lambda _args: bool(posted(slack)))
    existing: ExistingParts = {}

    with pytest.raises(SlackUnreachable) as caught:
        await post(poster, answer(long_markdown(30_000)), existing)

    assert caught.value.retry_after is not None
    assert caught.value.retry_after > timedelta(seconds=29)
    assert list(existing) == ["0"]


async def test_a_call_past_its_deadline_is_not_made(slack: EmulatedSlack, slack_web: SlackWeb) -> None:
    def monotonic() -> float:
        return 1000 + 9.5 * len(slack.calls)  # each call takes 9.5 s

    existing: ExistingParts = {}

    with pytest.raises(SlackUnreachable):
        await post(Poster(slack_web, US, monotonic=monotonic), answer(long_markdown(30_000)), existing)

    assert list(existing) == ["0"]
    assert len(posted(slack)) == 1


async def test_a_post_that_never_arrived_is_repeated(slack: EmulatedSlack, poster: Poster) -> None:
    slack.faults.on(POST, Http(502))

    await post(poster, answer("Hello"))

    assert len(posted(slack)) == 1


async def test_a_second_doubt_is_not_settled_by_a_third_post(slack: EmulatedSlack, poster: Poster) -> None:
    slack.faults.on(POST, Http(502), times=None)

    with pytest.raises(SlackAmbiguous):
        await post(poster, answer("Hello"))

    assert len(asked(slack, POST)) == 2


async def test_a_cut_post_is_not_repeated_while_slack_may_be_at_it(slack: EmulatedSlack, poster: Poster) -> None:
    slack.faults.on(POST, DropBefore())

    with pytest.raises(SlackAmbiguous) as caught:
        await post(poster, answer("Hello"))

    assert timedelta(seconds=8) < caught.value.under_way < timedelta(seconds=10)
    assert posted(slack) == []


# Private messages, responses, updates, forms


async def test_a_notice_with_a_used_up_url_is_ephemeral(slack: EmulatedSlack, poster: Poster) -> None:
    await poster.whisper(Recipient(GENERAL, ALICE, HERE.thread_ts, f"{slack.url}/response/used-up"), Reply(text="psst"))

    (message,) = asked(slack, EPHEMERAL)
    assert message == {
        "channel": GENERAL, "user": ALICE, "thread_ts": HERE.thread_ts, "text": "psst", "parse": "none",
    }  # fmt: skip


async def test_a_notice_shows_files_as_text(slack: EmulatedSlack, poster: Poster) -> None:
    slack.faults.on(EPHEMERAL, Error("invalid_blocks"))
    reply = Reply(text="psst", blocks=(SECTION,), files=(Attachment(name="a.txt", content="a < b"),))
    existing: ExistingParts = {}

    for _ in range(2):
        await poster.whisper(Recipient(GENERAL, ALICE), reply, existing)

    assert [(asked["text"], "blocks" in asked) for asked in asked(slack, EPHEMERAL)] == [
        ("psst", True), ("psst", False), ("a &lt; b", False),
    ]  # fmt: skip
    assert posted(slack) == []


async def test_a_response_is_shown_to_the_channel(slack: EmulatedSlack, poster: Poster) -> None:
    slack.faults.on(URL, Http(400, "invalid_blocks"))

    await poster.respond(response_url(slack), Reply(text="ran", blocks=(SECTION,)), {})

    _, body = asked(slack, URL)
    assert (body["response_type"], body["text"], "blocks" in body) == ("in_channel", "ran", False)


async def test_an_update_replaces_text_blocks_and_tag(slack: EmulatedSlack, poster: Poster) -> None:
    ts = own_message(slack)

    await poster.update(GENERAL, ts, Reply(text="x" * 5000, blocks=(SECTION,)), MessageTag("bridge_run", TURN))

    (body,) = asked(slack, UPDATE)
    assert (body["channel"], body["ts"], body["blocks"], body["parse"]) == (GENERAL, ts, [SECTION], "none")
    assert (len(body["text"]), body["metadata"]["event_type"]) == (4000, "bridge_run")


async def test_an_update_falls_back_to_text_and_clears_blocks(slack: EmulatedSlack, poster: Poster) -> None:
    refuses(slack, UPDATE, *BOTH, *IN_WORDS)

    await poster.update(GENERAL, own_message(slack), CHARTED, TAG)

    assert kinds(slack, UPDATE) == [BOTH, []]
    assert (asked(slack, UPDATE)[-1]["text"], asked(slack, UPDATE)[-1]["blocks"]) == ("all of it", [])


async def test_an_update_with_refused_metadata_is_sent_without_it(slack: EmulatedSlack, poster: Poster) -> None:
    slack.faults.on(UPDATE, Error("metadata_too_large"), times=None, when=lambda args: bool(args.get("metadata")))

    await poster.update(GENERAL, own_message(slack), CHARTED, TAG)

    assert [bool(asked.get("metadata")) for asked in asked(slack, UPDATE)] == [True, False]
    (message,) = in_channel(slack)
    assert await poster.history().find(TOP, TURN, SINCE) == {"0": message.ts}


@pytest.mark.parametrize("place", [HERE, TOP])
@pytest.mark.parametrize("identity", [US, NO_FILES])
async def test_files_follow_an_updated_message_into_its_thread(
    slack: EmulatedSlack, slack_web: SlackWeb, place: Place, identity: Identity
) -> None:
    poster, ts = Poster(slack_web, identity, sleep=at_once), own_message(slack, place.thread_ts)

    for _ in range(2):
        await poster.update(GENERAL, ts, RAN, TAG)
        await poster.attach(place, RAN, TAG, {"0": ts} | await poster.history().find(place, TURN, SINCE))

    (message,) = [one for one in in_channel(slack) if one.ts != ts]
    assert message.thread_ts == place.thread_ts or ts


# Guards


class NotMine(Exception):
    """The lane was lost."""


@pytest.mark.parametrize("calls", range(5))
async def test_a_guard_is_asked_immediately_before_each_call(slack: EmulatedSlack, poster: Poster, calls: int) -> None:
    reply = answer(long_markdown(15_000), files=RAN.files)
    left = calls

    async def guard(_needs: timedelta) -> None:
        nonlocal left
        if not left:
            raise NotMine
        left -= 1

    slack.calls.clear()
    with pytest.raises(NotMine):
        await poster.post(HERE, reply, TAG, {}, guard)

    assert methods(slack) == [POST, POST, WANTED, "upload", SHARED][:calls]
