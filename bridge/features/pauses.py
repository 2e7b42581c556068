"""What people set up in a channel, such as reports, alerts and rules for apps: pauses, and the notices about them.

It's paused once its owner, or the channel, may no longer have it, and doesn't happen while its project isn't served.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, Protocol

from bridge.ends.refusals import no_longer
from bridge.engine.results import Done, Outcome, TryLater, shown
from bridge.engine.turn import Turn
from bridge.errors import NotAllowed, ProjectError, SlackError
from bridge.features.channels.settings import AppRule
from bridge.features.deps import Deps
from bridge.features.lookups import rights
from bridge.inbound import InboundMessage, Notice
from bridge.policy.policy import UNREACHABLE
from bridge.policy.rules import Asked
from bridge.queue.writes import Write, only_if
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Audience, Block, Reply

log = logging.getLogger(__name__)

Change = Literal["paused", "changed", "deleted"]
"""What someone else did to what a person set up."""

RULE_PAUSED: Final = "rule_paused"
"""The name of the notice that an app's rule is paused."""

ASKED: Final = "asked"
"""The reason of what a person paused."""

NO_CLOCK: Final = "no clock"
"""The reason of what's paused because the bridge's machine doesn't know its time zone."""

GONE: Final = "gone"
"""The reason of what's paused because its agent or workflow no longer exists."""

REMOVED: Final = "project"
"""The reason of what doesn't happen until its project is served again."""

_TITLE: Final = 240
_SOON: Final = 2.0  # seconds; how long a list waits to learn what to offer
_ITS_OWNER: Final = "its owner"
_NOT_ALLOWED: Final = "Slack didn't allow it"
_BACK: Final = "It continues once your admin adds the project back."


@dataclass(frozen=True, slots=True)
class Kind:
    """What people set up: its *noun*, the command that sets it up *again*, and the button that lists *all*.

    Its notices are named ``<noun>_paused`` and ``<noun>_changed``.
    """

    noun: str
    again: str
    all: Block


class SetUp(Protocol):
    """Something that its *owner* set up in a *channel*."""

    @property
    def team(self) -> str: ...  # noqa: D102 - the channel's
    @property
    def channel(self) -> str: ...  # noqa: D102
    @property
    def owner(self) -> str: ...  # noqa: D102
    @property
    def project(self) -> str: ...  # noqa: D102 - as in records


def delete_button(kind: Kind, text: str, action_id: str, value: str) -> Block:
    """Return the button that deletes what *text* describes, after a confirmation."""
    title, text = f"Delete this {kind.noun}?", f"{text}. You can't undo this."
    return kit.button("Delete", action_id, value, asks=kit.confirm(title, text, "Delete", "Cancel", is_danger=True))


def is_back(key: str) -> tuple[Write, ...]:
    """Return the writes that record that its project is served again."""
    return only_if(key, {"gone": "1"}, ("field", key, 0, "gone", ""))


def paused_because(reason: str) -> str:
    """Return the state of what's paused for a *reason*, in a list."""
    return "paused" if reason == ASKED else f"paused: {no_longer(reason, _ITS_OWNER) or _NOT_ALLOWED}"


def paused_notice(
    kind: Kind, called: str, channel: str, reason: str, owner: str = "", *, is_owner: bool = True
) -> Reply:
    """Tell its owner, in a direct message, or its channel, that what was set up is paused.

    It's for a *reason* of `bridge.policy.policy.Policy.refusal_now`, or an error of Slack's.
    """
    why = no_longer(reason, "" if is_owner else owner or _ITS_OWNER)
    was = "is paused" if why else "couldn't be posted and is paused"
    why = why or f"{_NOT_ALLOWED} ({kit.one_line(reason, 60)})"
    which = f"One of your {kind.noun}s" if is_owner else f"A {kind.noun}"
    if called:
        which = f"{'Your' if is_owner else 'The'} {kind.noun} {kit.quoted(called, _TITLE)}"
    where: list[Block | str] = [" in ", kit.place(channel)] if is_owner and kit.is_channel(channel) else []
    fix = f" {_BACK}" if reason == REMOVED else ""
    fix = fix if is_owner else f" Someone with permission can set it up again with {kind.again}."
    ending = f" {was}: {why}.{fix}"
    return kit.reply(
        which + ending,
        kit.rich(kit.paragraph(f"⚠️ {which}", *where, ending)),
        kit.actions(kind.all),
        audience=Audience.CHANNEL,
    )


def rule_paused(app: str, channel: str, reason: str, owner: str, *, is_owner: bool) -> Reply:
    """Tell the owner of an app's rule, or its channel, that the rule is paused."""
    of = kit.named(app, 80) or "an app"
    who = "" if is_owner else owner or "the person who set this up"
    fix = "Someone with permission can set it up again there with /agents channel."
    why = no_longer(reason, who) or no_longer("unknown", who)
    start, ending = f"⚠️ I no longer answer posts from {of}", f": {why}. {fix}"
    place: list[Block | str] = [" in ", kit.place(channel)] if is_owner and kit.is_channel(channel) else [" here"]
    return kit.reply(start + ending, kit.rich(kit.paragraph(start, *place, ending)), audience=Audience.CHANNEL)


def changed_notice(kind: Kind, called: str, channel: str, person: str, did: Change) -> Reply:
    """Tell its owner, in a direct message, that a *person* ``paused``, ``changed`` or ``deleted`` it (*did*)."""
    who = kit.named(person, 80) if person else kit.SOMEONE
    start, ending = f"{who} {did} your {kind.noun} {kit.quoted(called, _TITLE)}", "."
    where: list[Block | str] = [" in ", kit.place(channel)] if kit.is_channel(channel) else []
    return kit.reply(
        start + ending,
        kit.rich(kit.paragraph(start, *where, ending)),
        kit.actions(kind.all),
        audience=Audience.CHANNEL,
    )


def cannot_continue(what: str, reason: str, owner: str) -> Reply:
    """Say why *what* can't be done with something set up by *owner* (``""``: the reader)."""
    fix = _BACK if reason == REMOVED else "Delete it, or set it up again once that's fixed."
    return kit.reply(f"{what}: {no_longer(reason, owner)}. {fix}")


async def refusal_to_continue(
    deps: Deps, turn: Turn, one: SetUp, what: str, about: str, *wanted: Asked
) -> Outcome | None:
    """Say why something that needs the rights *wanted* can't be resumed or started, if it can't. Raises `TryLater`."""
    reason = await deps.refusal_now(one.owner, one.channel, *wanted)
    if not reason and deps.projects.get(one.project) is None:
        reason = REMOVED
    if not reason:
        return None
    name = "" if one.owner == turn.user else await deps.directory.user_name(one.owner)
    return shown(cannot_continue(what, reason, name), f"refused: {reason}", about)


async def why_not_start(deps: Deps, user: str, one: SetUp, *wanted: Asked) -> str | None:
    """Return why *user*, who needs the rights *wanted*, may not start what someone set up; None if they may.

    It's a reason of `bridge.errors.NotAllowed`: what's set up is shown in its channel, which they have to see. Raises
    `TryLater`.
    """
    if one.channel.startswith("D") and user != one.owner:
        return "left"
    return await deps.refusal_now(user, one.channel, *wanted)


async def require_start(deps: Deps, turn: Turn, one: SetUp, *wanted: Asked) -> None:
    """Raise `NotAllowed` unless *turn*'s person may start what's set up; see `why_not_start`."""
    if reason := await why_not_start(deps, turn.user, one, *wanted):
        if reason == "rule":
            await deps.policy.require(*wanted)  # says which rule refuses it
        raise NotAllowed(reason)


async def may_start(deps: Deps, turn: Turn, one: SetUp, rights: Awaitable[Sequence[Asked]]) -> bool:
    """Whether to show *turn*'s person a button that starts what's set up and needs *rights*; False if it's unknown."""
    try:
        async with asyncio.timeout(_SOON):
            for asked in await rights:
                if not await deps.policy.may(asked):
                    return False
            if turn.user == one.owner or one.channel.startswith("D"):
                return turn.user == one.owner
            return await deps.directory.sees(turn.user, one.channel, at_most=None)
    except (SlackError, ProjectError, TimeoutError):
        return False


async def tells_owner(deps: Deps, turn: Turn, one: SetUp, kind: Kind, called: str, *, did: Change) -> list[Write]:
    """Return the writes that tell an owner that someone else ``paused``, ``deleted`` or ``changed`` it."""
    if turn.user == one.owner:
        return []
    noun = kind.noun
    reply = changed_notice(kind, called, one.channel, await deps.directory.user_name(turn.user), did)
    notice = Notice.direct(one.team, one.owner, f"{noun}_changed", reply.stored())
    told = deps.inbox.queues(notice, why=f"someone changed a{'n' * (noun[0] in 'aeiou')} {noun}")
    return [told, *deps.homes.redraws(one.team, one.owner)]


async def tell_of_removal(deps: Deps, one: SetUp, kind: Kind, called: str, key: str, *, event: str) -> None:
    """Tell an owner, once, that what they set up waits for its project, which was removed."""
    reply = paused_notice(kind, called, one.channel, REMOVED).stored()
    what, noun = f"{kind.noun}_paused", kind.noun
    notice = Notice(team=one.team, channel=one.owner, user=one.owner, what=what, reply=reply, of=noun)
    once = only_if(key, {"v": "1", "gone": ""}, ("field", key, 0, "gone", "1"))
    await deps.inbox.put(notice, event=event, why="its project was removed", writes=once)  # stale: told before


async def check_rule(deps: Deps, turn: Turn, message: InboundMessage) -> Done | None:
    """Return why an app's *message* starts nothing, or None if it does: its rule counts as it is now.

    A rule whose owner may no longer set it up is paused, with one notice. Raises `TryLater`.
    """
    while True:
        stored = await deps.channels.stored(turn.team, turn.channel)
        settings = await deps.channels.in_force(turn.channel, stored.settings)
        key = message.rule or message.app  # as an earlier release stored it
        rule = settings.of(turn.project_key).apps.get(key)
        if rule is None:
            return Done("its app no longer has a rule here")
        if "apps" in deps.channels.fixed(turn.channel):
            return await _check_fixed(deps, turn, rule, message.app)
        if rule.paused:
            return Done(f"its app's rule is paused: {rule.paused}")
        wanted = await rights(
            deps, "settings", rule.owner, turn.channel, turn.project_key, workflow=rule.workflow, agent=rule.agent,
            by="app", app=message.app,
        )  # fmt: skip
        reason = await deps.refusal_now(rule.owner, turn.channel, *wanted)
        if reason is None:
            return None
        hour = int(deps.now().timestamp()) // 3600  # it's paused at once: this only spares turns at the same moment
        event = f"{RULE_PAUSED}:{turn.team}:{turn.channel}:{key}:{hour}"
        says = partial(rule_paused, rule.name or message.app_name or message.app)
        await notify_of_pause(deps, turn, rule.owner, reason, what=RULE_PAUSED, says=says, event=event)
        paused = stored.settings.with_app(key, rule.model_copy(update={"paused": reason}))
        if await deps.channels.replace(turn.team, turn.channel, stored, paused):
            return Done(f"its app's rule is paused: {reason}")


async def _check_fixed(deps: Deps, turn: Turn, rule: AppRule, app: str) -> Done | None:
    """Return why a rule in the operator's file, which nobody owns, starts nothing, or None if it does."""
    of = ("", turn.channel, turn.project_key)
    wanted = await rights(deps, "settings", *of, workflow=rule.workflow, agent=rule.agent, by="app", app=app)
    for asked in (one for one in wanted if one.act != "settings"):
        try:
            await deps.policy.require(asked)
        except NotAllowed as exc:
            if exc.reason == "unanswered":
                raise TryLater from exc
            return Done(f"refused: {exc.reason}")
    reason = deps.policy.rules.not_listed("", turn.channel)
    return Done(f"refused: {reason}") if reason else None


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
