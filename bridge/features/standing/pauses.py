"""Pauses of what people set up, and the notices about them.

It's paused once its owner, or the channel, may no longer have it, and doesn't happen while its project isn't served.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, Literal

from bridge.ends.refusals import no_longer
from bridge.engine.results import Done, Outcome, shown
from bridge.engine.turn import Turn
from bridge.errors import NotAllowed, ProjectError, RecordNotUnderstood, SlackError
from bridge.features.deps import Deps
from bridge.features.standing.kind import ITS_OWNER, NOT_ALLOWED, Kind, Noun
from bridge.features.standing.records import PostedThing
from bridge.features.standing.store import R, Spec
from bridge.inbound import Notice
from bridge.policy.policy import UNREACHABLE
from bridge.policy.rules import Asked
from bridge.queue.writes import Write
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.card import card
from bridge.slack.blockkit.reply import Audience, Block, Reply

log = logging.getLogger(__name__)

Change = Literal["paused", "changed", "deleted"]
"""What someone else did to what a person set up."""

GONE: Final = "gone"
"""The reason of what's paused because its agent or workflow no longer exists."""

REMOVED: Final = "project"
"""The reason of what doesn't happen until its project is served again."""

_TITLE: Final = 240
_SOON: Final = 2.0  # seconds; how long a list waits to learn what to offer
_BACK: Final = "It continues once your admin adds the project back."


def _a(noun: Noun) -> str:
    return f"a{'n' * (noun.word[0] in 'aeiou')} {noun.word}"


def paused_notice(
    noun: Noun, called: str, channel: str, reason: str, owner: str = "", *, is_owner: bool = True
) -> Reply:
    """Tell its owner, in a direct message, or its channel, that what was set up is paused.

    It's for a *reason* of `bridge.policy.policy.Policy.refusal_now`, or an error of Slack's.
    """
    why = no_longer(reason, "" if is_owner else owner or ITS_OWNER)
    was = "is paused" if why else "couldn't be posted and is paused"
    why = why or f"{NOT_ALLOWED} ({kit.one_line(reason, 60)})"
    which = f"One of your {noun.word}s" if is_owner else kit.capitalized(_a(noun))
    if called:
        which = f"{'Your' if is_owner else 'The'} {noun.word} {kit.quoted(called, _TITLE)}"
    where: list[Block | str] = [" in ", kit.place(channel)] if is_owner and kit.is_channel(channel) else []
    fix = f" {_BACK}" if reason == REMOVED else ""
    fix = fix if is_owner else f" Someone with permission can set it up again with {kit.command(noun.sets_up)}."
    text = kit.paragraph(f"⚠️ {which}", *where, f" {was}: {why}.{fix}")
    return card(kit.rich(text), buttons=[noun.lists], audience=Audience.CHANNEL)


def changed_notice(noun: Noun, called: str, channel: str, person: str, did: Change) -> Reply:
    """Tell its owner, in a direct message, that a *person* ``paused``, ``changed`` or ``deleted`` it (*did*)."""
    who = kit.named(person, 80) if person else kit.SOMEONE
    where: list[Block | str] = [" in ", kit.place(channel)] if kit.is_channel(channel) else []
    text = kit.paragraph(f"{who} {did} your {noun.word} {kit.quoted(called, _TITLE)}", *where, ".")
    return card(kit.rich(text), buttons=[noun.lists], audience=Audience.CHANNEL)


def cannot_continue(what: str, reason: str, owner: str) -> Reply:
    """Say why *what* can't be done with something set up by *owner* (``""``: the reader)."""
    fix = _BACK if reason == REMOVED else "Delete it, or set it up again once that's fixed."
    return kit.reply(f"{what}: {no_longer(reason, owner)}. {fix}")


async def refusal_to_continue(
    deps: Deps, turn: Turn, spec: Spec, what: str, about: str, *wanted: Asked
) -> Outcome | None:
    """Say why something that needs the rights *wanted* can't be resumed or started, if it can't. Raises `TryLater`."""
    reason = await deps.refusal_now(spec.owner, spec.channel, *wanted)
    if not reason and deps.projects.get(spec.project) is None:
        reason = REMOVED
    if not reason:
        return None
    name = "" if spec.owner == turn.user else await deps.directory.user_name(spec.owner)
    return shown(cannot_continue(what, reason, name), f"refused: {reason}", about)


async def why_not_start(deps: Deps, user: str, spec: Spec, *wanted: Asked) -> str | None:
    """Return why *user*, who needs the rights *wanted*, may not start what someone set up; None if they may.

    It's a reason of `bridge.errors.NotAllowed`: what's set up is shown in its channel, which they have to see. Raises
    `TryLater`.
    """
    if spec.channel.startswith("D") and user != spec.owner:
        return "left"
    return await deps.refusal_now(user, spec.channel, *wanted)


async def require_start(deps: Deps, turn: Turn, spec: Spec, *wanted: Asked) -> None:
    """Raise `NotAllowed` unless *turn*'s person may start what's set up; see `why_not_start`."""
    if reason := await why_not_start(deps, turn.user, spec, *wanted):
        if reason == "rule":
            await deps.policy.require(*wanted)  # says which rule refuses it
        raise NotAllowed(reason)


async def may_start(deps: Deps, turn: Turn, spec: Spec, rights: Awaitable[Sequence[Asked]]) -> bool:
    """Whether to show *turn*'s person a button that starts what's set up and needs *rights*; False if it's unknown."""
    try:
        async with asyncio.timeout(_SOON):
            for asked in await rights:
                if not await deps.policy.may(asked):
                    return False
            if turn.user == spec.owner or spec.channel.startswith("D"):
                return turn.user == spec.owner
            return await deps.directory.sees(turn.user, spec.channel, at_most=None)
    except (SlackError, ProjectError, TimeoutError):
        return False


async def tells_owner(deps: Deps, turn: Turn, kind: Kind[R], record: R, *, did: Change) -> list[Write]:
    """Return the writes that tell an owner that someone else ``paused``, ``deleted`` or ``changed`` it."""
    spec, noun = record.spec, kind.noun(record)
    if turn.user == spec.owner:
        return []
    person = await deps.directory.user_name(turn.user)
    reply = changed_notice(noun, await kind.called(deps, record), spec.channel, person, did)
    notice = Notice.direct(spec.team, spec.owner, f"{noun.word}_changed", reply.stored())
    queued = deps.inbox.queues(notice, why=f"someone changed {_a(noun)}")
    return [queued, *deps.homes.redraws(spec.team, spec.owner)]


async def tell_of_removal(deps: Deps, kind: Kind[R], record: R, *, event: str) -> None:
    """Tell an owner, once, that what they set up waits for its project, which was removed."""
    spec, noun = record.spec, kind.noun(record)
    reply = paused_notice(noun, await kind.called(deps, record), spec.channel, REMOVED).stored()
    what = f"{noun.word}_paused"
    notice = Notice(team=spec.team, channel=spec.owner, user=spec.owner, what=what, reply=reply, of=noun.word)
    once = kind.stored(deps).misses_project(record.id)
    await deps.inbox.put(notice, event=event, why="its project was removed", writes=once)  # stale: told before


async def found(deps: Deps, kind: Kind[R], id_: str, *, though_paused: bool = False) -> R | Done:
    """Return a thing that's about to happen, or why it doesn't: it was deleted, or is paused."""
    word = kind.nouns[0].word
    try:
        record = await kind.stored(deps).get(id_)
    except RecordNotUnderstood:
        return Done(f"a newer version wrote this {word}")
    if record is None:
        return Done(f"the {word} was deleted")
    return Done(f"the {word} is paused") if record.paused and not though_paused else record


async def may_happen(deps: Deps, turn: Turn, kind: Kind[R], record: R) -> Done | None:
    """Return why a thing may not happen, or None if it may; it's paused if its owner may no longer have it.

    While its project isn't served, it doesn't happen, either, and its owner is told once. Raises `TryLater` and
    `ProjectError`.
    """
    spec, word = record.spec, kind.nouns[0].word
    if refusal := await deps.refusal_now(spec.owner, spec.channel, *await kind.rights(deps, spec)):
        await pause(deps, turn, kind, record, refusal)
        return Done(f"the {word} was paused: {refusal}")
    if deps.projects.get(spec.project) is None:
        await tell_of_removal(deps, kind, record, event=f"removed:{turn.id}")
        return Done("its project was removed")
    await deps.inbox.write(*kind.stored(deps).has_project(record.id))
    return None


async def pause(deps: Deps, turn: Turn, kind: Kind[R], record: R, reason: str) -> None:
    """Pause a thing for a *reason*, and tell its owner and its channel once."""
    noun, writes = kind.noun(record), kind.stored(deps).pause(record.id, reason)
    says = partial(paused_notice, noun, await kind.called(deps, record))
    await notify_of_pause(
        deps, turn, record.spec.owner, reason, what=f"{noun.word}_paused", says=says, event=f"paused:{turn.id}",
        writes=writes,
    )  # fmt: skip


async def pause_refused(kind: Kind[R], deps: Deps, turn: Turn, posted: PostedThing, error: str) -> None:
    """Stage the pause of a thing whose post Slack rejects, and a notice to its owner, unless it's already paused."""
    record = await kind.stored(deps).get(posted.thing)
    if record is None:
        return
    noun, owner = kind.noun(record), record.spec.owner
    reply, what = paused_notice(noun, posted.called, turn.channel, error).stored(), f"{noun.word}_paused"
    notice = Notice(team=turn.team, channel=owner, user=owner, what=what, reply=reply, of=kind.name)
    queued = deps.inbox.queues(notice, why=f"{_a(noun)} was paused")
    turn.stage(*kind.stored(deps).pause(record.id, error, queued))


async def notify_of_pause(
    deps: Deps,
    turn: Turn,
    owner: str,
    reason: str,
    *,
    what: str,
    says: Callable[..., Reply],
    event: str,
    writes: Sequence[Write] = (),
) -> None:
    """Tell an *owner* and the channel, once per *event*, that what they set up is paused (`Policy.refusal_now`).

    *what* names the notice, and *says* returns it: `paused_notice` or `rule_paused`. People who can't be reached aren't
    told, nor a channel where the bridge isn't enabled or that only the owner reads. *writes* are made with the notice.
    """
    name = await deps.directory.user_name(owner) if owner else ""
    places = [owner] if owner and reason not in UNREACHABLE else []
    if reason != "channel" and not turn.channel.startswith("D"):
        places.append(turn.channel)
    log.warning("paused: its owner or channel no longer has access", extra={"what": what, "reason": reason})
    if not places:
        await deps.inbox.write(*writes)
    for place in places:
        reply = says(turn.channel, reason, name, is_owner=place == owner).stored()
        notice = Notice(
            team=turn.team, channel=place, user=owner, what=what, reply=reply, of="notice", is_offer=True
        )  # fmt: skip
        own_writes = writes if place == places[-1] else ()
        await deps.inbox.put(notice, event=f"{event}:{place}", why="it was paused", writes=own_writes)
