"""Episodes' changes: each is stored in the step that queues the message about it, and then posted.

A change is made only if the record is still as it was read. So however many processes look, and whichever of them dies,
each change gets exactly one turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import ClassVar, Final

from pydantic import AwareDatetime, Field

from bridge.engine.results import Outcome
from bridge.engine.turn import Turn
from bridge.features.deps import Deps
from bridge.features.episodes.episode import Episode
from bridge.ids import side_id
from bridge.inbound import Job
from bridge.queue.scripting import epoch_ms
from bridge.queue.writes import Write, only_if
from bridge.slack.blockkit.reply import Reply
from bridge.slack.parts import MessageTag

_STATE: Final = (
    "v", "since", "sign", "channel", "post", "ended", "closed", "refused", "quiet", "snoozed", "unknown", "told",
    "paused",
)  # fmt: skip
"""The fields that every change depends on."""


class EpisodeChange(Job, validate_by_name=True, serialize_by_alias=True):
    """What changes an episode that began at *since*: a message, queued by the bridge itself.

    *detail* is what was found (``said`` in what's stored, so that two releases can share one Redis). All but its
    beginning is posted in the thread *thread_ts* of the message about that.
    """

    is_of_owner: ClassVar[bool] = True
    since: AwareDatetime
    detail: str = Field(default="", alias="said")
    thread_ts: str = ""


def changed(key: str, before: Episode, fields: Mapping[str, str], *more: Write, lives: int = 0) -> tuple[Write, ...]:
    """Return the writes of *fields* that change an episode, and *more*, if the record is still as it was read.

    It *lives* so long from then on (ms; 0: as before).
    """
    state = {name: before.fields.get(name, "") for name in _STATE}
    return only_if(key, state, *(("field", key, lives, name, value) for name, value in fields.items()), *more)


def unless_posted(key: str, since: datetime, *writes: Write) -> tuple[Write, ...]:
    """Return *writes* that are made if an episode is still the one that began at *since*, and its post isn't known."""
    return only_if(key, {"since": str(epoch_ms(since)), "post": ""}, *writes)


async def tell(
    deps: Deps, turn: Turn, change: EpisodeChange, shown: Reply, reply: Reply, *, what: str, mark: str, about: str = ""
) -> Outcome:
    """Edit an episode's message to what's *shown*, and *reply* in its thread with what has changed."""
    tag = MessageTag(mark, side_id(turn.id, "edit"), project=turn.project_key)  # not its own, which is looked for
    await deps.edit(change.channel, change.thread_ts, shown, tag)
    return Outcome(what=what, reply=reply, mark=mark, concerns=about)
