"""The session map: the agent session that each thread continues."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from bridge.ids import InProject, PersonKey, ThreadKey, thread_lane
from bridge.inbound import InboundMessage
from bridge.queue.keys import SEEN, TOLD, milliseconds
from bridge.queue.records import VERSION, Conversation
from bridge.queue.scripting import Scripts
from bridge.queue.writes import Write, only_if
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.content_words import with_escapes

_MOST_OF_A_ROOT = 10_000  # characters


@dataclass(frozen=True, slots=True)
class Bound:
    """A *thread* bound to a session of *agent*; *owner* is the person whose direct message it is."""

    thread: ThreadKey
    agent: int | None
    owner: str

    @classmethod
    def parse(cls, thread: str, value: str) -> Bound:
        """Read an entry of a ``bound:`` hash."""
        agent, _, owner = value.partition(":")
        return cls(ThreadKey.parse(thread), int(agent) if agent else None, owner)


class Sessions:
    """The stored data about threads. Methods may raise `StoreUnavailable`.

    The inbox binds a thread when it accepts the thread's first message. The first agent and the first session win;
    later changes are made only if nothing changed since their caller read it.
    """

    def __init__(self, scripts: Scripts, *, session_lifetime: timedelta) -> None:
        self._scripts = scripts
        self._redis = scripts.redis
        self._keys = scripts.keys
        self._session_ms = milliseconds(session_lifetime)

    async def thread(self, thread: ThreadKey) -> Conversation | None:
        """Return the binding of *thread*, or None."""
        fields: dict[str, str] = await self._redis.hgetall(self._keys.thread(thread))  # type: ignore[assignment]
        return Conversation.from_redis(fields) if fields else None

    async def choose_agent(self, thread: ThreadKey, agent: int, *, project: str = "") -> int:
        """Give *thread* an agent of *project*, and release its waiting messages.

        Returns the agent: the first choice wins.
        """
        facts = {"lane": thread_lane(thread), "agent": str(agent), "session_ms": self._session_ms, "project": project}
        answer = await self._scripts.run("features.conversations.choose", str(thread), facts)
        return int(answer)

    async def menu_of(self, thread: ThreadKey) -> str:
        """Return the ``ts`` of the menu that asks for the agent of *thread*; ``""`` if none waits there."""
        waiting = await self._redis.hget(self._keys.parked(), thread_lane(thread))
        return str(await self._redis.hget(self._keys.turn(str(waiting)), "card") or "") if waiting else ""

    async def rebind(
        self,
        thread: ThreadKey,
        *,
        project: str = "",
        expected: int | None,
        session: int | None,
        agent: int | None = None,
        writers: str = "",
    ) -> bool:
        """Replace the session (None: none) if it's still *expected*, and the agent if one is given.

        Both are of *project*. *writers* is who has written in the thread (`Conversation.writers`), for a thread that
        was found again.
        """
        facts = {
            "expected": "" if expected is None else str(expected),
            "agent": "" if agent is None else str(agent),
            "session": "" if session is None else str(session),
            "bound": str(InProject(project, session or 0)),
            "project": project,
            "said": writers,
            "session_ms": self._session_ms,
        }
        answer = await self._scripts.run("features.conversations.rebind", str(thread), facts)
        return str(answer) == "1"

    def answered(
        self,
        message: InboundMessage,
        session: int | None,
        *,
        project: str = "",
        expected: int | None,
        agent: int,
        names_agent: bool = False,
        root: str = "",
    ) -> tuple[Write, ...]:
        """Return the writes for an answer to *message*: the *session*, if there's one and it's still as *expected*.

        The agent now knows the edited *root*, if there's one. They also record that the agent knows the thread up to
        this message, unless it knows later ones, and with *names_agent* that answers there name it.
        """
        lives, keys, thread = self._session_ms, self._keys, message.thread
        conversation = keys.thread(thread)
        owner = message.user if message.is_direct else ""  # the person whose direct message it is
        writes: tuple[Write, ...] = (
            ("delete", keys.outage_notice(thread), 0, keys.words(thread)),
            ("field max", conversation, lives, "heard", message.ts, "v", str(VERSION)),
        )
        if root:
            writes = (*writes, ("field if", conversation, 0, "root", "", root))
        if project:  # the root may have been deleted since, and with it the record
            writes = (*writes, ("field", conversation, 0, "project", project))
        if names_agent:
            writes = (*writes, ("field", conversation, 0, "named", "1"))
        if session is not None and session != expected:
            before = "" if expected is None else str(expected)
            writes = (*writes, ("field if", conversation, 0, "session", str(session), before))  # it lives as set above
        if session is not None:
            writes = (
                *writes,
                ("field", keys.bound(thread.team, InProject(project, session)), lives, str(thread), f"{agent}:{owner}"),
            )
        return writes

    def root_edited(self, message: InboundMessage) -> tuple[Write, ...]:
        """Return the writes that keep an app's edited post for the next question in its thread, if that is bound."""
        conversation = self._keys.thread(message.thread)
        now = kit.cut(with_escapes(message.text, message.parts), _MOST_OF_A_ROOT)
        return (("if", conversation, 0, 1, "v", str(VERSION)), ("field", conversation, 0, "root", now))

    def tells(self, message: InboundMessage, *kept: Write) -> tuple[Write, ...]:
        """Return the writes with a notice that the agent didn't get a reply, at most one in 30 days per person.

        The reply is stored by *kept*, if it's offered to send it.
        """
        told = self._keys.told(PersonKey(message.team, message.user))
        return only_if(
            told,
            {"at": ""},
            ("field", told, milliseconds(TOLD), "at", message.ts),
            ("field", self._keys.thread(message.thread), self._session_ms, f"told:{message.user}", "1"),
            *kept,
        )

    async def restart(self, thread: ThreadKey) -> None:
        """Drop the session, so that the next message starts a new one with the same agent."""
        conversation = await self.thread(thread)
        if conversation is not None:
            project = conversation.project or ""
            await self.rebind(thread, project=project, expected=conversation.session, session=None)

    async def mute(self, thread: ThreadKey, *, is_muted: bool) -> bool:
        """Stop or resume sending *thread* to its agent. False: it isn't bound."""
        return (
            str(await self._scripts.run("features.conversations.mute", str(thread), int(is_muted), self._session_ms))
            == "1"
        )

    async def bound_to(self, team: str, session: InProject) -> list[Bound]:
        """List the threads this bridge bound to *session*."""
        key = self._keys.bound(team, session)
        bound: dict[str, str] = await self._redis.hgetall(key)  # type: ignore[assignment]
        return [Bound.parse(thread, value) for thread, value in bound.items()]

    async def was_searched(self, thread: ThreadKey) -> bool:
        """Whether *thread* was recently searched for a lost binding."""
        return bool(await self._redis.exists(self._keys.looked(thread)))

    async def mark_searched(self, thread: ThreadKey) -> None:
        """Record that *thread* was searched for a lost binding without success."""
        await self._redis.set(self._keys.looked(thread), "1", px=milliseconds(SEEN))

    async def report_words(self, thread: ThreadKey) -> str:
        """Return the text of the report at the root of *thread*, until an agent has answered there."""
        return str(await self._redis.get(self._keys.words(thread)) or "")
