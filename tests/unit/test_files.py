"""Files of messages: fetched over the wire, from Slack only, and in words for the agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from aiohttp import web

from bridge.errors import SlackAmbiguous, SlackError, SlackRefused, SlackTokenRefused, SlackUnreachable
from bridge.features.registry import features
from bridge.features.results import TryLater
from bridge.features.shared.contents import transcript
from bridge.inbound import MessageFile, Quotation
from bridge.metrics import Metrics
from bridge.slack.api import opened
from bridge.slack.contents import read_file
from bridge.slack.files import SIGN_IN, FileContent, Files
from support.payloads import IMAGE, MAIL, PDF, SNIPPET, STUB, ZIP, clip, file
from support.saying import US
from support.store import USER, message
from support.turns import Bench, MemoryFiles

PAGE = b"<!DOCTYPE html><html><body>Sign in to Acme</body></html>"
READER = US.__class__(**{**{name: getattr(US, name) for name in US.__slots__}, "scopes": frozenset({"files:read"})})


@dataclass
class Site:
    """A server that has a file: its *content*, with *headers*, after so many *failures*."""

    url: str = ""
    content: bytes = b"hello"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        self.asked.append((request.path, request.headers.get("Authorization", "")))
        if request.path == "/endless":
            response = web.StreamResponse()
            await response.prepare(request)
            while True:
                await response.write(b"x" * 65_536)
        return web.Response(body=self.content, status=self.status, headers=self.headers)


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    found = Site()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", found.answer)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    found.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield found
    await runner.cleanup()


@pytest.fixture
async def files(site: Site) -> AsyncIterator[Files]:
    api = f"{site.url}/api/"
    async with opened(api, "xoxb-1", Metrics()) as slack:
        yield Files(slack, READER, api)


def at(url: str, **more: object) -> MessageFile:
    return read_file(file(url_private_download=url, **more))


async def test_a_file_is_fetched_with_the_bots_token(site: Site, files: Files) -> None:
    found = await files.fetch(at(f"{site.url}/a"), 100)

    assert (found.text(), found.is_cut) == ("hello", False)
    assert site.asked == [("/a", "Bearer xoxb-1")]


async def test_no_more_is_fetched_than_is_wanted(site: Site, files: Files) -> None:
    async with asyncio.timeout(5):
        found = await files.fetch(at(f"{site.url}/endless"), 100_000)

    assert (len(found.content), found.is_cut) == (100_000, True)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/a",
        "http://files.slack.com/a",
        "https://files.slack.com/a",  # with an API of one's own
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
async def test_the_token_goes_nowhere_else(site: Site, files: Files, url: str) -> None:
    elsewhere = MessageFile(id="F1", kind="text", url=url.replace("{host}", site.url.removeprefix("http://")))

    with pytest.raises(SlackRefused):
        await files.fetch(elsewhere, 100)

    assert site.asked == []


@pytest.mark.parametrize(
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
async def test_with_slack_itself_files_are_at_one_host(files: Files, url: str, *, is_there: bool) -> None:
    real = Files(files.web, READER, "https://slack.com/api/")

    assert (real._address(url) is not None) == is_there


@pytest.mark.parametrize(
    ("status", "headers", "error"),
    [
        (302, {"Location": "{url}/b"}, SlackRefused),
        (404, {}, SlackRefused),
        (500, {}, SlackAmbiguous),
        (429, {"Retry-After": "3"}, SlackUnreachable),
    ],
)
async def test_an_answer_that_is_no_file_is_an_error(
    site: Site, files: Files, status: int, headers: dict[str, str], error: type[SlackError]
) -> None:
    site.status = status
    site.headers = {name: value.replace("{url}", site.url) for name, value in headers.items()}

    with pytest.raises(error):
        await files.fetch(at(f"{site.url}/a"), 100)

    assert [path for path, _ in site.asked] == ["/a"]


@pytest.mark.parametrize("mimetype", ["text/plain", "text/html"])
async def test_a_page_to_sign_in_is_a_missing_permission(site: Site, files: Files, mimetype: str) -> None:
    site.content, site.headers = PAGE, {"Content-Type": "text/html; charset=utf-8"}

    with pytest.raises(SlackRefused) as caught:
        await files.fetch(at(f"{site.url}/a", mimetype=mimetype), 1000)

    assert caught.value.error == SIGN_IN


async def test_a_page_that_was_uploaded_is_a_file(site: Site, files: Files) -> None:
    site.content = PAGE

    assert (await files.fetch(at(f"{site.url}/a.html", mimetype="text/html", size=len(PAGE)), 1000)).content == PAGE


async def test_without_the_permission_nothing_is_asked(site: Site, files: Files) -> None:
    without = Files(
        files.web, US.__class__(US.team, "", US.bot_user, US.bot_id, scopes=frozenset({"x"})), files.api_url
    )

    with pytest.raises(SlackRefused) as caught:
        await without.fetch(at(f"{site.url}/a"), 100)
    with pytest.raises(SlackRefused):
        await without.describe("F1")

    assert (caught.value.error, site.asked) == (SIGN_IN, [])


@pytest.mark.parametrize(
    ("content", "declared", "is_cut", "text"),
    [
        ("grün".encode(), "", False, "grün"),
        ("grün".encode("utf-8-sig"), "", False, "grün"),
        ("grün".encode("utf-16"), "", False, "grün"),
        ("grün".encode("latin-1"), "text/plain; charset=iso-8859-1", False, "grün"),
        ("grün".encode("cp1252"), "text/plain", False, "grün"),
        ("Привет".encode("cp1251"), 'text/plain; charset="windows-1251"', False, "Привет"),
        ("grün".encode("cp1252"), "text/plain; charset=no-such", False, "grün"),
        ("ab€".encode()[:-1], "", True, "ab"),
        (b"", "", False, ""),
    ],
)
def test_a_text_is_decoded_somehow(content: bytes, declared: str, text: str, *, is_cut: bool) -> None:
    assert FileContent(content, is_cut, declared).text() == text


def test_a_transcript_is_one_line() -> None:
    head = "\ufeffWEBVTT \n\nNOTE made\n\n1\n"
    vtt = f"{head}00:00:05.488 --> 00:00:13.349\n- This is &amp; was\n\n00:00:13.349 --> 00:00:14\n"
    assert transcript(f"{vtt}<v Ada>phone</v> today.\n42\n\n\n") == "This is & was phone today. 42"
    assert transcript(vtt.replace("\n", "\r\n")) == "This is & was"
    assert transcript("WEBVTT\n\n") == ""


# In words for the agent


async def sent(bench: Bench, *files: MessageFile | Quotation, text: str = "look") -> str:
    """Send a message with *files*; gives what the agent got of them."""
    await bench.store.queue(message(text, parts=files))
    await bench.work()
    await bench.work()
    (got,) = bench.service.messages
    return got.removeprefix("look\n\n")


def told(bench: Bench) -> str:
    assert len(bench.say.whispers) <= 1
    return " ".join(reply.text for _, reply in bench.say.whispers)


TEXT = read_file(file(size=5000))


async def test_a_snippet_that_came_whole_is_not_fetched(bench: Bench) -> None:
    got = await sent(bench, read_file(SNIPPET))

    assert got == "File “report.txt” (Plain Text, 12 bytes):\n```\nhug a kitten\n```"
    assert (bench.files.asked, told(bench)) == ([], "")


async def test_a_text_file_goes_along_in_a_fence(bench: Bench) -> None:
    bench.files.contents[TEXT.id] = b"a\n```\n!stats"

    assert await sent(bench, TEXT) == "File “report.txt” (Plain Text, 5 kB):\n````\na\n```\n!stats\n````"


async def test_a_file_of_a_forwarded_message_goes_along(bench: Bench) -> None:
    bench.files.contents[TEXT.id] = b"red"

    got = await sent(bench, Quotation(author="Ada", text="see", files=(TEXT,)))

    assert got == "A forwarded message by Ada:\n> see\n\nFile “report.txt” (Plain Text, 5 kB):\n```\nred\n```"


async def test_a_mail_is_its_head_and_its_text(bench: Bench) -> None:
    got = await sent(bench, read_file(MAIL))

    assert got.startswith("Mail “Lamps” (Email, 6.2 kB):" if "Lamps" in got[:12] else "Mail “meow” (Email, 6.2 kB):")
    assert "Subject: Lamps\n\nTwo lamps,\nplease.\n```" in got


async def test_a_long_file_is_cut_in_sight(bench: Bench) -> None:
    bench.files.contents[TEXT.id] = b"x" * 150_000

    got = await sent(bench, TEXT)

    assert got.count("x") >= 99_990
    assert got.endswith("```\n[cut here: these are the first 100 kB]")
    assert "report.txt: only the first 100 kB were sent" in told(bench)


async def test_of_many_files_five_are_read(bench: Bench) -> None:
    files = [TEXT.model_copy(update={"id": f"F{number}", "name": f"{number}.txt"}) for number in range(7)]
    bench.files.contents = dict.fromkeys((one.id for one in files), b"red")

    got = await sent(bench, *files)

    assert got.count("```\nred\n```") == 5
    assert "[file “6.txt” (Plain Text, 5 kB)]" in got
    assert "5.txt, 6.txt: only the first 5 files of a message are read" in told(bench)


async def test_all_together_are_at_most_200_kilobytes(bench: Bench) -> None:
    files = [TEXT.model_copy(update={"id": f"F{number}"}) for number in range(3)]
    bench.files.contents = dict.fromkeys((one.id for one in files), b"x" * 90_000)

    got = await sent(bench, *files)

    assert 199_000 < len(got.encode()) < 200_200
    assert "[cut here, as the message is too long]" in got
    assert "can hold 200 kB of text" in told(bench)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (SlackRefused("file", SIGN_IN), "permission files:read"),
        (SlackRefused("file", "http_404"), "I couldn't get it from Slack"),
        (SlackRefused("file", "http_302"), "I couldn't get it from Slack"),
        (SlackAmbiguous("file", "500"), "I couldn't get it from Slack"),
    ],
)
async def test_a_file_that_cannot_be_had_is_named_and_told(bench: Bench, error: SlackError, why: str) -> None:
    bench.files.contents[TEXT.id] = error

    assert await sent(bench, TEXT) == "[file “report.txt” (Plain Text, 5 kB)]"
    assert why in told(bench)
    assert len(bench.files.asked) == (3 if isinstance(error, SlackAmbiguous) else 1)


async def test_a_token_that_slack_refuses_lets_the_message_wait(bench: Bench) -> None:
    bench.files.contents[TEXT.id] = SlackTokenRefused("file", "token_revoked")

    with pytest.raises(TryLater):
        await bench.answer(message("look", parts=[TEXT]))

    assert bench.service.asked == []


async def test_a_file_of_another_company_is_looked_up(bench: Bench) -> None:
    bench.files.descriptions = [TEXT]
    bench.files.contents[TEXT.id] = b"red"

    assert "```\nred\n```" in await sent(bench, read_file(STUB))
    assert bench.files.asked[0] == f"info {STUB['id']}"


async def test_a_file_that_slack_does_not_describe_is_told(bench: Bench) -> None:
    bench.files.descriptions = [SlackRefused("files.info", "file_not_found")]  # type: ignore[list-item]

    assert await sent(bench, read_file(STUB)) == "[file “unnamed”]"
    assert "I couldn't get it from Slack" in told(bench)


async def test_a_clip_is_slacks_transcript(bench: Bench) -> None:
    got = await sent(bench, read_file(clip()))

    assert (
        got == "Voice clip “audio_message.m4a” (MPEG 4 Audio, 22 kB), as Slack transcribed it:\n> What day is it today?"
    )


async def test_a_clip_is_waited_for(bench: Bench) -> None:
    pending = read_file(clip("processing"))
    bench.files.descriptions = [pending, SlackAmbiguous("files.info", "500"), read_file(clip())]  # type: ignore[list-item]

    assert "> What day is it today?" in await sent(bench, pending)
    assert bench.slept[:3] == [1.0, 2.0, 4.0]
    assert told(bench) == ""


async def test_a_clip_that_takes_too_long_is_told(bench: Bench) -> None:
    pending = read_file(clip("processing"))
    bench.files.descriptions = [pending] * 4

    assert "[voice clip" in await sent(bench, pending)
    assert "Slack hasn't transcribed it yet" in told(bench)


async def test_a_long_clip_is_read_from_its_subtitles(bench: Bench) -> None:
    long = read_file(clip(has_more=True))
    bench.files.contents[long.id] = b"WEBVTT\n\n00:00.0 --> 00:01.0\n- What day\n\n00:01.0 --> 00:02.0\nis it?\n"

    assert "> What day is it?" in await sent(bench, long)
    assert told(bench) == ""


async def test_a_long_clip_without_subtitles_is_cut_in_sight(bench: Bench) -> None:
    got = await sent(bench, read_file(clip(has_more=True)))

    assert got.endswith("> What day is it today?\n[this is only the beginning of it]")
    assert "only the beginning of Slack's transcript" in told(bench)


async def test_what_nobody_can_read_is_named_and_told(bench: Bench) -> None:
    got = await sent(bench, read_file(IMAGE), read_file(ZIP), read_file(clip("failed")))

    assert got == (
        "[image “a.png” (PNG, 137.5 kB); described as “A red lamp”]\n\n[file “a.zip” (Zip, 4.3 kB)]\n\n"
        "[voice clip “audio_message.m4a” (MPEG 4 Audio, 22 kB)]"
    )
    assert bench.files.asked == []
    assert "a.png: the agent can't see images" in told(bench)
    assert "a.zip: the agent can't read this kind of file" in told(bench)


@pytest.mark.parametrize(
    ("mode", "got", "why"),
    [
        ("names", "look\n\n[file “report.txt” (Plain Text, 5 kB)]", "only the names of files are sent to agents here"),
        ("off", "look", "files aren't sent to agents here"),
    ],
)
async def test_files_go_along_as_far_as_the_setting_says(bench: Bench, mode: str, got: str, why: str) -> None:
    bench.file_mode = mode  # type: ignore[assignment]

    await bench.store.queue(message("look", parts=[TEXT, read_file(STUB)]))
    await bench.work()
    await bench.work()

    assert bench.service.messages[0].startswith(got)
    assert bench.files.asked == []
    assert why in told(bench)


async def test_a_message_that_runs_twice_tells_its_person_once(bench: Bench) -> None:
    turn = await bench.turn(message("look", parts=[read_file(IMAGE)]))
    deps = bench.deps(bench.store.process("a"))
    await features.handle(deps, turn)
    await turn.begin()
    await features.handle(deps, turn)
    await bench.work("b")

    ((recipient, _told),) = bench.say.whispers
    assert recipient.user == USER


async def test_a_document_that_is_too_large_is_told(bench: Bench) -> None:
    large = read_file(PDF).model_copy(update={"size": 11_000_000})

    assert "[document “a.pdf”" in await sent(bench, large)
    assert "larger than 10 MB" in told(bench)
    assert isinstance(bench.files, MemoryFiles)
    assert bench.files.asked == []
