"""The language of alerts, such as ``runs < 1 in 24h`` or ``agent Support p95 > 60s``. Pure functions.

`read_alert` parses what a person types, in any spelling that `bridge.slack.blockkit.folding` knows.
`AlertCondition.words` is the normal form, which is stored, and is parsed again by `read_condition`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache
from typing import Final, Literal, NamedTuple

from bridge.errors import BadAlert
from bridge.features.statistics.numbers import GROUPS, NUMBERS
from bridge.slack.blockkit.folding import fold, name_key
from bridge.slack.blockkit.numbers import whole

Subject = Literal["number", "names", "count", "stale", "down", "time", "fails", "failed runs", "dead letters", "oldest"]
Sign = Literal["<", "<=", ">", ">=", "=", "falls", "rises", "changes", ""]

AN_HOUR: Final = timedelta(hours=1)
LONGEST: Final = timedelta(days=28)
LONGEST_OF_TURNS: Final = timedelta(hours=24)
"""The longest period of what is recorded about turns, and of the statistics (`LONGEST`)."""

_DOWN_FOR: Final = timedelta(minutes=5)
_UNITS: Final = {
    timedelta(weeks=1): ("w", "week", "weeks"),
    timedelta(days=1): ("d", "day", "days"),
    timedelta(hours=1): ("h", "hr", "hrs", "hour", "hours"),
    timedelta(minutes=1): ("m", "min", "mins", "minute", "minutes"),
    timedelta(seconds=1): ("s", "sec", "secs", "second", "seconds"),
}
_UNIT_OF: Final = {word: unit for unit, words in _UNITS.items() for word in words}
_SIGNS: Final[dict[str, Sign]] = {
    "<": "<", ">": ">", "<=": "<=", "=<": "<=", "≤": "<=", ">=": ">=", "=>": ">=", "≥": ">=", "=": "=", "==": "=",
    "below": "<", "under": "<", "above": ">", "over": ">", "exceeds": ">", "exceed": ">",
    "less than": "<", "fewer than": "<", "more than": ">", "greater than": ">", "at least": ">=", "at most": "<=",
    "longer than": ">",
}  # fmt: skip
_TRENDS: Final[dict[str, Sign]] = {
    "falls": "falls", "fall": "falls", "drops": "falls", "drop": "falls",
    "rises": "rises", "rise": "rises", "grows": "rises", "grow": "rises",
}  # fmt: skip
_NUMBERS: Final = {word: one.name for one in NUMBERS for word in (one.name, one.noun(1))}
_GROUP_OF: Final = {word: group.name for group in GROUPS for word in (group.name, group.one)}
_TIMES: Final = {"p95": 95, "p50": 50, "median": 50}
_FAILS: Final = frozenset({"fails", "fail", "failed"})
_TOKEN: Final = re.compile(  # of folded text
    r"""\s* (?: "(?P<double>[^"]*)" | '(?P<single>[^']*)' | (?P<sign> [<>=]=? | =[<>] | [≤≥] )
    | (?P<word> [^\s<>=≤≥"]+ ) | (?P<lone> ["'] ) )""",
    re.VERBOSE,
)
_AMOUNT: Final = re.compile(r"(\d{1,3}(?:,\d{3})+|\d{1,15})(?:\.(\d{1,6}))?(%|x|×|[a-z]+)?")  # noqa: RUF001
_CHANNEL: Final = re.compile(r"#(?!\d+$)\S+")
_LONGEST_TEXT: Final = 500


@dataclass(frozen=True, slots=True)
class AlertCondition:
    """What an alert is about (*subject*), and when it holds.

    *of* is the number, the group of names, or ``agent`` or ``workflow``; *name* is which one of these, as typed. The
    number is compared by *sign* with *value*: a count, a share if it *is_share*, seconds, or a multiple of what's usual
    if it *is_usual*. *span* is the period it's about; None: what there is now. *percentile* is that of a time.
    """

    subject: Subject
    of: str = ""
    name: str = ""
    sign: Sign = ""
    value: float = 0
    span: timedelta | None = None
    is_share: bool = False
    is_usual: bool = False
    percentile: int = 0

    @property
    def is_of_statistics(self) -> bool:
        """Whether it's about the project's statistics, of which there are snapshots."""
        return self.subject in {"number", "names", "count", "stale"}

    @property
    def is_of_turns(self) -> bool:
        """Whether it's about what the bridge records of its turns."""
        return self.subject in {"time", "fails", "failed runs"}

    @property
    def words(self) -> str:
        """The condition in words, which `read_condition` reads."""
        within = f" in {in_units(self.span)}" if self.span else ""
        match self.subject:
            case "stale":
                return f"stale {in_units(timedelta(seconds=self.value))}"
            case "down":
                return f"service down {in_units(timedelta(seconds=self.value))}"
            case "names":
                return f"{self.of} change{within}"
            case "fails":
                return f"{self.of} {_quoted(self.name)} fails{within}"
            case "time":
                which = f"{self.of} {_quoted(self.name)} {'median' if self.percentile == 50 else 'p95'}"  # noqa: PLR2004
                return f"{which} {self.sign} {in_units(timedelta(seconds=self.value))}{within}"
            case "oldest":
                return f"oldest message {self.sign} {in_units(timedelta(seconds=self.value))}"
            case "number" if not self.is_usual and self.sign in {"falls", "rises"}:
                return f"{self.of} {self.sign}{within}"
            case "count":
                one = next(group.one for group in GROUPS if group.name == self.of)
                return f"{one} {_quoted(self.name)} {self.sign} {amount(self.value)}{'%' if self.is_share else ''}"
            case _:
                what = self.of if self.subject == "number" else self.subject
                usual = "x usual" if self.is_usual else ""
                return f"{what} {self.sign} {amount(self.value)}{usual}{within}"

    def holds_for(self, number: float) -> bool:
        """Whether *number* compares with the value as it should."""
        return self.compares(number, self.value)

    def compares(self, number: float, other: float) -> bool:
        """Whether *number* compares with the *other* one as it should."""
        return _COMPARE[self.sign](number, other)


_COMPARE: Final[dict[str, Callable[[float, float], bool]]] = {
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
    "=": lambda one, other: one == other,
}


@dataclass(frozen=True, slots=True)
class TypedAlert:
    """An alert as typed: its *condition*, the name of the workflow to *run*, and the *channel*, or ``""``."""

    condition: AlertCondition
    run: str = ""
    channel: str = ""


class _Token(NamedTuple):
    folded: str
    typed: str
    is_quoted: bool


def in_units(span: timedelta) -> str:
    """Write a duration as it's typed: ``24h``, ``7d``, ``90s``."""
    for unit, (name, *_words) in _UNITS.items():
        longer = timedelta(days=2) if unit == timedelta(days=1) else unit  # 24h stays
        if span >= longer and span % unit == timedelta(0) and unit != timedelta(weeks=1):
            return f"{span // unit}{name}"
    return f"{amount(span.total_seconds())}s"


def amount(value: float) -> str:
    """Write a number as it's typed, without separators and useless digits."""
    return f"{value:.6f}".rstrip("0").rstrip(".")


def shown(value: float) -> str:
    """Write a number for people: ``1,234``, ``0.5``."""
    return whole(round(value)) if abs(value - round(value)) < 0.05 else f"{value:,.1f}"  # noqa: PLR2004 - a digit


def _quoted(name: str) -> str:
    return f'"{name}"' if '"' not in name else f"'{name}'"


@lru_cache(maxsize=4096)
def read_condition(words: str) -> AlertCondition:
    """Parse a stored condition. Raises `BadAlert`."""
    return read_alert(words).condition


def read_alert(typed: str) -> TypedAlert:
    """Parse an alert as typed: a condition, then ``then run WORKFLOW`` and a channel. Raises `BadAlert`."""
    tokens = _tokens(typed[:_LONGEST_TEXT])
    channel = next((one.typed for one in tokens if not one.is_quoted and _CHANNEL.fullmatch(one.folded)), "")
    tokens = [one for one in tokens if one.is_quoted or not _CHANNEL.fullmatch(one.folded)]
    words = ["" if one.is_quoted else one.folded.strip(",;") for one in tokens]
    run, place = "", next((at for at in range(len(words) - 1) if words[at : at + 2] == ["then", "run"]), None)
    if place is not None:
        run = " ".join(one.typed for one in tokens[place + 2 :])
        if not run:
            raise BadAlert("run", "")
        tokens = tokens[:place]
    if not tokens:
        raise BadAlert("condition", "")
    return TypedAlert(_Parser(tokens, typed).condition(), run, channel)


def _tokens(typed: str) -> list[_Token]:
    folded, found, at = fold(typed), [], 0
    while match := _TOKEN.match(folded.text, at):
        at, kind = match.end(), match.lastgroup or ""
        if kind != "lone":
            found.append(_Token(match[kind], folded.between(*match.span(kind)), kind in {"double", "single"}))
    return found


class _Parser:
    """Parses the words of a condition from left to right."""

    def __init__(self, tokens: Sequence[_Token], typed: str) -> None:
        self.tokens, self.typed, self.at = tokens, typed, 0

    def condition(self) -> AlertCondition:
        found = self._subject()
        if found.subject not in {"stale", "down", "oldest", "dead letters", "count"}:
            found = self._with_span(found)
        if self.at < len(self.tokens):
            raise BadAlert("rest", self._left())
        if found.is_usual and found.sign not in {"<", ">", "<=", ">="}:
            raise BadAlert("usual", found.sign)
        return found

    def _subject(self) -> AlertCondition:
        word, following = self._word(), self._word(1)
        if word == "new" and following in _NUMBERS:
            self.at, word, following = self.at + 1, following, self._word(2)
        if (word, following) in {("failed", "runs"), ("failed", "run")}:
            return self._compared(self._after(2, AlertCondition("failed runs", span=AN_HOUR)))
        if (word, following) in {("dead", "letters"), ("dead", "letter")}:
            return self._compared(self._after(2, AlertCondition("dead letters")))
        if (word, following) in {("oldest", "message"), ("oldest", "messages")}:
            return self._compared(self._after(2, AlertCondition("oldest")), is_time=True)
        if word == "stale":
            return self._lasting(self._after(1, AlertCondition("stale", sign=">")))
        if word == "service":
            self.at += 1
            self._skip("is", "are")
            if self._word() != "down":
                raise BadAlert("condition", self._left() or self.typed)
            return self._lasting(self._after(1, AlertCondition("down", sign=">", value=_DOWN_FOR.total_seconds())))
        if word in {"agent", "workflow"}:
            return self._of_one(word)
        if word in _GROUP_OF and following in {"change", "changes", "changed"}:
            return self._after(2, AlertCondition("names", _GROUP_OF[word], sign="changes", span=AN_HOUR))
        if word in _GROUP_OF:
            self.at += 1
            name = self._name(lambda: self._sign() is not None)
            return self._compared(AlertCondition("count", _GROUP_OF[word], name), may_be_share=True)
        if word in _NUMBERS:
            number = self._after(1, AlertCondition("number", _NUMBERS[word]))
            if trend := _TRENDS.get(self._word()):
                return self._after(1, replace(number, sign=trend, span=AN_HOUR))
            return self._compared(number, may_be_usual=True)
        raise BadAlert("condition", self.typed)

    def _of_one(self, kind: str) -> AlertCondition:
        """Parse what follows ``agent`` or ``workflow``."""
        self.at += 1
        name = self._name(lambda: self._word() in {*_TIMES, *_FAILS})
        word = self._word()
        if word in _TIMES:
            about = AlertCondition("time", kind, name, span=AN_HOUR, percentile=_TIMES[word])
            return self._compared(self._after(1, about), is_time=True)
        if kind == "workflow" and word in _FAILS:
            return self._after(1, AlertCondition("fails", kind, name, ">", 0, AN_HOUR))
        raise BadAlert("agent" if kind == "agent" else "workflow", self._left() or self.typed)

    def _after(self, count: int, condition: AlertCondition) -> AlertCondition:
        self.at += count
        return condition

    def _word(self, ahead: int = 0) -> str:
        """Return the folded word some places ahead; ``""`` if there's none, or a quotation."""
        place = self.at + ahead
        if place >= len(self.tokens) or self.tokens[place].is_quoted:
            return ""
        return self.tokens[place].folded.strip(",;") or self.tokens[place].folded

    def _left(self) -> str:
        return " ".join(one.typed for one in self.tokens[self.at :])

    def _skip(self, *words: str) -> None:
        if self._word() in words:
            self.at += 1

    def _name(self, ends: Callable[[], bool]) -> str:
        """Return the name up to where it *ends*, as typed."""
        if self.at < len(self.tokens) and self.tokens[self.at].is_quoted:
            self.at += 1
            name = self.tokens[self.at - 1].typed.strip()
        else:
            begin = self.at
            while self.at < len(self.tokens) and not ends():
                self.at += 1
            name = " ".join(one.typed for one in self.tokens[begin : self.at])
        if not name_key(name):
            raise BadAlert("name", self.typed)
        return " ".join(name.split())

    def _sign(self) -> tuple[Sign, int] | None:
        """Return the sign here, and its number of words."""
        word = self._word()
        if word == "is" and self._sign_at(1):
            return self._sign_at(1)
        return self._sign_at(0)

    def _sign_at(self, ahead: int) -> tuple[Sign, int] | None:
        word, both = self._word(ahead), f"{self._word(ahead)} {self._word(ahead + 1)}"
        if both in _SIGNS:
            return _SIGNS[both], ahead + 2
        return (_SIGNS[word], ahead + 1) if word in _SIGNS else None

    def _compared(
        self, about: AlertCondition, *, is_time: bool = False, may_be_share: bool = False, may_be_usual: bool = False
    ) -> AlertCondition:
        """Parse a sign and what's compared with."""
        sign = self._sign()
        if sign is None:
            raise BadAlert("sign", self._left() or self.typed)
        about = self._after(sign[1], replace(about, sign=sign[0]))
        if is_time:
            return replace(about, value=self._duration().total_seconds())
        if may_be_usual and self._word() == "usual":
            return self._after(1, replace(about, value=1, is_usual=True, span=AN_HOUR))
        value, unit = self._amount()
        if may_be_usual and (unit in {"x", "×", "times"} or self._word() == "usual"):  # noqa: RUF001
            if self._word() != "usual" or not value:
                raise BadAlert("usual", self._left() or self.typed)
            return self._after(1, replace(about, value=value, is_usual=True, span=AN_HOUR))
        if unit not in {"", "%"} or (unit == "%" and not may_be_share):
            raise BadAlert("amount", self.typed)
        return replace(about, value=value, is_share=unit == "%")

    def _amount(self) -> tuple[float, str]:
        """Parse a number and its unit, if there's one."""
        found = _AMOUNT.fullmatch(self._word())
        if found is None:
            raise BadAlert("amount", self._left() or self.typed)
        self.at += 1
        value, unit = float(f"{found[1].replace(',', '')}.{found[2] or 0}"), found[3] or ""
        if not unit and self._word() in {"%", "percent", "x", "×", "times", *_UNIT_OF}:  # noqa: RUF001
            unit, self.at = self._word(), self.at + 1
        return value, "%" if unit == "percent" else unit

    def _duration(self) -> timedelta:
        begin = self.at
        try:
            value, unit = self._amount()
        except BadAlert as exc:
            raise BadAlert("duration", exc.typed) from exc
        if unit not in _UNIT_OF or not 0 < value <= timedelta(days=400) / _UNIT_OF[unit]:
            raise BadAlert("duration", " ".join(one.typed for one in self.tokens[begin:]))
        return value * _UNIT_OF[unit]

    def _lasting(self, about: AlertCondition) -> AlertCondition:
        """Parse a duration, with or without ``for`` or ``>``."""
        self._skip("for")
        if (sign := self._sign()) and sign[0] in {">", ">="}:
            self.at += sign[1]
        if self.at == len(self.tokens) and about.value:
            return about
        return replace(about, value=self._duration().total_seconds())

    def _with_span(self, about: AlertCondition) -> AlertCondition:
        """Parse ``in 24h``, if that follows."""
        if self._word() not in {"in", "within", "per"}:
            return about
        self.at += 1
        self._skip("the")
        self._skip("last")
        span = self._duration()
        longest = LONGEST_OF_TURNS if about.is_of_turns else LONGEST
        if not timedelta(minutes=1) <= span <= longest or (about.is_of_statistics and span < AN_HOUR):
            raise BadAlert("span" if about.is_of_statistics else "span_of_turns", in_units(span))
        return replace(about, span=span)
