"""What is posted in Slack: parts, the ladder, and files."""

from __future__ import annotations

import pytest

from bridge.errors import SlackAmbiguous, SlackRefused
from bridge.slack.blockkit.reply import Attachment, Reply
from bridge.slack.history import Place
from bridge.slack.post import ExistingParts, Say
from support.saying import FOOTER, HERE, MARK, SECTION, SINCE, TURN, answer, long_markdown
from support.wire_slack import CutOff, WireSlack, refused


def numbers(slack: WireSlack) -> list[str]:
    return [message["metadata"]["event_payload"]["part"] for message in slack.posted]


async def test_an_answer_is_one_markdown_block_with_a_fallback_and_a_mark(slack: WireSlack, say: Say) -> None:
    existing = ExistingParts()

    ts = await say.post(HERE, answer("**Hello**", footer=(FOOTER,)), MARK, existing)

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
                    "event_payload": {"turn": TURN, "part": "0", "parts": 1, "agent": 3, "session": 77},
                },
                "unfurl_links": False,
                "unfurl_media": False,
            },
        )
    ]
    assert existing == {"0": ts}


async def test_a_long_answer_is_several_messages_and_its_footer_comes_last(slack: WireSlack, say: Say) -> None:
    markdown = long_markdown(30_000)

    ts = await say.post(HERE, answer(markdown, footer=(FOOTER,)), MARK, ExistingParts())

    assert numbers(slack) == ["0", "1", "2"]
    assert ts == slack.posted[0]["ts"]
    assert "".join(message["blocks"][0]["text"] for message in slack.posted) == markdown
    assert [FOOTER in message["blocks"] for message in slack.posted] == [False, False, True]
    assert all(message["text"] for message in slack.posted)


async def test_an_answer_pings_nobody_in_any_form(slack: WireSlack, say: Say) -> None:
    slack.script["chat.postMessage"] = [refused("invalid_blocks"), {"ok": True}]

    await say.post(HERE, answer("<!channel> and <@U2>, @here"), MARK, ExistingParts())

    for message in slack.calls("chat.postMessage"):
        for shown in [message["text"], *(block["text"] for block in message.get("blocks", []))]:
            assert "<!channel>" not in shown
            assert "<@U2>" not in shown
            assert "@here" not in shown


async def test_blocks_go_out_as_they_are(slack: WireSlack, say: Say) -> None:
    await say.post(Place("C1"), Reply(text="words", blocks=(SECTION,)), MARK, ExistingParts())

    (message,) = slack.posted
    assert message["blocks"] == [SECTION]
    assert "thread_ts" not in message


async def test_text_alone_makes_no_links_of_bare_words(slack: WireSlack, say: Say) -> None:
    await say.post(HERE, Reply(text="words"), MARK, ExistingParts())

    (message,) = slack.posted
    assert (message["text"], message["parse"]) == ("words", "none")
    assert "blocks" not in message


async def test_a_successor_posts_only_what_is_missing(slack: WireSlack, say: Say) -> None:
    existing = ExistingParts({"0": "1.1", "2": "1.3"})

    ts = await say.post(HERE, answer(long_markdown(30_000)), MARK, existing)

    assert numbers(slack) == ["1"]
    assert ts == "1.1"
    assert sorted(existing) == ["0", "1", "2"]


async def test_when_everything_is_there_nothing_is_posted(slack: WireSlack, say: Say) -> None:
    assert await say.post(HERE, answer("Hello"), MARK, ExistingParts({"0": "1.1"})) == "1.1"
    assert slack.asked == []


@pytest.mark.parametrize("error", ["invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long", "block_mismatch"])
async def test_refused_blocks_become_plain_text_and_lose_nothing(slack: WireSlack, say: Say, error: str) -> None:
    markdown = long_markdown(10_000)
    slack.script["chat.postMessage"] = [refused(error), {"ok": True}]

    await say.post(HERE, answer(markdown), MARK, ExistingParts())

    assert "".join(slack.texts()) == markdown
    assert all(len(text) <= 4000 for text in slack.texts())
    assert all("blocks" not in message for message in slack.posted)


async def test_what_was_begun_as_plain_text_is_finished_as_that(slack: WireSlack, say: Say) -> None:
    markdown = long_markdown(10_000)
    slack.script["chat.postMessage"] = [refused("invalid_blocks"), {"ok": True}, CutOff()]
    slack.script["conversations.replies"] = [refused("missing_scope")]
    with pytest.raises(SlackAmbiguous):
        await say.post(HERE, answer(markdown), MARK, ExistingParts())
    del slack.script["conversations.replies"]

    slack.script["chat.postMessage"] = [{"ok": True}]
    await say.post(HERE, answer(markdown), MARK, await say.find(HERE, TURN, SINCE))

    assert "".join(slack.texts()) == markdown


async def test_text_that_is_refused_as_well_becomes_a_file(slack: WireSlack, say: Say) -> None:
    slack.script["chat.postMessage"] = [refused("invalid_blocks"), refused("msg_too_long")]

    await say.post(HERE, answer("The answer"), MARK, ExistingParts())

    assert slack.calls("the_upload") == [{"bytes": b"The answer"}]
    (shared,) = slack.calls("files.completeUploadExternal")
    assert (shared["channel_id"], shared["thread_ts"]) == (HERE.channel, HERE.thread_ts)


async def test_a_refusal_that_has_nothing_to_do_with_blocks_is_final(slack: WireSlack, say: Say) -> None:
    slack.script["chat.postMessage"] = [refused("is_archived")]

    with pytest.raises(SlackRefused, match="is_archived"):
        await say.post(HERE, answer("Hello"), MARK, ExistingParts())

    assert slack.methods() == ["chat.postMessage"]


async def test_a_very_long_answer_is_its_beginning_and_a_file_with_the_whole(slack: WireSlack, say: Say) -> None:
    markdown = long_markdown(150_000)

    await say.post(HERE, answer(markdown, footer=(FOOTER,)), MARK, ExistingParts())

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
    slack: WireSlack, say_without_files: Say
) -> None:
    markdown = long_markdown(150_000)

    await say_without_files.post(HERE, answer(markdown), MARK, ExistingParts())

    assert len(slack.posted) > 8
    assert "".join(message["blocks"][0]["text"] for message in slack.posted) == markdown


async def test_a_file_that_slack_refuses_after_all_goes_on_as_messages(slack: WireSlack, say: Say) -> None:
    markdown = long_markdown(150_000)
    slack.script["files.completeUploadExternal"] = [refused("missing_scope")]

    await say.post(HERE, answer(markdown), MARK, ExistingParts())

    assert "".join(message["blocks"][0]["text"] for message in slack.posted) == markdown


async def test_attachments_follow_the_message_into_its_thread(slack: WireSlack, say: Say) -> None:
    existing = ExistingParts()
    reply = Reply(text="ran", blocks=(SECTION,), files=(Attachment(name="output.json", content='{"a": 1}'),))

    ts = await say.post(Place("C1"), reply, MARK, existing)

    (shared,) = slack.calls("files.completeUploadExternal")
    assert shared["thread_ts"] == ts
    assert slack.calls("the_upload") == [{"bytes": b'{"a": 1}'}]
    await say.post(Place("C1"), reply, MARK, existing)
    assert len(slack.calls("the_upload")) == 1


async def test_a_file_that_is_there_is_found_by_its_name(slack: WireSlack, say: Say) -> None:
    reply = Reply(text="ran", blocks=(SECTION,), files=(Attachment(name="output.json", content="{}"),))
    await say.post(HERE, reply, MARK, ExistingParts())
    name = slack.calls("files.getUploadURLExternal")[0]["filename"]
    slack.posted.append({"ts": "1700000009.1", "bot_id": "B1", "files": [{"name": name}]})

    existing = await say.find(HERE, TURN, SINCE)
    await say.post(HERE, reply, MARK, existing)

    assert sorted(existing.values()) == [slack.posted[0]["ts"], "1700000009.1"]
    assert len(slack.calls("the_upload")) == 1


async def test_without_files_an_attachment_is_shown_as_text(slack: WireSlack, say_without_files: Say) -> None:
    content = "\n".join(f"line {number} of <b>" for number in range(600))

    await say_without_files.post(
        HERE, Reply(text="ran", files=(Attachment(name="output.txt", content=content),)), MARK, ExistingParts()
    )

    shown = "".join(slack.texts()[1:]).replace("&lt;", "<").replace("&gt;", ">")
    assert shown == content
