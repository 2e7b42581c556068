"""`SampleProject`: the eight operations of the project service, over HTTP, on a real socket."""

from __future__ import annotations

import asyncio
import hmac
import inspect
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from bridge.playground.local_server import Cut, DropAfter, DropBefore, LocalServer, Port, Silence
from bridge.playground.sample_project.answers import Hang, Planned, PlannedAnswer, PlannedUse, Proper
from bridge.playground.sample_project.operations import Operations, Refused

_PREFIX: Final = "/api/sdk"


@dataclass
class ProjectCall:
    """One request: *body* is its JSON, if any; *status* is None until it is answered.

    *session* is the one that it names, or its answer; ``""`` if neither does.
    """

    method: str
    path: str
    body: Any
    at: float
    key_ok: bool
    status: int | None = None
    seconds: float = 0.0
    session: str = ""
    traceparent: str = ""  # its header
    idempotency_key: str = ""  # its header

    def note_session(self, sent: Any) -> None:
        if isinstance(sent, dict) and sent.get("sessionId") is not None:
            self.session = str(sent["sessionId"])


Operation = Callable[[Operations, str, Any], Any]
"""An operation on an ID and a body; its result may be awaitable."""


class SampleProject:
    """The project service, in this process.

    Workflows and agents in *operations* may be replaced or added to. `on` plans other responses than the proper ones;
    `stop` and `start` take it down and bring it back at the same address. With a folder *data_dir*, sessions and
    statistics survive the process. *name* is the project's.
    """

    def __init__(
        self,
        *,
        api_key: str,
        port: Port = 0,
        clock: Callable[[], float] = time.time,
        data_dir: Path | None = None,
        name: str = "Sample shop",
    ) -> None:
        self.operations = Operations(clock, data_dir=data_dir, name=name)
        self._clock = clock
        self.api_key = api_key
        self.more_keys: set[str] = set()  # which it accepts, too
        self.calls: list[ProjectCall] = []
        self.is_up = False
        self._plans: list[PlannedUse] = []
        self._server = LocalServer(self._app(), port=port)

    @property
    def base_url(self) -> str:
        """The value for ``PROJECT_BASE_URL``."""
        return self._server.url

    async def start(self) -> None:
        await self._server.start()
        self.is_up = True

    async def stop(self) -> None:
        """Stop serving: connections break, and new ones are refused."""
        self.is_up = False
        await self._server.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    def on(self, method: str, path: str, answer: Planned, *, times: int | None = 1) -> None:
        """Plan *answer* for the next *times* requests (None: all) to *path* (``*``: any)."""
        self._plans.append(PlannedUse(method, path, answer, times))

    def clear(self) -> None:
        self._plans.clear()

    def calls_to(self, path: str) -> list[ProjectCall]:
        return [call for call in self.calls if call.path == path]

    def _app(self) -> Starlette:
        return Starlette(
            routes=[
                Route(_PREFIX + path, self._endpoint(operation), methods=[method])
                for method, path, operation in _ROUTES
            ]
        )

    def _endpoint(self, operation: Operation) -> Callable[[Request], Awaitable[ASGIApp]]:
        async def endpoint(request: Request) -> ASGIApp:
            sent = await request.body()
            call = ProjectCall(
                request.method, request.url.path, _read(sent), self._clock(), self._is_signed_in(request)
            )
            call.note_session(call.body)
            call.traceparent = request.headers.get("traceparent", "")
            call.idempotency_key = request.headers.get("idempotency-key", "")
            self.calls.append(call)
            started = time.perf_counter()
            answer = await self._planned(call, lambda: self._properly(operation, request, call))
            call.seconds = time.perf_counter() - started
            call.status = answer.status_code if isinstance(answer, Response) else None
            return answer

        return endpoint

    def _is_signed_in(self, request: Request) -> bool:
        sent = request.headers.get("authorization", "")
        keys = (self.api_key, *self.more_keys)
        return any(hmac.compare_digest(sent.encode(), f"Bearer {key}".encode()) for key in keys)

    async def _planned(self, call: ProjectCall, properly: Callable[[], Awaitable[Response]]) -> ASGIApp:
        match self._take(call.method, call.path):
            case Proper(delay):
                await asyncio.sleep(delay)
                return await properly()
            case PlannedAnswer() as answer:
                await asyncio.sleep(answer.delay)
                content = json.dumps(answer.json).encode() if answer.body is None else answer.body
                headers = {"Content-Type": "application/json", **answer.headers}
                return Response(content, answer.status, headers)
            case Hang():
                return Silence()
            case DropBefore():
                return Cut(self._server)
            case DropAfter():
                await properly()
                return Cut(self._server)

    def _take(self, method: str, path: str) -> Planned:
        for plan in self._plans:
            if plan.fits(method, path):
                plan.times = None if plan.times is None else plan.times - 1
                return plan.answer
        return Proper()

    async def _properly(self, operation: Operation, request: Request, call: ProjectCall) -> Response:
        if not call.key_ok:
            return JSONResponse({"error": "Invalid API key"}, status_code=401)
        try:
            answer = operation(self.operations, request.path_params.get("id", ""), call.body)
            answer = await answer if inspect.isawaitable(answer) else answer
            call.note_session(answer)
            return JSONResponse(answer)
        except Refused as refused:
            return JSONResponse({"error": refused.message}, status_code=refused.status)


_ROUTES: Final[tuple[tuple[str, str, Operation], ...]] = (
    ("GET", "/workflows", lambda project, _id, _body: project.get_workflows()),
    ("GET", "/workflows/{id}", lambda project, asked, _body: project.get_workflow(asked)),
    ("POST", "/workflows/{id}/run", lambda project, asked, body: project.run_workflow(asked, body)),
    ("GET", "/agents", lambda project, _id, _body: project.get_agents()),
    ("GET", "/agents/{id}", lambda project, asked, _body: project.get_agent(asked)),
    ("POST", "/agents/{id}/chat", lambda project, asked, body: project.send_message(asked, body)),
    ("GET", "/project", lambda project, _id, _body: project.get_project()),
    ("GET", "/stats", lambda project, _id, _body: project.get_stats()),
)


def _read(body: bytes) -> Any:
    try:
        return json.loads(body) if body else None
    except ValueError:
        return None
