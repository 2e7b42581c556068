"""What people do with things that they set up: lists, buttons, and Home."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from bridge.engine.feature import Feature
from bridge.engine.home import Reads
from bridge.engine.results import HomeChanged, Result, shown
from bridge.engine.turn import Turn
from bridge.errors import NotAllowed
from bridge.features.deps import Deps
from bridge.features.standing import kind as kinds, layout
from bridge.features.standing.kind import ASKED, Kind, ShownThing
from bridge.features.standing.pauses import (
    REMOVED,
    may_start,
    pause_refused,
    refusal_to_continue,
    require_start,
    tells_owner,
)
from bridge.features.standing.portable import portable
from bridge.features.standing.records import PostedThing
from bridge.features.standing.store import R
from bridge.inbound import Click
from bridge.slack.blockkit.lists import page_of, shown_on
from bridge.slack.blockkit.reply import Block, Reply


def sets_up(feature: Feature, kind: Kind[Any], *posted: type[PostedThing]) -> None:
    """Register a kind with its buttons, its list and its section of Home, and what's *posted* of it."""
    feature.sets_up(kind.standing(portable(kind)))
    feature.home_section(partial(home, kind))
    for verb in kind.verbs:
        feature.button(kind.action(verb), label=kind.label(verb))(partial(pressed, kind))
    for of in posted:
        feature.once_refused(of)(partial(pause_refused, kind))
    for noun in kind.nouns:
        feature.outcomes |= {
            f"{noun.word}_paused": f"notified: {noun.word} paused",
            f"{noun.word}_changed": f"notified: someone else changed the {noun.word}",
        }


async def changeable(deps: Deps, turn: Turn, kind: Kind[R], id_: str) -> R | None:
    """Return a thing that *turn*'s person may change; None if it was deleted. Raises `NotAllowed`."""
    record = await kind.stored(deps).get(id_)
    if record and turn.user != record.spec.owner and not await deps.policy.may(turn.asked(kind.act(record.spec))):
        raise NotAllowed(kind.noun(record).theirs)
    return record


async def pressed(kind: Kind[R], deps: Deps, turn: Turn, click: Click) -> Result:
    """Handle a button of the list: a thing's owner may, and people who may set up such a thing.

    What starts it, or has it start again, needs the rights of the person who pressed, too.
    """
    verb, (page, _, id_) = click.action_id.removeprefix(f"{kind.name}:"), click.value.partition(":")
    if verb in {kinds.PAGE, kinds.NEXT_PAGE}:
        return shown(await listed(kind, deps, turn, click.value, replaces_original=click.is_ephemeral))
    record = await changeable(deps, turn, kind, id_)
    if record is None:
        return HomeChanged() if click.view else shown(layout.gone(kind))
    if verb == kinds.EDIT:
        if turn.user != record.spec.owner:  # someone else must be allowed to start it
            wanted = await kind.rights(deps, record.spec, user=turn.user, by=kind.needs_rights[verb])
            await require_start(deps, turn, record.spec, *wanted)
        turn.project_key = record.spec.project  # the form's menus are about that one, wherever the list was opened
        return await kind.form(deps, turn, record)
    about, store = await kind.about(deps, record), kind.stored(deps)
    if by := kind.needs_rights.get(verb):
        wanted = await kind.rights(deps, record.spec)
        if refused := await refusal_to_continue(deps, turn, record.spec, kind.cannot(record), about, *wanted):
            return refused
        await require_start(deps, turn, record.spec, *await kind.rights(deps, record.spec, user=turn.user, by=by))
    match verb:
        case kinds.NOW:
            reply = await kind.now(deps, turn, record)
            return HomeChanged() if click.view else shown(reply, "requested", about)
        case kinds.PAUSE:
            notices, what = await tells_owner(deps, turn, kind, record, did="paused"), "paused"
            await deps.inbox.write(*store.pause(id_, ASKED, *notices))
        case kinds.RESUME:
            what = "resumed"
            if record.paused:
                await deps.inbox.write(*store.resume(record, deps.now()))
        case _:
            notices, what = await tells_owner(deps, turn, kind, record, did="deleted"), "deleted"
            await deps.inbox.write(*store.delete(id_, *notices))
    if click.view:
        return HomeChanged()
    above = await kind.deleted(deps, turn, record) if what == "deleted" else None
    if above and page == kinds.ALONE:
        return shown(above, what, about)
    return shown(await listed(kind, deps, turn, page, replaces_original=True, above=above), what, about)


async def offers(kind: Kind[R], deps: Deps, turn: Turn, record: R) -> frozenset[str]:
    """Return the verbs of the buttons that *turn*'s person may press, as far as it's known soon."""
    is_own = turn.user == record.spec.owner
    if not is_own and not await deps.policy.may(turn.asked(kind.act(record.spec))):
        return frozenset()
    if not kind.is_readable(record):
        return frozenset({kinds.DELETE})
    offered = {verb for verb in (*kind.verbs, *kind.more) if verb not in kind.needs_rights}
    for by in set(kind.needs_rights.values()):
        if await may_start(deps, turn, record.spec, kind.rights(deps, record.spec, user=turn.user, by=by)):
            offered |= {verb for verb in (*kind.verbs, *kind.more) if kind.needs_rights.get(verb) == by}
    return frozenset(offered | ({kinds.EDIT} & set(kind.verbs) if is_own else set()))


def with_removed(deps: Deps, records: Iterable[Any]) -> list[Any]:
    """Return *records*; one whose project was removed counts as paused."""
    return [
        replace(record, paused=record.paused or ("" if deps.projects.get(record.spec.project) else REMOVED))
        for record in records
    ]


async def listed(
    kind: Kind[R],
    deps: Deps,
    turn: Turn,
    value: str = "",
    *,
    replaces_original: bool = False,
    above: Reply | None = None,
    share: bool = False,
) -> Reply:
    """Show the page that a button's *value* names, below what was just done (*above*).

    These are the things that the person may know of, paused ones last: all but those in other people's direct messages.
    What everyone in the channel will read (*share*) has none of direct messages, and no buttons for one thing.
    Names are looked up only for those shown. Raises `StoreUnavailable`.
    """
    own = "" if share else turn.user
    name = value.partition(":")[0]
    number = name.lstrip("abcdefghijklmnopqrstuvwxyz")
    of = name.removesuffix(number)
    known = [
        record
        for record in with_removed(deps, await kind.stored(deps).all())
        if kind.is_listed(record, of) and (record.spec.owner == own or not record.spec.channel.startswith("D"))
    ]
    known.sort(key=lambda record: (bool(record.paused), *kind.order(record)))
    places = shown_on(page_of(number), len(known), layout.A_PAGE)
    page, rows = places.start // layout.A_PAGE, []
    for one in await kind.show(deps, turn, known[places.start : places.stop], is_shared=share):
        owner = await deps.directory.user_name(one.record.spec.owner)
        project = deps.projects.name_of(one.record.spec.project) if deps.projects.is_several else ""
        offered = frozenset[str]() if share else await offers(kind, deps, turn, one.record)
        full = replace(one, owner=owner, project=project, offers=offered)
        rows.append((full, kind.row(full, f"{of}{page}:{one.record.id}", deps)))
    heading = await kind.heading(deps, turn, of)
    return layout.listed(kind, heading, rows, page, len(known), of=of, above=above, replaces_original=replaces_original)


async def home(kind: Kind[R], deps: Deps, turn: Turn, reads: Reads) -> list[Block]:
    """Return the section of Home with what the person set up."""
    whose = (turn.team, turn.user, turn.project_key)
    records = with_removed(deps, await kind.stored(deps).all(reads))
    theirs = [record for record in records if (record.spec.team, record.spec.owner, record.spec.project) == whose]
    theirs.sort(key=lambda one: (bool(one.paused), *kind.order(one)))
    rows = []
    for one in await kind.show(deps, turn, theirs[: layout.MOST_IN_HOME], is_home=True):
        full: ShownThing[Any] = replace(one, offers=await offers(kind, deps, turn, one.record))
        rows.append((full, kind.row(full, f"{kinds.HOME}:{one.record.id}", deps)))
    return layout.home_section(kind, rows, len(theirs))
