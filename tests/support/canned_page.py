"""A minimal server for the page, on a real socket: each test sets what is shown and reads what was done."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web

from bridge.playground.page.guard import POLICY
from support.waiting import wait_until

Json = dict[str, Any]

STATIC = Path(__file__).parents[2] / "bridge" / "playground" / "page" / "static"

PEOPLE: list[Json] = [
    {"id": "U1", "name": "alice", "real_name": "Alice Adler", "kind": "home", "is_bot": False},
    {"id": "U2", "name": "bob", "real_name": "Bob Brandt", "kind": "home", "is_bot": False},
    {"id": "U3", "name": "gus", "real_name": "Gus Guest", "kind": "guest", "is_bot": False},
    {"id": "UB", "name": "bridge", "real_name": "Bridge", "kind": "home", "is_bot": True},
]


def channel(id_: str, name: str, kind: str = "channel", **more: Any) -> Json:
    return {"id": id_, "name": name, "kind": kind, "is_shared": False, "is_archived": False, "unread": False} | more


def message(ts: str, user: str, text: str, **more: Any) -> Json:
    person = next(one for one in PEOPLE if one["id"] == user)
    return {
        "ts": ts,
        "channel": "C1",
        "thread_ts": "",
        "user": user,
        "name": person["real_name"],
        "is_app": person["is_bot"],
        "is_mine": user == "U1",
        "text": text,
        "html": text,
        "blocks": [],
        "attachments": [],
        "files": [],
        "reactions": [],
        "edited": False,
        "is_broadcast": False,
        "is_private": False,
        "reply_count": 0,
        "last_reply_ts": "",
        "repliers": [],
        "status": None,
        "permalink": f"https://playground.slack.com/archives/C1/p{ts.replace('.', '')}",
        "deleted": False,
    } | more


def words(text: str, kind: str = "plain_text") -> Json:
    return {"type": kind, "text": text, "html": text}


def option(text: str, value: str) -> Json:
    return {"text": words(text), "value": value}


def empty_content() -> Json:
    """A workspace without messages."""
    return {
        "version": 1,
        "me": PEOPLE[0],
        "people": PEOPLE,
        "channels": [
            channel("C1", "general"),
            channel("C2", "random"),
            channel("D1", "bridge", "im", **{"with": "UB"}),
        ],
        "messages": [],
        "has_older": False,
        "thread": None,
        "views": [],
        "home": None,
        "prompts": None,
        "commands": [
            {
                "command": "/workflows",
                "usage_hint": "list [words] | show <workflow> | help",
                "description": "Workflows.",
            },
            {
                "command": "/stats",
                "usage_hint": "answers <mentions|all> | help",
                "description": "The project's statistics.",
            },
        ],
        "shortcuts": [],
        "emoji": [["thumbsup", "👍"], ["tada", "🎉"]],
        "parts": [{"name": "Slack", "is_stand_in": True, "is_up": True, "detail": ""}],
        "faults": [],
    }


@dataclass
class CannedPage:
    """Show *content*, and record every action in *done*."""

    url: str = ""
    content: Json = field(default_factory=empty_content)
    done: list[tuple[str, Json]] = field(default_factory=list)
    answers: dict[str, Json] = field(default_factory=dict)
    wires: list[Json] = field(default_factory=list)
    _streams: set[asyncio.Event] = field(default_factory=set)

    def clear(self) -> None:
        """Forget what another test has shown and done."""
        self.content, self.done, self.answers, self.wires = empty_content(), [], {}, []

    async def asked(self, action: str, times: int = 1) -> list[Json]:
        """The requests for *action*, once there are that many."""
        await wait_until(lambda: len(self._bodies(action)) >= times, f"the page requests {action}")
        return self._bodies(action)

    def _bodies(self, action: str) -> list[Json]:
        return [body for name, body in self.done if name == action]

    def show(self, **changes: Any) -> None:
        """Change the content and notify every window."""
        self.content |= changes
        for stream in self._streams:
            stream.set()

    async def state(self, request: web.Request) -> web.Response:
        wanted = request.query.get("channel") or self.content["channels"][0]["id"]
        listed = next(one for one in self.content["channels"] if one["id"] == wanted)
        opened = {"members": ["U1", "UB"], "bot_is_in": True} | listed
        me = next(one for one in PEOPLE if one["id"] == (request.query.get("as") or "U1"))
        said = [one for one in self.content["messages"] if one["channel"] == wanted]
        root = request.query.get("thread")
        replies = [one for one in said if root and root in {one["ts"], one["thread_ts"]}]
        top = [one for one in said if one["thread_ts"] in {"", one["ts"]}]
        thread = {"ts": root, "messages": replies} if replies else None
        me = me | {"tz": "Pacific/Kiritimati"}  # 14 hours ahead of UTC: no test runs there
        return web.json_response(self.content | {"me": me, "channel": opened, "messages": top, "thread": thread})

    async def stream(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        changed = asyncio.Event()
        self._streams.add(changed)
        try:
            while True:
                await response.write(b'event: changed\ndata: {"version": 1}\n\n')
                await changed.wait()
                changed.clear()
        except ConnectionResetError:
            return response
        finally:
            self._streams.discard(changed)

    async def do(self, request: web.Request) -> web.Response:
        action = request.match_info["action"]
        self.done.append((action, await request.json()))
        return web.json_response(self.answers.get(action, {"ok": True}))

    async def steps(self, _: web.Request) -> web.Response:
        return web.Response(text=json.dumps({"steps": self.wires}), content_type="application/json")


@asynccontextmanager
async def canned_page() -> AsyncIterator[CannedPage]:
    """Serve the page's scripts with the real server's policy, and content that a test can change."""
    page = CannedPage()
    app = web.Application()
    app.on_response_prepare.append(_with_policy)
    app.router.add_get("/", _index)
    app.router.add_static("/static/-", STATIC)
    app.router.add_get("/page/state", page.state)
    app.router.add_get("/page/stream", page.stream)
    app.router.add_get("/page/wires", page.steps)
    app.router.add_post("/page/do/{action}", page.do)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    page.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield page
    finally:
        await runner.cleanup()


async def _with_policy(request: web.Request, response: web.StreamResponse) -> None:
    response.headers["Content-Security-Policy"] = POLICY
    if request.path.startswith("/static/"):
        response.headers["Cache-Control"] = "max-age=3600"  # half of what it costs to load the page again


async def _index(_: web.Request) -> web.Response:
    page = (STATIC / "index.html").read_text().replace('"/static/', '"/static/-/')
    return web.Response(text=page, content_type="text/html")
