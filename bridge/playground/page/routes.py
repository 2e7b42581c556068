"""The page's routes, on the emulated Slack's server."""

from __future__ import annotations

import time
from collections.abc import Hashable
from pathlib import Path
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route, Router
from starlette.staticfiles import StaticFiles

from bridge.playground.emulator import EmulatedSlack
from bridge.playground.emulator.entities import File, Member
from bridge.playground.emulator.tickets import in_window
from bridge.playground.page import docs
from bridge.playground.page.actions import Hand, act
from bridge.playground.page.choices import Choices
from bridge.playground.page.faults import ProjectFaults, SlackFaults, Switchboards
from bridge.playground.page.guard import Guarded
from bridge.playground.page.live import Live
from bridge.playground.page.machinery import Machinery, Trace
from bridge.playground.page.names import Names
from bridge.playground.page.sight import NotSeen, Sight
from bridge.playground.page.state import Around, Asked, state
from bridge.playground.page.wires import Traces, steps_of
from bridge.playground.sample_project import SampleProject

STATIC: Final = Path(__file__).parent / "static"
_FILE_POLICY: Final = "default-src 'none'; sandbox"


class Page:
    """The page of *slack*. *project* is the sample project, if it is used; *host* is another host name to accept."""

    def __init__(
        self,
        slack: EmulatedSlack,
        machinery: Machinery,
        trace: Trace,
        *,
        project: SampleProject | None = None,
        host: str = "",
    ) -> None:
        self._slack = slack
        self._machinery = machinery
        self._project = project
        self._host = host
        boards = [ProjectFaults(project)] if project is not None else []
        self._switches = Switchboards(machinery, SlackFaults(slack), *boards)
        self._traces = Traces(trace, time.monotonic)
        self._choices = Choices()
        self._names: dict[str, Names] = {}
        self._live = Live(slack.workspace, self._elsewhere)

    def routes(self) -> list[BaseRoute]:
        """The routes of the page."""
        own = Router(
            [
                Route("/stream", self._stream),
                Route("/state", self._state),
                Route("/wires", self._wires),
                Route("/file/{file}", self._file),
                Route("/do/{action}", self._do, methods=["POST"]),
            ]
        )
        return [
            Route("/", Guarded(Router([Route("/", _index)]), self._host)),
            Mount("/static", Guarded(StaticFiles(directory=STATIC), self._host)),
            Mount("/page", Guarded(own, self._host)),
            *docs.routes(self._host),
        ]

    def _elsewhere(self) -> Hashable:
        """What the page shows besides the workspace, and automatic changes in the workspace."""
        workspace = self._slack.workspace
        shown = [one for one in workspace.sessions.values() if one.status or one.lifecycle == "processing"]
        return (
            tuple(self._machinery.parts()),
            tuple(self._machinery.commands()),
            tuple(self._switches.faults()),
            self._slack.unknown_methods.total(),
            tuple(workspace.status(one.channel, one.thread_ts) for one in shown),
        )

    def _sight(self, request: Request) -> Sight:
        """The person of this window, by default the first. Raises NotSeen."""
        workspace = self._slack.workspace
        wanted = request.query_params.get("as", "")
        for person in workspace.people.values():
            if _is_somebody(person) and wanted in {"", person.id}:
                return Sight(workspace, person)
        raise NotSeen(wanted)

    def _names_for(self, sight: Sight) -> Names:
        """The same object while the names are the same, so that caches keyed by it hit."""
        made = sight.names()
        known = self._names.get(sight.me.id)
        if known is None or not known.is_like(made):
            known = self._names[sight.me.id] = made
        return known

    async def _state(self, request: Request) -> Response:
        asked = request.query_params
        wanted = Asked(
            asked.get("channel", ""),
            asked.get("thread", ""),
            asked.get("before", ""),
            is_full=asked.get("full") == "1",
            window=asked.get("window", ""),
        )
        try:
            sight = self._sight(request)
            return JSONResponse(state(sight, self._names_for(sight), wanted, self._around()))
        except NotSeen:
            return _not_seen()

    def _around(self) -> Around:
        gaps = self._slack.unknown_methods
        return Around(self._live.version, self._machinery, self._switches.faults(), gaps)

    async def _stream(self, _: Request) -> Response:
        return StreamingResponse(self._live.events(), media_type="text/event-stream")

    async def _wires(self, request: Request) -> Response:
        asked = request.query_params
        try:
            sight = self._sight(request)
            message = sight.message(asked.get("channel", ""), asked.get("ts", ""))
        except NotSeen:
            return _not_seen()
        return JSONResponse({"steps": await steps_of(message, sight, self._slack, self._project, self._traces)})

    async def _file(self, request: Request) -> Response:
        """Any file as a plain-text download, so that none is rendered as a page."""
        file = self._slack.workspace.files.get(request.path_params["file"])
        try:
            sight = self._sight(request)
            if file is None or file.content is None or not _may_see(sight, file):
                return _not_seen()
        except NotSeen:
            return _not_seen()
        headers = {"Content-Disposition": "attachment", "Content-Security-Policy": _FILE_POLICY}
        return Response(file.content, media_type="text/plain; charset=utf-8", headers=headers)

    async def _do(self, request: Request) -> Response:
        try:
            sight = self._sight(request)
            sent: Any = await request.json()
        except NotSeen:
            return JSONResponse({"ok": False, "error": "That person is no longer in this workspace."}, status_code=404)
        except ValueError:
            return JSONResponse({"ok": False, "error": "Expected JSON."}, status_code=400)
        hand = Hand(self._slack, sight, self._names_for(sight), self._machinery, self._switches, self._choices)
        with in_window(request.query_params.get("window", "")):
            return JSONResponse(await act(request.path_params["action"], sent, hand))


def _is_somebody(person: Member) -> bool:
    return not (person.is_bot or person.is_slacks or person.deleted)


def _may_see(sight: Sight, file: File) -> bool:
    """Whether the person sees a message with the file."""
    shown = (one for channel in sight.channels() for one in sight.workspace.messages.of(channel.id))
    return file.user == sight.me.id or any(file.id == part.get("id") for one in shown for part in one.all_files)


async def _index(_: Request) -> Response:
    return FileResponse(STATIC / "index.html")


def _not_seen() -> Response:
    return PlainTextResponse("Not found, or you can't see it.", status_code=404)
