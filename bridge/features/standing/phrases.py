"""Schedules as people say them: ``every monday at 9``. Pure functions.

`read_schedule` turns words into cron expressions by the table `ROWS`, and `describe` turns cron expressions into words.
People are always shown the words from `describe`, which mean the same when typed. Cron expressions that have no words
are shown as such.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from bridge.errors import BadSchedule
from bridge.features.standing.zones import find_zone, zone_at
from bridge.names.amounts import NAMED_TIMES, NOON, NUMBER_WORDS, read_time
from bridge.names.folding import fold, without_end
from bridge.slack.blockkit import kit

Crons = tuple[str, ...]

_DAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")  # as cron numbers them
_DAY_OF: Final = {
    **{word: number for number, day in enumerate(_DAYS) for word in (day.lower(), f"{day.lower()}s", day.lower()[:3])},
    "tues": 2, "weds": 3, "thur": 4, "thurs": 4,
    "mo": 1, "tu": 2, "th": 4, "fr": 5, "sa": 6, "su": 0, "di": 2, "mi": 3,
}  # fmt: skip
_IN_A_RANGE: Final = _DAY_OF | {"we": 3, "do": 4, "so": 0}
"""Abbreviations that are words of their own elsewhere."""
_WORKING_DAYS: Final = (1, 2, 3, 4, 5)
_LAST: Final = 31  # means a month's last day, or a month's last Monday
_COUNTED: Final = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": _LAST}
_MOST_COUNTED: Final = 4
_TOO_LONG_FOR_SOME: Final = (29, 30)  # days of the month; in shorter months, the last day replaces them
_PARTS_OF_DAY: Final = {"morning": "am", "afternoon": "pm", "evening": "pm", "night": "night"}
_HOURS_OF: Final = {"afternoon": (12, 19), "evening": (16, 24)}  # from, and before
_NIGHT: Final = 6  # its hours before midnight begin at 6 pm; which day the others belong to is unclear
_PAST: Final = {"half past": 30, "quarter past": 15, "quarter to": -15}
_MINUTES: Final = {"fifteen": 15, "thirty": 30}

# Patterns of folded words, with a blank between them.
_ANY: Final = "[^ ,]{1,40}"
_EACH: Final = "(?:every|each)"
_DAY: Final = rf"(?:{'|'.join(_DAY_OF)})\b"
_ANY_DAY: Final = rf"(?:{'|'.join(_IN_A_RANGE)})\b"
_WORKING: Final = r"(?:(?:weekday|workday|work day|working day|business day)s?|m-+f)\b"
_UNIT: Final = r"(?:(?P<daily>daily|everyday|days?)|(?P<weekly>weekly|weeks?)|(?P<monthly>monthly|months?))\b"
_ANY_UNIT: Final = re.sub("P<[a-z]+>", ":", _UNIT)
_UNTIL: Final = r"(?:through|thru|until|till)\b"
_TO: Final = rf"(?: ?-+ ?| to | {_UNTIL} )"
_JOIN: Final = "(?: ?[,&/+] ?(?:and )?| and )"
_COUNT: Final = rf"(?:\d{{1,2}}(?:st|nd|rd|th)|{'|'.join(_COUNTED)})\b"
_NUMBER: Final = r"\d{1,2}(?=[ ,]|$)(?! [ap]\.?m\b)"
_MORE_DAYS: Final = rf"(?:{_JOIN}(?:{_COUNT}(?: day\b)?|{_NUMBER})){{0,30}}"
_HOUR: Final = rf"(?:{'|'.join(NUMBER_WORDS[1:])})\b"
_TIME: Final = rf"(?P<time>(?:{'|'.join(NAMED_TIMES)})\b|\d[^ ,]*(?: [ap]\.?m\b)?)"
_FILLER: Final = "and|at|on|the|of|in|an?|from|time|o'clock|oclock|uhr|sharp|my|local|with|input|every|each"

_BEFORE_A_PHRASE: Final = re.compile(r"(?:[ ,&/+@]|-+ (?=\d))*(?=[^ ,])")
_WORD: Final = re.compile("[^ ,]+")
_LIKE_A_ZONE: Final = re.compile(r"\w/|[+-]\d")
_MONTH_DAY: Final = re.compile(rf"(\d{{1,2}}|{'|'.join(_COUNTED)})(?:st|nd|rd|th)?")

_ONE_TIME: Final = re.compile(r"0?(\d|[1-5]\d) 0?(\d|1\d|2[0-3]) (\S+) \* (\S+)", re.ASCII)
_COUNTED_DAY: Final = re.compile(r"([0-6])(?:#([1-4])|L)", re.ASCII)
_DAY_OR_DAYS: Final = re.compile(r"([0-7])(?:-([0-7]))?", re.ASCII)
_CRON_DAYS: Final = re.compile(r"(?:[1-9]|[12]\d|30|L)(?:,(?:[1-9]|[12]\d|30|L))*", re.ASCII)


class _Days(NamedTuple):
    """The days of a schedule: some of each month, some of each week, or one *counted* (``first Monday``)."""

    of_month: tuple[int, ...] = ()
    of_week: tuple[int, ...] = ()
    counted: int = 0

    def crons(self, hour: int, minute: int) -> Crons:
        """Return cron expressions for a time on these days."""
        listed = ",".join("L" if day == _LAST else str(day) for day in self.of_month) or "*"
        if self.counted:
            week = f"{self.of_week[0]}L" if self.counted == _LAST else f"{self.of_week[0]}#{self.counted}"
        elif len(self.of_week) == len(_DAYS):
            week = "*"
        else:
            week = "1-5" if self.of_week == _WORKING_DAYS else ",".join(map(str, self.of_week)) or "*"
        takes_last = set(self.of_month) & set(_TOO_LONG_FOR_SOME) and _LAST not in self.of_month
        return (f"{minute} {hour} {listed} * {week}", *([f"{minute} {hour} L 2 *"] if takes_last else []))

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
    words, same = _in_words(crons[0] if crons else "")
    is_same = words and same[1:] == crons[1:]  # not the 30th, only in months that have one
    return words if is_same else f"cron {' '.join(crons[:1])}"


def normalized(cron: str) -> Crons:
    """Return the normal form of an expression that has words; leave others unchanged."""
    _words, same = _in_words(cron)
    return same if len(same) == 1 else (cron,)


def _in_words(cron: str) -> tuple[str, Crons]:
    """Return the words for an expression, and what these mean; ``""`` and the expression if it has none."""
    found = _ONE_TIME.fullmatch(cron)
    days = _days_of(found[3], found[4]) if found else None
    if found is None or days is None:
        return "", (cron,)
    hour, minute = int(found[2]), int(found[1])
    return f"{days.words()} at {hour:02}:{minute:02}", days.crons(hour, minute)


def read_schedule(words: Sequence[str]) -> tuple[Crons, str]:
    """Parse a schedule, without options and channels: return cron expressions, and a time zone or ``""``.

    Raises `BadSchedule`.
    """
    reader = _Reader(" ".join(filter(None, (without_end(word, ".:!") for word in words))))
    reader.read()
    return reader.result()


class _Reader:
    """Reads the phrases of a schedule from left to right, by `ROWS`."""

    def __init__(self, typed: str) -> None:
        self.typed, self.folded = typed, fold(typed)
        self.is_monthly = re.search(r"\bmonth(?:s|ly)?\b", self.folded.text) is not None
        self.of_week: list[int] = []
        self.of_month: list[int] = []
        self.counted = 0
        self.units: set[str] = set()  # daily, weekly and monthly
        self.times: dict[tuple[int, int], str] = {}
        self.halves: set[str] = set()  # of the day: am, pm or night
        self.parts: set[str] = set()  # afternoon and evening among them
        self.zone = ""
        self.unknown: list[list[tuple[int, int]]] = [[]]  # where words are, those in a row together

    def read(self) -> None:
        """Read all phrases. Raises `BadSchedule` for what only a cron expression can say."""
        text, at = self.folded.text, 0
        while before := _BEFORE_A_PHRASE.match(text, at):
            at = before.end()
            matches = ((row, found) for row, pattern in _PATTERNS if (found := pattern.match(text, at)))
            if match := next(matches, None):
                row, found = match
                at = found.end()
                if isinstance(row.read, str):
                    raise BadSchedule(row.read, self.folded.between(*found.span()))
                if row.read:
                    row.read(self, found)
                    self.unknown.append([])
            elif name := zone_at(text, at):
                zone = find_zone(self.folded.between(at, at + len(name)))
                if self.zone not in {"", zone}:
                    raise BadSchedule("zone", f"{self.zone} {name}", (self.zone, zone))
                self.zone = zone
                at += len(name)
                self.unknown.append([])
            elif word := _WORD.match(text, at):
                at = word.end()
                self.unknown[-1].append(word.span())

    def read_unit(self, found: re.Match[str]) -> None:
        self.units.add(found.lastgroup or "")

    def read_part_of_day(self, found: re.Match[str]) -> None:
        self.halves.add(_PARTS_OF_DAY[found["part"] or "night"])
        self.parts.add(found["part"] or "night")
        if found["each"] or found["nightly"]:
            self.units.add("daily")

    def read_weekdays(self, found: re.Match[str]) -> None:
        if found["day"]:
            first, last = _IN_A_RANGE[found["day"]], _IN_A_RANGE[found["last"] or found["day"]]
            self.of_week += [(first + place) % 7 for place in range((last - first) % 7 + 1)]
        else:
            self.of_week += (6, 0) if found["weekend"] else _WORKING_DAYS

    def read_counted_day(self, found: re.Match[str]) -> None:
        self.counted, is_each = _month_day(found["count"]), bool(found["each"]) and not self.is_monthly
        is_each_second = is_each and self.counted not in {1, _LAST}  # which may mean every two weeks
        is_past = found["count"] == "last" and not (is_each or self.is_monthly)
        if is_each_second or is_past or _MOST_COUNTED < self.counted < _LAST:
            raise BadSchedule("often", self.folded.between(*found.span("counted")))
        self.of_week.append(_DAY_OF[found["day"]])

    def read_month_days(self, found: re.Match[str]) -> None:
        self.of_month += [_month_day(day[0]) for day in _MONTH_DAY.finditer(found["days"])]

    def read_time(self, found: re.Match[str]) -> None:
        typed = found["time"].replace(" ", "")
        time = (NUMBER_WORDS.index(typed), 0) if typed in NUMBER_WORDS else read_time(typed)
        past, minutes = found.groupdict().get("past"), found.groupdict().get("minutes")
        if time is None or (past and time[1]):
            raise BadSchedule("time", self.folded.between(*found.span("time")))
        if past or minutes:
            total = time[0] * 60 + (_PAST[past] if past else _MINUTES[minutes or ""])
            time = total // 60 % 24, total % 60
        elif half := re.search(r"([ap])\.?m$", typed):
            self.halves.add(f"{half[1]}m")
        self.times.setdefault(time, self.folded.between(*found.span("time")))

    def result(self) -> tuple[Crons, str]:
        """Combine the phrases. Raises `BadSchedule` for missing, unknown and contradictory parts."""
        unknown: list[tuple[int, int]] = next(filter(None, self.unknown), [])
        strange, phrase = " ".join(self.folded.between(*span) for span in unknown), self.typed
        if not (self.units or self.of_week or self.of_month):
            is_day = unknown and re.search(rf"\b{_EACH}\b", self.folded.text[: unknown[0][0]])  # every Blursday
            raise BadSchedule("weekday" if is_day else "often", strange or phrase)
        if "weekly" in self.units and not self.of_week:
            raise BadSchedule("weekday", strange)
        if "monthly" in self.units and not (self.of_month or self.counted):
            raise BadSchedule("monthday", strange)
        is_clear = sum(map(bool, ("daily" in self.units, self.of_week, self.of_month))) <= 1
        if not is_clear or (self.counted and (len(self.of_week) > 1 or "weekly" in self.units)):
            raise BadSchedule("often", phrase)
        if not self.times:
            raise BadSchedule("time", strange) if strange else BadSchedule("no_time", phrase)
        if len(self.times) > 1 and not strange:
            raise BadSchedule("times", list(self.times.values())[1])
        hour, minute = next(iter(self.times))
        if "night" in self.halves and hour % NOON < _NIGHT:  # after midnight
            if self.of_week or self.of_month or hour >= NOON + 1:
                raise BadSchedule("night", phrase)
            self.halves, hour = {"am"}, hour % NOON
        halves = {"pm" if half == "night" else half for half in self.halves}
        if len(halves) > 1 or (halves == {"am"} and hour >= NOON):
            raise BadSchedule("time", phrase)
        hour += NOON if halves == {"pm"} and hour < NOON else 0
        spans = [_HOURS_OF[part] for part in self.parts & _HOURS_OF.keys()]
        if not all(first <= hour < end for first, end in spans):
            raise BadSchedule("time", phrase)
        days = _Days(tuple(sorted(set(self.of_month))), tuple(sorted(set(self.of_week))), self.counted)
        if strange:
            try:
                find_zone(strange)
            except BadSchedule as exc:
                part = "zone" if _LIKE_A_ZONE.search(strange) else "strange"
                raise exc if exc.choices else BadSchedule(part, strange) from exc
        return days.crons(hour, minute), self.zone


class _Row(NamedTuple):
    """A way to say a phrase: an *example*, its *pattern*, and what reads it; or the part for which it's refused."""

    example: str
    pattern: str
    read: Callable[[_Reader, re.Match[str]], None] | str | None = None


ROWS: Final = (
    _Row("every 15 minutes", rf"(?:{_ANY} ){{0,2}}(?:hours?|hourly|minutes?|mins?)\b", "hourly"),
    _Row("every other monday", rf"{_EACH} other(?: {_ANY})?", "often"),
    _Row("every 2 weeks", rf"{_EACH} \d{{1,2}} (?:{_ANY_UNIT}|{_WORKING}|weekends?\b|{_DAY})", "often"),
    _Row("every third day", rf"{_EACH} {_COUNT} (?:weeks?|months?|days?(?! of (?:the |{_EACH} )?month))\b", "often"),
    _Row("monday week", rf"(?!{_EACH} |of )(?:{_ANY} )?week\b(?: {_ANY})?", "often"),
    _Row("in a month", rf"(?<=in )an? {_ANY_UNIT}(?: {_ANY})?", "often"),
    _Row("1st to 15th", rf"(?:{_COUNT}|\d{{1,2}}){_TO}(?:{_COUNT}|\d{{1,2}}(?= of\b))", "often"),
    _Row("second last day", rf"(?:{_EACH} )?{_COUNT} last\b(?: {_ANY})?", "often"),
    _Row("every first monday", rf"(?:(?P<each>{_EACH}) )?(?P<counted>(?P<count>{_COUNT}) (?P<day>{_DAY}))",
         _Reader.read_counted_day),
    _Row("monthly 1, 15", rf"(?:monthly|{_EACH} month)(?: on)?(?: the)?(?: day)? (?P<days>{_NUMBER}{_MORE_DAYS})",
         _Reader.read_month_days),
    _Row("1st, 15th and last day", rf"(?P<days>{_COUNT}(?: day\b)?{_MORE_DAYS})", _Reader.read_month_days),
    _Row("on day 24", rf"(?:on (?:the )?day |day (?=\d+ of\b))(?P<days>{_NUMBER})", _Reader.read_month_days),
    _Row("25 of the month", rf"(?P<days>{_NUMBER}{_MORE_DAYS})(?= of\b)", _Reader.read_month_days),
    _Row("mon-fri", rf"{_WORKING}|(?P<weekend>weekends?\b)|(?P<day>{_ANY_DAY}){_TO}(?P<last>{_ANY_DAY})",
         _Reader.read_weekdays),
    _Row("mondays", rf"(?P<day>{_DAY})(?P<last>)", _Reader.read_weekdays),
    _Row("every week", rf"(?:{_EACH} |of (?:the )?)?{_UNIT}", _Reader.read_unit),
    _Row("every morning", rf"(?:(?P<each>{_EACH}) )?(?P<part>{'|'.join(_PARTS_OF_DAY)})s?\b|(?P<nightly>nightly)",
         _Reader.read_part_of_day),
    _Row("9 until friday", rf"(?:{_ANY} )?{_UNTIL}(?: {_ANY})?", "often"),
    _Row("half past 8", rf"(?P<past>{'|'.join(_PAST)}) (?:{_TIME})", _Reader.read_time),
    _Row("quarter to nine", rf"(?P<past>{'|'.join(_PAST)}) (?P<time>{_HOUR})", _Reader.read_time),
    _Row("at nine thirty", rf"at (?P<time>{_HOUR})(?: (?P<minutes>{'|'.join(_MINUTES)})\b)?", _Reader.read_time),
    _Row("9:30 am", _TIME, _Reader.read_time),
    _Row("at", rf"(?:{_FILLER})(?![\w'-])"),
)  # fmt: skip
"""The forms, in the order in which they're looked for."""

_PATTERNS: Final = [(row, re.compile(rf"(?:{row.pattern})(?=[ ,/+&]|$)")) for row in ROWS]


def _month_day(typed: str) -> int:
    """Return the number of a ``15th``, ``first`` or ``last`` day of a month. Raises `BadSchedule`."""
    day = _COUNTED.get(typed) or int(typed.rstrip("stndrh"))
    if not 1 <= day <= _LAST:
        raise BadSchedule("monthday", typed)
    return day


def _days_of(of_month: str, of_week: str) -> _Days | None:
    """Parse two fields of a cron expression; None if these days have no words."""
    if of_month == "*" == of_week:
        return _Days()
    if of_week == "*":
        if not _CRON_DAYS.fullmatch(of_month):
            return None
        return _Days(of_month=tuple(sorted({_LAST if day == "L" else int(day) for day in of_month.split(",")})))
    if of_month != "*":
        return None
    if counted := _COUNTED_DAY.fullmatch(of_week):
        return _Days(of_week=(int(counted[1]),), counted=int(counted[2] or _LAST))
    named = re.sub(r"[A-Za-z]{3}", lambda found: str(_DAY_OF.get(found[0].casefold(), found[0])), of_week)
    parts = [_DAY_OR_DAYS.fullmatch(part) for part in named.split(",")]
    days = {day % 7 for part in parts if part for day in range(int(part[1]), int(part[2] or part[1]) + 1)}
    return _Days(of_week=tuple(sorted(days))) if days and all(parts) else None
