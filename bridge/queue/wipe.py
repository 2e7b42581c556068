"""A wipe: Redis was emptied while bridges were running, and people's settings are gone.

The process that notices a wipe records it (`scripts/open.lua`), with how much was lost; it's reported for a week.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from bridge.queue.scripting import from_epoch_ms

REPORTED_FOR: Final = timedelta(days=7)
FIELDS: Final = ("wiped", "lost", "lost_reports", "lost_channels")
"""The fields of `bridge.queue.keys.Keys.owner` that `Wipe.read` reads; an earlier release wrote the last two."""

CURE: Final = "restore a backup, or set them up again: docs/how-to/back-up-and-restore.md"


@dataclass(frozen=True, slots=True)
class Wipe:
    """Redis was emptied shortly before *noticed_at*. *lost* counts in words what people had set up."""

    noticed_at: datetime
    lost: str

    @classmethod
    def read(cls, fields: Sequence[Any], now: datetime) -> Wipe | None:
        """Read `FIELDS`; None if there was no recent wipe."""
        wiped, lost, reports, channels = fields
        if not wiped:
            return None
        earlier = f"{reports} schedules, {channels} channels with settings" if reports or channels else ""
        noticed_at = from_epoch_ms(wiped)
        return cls(noticed_at, str(lost or earlier)) if now - noticed_at < REPORTED_FOR else None

    def in_words(self) -> str:
        """Say when it happened, and what's gone."""
        others = "muted threads, earlier statistics, the audit and feedback"
        lost = f"{self.lost}, {others}" if self.lost else others
        return f"wiped before {self.noticed_at:%Y-%m-%dT%H:%M:%SZ}. Gone: {lost}"
