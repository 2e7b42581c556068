"""`bridge stats`: the project's statistics, and what changed."""

from __future__ import annotations

import csv
import io
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from bridge.cli.printing import moment as iso, printable, to_json
from bridge.cli.running import run, values_or_exit
from bridge.cli.store import JsonOption, opened
from bridge.logs import configure

if TYPE_CHECKING:
    from bridge.features.shared.numbers import Changes
    from bridge.project.models import Stats

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_NO_NAME: Final = "(no name)"
_WIDEST: Final = 40  # characters of a name; longer ones move their numbers


@dataclass(frozen=True, slots=True)
class Compared:
    """The statistics, and their changes; *recorded_since* is the time of the first snapshot, if any."""

    stats: Stats
    changed: Changes | None = None
    recorded_since: datetime | None = None


def stats(
    *,
    as_json: JsonOption = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    since: Annotated[
        str, typer.Option(metavar="WHEN", help="Compare with an earlier time, such as 7d, 24h or 2026-11-01.")
    ] = "",
) -> None:
    """Show the project's statistics, and what changed.

    --since compares with numbers that the bridge recorded in Redis.
    """
    from bridge.features.shared.snapshots import SnapshotStore, parse_moment  # noqa: PLC0415 - all of these: 400 ms
    from bridge.features.shared.statistics import Statistics  # noqa: PLC0415
    from bridge.project import ProjectClient  # noqa: PLC0415

    configure("console", "ERROR")
    if as_json and as_csv:
        raise typer.BadParameter("can't be used with --json.", param_hint="--csv")
    now = datetime.now(UTC)
    moment = parse_moment(since, now) if since else None
    if since and moment is None:
        raise typer.BadParameter(
            f"“{since}” isn't a date or an age of at most 400 days: use one such as 7d, 24h or 2026-11-01",
            param_hint="--since",
        )
    store = ("REDIS_URL", "BRIDGE_NAMESPACE", "BRIDGE_DATA_DIR") if moment else ()
    values = values_or_exit("PROJECT_", *store)

    async def show() -> int:
        async with AsyncExitStack() as stack:
            scripts = await stack.enter_async_context(opened(values)) if moment else None
            key = values["PROJECT_API_KEY"].get_secret_value()
            project = await stack.enter_async_context(ProjectClient(values["PROJECT_BASE_URL"], key))
            compared = Compared(await project.get_stats())
            if scripts and moment:
                past = Statistics(project, SnapshotStore(scripts), lambda: now)
                changed = await past.changes_since(compared.stats, moment)
                compared = replace(compared, changed=changed, recorded_since=await past.recorded_since())
        if as_json or as_csv:
            typer.echo(for_programs(compared) if as_json else for_sheets(compared))
        else:
            typer.echo(for_people(compared, asked_since=moment is not None))
        return 0

    raise typer.Exit(run(show))


def for_people(compared: Compared, *, asked_since: bool) -> str:
    """Format the statistics as text; *asked_since*: a comparison was requested."""
    from bridge.features.shared.numbers import GROUPS, NUMBERS, NamesChanged, by_count  # noqa: PLC0415
    from bridge.features.shared.statistics_layout import change, name_change, news  # noqa: PLC0415
    from bridge.slack.blockkit.numbers import whole  # noqa: PLC0415

    lines, stats, changed = [], compared.stats, compared.changed
    longest = max(len(name) for group in GROUPS for name in (_NO_NAME, *group.of(stats)))
    width = 2 + min(longest, _WIDEST)
    for one in NUMBERS:
        difference = changed.numbers.get(one.name) if changed else None
        lines.append(_line(width, one.title, whole(one.of(stats)), change(difference) if difference else ""))
    groups = {group: (changed and changed.groups.get(group.name)) or NamesChanged() for group in GROUPS}
    for group, names in groups.items():
        counts = by_count(group.of(stats).items())
        lines += ["", group.title] if counts else []
        for name, count in counts:
            change_ = name_change(names, name)
            lines.append(_line(width, f"  {name or _NO_NAME}", whole(count), "" if change_ == "0" else change_))
    for group, names in groups.items():
        lines += news(group.name, NamesChanged(vanished=names.vanished))
    lines += ["", f"Last updated {iso(stats.lastUpdated)}"]
    if changed:
        lines.append(f"Changes since {iso(changed.since)}")
    elif compared.recorded_since:
        since, then = iso(compared.recorded_since), iso(compared.recorded_since + timedelta(hours=1))
        recorded = f"numbers are recorded once an hour, since {since}. Try again after {then}."
        lines.append(f"Nothing to compare with yet: {recorded}")
    elif asked_since:
        lines.append("Nothing to compare with yet: a running bridge records numbers once an hour.")
    return "\n".join(map(printable, lines))


def _line(width: int, name: str, number: str, change: str) -> str:
    return f"{name:<{width}}  {number:>13}{f'  ({change})' if change else ''}"


def for_programs(compared: Compared) -> str:
    """Format the statistics as JSON: the service's own fields and, as ``since``, the changes or null."""
    from bridge.features.shared.numbers import GROUPS, NUMBERS, NamesChanged  # noqa: PLC0415

    changed = compared.changed
    since: dict[str, Any] | None = None
    if changed:
        since = {"at": changed.since}
        since |= {one.field: changed.numbers[one.name].by for one in NUMBERS if one.name in changed.numbers}
        for group in GROUPS:
            names = changed.groups.get(group.name, NamesChanged())
            moved = {name: difference.by for name, difference in names.moved.items() if difference.by}
            since[group.name] = {"new": dict(names.new), "vanished": dict(names.vanished), "changed": moved}
    return to_json(compared.stats.model_dump(mode="json") | {"since": since})


def for_sheets(compared: Compared) -> str:
    """Format the statistics as CSV: ``kind,name,count``, with ``then,change`` if they're compared."""
    from bridge.features.shared.numbers import GROUPS, NUMBERS, NamesChanged  # noqa: PLC0415

    stats, changed = compared.stats, compared.changed
    blank: Any = ("", "") if changed else ()
    rows: list[tuple[Any, ...]] = [("kind", "name", "count", *(("then", "change") if changed else ()))]
    for one in NUMBERS:
        difference = changed.numbers.get(one.name) if changed else None
        rows.append(("number", one.name, one.of(stats), *((difference.then, difference.by) if difference else blank)))
    for group in GROUPS:
        names, now = (changed and changed.groups.get(group.name)) or NamesChanged(), group.of(stats)
        then = {name: (difference.then, difference.by) for name, difference in names.moved.items()}
        then |= {name: (0, count) for name, count in names.new}
        then |= {name: (count, -count) for name, count in names.vanished}
        for name in (*now, *dict(names.vanished)):
            cell = f"'{name}" if name.startswith(_FORMULA) else name  # so that no spreadsheet runs it as a formula
            rows.append((group.one, cell, now.get(name, 0), *then.get(name, blank)))
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue().rstrip("\n")
