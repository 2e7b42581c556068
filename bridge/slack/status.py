"""What an agent shows of itself in Slack: that it is working, a thread's title, prompts to begin with.

All of it is best effort, never an error, never long in the way.

Newer workspaces have ``agents.sessions.setStatus``, older ones ``assistant.threads.setStatus``, some neither. What
was refused for good is not tried again for an hour. The newer one allows 50 calls a minute in a workspace; so that
what was set can always be cleared, at most 20 are set in a minute, and clearing is not limited. One that is set anew,
because Slack clears it after two minutes, counts as one more. As many titles are given; a thread beyond that has none.

Prompts are sent without a ``thread_ts``: in an app with an agent view, one with it fails in silence.

https://docs.slack.dev/reference/methods/agents.sessions.setStatus
https://docs.slack.dev/reference/methods/assistant.threads.setStatus
https://docs.slack.dev/reference/methods/agents.sessions.rename
https://docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict, deque
from collections.abc import Callable

from bridge.errors import SlackError, SlackRefused
from bridge.slack.ports import Place
from bridge.slack.web import Answer, SlackWeb

log = logging.getLogger(__name__)

SETS_A_MINUTE = 20
_MINUTE = 60.0
_REMEMBERED = 3600.0
_SECONDS = 2.0
_MOST_LEFT_OUT = 10_000

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


class Status:
    """Shows and clears the sign, with whichever method this workspace has."""

    def __init__(self, web: SlackWeb, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._web = web
        self._monotonic = monotonic
        self._refused_until: dict[str, float] = {}
        self._set_at: deque[float] = deque(maxlen=SETS_A_MINUTE)
        self._entitled_at: deque[float] = deque(maxlen=SETS_A_MINUTE)
        self._left_out: OrderedDict[Place, None] = OrderedDict()
        self._shown: set[Place] = set()  # each is cleared by whoever showed it

    async def working(self, place: Place, status: str) -> None:
        """Show *status* in a thread, or show it still, unless too many were shown within a minute."""
        if not place.thread_ts:
            return
        now = self._monotonic()
        if len(self._set_at) == SETS_A_MINUTE and now - self._set_at[0] < _MINUTE:
            if place not in self._shown:
                self._leave_out(place)
            return
        self._set_at.append(now)
        self._left_out.pop(place, None)
        self._shown.add(place)
        await self._tell(place, agents="processing", assistant=status)

    async def idle(self, place: Place) -> None:
        """Clear the sign in a thread; also where another process, dead by now, has set it."""
        self._shown.discard(place)
        if not place.thread_ts or place in self._left_out:
            self._left_out.pop(place, None)
            return
        await self._tell(place, agents="active", assistant="")

    async def entitle(self, place: Place, title: str) -> None:
        """Name the conversation of a thread, unless too many were named within a minute."""
        now = self._monotonic()
        is_too_often = len(self._entitled_at) == SETS_A_MINUTE and now - self._entitled_at[0] < _MINUTE
        if title and place.thread_ts and not is_too_often and not self._is_refused(_RENAME):
            self._entitled_at.append(now)
            body = {"channel_id": place.channel, "thread_ts": place.thread_ts, "title": title}
            await self._call(_RENAME, body)

    async def suggest(self, channel: str, prompts: list[dict[str, str]]) -> None:
        """Offer prompts in a direct message."""
        if prompts and not self._is_refused(_PROMPTS):
            await self._call(_PROMPTS, {"channel_id": channel, "prompts": prompts})

    def _is_refused(self, method: str) -> bool:
        return self._monotonic() < self._refused_until.get(method, float("-inf"))

    def _leave_out(self, place: Place) -> None:
        self._left_out[place] = None
        if len(self._left_out) > _MOST_LEFT_OUT:
            self._left_out.popitem(last=False)

    async def _tell(self, place: Place, *, agents: str, assistant: str) -> None:
        where = {"channel_id": place.channel, "thread_ts": place.thread_ts}
        # Slack shows these in turn; the second is as true as the first.
        rotating = {"loading_messages": [assistant, "is still waiting for the answer…"]} if assistant else {}
        for method, more in ((_AGENTS, {"status": agents}), (_ASSISTANT, {"status": assistant, **rotating})):
            if not self._is_refused(method) and await self._call(method, {**where, **more}):
                return

    async def _call(self, method: str, body: Answer) -> bool:
        """Make the call; False where this workspace does not have the method."""
        try:
            await self._web.call(method, body, seconds=_SECONDS)
        except SlackRefused as exc:
            if exc.error in _NOT_HERE:
                self._refused_until[method] = self._monotonic() + _REMEMBERED
                log.info("slack has no such status here", extra={"method": method, "error": exc.error})
                return False
        except SlackError as exc:
            log.debug("status not told", extra={"method": method, "detail": exc.detail})
        return True
