"""What is said in private, by response_url, in place of an earlier message, and in a form."""

from __future__ import annotations

import pytest

from bridge.errors import SlackRefused
from bridge.slack.blockkit.reply import Attachment, Reply
from bridge.slack.history import MessageTag
from bridge.slack.post import ExistingParts, Recipient, Say
from support.saying import MARK, SECTION, TURN
from support.wire_slack import Raw, WireSlack, refused


async def test_a_whisper_goes_by_response_url_while_that_is_good(slack: WireSlack, say: Say) -> None:
    recipient = Recipient("C1", "U1", response_url=f"{slack.api}the_response_url")

    await say.whisper(recipient, Reply(text="psst", blocks=(SECTION,), replaces_original=True))

    ((name, body),) = slack.asked
    assert name == "the_response_url"
    assert (body["response_type"], body["replace_original"]) == ("ephemeral", True)
    assert (body["text"], body["blocks"]) == ("psst", [SECTION])


async def test_a_whisper_whose_url_is_used_up_becomes_an_ephemeral_message(slack: WireSlack, say: Say) -> None:
    slack.script["the_response_url"] = [Raw("used_url", 404)]
    recipient = Recipient("C1", "U1", thread_ts="1.1", response_url=f"{slack.api}the_response_url")

    await say.whisper(recipient, Reply(text="psst"))

    (message,) = slack.calls("chat.postEphemeral")
    assert (message["channel"], message["user"], message["thread_ts"]) == ("C1", "U1", "1.1")
    assert message["text"] == "psst"


async def test_a_whisper_that_reaches_nobody_is_an_error(slack: WireSlack, say: Say) -> None:
    slack.script["chat.postEphemeral"] = [refused("user_not_in_channel")]

    with pytest.raises(SlackRefused, match="user_not_in_channel"):
        await say.whisper(Recipient("C1", "U1"), Reply(text="psst"))


async def test_a_whisper_steps_down_the_ladder_and_shows_files_as_text(slack: WireSlack, say: Say) -> None:
    slack.script["chat.postEphemeral"] = [refused("invalid_blocks"), {"ok": True}]
    reply = Reply(text="psst", blocks=(SECTION,), files=(Attachment(name="a.txt", content="a < b"),))

    await say.whisper(Recipient("C1", "U1"), reply)

    _, plain, file = slack.calls("chat.postEphemeral")
    assert plain["text"] == "psst"
    assert "blocks" not in plain
    assert file["text"] == "a &lt; b"
    assert slack.posted == []


async def test_responding_shows_it_to_the_channel(slack: WireSlack, say: Say) -> None:
    slack.script["the_response_url"] = [Raw("invalid_blocks", 400), Raw("ok")]

    await say.respond(f"{slack.api}the_response_url", Reply(text="ran", blocks=(SECTION,)), ExistingParts())

    _, body = slack.calls("the_response_url")
    assert (body["response_type"], body["text"]) == ("in_channel", "ran")
    assert "blocks" not in body


async def test_updating_replaces_text_blocks_and_mark(slack: WireSlack, say: Say) -> None:
    await say.update("C1", "1.1", Reply(text="x" * 5000, blocks=(SECTION,)), MessageTag("bridge_run", TURN))

    (body,) = slack.calls("chat.update")
    assert (body["channel"], body["ts"], body["blocks"], body["parse"]) == ("C1", "1.1", [SECTION], "none")
    assert len(body["text"]) == 4000
    assert body["metadata"]["event_type"] == "bridge_run"


async def test_updating_with_refused_blocks_clears_them(slack: WireSlack, say: Say) -> None:
    slack.script["chat.update"] = [refused("invalid_blocks"), {"ok": True}]

    await say.update("C1", "1.1", Reply(text="ran", blocks=(SECTION,)), MARK)

    assert slack.calls("chat.update")[1]["blocks"] == []


async def test_updating_puts_files_into_the_thread_of_the_message_once(slack: WireSlack, say: Say) -> None:
    reply = Reply(text="ran", blocks=(SECTION,), files=(Attachment(name="output.json", content="{}"),))
    slack.posted.append({"ts": "5.5", "thread_ts": "5.1", "bot_id": "B1"})

    await say.update("C1", "5.5", reply, MARK)
    name = slack.calls("files.getUploadURLExternal")[0]["filename"]
    slack.posted.append({"ts": "5.6", "bot_id": "B1", "files": [{"name": name}]})
    await say.update("C1", "5.5", reply, MARK)

    (shared,) = slack.calls("files.completeUploadExternal")
    assert shared["thread_ts"] == "5.1"


async def test_a_form_is_opened_by_its_trigger(slack: WireSlack, say: Say) -> None:
    await say.open_form("123.456", {"type": "modal"})

    assert slack.asked == [("views.open", {"trigger_id": "123.456", "view": {"type": "modal"}})]
