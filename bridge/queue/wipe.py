"""A wipe: the store was emptied while bridges ran, and what people had set up there is gone.

Whoever notices it first writes it down (`scripts/open.lua`), with how much of it there was; it is told for a week.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

TOLD: Final = timedelta(days=7)
FIELDS: Final = ("wiped", "lost_reports", "lost_channels")
"""The fields of `bridge.queue.keys.Keys.owner` that `Wipe.read` reads."""

CURE: Final = "restore a backup, or set them up again: docs/how-to/back-up-and-restore.md"


@dataclass(frozen=True, slots=True)
class Wipe:
    """The store was emptied shortly before *noticed_at*: so many *reports* are gone, and the settings of *channels*."""

    noticed_at: datetime
    reports: int
    channels: int

    @classmethod
    def read(cls, fields: Sequence[Any], now: datetime) -> Wipe | None:
        """Read `FIELDS`; None where there was no wipe, or none of late."""
        wiped, reports, channels = fields
        if not wiped:
            return None
        noticed_at = datetime.fromtimestamp(int(wiped) / 1000, UTC)
        return cls(noticed_at, int(reports or 0), int(channels or 0)) if now - noticed_at < TOLD else None

    def in_words(self) -> str:
        """Say when it was, and what is gone."""
        reports = f"{self.reports} scheduled report{'' if self.reports == 1 else 's'} (alerts included)"
        channels = f"the settings of {self.channels} channel{'' if self.channels == 1 else 's'} (default agents, apps)"
        others = "muted threads, earlier statistics, the audit and feedback"
        return f"wiped before {self.noticed_at:%Y-%m-%d %H:%M:%S} UTC. Gone: {reports}, {channels}, {others}"
