"""Indicators next to messages: an agent is working, a message is queued, a title, suggested prompts.

All are best effort: a failed indicator doesn't fail the turn, and never delays it much.

Newer workspaces have ``agents.sessions.setStatus``, older ones ``assistant.threads.setStatus``, some neither. A method
that the workspace lacks isn't retried for an hour. ``not_authorized`` may be about the app, which isn't declared an
agent, or about a channel: the older method shows which. The newer method allows 50 calls per minute and workspace; so
that each status can be cleared, at most 20 are set per minute, and clearing isn't limited. Slack clears a status after
two minutes; setting it again counts toward the limit. Titles have the same limit; threads beyond it get none. A title
goes with a session's first status, if there's one.

The newer method shows no words of ours, only who is at work: an agent's name and face, if the app may set them.

Prompts are sent without a ``thread_ts``: with one, they fail silently in an app with an agent view.

https://docs.slack.dev/reference/methods/agents.sessions.setStatus
https://docs.slack.dev/reference/methods/assistant.threads.setStatus
https://docs.slack.dev/reference/methods/agents.sessions.rename
https://docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts
https://docs.slack.dev/reference/methods/reactions.add
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from typing import Final, Self

from bridge.errors import LaneLost, SlackError, SlackRefused, StoreUnavailable
from bridge.ids import TurnId
from bridge.inbound import InboundMessage
from bridge.json_reader import Json
from bridge.latest import Bucket, Latest
from bridge.queue.records import Step
from bridge.queue.scripting import Scripts
from bridge.queue.writes import only_if
from bridge.slack.api import Identity, SlackWeb
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.markdown import harmless_title
from bridge.slack.blockkit.reply import Reply, Speaker
from bridge.slack.parts import Place
from bridge.slack.post import Authorship, Poster, Recipient

log = logging.getLogger(__name__)

QUICK = timedelta(seconds=0.5)  # a quick answer shows no status, which would cost a call
RENEW = timedelta(seconds=90)  # Slack clears a status by itself after about two minutes
_BEFORE_REACTION = 1.0  # seconds that a message is queued before it's marked
SETS_A_MINUTE = 20
SHOWN_A_MINUTE = 20
REACTION = "hourglass_flowing_sand"
_REFUSED_SECONDS = 3600.0
_CALL_SECONDS = 2.0
_MOST_PLACES = 10_000  # threads
_MOST_WAITING = 1000  # messages that may get a reaction soon; far more than can be shown
_AGENT_NAME = 80  # characters

_AGENTS = "agents.sessions.setStatus"
_ASSISTANT = "assistant.threads.setStatus"
_RENAME = "agents.sessions.rename"
_PROMPTS = "assistant.threads.setSuggestedPrompts"
_NOT_HERE = frozenset(
    {
        "access_denied",
        "feature_disabled",
        "feature_not_enabled",
        "method_deprecated",
        "method_not_supported_for_channel_type",
        "missing_scope",
        "no_permission",
        "not_agent_app",
        "not_allowed_token_type",
        "team_access_not_granted",
        "unknown_method",
    }
)
_NO_REACTIONS = frozenset({"missing_scope", "no_permission", "not_allowed_token_type", "not_in_channel"})


WaitsFor = Callable[[InboundMessage], Awaitable[tuple[str, Speaker | None]]]
"""Returns the name of the agent that a queued message waits for, harmless and for a status, and how it speaks."""


class Indicators:
    """Shows indicators with the methods this workspace has and the scopes of the bot *identity*."""

    def __init__(
        self,
        web: SlackWeb,
        identity: Identity,
        authorship: Authorship | None = None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._web = web
        self._authorship = authorship or Authorship(identity)
        self._may_react = "reactions:write" in identity.scopes
        self._monotonic = monotonic
        self._refused_until: dict[str, float] = {}  # by method, or by method and channel
        self._set = Bucket(SETS_A_MINUTE, monotonic)
        self._titles = Bucket(SETS_A_MINUTE, monotonic)
        self._left_out: Latest[Place, None] = Latest(_MOST_PLACES)
        self._shown: Latest[Place, None] = Latest(_MOST_PLACES)  # until `clear_working`, perhaps of another process
        self._titled: Latest[Place, None] = Latest(_MOST_PLACES)  # until `set_title`

    def shows_words(self, place: Place) -> bool:
        """Whether a status in this thread has words: whether the newer method was refused there."""
        return self._is_refused(_AGENTS) or self._is_refused(_AGENTS, place.channel)

    async def show_working(
        self,
        place: Place,
        status: str,
        *,
        speaker: Speaker | None = None,
        title: str = "",
        rotating: Sequence[str] = (),
    ) -> bool:
        """Show *status* in a thread, or keep showing it, unless too many were set within a minute.

        It's the *speaker*'s, or else the app's. *title* is for the session, if it's new. Slack shows *rotating* instead
        of the status, in turn, where it can. Returns whether people see that someone is at work.
        """
        if not place.thread_ts:
            return False
        if self._set.wait():
            if place not in self._shown:
                self._left_out[place] = None
            return False
        self._set.add()
        self._left_out.pop(place, None)
        self._shown[place] = None
        more = {"title": title} if title else {}
        rotating = rotating or (status, "is still waiting for the answer…")
        answer = await self._set_status(
            place,
            agents={"status": "processing", **more},
            assistant={"status": status, "loading_messages": list(rotating)},
            speaker=speaker,
        )
        if title and answer and answer.get("title") == title:
            self._titled[place] = None
        return bool(answer)

    async def show_suspended(self, place: Place) -> None:
        """Show that a thread's session waits for people, unless too many statuses were set within a minute."""
        if place.thread_ts and not self._set.wait():
            self._set.add()
            body = {"channel_id": place.channel, "thread_ts": place.thread_ts, "status": "suspended"}
            await self._call(_AGENTS, body)

    async def clear_working(self, place: Place) -> None:
        """Clear a thread's status, even one set by a process that died."""
        self._shown.pop(place, None)
        self._titled.pop(place, None)
        if not place.thread_ts or place in self._left_out:
            self._left_out.pop(place, None)
            return
        await self._set_status(place, agents={"status": "active"}, assistant={"status": ""})

    async def set_title(self, place: Place, title: str) -> None:
        """Set the title of a thread's conversation, unless it has it, or too many were set within a minute."""
        if place in self._titled:
            self._titled.pop(place, None)
        elif title and place.thread_ts and not self._titles.wait():
            self._titles.add()
            body = {"channel_id": place.channel, "thread_ts": place.thread_ts, "title": title}
            await self._call(_RENAME, body)

    async def suggest_prompts(self, channel: str, prompts: list[dict[str, str]]) -> None:
        """Suggest prompts in a direct message."""
        if prompts:
            await self._call(_PROMPTS, {"channel_id": channel, "prompts": prompts})

    async def add_queued_reaction(self, channel: str, ts: str) -> bool:
        """Mark a message as queued with a reaction; False if the bot may not add one."""
        return self._may_react and await self._react("reactions.add", channel, ts)

    async def remove_queued_reaction(self, channel: str, ts: str) -> None:
        """Remove that reaction, if there is one."""
        if self._may_react:
            await self._react("reactions.remove", channel, ts)

    async def _react(self, method: str, channel: str, ts: str) -> bool:
        try:
            await self._web.call(method, {"channel": channel, "timestamp": ts, "name": REACTION}, seconds=_CALL_SECONDS)
        except SlackRefused as exc:
            return exc.error not in _NO_REACTIONS
        except SlackError as exc:
            log.debug("reaction skipped", extra={"method": method, "detail": exc.detail})
        return True

    async def _set_status(
        self, place: Place, *, agents: Json, assistant: Json, speaker: Speaker | None = None
    ) -> Json | None:
        """Set a status by the newer method, or else the older one; returns Slack's answer, empty after a failure."""
        body = {"channel_id": place.channel, "thread_ts": place.thread_ts, **self._authorship.of(speaker)}
        answer = await self._call(_AGENTS, {**body, **agents})
        if answer is not None:
            return answer
        answer = await self._call(_ASSISTANT, {**body, **assistant})
        if answer and self._is_refused(_AGENTS, place.channel):  # the app is in the channel, but no agent
            self._refuse(_AGENTS)
        return answer

    def _is_refused(self, method: str, channel: str = "") -> bool:
        return self._monotonic() < self._refused_until.get(f"{method} {channel}", float("-inf"))

    def _refuse(self, method: str, channel: str = "") -> None:
        if len(self._refused_until) > _MOST_PLACES:
            self._refused_until.clear()
        self._refused_until[f"{method} {channel}"] = self._monotonic() + _REFUSED_SECONDS

    async def _call(self, method: str, body: Json) -> Json | None:
        """Call *method*; None if this workspace doesn't have it, or refused it within the hour. Empty after a failure.

        The newer method may be refused for one channel only.
        """
        channel = str(body["channel_id"])
        if self._is_refused(method) or self._is_refused(method, channel):
            return None
        try:
            return await self._web.call(method, body, seconds=_CALL_SECONDS)
        except SlackRefused as exc:
            if "username" in body and self._authorship.is_refused(exc):
                own = {name: value for name, value in body.items() if name not in {"username", "icon_emoji"}}
                return await self._call(method, own)
            if exc.error in _NOT_HERE:
                self._refuse(method)
            elif method == _AGENTS and exc.error == "not_authorized":
                self._refuse(method, channel)
            else:
                return {}
            log.info("Slack doesn't support the status here", extra={"method": method, "error": exc.error})
            return None
        except SlackError as exc:
            log.debug("status not shown", extra={"method": method, "detail": exc.detail})
        return {}


class AfterAWhile:
    """Makes calls once its block takes longer than their time, one after the other; *calls* are those made.

    Calls that are running at the end of the block are awaited. One that finds that the lane is lost ends quietly:
    whatever the block does next finds out, too.
    """

    def __init__(self) -> None:
        self.calls: list[asyncio.Future[None]] = []
        self._timers: list[asyncio.TimerHandle] = []  # not tasks: most blocks end before that
        self._calling = asyncio.Lock()

    def call(
        self, show: Callable[[], Awaitable[None]], *, after: timedelta = QUICK, again: timedelta | None = None
    ) -> None:
        """Call *show* in *after* from now, and then every *again*."""
        timer = asyncio.get_running_loop().call_later(after.total_seconds(), self._start, show, again)
        self._timers.append(timer)

    def _start(self, show: Callable[[], Awaitable[None]], again: timedelta | None = None) -> None:
        self.calls.append(asyncio.ensure_future(self._in_turn(show)))
        if again is not None:
            self.call(show, after=again, again=again)

    async def _in_turn(self, show: Callable[[], Awaitable[None]]) -> None:
        async with self._calling:
            await show()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for timer in self._timers:
            timer.cancel()
        if not self.calls:
            return
        try:
            await asyncio.wait(self.calls)
        except asyncio.CancelledError:
            for call in self.calls:
                call.cancel()
            raise
        for error in [call.exception() for call in self.calls]:
            if error is not None and not isinstance(error, LaneLost):
                raise error


ANSWERING: Final = "is answering"


class Working(AfterAWhile):
    """Shows in a thread that an agent is at work, and at what, while the block runs; the status is always cleared.

    It's set again every *renew*. *is_seen* once people were shown that it works, *is_told* once its person was told so
    in private.
    """

    def __init__(
        self,
        indicators: Indicators,
        place: Place,
        agent_name: str,
        *,
        speaker: Speaker | None = None,
        title: str = "",
        doing: str = ANSWERING,
        renew: timedelta = RENEW,
    ) -> None:
        super().__init__()
        self.is_seen = self.is_told = False
        self._indicators = indicators
        self._place = place
        self._agent_name = agent_name
        self._speaker = speaker
        self._title = title
        self._renew = renew
        self._doing = doing

    async def __aenter__(self) -> Self:
        self.call(self.show, again=self._renew)
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            await super().__aexit__()
        finally:
            if self.calls:
                await self._indicators.clear_working(self._place)

    async def show(self) -> None:
        """Show what it's doing now."""
        # Slack doesn't document whether a status can mention people.
        name = self._speaker.name if self._speaker else harmless_title(kit.one_line(self._agent_name, _AGENT_NAME))
        status, whole = f"{self._doing}…", f"{name} {self._doing}…".lstrip()
        if self._speaker is None and name:  # it follows the app's name
            status = f"{self._doing} {'as' if self._doing == ANSWERING else 'for'} {name}…"
        still = ["is still waiting for the answer…"] if self._doing == ANSWERING else []
        self.is_seen |= await self._indicators.show_working(
            self._place, status, speaker=self._speaker, title=self._title, rotating=[whole, *still]
        )
        self._title = ""

    def now(self, doing: str) -> None:
        """Change what it's doing, such as ``is reading 2 files``; that costs a call only if words are shown."""
        is_other, self._doing = doing != self._doing, doing
        if is_other and self.calls and self._indicators.shows_words(self._place):
            self._start(self.show)


class QueuedReactions:
    """Marks waiting messages with a reaction, or if the bot may not react, whispers the notice from *in_line*.

    A message that still waits after a second gets the reaction from the process that accepted it, in the background.
    The turn records this first, so the reaction is removed once it has ended (`bridge.engine.finished_turns`). In case
    that happens while the reaction is being added, the process that adds it checks afterwards, and removes it.

    Slack allows about 50 reactions per minute and workspace. So that each can be removed, a process adds at most 20.
    """

    def __init__(
        self,
        indicators: Indicators,
        slack: Poster,
        scripts: Scripts,
        in_line: Callable[[int], Reply],
        *,
        waits_for: WaitsFor | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._waits_for = waits_for
        self._indicators = indicators
        self._slack = slack
        self._scripts = scripts
        self._in_line = in_line
        self._monotonic = monotonic
        self._sleep = sleep
        self._waiting: asyncio.Queue[tuple[float, InboundMessage, TurnId, int]] = asyncio.Queue(_MOST_WAITING)
        self._shown = Bucket(SHOWN_A_MINUTE, monotonic)

    def on_queued(self, message: InboundMessage, turn: TurnId, ahead: int) -> None:
        """Record that *message* was queued, as *turn*, after *ahead* others; returns at once."""
        if not self._waiting.full():
            self._waiting.put_nowait((self._monotonic() + _BEFORE_REACTION, message, turn, ahead))

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Add the reactions while the block runs."""
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self._show_them())
            try:
                yield
            finally:
                task.cancel()

    async def _show_them(self) -> None:
        while True:
            due, message, turn, ahead = await self._waiting.get()
            await self._sleep(max(0.0, due - self._monotonic()))
            try:
                if self._shown.wait():
                    continue
                key = self._scripts.keys.turn(turn)
                waits = {"step": Step.QUEUED, "takes": "", "withdrawn": "", "queued_reaction": ""}
                writes = only_if(key, waits, ("field", key, 0, "queued_reaction", "1"))
                if "holds" not in await self._scripts.run("write", writes):
                    continue  # a worker has started on it, or it's marked
                self._shown.add()
                if not await self._indicators.add_queued_reaction(message.channel, message.ts):
                    with suppress(SlackError):
                        recipient = Recipient(message.channel, message.user, message.thread_ts)
                        await self._slack.whisper(recipient, self._in_line(ahead + 1))
                place = Place(message.channel, message.thread_ts)
                if self._waits_for is not None and self._indicators.shows_words(place):
                    name, speaker = await self._waits_for(message)
                    waiting = f"waiting for {name or 'the agent'}: {kit.counted(ahead, 'message')} ahead"
                    await self._indicators.show_working(place, f"is {waiting}", speaker=speaker, rotating=[waiting])
                step = await self._scripts.redis.hget(key, "step")
                if step not in {Step.QUEUED, Step.SENT, Step.POSTING}:  # the turn has ended
                    await self._indicators.remove_queued_reaction(message.channel, message.ts)
            except StoreUnavailable:
                log.debug("queued message has no reaction", extra={"turn": turn})
