"""The language of alerts, such as ``runs < 1 in 24h`` or ``agent Support p95 > 60s``. Pure functions.

`read_alert` parses what a person types, in any spelling that `bridge.names.folding` knows.
`AlertCondition.words` is the normal form, which is stored, and is parsed again by `read_condition`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache
from itertools import count
from typing import Final, Literal, NamedTuple

from bridge.errors import BadAlert
from bridge.features.statistics.numbers import GROUPS, NUMBERS
from bridge.names.folding import NUMBER_WORDS, fold, name_key, undecorated, without_end
from bridge.names.nearness import nearest

Subject = Literal[
    "number", "names", "count", "stale", "down", "time", "fails", "failed runs", "failed work", "oldest"
]  # fmt: skip
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
    **dict.fromkeys(("below", "under"), "<"), **dict.fromkeys(("above", "over", "exceeds", "exceed"), ">"),
    **{f"{word} {than}": "<" for word in ("less", "fewer", "lower", "smaller") for than in ("than", "then")},
    **{f"{word} {than}": ">" for word in ("more", "greater", "higher", "larger", "longer", "older")
       for than in ("than", "then")},
    "at least": ">=", "no less": ">=", "reaches": ">=", "reach": ">=", "at most": "<=", "no more": "<=",
    "equals": "=", "equal": "=",
}  # fmt: skip
_VERBS: Final = frozenset({"is", "are", "was", "has", "have", "been", "goes", "go", "gets", "get"})
"""What may come before a sign, or before what happens."""

_TRENDS: Final[dict[str, Sign]] = {
    **dict.fromkeys(
        ("falls", "fall", "falling", "fell", "drops", "drop", "dropping", "dropped", "decreases", "decrease", "down"),
        "falls",
    ),
    **dict.fromkeys(
        ("rises", "rise", "rising", "rose", "grows", "grow", "growing", "grew", "increases", "increase", "up"), "rises"
    ),
}  # fmt: skip
_NUMBERS: Final = {word: one.name for one in NUMBERS for word in (one.name, one.noun(1))}
_GROUP_OF: Final = {word: group.name for group in GROUPS for word in (group.name, group.one)}
_TIMES: Final = {"p95": 95, "p50": 50, "median": 50}
_FAILS: Final = frozenset({"fails", "fail", "failed", "failing"})
_FAILED_RUNS: Final = [{fails, runs} for fails in ("failed", "fail", "fails") for runs in ("runs", "run")]
_FAILED_WORK: Final = frozenset({("failed", "work"), ("dead", "letters"), ("dead", "letter")})
_DOWN: Final = frozenset({"down", "unreachable", "unavailable", "offline"})
_FIRST: Final = _VERBS | {
    "alert", "me", "us", "when", "whenever", "if", "the", "a", "an", "any", "there", "statistics", "stats", "project",
}  # fmt: skip
"""Words before a condition that say nothing."""

_NEGATIONS: Final = frozenset({"not", "never", "without", "except", "unless", "but", "!"})
"""Words that turn a condition into its opposite, or limit it; none can."""

_COUNTED: Final = {word: float(number) for number, word in enumerate(NUMBER_WORDS)}
_TIMES_USUAL: Final = {"twice": 2.0, "double": 2.0, "triple": 3.0, "half": 0.5}
_A_PERIOD: Final = {"hourly": timedelta(hours=1), "daily": timedelta(days=1), "weekly": timedelta(weeks=1)}
_WITHIN: Final = frozenset({"in", "within", "per", "over", "during", "every", "each"})
_THEN: Final = frozenset({"then", "and", "→", "->"})
_RUN: Final = frozenset({"run", "start", "trigger"})
_TOKEN: Final = re.compile(  # of folded text
    r"""\s* (?: "(?P<double>[^"]*)" | '(?P<single>[^']*)' | (?P<arrow> -> ) | (?P<sign> [<>=]=? | =[<>] | [≤≥] )
    | (?P<word> (?: (?! -> ) [^\s<>=≤≥"] )+ ) | (?P<lone> ["'] ) )""",
    re.VERBOSE,
)
_AMOUNT: Final = re.compile(
    r"(\d{1,3}(?:[,']\d{3})+|\d{1,15})(?:\.(\d{1,6})|,(\d{1,2}))?(%|x|×|k|[a-z]+)?"  # noqa: RUF001
)
_SEVERAL_UNITS: Final = re.compile(r"(\d{1,6})([a-z]+)(\d{1,6})([a-z]*)")
_PER: Final = re.compile(r"([\d.,']+)/([a-z]+)")
_CHANNEL: Final = re.compile(r"#(?!\d+[.,;:]*$)\S+")
_FORMS: Final = (
    ("limit limits quota quotas", "runs > 100 in 24h"),
    ("p95 p50 p99 median average mean percentile slow slower slowest agent answer answers", "agent Support p95 > 60s"),
    ("failed failures failure", "failed runs > 5 in 1h"),
    ("fails fail failing workflow", 'workflow "Daily digest" fails'),
    ("% percent share category", "category billing > 40%"),
    ("down unreachable unavailable offline outage", "service down 5m"),
    ("stale updated outdated old", "stale 6h"),
    ("dead letter letters work", "failed work > 0"),
    ("message messages oldest waiting waits", "oldest message > 10m"),
    ("usual normal usually", "runs > 3x usual"),
    ("tag tags categories change changes new", "tags change"),
    ("prompt prompts", "prompts falls"),
)
"""What is meant most likely, by the words that are in it."""

_LONGEST_TEXT: Final = 500
_MOST_WORDS: Final = 30


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
    is_quoted: bool = False


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
    return f"{round(value):,}" if abs(value - round(value)) < 0.05 else f"{value:,.1f}"  # noqa: PLR2004 - a digit


def _quoted(name: str) -> str:
    return f'"{name}"' if '"' not in name else f"'{name}'"


@lru_cache(maxsize=4096)
def read_condition(words: str) -> AlertCondition:
    """Parse a stored condition. Raises `BadAlert`."""
    return _read(words).condition


def read_alert(typed: str) -> TypedAlert:
    """Parse an alert as typed: a condition, then ``then run WORKFLOW`` and a channel. Raises `BadAlert`."""
    if len(typed) > _LONGEST_TEXT:
        raise BadAlert("condition", typed, nearest_form(typed[:_LONGEST_TEXT]))
    return _read(typed)


def _read(typed: str) -> TypedAlert:
    text = without_end(undecorated(typed.strip()), " .!")
    tokens = _tokens(text)
    if len(tokens) == 1 and tokens[0].is_quoted:
        tokens = _tokens(tokens[0].typed)
    try:
        tokens, channel = _without_channel(tokens)
        tokens, run = _without_run(tokens)
        return TypedAlert(_Parser(_in_order(tokens, text), text).condition(), run, channel)
    except BadAlert as exc:
        is_derived = exc.near and (exc.part == "rest" or not any(_is_negation(_word_of(one)) for one in tokens))
        exc.near = exc.near if is_derived else nearest_form(text)
        raise


def nearest_form(typed: str) -> str:
    """Return the condition that looks most like what's *typed*."""
    words = re.findall(r"[\w'!]+|%", fold(typed).text)
    if any(_is_negation(word) for word in words):
        return "stale 6h" if "stale" not in words else "failed runs > 5 in 1h"
    for known, form in _FORMS:
        if any(nearest(word, known.split(), least=0.85) for word in words[:_MOST_WORDS]):
            return form
    return "runs < 1 in 24h"


def _is_negation(word: str) -> bool:
    return word in _NEGATIONS or word.endswith("n't")


def _tokens(typed: str) -> list[_Token]:
    folded, found, at = fold(typed), [], 0
    while match := _TOKEN.match(folded.text, at):
        at, kind = match.end(), match.lastgroup or ""
        if kind == "word" and (per := _PER.fullmatch(match[kind])):
            found += [_Token(word, word) for word in (per[1], "per", per[2])]
        elif kind == "word" and match[kind] in {
            "dead-letters",
            "dead-letter",
            "failed-work",
            "failed-runs",
            "oldest-message",
        }:
            found += [_Token(word, word) for word in match[kind].split("-")]
        elif kind != "lone":
            found.append(_Token(match[kind], folded.between(*match.span(kind)), kind in {"double", "single"}))
    return found


def _word_of(token: _Token) -> str:
    """Return a folded word without punctuation; ``""`` for a quotation."""
    return "" if token.is_quoted else token.folded.strip(",;:.") or token.folded


def _without_channel(tokens: list[_Token]) -> tuple[list[_Token], str]:
    """Split off the channel, and the ``in`` before it."""
    at = next((at for at, one in enumerate(tokens) if not one.is_quoted and _CHANNEL.fullmatch(one.folded)), None)
    if at is None:
        return tokens, ""
    begin = at
    while begin and _word_of(tokens[begin - 1]) in {"in", "to", "into", "on", "channel"}:
        begin -= 1
    return tokens[:begin] + tokens[at + 1 :], without_end(tokens[at].typed, ",;:.")


def _without_run(tokens: list[_Token]) -> tuple[list[_Token], str]:
    """Split off the workflow to run. Raises `BadAlert`."""
    words = [_word_of(one) for one in tokens]
    for at in range(1, len(words)):
        is_after = words[at - 1] in _THEN or tokens[at - 1].folded.endswith((",", ";"))
        if words[at] in _RUN and is_after and not tokens[at - 1].is_quoted:
            end = at
            while end and words[end - 1] in _THEN:
                end -= 1
            name = tokens[at + 1 :]
            if [_word_of(one) for one in name[:2]] == ["the", "workflow"]:
                name = name[2:]
            elif len(name) > 1 and _word_of(name[0]) == "workflow" and name[1].is_quoted:
                name = name[1:]
            if not name:
                raise BadAlert("run", "")
            return tokens[:end], " ".join(one.typed for one in name)
    return tokens, ""


def _in_order(tokens: list[_Token], typed: str) -> list[_Token]:
    """Leave out words before the condition, and put its subject first: ``more than 5 failed runs``, ``no runs``.

    Raises `BadAlert`.
    """
    if not tokens:
        raise BadAlert("condition", "")
    begin = 0
    while begin < len(tokens) - 1 and _word_of(tokens[begin]) in _FIRST:
        begin += 1
    tokens = tokens[begin:]
    parser = _Parser(tokens, typed)
    if _word_of(tokens[0]) in {"no", "zero", "0"} and parser.sign() is None:
        compared, parser.at = [_Token(one, one) for one in ("<", "1")], 1
    else:
        if (sign := parser.sign()) is None:
            return tokens
        parser.at = sign[1]
        parser.amount()
        compared = tokens[: parser.at]
    first, end = parser.at, parser.at + (parser.word() == "new")
    words = [_word_of(one) for one in tokens[end : end + 2]]
    end += 2 if tuple(words) in _FAILED_WORK or words in (["failed", "runs"], ["failed", "run"]) else 1
    return [*tokens[first:end], *compared, *tokens[end:]]


class _Parser:
    """Parses the words of a condition from left to right."""

    def __init__(self, tokens: Sequence[_Token], typed: str) -> None:
        self.tokens, self.typed, self.at = tokens, typed, 0

    def condition(self) -> AlertCondition:
        """Parse all words. Raises `BadAlert`."""
        found = self._subject()
        if found.subject not in {"stale", "down", "oldest", "failed work", "count"}:
            found = self._with_span(found)
        if self.at < len(self.tokens):
            raise BadAlert("rest", self._left(), found.words)
        if found.is_usual and found.sign not in {"<", ">", "<=", ">="}:
            raise BadAlert("usual", found.sign)
        return found

    def _subject(self) -> AlertCondition:
        word, following = self.word(), self.word(1)
        if word == "new" and following in _NUMBERS:
            self.at, word, following = self.at + 1, following, self.word(2)
        if word == "failures" or {word, following} in _FAILED_RUNS:
            return self._some(self._after(1 if word == "failures" else 2, AlertCondition("failed runs", span=AN_HOUR)))
        if (word, following) in _FAILED_WORK:
            return self._some(self._after(2, AlertCondition("failed work")))
        if word in {"oldest", "message", "messages"}:
            return self._oldest(word)
        if word == "stale":
            return self._lasting(self._after(1, AlertCondition("stale", sign=">")))
        if word == "service":
            self.at += 1
            self._skip("is", "are")
            if self.word() not in _DOWN:
                raise BadAlert("condition", self._left() or self.typed)
            return self._lasting(self._after(1, AlertCondition("down", sign=">", value=_DOWN_FOR.total_seconds())))
        if word in {"agent", "workflow"}:
            return self._of_one(word)
        if word in _GROUP_OF:
            self.at += 1
            if self._after_verbs() in {"change", "changes", "changed"}:
                self._skip(*_VERBS)
                return self._after(1, AlertCondition("names", _GROUP_OF[word], sign="changes", span=AN_HOUR))
            name = self._name(lambda: self.sign() is not None)
            return self._compared(AlertCondition("count", _GROUP_OF[word], name), may_be_share=True)
        if word in _NUMBERS:
            return self._number(self._after(1, AlertCondition("number", _NUMBERS[word])))
        raise BadAlert("condition", self.typed)

    def _oldest(self, word: str) -> AlertCondition:
        """Parse what follows ``oldest`` or ``message``."""
        self.at += word == "oldest"
        self._skip("waiting")
        if self.word() not in {"message", "messages"}:
            raise BadAlert("condition", self.typed, "oldest message > 10m")
        self.at += 1
        self._skip("waits", "wait", "waiting", "age")
        if _AMOUNT.fullmatch(self.word()):
            return AlertCondition("oldest", sign=">", value=self._duration().total_seconds())
        return self._compared(AlertCondition("oldest"), is_time=True)

    def _number(self, number: AlertCondition) -> AlertCondition:
        """Parse what follows a number of the statistics."""
        verbs = self._verbs()
        trend = _TRENDS.get(self.word(verbs))
        is_level = self.word(verbs + 1) in {"falls": ("below", "under"), "rises": ("above", "over")}.get(
            trend or "", ()
        )
        if trend and not is_level:
            return self._after(verbs + 1, replace(number, sign=trend, span=AN_HOUR))
        return self._compared(self._after(verbs + 1 if is_level else 0, number), may_be_usual=True)

    def _of_one(self, kind: str) -> AlertCondition:
        """Parse what follows ``agent`` or ``workflow``."""
        self.at += 1
        name = self._name(lambda: self._after_verbs() in {*_TIMES, *_FAILS})
        if _is_negation(_word_of(self.tokens[self.at - 1])):  # never fails
            raise BadAlert("condition", self.typed)
        name = name[1:] if name_key(name[1:]) and name.startswith("@") else name
        self._skip(*_VERBS)
        word = self.word()
        if word in _TIMES:
            about = AlertCondition("time", kind, name, span=AN_HOUR, percentile=_TIMES[word])
            self.at += 1
            self._skip("answer", "response", "run")
            self._skip("time", "times", "duration")
            return self._compared(about, is_time=True)
        if word in _FAILS:
            return self._after(1, AlertCondition("fails", kind, name, ">", 0, AN_HOUR))
        raise BadAlert("agent" if kind == "agent" else "workflow", self._left() or self.typed)

    def _verbs(self) -> int:
        """Return how many verbs that say nothing come here."""
        return next(ahead for ahead in count() if self.word(ahead) not in _VERBS)

    def _after_verbs(self) -> str:
        return self.word(self._verbs())

    def _after(self, words: int, condition: AlertCondition) -> AlertCondition:
        self.at += words
        return condition

    def word(self, ahead: int = 0) -> str:
        """Return the folded word some places ahead; ``""`` if there's none, or a quotation."""
        place = self.at + ahead
        return _word_of(self.tokens[place]) if place < len(self.tokens) else ""

    def _left(self) -> str:
        return " ".join(one.typed for one in self.tokens[self.at :])

    def _skip(self, *words: str) -> None:
        if self.word() in words:
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

    def sign(self) -> tuple[Sign, int] | None:
        """Return the sign here, and its number of words, also those before it that say nothing."""
        ahead = self._verbs()
        word, both = self.word(ahead), f"{self.word(ahead)} {self.word(ahead + 1)}"
        if both in _SIGNS:
            return _SIGNS[both], ahead + 2 + (self.word(ahead + 2) == "than" and both.startswith("no "))
        if word in _SIGNS:
            return _SIGNS[word], ahead + 1 + (self.word(ahead + 1) == "to")
        is_equal = ahead > 0 and self.word(ahead - 1) == "is" and (word in _COUNTED or _AMOUNT.fullmatch(word))
        return ("=", ahead) if is_equal else None

    def _some(self, about: AlertCondition) -> AlertCondition:
        """Parse a comparison; without one, it's about any."""
        is_all = self.at == len(self.tokens) or self.word() in {"in", "within", "per"}
        return replace(about, sign=">", value=0) if is_all else self._compared(about)

    def _compared(
        self, about: AlertCondition, *, is_time: bool = False, may_be_share: bool = False, may_be_usual: bool = False
    ) -> AlertCondition:
        """Parse a sign and what's compared with."""
        is_share = about.subject == "count"
        example = replace(about, sign=">", value=60 if is_time else 40 if is_share else 5, is_share=is_share).words
        sign = self.sign()
        if sign is None:
            raise BadAlert("sign", self._left() or self.typed, example)
        about = self._after(sign[1], replace(about, sign=sign[0]))
        if is_time:
            return replace(about, value=self._duration().total_seconds())
        if may_be_usual and self._is_usual():
            return replace(about, value=1, is_usual=True, span=AN_HOUR)
        begin = self.at
        value, unit = self.amount()
        if may_be_usual and (unit in {"x", "×", "times"} or self._is_usual(is_next=False)):  # noqa: RUF001
            value = value / 100 if unit == "%" else value
            if not (value and self._is_usual() and unit in {"", "%", "x", "×", "times"}):  # noqa: RUF001
                raise BadAlert("usual", self._left() or self.typed)
            return replace(about, value=value, is_usual=True, span=AN_HOUR)
        if unit not in {"", "%"} or (unit == "%" and not may_be_share):
            raise BadAlert("amount", self.typed, example)
        is_whole = unit == "%" or "." not in self.word(begin - self.at)  # 5.000 may be five or five thousand
        if not is_whole or (not unit and value != int(value)):
            raise BadAlert("amount", self.word(begin - self.at), example)
        return replace(about, value=value, is_share=unit == "%")

    def _is_usual(self, *, is_next: bool = True) -> bool:
        """Whether ``usual`` follows, such as ``as many as usual``; with *is_next*, go on after it."""
        ahead = 0
        while self.word(ahead) in {"as", "many", "of", "the"}:
            ahead += 1
        is_usual = self.word(ahead) == "usual"
        self.at += ahead + 1 if is_usual and is_next else 0
        return is_usual

    def amount(self) -> tuple[float, str]:
        """Parse a number and its unit, if there's one."""
        word = self.word()
        if word in _TIMES_USUAL:
            self.at += 1
            return _TIMES_USUAL[word], "x"
        found = _AMOUNT.fullmatch(word)
        if found is None and word not in _COUNTED:
            raise BadAlert("amount", self._left() or self.typed)
        self.at += 1
        value, unit = _COUNTED.get(word, 0.0), ""
        if found:
            whole_part = re.sub("[,']", "", found[1])
            is_alone = found.end() == found.end(1) and len(whole_part) <= 3  # noqa: PLR2004
            if is_alone and re.fullmatch(r"\d{3}", self.word()):  # 5 000
                whole_part, self.at = whole_part + self.word(), self.at + 1
            value, unit = float(f"{whole_part}.{found[2] or found[3] or 0}"), found[4] or ""
        if unit == "k":
            value, unit = value * 1000, ""
        if not unit and self.word() in {"%", "percent", "pct", "x", "×", "times", *_UNIT_OF}:  # noqa: RUF001
            unit, self.at = self.word(), self.at + 1
        return value, "%" if unit in {"percent", "pct"} else unit

    def _duration(self, *, may_be_one: bool = False) -> timedelta:
        """Parse a duration; if it *may_be_one*, also ``hour`` or ``a day``."""
        begin = self.at
        if may_be_one:
            self._skip("a", "an")
            if self.word() in _UNIT_OF:
                return self._unit(1, self.word(), self.at, self.at + 1)
        if (several := _SEVERAL_UNITS.fullmatch(self.word())) and several[2] in _UNIT_OF:
            second = several[4] or ("m" if several[2] == "h" else "")
            first = self._unit(float(several[1]), several[2], begin, begin + 1)
            return first + self._unit(float(several[3]), second, begin, begin + 1)
        try:
            value, unit = self.amount()
        except BadAlert as exc:
            raise BadAlert("duration", exc.typed) from exc
        first = self._unit(value, unit, begin, self.at)
        following = _AMOUNT.fullmatch(self.word())
        if following and _UNIT_OF.get(following[4] or "", first) < _UNIT_OF[unit]:  # 1m 30s
            return first + self._unit(*self.amount(), begin, self.at)
        return first

    def _unit(self, value: float, unit: str, begin: int, end: int) -> timedelta:
        """Return a duration that's typed from word *begin* to *end*."""
        if unit not in _UNIT_OF or not 0 < value <= timedelta(days=400) / _UNIT_OF[unit]:
            raise BadAlert("duration", " ".join(one.typed for one in self.tokens[begin:end]))
        self.at = end
        return value * _UNIT_OF[unit]

    def _lasting(self, about: AlertCondition) -> AlertCondition:
        """Parse a duration, with or without ``for`` or ``>``."""
        self._skip("for", "since")
        if (sign := self.sign()) and sign[0] in {">", ">="}:
            self.at += sign[1]
        if self.at == len(self.tokens) and about.value:
            return about
        return replace(about, value=self._duration().total_seconds())

    def _with_span(self, about: AlertCondition) -> AlertCondition:
        """Parse ``in 24h``, if that follows."""
        word, following = self.word(), self.word(1)
        if about.subject == "number" and (word == "total" or (word == "in" and following in {"total", "all"})):
            return self._after(1 if word == "total" else 2, about)
        is_of_none = word == "for" and about.sign in {"<", "<=", "="}
        if word in _A_PERIOD:
            span = _A_PERIOD[word]
            self.at += 1
        elif word in _WITHIN or is_of_none or (word in {"a", "an"} and following in _UNIT_OF):
            self.at += word not in {"a", "an"}
            self._skip("the")
            self._skip("last", "past", "previous")
            span = self._duration(may_be_one=True)
        else:
            return about
        longest = LONGEST_OF_TURNS if about.is_of_turns else LONGEST
        if not timedelta(minutes=1) <= span <= longest or (about.is_of_statistics and span < AN_HOUR):
            raise BadAlert("span" if about.is_of_statistics else "span_of_turns", in_units(span))
        return replace(about, span=span)
