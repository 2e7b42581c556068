"""A minimal Slack and project service: constant JSON, and a ledger of which message arrived when.

The playground's emulator validates every call, at some hundred microseconds each; the benchmark would measure the
emulator. These two only find out from a request's bytes which message it concerns.
"""

from __future__ import annotations

import asyncio
import bisect
import json
import re
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import parse_qs

from bench.traffic import BOT, CHANNEL, TEAM, ChatMessage
from bench.wire import Reply, port_of, serve
from bridge.slack.scopes import SCOPES

_ASK = re.compile(rb"ask (\d+\.\d+) (\d+)")
_SESSION = re.compile(rb'"sessionId": ?(\d+)')
_ANSWER = re.compile(rb"answer (\d+\.\d+) (\d+)")
_PAGE = 200
_THREAD = re.compile(rb'"thread_ts": ?"([\d.]+)"')


@dataclass(frozen=True, slots=True)
class Verdict:
    """Counts of what went wrong with some messages."""

    lost: int = 0
    doubled: int = 0
    asked_twice: int = 0
    out_of_order: int = 0
    wrong: int = 0

    @property
    def is_clean(self) -> bool:
        """Whether each message was answered exactly once, in order, in its thread, in its session."""
        return self == Verdict()


@dataclass(slots=True)
class Ledger:
    """When each message reached the agent, when it was answered, and when the answers were posted."""

    reached: dict[ChatMessage, list[float]] = field(default_factory=lambda: defaultdict(list))
    answered: dict[ChatMessage, float] = field(default_factory=dict)
    posted: dict[ChatMessage, list[float]] = field(default_factory=lambda: defaultdict(list))
    order: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    sessions: dict[str, int] = field(default_factory=dict)
    calls: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    _waiting: dict[ChatMessage, asyncio.Future[None]] = field(default_factory=dict)
    _session_numbers: int = 1000

    def expect(self, message: ChatMessage) -> asyncio.Future[None]:
        """Return a future that resolves when the answer to *message* is posted."""
        self._waiting[message] = future = asyncio.get_running_loop().create_future()
        return future

    def note_request(self, message: ChatMessage, session: int | None) -> int:
        """Record that a message reached the agent. Returns its session."""
        self.reached[message].append(time.perf_counter())
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        if session != self.sessions.get(message.thread):
            self.wrong.append(f"session of {message.words}")
        if message.thread not in self.sessions:
            self._session_numbers += 1
            self.sessions[message.thread] = self._session_numbers
        return self.sessions[message.thread]

    def note_answer(self, message: ChatMessage) -> None:
        """Record that the agent answered."""
        self.in_flight -= 1
        self.answered[message] = time.perf_counter()

    def note_post(self, message: ChatMessage, thread: str) -> None:
        """Record that an answer was posted in *thread*."""
        self.posted[message].append(time.perf_counter())
        self.order[message.thread].append(message.number)
        if thread != message.thread:
            self.wrong.append(f"thread of {message.answer}")
        waiting = self._waiting.pop(message, None)
        if waiting is not None and not waiting.done():
            waiting.set_result(None)

    def verdict(self, messages: Iterable[ChatMessage]) -> Verdict:
        """Count what went wrong with *messages*."""
        known = list(messages)
        threads = {message.thread for message in known}
        return Verdict(
            lost=sum(not self.posted.get(message) for message in known),
            doubled=sum(max(len(self.posted.get(message, ())) - 1, 0) for message in known),
            asked_twice=sum(max(len(self.reached.get(message, ())) - 1, 0) for message in known),
            out_of_order=sum(order != sorted(order) for order in (self.order.get(thread, []) for thread in threads)),
            wrong=len(self.wrong),
        )


@dataclass(slots=True)
class FakeProject:
    """The project service, with one agent that answers after *seconds*."""

    ledger: Ledger
    seconds: float = 0.0
    port: int = 0

    def answer(self, target: bytes, body: bytes, send: Reply) -> None:
        """Answer one request."""
        if not target.endswith(b"/chat"):
            send(_WORKFLOWS if target.endswith(b"/workflows") else _AGENTS)
            return
        asked, session = _ASK.search(body), _SESSION.search(body)
        if asked is None:
            self.ledger.wrong.append("chat request without a message")
            send(b'{"sessionId": 1, "message": "what?"}')
            return
        message = ChatMessage(asked[1].decode(), int(asked[2]))
        number = self.ledger.note_request(message, int(session[1]) if session else None)
        answer = b'{"sessionId": %d, "message": "%b"}' % (number, message.answer.encode())
        if self.seconds:
            asyncio.get_running_loop().call_later(self.seconds, self._finish, message, answer, send)
        else:
            self._finish(message, answer, send)

    def _finish(self, message: ChatMessage, answer: bytes, send: Reply) -> None:
        self.ledger.note_answer(message)
        send(answer)


@dataclass(slots=True)
class FakeSlack:
    """Slack's Web API: accepts every call and records the posts. Its history holds only stored messages."""

    ledger: Ledger
    port: int = 0
    posts: int = 0
    _replies: dict[str, list[dict[str, str]]] = field(default_factory=lambda: defaultdict(list))
    _roots: list[dict[str, str]] = field(default_factory=list)

    def store_reply(self, thread: str, message: dict[str, str]) -> None:
        """Add *message* to a thread. Call in chronological order."""
        self._replies[thread].append(message)

    def store_root(self, message: dict[str, str]) -> None:
        """Add a top-level *message* to the channel. Call in chronological order."""
        self._roots.append(message)

    def answer(self, target: bytes, body: bytes, send: Reply) -> None:
        """Answer one call."""
        method = target.partition(b"?")[0].rpartition(b"/")[2].decode()
        self.ledger.calls[method] += 1
        match method:
            case "chat.postMessage":
                self.posts += 1
                self._note(body)
                send(b'{"ok": true, "channel": "%b", "ts": "1800000000.%06d"}' % (CHANNEL.encode(), self.posts))
            case "auth.test":
                send(_AUTH)
            case "users.info":
                person = {"id": _asked(target, "user"), "team_id": TEAM, "real_name": "Ada Adler", "tz": "UTC"}
                send(json.dumps({"ok": True, "user": person | {"profile": {"display_name": "Ada"}}}).encode())
            case "users.conversations":
                send(b'{"ok": true, "channels": [{"id": "%b"}]}' % CHANNEL.encode())
            case "conversations.replies":
                send(json.dumps({"ok": True, "messages": self._replies.get(_asked(target, "ts"), [])}).encode())
            case "conversations.history":
                send(json.dumps(self._page(_asked(target, "latest"))).encode())
            case _:
                send(b'{"ok": true}')

    def _page(self, latest: str) -> dict[str, object]:
        """A page of the channel's top-level messages, newest first."""
        before = bisect.bisect_left(self._roots, float(latest or "inf"), key=lambda one: float(one["ts"]))
        page = self._roots[max(0, before - _PAGE) : before]
        return {"ok": True, "messages": page[::-1], "has_more": before > _PAGE}

    def _note(self, body: bytes) -> None:
        answer, thread = _ANSWER.search(body), _THREAD.search(body)
        if answer is None or thread is None:
            self.ledger.wrong.append("post without an answer")
        else:
            self.ledger.note_post(ChatMessage(answer[1].decode(), int(answer[2])), thread[1].decode())


def _asked(target: bytes, name: str) -> str:
    """Read an argument from the query string."""
    return parse_qs(target.partition(b"?")[2].decode()).get(name, [""])[0]


@asynccontextmanager
async def fakes() -> AsyncIterator[tuple[Ledger, FakeProject, FakeSlack]]:
    """Serve both for the duration of the block."""
    ledger = Ledger()
    project, slack = FakeProject(ledger), FakeSlack(ledger)
    servers = [await serve(project.answer), await serve(slack.answer, _GRANTED)]
    project.port, slack.port = (port_of(server) for server in servers)
    try:
        yield ledger, project, slack
    finally:
        for server in servers:
            server.close()


_AGENTS = json.dumps([{"id": 1, "name": "Support", "model": "m", "description": "The only one"}]).encode()
_WORKFLOWS = json.dumps(
    [
        {"id": n, "name": f"Workflow {n}", "is_active": True, "trigger_type": "manual", "node_count": 3}
        for n in range(1, 6)
    ]
).encode()
_GRANTED = f"x-oauth-scopes: {','.join(scope.name for scope in SCOPES)}\r\n".encode()
_AUTH = json.dumps(
    {"ok": True, "url": "https://bench.slack.com/", "team_id": TEAM, "user_id": BOT, "bot_id": "B0BRIDGE"}
).encode()
