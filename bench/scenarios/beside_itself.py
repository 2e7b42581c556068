"""Turns per second of a bridge that does more: with ten projects, or with traces; each beside one that doesn't."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from statistics import median

from bench.figures import TIMES, Figure, at_least, ratio_of_pairs, without_target
from bench.scenarios.turns import in_turns, talks
from bench.stage import Stage

_COUNT = 10
_TABLE = """\
[projects.{id}]
base_url = "http://127.0.0.1:{port}"
api_key_env = "KEY_OF_PROJECTS"
"""
_THANKS = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"


async def projects(stage: Stage) -> list[Figure]:
    """Measure 16 and 64 threads; those of the bridge with ten projects are about each of them in turn."""
    others = [f"project{number}" for number in range(1, _COUNT)]
    file = stage.around.folder / "ten.toml"
    tables = (_TABLE.format(id=project, port=stage.project.port) for project in others)
    file.write_text("".join(tables), encoding="utf-8")
    several = {"BRIDGE_CONFIG": str(file), "KEY_OF_PROJECTS": "key"}
    return await _beside_itself(stage, "ten projects", several, ["default", *others])


async def traces(stage: Stage) -> list[Figure]:
    """Measure 16 and 64 threads; the traces of one bridge's turns go to a collector, which reads and drops them."""
    async with _collector() as endpoint:
        return await _beside_itself(stage, "traces", {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint})


async def _beside_itself(
    stage: Stage, what: str, environ: dict[str, str], projects: Sequence[str] = ("",)
) -> list[Figure]:
    """Compare a bridge with *what* its *environ* adds with one without, for threads about *projects*."""
    figures = []
    namespace = f"bench-{what.replace(' ', '-')}"
    async with stage.server("bridge") as without, stage.server("bridge", BRIDGE_NAMESPACE=namespace, **environ) as more:
        for threads in (16, 64):
            theirs, ours = await talks(stage, without, threads), await talks(stage, more, threads, projects)
            seconds = stage.length.of(1.5, 0.5)
            for warming in (theirs, ours):
                await warming.continue_for(seconds)
            before = [(len(talk.messages), talk.doors[0].process.cpu_seconds()) for talk in (ours, theirs)]
            rates, their_rates = await in_turns(ours, theirs, seconds, stage.length.times(8, 2))
            after = [(len(talk.messages), talk.doors[0].process.cpu_seconds()) for talk in (ours, theirs)]
            stage.check(theirs.messages + ours.messages)
            name, ratio = f"{threads} threads", ratio_of_pairs(rates, their_rates)
            cpu = [(now[1] - then[1]) / (now[0] - then[0]) * 1e3 for now, then in zip(after, before, strict=True)]
            beside = f"{cpu[0]:.2f} and {cpu[1]:.2f} ms of processor time each"
            figures += [
                at_least(f"turns/s with {what} ÷ without, {name}", ratio, 0.95, TIMES, beside=beside),
                without_target(f"turns/s with {what}, {name}", median(rates), "/s"),
            ]
    return figures


@asynccontextmanager
async def _collector() -> AsyncIterator[str]:
    """Answer every request with nothing, at the address that this gives."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await _head(reader):
            await reader.readexactly(int(head.partition(b"content-length:")[2].split(b"\r\n")[0]))
            writer.write(_THANKS)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1") as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return (await reader.readuntil(b"\r\n\r\n")).lower()
    except asyncio.IncompleteReadError:
        return b""
