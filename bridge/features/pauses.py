"""What was set up in a channel is paused once its owner, or the channel, may no longer have it."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Final, assert_never

from bridge.engine.access import UNREACHABLE
from bridge.engine.results import Done
from bridge.engine.turn import Turn
from bridge.features.deps import Deps
from bridge.inbound import InboundMessage, Notice
from bridge.queue.inbox import Duplicate, Queued, Stale
from bridge.queue.records import Write

log = logging.getLogger(__name__)

RULE_PAUSED: Final = "rule_paused"
"""The name of the notice that an app's rule is paused."""


async def check_rule(deps: Deps, turn: Turn, message: InboundMessage) -> Done | None:
    """Return why an app's *message* starts nothing, or None if it does: its rule counts as it is now.

    A rule whose owner may no longer set it up is paused, with one notice. Raises `TryLater`.
    """
    while True:
        stored = await deps.channels.stored(turn.team, turn.channel)
        rule = stored.settings.of(turn.project_key).apps.get(message.app)
        if rule is None:
            return Done("its app no longer has a rule here")
        if rule.paused:
            return Done(f"its app's rule is paused: {rule.paused}")
        reason = await deps.access.refusal_now(rule.owner, turn.channel, is_set_up=True)
        if reason is None:
            return None
        hour = int(deps.now().timestamp()) // 3600  # it's paused at once: this only spares turns at the same moment
        event = f"{RULE_PAUSED}:{turn.team}:{turn.channel}:{message.app}:{hour}"
        about = (RULE_PAUSED, rule.name or message.app_name or message.app)
        await notify_of_pause(deps, turn, rule.owner, reason, about, event=event)
        paused = stored.settings.with_app(message.app, rule.model_copy(update={"paused": reason}))
        if await deps.channels.replace(turn.team, turn.channel, stored, paused):
            return Done(f"its app's rule is paused: {reason}")


async def notify_of_pause(
    deps: Deps,
    turn: Turn,
    owner: str,
    reason: str,
    about: tuple[str, str],
    *,
    event: str,
    writes: Sequence[Write] = (),
) -> None:
    """Tell an *owner* and the channel, once per *event*, that what they set up is paused (`Access.refusal_now`).

    *about* is the notice's name and the title of what was set up. People who can't be reached aren't told, nor a
    channel where the bridge isn't enabled or that only the owner reads. *writes* are made with the notice.
    """
    name, title = about
    facts = [title, turn.channel, reason, await deps.directory.user_name(owner) if owner else ""]
    places = [owner] if owner and reason not in UNREACHABLE else []
    if reason != "channel" and not turn.channel.startswith("D"):
        places.append(turn.channel)
    log.warning("paused: its owner or channel no longer has access", extra={"what": name, "reason": reason})
    if not places:
        await deps.inbox.write(*writes)
    for place in places:
        what = f"{name}:" + json.dumps([*facts, place == owner])
        notice = Notice(team=turn.team, channel=place, user=owner, what=what, of="notice", is_offer=True)
        own_writes = writes if place == places[-1] else ()
        put = await deps.inbox.put(notice, event=f"{event}:{place}", why="it was paused", writes=own_writes)
        match put:
            case Queued() | Duplicate() | Stale():  # if it's stale, it was paused meanwhile, and they were told
                pass
            case _:
                assert_never(put)
