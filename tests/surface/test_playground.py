"""`bridge playground`: what it emulates, what it survives, and how it ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import socket
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from redis import Redis

from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.playground.emulator.sample import ALICE, GENERAL, PRIVATE
from bridge.playground.sample_project import SampleProject
from support.forks import are_possible, program_for_shells, run
from support.playground import Playground, bare_environment
from support.ports import NO_TLS
from support.real_redis import RealRedis
from support.system import BOT_TOKEN, SIGNING_SECRET
from support.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="module")

CODE = Path(__file__).parent.parent.parent
PROGRAM = f"{sys.executable} -m bridge"


@pytest.fixture
def folder() -> Iterator[Path]:
    """A data folder with a path short enough for Redis's socket."""
    with tempfile.TemporaryDirectory(prefix="br-") as folder:
        yield Path(folder)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def playground() -> AsyncIterator[Playground]:
    with tempfile.TemporaryDirectory(prefix="br-") as folder:
        playground = await Playground(Path(folder)).start()
        try:
            yield await playground.ready(ALICE)
        finally:
            assert await playground.end() == 0


async def refused(folder: Path, *words: str, **environ: str) -> tuple[int, str]:
    """Start a playground that can't run; return its exit code and output."""
    environ = bare_environment(PYTHONPATH=str(CODE), BRIDGE_DATA_DIR=str(folder), **environ)
    code, output, stderr = await run(("playground", *words), folder, environ)
    return code, output + stderr


async def story_of(playground: Playground, root: str) -> list[dict[str, Any]]:
    """What the drawer shows about a thread's first message once the bridge is done with it."""
    steps: list[dict[str, Any]] = []

    async def is_told() -> bool:
        nonlocal steps
        async with httpx.AsyncClient(base_url=playground.url, verify=NO_TLS) as http:
            answer = await http.get("/page/wires", params={"as": ALICE, "channel": GENERAL, "ts": root})
        steps = answer.raise_for_status().json()["steps"]
        return any((step["wire"], step["what"]) == ("queue", "done") for step in steps)

    await wait_until(is_told, "the story of the message is over", 30)
    return steps


def pid_in(part: dict[str, Any]) -> int:
    found = re.search(r"\d+", part["detail"])
    assert found is not None
    return int(found[0])


async def test_the_only_url_printed_is_the_pages_and_comes_last(playground: Playground) -> None:
    async with httpx.AsyncClient(verify=NO_TLS) as http:
        page = await http.get(playground.url)
    parts = (await playground.state(ALICE))["parts"]

    assert page.headers["content-type"].startswith("text/html")
    assert {part["name"] for part in parts if part["is_stand_in"]} == {"Slack", "Project service", "Redis"}
    assert all(part["is_up"] for part in parts), parts
    assert playground.text.count("built-in") == 3
    assert playground.text.count("http://") == 1
    assert playground.text.endswith(f"\nOpen {playground.url}\n")


async def test_the_bridges_log_goes_to_the_printed_file(playground: Playground) -> None:
    first = playground.text.splitlines()[0]

    log_file = playground.folder / "playground" / "bridge.log"

    assert first == f"Starting the bridge. Its log goes to {log_file}"
    assert "bridge" in log_file.read_text()


async def test_the_first_question_of_the_readme_is_answered(playground: Playground) -> None:
    typed = re.search(r"^\| `(@bridge [^`]*)`", (CODE / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert typed is not None

    result = await playground.do("say", ALICE, channel=GENERAL, text=typed[1])

    assert (await playground.state(ALICE))["default_agent"] == "Support"
    await playground.answered(GENERAL, result["ts"], "Forgot password?")


async def test_the_story_of_each_message_has_its_own_chat(playground: Playground) -> None:
    """What the bridge writes about its answers is what the story reads; two threads ask at once."""
    typed = ("my invoice is wrong", "my parcel is late")
    roots = [(await playground.do("say", ALICE, channel=GENERAL, text=f"@bridge {words}"))["ts"] for words in typed]

    stories = [await story_of(playground, root) for root in roots]

    chats = [[step["body"]["message"] for step in story if step["what"].endswith("/chat")] for story in stories]
    assert [len(chat) for chat in chats] == [1, 1], chats
    assert all(words in chat[0] for words, chat in zip(typed, chats, strict=True)), chats


async def test_the_story_of_a_card_begins_with_its_command(playground: Playground) -> None:
    for text in ("run 3 hello", "list"):
        await playground.do("command", ALICE, channel=GENERAL, command="/workflows", text=text)

    async def card() -> str | None:
        messages = (await playground.state(ALICE, GENERAL))["messages"]
        return next((one["ts"] for one in messages if "hello" in str(one) and "run" in str(one).lower()), None)

    await wait_until(card, "the run's card is shown", 30)
    story = await story_of(playground, await card() or "")

    assert (story[0]["what"], story[0]["body"]["text"]) == ("command /workflows", "run 3 hello")
    assert any(step["what"].endswith("/run") for step in story)


async def test_commands_are_offered_with_their_usage(playground: Playground) -> None:
    commands = (await playground.state(ALICE))["commands"]

    usages = {command["command"]: command["usage_hint"] for command in commands}
    assert set(usages) >= {"/workflows", "/agents", "/project", "/stats"}
    assert "run" in usages["/workflows"]


async def test_the_printed_commands_work_in_another_terminal(playground: Playground, folder: Path) -> None:
    result = await playground.do("say", ALICE, channel=GENERAL, text="@bridge Memory: remember 16")
    await playground.answered(GENERAL, result["ts"], "I'll remember 16.")
    printed = re.findall(r"^    (BRIDGE_NAMESPACE=.*)$", playground.text, re.MULTILINE)

    printed_status, stderr = await pasted(printed[0], folder, is_forked=False)
    elsewhere = await pasted(printed[0].replace("BRIDGE_NAMESPACE=playground", "BRIDGE_NAMESPACE=bridge"), folder)

    assert [line.partition(" -m bridge ")[2] for line in printed] == [
        "audit",
        "dead list",
    ]
    place = f"the embedded Redis in {playground.folder}"
    assert stderr == f"Reading namespace playground in {place}: a bridge is running.\n"
    assert ALICE in printed_status
    assert elsewhere[1] == (
        f"Reading namespace bridge in {place}: no bridge has used this namespace. Others here: playground (a bridge is "
        "running). To read one, set BRIDGE_NAMESPACE.\n"
    )
    [check] = re.findall(r"^    (\(cd .* check --access U0ALICE C0GENERAL\))$", playground.text, re.MULTILINE)
    allowed, _ = await pasted(check, folder)
    assert "Alice Adler (U0ALICE), a member of the workspace" in allowed
    assert "No problems found." in allowed


async def pasted(line: str, folder: Path, *, is_forked: bool = True, **environ: str) -> tuple[str, str]:
    """Run a line in a shell without the playground's environment; return its stdout and stderr."""
    own = bare_environment(PYTHONPATH=str(CODE), **environ)
    with program_for_shells() if is_forked and are_possible() else nullcontext() as programs:
        if programs:
            own["PATH"] = f"{programs}:{own['PATH']}"
            assert PROGRAM in line
            line = line.replace(PROGRAM, "bridge")
        process = await asyncio.create_subprocess_shell(
            line, cwd=folder, env=own, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        output, stderr = await process.communicate()
    assert process.returncode == 0, stderr
    return output.decode(), stderr.decode()


async def test_a_second_playground_on_the_same_folder_is_refused_in_one_line(playground: Playground) -> None:
    code, output = await refused(playground.folder, "--port", "0")

    assert code == 2
    assert output.startswith("Another playground is using ")
    assert output.count("\n") == 1


async def test_without_a_port_each_playground_gets_the_next_free_one(folder: Path) -> None:
    folders = [folder / "a", folder / "b"]
    for one in folders:
        one.mkdir()
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        with contextlib.suppress(OSError):  # another program has the port
            listener.bind(("0.0.0.0", 8080))
            listener.listen()
        started = await asyncio.gather(*(Playground(one, port=()).start() for one in folders))
        for playground in started:
            await playground.end()

    assert all("Port 8080 is in use, so the page gets " in playground.text for playground in started)
    first, second = (int(playground.url.rpartition(":")[2]) for playground in started)
    assert 8080 < min(first, second) < max(first, second)


async def test_a_port_in_use_is_refused_in_one_line(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        code, output = await refused(folder, "--port", str(port))

    assert code == 2
    assert output.startswith(f"port {port} can't be used (Address already in use): choose another, as in ")
    assert output.endswith("bridge playground --port 0\n")


@pytest.mark.parametrize(
    ("environ", "words", "complaint"),
    [
        ({"PROJECT_BASE_URL": "http://127.0.0.1:9"}, (), "PROJECT_API_KEY is missing"),
        ({"SLACK_BOT_TOKEN": "xoxb-1"}, (), "SLACK_APP_TOKEN is missing"),
        ({"SLACK_SIGNING_SECRET": "a" * 32}, (), "SLACK_BOT_TOKEN is missing"),
        ({"REDIS_URL": "http://x"}, (), "REDIS_URL "),
        ({"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_SIGNING_SECRET": "a" * 32}, ("--socket",), "--socket is for the"),
    ],
)
async def test_partial_or_wrong_settings_are_refused(
    folder: Path, environ: dict[str, str], words: tuple[str, ...], complaint: str
) -> None:
    code, output = await refused(folder, *words, **environ)

    assert code == 2
    assert output.startswith(complaint)
    assert output.count("\n") == 1


async def test_a_killed_bridge_is_restarted(playground: Playground) -> None:
    before = pid_in(await playground.part(ALICE, "Bridge"))

    await playground.do("fault", ALICE, name="kill_bridge", is_on=True)

    async def is_another() -> bool:
        part = await playground.part(ALICE, "Bridge")
        return bool(part["is_up"]) and pid_in(part) != before

    await wait_until(is_another, "another bridge is running", 20)


async def test_messages_while_redis_is_stopped_are_answered_after_it(playground: Playground) -> None:
    await playground.do("fault", ALICE, name="redis_stopped", is_on=True)
    result = await playground.do("say", ALICE, channel=GENERAL, text="@bridge Memory: remember 17")
    stopped = await playground.part(ALICE, "Redis")
    await playground.do("fault", ALICE, name="redis_stopped", is_on=False)

    assert not stopped["is_up"]
    await playground.answered(GENERAL, result["ts"], "I'll remember 17.")


async def test_a_killed_redis_is_restarted_and_its_status_is_right(
    playground: Playground,
) -> None:
    data = playground.folder
    [manifest] = (data / "appendonlydir").glob("*.manifest")
    what_is_there = manifest.read_bytes()

    manifest.write_text("nonsense\n")
    os.kill(int((data / "redis.pid").read_text()), signal.SIGKILL)

    async def is_down() -> bool:
        return "manifest" in (await playground.part(ALICE, "Redis"))["detail"]

    await wait_until(is_down, "the status light shows the problem")
    light = await playground.part(ALICE, "Redis")
    result = await playground.do("say", ALICE, channel=GENERAL, text="@bridge Memory: remember 18")
    manifest.write_bytes(what_is_there)
    await playground.answered(GENERAL, result["ts"], "I'll remember 18.")
    after = await playground.part(ALICE, "Redis")

    assert not light["is_up"]
    assert after["is_up"]
    assert "survives a restart" in after["detail"]


async def test_a_killed_playground_ends_its_bridge_and_keeps_all_messages(folder: Path) -> None:
    first = await (await Playground(folder, is_forked=False).start()).ready(ALICE)
    result = await first.do("say", ALICE, channel=PRIVATE, text="@bridge Memory: my name is Ada")
    await first.answered(PRIVATE, result["ts"], "Nice to meet you, Ada.")
    bridge = pid_in(await first.part(ALICE, "Bridge"))
    await first.kill()
    await wait_until(lambda: not _is_alive(bridge), "the bridge has ended", 20)

    second = await (await Playground(folder, words=("--socket",)).start()).ready(ALICE)
    steps = (await second.state(ALICE))["steps"]
    await second.do("say", ALICE, channel=PRIVATE, text="what is my name?", thread_ts=result["ts"])

    await second.answered(PRIVATE, result["ts"], "Your name is Ada.")
    assert steps == ["talk"]
    assert await second.end(signal.SIGINT) == 0


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")  # in a container, an orphaned process may stay a zombie
    return not (stat.exists() and ") Z " in stat.read_text())


@pytest.fixture
def redis_with_password(redis_server: RealRedis) -> Iterator[str]:
    """The shared server's address, with a user and a password."""
    with Redis.from_url(redis_server.url) as redis:
        redis.execute_command("ACL", "SETUSER", "careful", "on", ">pass-word", "~*", "&*", "+@all")
        yield f"unix://careful:pass-word@{redis_server.socket}"
        redis.execute_command("ACL", "DELUSER", "careful")


async def test_configured_parts_are_real_and_labeled_so(
    folder: Path, redis_server: RealRedis, redis_with_password: str
) -> None:
    async with (
        EmulatedSlack(signing_secret=SIGNING_SECRET, bot_token=BOT_TOKEN) as slack,
        SampleProject(api_key="a-key") as project,
    ):
        real = {
            "SLACK_BOT_TOKEN": BOT_TOKEN,
            "SLACK_SIGNING_SECRET": SIGNING_SECRET,
            "SLACK_API_URL": slack.api_url,
            "PROJECT_BASE_URL": project.base_url,
            "PROJECT_API_KEY": "a-key",
            "REDIS_URL": redis_with_password,
            "BRIDGE_NAMESPACE": "test-playground-of-real-parts",
            "BRIDGE_PORT": "0",
        }
        playground = await Playground(folder, environ=real).start()
        async with httpx.AsyncClient(verify=NO_TLS) as http:

            async def all_are_up() -> bool:
                return (await http.get(playground.url)).text.count("<td>up</td>") == 4

            await wait_until(all_are_up, "the page shows everything as up", 20)
            page = (await http.get(playground.url)).text
        [line, *_] = re.findall(r"^    (\(cd .*\))$", playground.text, re.MULTILINE)
        _, stderr = await pasted(line, Path("/"), REDIS_URL=redis_with_password)
        code = await playground.end()

    assert "connected to your Slack workspace" in page
    assert page.count("<td>real</td>") == 4
    assert "built-in" not in playground.text
    assert "with the same REDIS_URL" in playground.text
    assert "pass-word" not in playground.text
    assert stderr.startswith(f"Reading namespace test-playground-of-real-parts in {redis_server.url}: a bridge is ")
    assert code == 0


async def test_a_real_slack_that_refuses_the_token_ends_the_playground(folder: Path) -> None:
    async with EmulatedSlack(signing_secret=SIGNING_SECRET, bot_token=BOT_TOKEN) as slack:
        code, output = await refused(
            folder,
            "--port",
            "0",
            SLACK_BOT_TOKEN="xoxb-another",
            SLACK_SIGNING_SECRET=SIGNING_SECRET,
            SLACK_API_URL=slack.api_url,
            BRIDGE_PORT="0",
        )

    assert code == 1
    assert "copy SLACK_BOT_TOKEN again" in output
    assert "xoxb-another" not in output
