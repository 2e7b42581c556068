"""Who asks, in headers for the project service (BRIDGE_CALLER_HEADERS).

They are Slack's IDs: the service decides what to do with them. Whoever can set them could ask in anybody's name, so the
service must take them only with the bridge's key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from bridge.engine.turn import Turn

_PLAIN: Final = re.compile(r"[\w.:; -]{1,200}", re.ASCII)


def caller_headers(turn: Turn, request: str = "") -> Mapping[str, str]:
    """Return the headers of *turn*'s request.

    What nobody typed has its owner's ID in ``X-Slack-User``, and what started it in ``X-Slack-Cause``: ``schedule``,
    ``alert`` or ``app A…``; who had it done by hand follows. ``Idempotency-Key`` is the turn's ID, also if the request
    is repeated; that of another *request* ends with its name.
    """
    body: Any = getattr(turn.body, "started_by", None) or turn.body
    person, by, app = body.starters[0]
    by = getattr(body, "caused_by", by) if by == "person" else by
    cause = "" if by == "person" else f"{by} {app}".rstrip()
    if turn.causer != person:
        cause = f"{cause or 'person'}; by {turn.causer}"
    thread = turn.thread.root if turn.thread else getattr(turn.body, "thread_ts", "")
    headers = {
        "X-Slack-Team": turn.team,
        "X-Slack-User": person,
        "X-Slack-Channel": turn.channel,
        "X-Slack-Thread": thread,
        "X-Slack-Cause": cause,
        "Idempotency-Key": f"{turn.id}.{request}" if request else turn.id,
    }
    return {name: value for name, value in headers.items() if _PLAIN.fullmatch(value)}
