"""Schedules and time zones as people say them: ``every monday at 9``, ``new york``. Pure functions.

`read_schedule` turns words into cron expressions, and `describe` turns cron expressions into words. People are always
shown the words from `describe`, which mean the same when typed. Cron expressions that have no words are shown as such.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Final, NamedTuple
from zoneinfo import available_timezones

from bridge.errors import BadSchedule
from bridge.names.amounts import NAMED_TIMES, NOON, NUMBER_WORDS, read_time
from bridge.names.folding import fold, name_key, without_end
from bridge.names.nearness import nearest
from bridge.slack.blockkit import kit

Crons = tuple[str, ...]

_DAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")  # as cron numbers them
_SHORTER: Final = {
    "tues": 2, "weds": 3, "thur": 4, "thurs": 4,
    "mo": 1, "tu": 2, "th": 4, "fr": 5, "sa": 6, "su": 0, "di": 2, "mi": 3,
}  # fmt: skip
_DAY_OF: Final = {
    **{word: number for number, day in enumerate(_DAYS) for word in (day.lower(), f"{day.lower()}s", day.lower()[:3])},
    **_SHORTER,
}
_IN_A_RANGE: Final = _DAY_OF | {"we": 3, "do": 4, "so": 0}
"""Abbreviations that are words of their own elsewhere."""

_DAY_SETS: Final = {
    **dict.fromkeys(("weekday", "weekdays", "workday", "workdays", "m-f"), range(1, 6)),
    **dict.fromkeys(("weekend", "weekends"), (6, 0)),
}
_WORKING_DAYS: Final = (1, 2, 3, 4, 5)
_LAST: Final = 31  # means a month's last day, or a month's last Monday
_COUNTED: Final = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": _LAST}
_MOST_COUNTED: Final = 4
_TOO_LONG_FOR_SOME: Final = (29, 30)  # days of the month; in shorter months, the last day replaces them

_DAILY: Final = frozenset({"daily", "day", "days", "everyday"})
_WEEKLY: Final = frozenset({"weekly", "week", "weeks"})
_MONTHLY: Final = frozenset({"monthly", "month", "months"})
_UNITS: Final = _DAILY | _WEEKLY | _MONTHLY
_EACH: Final = frozenset({"every", "each"})
_JOINS: Final = frozenset({"and", "&", ","})
_UNTIL: Final = frozenset({"through", "thru", "until", "till"})
_TO: Final = frozenset({"to", "-"}) | _UNTIL
_FILLERS: Final = frozenset({
    "at", "@", "on", "the", "of", "in", "a", "an", "from", "time", "o'clock", "oclock", "uhr", "sharp", "my", "local",
    "with", "input",
})  # fmt: skip
_PARTS_OF_DAY: Final = {
    "morning": "am", "mornings": "am", "afternoon": "pm", "afternoons": "pm", "evening": "pm", "evenings": "pm",
    "night": "night", "nights": "night", "nightly": "night",
}  # fmt: skip
_NIGHT: Final = 6  # its hours before midnight begin at 6 pm; which day the others belong to is unclear
_OFTENER: Final = frozenset({"hour", "hours", "hourly", "minute", "minutes", "min", "mins"})
_BUSINESS: Final = frozenset({"work", "working", "business"})
_HOURS: Final = {word: hour for hour, word in enumerate(NUMBER_WORDS[1:], 1)}
_PAST: Final = {"half": 30, "quarter": 15}
_HALVES: Final = re.compile(r"[ap]\.?m", re.IGNORECASE)

_NUMBER: Final = re.compile(r"\d{1,2}", re.ASCII)
_ORDINAL: Final = re.compile(r"(\d{1,2})(?:st|nd|rd|th)", re.IGNORECASE | re.ASCII)
_BEGINS_AS_TIME: Final = re.compile(r"\d", re.ASCII)

_ONE_TIME: Final = re.compile(r"0?(\d|[1-5]\d) 0?(\d|1\d|2[0-3]) (\S+) \* (\S+)", re.ASCII)
_COUNTED_DAY: Final = re.compile(r"([0-6])(?:#([1-4])|L)", re.ASCII)
_RANGE: Final = re.compile(r"([0-6])-([0-7])", re.ASCII)
_DAY_LIST: Final = re.compile(r"(?:[0-6]|[0-6]-[0-7]|7)(?:,(?:[0-6]|[0-6]-[0-7]|7))*", re.ASCII)
_MONTH_DAYS: Final = re.compile(r"(?:[1-9]|[12]\d|30|L)(?:,(?:[1-9]|[12]\d|30|L))*", re.ASCII)

_REGIONS: Final = frozenset({
    "Africa", "America", "Antarctica", "Arctic", "Asia", "Atlantic", "Australia", "Europe", "Indian", "Pacific"
})  # fmt: skip
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

_MOST_WORDS_OF_A_ZONE: Final = 4
_LIKE_A_ZONE: Final = re.compile(r"\w/|[+-]\d")
_LONGEST_ZONE: Final = 60
_LONGEST_WORD: Final = 4  # letters; a typo makes another word of them
_MOST_NEAR: Final = 2


class _Days(NamedTuple):
    """The days of a schedule: some of each month, some of each week, or one *counted* (``first Monday``)."""

    of_month: tuple[int, ...] = ()
    of_week: tuple[int, ...] = ()
    counted: int = 0

    def crons(self) -> Crons:
        """Return the last three fields of cron expressions for these days."""
        if self.counted:
            day = self.of_week[0]
            return (f"* * {day}L" if self.counted == _LAST else f"* * {day}#{self.counted}",)
        if self.of_month:
            listed = ",".join("L" if day == _LAST else str(day) for day in self.of_month)
            takes_last = set(self.of_month) & set(_TOO_LONG_FOR_SOME) and _LAST not in self.of_month
            return (f"{listed} * *", "L 2 *") if takes_last else (f"{listed} * *",)
        if not self.of_week or len(self.of_week) == len(_DAYS):
            return ("* * *",)
        if self.of_week == _WORKING_DAYS:
            return ("* * 1-5",)
        return (f"* * {','.join(map(str, self.of_week))}",)

    def words(self) -> str:
        """Return the days in words: ``every Monday and Thursday``."""
        if self.counted:
            count = next(word for word, number in _COUNTED.items() if number == self.counted)
            return f"every month on the {count} {_DAYS[self.of_week[0]]}"
        if self.of_month:
            days = ["last day" if day == _LAST else kit.ordinal(day) for day in self.of_month]
            return f"every month on the {kit.joined(days)}"
        if not self.of_week or len(self.of_week) == len(_DAYS):
            return "every day"
        if self.of_week == _WORKING_DAYS:
            return "every weekday"
        days = [_DAYS[day] for day in sorted(self.of_week, key=lambda day: (day - 1) % 7)]
        return f"every {kit.joined(days)}"


def describe(crons: Crons) -> str:
    """Return cron expressions in words: ``every Monday at 09:00``; the expression itself if it has none."""
    found = _ONE_TIME.fullmatch(crons[0]) if crons else None
    days = _days_of(found[3], found[4]) if found else None
    if found is None or days is None:
        return f"cron {' '.join(crons[:1])}"
    minute, hour = int(found[1]), int(found[2])
    same = _at(hour, minute, days)
    if same[1:] != crons[1:]:  # the 30th, only in months that have one
        return f"cron {crons[0]}"
    return f"{days.words()} at {hour:02}:{minute:02}"


def normalized(cron: str) -> Crons:
    """Return the normal form of an expression that has words; leave others unchanged."""
    found = _ONE_TIME.fullmatch(cron)
    days = _days_of(found[3], found[4]) if found else None
    written = _at(int(found[2]), int(found[1]), days) if found and days else ()
    return written if len(written) == 1 else (cron,)


def read_schedule(words: Sequence[str]) -> tuple[Crons, str]:
    """Parse a schedule, without options and channels: return cron expressions, and a time zone or ``""``.

    Raises `BadSchedule`.
    """
    parser = _Parser(_with_times(_joined_halves([part for word in words for part in _parts_of(_bare(word))])))
    at = 0
    while at < len(parser.words):
        at += parser.read_phrase(at)
    return parser.result()


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


class _Parser:
    """Parses the words of a schedule, one phrase after the other."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = words
        self.folded = [name_key(word) for word in words]
        self.of_week: list[int] = []
        self.of_month: list[int] = []
        self.counted = 0
        self.named: set[str] = set()  # units: "daily", "weekly", "monthly"
        self.time: tuple[int, int] | None = None
        self.more_times: list[str] = []
        self.halves: set[str] = set()  # of the day: am or pm
        self.zone = ""
        self.unknown: list[list[str]] = []
        self.previous = ""  # the previous phrase's kind, such as weekday, monthday or unknown
        self.is_joined = False  # to the previous phrase, by "and" or a comma
        self.to = ""  # what makes a range with the previous phrase, such as "to" or a hyphen

    def read_phrase(self, at: int) -> int:
        """Parse the phrase that starts at word *at*, and return its number of words."""
        word = self.folded[at]
        if word in _JOINS:
            self.is_joined = True
            return 1
        if word in _TO:
            self.to = word
            return 1
        if word in _FILLERS | _EACH:
            return 1
        kind, count = self._read(word, at)
        ends = (self.previous, kind)
        is_until = self.to in _UNTIL and ends not in {("weekday", "weekday"), ("time", "time")}
        if is_until or (self.to and ends == ("monthday", "monthday")):  # only weekdays have ranges
            raise BadSchedule("often", " ".join(self.words[max(0, at - 2) : at + count]))
        self.previous, self.is_joined, self.to = kind, False, ""
        return count

    def _read(self, word: str, at: int) -> tuple[str, int]:
        """Parse a phrase that isn't a filler: return its kind, and its number of words."""
        first, hyphen, last = word.partition("-")
        self._refuse(word, at)
        if word in _PARTS_OF_DAY:
            self.halves.add(_PARTS_OF_DAY[word])
            if set(self.folded[at - 1 : at]) & _EACH or word == "nightly":
                self.named.add("daily")
            return "unit", 1
        if word in _UNITS:
            is_numbered = self.folded[at - 1 : at] == ["on"] or self.folded[at + 2 : at + 3] == ["of"]  # on day 20
            if not (word == "day" and (self.previous == "monthday" or is_numbered)):  # the last day
                self.named.add("daily" if word in _DAILY else "weekly" if word in _WEEKLY else "monthly")
            return "unit", 1
        is_working = word in _BUSINESS and bool(set(self.folded[at + 1 : at + 2]) & {"day", "days"})
        if word in _DAY_SETS or is_working:
            self.of_week += _DAY_SETS["workday" if is_working else word]
            return "days", 1 + is_working
        if word in _DAY_OF or (hyphen and first in _IN_A_RANGE and last in _IN_A_RANGE):
            self._weekday(_IN_A_RANGE[first], at)
            if hyphen:
                self.of_week += _through(_IN_A_RANGE[first], _IN_A_RANGE[last])
            return "weekday", 1
        ordinal = _ORDINAL.fullmatch(word)
        if word in _COUNTED or ordinal or (_NUMBER.fullmatch(word) and self._is_day(at)):
            day = int(ordinal[1]) if ordinal else _COUNTED.get(word) or int(word)
            if not 1 <= day <= _LAST:
                raise BadSchedule("monthday", word)
            is_each = bool(set(self.folded[at - 1 : at]) & _EACH) and not set(self.folded) & _MONTHLY
            if is_each and set(self.folded[at + 1 : at + 2]) & _UNITS:  # every third day
                raise BadSchedule("often", " ".join(self.words[at - 1 : at + 2]))
            self.of_month.append(day)
            return "monthday", 1
        if word in NAMED_TIMES or _BEGINS_AS_TIME.match(word):
            time = read_time(word)
            if time is None:
                raise BadSchedule("time", self.words[at])
            if self.time not in {None, time}:
                self.more_times.append(self.words[at])
            self.time = self.time or time
            self.halves |= {half for half in ("am", "pm") if word.replace(".", "").endswith(half)}
            return "time", 1
        return self._zone(at)

    def _refuse(self, word: str, at: int) -> None:
        """Raise `BadSchedule` for what only a cron expression can say."""
        if word == "other" and set(self.folded[:at]) & _EACH:
            raise BadSchedule("often", " ".join(self.words[at - 1 : at + 2]))  # every other Monday
        before = self.folded[max(0, at - 2) : at]
        is_in_a = word in _UNITS and before == ["in", "a"]  # in a month, on the 1st
        if is_in_a or (word == "week" and not set(before) & (_EACH | {"of"})):  # Monday week, a week from Monday
            raise BadSchedule("often", " ".join(self.words[max(0, at - 1) : at + 2]))
        if before[-1:] == ["last"] and word in _DAY_OF and not set(self.folded) & (_EACH | _MONTHLY):  # which is past
            raise BadSchedule("often", " ".join(self.words[at - 1 : at + 1]))
        for place in (at, at + 1):
            if self.folded[place : place + 1] and self.folded[place] in _OFTENER:
                raise BadSchedule("hourly", " ".join(self.words[max(0, place - 2) : place + 1]))

    def _weekday(self, day: int, at: int) -> None:
        if self.to and self.previous == "weekday":
            self.of_week += _through(self.of_week[-1], day)
        elif self.previous == "monthday" and not self.is_joined:
            self.counted = self.of_month.pop()  # the first Monday
            is_each = self.folded[at - 2] in _EACH and not set(self.folded) & _MONTHLY
            is_each_second = is_each and self.counted not in {1, _LAST}  # which may mean every two weeks
            if is_each_second or _MOST_COUNTED < self.counted < _LAST:
                raise BadSchedule("often", " ".join(self.words[at - 1 : at + 1]))
        self.of_week.append(day)

    def _is_day(self, at: int) -> bool:
        """Whether a number is a day of the month and not a time: ``monthly 1 9``, ``1 and 15 of the month``."""
        before, following = (self.folded[at - 1] if at else ""), self.folded[at + 1 : at + 2]
        if before in _EACH and set(following) & (_UNITS | _DAY_OF.keys() | _DAY_SETS.keys()):
            raise BadSchedule("often", " ".join(self.words[at - 1 : at + 2]))  # every 2 weeks
        if before == "at" or self.counted:
            return False
        is_listed = self.previous == "monthday" and self.is_joined
        return following == ["of"] or is_listed or ("monthly" in self.named and not self.of_month)

    def _zone(self, at: int) -> tuple[str, int]:
        for count in range(min(_MOST_WORDS_OF_A_ZONE, len(self.words) - at), 0, -1):
            name = " ".join(self.folded[at : at + count])
            if _key(name) in _zones().keys() | _SHORT_ZONES.keys():
                found = find_zone(" ".join(self.words[at : at + count]))
                if self.zone not in {"", found}:
                    raise BadSchedule("zone", f"{self.zone} {name}", (self.zone, found))
                self.zone = found
                return "zone", count
        if self.previous != "unknown":
            self.unknown.append([])
        self.unknown[-1].append(self.words[at])
        return "unknown", 1

    def result(self) -> tuple[Crons, str]:
        """Combine the phrases. Raises `BadSchedule` for missing, unknown and contradictory parts."""
        strange, phrase = " ".join(self.unknown[0]) if self.unknown else "", " ".join(self.words)
        if not (self.named or self.of_week or self.of_month):
            is_day = strange and set(self.folded[: self.words.index(self.unknown[0][0])]) & _EACH  # every Blursday
            raise BadSchedule("weekday" if is_day else "often", strange or phrase)
        if "weekly" in self.named and not self.of_week:
            raise BadSchedule("weekday", strange)
        if "monthly" in self.named and not (self.of_month or self.counted):
            raise BadSchedule("monthday", strange)
        if sum(map(bool, ("daily" in self.named, self.of_week, self.of_month))) > 1:
            raise BadSchedule("often", phrase)
        if self.counted and len(self.of_week) > 1:
            raise BadSchedule("often", phrase)
        if self.time is None:
            raise BadSchedule("time", strange) if strange else BadSchedule("no_time", phrase)
        if self.more_times and not strange:
            raise BadSchedule("times", self.more_times[0])
        hour, minute = self.time
        if "night" in self.halves and hour % NOON < _NIGHT:  # after midnight
            if self.of_week or self.of_month or hour >= NOON + 1:
                raise BadSchedule("night", phrase)
            self.halves, hour = {"am"}, hour % NOON
        halves = {"pm" if half == "night" else half for half in self.halves}
        if len(halves) > 1 or (halves == {"am"} and hour >= NOON):
            raise BadSchedule("time", phrase)
        hour += NOON if halves == {"pm"} and hour < NOON else 0
        days = _Days(tuple(sorted(set(self.of_month))), tuple(sorted(set(self.of_week))), self.counted)
        crons = _at(hour, minute, days)
        if strange:
            try:
                find_zone(strange)
            except BadSchedule as exc:
                part = "zone" if _LIKE_A_ZONE.search(strange) else "strange"
                raise exc if exc.choices else BadSchedule(part, strange) from exc
        return crons, self.zone


def _bare(word: str) -> str:
    """Return *word* without the punctuation after it, and without the ``@`` of ``@9:00``."""
    folded = fold(without_end(word, ".:!"))
    return folded.between(1 if re.match(r"@\d", folded.text) else 0, len(folded.text))


def _parts_of(word: str) -> list[str]:
    """Return the days that are joined in a word, such as ``mon/wed/fri``; the word itself if it's something else."""
    parts = re.split(r"[/+&]", name_key(word))
    return parts if len(parts) > 1 and all(part in _IN_A_RANGE for part in parts) else [word]


def _with_times(words: Sequence[str]) -> list[str]:
    """Write times in words as times: ``half past 8``, ``quarter to nine``, ``at nine thirty``."""
    found, at, folded = list[str](), 0, [name_key(word) for word in words]
    while at < len(words):
        hours = [str(_HOURS.get(one, one)) for one in folded[at : at + 3]]
        match folded[at : at + 3]:
            case [("half" | "quarter") as part, ("past" | "to") as way, _] if part == "quarter" or way == "past":
                time = read_time(hours[2])
                if time is not None and time[1] == 0:
                    minutes = time[0] * 60 + (_PAST[part] if way == "past" else -_PAST[part])
                    found.append(f"{minutes // 60 % 24}:{minutes % 60:02}")
                    at += 3
                    continue
            case ["at", hour, *_] if hour in _HOURS:
                minute = {"thirty": "30", "fifteen": "15"}.get(folded[at + 2] if len(folded) > at + 2 else "", "")
                found.append(f"{hours[1]}:{minute or '00'}")
                at += 3 if minute else 2
                continue
        found.append(words[at])
        at += 1
    return found


def _joined_halves(words: Sequence[str]) -> list[str]:
    """Join ``9`` and ``am`` into one word."""
    joined: list[str] = []
    for word in words:
        if joined and _HALVES.fullmatch(name_key(word)) and name_key(joined[-1])[-1:].isdigit():
            joined[-1] += word
        elif word:
            joined.append(word)
    return joined


def _at(hour: int, minute: int, days: _Days) -> Crons:
    return tuple(f"{minute} {hour} {fields}" for fields in days.crons())


def _days_of(of_month: str, of_week: str) -> _Days | None:
    """Parse two fields of a cron expression; None if these days have no words."""
    if of_month == "*" == of_week:
        return _Days()
    if of_week == "*":
        is_known = _MONTH_DAYS.fullmatch(of_month)
        days = (_LAST if day == "L" else int(day) for day in of_month.split(",")) if is_known else ()
        return _Days(of_month=tuple(sorted(set(days)))) if is_known else None
    if of_month != "*":
        return None
    if counted := _COUNTED_DAY.fullmatch(of_week):
        return _Days(of_week=(int(counted[1]),), counted=int(counted[2] or _LAST))
    named = re.sub(r"[A-Za-z]{3}", lambda found: str(_DAY_OF.get(found[0].casefold(), found[0])), of_week)
    if not _DAY_LIST.fullmatch(named):
        return None
    found: list[int] = []
    for part in named.split(","):
        spread = _RANGE.fullmatch(part)
        found += range(int(spread[1]), int(spread[2]) + 1) if spread else [int(part)]
    return _Days(of_week=tuple(sorted({day % 7 for day in found}))) if found else None


def _through(first: int, last: int) -> list[int]:
    """Return the days from *first* to *last*, across the end of the week if necessary."""
    return [(first + place) % 7 for place in range((last - first) % 7 + 1)]


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
    return {city: _same(zones) for city, zones in cities.items()} | {_key(name): (name,) for name in names}


def _same(zones: Collection[str]) -> Sequence[str]:
    """Return the zone to use for a city; all if none is in `_REGIONS` (``Canada/Eastern``, ``US/Eastern``)."""
    real: Iterable[str] = [zone for zone in zones if zone.partition("/")[0] in _REGIONS]
    best = max(real, key=lambda zone: (zone.count("/"), zone), default="")
    return (best,) if best else tuple(zones)
