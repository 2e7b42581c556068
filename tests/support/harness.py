"""The whole bridge in one process: `bridge.app.parts.build` between an emulated Slack, a service and a Redis.

Slack is the playground's, on a real socket in this process; the service is an httpx transport that answers as a test
configures it. Tests act through `Harness.slack`, send a request of Slack's themselves (`Harness.event`, `form`,
`interaction`, `envelope`), or queue values as listeners do; `Harness.seen` has what people see.
Each process is a build of its own on the same wires.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cache, cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import urlencode

import httpx
from redis.asyncio import Redis
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from bridge.app.connections import Connections
from bridge.app.parts import Parts, build
from bridge.config import OWN, Config, default_project, read_config
from bridge.door.guard import Guard
from bridge.door.listeners.app import dispatcher
from bridge.door.sockets import Sockets
from bridge.ends.decisions import Received
from bridge.engine.processor import TurnProcessor
from bridge.engine.projects import ServedProjects
from bridge.engine.results import Result
from bridge.engine.turn import Turn
from bridge.features.conversations.receive import Receiver
from bridge.features.schedules.schedule import StoredTask
from bridge.features.schedules.store import TaskStore
from bridge.inbound import Inbound, InboundMessage
from bridge.metrics import Metrics
from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.faults import Error, Hang
from bridge.playground.emulator.sample import ALICE, BRIDGE, GENERAL
from bridge.playground.emulator.server import ApiCall
from bridge.playground.local_server import LocalServer
from bridge.project import Catalog, ProjectClient
from bridge.project.connection import ProjectConnection
from bridge.queue.journal import WorkPaused
from bridge.queue.lease import Lease
from bridge.queue.patience import Draining, Patience
from bridge.queue.records import Held
from bridge.queue.scripting import Scripts
from bridge.queue.slots import Slots
from bridge.queue.worker import Worker
from bridge.settings import Settings, load
from bridge.slack.api import Identity, opened
from bridge.slack.parts import MessageTag, Place
from bridge.slack.payloads import Dispatch
from support.sample_posts import US
from support.secrecy import API_KEY, BOT_TOKEN, SIGNING_SECRET
from support.slack_requests import FORM, JSON, Headers, Response, no_socket, request, signed
from support.store import NAMESPACE, Process, ProcessClock, Store, open_store
from support.waiting import wait_until

SUPPORT = {"id": 7, "name": "Support", "model": "m"}
SALES = {"id": 8, "name": "Sales", "model": "m"}
WORKFLOW = {"id": 3, "name": "Import", "is_active": True, "trigger_type": "manual", "node_count": 5}
MOMENT = "2026-01-02T03:04:05.678Z"
PROJECT = {
    "id": 1, "name": "P", "description": "The shop.", "visibility": "private", "promptCount": 0, "memberCount": 0,
    "createdAt": MOMENT,
}  # fmt: skip
STATS = {"promptCount": 1, "runCount": 4321, "versionCount": 3, "categories": [], "tags": [], "lastUpdated": MOMENT}
REFUSED = httpx.ConnectError("refused")
POST, WHISPER, READ = "chat.postMessage", "chat.postEphemeral", "conversations.replies"
NOT_NOW = Error("team_added_to_org")  # certainly not done, and without a time to retry
_ENVIRON = {
    "SLACK_BOT_TOKEN": BOT_TOKEN,
    "SLACK_SIGNING_SECRET": SIGNING_SECRET,
    "PROJECT_BASE_URL": "http://project.test",
    "PROJECT_API_KEY": API_KEY,
    "REDIS_URL": "redis://given.by.the.test",
    "BRIDGE_NAMESPACE": NAMESPACE,
    "BRIDGE_MAX_TURNS": "10",
    "BRIDGE_THREAD_TURNS_PER_MINUTE": "0",
    "BRIDGE_DRAIN_SECONDS": "5",
}

Answer = httpx.Response | Exception


@dataclass(frozen=True)
class Posted:
    """A message of the bot in its current state."""

    message: Message

    @property
    def words(self) -> str:
        """Its Markdown, or else its text."""
        texts = [block["text"] for block in self.message.blocks or [] if block["type"] == "markdown"]
        return "\n".join(texts) or self.message.text

    @property
    def place(self) -> Place:
        """Its channel, and its thread if it's a reply."""
        return Place(self.message.channel, self.message.thread_ts if self.message.is_reply else "")

    @property
    def tag(self) -> MessageTag:
        """Its metadata."""
        metadata = self.message.metadata or {"event_type": "", "event_payload": {}}
        about = metadata["event_payload"]
        return MessageTag(metadata["event_type"], about.get("turn", ""), about.get("agent"), about.get("session"))

    @property
    def text(self) -> str:
        return self.message.text

    @property
    def title(self) -> str:
        """The first line of its text."""
        return self.text.partition("\n")[0]

    @property
    def blocks(self) -> list[dict[str, Any]]:
        return self.message.blocks or []

    @property
    def ts(self) -> str:
        return self.message.ts

    @property
    def user(self) -> str:
        """The only person who sees it; ``""``: everyone."""
        return self.message.to


@dataclass(frozen=True)
class Seen:
    """What people see of the bot, and its calls of the Web API."""

    slack: EmulatedSlack

    @property
    def messages(self) -> list[Posted]:
        """The bot's messages for everyone, oldest first."""
        log = self.slack.workspace.messages
        found = [one for channel in list(self.slack.workspace.channels) for one in log.of(channel)]
        return [Posted(one) for one in sorted(found, key=lambda one: one.ts) if one.user == BRIDGE]

    @property
    def texts(self) -> list[str]:
        return [one.words for one in self.messages]

    def replies(self, kind: str = "bridge_turn") -> list[Posted]:
        return [one for one in self.messages if one.tag.kind == kind]

    @property
    def ephemerals(self) -> list[Posted]:
        """The bot's private messages."""
        return [Posted(one) for one in self.slack.workspace.messages.private if one.user == BRIDGE]

    @property
    def titles(self) -> list[str]:
        """The titles that conversations have; a busy machine sets one with the status of a slow turn."""
        return [one.title for one in self.slack.workspace.sessions.values() if one.title]

    @property
    def prompts(self) -> list[tuple[str, list[dict[str, str]]]]:
        calls = self.called("assistant.threads.setSuggestedPrompts")
        return [(call.args["channel_id"], call.args["prompts"]) for call in calls]

    @property
    def forms(self) -> list[dict[str, Any]]:
        """The modals opened so far."""
        return [call.args["view"] for call in self.called("views.open") if call.is_ok]

    @property
    def homes(self) -> list[dict[str, Any]]:
        """The arguments of each ``views.publish``: ``user_id``, ``view``, ``hash``."""
        return [call.args for call in self.called("views.publish") if call.is_ok]

    @property
    def updates(self) -> list[dict[str, Any]]:
        """The arguments of each ``chat.update``: ``channel``, ``ts``, ``text``, ``blocks``."""
        return [call.args for call in self.called("chat.update") if call.is_ok]

    @property
    def statuses(self) -> list[str]:
        """The statuses set in threads, in order."""
        return [one.status for one in self.slack.workspace.status_history if one.by != "slack"]

    def called(self, *methods: str) -> list[ApiCall]:
        return [call for call in self.slack.calls if call.method in methods]

    @property
    def attempts(self) -> int:
        """The number of calls that post a message, failed ones included."""
        return len(self.called(POST))

    @property
    def reads(self) -> int:
        """The number of reads of a thread or a channel."""
        return len(self.called(READ, "conversations.history"))


@dataclass
class Service:
    """The project service as a transport. *chats* answer the next messages, *always* any request."""

    agents: list[dict[str, Any]] = field(default_factory=lambda: [SUPPORT])
    details: dict[str, Any] = field(default_factory=dict)
    workflows: list[dict[str, Any]] = field(default_factory=lambda: [WORKFLOW])
    stats: dict[str, Any] = field(default_factory=lambda: dict(STATS))
    page: dict[str, Any] = field(default_factory=dict)  # what lists say besides their rows
    unlisted: list[dict[str, Any]] = field(default_factory=list)  # agents and workflows on other pages
    chats: list[Answer | None] = field(default_factory=list)
    always: Answer | None = None
    asked: list[dict[str, Any]] = field(default_factory=list)
    runs: list[Any] = field(default_factory=list)
    started: list[tuple[int, Any]] = field(default_factory=list)  # workflow and input of each
    paths: list[str] = field(default_factory=list)
    run_answers: list[Answer] = field(default_factory=list)
    requests: int = 0
    in_flight: int = 0
    most_in_flight: int = 0
    busy: set[str] = field(default_factory=set)  # the first words of the messages in flight
    overlaps: set[str] = field(default_factory=set)  # first words of messages that arrived during one with the same
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    run_gate: asyncio.Event = field(default_factory=asyncio.Event)
    read_gate: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.read_gate.set()
        self.gate.set()
        self.run_gate.set()

    @property
    def messages(self) -> list[str]:
        return [str(body["message"]) for body in self.asked]

    async def answer(self, request: httpx.Request) -> httpx.Response:
        self.requests += 1
        if self.always is not None:
            return _given(self.always)
        path = request.url.path.rpartition("/api/sdk/")[2]
        self.paths.append(path)
        if request.method == "GET":
            await self.read_gate.wait()
        if path.endswith("/chat"):
            return await self._chat(int(path.split("/")[1]), json.loads(request.content))
        if path.endswith("/run"):
            self.runs.append(json.loads(request.content)["input"])
            self.started.append((int(path.split("/")[1]), self.runs[-1]))
            await self.run_gate.wait()
            run = {"runId": 5, "status": "completed", "output": "o", "nodeResults": {"n": 1}}
            return _given(self.run_answers.pop(0)) if self.run_answers else httpx.Response(200, json=run)
        if path.startswith("agents/"):
            found = [agent for agent in (*self.agents, *self.unlisted) if str(agent.get("id")) == path.split("/")[1]]
            return httpx.Response(200, json=found[0]) if found else httpx.Response(404)
        if path.startswith("workflows/"):
            id_ = path.split("/")[1]
            if any(str(workflow.get("id")) == id_ for workflow in self.workflows):
                return httpx.Response(200, json=self.details)
            found = [workflow for workflow in self.unlisted if str(workflow["id"]) == id_]
            return httpx.Response(200, json=found[0]) if found else httpx.Response(404)
        lists = {"agents": self.agents, "workflows": self.workflows, "project": PROJECT, "stats": self.stats}
        if path in {"agents", "workflows"} and self.page:
            return httpx.Response(200, json={"data": lists[path], **self.page})
        return httpx.Response(200, json=lists[path])

    async def _chat(self, agent: int, body: dict[str, Any]) -> httpx.Response:
        given = self.chats.pop(0) if self.chats else None
        if not isinstance(given, httpx.ConnectError):
            self.asked.append({**body, "agent": agent})
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        about = body["message"].split(" ")[0]
        self.overlaps |= {about} & self.busy
        self.busy.add(about)
        try:
            await asyncio.sleep(0)  # lets other tasks run
            await self.gate.wait()
        finally:
            self.in_flight -= 1
            self.busy.discard(about)
        if given is not None:
            return _given(given)
        return httpx.Response(200, json={"sessionId": 42, "message": f"re: {body['message']}", "toolsUsed": ["search"]})


def _given(answer: Answer) -> httpx.Response:
    if isinstance(answer, Exception):
        raise answer
    return httpx.Response(answer.status_code, headers=answer.headers, content=answer.content)


@dataclass
class Harness:
    """Some processes of a bridge on the same wires, with a common clock that advances only when one of them sleeps.

    Sleeping renews the leases, as a worker's upkeep does, unless *is_suspended*. Slack's requests reach process ``a``.
    Settings are read from *environ*.
    """

    store: Store
    wires: Connections
    slack: EmulatedSlack
    service: Service
    identity: Identity
    guard: Guard
    environ: dict[str, str]
    others: dict[str, Service] = field(default_factory=dict)
    served: ServedProjects | None = None
    config: Config | None = None
    served_reads: list[tuple[str, str]] = field(default_factory=list)  # with which key, as `use_keys` returns
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    monotonic: float = 1000.0
    slept: list[float] = field(default_factory=list)
    is_suspended: bool = False
    leases: list[Lease] = field(default_factory=list)
    on_sleep: Callable[[], Awaitable[None]] | None = None

    def __post_init__(self) -> None:
        self.seen = Seen(self.slack)
        self.metrics = self.wires.metrics
        self._parts: dict[str, Parts] = {}
        self._machines: dict[str, tuple[Connections, Scripts]] = {}
        self._listening: Dispatch | None = None
        self._connected: dict[str, ProjectConnection] = {}
        self.store.make = self._process
        self.store.on_put = self.add_message

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.monotonic += seconds
        for lease in [] if self.is_suspended else self.leases:
            lease.renewed(self.monotonic)
        if self.on_sleep is not None:
            await self.on_sleep()
        await asyncio.sleep(0)

    def configure(self, **environ: str) -> None:
        """Restart all processes with other settings."""
        self.environ |= environ
        self._parts.clear()
        self.store.processes.clear()
        self._listening = None
        self.guard.dispatch = self.dispatch
        self.sockets = Sockets(no_socket, self.dispatch, self.metrics)

    async def dispatch(self, request: AsyncBoltRequest) -> BoltResponse:
        """Hand a request to Bolt, whose app is built for the first one: many tests have none."""
        if self._listening is None:
            self._listening = dispatcher(self.parts().listen().async_dispatch, self.metrics)
        return await self._listening(request)

    def parts(self, name: str = "a") -> Parts:
        """The parts of process *name*, built when first used."""
        if name not in self._parts:
            wires, scripts = self._machines.get(name, (self.wires, self.store.scripts))
            self._parts[name] = build(
                self._settings(),
                wires,
                scripts,
                self.identity,
                self.store.namespace,
                consumer=name,
                patience=Patience(self.draining, sleep=self.sleep),
                draining=self.draining,
                projects=self.served,
                config=self.config,
                monotonic=lambda: self.monotonic,
                sleep=self.sleep,
            )
        return self._parts[name]

    def machine(self, name: str) -> ProcessClock:
        """Give process *name* a machine of its own, which is new here; return its clock."""
        clock, web = ProcessClock(self.store.clock), copy(self.wires.web)
        web.clock = clock
        self._machines[name] = replace(self.wires, web=web), Scripts(self.store.redis, NAMESPACE, self.metrics, clock)
        return clock

    def use_file(self, text: str) -> None:
        """Use this operator's file from now on, in all processes; its projects are those of `serve`."""
        with TemporaryDirectory() as folder:
            file = Path(folder) / "bridge.toml"
            file.write_text(text, encoding="utf-8")
            self.config = read_config(file, {}, default_project({}))
        if repeated := {one.id: one.repeat for one in self.config.projects if one.repeat}:
            if self.served is None:
                self.serve()
            assert self.served is not None
            self.served.replace(*[replace(one, repeat=repeated.get(one.id, ())) for one in self.served])
        for parts in self._parts.values():
            parts.use(self.config)

    def use_keys(self, text: str, **environ: str) -> list[tuple[str, str]]:
        """Use this operator's file, whose projects have other keys; return each chat and run from now on.

        Each has the key that isn't the project's own, or ``""``, and its path.
        """
        with TemporaryDirectory() as folder:
            file = Path(folder) / "bridge.toml"
            file.write_text(text, encoding="utf-8")
            self.config = read_config(file, environ, default_project({}))
        [project] = self.config.projects
        asked: list[tuple[str, str]] = []

        def client(key: str) -> ProjectClient:
            async def answer(request: httpx.Request) -> httpx.Response:
                (asked if request.method == "POST" else self.served_reads).append((key, request.url.path))
                return await self.service.answer(request)

            return ProjectClient(
                "http://project.test", key or API_KEY, transport=httpx.MockTransport(answer), sleep=self.sleep,
                monotonic=lambda: self.monotonic,
            )  # fmt: skip

        def connected(key: str) -> ProjectConnection:
            one = client(key)
            return ProjectConnection(one, Catalog(one, monotonic=lambda: self.monotonic))

        keyed = [
            replace(connected(key.api_key.get_secret_value()), key_name=key.name, who=key.who) for key in project.keys
        ]
        self._connected |= {one.key_name: one for one in keyed}
        self.served = ServedProjects()
        self.served.replace(connected(""), keyed=keyed)
        self.configure()
        return asked

    def serve(self, *ids: str, **channels: str) -> None:
        """Serve these projects besides the default one: each has a service in `others`, and one of *channels*, by ID.

        Its name is its ID in capitals.
        """
        own: dict[str, Any] = {name: getattr(self._settings(), name) or "" for name in OWN}
        catalog = Catalog(self.wires.project, monotonic=lambda: self.monotonic)
        found = [ProjectConnection(self.wires.project, catalog, **own)]
        for id_ in ids:
            if id_ not in self._connected:
                service = self.others.setdefault(id_, Service())
                client = ProjectClient(
                    f"http://{id_}.test", API_KEY, transport=httpx.MockTransport(service.answer), sleep=self.sleep,
                    monotonic=lambda: self.monotonic, observe=partial(self.metrics.upstream, project=id_),
                )  # fmt: skip
                self._connected[id_] = ProjectConnection(
                    client, Catalog(client, monotonic=lambda: self.monotonic), id_, id_.title()
                )
            here = frozenset(filter(None, [channels.get(id_, "")]))
            found.append(replace(self._connected[id_], channels=here))
        if self.served is None:
            self.served = ServedProjects(*found)
            self.configure()
        else:
            self.served.replace(*found)

    def _settings(self) -> Settings:
        """The settings of *environ*; most tests have the same, except for Slack's port."""
        own = _read_settings(tuple((name, value) for name, value in self.environ.items() if name != "SLACK_API_URL"))
        return own.model_copy(update={"slack_api_url": self.environ["SLACK_API_URL"]})

    async def end(self) -> None:
        """Cancel all pending writes: Redis is closed next, and a connection would be left open."""
        for one in self._connected.values():
            await one.client.__aexit__(None, None, None)
        inboxes = [parts.turns.deps.inbox for parts in self._parts.values()]
        writers = [task for inbox in inboxes for task in (inbox.refused_messages.writer, inbox._passed._writer) if task]
        for writer in writers:
            writer.cancel()
        await asyncio.gather(*writers, return_exceptions=True)

    def _process(self, name: str) -> Process:
        turns = self.parts(name).turns
        return Process(name, self.store.redis, turns.deps.inbox, turns.journal)

    def turns(self, process: Process) -> TurnProcessor:
        return self.parts(process.name).turns

    @property
    def receiver(self) -> Receiver:
        """The receiver of process ``a``."""
        return self.parts().receiver

    async def receive(self, said: InboundMessage) -> Received:
        """Receive a message, as parsed by a listener."""
        self.add_message(said)
        return await self.receiver.receive(said)

    @property
    def slots(self) -> Slots:
        """The slots for turns in process ``a``."""
        return self.parts().turns.slots

    def report_store(self) -> TaskStore:
        """Return a store of reports on this Redis."""
        return TaskStore(self.store.scripts)

    async def stored_task(self, id_: str) -> StoredTask:
        """Return the stored report, question or run with this ID."""
        found = await self.report_store().get(id_)
        assert found is not None
        return found

    # Slack's requests

    def signed(self, body: bytes) -> Headers:
        """Slack's signature for *body*, by its clock."""
        return signed(body, self.store.clock().timestamp())

    async def send(self, body: bytes, *headers: tuple[bytes, bytes]) -> Response:
        """Send *body* with exactly these *headers*."""
        return await request(self.guard, [body], list(headers))

    async def event(self, event: dict[str, Any], *headers: tuple[bytes, bytes], **envelope: Any) -> Response:
        """Send one signed event; its message also exists in Slack."""
        self._write_message(event)
        body = json.dumps({"type": "event_callback", "team_id": US.team, "event": event, **envelope}).encode()
        return await self.send(body, JSON, *self.signed(body), *headers)

    def _write_message(self, event: dict[str, Any]) -> None:
        match event:
            case {
                "type": "message" | "app_mention",
                "ts": str(ts),
                "text": str(text),
                "user": str(user),
                "channel": str(channel),
            } if ts.replace(".", "").isdecimal():
                thread_ts = event.get("thread_ts") or ""
                if thread_ts:
                    self.write(thread_ts, "What is this?", channel=channel)
                self.write(ts, text, user=user, channel=channel, thread_ts=thread_ts)

    async def form(self, fields: dict[str, Any]) -> Response:
        """Send a signed form."""
        body = urlencode(fields).encode()
        return await self.send(body, FORM, *self.signed(body))

    async def interaction(self, payload: dict[str, Any]) -> Response:
        """Send a signed interaction."""
        return await self.form({"payload": json.dumps(payload)})

    async def click(
        self,
        action_id: str,
        value: str = "",
        *,
        user: str = ALICE,
        channel: str = GENERAL,
        ts: str = "",
        thread_ts: str = "",
        is_ephemeral: bool = False,
        trigger: str = "",
    ) -> Response:
        """Send a signed click, whatever the message *ts* looks like now; `press` sends only what Slack would."""
        container = {"message_ts": ts, "thread_ts": thread_ts, "channel_id": channel, "is_ephemeral": is_ephemeral}
        return await self.interaction({
            "type": "block_actions", "team": {"id": US.team}, "user": {"id": user, "team_id": US.team},
            "channel": {"id": channel}, "container": {"type": "message", **container}, "message": {"ts": ts},
            "response_url": self.response_url(user, channel),
            "trigger_id": trigger or self.slack.tickets.trigger(user),
            "actions": [{"action_id": action_id, "block_id": "b", "type": "button", "value": value}],
        })  # fmt: skip

    async def envelope(self, kind: str, payload: Any, **more: Any) -> dict[str, Any] | None:
        """Send a socket envelope; return its acknowledgement, or None. Its message also exists in Slack."""
        if isinstance(payload, dict) and isinstance(payload.get("event"), dict):
            self._write_message(payload["event"])
        return await self.sockets.acknowledgement({"type": kind, "envelope_id": "e1", "payload": payload, **more})

    async def keys(self) -> list[str]:
        """Every key in Redis."""
        return sorted([key async for key in self.store.redis.scan_iter()])

    def counted(self, line: str) -> bool:
        """Whether the metrics have a line with this prefix."""
        return line in self.metrics.exposition().decode()

    # People

    def add_message(self, said: InboundMessage) -> None:
        """Add a message that a test queues itself to Slack, with the root of its thread."""
        if said.thread_ts:
            self.write(said.thread_ts, "What is this?", channel=said.channel)
        self.write(said.ts, said.text, user=said.user, channel=said.channel, thread_ts=said.thread_ts)

    def write(
        self, ts: str, text: str, *, user: str = ALICE, channel: str = GENERAL, thread_ts: str = "", **more: Any
    ) -> None:
        """Add a message to Slack unless it exists, without sending an event."""
        workspace = self.slack.workspace
        if channel in workspace.channels and workspace.messages.find(channel, ts) is None:
            person = workspace.people.get(user)
            team = person.team if person else self.identity.team
            root = workspace.messages.find(channel, thread_ts) if thread_ts else None
            message = Message(channel, ts, user, text, team, thread_ts=thread_ts, **more)
            workspace.messages.insert(message, root)

    def hang(self, method: str = POST, *, is_done: bool = False) -> asyncio.Event:
        """Make the next call of *method* hang until the returned event is set; see `Hang`."""
        fault = Hang(is_done)
        self.slack.faults.on(method, fault)
        return fault.until

    @cached_property
    def url(self) -> str:
        """A response URL for Alice in #general."""
        return self.response_url()

    def response_url(self, user: str = ALICE, channel: str = GENERAL, ts: str = "") -> str:
        """A response URL as sent with a command, or with a click in the message *ts*."""
        return f"{self.slack.url}/response/{self.slack.tickets.response(user, channel, ts=ts)}"

    async def say(
        self, text: str, root: str = "", user: str = ALICE, channel: str = GENERAL, *, works: bool = True
    ) -> str:
        """Write a message as *user*; return its ``ts``. *works* as below."""
        ts = await self.slack.people.say(user, channel, text, thread_ts=root or None)
        if works:
            await self.slack.settled()
            await self.work()
        return ts

    async def type_command(self, line: str, user: str = ALICE, channel: str = GENERAL, *, works: bool = True) -> None:
        """Type a slash command as *user*; unless not *works*, process ``a`` then carries out whatever is queued."""
        command, _, text = line.partition(" ")
        await self.slack.ui.command(user, channel, command, text)
        if works:
            await self.work()

    async def press(self, action_id: str, value: str = "", user: str = ALICE, *, works: bool = True) -> None:
        """Press a button in the newest message that has it, or choose *value* from its menu; *works* as above."""
        shown = [one for one in (*self.seen.messages, *self.seen.ephemerals) if f"'{action_id}'" in str(one.blocks)]
        message = max(shown, key=lambda one: one.ts).message
        if value:
            await self.slack.ui.select(user, message.channel, message.ts, action_id, value)
        else:
            await self.slack.ui.click(user, message.channel, message.ts, action_id)
        if works:
            await self.work()

    # Processes

    async def turn(self, inbound: Inbound, **how: Any) -> Turn:
        """Queue *inbound* and take it; return the handler's argument."""
        if isinstance(inbound, InboundMessage):
            await self.store.queue(inbound, **how)
        else:
            await self.store.process().inbox.put(inbound)
        return await self.take("a")

    async def take(self, name: str, held: Held | None = None) -> Turn:
        """Have process *name* take the head of the next lane, or of *held*."""
        process = self.store.process(name)
        taken = await process.take(held)
        turns = self.turns(process)
        lease = self.lease(process, taken.held)
        token = self.wires.web.token
        return Turn(
            taken,
            lease,
            process.journal,
            turns.watches,
            may_begin=token.accepted.is_set,
            slack=turns.deps.slack,
            projects=turns.deps.projects,
        )

    async def answer(self, inbound: Inbound, **how: Any) -> Result:
        """Queue *inbound* and run its handler once; return the result without posting it."""
        return await self.handle(await self.turn(inbound, **how))

    async def handle(self, turn: Turn) -> Result:
        """Run the handler of *turn* in process ``a``; return the result without posting it."""
        turns = self.parts().turns
        return await turns.features.handle(turns.deps, turn)

    def worker(self, name: str = "a", *, drain: float = 5.0, block: float = 0.02, blocking: Any = None) -> Worker:
        """Build the worker of a process; it reads the stream from *blocking*, by default the store's connection.

        Its leases are of real time, as its upkeep is: sleeping passes none of it.
        """
        turns = self.parts(name).turns
        return Worker(
            inbox=turns.deps.inbox, journal=turns.journal, namespace=self.store.namespace,
            blocking=blocking or self.store.redis, slots=turns.slots, drain=timedelta(seconds=drain),
            draining=self.draining, monotonic=time.monotonic, block=timedelta(seconds=block),
            watches=turns.watches,
        )  # fmt: skip

    def lease(self, process: Process, held: Held) -> Lease:
        async def renew() -> None:
            if held.entry in await process.inbox.renew([held.entry]):
                lease.is_lost = True
            else:
                lease.renewed(self.monotonic)

        lease = Lease(held, monotonic=lambda: self.monotonic, renewed_at=self.monotonic, renew=renew)
        self.leases.append(lease)
        return lease

    async def start_next(self, name: str = "a") -> asyncio.Task[None]:
        """Start a process on the next lane, once there's one."""
        process = self.store.process(name)
        waiting: list[Held] = []

        async def holds_one() -> bool:
            waiting.extend(await process.hold(most=1))
            return bool(waiting)

        await wait_until(holds_one, "a lane is ready")
        return asyncio.create_task(self.work_on(process, self.lease(process, waiting[0])))

    async def work_on(self, process: Process, lease: Lease) -> None:
        """Finish the head of a lane, as a worker does."""
        try:
            await self.turns(process).work(lease)
        except (Draining, WorkPaused):
            await process.journal.release(lease.held)

    async def work(self, name: str = "a") -> None:
        """Have a process work until no unowned lane is left, nor anything that follows from finished turns."""
        process = self.store.process(name)
        while True:
            while held := await process.hold(most=1):
                await self.work_on(process, self.lease(process, held[0]))
            if not await self.parts().finished_turns.apply():
                return

    async def find_due(self, name: str = "a") -> int:
        """Have a process queue what is due by the store's clock; return how much."""
        return await self.parts(name).clock.claim_slots()

    async def at(self, moment: datetime) -> None:
        """Set the clock to *moment* and do whatever is due."""
        self.store.clock.time = moment
        await self.find_due()
        await self.work()

    async def take_over(self, name: str = "b") -> None:
        """Have another process take over all claimed lanes and finish their heads."""
        process = self.store.process(name)
        for held in await process.take_over():
            await self.work_on(process, self.lease(process, held))

    async def finish_despite_a_kill(self, killed_at: str) -> None:
        """Kill a process at a step of the next turn, and have another one finish.

        *killed_at* is ``claim`` (before the turn begins), ``edit``, or ``before the …`` or ``after the …`` of a post.
        """
        if killed_at == "claim":
            await self.work("b")
            return
        is_edit, attempts = killed_at == "edit", self.seen.attempts
        self.hang("chat.update" if is_edit else POST, is_done=killed_at.startswith("after "))
        task = await self.start_next("a")
        await wait_until(
            lambda: self.seen.called("chat.update") if is_edit else self.seen.attempts > attempts,
            f"the {'edit' if is_edit else 'post'} is under way",
        )
        await kill_task(task)
        await self.take_over("b")


@cache
def _read_settings(environ: tuple[tuple[str, str], ...]) -> Settings:
    return load(dict(environ))


@asynccontextmanager
async def open_harness(redis: Redis, **environ: str) -> AsyncIterator[Harness]:
    """Open a harness; *environ* changes the settings of its processes."""
    service, metrics, holder = Service(), Metrics(), list[Harness]()
    store = await open_store(redis, metrics=metrics)

    async def sleep(seconds: float) -> None:
        await holder[0].sleep(seconds)

    project = ProjectClient(
        _ENVIRON["PROJECT_BASE_URL"], API_KEY, transport=httpx.MockTransport(service.answer), sleep=sleep,
        monotonic=lambda: holder[0].monotonic if holder else 1000.0, observe=metrics.upstream,
    )  # fmt: skip
    slack = EmulatedSlack(
        signing_secret=SIGNING_SECRET, bot_token=BOT_TOKEN, clock=lambda: store.clock().timestamp(), retry_delays=()
    )
    async with (
        project,
        slack,
        opened(slack.api_url, BOT_TOKEN, metrics, clock=store.process_clock) as web,
        LocalServer(
            guard := Guard(SIGNING_SECRET, metrics, now=lambda: web.now().timestamp(), ask_clock=web.ask_clock)
        ) as door,
    ):
        slack.events_url = f"{door.url}/slack/events"
        wires = Connections(metrics, redis, redis, web, project)
        at = {"SLACK_API_URL": slack.api_url}
        harness = Harness(
            store, wires, slack, service, (await web.hello()).identity, guard, {**_ENVIRON, **at, **environ}
        )
        holder.append(harness)
        slack.calls.clear()
        harness.configure()
        try:
            yield harness
        finally:
            await harness.end()


async def kill_task(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait for its end, as a stand-in for killing its process."""
    task.cancel()
    await asyncio.wait({task})
