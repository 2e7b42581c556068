"""Each shell and Python block in the documentation works, in a clean folder next to a running bridge.

Made-up values in the pages are replaced by this bridge's real ones (`_real`).
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import pytest_asyncio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from bridge.engine.dispatch import Features
from bridge.engine.feature import Command, Feature
from bridge.features.project_info import commands as project_info
from bridge.features.registry import features
from bridge.playground.emulator.__main__ import obey
from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import ALICE, GENERAL
from bridge.playground.local_server import LocalServer
from bridge.project import ProjectClient
from bridge.slack.blockkit.modals import Origin
from support.docs_site import ROOT, Block, blocks
from support.forks import are_possible, program_for_shells
from support.playground import bare_environment
from support.ports import NO_TLS, free_port
from support.real_redis import RealRedis
from support.system import System, open_shared_system
from support.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="module")

_ADDED = [one for one in blocks("python") if "where-things-go" in one.where and not one.why_not]
ADDED = {one.where: one for one in _ADDED if "(Form)" not in one.code}
"""A command in an existing feature, and a feature."""
[FORM] = [one for one in blocks("python") if "(Form)" in one.code]
SHELL = {one.where: one for one in blocks("sh", "python") if not one.why_not and one not in {FORM, *ADDED.values()}}
BARE: dict[str, Any] = {
    "workflows": [{"id": 3, "name": "Import", "is_active": False, "trigger_type": "", "node_count": 0}],
    "agents": [{"id": 1, "name": "Support", "model": ""}],
    "project": {"id": 1, "name": "Project"},
}
DEAD = ("aB3dE5fG7hJ9kL1m", "nP2qR4sT6uV8wX0y")


@dataclass
class Running:
    """A running bridge, one answered message, and two that failed."""

    system: System
    answered: str
    dead: list[str]

    def real(self, code: str) -> str:
        """Replace the page's examples with real values."""
        link = f"https://playground.slack.com/archives/{GENERAL}/p{self.answered.replace('.', '')}"
        examples = {
            "https://acme.slack.com/archives/C0123456789/p1700000000123456": link,
            "U0123456789 C0123456789": f"{ALICE} {GENERAL}",
            "http://127.0.0.1:3000/slack/events": str(self.system.slack.events_url),
            "http://127.0.0.1:3000": self.system.bridges[0].url,
            "127.0.0.1:6379": self.system.redis_url,
            "--port 8090": f"--port {free_port()}",
            "--port 8081": f"--port {free_port()}",
            **dict(zip(DEAD, self.dead, strict=True)),
        }
        return re.sub("|".join(map(re.escape, examples)), lambda found: examples[found[0]], code)

    def settings(self) -> dict[str, str]:
        """The contents of `.env`: the bridge's own settings, and a port for a second one."""
        return {**self.system.bridges[0].environ, "BRIDGE_PORT": str(free_port()), "BRIDGE_LOG_FORMAT": "console"}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running() -> AsyncIterator[Running]:
    with tempfile.TemporaryDirectory(prefix="br-") as folder, RealRedis(Path(folder)) as server:
        async with open_shared_system(server.url, BRIDGE_DEFAULT_AGENT="1") as system:
            root = await system.mention(ALICE, GENERAL, "a question")
            await system.answered(GENERAL, root)
            for count in range(1, len(DEAD) + 1):
                system.slack.faults.on("chat.postMessage", Error("is_archived"), channel=GENERAL)
                await system.mention(ALICE, GENERAL, "a question that Slack takes no answer to")
                await wait_until(partial(_has_dead_letters, system, count), "the message is a dead letter")
            system.slack.faults.clear()
            yield Running(system, root, await _dead_letters(system))


async def _dead_letters(system: System) -> list[str]:
    return list(await system.redis.zrange(f"{{{system.namespace}}}:dead", 0, -1))


async def _has_dead_letters(system: System, count: int) -> bool:
    return len(await _dead_letters(system)) == count


@pytest.fixture
def folder(tmp_path: Path, running: Running) -> Path:
    """A clean folder with the settings, as after `bridge setup`."""
    shutil.copy(ROOT / ".env.example", tmp_path)
    lines = [f"{name}={value}" for name, value in running.settings().items()]
    (tmp_path / ".env").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def forked() -> AsyncIterator[Path | None]:
    """A folder with a quick ``bridge``: each of some twenty would import everything."""
    with program_for_shells() if are_possible() else nullcontext() as folder:
        yield folder


@pytest.mark.parametrize("where", SHELL)
async def test_every_shell_block_in_the_docs_works(
    where: str, running: Running, folder: Path, forked: Path | None
) -> None:
    block = SHELL[where]
    if "curl " in block.code and not shutil.which("curl"):
        pytest.skip("curl isn't installed")
    code = running.real(block.code)
    settings = running.settings()
    project = {name: settings[name] for name in ("PROJECT_BASE_URL", "PROJECT_API_KEY")}
    programs = [forked] if forked and not block.words else []  # what is stopped gets signals, so it's started as it is
    path = os.pathsep.join(map(str, [*programs, Path(sys.executable).parent, os.environ["PATH"]]))
    environ = bare_environment(PATH=path, NO_COLOR="1", **project)

    code_of_exit, printed = await (_until_stopped if block.words else _ended)(block, code, folder, environ)

    assert code_of_exit == 0, f"{where}: {printed}"
    assert printed


async def _ended(block: Block, code: str, folder: Path, environ: dict[str, str]) -> tuple[int, str]:
    program = [sys.executable, "-c", code] if block.language == "python" else ["sh", "-euc", code]
    process = await asyncio.create_subprocess_exec(
        *program, cwd=folder, env=environ, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    printed, _ = await process.communicate()
    return process.returncode or 0, printed.decode()


async def _until_stopped(block: Block, code: str, folder: Path, environ: dict[str, str]) -> tuple[int, str]:
    """Start it, wait for its output, and press Ctrl-C."""
    # A shell's background jobs and their children ignore SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    process = await asyncio.create_subprocess_exec(
        *["sh", "-euc", f"exec env {code}"], cwd=folder, env=environ,
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    assert process.stdout is not None
    printed = b""
    try:
        async with asyncio.timeout(30):
            while block.words.encode() not in printed:
                chunk = await process.stdout.read(65536)
                assert chunk, printed.decode()
                printed += chunk
        process.send_signal(signal.SIGINT)
        printed += await process.stdout.read()
    finally:
        if process.returncode is None and not printed:
            process.kill()
    return await process.wait(), printed.decode()


async def _answer_barely(request: Request) -> JSONResponse:
    """Answer as the service's interface requires, with none of its optional fields."""
    path = request.url.path.rpartition("/api/sdk/")[2]
    return JSONResponse(BARE.get(path, {"sessionId": 1, "message": "Hello."}))


async def test_the_documented_client_works_without_optional_fields(folder: Path) -> None:
    [block] = [one for one in SHELL.values() if "project-client" in one.where and one.language == "python"]
    app = Starlette(routes=[Route("/{path:path}", _answer_barely, methods=["GET", "POST"])])
    async with LocalServer(app) as service:
        environ = bare_environment(PROJECT_BASE_URL=service.url, PROJECT_API_KEY="key")

        code_of_exit, printed = await _ended(block, block.code, folder, environ)

    assert (code_of_exit, printed.splitlines()) == (0, ["3 Import (inactive)", "Hello."])


@pytest.mark.parametrize("project", ["sample", "bare"])
@pytest.mark.parametrize("where", ADDED)
async def test_the_documented_custom_command_works(where: str, project: str, running: Running) -> None:
    in_its_file = {**vars(project_info), "project_info": Feature("project_info")}
    found: dict[str, Any] = in_its_file if "@project_info" in ADDED[where].code else {}
    exec(ADDED[where].code, found)  # noqa: S102 - our own page
    [feature] = [value for value in found.values() if isinstance(value, Feature)]
    [added] = feature.commands
    assert isinstance(added, Command)
    path = " ".join(added.path)
    taken = f"the bridge has {path} now: choose another command for the example in {where}"
    assert added.path not in [one.path for one in features.commands.commands], taken
    assert added.usage in Features(*features.features, feature).commands.usages()

    app = Starlette(routes=[Route("/{path:path}", _answer_barely)])
    async with LocalServer(app) as service:
        url = service.url if project == "bare" else running.settings()["PROJECT_BASE_URL"]
        async with ProjectClient(url, running.settings()["PROJECT_API_KEY"]) as client:
            reply: Any = await added.handler(None, SimpleNamespace(project=SimpleNamespace(client=client)))

    assert reply.text == ("Members: unknown" if project == "bare" else "Members: 4")


async def test_the_documented_form_reads_what_its_fields_ask_for() -> None:
    found: dict[str, Any] = {}
    exec(FORM.code, found)  # noqa: S102 - our own page

    blocks_shown = found["note_form"](None, Origin()).view["blocks"]

    assert [block["block_id"] for block in blocks_shown] == ["agent", "text"]
    assert found["NoteForm"].read({"agent": "7", "text": " Friendly "}) == (7, "Friendly")


async def test_the_emulator_runs_the_commands_typed_on_the_page(running: Running) -> None:
    [typed] = [block.code for block in blocks("text") if "emulated-slack" in block.where]
    slack, said = running.system.slack, []

    for line in typed.splitlines():
        ts = said[0] if said else ""
        if not line.startswith("click"):
            said.append(await obey(slack, line.replace("1763700000.000100", ts)))

    assert "say, reply" not in " ".join(said)
    assert said[0] in said[-1]


async def test_the_documented_schedule_is_accepted(running: Running) -> None:
    [typed] = [one.code for one in blocks("text") if "schedule-reports" in one.where and "report" in one.code]
    system = running.system
    before = len(system.ephemerals(ALICE))
    command, _, text = typed.strip().replace("#ops", "#general").partition(" ")

    await system.slack.ui.command(ALICE, GENERAL, command, text)

    await wait_until(
        lambda: len(system.ephemerals(ALICE)) > before or system.posted(GENERAL), "the message is answered"
    )


async def test_readyz_matches_the_documentation(running: Running) -> None:
    [shown] = [block.code for block in blocks("json") if "http.md" in block.where]

    async def is_the_same() -> bool:
        async with httpx.AsyncClient(verify=NO_TLS) as http:
            answer = await http.get(f"{running.system.bridges[0].url}/readyz")
        return bool(answer.json() == httpx.Response(200, text=shown).json())

    await wait_until(is_the_same, "the message is printed")
