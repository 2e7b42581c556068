"""The project's statistics."""

from __future__ import annotations

from collections.abc import Sequence

from bridge.blocks import kit
from bridge.blocks.reply import Block, Reply
from bridge.project.models import NamedCount, Stats

_MOST_NAMED = 10


def stats_card(stats: Stats) -> Reply:
    """Show the counts, and the categories and tags that occur most; the rest is summed."""
    counts = [
        ("Prompts", f"{stats.promptCount:,}"),
        ("Runs", f"{stats.runCount:,}"),
        ("Versions", f"{stats.versionCount:,}"),
    ]
    return kit.reply(
        "Statistics: " + ", ".join(f"{number} {name.lower()}" for name, number in counts),
        kit.header("Statistics"),
        kit.fields(counts),
        *_named("Categories", stats.categories),
        *_named("Tags", stats.tags),
        kit.trusted_context(f"Last updated {kit.date(stats.lastUpdated)}"),
    )


def _named(title: str, counts: Sequence[NamedCount]) -> list[Block]:
    if not counts:
        return []
    ordered = sorted(counts, key=lambda named: (-named.count, named.name.casefold()))
    lines = [_line(named.name, named.count) for named in ordered[:_MOST_NAMED]]
    if rest := ordered[_MOST_NAMED:]:
        lines.append(_line(f"{len(rest):,} others", sum(named.count for named in rest)))
    return [kit.rich(kit.paragraph(kit.words(title, bold=True)), kit.bullets(lines))]


def _line(name: str, count: int) -> Block:
    return kit.paragraph(kit.one_line(name, 100) or "(no name)", ": ", kit.words(f"{count:,}", bold=True))
