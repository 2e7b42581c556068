"""Time zones as people call them, by name or by city: ``new york``, ``Europe/Berlin``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from bridge.errors import BadSchedule, RecordNotUnderstood
from bridge.names.folding import name_key
from bridge.names.nearness import nearest

_REGIONS: Final = frozenset({
    "Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific"
})  # fmt: skip
_NO_CITIES: Final = frozenset({"general", "continental", "east", "west", "north", "south"})  # of Mexico/General
_NO_ZONES: Final = frozenset({"localtime", "Factory"})  # names that aren't places
_SHORT_ZONES: Final[dict[str, Sequence[str]]] = {
    **dict.fromkeys(("pt", "pst", "pdt"), ("America/Los_Angeles",)),
    **dict.fromkeys(("et", "est", "edt"), ("America/New_York",)),
    **dict.fromkeys(("ct", "cst", "cdt"), ("America/Chicago",)),
    **dict.fromkeys(("mt", "mst", "mdt"), ("America/Denver", "America/Phoenix")),
    **dict.fromkeys(("cest", "mez", "mesz"), ("Europe/Berlin",)),
    **dict.fromkeys(("gmt", "gmt0", "greenwich"), ("Europe/London", "UTC")), "bst": ("Europe/London",),
}  # fmt: skip
"""What is suggested for abbreviations: as names of time zones, some have no summer time, which few people mean."""

_NAME: Final = re.compile("[^ ,]+(?: [^ ,]+){0,3}")
_LONGEST_ZONE: Final = 60
_LONGEST_WORD: Final = 4  # letters; a typo makes another word of them
_MOST_NEAR: Final = 2


def clock_called(zone: str, otherwise: str = "") -> ZoneInfo:
    """Return a time zone, or the one called *otherwise*. Raises `RecordNotUnderstood` if this machine knows neither."""
    try:
        return ZoneInfo(zone)
    except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
        if otherwise:
            return ZoneInfo(otherwise)
        raise RecordNotUnderstood("time zone") from exc


def zone_at(text: str, begin: int) -> str:
    """Return the longest name of a time zone, or of several, that begins here in a folded text; ``""`` if none does."""
    found = _NAME.match(text, begin)
    name = found[0] if found else ""
    while name and (key := _key(name)) not in _zones() and key not in _SHORT_ZONES:
        name = name.rpartition(" ")[0]
    return name


def find_zone(name: str) -> str:
    """Return the time zone with this name or city, ignoring case. Raises `BadSchedule`."""
    known = _key(name)
    if known in _SHORT_ZONES:
        raise BadSchedule("zone", name, _SHORT_ZONES[known])
    found = _zones().get(known, ())
    if len(found) == 1:
        return found[0]
    if found:
        raise BadSchedule("zone", name, found)
    places = [zone for zone in _zones() if zone[:1] == known[:1] and not re.search(r"[\d+]", known)]
    near = nearest(known[:_LONGEST_ZONE], places, most=4, least=0.81) if len(known) > _LONGEST_WORD else []
    raise BadSchedule("zone", name, list(dict.fromkeys(zone for one in near for zone in _zones()[one]))[:_MOST_NEAR])


def _key(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", name_key(name))


@cache
def _zones() -> dict[str, Sequence[str]]:
    """Return every time zone by its name and by its city; read from the system's tables at the first call.

    A city's zones in `_REGIONS` are one zone and its older names, so one of them is chosen.
    """
    names = sorted(available_timezones() - _NO_ZONES)
    cities: dict[str, list[str]] = {}
    for name in names:
        region, _, city = name.rpartition("/")
        if region and not region.startswith("Etc"):  # in Etc, GMT+5 is five hours behind UTC
            cities.setdefault(_key(city), []).append(name)
    for word in _NO_CITIES:
        cities.pop(word, None)
    known: dict[str, Sequence[str]] = {}
    for city, zones in cities.items():
        real = [zone for zone in zones if zone.partition("/")[0] in _REGIONS]  # none is: Canada/Eastern, US/Eastern
        known[city] = (max(real, key=lambda zone: (zone.count("/"), zone)),) if real else tuple(zones)
    return known | {_key(name): (name,) for name in names}
