"""Turns per second of a bridge that does more: with ten projects, or with traces; each beside one that doesn't."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from statistics import geometric_mean, median
from typing import NamedTuple

from bench.figures import TIMES, Figure, at_least, ratio_of_pairs, without_target
from bench.scenarios.turns import in_turns, talks
from bench.stage import Stage, Target

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
    """Compare bridges with *what* their *environ* adds with ones without, for threads about *projects*.

    There are several of each, because two processes differ by 5 % even if they do the same.
    """
    at: dict[int, list[_Compared]] = {16: [], 64: []}
    for _ in range(stage.length.times(5, 1)):
        async with (
            stage.server("bridge") as without,
            stage.server("bridge", BRIDGE_NAMESPACE=f"bench-{what.replace(' ', '-')}", **environ) as more,
        ):
            for threads, compared in at.items():
                compared.append(await _one_beside_another(stage, more, without, threads, projects))
    figures = []
    for threads, compared in at.items():
        name, count = f"{threads} threads", f"{len(compared)} processes of each"
        ratio, cpu = (geometric_mean(getattr(pair, by) for pair in compared) for by in ("turns", "cpu"))
        beside = f"{cpu:.2f} of the processor time each; {count}"
        rate = median(pair.rate for pair in compared)
        figures += [
            at_least(f"turns/s with {what} ÷ without, {name}", ratio, 0.95, TIMES, beside=beside),
            without_target(f"turns/s with {what}, {name}", rate, "/s"),
        ]
    return figures


class _Compared(NamedTuple):
    """What one process does ÷ what another does: *turns* per second, and *cpu* time a turn; its *rate* is turns/s."""

    turns: float
    cpu: float
    rate: float


async def _one_beside_another(
    stage: Stage, more: Target, without: Target, threads: int, projects: Sequence[str]
) -> _Compared:
    theirs, ours = await talks(stage, without, threads), await talks(stage, more, threads, projects)
    seconds = stage.length.of(1, 0.5)
    for warming in (theirs, ours):
        await warming.continue_for(seconds)
    before = [(len(talk.messages), talk.doors[0].process.cpu_seconds()) for talk in (ours, theirs)]
    rates, their_rates = await in_turns(ours, theirs, seconds, stage.length.times(4, 2))
    after = [(len(talk.messages), talk.doors[0].process.cpu_seconds()) for talk in (ours, theirs)]
    stage.check(theirs.messages + ours.messages)
    ours_each, theirs_each = ((now[1] - then[1]) / (now[0] - then[0]) for now, then in zip(after, before, strict=True))
    return _Compared(ratio_of_pairs(rates, their_rates), ours_each / theirs_each, median(rates))


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
