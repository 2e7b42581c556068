"""How something is set up: where it can be posted, whether it's there already, and who owns it from then on."""

from __future__ import annotations

from typing import Any, TypeVar

from bridge.engine.results import Outcome, shown
from bridge.engine.turn import Turn
from bridge.errors import BadSchedule, CannotSetUp
from bridge.features.deps import Deps
from bridge.features.standing import layout
from bridge.features.standing.due import TimedSpec
from bridge.features.standing.handling import changeable
from bridge.features.standing.kind import Kind
from bridge.features.standing.pauses import tells_owner
from bridge.features.standing.store import R, Spec
from bridge.features.standing.zones import find_zone
from bridge.slack.blockkit.mrkdwn import channels_linked, mentions_in

S = TypeVar("S", bound=Spec)


async def set_up(
    kind: Kind[R], deps: Deps, turn: Turn, spec: Spec, channel: str | None = None, *, editing: str = ""
) -> R | Outcome:
    """Set up what was typed, once for each turn, or change the thing with the ID *editing*; or say why it isn't done.

    It's for the *channel* that was chosen, or else the one that was typed, or *turn*'s (`channel_of`). Whoever changes
    a thing owns it from then on; its project stays. Raises `CannotSetUp`, `NotAllowed`, `StoreUnavailable`, and what
    `Kind.rights` raises.
    """
    before = await changeable(deps, turn, kind, editing) if editing else None
    if editing and type(before and before.spec) is not type(spec):
        return shown(layout.gone(kind))
    spec = await owned(kind, deps, turn, spec, channel, project=before.spec.project if before else "")
    await deps.policy.require(*await kind.rights(deps, spec))
    if known := await exists(kind, deps, turn, spec, turn.id, editing):
        return known
    store = kind.stored(deps)
    if before is None and await store.is_full():
        raise _cannot(kind, spec, "many", f"{store.most:,}")
    record = store.new(before.id if before else turn.id, spec, deps.now(), before.paused if before else "")
    if before is None:
        turn.stage(*store.add(record, deps.now()))
    else:
        turn.stage(*store.change(record, *await tells_owner(deps, turn, kind, before, did="changed")))
    return record


async def owned(
    kind: Kind[Any], deps: Deps, turn: Turn, spec: S, channel: str | None = None, *, project: str = ""
) -> S:
    """Return what was typed as *turn*'s person's, in a channel where it can be posted, as far as Slack says.

    That's as in `set_up`; a time zone that's missing is the person's. Raises `CannotSetUp`.
    """
    place = await channel_of(deps, turn, spec.channel) if channel is None else channel
    problem = ""
    if deps.policy.rules.not_listed("", place):
        problem = "disabled"
    elif not place or not await deps.directory.may_post(place):
        problem = "channel"
    elif await deps.refusal_now(turn.user, place, turn.asked(kind.act(spec), channel=place)) == "left":
        problem = "name"
    if problem:
        raise _cannot(kind, spec, problem, spec.channel if spec.channel.startswith("#") else "")
    about = {"team": turn.team, "channel": place, "owner": turn.user, "project": project or turn.project.key}
    if isinstance(spec, TimedSpec):
        about["zone"] = spec.zone or await zone_of(deps, turn.user) or "UTC"
    return spec.model_copy(update=about)


def _cannot(kind: Kind[Any], spec: Spec, part: str, typed: str) -> CannotSetUp:
    error = CannotSetUp(part, typed, kind.plural)
    error.form = kind.opens(spec)
    return error


async def exists(kind: Kind[R], deps: Deps, turn: Turn, spec: Spec, *but: str) -> Outcome | None:
    """Say that there is what's the same for people as *spec*, if so, besides the things with the IDs *but*."""
    for known in await kind.stored(deps).all():
        if known.id not in but and known.spec.identity == spec.identity:
            return shown(await kind.there_already(deps, turn, known), "exists", await kind.about(deps, known))
    return None


async def channel_of(deps: Deps, turn: Turn, typed: str) -> str:
    """Return the ID of the channel that was *typed* last (``#name``), or else of *turn*'s. Raises `CannotSetUp`.

    Slack usually sends a channel's ID with its name; if it doesn't, or sends several of that name, it's looked up.
    """
    if not typed:
        return turn.channel
    text = getattr(turn.body, "text", "")
    linked = channels_linked(text, await deps.directory.names(mentions_in(text)), typed=typed)
    found = linked[0] if len(linked) == 1 else await deps.directory.channel_called(typed, turn.user)
    if not found:
        raise CannotSetUp("name", typed)
    return found


async def zone_of(deps: Deps, user: str) -> str:
    """Return a person's time zone; ``""`` if Slack doesn't say it."""
    try:
        return find_zone(await deps.directory.time_zone(user))
    except BadSchedule:
        return ""
