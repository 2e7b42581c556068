"""`bridge stats`: the statistics for people, and for programs as JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from bridge.features.stats.layout import change, name_change, news
from bridge.features.stats.numbers import GROUPS, NUMBERS, Changes, Difference, NamesChanged, by_count
from bridge.features.stats.snapshots import SnapshotStore
from bridge.features.stats.statistics import Statistics
from bridge.metrics import Metrics
from bridge.ops.rows import printable
from bridge.project import ProjectClient
from bridge.project.models import Stats
from bridge.queue.redis.connection import connect
from bridge.queue.scripting import Scripts
from bridge.slack.blockkit.numbers import whole

_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True)
class Compared:
    """The statistics, and what *changed* since the moment that was asked for.

    *kept_since* is when the first snapshot was taken: None where there is none, or nowhere to look for one.
    """

    stats: Stats
    changed: Changes | None = None
    kept_since: datetime | None = None


@dataclass(frozen=True, slots=True)
class StatsSource:
    """Where the service is, and, unless *redis* is ``""``, the snapshots."""

    base_url: str
    api_key: str
    redis: str
    namespace: str


async def read(source: StatsSource, since: datetime | None, now: datetime) -> Compared:
    """Ask the service; compare with the snapshot nearest to *since*. Raises `ProjectError` and `StoreUnavailable`."""
    async with AsyncExitStack() as stack:
        project = await stack.enter_async_context(ProjectClient(source.base_url, source.api_key))
        stats = await project.get_stats()
        if since is None or not source.redis:
            return Compared(stats)
        redis = connect(source.redis)
        stack.push_async_callback(redis.aclose)
        scripts = Scripts(redis, source.namespace, Metrics())
        statistics = Statistics(project, SnapshotStore(scripts), lambda: now)
        changed = await statistics.changes_since(stats, since)
        return Compared(stats, changed, await statistics.counted_since())


def to_text(compared: Compared, *, asked_since: bool) -> str:
    """Write them for people."""
    stats, changed = compared.stats, compared.changed
    lines = [f"{one.title:<10} {whole(one.of(stats)):>15}{_ending(changed, one.name)}" for one in NUMBERS]
    for group in GROUPS:
        if counts := by_count(group.of(stats).items()):
            lines += ["", group.title, *(_line(name, count, _names(changed, group.name)) for name, count in counts)]
    for group in GROUPS:
        lines += news(group.name, NamesChanged(vanished=_names(changed, group.name).vanished))
    lines += ["", f"Last updated {stats.lastUpdated:%Y-%m-%d %H:%M} UTC", *(_since(compared) if asked_since else [])]
    return "\n".join(printable(line) for line in lines)


def to_json(compared: Compared) -> str:
    """Write them for programs: the service's own fields, and beside them ``since``, what changed, or null."""
    stats, changed = compared.stats, compared.changed
    since: dict[str, Any] | None = None
    if changed:
        since = {"at": changed.since.isoformat()}
        since |= {one.field: changed.numbers[one.name].by for one in NUMBERS if one.name in changed.numbers}
        since |= {one.name: _names_json(_names(changed, one.name)) for one in GROUPS}
    return json.dumps(json.loads(stats.model_dump_json()) | {"since": since})


def to_csv(compared: Compared) -> str:
    """Write them as a table: ``kind,name,count``, and ``then,change`` where they are compared."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(["kind", "name", "count", *(["then", "change"] if compared.changed else [])])
    writer.writerows(_rows(compared))
    return file.getvalue().rstrip("\n")


def _rows(compared: Compared) -> Iterator[list[Any]]:
    blank = ["", ""] if compared.changed else []
    for number in NUMBERS:
        difference = compared.changed.numbers.get(number.name) if compared.changed else None
        yield ["number", number.name, number.of(compared.stats), *(_then(difference) if difference else blank)]
    for group in GROUPS:
        names = _names(compared.changed, group.name)
        now = group.of(compared.stats)
        new = {name: Difference(count, 0) for name, count in names.new}
        gone = {name: Difference(0, count) for name, count in names.vanished}
        moved = {**names.moved, **new, **gone}
        for name in [*now, *gone]:
            yield [group.one, _cell(name), now.get(name, 0), *(_then(moved[name]) if name in moved else blank)]


def _then(difference: Difference) -> list[int]:
    return [difference.then, difference.by]


def _cell(name: str) -> str:
    """Keep a name from being taken for a formula by whoever opens the table."""
    return f"'{name}" if name.startswith(_FORMULA) else name


def _line(name: str, count: int, names: NamesChanged) -> str:
    changed = name_change(names, name)
    return f"{whole(count):>11}  {name or '(no name)'}{f' ({changed})' if changed not in {'', '0'} else ''}"


def _ending(changed: Changes | None, name: str) -> str:
    return f"  ({change(changed.numbers[name])})" if changed and name in changed.numbers else ""


def _names(changed: Changes | None, group: str) -> NamesChanged:
    return changed.groups.get(group, NamesChanged()) if changed else NamesChanged()


def _names_json(names: NamesChanged) -> dict[str, Any]:
    changed = {name: difference.by for name, difference in names.moved.items() if difference.by}
    return {"new": dict(names.new), "vanished": dict(names.vanished), "changed": changed}


def _since(compared: Compared) -> list[str]:
    if compared.changed:
        return [f"Changes are since {_utc(compared.changed.since)}"]
    if compared.kept_since:
        return [f"Nothing to compare with yet: numbers are kept since {_utc(compared.kept_since)}"]
    return ["Nothing to compare with: no numbers are kept, or REDIS_URL is not set"]


def _utc(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
