"""What changed between two moments: pure."""

from __future__ import annotations

from collections.abc import Mapping

from bridge.features.stats.changes_shown import Changes, Difference, NamesChanged
from bridge.features.stats.snapshots import Counts, Snapshot, counted
from bridge.project.models import Stats


def compare(now: Stats, then: Snapshot, *, called: str = "") -> Changes:
    """Say what changed since *then*, a moment that may be *called* something: ``yesterday``."""
    return Changes(
        since=then.at,
        called=called,
        prompts=Difference(now.promptCount, then.prompts),
        runs=Difference(now.runCount, then.runs),
        versions=Difference(now.versionCount, then.versions),
        categories=_names(counted(now.categories), then.categories),
        tags=_names(counted(now.tags), then.tags),
    )


def _names(now: Mapping[str, int], then: Counts) -> NamesChanged:
    """Compare by name. What a full snapshot did not name may have been among its others: it is not called new."""
    new = [] if then.others else [(name, count) for name, count in now.items() if name not in then.named]
    vanished = [(name, count) for name, count in then.named.items() if name not in now]
    return NamesChanged(
        new=_by_count(new),
        vanished=_by_count(vanished),
        moved={name: Difference(now[name], count) for name, count in then.named.items() if name in now},
    )


def _by_count(counts: list[tuple[str, int]]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(counts, key=lambda one: (-one[1], one[0].casefold())))
