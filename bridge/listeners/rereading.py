"""Replies that came before the refused root of their thread: only their ``ts`` was kept, so they are read again.

https://docs.slack.dev/reference/methods/conversations.replies
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bridge.ids import MessageKey, ThreadKey
from bridge.listeners.messages import Messages
from bridge.slack.api import SlackWeb

_PAGE = "200"
_MOST_PAGES = 5  # a thread is minutes old then


@dataclass(frozen=True, slots=True)
class KeptReplies:
    """Takes them in by way of *messages*, as if Slack sent them only now: with the text that they have by now."""

    web: SlackWeb
    messages: Messages

    async def __call__(self, thread: ThreadKey, replies: Sequence[str]) -> None:
        """Read *replies*, each by its ``ts``, and take them in. Raises `SlackError` and `StoreUnavailable`."""
        arguments = {"channel": thread.channel, "ts": thread.root, "limit": _PAGE, "inclusive": "true"}
        arguments |= {"oldest": min(replies, key=float), "latest": max(replies, key=float)}
        found: dict[str, dict[str, Any]] = {}
        for _ in range(_MOST_PAGES):
            page = await self.web.read("conversations.replies", arguments)
            found |= {str(one.get("ts")): one for one in page.get("messages") or [] if isinstance(one, dict)}
            cursor = str((page.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                break
            arguments["cursor"] = cursor
        for ts in sorted(set(replies) & found.keys(), key=float):  # one that was deleted is not there any more
            event = {"type": "message", **found[ts], "channel": thread.channel}
            identity = f"history:{MessageKey(thread.team, thread.channel, ts)}"
            await self.messages.take_again({"type": "event_callback", "event_id": identity, "event": event})
