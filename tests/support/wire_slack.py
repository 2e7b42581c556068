"""A few lines that answer like Slack's Web API, on a real socket: each test says what, and reads what was asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Json = dict[str, Any]


@dataclass(frozen=True)
class Raw:
    """An answer that is not Slack's usual one."""

    body: str | bytes = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    content_type: str = "text/html"


class CutOff:
    """Close the connection after the request was read whole."""


Reaction = Json | Raw | CutOff | Callable[[Json], Json | CutOff | Awaitable[Json]]


@dataclass
class WireSlack:
    """Answers each method with its next reaction in *script*, and the last one for ever; unscripted: ``ok``."""

    url: str = ""
    script: dict[str, list[Reaction]] = field(default_factory=dict)
    asked: list[tuple[str, Json]] = field(default_factory=list)
    posted: list[Json] = field(default_factory=list)
    authorizations: list[str] = field(default_factory=list)

    @property
    def api(self) -> str:
        return f"{self.url}/api/"

    def calls(self, method: str) -> list[Json]:
        return [arguments for name, arguments in self.asked if name == method]

    def methods(self) -> list[str]:
        return [name for name, _ in self.asked]

    def texts(self) -> list[str]:
        return [message["text"] for message in self.posted]

    async def answer(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        arguments: Json = dict(request.query)
        body = await request.read()
        if body and request.content_type == "application/json":
            arguments |= json.loads(body)
        elif body:
            arguments["bytes"] = body
        self.asked.append((name, arguments))
        self.authorizations.append(request.headers.get("Authorization", ""))
        reaction = self._next(name, arguments)
        if isinstance(reaction, Awaitable):
            reaction = await reaction
        match reaction:
            case CutOff():
                assert request.transport is not None
                request.transport.close()
                return web.Response()
            case Raw(body, status, headers, content_type):
                content = body.encode() if isinstance(body, str) else body
                return web.Response(body=content, status=status, headers={**headers, "Content-Type": content_type})
        return web.json_response(reaction)

    def _next(self, name: str, arguments: Json) -> Json | Raw | CutOff | Awaitable[Json]:
        reactions = self.script.get(name, [])
        reaction = reactions.pop(0) if len(reactions) > 1 else (reactions[0] if reactions else self._usual(name))
        if callable(reaction):
            reaction = reaction(arguments)
        if name == "chat.postMessage" and isinstance(reaction, dict) and reaction.get("ok"):
            reaction = self.keep(arguments)
        return reaction

    def keep(self, arguments: Json) -> Json:
        """Post a message, as Slack does; also what a test calls for "posted, but the answer was lost"."""
        ts = f"1700000000.{len(self.posted) + 1:06d}"
        self.posted.append({**arguments, "ts": ts, "bot_id": "B0BRIDGE", "user": "U0BRIDGE"})
        return {"ok": True, "ts": ts}

    def _usual(self, name: str) -> Json:
        if name in {"conversations.replies", "conversations.history"}:
            return {"ok": True, "messages": list(self.posted)}
        if name == "files.getUploadURLExternal":
            return {"ok": True, "upload_url": f"{self.url}/api/the_upload", "file_id": "F1"}
        return {"ok": True}


def refused(error: str, **more: Any) -> Json:
    return {"ok": False, "error": error, **more}


def limited(seconds: int | str) -> Raw:
    return Raw('{"ok": false, "error": "ratelimited"}', 429, {"Retry-After": str(seconds)})


@asynccontextmanager
async def wire_slack() -> AsyncIterator[WireSlack]:
    slack = WireSlack()
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_route("*", "/api/{name}", slack.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        slack.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield slack
    finally:
        await runner.cleanup()
