"""The HTTP side of the emulated Slack: Web API, response URLs, uploads and downloads."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import Any, Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from bridge.playground.emulator import contents, responses, web_api
from bridge.playground.emulator.entities import File, Json
from bridge.playground.emulator.faults import Error, Fault, Faults, Hang, Http, RateLimited, Redirect, Slow
from bridge.playground.emulator.manifests import EVENTS, Installation
from bridge.playground.emulator.multipart import form_parts
from bridge.playground.emulator.rates import Rates
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.tickets import TicketError, Tickets
from bridge.playground.emulator.web_api.method import Happening, MethodCall, Registered
from bridge.playground.emulator.workspace import Workspace
from bridge.playground.local_server import Cut, DropAfter, DropBefore, LocalServer, Silence

ALL_SCOPES: Final = frozenset(
    [scope for method in web_api.METHODS.values() if method.caller == "bot" for scope in method.scopes]
    + [scope for scopes in EVENTS.values() for scope in scopes]
    + ["commands"]
)
APP_SCOPES: Final = frozenset({"connections:write"})
_TOO_MANY: Final = 429
_CHARSETS: Final = {"utf-8", "iso-8859-1"}


@dataclass
class ApiCall:
    """One call of a Web API method, a ``response_url``, an ``upload`` or a ``download``.

    *answer* is None until there is one, and if the connection was broken instead. *has_token* is whether a token was in
    the headers, where only the Web API and downloads expect it. *ticket* is the last part of the ``response_url``.
    *posted* is the ``ts`` of the message that it posted, if any.
    """

    method: str
    args: Json
    token_ok: bool
    at: float
    fault: Fault | None = None
    status: int | None = None
    answer: Any = None
    seconds: float = 0.0
    has_token: bool = False
    ticket: str = ""
    posted: str = ""

    @property
    def is_ok(self) -> bool:
        """Whether it was carried out and answered."""
        return isinstance(self.answer, dict) and bool(self.answer.get("ok"))

    def note(self, answer: Response) -> None:
        """Note its *answer*, even if nobody gets it."""
        self.status, self.answer = answer.status_code, _read(answer)
        if self.method.startswith("chat.post") and self.is_ok:
            self.posted = str(self.answer.get("ts") or self.answer["message_ts"])


@dataclass
class ApiServer:
    """The server's endpoints. *scopes*, *rates* and *faults* can change at any time.

    Each token works for its own methods: the bot's, the app's (``xapp-``), and the one for configuring apps
    (``xoxe.xoxp-``); see https://docs.slack.dev/authentication/tokens.
    """

    workspace: Workspace
    tickets: Tickets
    rates: Rates
    bot_token: str
    react: Callable[[Happening], None]
    faults: Faults
    installation: Installation
    calls: list[ApiCall] = field(default_factory=list)
    answers: list[responses.Response] = field(default_factory=list)
    app_token: str = ""
    token_error: str = ""  # the error for the bot's token, if it is refused

    def __post_init__(self) -> None:
        self._server: LocalServer | None = None

    def app(self, *more: BaseRoute) -> Starlette:
        return Starlette(
            routes=[
                Route("/api/{method}", self._web_api, methods=["GET", "POST"]),
                Route("/response/{ticket}", self._response, methods=["POST"]),
                Route("/upload/v1/{file}", self._upload, methods=["POST"]),
                Route("/files-pri/{file}/{name}", self._download, methods=["GET"]),
                Route("/files-pri/{file}/download/{name}", self._download, methods=["GET"]),
                Route("/files-tmb/{file}/file.vtt", self._subtitles, methods=["GET"]),
                *more,
            ]
        )

    def open_at(self, server: LocalServer) -> None:
        self._server = server

    @property
    def scopes(self) -> set[str]:
        return self.installation.scopes

    @property
    def _base_url(self) -> str:
        return self._server.url if self._server else ""

    async def _web_api(self, request: Request) -> ASGIApp:
        method: str = request.path_params["method"]
        known = web_api.METHODS.get(method)
        try:
            args = await _arguments(request, takes_json=known is None or known.takes_json)
        except Refusal as refusal:
            return JSONResponse(refusal.as_json())
        token = _token(request, args)
        call = ApiCall(method, args, token == self._token_for(known), self.workspace.clock())
        answer = await self._with_faults(call, lambda: self._answer(call, token), request)
        if isinstance(answer, Response):
            answer.headers.setdefault("x-oauth-scopes", ",".join(sorted(self._scopes_of(token))))
            answer.headers["x-accepted-oauth-scopes"] = ",".join(known.scopes) if known else ""
            answer.headers.setdefault("date", formatdate(self.workspace.clock(), usegmt=True))
        return answer

    async def _with_faults(self, call: ApiCall, carry_out: Callable[[], Response], request: Request) -> ASGIApp:
        self.calls.append(call)
        call.has_token = "authorization" in request.headers
        started = time.perf_counter()
        channel = str(call.args.get("channel") or call.args.get("channel_id") or "")
        call.fault = self.faults.take(call.method, channel, call.args)
        if isinstance(call.fault, Slow):
            await asyncio.sleep(call.fault.seconds)
        if isinstance(call.fault, Hang) and not call.fault.is_done:
            await call.fault.until.wait()
            if await request.is_disconnected():
                return Silence()
        answer = _instead(call.fault) or self._limited(call.method, channel)
        if isinstance(call.fault, DropAfter) and call.fault.later:
            asyncio.get_running_loop().call_later(call.fault.later, lambda: call.note(carry_out()))
        elif answer is None and not isinstance(call.fault, DropBefore):
            answer = carry_out()
        if isinstance(call.fault, Hang):
            await call.fault.until.wait()
        call.seconds = time.perf_counter() - started
        if answer is None or isinstance(call.fault, DropAfter):
            return Cut(self._server) if self._server else Response(status_code=500)
        call.note(answer)
        return answer

    def _limited(self, method: str, channel: str) -> Response | None:
        seconds = self.rates.retry_after(method, channel)
        return None if seconds is None else _instead(RateLimited(seconds))

    def _answer(self, asked: ApiCall, token: str) -> Response:
        try:
            method = self._permitted(asked, token)
            call = MethodCall(
                asked.method,
                asked.args,
                self.workspace,
                self.tickets,
                self._base_url,
                page_limit=self.rates.page_limit_of(asked.method),
                scopes=self._scopes_of(token),
                is_subscribed=self.installation.is_subscribed,
            )
            with self.workspace.together():
                answer = method.run(call)
                for happening in call.happened:
                    self.react(happening)
        except Refusal as refusal:
            return JSONResponse(refusal.as_json())
        return JSONResponse(answer)

    def _permitted(self, asked: ApiCall, token: str) -> Registered:
        """The method, if the token may call it."""
        method = web_api.METHODS.get(asked.method)
        if method is None:
            raise Refusal("unknown_method", req_method=asked.method)
        if not token:
            raise Refusal("not_authed")
        if token == self.bot_token and self.token_error:
            raise Refusal(self.token_error)
        if not asked.token_ok:
            known = {self.bot_token, self.app_token}
            raise Refusal("not_allowed_token_type" if token in known else "invalid_auth")
        scopes = self._scopes_of(token)
        if method.scopes and not scopes.intersection(method.scopes):
            raise Refusal("missing_scope", needed=",".join(method.scopes), provided=",".join(sorted(scopes)))
        return method

    def _token_for(self, method: Registered | None) -> str:
        return self.app_token if method and method.caller == "app" else self.bot_token

    def _scopes_of(self, token: str) -> frozenset[str]:
        return APP_SCOPES if token and token == self.app_token else frozenset(self.scopes)

    async def _response(self, request: Request) -> ASGIApp:
        try:
            content = await _arguments(request)
        except Refusal as refusal:
            return JSONResponse(refusal.as_json(), status_code=400)
        ticket: str = request.path_params["ticket"]
        call = ApiCall("response_url", content, True, self.workspace.clock(), ticket=ticket)
        return await self._with_faults(call, lambda: self._respond(call), request)

    def _respond(self, call: ApiCall) -> Response:
        content = call.args
        try:
            ticket = self.tickets.use_response(call.ticket)
            with self.workspace.together():
                call.posted, happenings = responses.show(self.workspace, ticket, content)
                for happening in happenings:
                    self.react(happening)
        except TicketError as exc:
            return JSONResponse({"ok": False, "error": exc.error}, status_code=404)
        except Refusal as refusal:
            return JSONResponse(refusal.as_json(), status_code=400)
        self.note("response_url", ticket.user, ticket.channel, content)
        return JSONResponse({"ok": True})

    def note(self, by: str, user: str, channel: str, content: Json) -> None:
        self.answers.append(responses.Response(by, user, channel, content, self.workspace.clock()))

    async def _upload(self, request: Request) -> ASGIApp:
        try:
            content = await _uploaded(request)
        except Refusal as refusal:
            return PlainTextResponse(refusal.error, status_code=400)
        file_id = request.path_params["file"]
        call = ApiCall("upload", {"file": file_id, "length": len(content)}, True, self.workspace.clock())
        return await self._with_faults(call, lambda: self._store(file_id, content), request)

    def _store(self, file_id: str, content: bytes) -> Response:
        file = self.workspace.files.get(file_id)
        if file is None:
            return PlainTextResponse("not found", status_code=404)
        if len(content) != file.length:
            return PlainTextResponse("wrong length", status_code=400)
        file.content = content
        self.workspace.add_file(file)
        return PlainTextResponse(f"OK - {len(content)}")

    async def _download(self, request: Request) -> ASGIApp:
        return await self._fetched(request, lambda file: (file.content, "application/octet-stream"))

    async def _subtitles(self, request: Request) -> ASGIApp:
        def words(file: File) -> tuple[bytes | None, str]:
            is_there = file.transcription == "complete"
            return contents.subtitles(file.transcript, file.duration_ms).encode() if is_there else None, "text/vtt"

        return await self._fetched(request, words)

    async def _fetched(self, request: Request, read: Callable[[File], tuple[bytes | None, str]]) -> ASGIApp:
        """https://docs.slack.dev/reference/objects/file-object: url_private needs the token and files:read.

        Without them the response is Slack's sign-in page, as recorded.
        """
        file = self.workspace.files.get(request.path_params["file"])
        may_read = _token(request, {}) == self.bot_token and "files:read" in self.scopes

        def answer() -> Response:
            if not may_read:
                return HTMLResponse("<!DOCTYPE html><title>Sign in to Playground | Slack</title>")
            content, media_type = read(file) if file else (None, "")
            if content is None:
                return PlainTextResponse("not found", status_code=404)
            return Response(content, media_type=media_type)

        call = ApiCall("download", {"file": request.path_params["file"]}, may_read, self.workspace.clock())
        return await self._with_faults(call, answer, request)


def _instead(fault: Fault | None) -> Response | None:
    """The response of *fault*, if it replaces the real one."""
    match fault:
        case RateLimited(retry_after):
            body = {"ok": False, "error": "ratelimited"}
            return JSONResponse(body, status_code=_TOO_MANY, headers={"Retry-After": str(retry_after)})
        case Error(error, messages):
            return JSONResponse(Refusal(error, messages=messages).as_json())
        case Http(status, body, headers):
            return PlainTextResponse(body, status_code=status, headers=headers)
        case Redirect(location):
            return RedirectResponse(location, status_code=302)
        case _:
            return None


def _read(answer: Response) -> Any:
    text = bytes(answer.body).decode(errors="replace")
    return json.loads(text) if isinstance(answer, JSONResponse) else text


def _token(request: Request, args: Json) -> str:
    """The token, from the header or a form's field."""
    in_args = args.pop("token", None)
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else str(in_args or "")


async def _arguments(request: Request, *, takes_json: bool = True) -> Json:
    """The arguments in the query and in a form or JSON body. Raises Refusal.

    A method that takes no JSON ignores a JSON body; a token in a body counts only in a form.
    https://docs.slack.dev/apis/web-api#post-bodies
    """
    args: Json = dict(request.query_params)
    body = await request.body()
    if request.method == "GET" or not body:
        return args
    kind, _, parameters = request.headers.get("content-type", "").lower().partition(";")
    if "charset=" in parameters and parameters.partition("charset=")[2].strip(' "') not in _CHARSETS:
        raise Refusal("invalid_charset")
    match kind.strip():
        case "application/json":
            sent = _read_json(body)
            sent.pop("token", None)
            return args | sent if takes_json else args
        case "application/x-www-form-urlencoded":
            return args | dict(urllib.parse.parse_qsl(body.decode(errors="replace"), keep_blank_values=True))
        case "multipart/form-data":
            parts = form_parts(request.headers["content-type"], body)
            return args | {part.name: part.content.decode(errors="replace") for part in parts if part.filename is None}
        case "text/plain":
            return args  # Slack accepts it; it isn't parsed here
        case "":
            raise Refusal("missing_post_type")
        case _:
            raise Refusal("invalid_post_type")


async def _uploaded(request: Request) -> bytes:
    """The bytes of a file: the body, or a form's file, as either is accepted. Raises Refusal.

    https://docs.slack.dev/reference/methods/files.getUploadURLExternal
    """
    body, kind = await request.body(), request.headers.get("content-type", "")
    if not kind.lower().startswith("multipart/form-data"):
        return body
    parts = form_parts(kind, body)
    return next((part.content for part in parts if part.filename is not None), parts[0].content if parts else b"")


def _read_json(body: bytes) -> Json:
    try:
        sent = json.loads(body)
    except ValueError:
        raise Refusal("invalid_json") from None
    if not isinstance(sent, dict):
        raise Refusal("json_not_object")
    return sent
