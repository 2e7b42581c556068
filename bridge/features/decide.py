"""What is to be done about a turn, whatever it began with: the one place where the kinds of input part."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from bridge.errors import SlackError, SlackRefused, SlackUnreachable
from bridge.features.clicks import clicked
from bridge.features.conversations.greeting import greet
from bridge.features.conversations.notices import Slip, did_you_mean, told
from bridge.features.conversations.planning import SLACK_AWAY, Chats
from bridge.features.conversations.receive import command_line
from bridge.features.deps import Call, Deps
from bridge.features.home.commands import opened
from bridge.features.plan import Plan, Show, StopTurn, TryLater
from bridge.features.registry import router
from bridge.features.reports.reporter import plan_post
from bridge.features.shortcuts import used
from bridge.features.submissions import submitted
from bridge.ids import ThreadKey
from bridge.inbound import (
    Click,
    HomeOpened,
    Inbound,
    InboundMessage,
    MessagesTabOpened,
    Notice,
    Report,
    Shortcut,
    SlashCommand,
    StopRequest,
    Submission,
)
from bridge.queue.lanes import Taken
from bridge.slack.blockkit.mrkdwn import mentions_in

log = logging.getLogger(__name__)

Follow = Callable[[ThreadKey, Sequence[str]], Awaitable[None]]
"""Takes in the replies to a root, each by its ``ts``, that came before it. Raises `SlackError`."""


@dataclass(frozen=True, slots=True)
class Decide:
    """Decides what a turn needs; called again whenever the turn is taken again. Raises `BridgeError`."""

    chats: Chats
    deps: Deps
    follow: Follow

    async def __call__(self, taken: Taken) -> Plan:
        """Say what is to be done about the turn that was *taken*; first what came before it is taken in."""
        body = taken.turn.body
        if taken.turn.follows and isinstance(body, InboundMessage):
            try:
                await self.follow(body.thread, taken.turn.follows)
            except SlackRefused as exc:  # it will not let them be read the next time either
                log.warning("replies that came before their root cannot be read", extra={"detail": exc.detail})
            except SlackError as exc:
                return TryLater((exc.retry_after if isinstance(exc, SlackUnreachable) else None) or SLACK_AWAY)
        return await self._decide(taken, body)

    async def _decide(self, taken: Taken, body: Inbound) -> Plan:
        match body:
            case InboundMessage():
                return await self._about_a_message(taken, body)
            case SlashCommand():
                return await router.answer(f"{body.command} {body.text}", self.deps, self._call(taken, body))
            case Click():
                return await clicked(self.deps, self._call(taken, body), body)
            case StopRequest():
                return StopTurn(body.thread, body.given, only=body.message_ts)
            case MessagesTabOpened():
                return await greet(self.chats, taken.turn.id, body)
            case Submission():
                return await submitted(self.deps, self._call(taken, body), body)
            case HomeOpened():
                return await opened(self.deps, self._call(taken, body), body)
            case Shortcut():
                return await used(self.deps, self._call(taken, body), body)
            case Notice() | Report():
                return await self._our_own(body)

    async def _about_a_message(self, taken: Taken, body: InboundMessage) -> Plan:
        line = command_line(body, self.chats.bot_user)
        if line is None:
            return await self.chats.plan(taken, body)
        if meant := router.meant_by(line):
            slip = Slip(word=line[1:], command=meant, m=body.ts, t=body.thread_ts, a=body.is_mention)
            return Show(did_you_mean(meant, slip.model_dump_json()), what="slip")
        return await router.answer(line, self.deps, self._call(taken, body))

    async def _our_own(self, body: Notice | Report) -> Plan:
        """Say what is to be done about what the bridge itself has begun."""
        if isinstance(body, Report):
            return await plan_post(self.deps.reports, body)
        return Show(told(body.what), what=body.what.partition(":")[0])

    def _call(self, taken: Taken, body: Inbound) -> Call:
        return Call(
            team=body.team,
            channel=body.channel,
            user=body.user,
            turn=taken.turn.id,
            thread=_thread(body),
            trigger_id=getattr(body, "trigger_id", ""),
            response_url=getattr(body, "response_url", ""),
            given=body.ts if isinstance(body, InboundMessage) else "",
            channels=mentions_in(body.text).channels if isinstance(body, InboundMessage | SlashCommand) else (),
        )


def _thread(body: Inbound) -> ThreadKey | None:
    match body:
        case InboundMessage():
            return body.thread
        case Click() | Notice() if body.thread_ts:
            return ThreadKey(body.team, body.channel, body.thread_ts)
        case _:
            return None
