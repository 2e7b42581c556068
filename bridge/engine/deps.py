"""`EngineDeps`: the parts of the bridge that the engine itself uses; features add theirs in `bridge.features.deps`."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from bridge.engine.home import Homes
from bridge.engine.projects import ServedProjects
from bridge.engine.results import try_later
from bridge.engine.said_once import SaidOnce
from bridge.errors import SlackRefused
from bridge.ids import ThreadKey
from bridge.inbound import Inbound
from bridge.policy.policy import Policy
from bridge.policy.rules import Asked
from bridge.queue.inbox import Inbox
from bridge.queue.scripting import Scripts
from bridge.queue.writes import Write
from bridge.slack.blockkit.reply import Reply
from bridge.slack.directory import Directory
from bridge.slack.indicators import Indicators
from bridge.slack.parts import MessageTag
from bridge.slack.post import ExistingParts, Poster

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineDeps:
    """What every handler may use.

    *ensure_caught_up* raises `TryLater` if older messages of a thread, from an outage, must be sent first.
    Data of a single feature is read and written through *scripts*. *command_prefix* is the slash commands' prefix.
    """

    scripts: Scripts
    inbox: Inbox
    homes: Homes
    projects: ServedProjects
    policy: Policy
    said_once: SaidOnce
    slack: Poster
    indicators: Indicators
    directory: Directory
    ensure_caught_up: Callable[[ThreadKey], Awaitable[None]]
    now: Callable[[], datetime]
    bot_user: str
    command_prefix: str = ""

    async def queue(self, inbound: Inbound, *, event: str, why: str, writes: Sequence[Write]) -> str:
        """Queue *inbound* in the step that makes *writes*, unless another process was faster; return how that ended.

        If it's a duplicate, it was queued before, but a failover lost the writes: they're made now.
        """
        put = await self.inbox.put(inbound, event=event, why=why, writes=writes)
        if put.end == "duplicate":
            await self.inbox.write(*writes)
        return put.end

    async def refusal_now(self, user: str, channel: str, *wanted: Asked) -> str | None:
        """Return what `Policy.refusal_now` does. Raises `TryLater` if Slack doesn't answer right now."""
        with try_later():
            return await self.policy.refusal_now(user, channel, *wanted)

    async def edit(self, channel: str, ts: str, reply: Reply, tag: MessageTag, *, response_url: str = "") -> bool:
        """Edit a posted message; False if it can't be edited, as someone deleted it, for example. Raises `TryLater`.

        *response_url* is of a button on it, and replaces it where the bot can't edit messages.
        """
        with try_later():
            try:
                try:
                    await self.slack.update(channel, ts, reply, tag)
                except SlackRefused:
                    if not response_url:
                        raise
                    replacing = reply.model_copy(update={"replaces_original": True, "files": ()})
                    await self.slack.respond(response_url, replacing, ExistingParts())
            except SlackRefused as exc:
                log.info("a posted message can't be edited", extra={"error": exc.error, "mark": tag.kind})
                return False
        return True
