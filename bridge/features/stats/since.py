"""Since when: what people type, as a moment. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from bridge.features.stats.snapshots import KEPT

_UNITS: Final = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_AGO: Final = re.compile(r"(\d{1,4}) ?([hdw])[a-z]*", re.ASCII)
_NAMED: Final = {"yesterday": timedelta(days=1), "last week": timedelta(weeks=1), "a week": timedelta(weeks=1)}


def moment_said(text: str, now: datetime) -> datetime | None:
    """Read ``7d``, ``24h``, ``2 weeks``, ``yesterday``, or a day, ``2026-11-01``, which begins in UTC.

    None for what is neither, lies in the future, or is so far back that nothing is kept of it.
    """
    said = " ".join(text.casefold().split()).removesuffix(" ago")
    if found := _AGO.fullmatch(said):
        moment = now - int(found[1]) * _UNITS[found[2]]
    elif said in _NAMED:
        moment = now - _NAMED[said]
    else:
        moment = _day(said.upper()) or now
    return moment if now - KEPT <= moment < now else None


def _day(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
