"""Turns at work: the real store, planning and client, between a project service and a Slack made of lists.

`MemorySay` and `MemoryDirectory` stand for `Say`, `Indicators` and `Directory` of `bridge.slack`; the service stands at
the wire.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Literal

import httpx
from redis.asyncio import Redis
from slack_bolt.async_app import AsyncApp

from bridge.documents import Documents
from bridge.errors import SlackAmbiguous, SlackError, SlackRefused
from bridge.features.access import Access
from bridge.features.activity import Activity
from bridge.features.clock import Clock
from bridge.features.conversations.receive import Receiver
from bridge.features.conversations.stopping import Stopping
from bridge.features.deps import Deps
from bridge.features.registry import features
from bridge.features.reply_poster import ReplyPoster
from bridge.features.reports.keeping import ReportStore
from bridge.features.results import Result
from bridge.features.shared.contents import PartReader
from bridge.features.shared.context import Context
from bridge.features.shared.recent import Recent
from bridge.features.shared.snapshots import SnapshotStore
from bridge.features.shared.statistics import Statistics
from bridge.features.turns import Turns
from bridge.ids import ThreadKey, TurnId
from bridge.inbound import Inbound, InboundMessage, MessageFile
from bridge.listeners.app import Door, slack_app
from bridge.listeners.events import EventListeners
from bridge.listeners.interactions import InteractionListeners, not_taken
from bridge.listeners.messages import KeptReplies, MessageListeners
from bridge.listeners.token_watch import TokenWatch
from bridge.metrics import Metrics
from bridge.project import Catalog, ProjectClient
from bridge.queue.patience import Patience
from bridge.queue.records import Held
from bridge.queue.turn import Lease, Turn, Watches
from bridge.queue.worker import Slots, Worker
from bridge.slack.api import Identity, SlackWeb
from bridge.slack.blockkit.mrkdwn import Mentions
from bridge.slack.blockkit.reply import Reply, View
from bridge.slack.files import FileContent
from bridge.slack.history import Recalled, ThreadRead
from bridge.slack.parts import MessageTag, Place
from bridge.slack.post import ExistingParts, Recipient
from support.harness import Service
from support.saying import US
from support.store import SESSION_LIFETIME, START, Process, Store, a_store

BOT = US.bot_user
MAX_AGE = timedelta(hours=24)
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


@dataclass
class Posted:
    """A message that the bot has posted."""

    place: Place
    reply: Reply
    tag: MessageTag
    ts: str

    @property
    def words(self) -> str:
        return self.reply.markdown or self.reply.text


@dataclass
class MemorySay:
    """Slack, as `Say` has it. *troubles* are raised by the posts to come, one each (None: that one goes well).

    An ambiguous post did arrive if *ambiguous_arrive*; each calls *in_post*. While *gate* is shut nothing is posted;
    while *after* is, a post has arrived and its answer is under way.
    """

    is_accepted: bool = True
    messages: list[Posted] = field(default_factory=list)
    whispers: list[tuple[Recipient, Reply]] = field(default_factory=list)
    updates: list[tuple[str, Reply]] = field(default_factory=list)
    responses: list[tuple[str, Reply]] = field(default_factory=list)
    forms: list[tuple[str, View]] = field(default_factory=list)
    homes: list[tuple[str, View, str]] = field(default_factory=list)
    home_troubles: list[SlackError] = field(default_factory=list)
    signs: list[str] = field(default_factory=list)
    titles: list[tuple[Place, str]] = field(default_factory=list)
    prompts: list[tuple[str, list[dict[str, str]]]] = field(default_factory=list)
    thread: ThreadRead = field(default_factory=ThreadRead)  # what every thread says
    windows: list[tuple[str, str]] = field(default_factory=list)
    apps: dict[str, str] = field(default_factory=dict)  # that have posted in every channel
    looks: int = 0
    attempts: int = 0
    troubles: list[SlackError | None] = field(default_factory=list)
    look_troubles: list[SlackError] = field(default_factory=list)
    ambiguous_arrive: bool = False
    in_post: Callable[[], None] | None = None
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    after: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.gate.set()
        self.after.set()

    @property
    def token(self) -> MemorySay:
        return self

    @property
    def words(self) -> list[str]:
        return [message.words for message in self.messages]

    def replies(self, mark: str = "bridge_turn") -> list[Posted]:
        return [message for message in self.messages if message.tag.kind == mark]

    async def until_accepted(self) -> None:
        assert self.is_accepted, "here a token is never refused"

    async def post(self, place: Place, reply: Reply, tag: MessageTag, existing: ExistingParts) -> str:
        if "0" in existing:
            return existing["0"]
        self.attempts += 1
        if self.in_post is not None:
            self.in_post()
        await self.gate.wait()
        trouble = self.troubles.pop(0) if self.troubles else None
        if trouble is None or (isinstance(trouble, SlackAmbiguous) and self.ambiguous_arrive):
            self.messages.append(Posted(place, reply, tag, f"1700001000.{len(self.messages):06d}"))
        if trouble is not None:
            raise trouble
        await self.after.wait()
        return self.messages[-1].ts

    async def find(self, place: Place, turn: TurnId, since: datetime) -> ExistingParts:  # noqa: ARG002 - as in Slack
        self.looks += 1
        if self.look_troubles:
            raise self.look_troubles.pop(0)
        found = [one.ts for one in self.messages if one.place == place and one.tag.turn == turn]
        return ExistingParts({"0": found[0]} if found else {})

    async def read_thread(
        self, place: Place, after: str = "", before: str = "", *, with_own: bool = False
    ) -> ThreadRead:
        self.looks += 1
        self.windows.append((after, before))
        if self.look_troubles:
            raise self.look_troubles.pop(0)
        marks = [one.tag for one in self.messages if one.place == place and one.tag.kind == "bridge_turn"]
        found = [Recalled(tag.agent, tag.session) for tag in marks if tag.agent and tag.session]
        said = tuple(one for one in self.thread.newest if with_own or not one.is_own)
        return replace(self.thread, recalled=found[-1] if found else None, newest=said)

    async def apps_in(self, channel: str) -> dict[str, str]:  # noqa: ARG002 - as in Slack
        return self.apps

    async def remove_queued_reaction(self, channel: str, ts: str) -> None:
        """Leave it: what reactions come to is seen at the wire."""

    async def whisper(self, recipient: Recipient, reply: Reply, existing: ExistingParts | None = None) -> None:  # noqa: ARG002 - as in Slack
        trouble = self.troubles.pop(0) if self.troubles else None
        if trouble is not None:
            raise trouble
        self.whispers.append((recipient, reply))

    async def respond(self, response_url: str, reply: Reply, existing: ExistingParts) -> None:  # noqa: ARG002 - as in Slack
        self.responses.append((response_url, reply))

    async def update(self, channel: str, ts: str, reply: Reply, tag: MessageTag) -> None:  # noqa: ARG002 - as in Slack
        self.updates.append((ts, reply))

    async def publish_home(self, user: str, view: View, view_hash: str) -> None:
        if self.home_troubles:
            raise self.home_troubles.pop(0)
        self.homes.append((user, view, view_hash))

    async def open_form(self, trigger_id: str, view: View) -> None:
        self.forms.append((trigger_id, view))

    async def show_working(self, place: Place, status: str) -> None:  # noqa: ARG002 - as in Slack
        self.signs.append("working")

    async def clear_working(self, place: Place) -> None:  # noqa: ARG002 - as in Slack
        self.signs.append("idle")

    async def set_title(self, place: Place, title: str) -> None:
        if title:
            self.titles.append((place, title))

    async def suggest_prompts(self, channel: str, prompts: list[dict[str, str]]) -> None:
        self.prompts.append((channel, prompts))


@dataclass
class MemoryDirectory:
    """People and channels, as `Directory` has them."""

    users: dict[str, str] = field(default_factory=dict)
    channels: dict[str, str] = field(default_factory=dict)
    groups: dict[str, set[str]] = field(default_factory=dict)
    home: set[str] = field(default_factory=set)
    guests: set[str] = field(default_factory=set)
    bots: set[str] = field(default_factory=set)
    apps: dict[str, str] = field(default_factory=dict)  # by their bots
    zones: dict[str, str] = field(default_factory=dict)
    locales: dict[str, str] = field(default_factory=dict)
    closed: set[str] = field(default_factory=set)  # channels that the bot is not in
    trouble: SlackError | None = None

    async def user_name(self, user: str) -> str:
        return self.users.get(user, user)

    async def names(self, mentions: Mentions) -> dict[str, str]:
        known = {**self.users, **self.channels}
        return {id_: known.get(id_, id_) for ids in mentions for id_ in ids}

    async def channel_name(self, channel: str) -> str:
        return self.channels.get(channel, channel)

    async def channel_called(self, name: str, user: str) -> str:  # noqa: ARG002 - as in Slack
        return next((id_ for id_, called in self.channels.items() if f"#{called}" == name), "")

    async def user_locale(self, user: str) -> str:
        return self.locales.get(user, "")

    async def time_zone(self, user: str) -> str:
        return self.zones.get(user, "")

    async def may_post(self, channel: str) -> bool:
        return channel not in self.closed

    async def in_group(self, user: str, group: str) -> bool:
        return user in self.groups.get(group, set())

    async def is_home(self, user: str) -> bool:
        if self.trouble is not None:
            raise self.trouble
        return user in self.home

    async def is_bot(self, user: str) -> bool:
        return user in self.bots

    async def app_of(self, bot: str) -> str:
        return self.apps.get(bot, "")

    async def is_guest(self, user: str) -> bool:
        if self.trouble is not None:
            raise self.trouble
        return user in self.guests


@dataclass
class MemoryFiles:
    """Files, as `Files` has them: their *contents* by id; of *descriptions* the next one is given, or raised."""

    contents: dict[str, bytes | SlackError] = field(default_factory=dict)
    descriptions: list[MessageFile | SlackError] = field(default_factory=list)
    may_read: bool = True
    asked: list[str] = field(default_factory=list)

    async def describe(self, file: str) -> MessageFile:
        self.asked.append(f"info {file}")
        found = self.descriptions.pop(0)
        if isinstance(found, SlackError):
            raise found
        return found

    async def fetch(self, file: MessageFile, most: int) -> FileContent:
        self.asked.append(f"fetch {file.id}")
        found = self.contents.get(file.id, SlackRefused("file", "http_404"))
        if isinstance(found, SlackError):
            raise found
        return FileContent(found[:most], len(found) > most)


async def _nothing_older(_thread: ThreadKey) -> timedelta | None:
    return None


async def _nothing_to_follow(_thread: ThreadKey, replies: Sequence[str]) -> None:
    raise AssertionError(f"nobody reads {replies}")


@dataclass
class Bench:
    """The parts of some processes, with one time that goes on only when somebody sleeps; *rules* are those of `Access`.

    Sleeping renews the leases, as a worker's upkeep does, unless *is_suspended*.
    """

    store: Store
    project: ProjectClient
    service: Service
    say: MemorySay = field(default_factory=MemorySay)
    directory: Any = field(default_factory=MemoryDirectory)  # or Slack's, at the wire
    identity: Identity = US
    rules: dict[str, frozenset[str]] = field(default_factory=dict)
    slots: Slots = field(default_factory=lambda: Slots(10))
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    monotonic: float = 1000.0
    slept: list[float] = field(default_factory=list)
    is_suspended: bool = False
    default_agent: str = ""
    files: Any = field(default_factory=MemoryFiles)  # or Slack's, at the wire
    documents: Documents = field(default_factory=Documents)
    file_mode: Literal["text", "names", "off"] = "text"
    command_prefix: str = ""
    runners: frozenset[str] = frozenset()
    has_context: bool = True
    store_since: Callable[[], datetime | None] = lambda: START
    metrics: Metrics = field(default_factory=Metrics)
    leases: list[Lease] = field(default_factory=list)
    on_sleep: Callable[[], Awaitable[None]] | None = None
    watches: Watches = field(default_factory=Watches)
    bring_up: Callable[[ThreadKey], Awaitable[timedelta | None]] = field(default_factory=lambda: _nothing_older)
    follow: Callable[[ThreadKey, Sequence[str]], Awaitable[None]] = field(default_factory=lambda: _nothing_to_follow)

    def __post_init__(self) -> None:
        self.catalog = Catalog(self.project, monotonic=lambda: self.monotonic)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.monotonic += seconds
        for lease in [] if self.is_suspended else self.leases:
            lease.renewed(self.monotonic)
        if self.on_sleep is not None:
            await self.on_sleep()
        await asyncio.sleep(0)

    def access(self, **rules: frozenset[str]) -> Access:
        """Who may: by the *rules* of the bench, and more of them."""
        rules = {"runners": self.runners, **self.rules, **rules}
        return Access(home=self.identity.home, directory=self.directory, **rules)

    def receiver(self, **rules: frozenset[str]) -> Receiver:
        """What messages come in by."""
        return Receiver(
            inbox=self.store.process().inbox,
            access=self.access(**rules),
            features=features,
            bot_user=self.identity.bot_user,
            channels=self.store.channels,
            store_since=self.store_since,
        )

    def slack_app(self, web: SlackWeb) -> AsyncApp:
        """Put the Bolt app together, as `bridge.app.parts.build` does."""
        inbox, access, identity = self.store.process().inbox, self.access(), self.identity
        door, messages = Door(inbox, access, self.metrics), MessageListeners(self.receiver(), identity, self.metrics)
        self.follow = KeptReplies(web, messages)
        return slack_app(
            web,
            identity,
            self.metrics,
            partial(not_taken, identity, self.say),
            messages,
            InteractionListeners(door, identity, self.catalog, self.command_prefix),
            EventListeners(door, Stopping(inbox, access), identity),
            TokenWatch(web, identity, lambda: ""),
        )

    def report_store(self) -> ReportStore:
        """Give the reports."""
        return ReportStore(self.store.scripts, session_lifetime=SESSION_LIFETIME)

    def clock(self, name: str = "a") -> Clock:
        """Give what looks for schedules and periodic jobs in the process *name*."""
        deps = self.deps(self.store.process(name))
        return Clock(deps, features.clocks, features.jobs, Patience(self.draining, sleep=self.sleep))

    def deps(self, process: Process) -> Deps:
        """What the handlers of one process are given."""
        store, directory, say, access = self.store, self.directory, self.say, self.access()
        statistics = Statistics(self.project, SnapshotStore(store.scripts), store.clock)
        return Deps(
            scripts=store.scripts,
            catalog=self.catalog,
            project=self.project,
            inbox=process.inbox,
            sessions=store.sessions,
            channels=store.channels,
            recent=Recent(store.scripts),
            statistics=statistics,
            access=access,
            say=say,
            indicators=say,
            directory=directory,
            context=Context(say, directory, store.channels, self.identity.bot_user, is_on=self.has_context),
            parts=PartReader(
                directory, self.identity.bot_user, self.files, self.documents, mode=self.file_mode, sleep=self.sleep
            ),
            bring_up=self.bring_up,
            follow=self.follow,
            store_since=self.store_since,
            now=store.clock,
            session_lifetime=SESSION_LIFETIME,
            metrics=self.metrics,
            home_sections=features.home_sections,
            bot_user=self.identity.bot_user,
            default_agent=self.default_agent,
            command_prefix=self.command_prefix,
            workspace="https://acme.slack.com/",
        )

    def turns(self, process: Process) -> Turns:
        """Put together what one process needs to do turns."""
        store, patience = self.store, Patience(self.draining, sleep=self.sleep)
        journal = process.journal_of(patience)
        return Turns(
            deps=self.deps(process),
            features=features,
            journal=journal,
            poster=ReplyPoster(self.say, patience, journal, self.watches),
            patience=patience,
            slots=self.slots,
            metrics=self.metrics,
            activity=Activity(
                store.scripts, process.inbox, features, audit_lifetime=store.audit_lifetime, now=store.clock
            ),
            max_age=MAX_AGE,
            watches=self.watches,
        )  # fmt: skip

    async def turn(self, inbound: Inbound, **how: Any) -> Turn:
        """Put something in, and take it: what its handler is given."""
        if isinstance(inbound, InboundMessage):
            await self.store.queue(inbound, **how)
        else:
            await self.store.process().inbox.put(inbound)
        return await self.taken("a")

    async def taken(self, name: str, held: Held | None = None) -> Turn:
        """Have a process take the next lane, or the one that is *held*."""
        process = self.store.process(name)
        taken = await process.take(held)
        lease = self.lease(process, taken.held)
        return Turn(taken, lease, process.journal, self.watches, may_begin=lambda: self.say.is_accepted)

    async def answer(self, inbound: Inbound, **how: Any) -> Result:
        """Put something in, and run its handler, once; nothing of what that returns is shown."""
        turn = await self.turn(inbound, **how)
        return await features.handle(self.deps(self.store.process("a")), turn)

    def worker(self, name: str = "a", *, drain: float = 5.0, block: float = 0.02, blocking: Any = None) -> Worker:
        """Put together the worker of a process; *blocking* is what it reads the stream from, if not the store."""
        process = self.store.process(name)
        return Worker(
            inbox=process.inbox, journal=process.journal, namespace=self.store.namespace,
            blocking=blocking or self.store.redis, slots=self.slots, drain=timedelta(seconds=drain),
            draining=self.draining, patience=Patience(self.draining, sleep=self.sleep),
            monotonic=lambda: self.monotonic, block=timedelta(seconds=block),
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

    async def begin(self, name: str = "a") -> asyncio.Task[None]:
        """Let a process begin with the next lane."""
        process = self.store.process(name)
        held = (await process.hold(most=1))[0]
        return asyncio.create_task(self.turns(process).work(self.lease(process, held)))

    async def work(self, name: str = "a") -> None:
        """Let a process work until no lane is left that nobody has."""
        process = self.store.process(name)
        while held := await process.hold(most=1):
            await self.turns(process).work(self.lease(process, held[0]))

    async def take_over(self, name: str = "b") -> None:
        """Let another process take over whatever is held, and bring it to its end."""
        process = self.store.process(name)
        for held in await process.take_over():
            await self.turns(process).work(self.lease(process, held))


@asynccontextmanager
async def a_bench(redis: Redis, **changes: Any) -> AsyncIterator[Bench]:
    """Open a bench; *changes* are fields of `Bench`."""
    service = Service()
    holder: list[Bench] = []

    async def sleep(seconds: float) -> None:
        await holder[0].sleep(seconds)

    project = ProjectClient(
        "http://project.test", "key-0123456789", transport=httpx.MockTransport(service.answer), sleep=sleep,
        monotonic=lambda: holder[0].monotonic if holder else 1000.0,
    )  # fmt: skip
    async with project:
        bench = Bench(await a_store(redis), project, service, **changes)
        holder.append(bench)
        yield bench
