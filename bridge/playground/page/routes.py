"""The page's routes, on the emulated Slack's server."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Mount, Route, Router
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from bridge.playground.emulator import EmulatedSlack
from bridge.playground.emulator.entities import File, Member
from bridge.playground.emulator.tickets import in_window
from bridge.playground.page import docs
from bridge.playground.page.actions import Actor, act
from bridge.playground.page.choices import MenuOptions
from bridge.playground.page.faults import ProjectFaults, SlackFaults
from bridge.playground.page.first_steps import FirstSteps
from bridge.playground.page.guard import Guarded
from bridge.playground.page.live import Live
from bridge.playground.page.names import Names
from bridge.playground.page.state import SharedState, StateQuery, state
from bridge.playground.page.supervisor import Supervisor, Switch, Trace
from bridge.playground.page.viewer import NotVisible, Viewer
from bridge.playground.page.wires import Traces, steps_of
from bridge.playground.sample_project import SampleProject

STATIC: Final = Path(__file__).parent / "static"
_FILE_POLICY: Final = "default-src 'none'; sandbox"


class Page:
    """The page of *slack*. *project* is the sample project, if it is used.

    The steps that a newcomer took are stored in *folder*, if given. *default_agent* answers what names no agent.
    """

    def __init__(
        self,
        slack: EmulatedSlack,
        supervisor: Supervisor,
        trace: Trace,
        *,
        project: SampleProject | None = None,
        folder: Path | None = None,
        default_agent: str = "",
    ) -> None:
        self._slack = slack
        self._supervisor = supervisor
        self._project = project
        self._boards: list[Supervisor | SlackFaults | ProjectFaults] = [supervisor, SlackFaults(slack)]
        if project is not None:
            self._boards.append(ProjectFaults(project))
        self._traces = Traces(trace, time.monotonic)
        self._choices = MenuOptions()
        self._names: dict[str, Names] = {}
        self._steps = FirstSteps(slack, project, folder)
        self._default_agent = default_agent
        self._live = Live(slack.workspace, self._elsewhere)

    def routes(self) -> list[BaseRoute]:
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
            Route("/", Guarded(Router([Route("/", _index)]))),
            Mount("/static/{version}", Guarded(_Static(directory=STATIC))),
            Mount("/page", Guarded(own)),
            *docs.routes(),
        ]

    def _faults(self) -> list[Switch]:
        return [switch for board in self._boards for switch in board.faults()]

    def _elsewhere(self) -> Hashable:
        """What the page shows besides the workspace, and automatic changes in the workspace."""
        workspace = self._slack.workspace
        shown = [
            session for session in workspace.sessions.values() if session.status or session.lifecycle == "processing"
        ]
        return (
            tuple(self._supervisor.parts()),
            json.dumps(self._supervisor.features),
            tuple(self._faults()),
            tuple(self._steps.taken(self._supervisor.parts())),
            tuple(workspace.status(thread.channel, thread.thread_ts) for thread in shown),
        )

    def _viewer(self, request: Request) -> Viewer:
        """The person of this window, by default the first. Raises NotVisible."""
        workspace = self._slack.workspace
        wanted = request.query_params.get("as", "")
        for person in workspace.people.values():
            if _is_person(person) and wanted in {"", person.id}:
                return Viewer(workspace, person)
        raise NotVisible(wanted)

    def _names_for(self, viewer: Viewer) -> Names:
        """The same object while the names are the same, so that caches keyed by it hit."""
        made = viewer.names()
        known = self._names.get(viewer.me.id)
        if known is None or not known.is_like(made):
            known = self._names[viewer.me.id] = made
        return known

    async def _state(self, request: Request) -> Response:
        asked = request.query_params
        wanted = StateQuery(
            asked.get("channel", ""),
            asked.get("thread", ""),
            asked.get("before", ""),
            is_full=asked.get("full") == "1",
            window=asked.get("window", ""),
        )
        # Private messages are gone once their window is loaded again.
        try:
            now = asked.get("since") == "now"
            since = self._slack.clock() if now else float(asked.get("since", 0))
        except ValueError:
            return _not_seen()
        try:
            viewer = replace(self._viewer(request), since=since)
            return JSONResponse(state(viewer, self._names_for(viewer), wanted, self._shared_state()))
        except NotVisible:
            return _not_seen()

    def _shared_state(self) -> SharedState:
        steps = self._steps.taken(self._supervisor.parts())
        return SharedState(self._live.version, self._supervisor, self._faults(), steps, self._default_agent)

    async def _stream(self, _: Request) -> Response:
        return StreamingResponse(self._live.events(), media_type="text/event-stream")

    async def _wires(self, request: Request) -> Response:
        asked = request.query_params
        try:
            viewer = self._viewer(request)
            message = viewer.message(asked.get("channel", ""), asked.get("ts", ""))
        except NotVisible:
            return _not_seen()
        return JSONResponse({"steps": await steps_of(message, viewer, self._slack, self._project, self._traces)})

    async def _file(self, request: Request) -> Response:
        """Any file as a plain-text download, so that none is rendered as a page."""
        file = self._slack.workspace.files.get(request.path_params["file"])
        try:
            viewer = self._viewer(request)
            if file is None or file.content is None or not _may_see(viewer, file):
                return _not_seen()
        except NotVisible:
            return _not_seen()
        headers = {"Content-Disposition": "attachment", "Content-Security-Policy": _FILE_POLICY}
        return Response(file.content, media_type="text/plain; charset=utf-8", headers=headers)

    async def _do(self, request: Request) -> Response:
        try:
            viewer = self._viewer(request)
            sent: Any = await request.json()
        except NotVisible:
            return JSONResponse({"ok": False, "error": "That person is no longer in this workspace."}, status_code=404)
        except ValueError:
            return JSONResponse({"ok": False, "error": "Expected JSON."}, status_code=400)
        actor = Actor(self._slack, viewer, self._names_for(viewer), self._supervisor, self._faults, self._choices)
        with in_window(request.query_params.get("window", "")):
            return JSONResponse(await act(request.path_params["action"], sent, actor))


def _is_person(person: Member) -> bool:
    return not (person.is_bot or person.is_slacks or person.deleted)


def _may_see(viewer: Viewer, file: File) -> bool:
    """Whether the person sees a message with the file."""
    shown = (message for channel in viewer.channels() for message in viewer.workspace.messages.of(channel.id))
    ids = (part.get("id") for message in shown for part in message.all_files)
    return file.user == viewer.me.id or file.id in ids


async def _index(_: Request) -> Response:
    page = (STATIC / "index.html").read_text(encoding="utf-8")
    return HTMLResponse(page.replace('"/static/', f'"/static/{version(STATIC)}/'))


def version(folder: Path) -> str:
    """Derive a version from the files in *folder*, at each request: a developer may change one."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.*")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class _Static(StaticFiles):
    """The page's fifty files. A browser keeps them: if one changes, their addresses do."""

    def file_response(
        self, full_path: str | os.PathLike[str], stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers["Cache-Control"] = "max-age=31536000, immutable"
        return response


def _not_seen() -> Response:
    return PlainTextResponse("Not found, or you can't see it.", status_code=404)
