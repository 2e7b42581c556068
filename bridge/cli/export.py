"""`bridge export`: everything that people have set up, as JSON lines."""

from __future__ import annotations

from bridge.cli.printing import out, to_json
from bridge.cli.store import in_store
from bridge.features.registry import features
from bridge.queue.scripting import Scripts

VERSION = 1
"""Of the lines: `bridge.cli.imports` reads this one."""


def export() -> None:
    """Print everything that people have set up, as JSON lines.

    That's schedules, alerts, channel settings with their rules for apps, and agents' handles. The first line has the
    version and the workspace. Redirect it to a file, and bridge import sets it up again.
    """

    async def show(scripts: Scripts) -> int:
        out(to_json({"bridge": "export", "v": VERSION, "team": await workspace(scripts)}))
        for kind in features.standing:
            for line in await kind.portable.lines(scripts) if kind.portable else ():
                out(line.model_dump_json(exclude_defaults=True))
        return 0

    in_store(show)


async def workspace(scripts: Scripts) -> str:
    """Return the ID of the workspace whose bridge has used this Redis; ``""`` if none has."""
    return str(await scripts.redis.hget(scripts.keys.owner(), "team") or "")
