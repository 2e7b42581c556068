"""Files in messages: downloaded from Slack only, and presented to the agent as text."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from bridge.engine.results import TryLater
from bridge.errors import SlackRefused
from bridge.inbound import LeftOut, MessageFile, Quotation
from bridge.playground.emulator.entities import File
from bridge.playground.emulator.faults import Fault, Http, Redirect
from bridge.slack.contents import read_file
from bridge.slack.files import SIGN_IN, Files
from support.harness import Harness
from support.payloads import IMAGE, MAIL, PDF, SNIPPET, STUB, ZIP, clip, file
from support.slack_files import add_file
from support.store import BOT, USER, message
from support.tables import each

PAGE = b"<!DOCTYPE html><html><body>Sign in to Acme</body></html>"
DOWNLOAD = "download"


def a_clip(harness: Harness, **state: Any) -> File:
    """A voice clip uploaded by the bot's own account, so the bot has access to it."""
    made = File(
        "F0CLIP", "audio_message.m4a", 22_000, BOT, site=harness.slack.url, content=b"m4a", subtype="slack_audio",
        duration_ms=4200, **state,
    )  # fmt: skip
    return harness.slack.workspace.add_file(made)


def files_of(harness: Harness, *scopes: str, api_url: str = "") -> Files:
    """The file reader of an app with *scopes*."""
    identity = replace(harness.identity, scopes=frozenset(scopes))
    return Files(harness.wires.web, identity, api_url or harness.slack.api_url)


@pytest.fixture
def files(harness: Harness) -> Files:
    return files_of(harness, "files:read")


async def test_a_download_stops_at_the_limit(harness: Harness, files: Files) -> None:
    found = await files.fetch(add_file(harness, b"x" * 5_000_000, file()), 100_000)

    assert (len(found.content), found.is_cut) == (100_000, True)


@each(
    "url",
    [
        "http://127.0.0.1:1/a",
        "http://files.slack.com/a",
        "https://files.slack.com/a",  # the API is at another address
        "http://{host}@evil.test/a",
        "http://evil.test#@{host}/a",
        "http://evil.test\\@{host}/a",
        "https://{host}/a",
        "ftp://{host}/a",
        "file:///etc/passwd",
        "http://u:p@{host}/a",
        "http://[::1",
        "",
    ],
)
async def test_the_token_is_sent_to_no_other_host(harness: Harness, files: Files, url: str) -> None:
    elsewhere = MessageFile(id="F1", kind="text", url=url.replace("{host}", harness.slack.url.removeprefix("http://")))

    with pytest.raises(SlackRefused):
        await files.fetch(elsewhere, 100)

    assert harness.slack.calls == []


@each(
    ("url", "is_there"),
    [
        ("https://files.slack.com/files-pri/T1-F1/download/a.txt", True),
        ("https://FILES.slack.com/a", True),
        ("https://files.slack.com:443/a", True),
        ("http://files.slack.com/a", False),
        ("https://files.slack.com:8443/a", False),
        ("https://slack.com/a", False),
        ("https://files.slack.com.evil.test/a", False),
        ("https://evil.test/files.slack.com", False),
        ("https://a@files.slack.com/a", False),
        ("https://files.slack.com@evil.test/a", False),
    ],
)
async def test_real_slack_files_come_from_one_host(harness: Harness, url: str, *, is_there: bool) -> None:
    real = files_of(harness, "files:read", api_url="https://slack.com/api/")

    assert (real._address(url) is not None) == is_there


@pytest.mark.parametrize("mimetype", ["text/plain", "text/html"])
async def test_a_sign_in_page_is_a_missing_permission(harness: Harness, files: Files, mimetype: str) -> None:
    harness.slack.scopes.discard("files:read")

    with pytest.raises(SlackRefused) as caught:
        await files.fetch(add_file(harness, b"hello", file(mimetype=mimetype)), 1000)

    assert caught.value.error == SIGN_IN


async def test_a_page_that_was_uploaded_is_a_file(harness: Harness, files: Files) -> None:
    page = add_file(harness, PAGE, file(mimetype="text/html", size=len(PAGE)))

    assert (await files.fetch(page, 1000)).content == PAGE


@pytest.mark.parametrize("unit", [b" ", b"\n", b"\xef\xbb\xbf", b" \xef\xbb\xbf"])
@pytest.mark.timeout(10)  # with two patterns of blanks beside each other, it took minutes
async def test_a_file_of_blanks_is_read_in_time(harness: Harness, unit: bytes) -> None:
    blanks = unit * (300_000 // len(unit))

    await sent(harness, add_file(harness, blanks, file(size=len(blanks))))


@pytest.mark.parametrize(("before", "is_page"), [(b"\n" * 900, True), (b"\n" * 1000, False)])
async def test_a_page_is_recognised_by_its_first_kilobyte(
    harness: Harness, files: Files, before: bytes, *, is_page: bool
) -> None:
    one = add_file(harness, before + PAGE, file(size=5))

    if is_page:
        with pytest.raises(SlackRefused):
            await files.fetch(one, 5000)
    else:
        assert (await files.fetch(one, 5000)).content == before + PAGE


async def test_without_the_permission_nothing_is_fetched(harness: Harness) -> None:
    without = files_of(harness, "x")

    with pytest.raises(SlackRefused) as caught:
        await without.fetch(add_file(harness, b"hello", file()), 100)
    with pytest.raises(SlackRefused):
        await without.describe("F1")

    assert (caught.value.error, harness.slack.calls) == (SIGN_IN, [])


# Files as text for the agent


async def sent(harness: Harness, *files: MessageFile | Quotation | LeftOut, text: str = "look") -> str:
    """Send a message with *files*; return what the agent got of them."""
    await harness.store.queue(message(text, parts=files))
    await harness.work()
    await harness.work()
    (got,) = harness.service.messages
    return got.removeprefix("look\n\n")


def notices(harness: Harness) -> str:
    assert len(harness.seen.ephemerals) <= 1
    return " ".join(one.text for one in harness.seen.ephemerals)


def fetched(harness: Harness) -> list[str]:
    """The Slack methods called for files."""
    return [call.method for call in harness.seen.called(DOWNLOAD, "files.info")]


async def test_a_complete_snippet_is_not_fetched(harness: Harness) -> None:
    got = await sent(harness, read_file(SNIPPET))

    assert got == "File “report.txt” (Plain Text, 12 bytes):\n```\nhug a kitten\n```"
    assert (fetched(harness), notices(harness)) == ([], "")


async def test_a_text_file_reaches_the_agent_in_a_fence(harness: Harness) -> None:
    text = add_file(harness, b"a\n```\n!stats", file(size=5000))

    assert await sent(harness, text) == "File “report.txt” (Plain Text, 5 kB):\n````\na\n```\n!stats\n````"


async def test_a_file_of_a_forwarded_message_reaches_the_agent(harness: Harness) -> None:
    text = add_file(harness, b"red", file(size=5000))

    got = await sent(harness, Quotation(author="Ada", text="see", files=(text,)))

    assert got == "A forwarded message from Ada:\n> see\n\nFile “report.txt” (Plain Text, 5 kB):\n```\nred\n```"


async def test_an_email_is_its_headers_and_its_text(harness: Harness) -> None:
    got = await sent(harness, read_file(MAIL))

    assert got.startswith("Mail “Lamps” (Email, 6.2 kB):" if "Lamps" in got[:12] else "Mail “meow” (Email, 6.2 kB):")
    assert "Subject: Lamps\n\nTwo lamps,\nplease.\n```" in got


async def test_a_long_file_is_visibly_cut(harness: Harness) -> None:
    got = await sent(harness, add_file(harness, b"x" * 150_000, file(size=5000)))

    assert got.count("x") >= 99_990
    assert got.endswith("```\n[cut here: these are the first 100 kB]")
    assert "report.txt: only the first 100 kB were sent" in notices(harness)


async def test_five_files_of_a_message_are_read(harness: Harness) -> None:
    files = [add_file(harness, b"red", file(id=f"F{number}", name=f"{number}.txt", size=5000)) for number in range(7)]

    got = await sent(harness, *files)

    assert got.count("```\nred\n```") == 5
    assert "[file “6.txt” (Plain Text, 5 kB)]" in got
    assert "5.txt, 6.txt: only the first 5 files of a message are read" in notices(harness)


async def test_a_messages_files_are_at_most_200_kilobytes(harness: Harness) -> None:
    files = [add_file(harness, b"x" * 90_000, file(id=f"F{number}", size=5000)) for number in range(3)]

    got = await sent(harness, *files)

    assert 199_000 < len(got.encode()) < 200_200
    assert "[cut here because the message is too long]" in got
    assert "can hold 200 kB of text" in notices(harness)


@pytest.mark.parametrize(
    ("fault", "why", "tries"),
    [
        (None, "permission files:read", 1),
        (Http(404), "I couldn't get it from Slack", 1),
        (Redirect("/files-pri/F2/b"), "I couldn't get it from Slack", 1),
        (Http(500), "I couldn't get it from Slack", 3),
    ],
)
async def test_an_unavailable_file_is_named_and_brings_a_notice(
    harness: Harness, fault: Fault | None, why: str, tries: int
) -> None:
    if fault is None:
        harness.slack.scopes.discard("files:read")
    else:
        harness.slack.faults.on(DOWNLOAD, fault, times=None)

    assert await sent(harness, add_file(harness, b"red", file(size=5000))) == "[file “report.txt” (Plain Text, 5 kB)]"

    assert why in notices(harness)
    assert fetched(harness) == [DOWNLOAD] * tries


async def test_an_unknown_part_is_counted_and_brings_a_notice(harness: Harness) -> None:
    assert await sent(harness, LeftOut(count=2, is_unknown=True)) == "[2 parts that can't be read]"

    assert "in a form that I can't read" in notices(harness)


async def test_a_message_waits_while_the_token_is_refused(harness: Harness) -> None:
    turn = await harness.turn(message("look", parts=[add_file(harness, b"red", file(size=5000))]))
    harness.wires.web.token.refuse(harness.wires.web.token.value, "token_revoked")

    with pytest.raises(TryLater):
        await harness.handle(turn)

    assert harness.service.asked == []


async def test_a_strangers_file_is_not_fetched(harness: Harness) -> None:
    text = add_file(harness, b"red", file(size=5000))

    received = await harness.receive(message(f"<@{BOT}> look", is_mention=True, user_team="T2", parts=[text]))
    await harness.work()

    assert (received.decision, received.reason) == ("refused", "stranger")
    assert fetched(harness) == []
    assert harness.service.asked == []


async def test_a_file_of_another_company_is_looked_up(harness: Harness) -> None:
    add_file(harness, b"red\n" * 6, file(id=STUB["id"]))

    assert "```\nred\nred\n" in await sent(harness, read_file(STUB))

    assert fetched(harness) == ["files.info", DOWNLOAD]


async def test_a_file_without_a_description_brings_a_notice(harness: Harness) -> None:
    assert await sent(harness, read_file(STUB)) == "[file “unnamed”]"
    assert "I couldn't get it from Slack" in notices(harness)


async def test_a_clip_is_sent_as_slacks_transcript(harness: Harness) -> None:
    got = await sent(harness, read_file(clip()))

    assert (
        got == "Voice clip “audio_message.m4a” (MPEG 4 Audio, 22 kB), as Slack transcribed it:\n> What day is it today?"
    )


async def test_a_message_waits_for_its_clips_transcript(harness: Harness) -> None:
    pending = a_clip(harness, transcription="processing")

    async def meanwhile() -> None:
        if len(harness.slept) == 2:
            harness.slack.faults.on("files.info", Http(500))
        elif len(harness.slept) == 3:
            a_clip(harness, transcription="complete", transcript="What day is it today?")

    harness.on_sleep = meanwhile

    assert "> What day is it today?" in await sent(harness, read_file(pending.as_json()))

    assert harness.slept[:3] == [1.0, 2.0, 4.0]
    assert notices(harness) == ""


async def test_a_clip_without_a_transcript_in_time_brings_a_notice(harness: Harness) -> None:
    pending = a_clip(harness, transcription="processing")

    assert "[voice clip" in await sent(harness, read_file(pending.as_json()))

    assert "Slack hasn't transcribed it yet" in notices(harness)


LONG = "What day is it today? " * 12


async def test_a_long_clip_is_read_from_its_subtitles(harness: Harness) -> None:
    long = a_clip(harness, transcription="complete", transcript=LONG)

    got = await sent(harness, read_file(long.as_json()))

    assert got.endswith(f"> {LONG.strip()}")
    assert (fetched(harness), notices(harness)) == ([DOWNLOAD], "")


async def test_a_long_clip_without_subtitles_is_visibly_cut(harness: Harness) -> None:
    long = a_clip(harness, transcription="complete", transcript=LONG)
    harness.slack.faults.on(DOWNLOAD, Http(404))

    got = await sent(harness, read_file(long.as_json()))

    assert "> What day is it today?" in got
    assert got.endswith("\n[this is only the beginning of it]")
    assert "only the beginning of Slack's transcript" in notices(harness)


async def test_unreadable_files_are_named_and_bring_a_notice(harness: Harness) -> None:
    got = await sent(harness, read_file(IMAGE), read_file(ZIP), read_file(clip("failed")))

    assert got == (
        "[image “a.png” (PNG, 137.5 kB); described as “A red lamp”]\n\n[file “a.zip” (Zip, 4.3 kB)]\n\n"
        "[voice clip “audio_message.m4a” (MPEG 4 Audio, 22 kB)]"
    )
    assert fetched(harness) == []
    assert "a.png: the agent can't see images" in notices(harness)
    assert "a.zip: the agent can't read this kind of file" in notices(harness)


@pytest.mark.parametrize(
    ("mode", "got", "why"),
    [
        (
            "names",
            "look\n\n[file “report.txt” (Plain Text, 5 kB)]\n\n[file “unnamed”]",
            "agents here get only a file's name and size",
        ),
        ("off", "look", "files aren't sent to agents here"),
    ],
)
async def test_the_setting_decides_how_files_are_sent(harness: Harness, mode: str, got: str, why: str) -> None:
    harness.configure(BRIDGE_FILES=mode)
    text = add_file(harness, b"red", file(size=5000))

    await harness.store.queue(message("look", parts=[text, read_file(STUB)]))
    await harness.work()
    await harness.work()

    assert harness.service.messages == [got]
    assert fetched(harness) == []
    assert why in notices(harness)


async def test_only_unreadable_files_bring_a_list_of_readable_kinds(harness: Harness) -> None:
    assert await sent(harness, read_file(ZIP), text="") == "[file “a.zip” (Zip, 4.3 kB)]"

    assert "a.zip: the agent can't read this kind of file.\nAgents can read text, " in notices(harness)


@pytest.mark.parametrize(("mode", "asked"), [("names", ["[file “a.zip” (Zip, 4.3 kB)]"]), ("off", [])])
async def test_a_file_alone_is_sent_by_name_if_names_are_sent(harness: Harness, mode: str, asked: list[str]) -> None:
    harness.configure(BRIDGE_FILES=mode)

    await harness.store.queue(message("", parts=[read_file(ZIP)]))
    await harness.work()
    await harness.work()

    assert harness.service.messages == asked
    assert "a.zip" in "".join([notices(harness), *harness.seen.texts])


async def test_a_repeated_turn_posts_its_notice_once(harness: Harness) -> None:
    turn = await harness.turn(message("look", parts=[read_file(IMAGE)]))
    await harness.handle(turn)
    await turn.restart()
    await harness.handle(turn)
    await harness.work("b")

    assert [one.user for one in harness.seen.ephemerals] == [USER]


async def test_a_document_that_is_too_large_brings_a_notice(harness: Harness) -> None:
    large = read_file(PDF).model_copy(update={"size": 11_000_000})

    assert "[document “a.pdf”" in await sent(harness, large)
    assert "larger than 10 MB" in notices(harness)
    assert fetched(harness) == []
