"""The language of alerts, such as ``runs < 1 in 24h`` or ``agent Support p95 > 60s``. Pure functions.

`read_alert` parses what a person types, in any spelling that `bridge.names.folding` knows, by the table `ROWS`.
`AlertCondition.words` is the normal form, which is stored, and is parsed again by `read_condition`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache
from operator import eq, ge, gt, le, lt
from typing import Final, Literal, NamedTuple

from bridge.errors import BadAlert
from bridge.features.statistics.numbers import GROUPS, NUMBERS
from bridge.names.amounts import DURATION, NUMBER, NUMBER_WORD, UNIT, as_typed, in_units, read_duration, read_number
from bridge.names.folding import fold, name_key, undecorated, without_end
from bridge.names.nearness import nearest

Subject = Literal[
    "number", "names", "count", "stale", "down", "time", "fails", "failed runs", "failed work", "oldest"
]  # fmt: skip
Sign = Literal["<", "<=", ">", ">=", "=", "falls", "rises", "changes", ""]

AN_HOUR: Final = timedelta(hours=1)
LONGEST: Final = timedelta(days=28)
LONGEST_OF_TURNS: Final = timedelta(hours=24)
"""The longest period of what is recorded about turns, and of the statistics (`LONGEST`)."""

_LONGEST_DURATION: Final = timedelta(days=400)
LONGEST_TEXT: Final = 500
_MOST_WORDS: Final = 30
_BETWEEN: Final = r"[\s,;:.]*+"  # words

# Patterns of folded text; a blank stands for any.
_VERBS: Final = rf"(?:(?:is|are|was|has|have|been|goes|go|gets|get)\b{_BETWEEN}){{0,5}}"  # at each letter of a name
_FALLS: Final = r"(?:falls?|falling|fell|drops?|dropping|dropped|decreases?|down)\b"
_RISES: Final = r"(?:rises?|rising|rose|grows?|growing|grew|increases?|up)\b"
_SIGNS: Final[dict[Sign, str]] = {
    "<=": r"<=|=<|≤|(?:at most|no more(?: than)?)\b",
    ">=": r">=|=>|≥|(?:at least|no less(?: than)?|reach(?:es)?)\b",
    "=": rf"==?|equals?\b(?: to\b)?|is\b {_BETWEEN}(?=\d|{NUMBER_WORD})",
    "<": rf"<|(?:{_FALLS} )?(?:below|under)\b|(?:less|fewer|lower|smaller) th[ae]n\b",
    ">": rf">|(?:{_RISES} )?(?:above|over)\b|exceeds?\b|(?:more|greater|higher|larger|longer|older) th[ae]n\b",
}
_SIGN: Final = rf"(?:[<>=≤≥]|(?<!\w){_VERBS}(?:{'|'.join(_SIGNS.values())}))"
_QUOTED: Final = "\"\0*\"|'\0*'"
_UNQUOTED: Final = r'[^"\0]'
_NUMBERS: Final = {word: number.name for number in NUMBERS for word in (number.name, number.noun(1))}
_GROUP_OF: Final = {word: group.name for group in GROUPS for word in (group.name, group.one)}
_NUMBER: Final = rf"(?:new )?(?P<of>{'|'.join(_NUMBERS)})"
_GROUP: Final = rf"(?P<of>{'|'.join(_GROUP_OF)})"
_FAILED_RUNS: Final = r"failures|fail(?:s|ed)?[\s-]runs?|runs? fail(?:s|ed)?"
_FAILED_WORK: Final = r"failed[\s-]work|dead[\s-]letters?"
_PERCENTILES: Final = {"p95": 95, "p50": 50, "median": 50}
_ENDS_OF_ONE: Final = "(?:p95|p50|median|fails?|failed|failing)"
_NAME_OF_ONE: Final = rf"{_QUOTED}|(?:(?!(?<!\w){_VERBS}{_ENDS_OF_ONE}(?!\w)){_UNQUOTED})+"
_ONE: Final = rf"(?P<of>agent|workflow) (?P<name>{_NAME_OF_ONE})(?<!\s){_BETWEEN}{_VERBS}"
_FILLER: Final = "alert|me|us|when|whenever|if|the|a|an|any|there|statistics|stats|project|is|are|was|has|have|been"
_FILLERS: Final = rf"(?:(?:{_FILLER})(?![\w'-])[\s,;:.]*(?=\S))*"
"""Words before a condition that say nothing."""

_TIMES_USUAL: Final = {"twice": 2.0, "double": 2.0, "triple": 3.0, "half": 0.5}
_UNITS_OF_AMOUNTS: Final = {"percent": "%", "pct": "%", "×": "x", "times": "x"}  # noqa: RUF001
_UNIT: Final = rf"[%x×]|(?:percent|pct|times|{UNIT})\b|(?<=\d)[a-z]+"  # noqa: RUF001
_AMOUNT: Final = rf"(?P<number>{NUMBER}|(?:{'|'.join(_TIMES_USUAL)})\b)\s*(?P<unit>{_UNIT})?"
_USUAL: Final = r"(?:(?:as|many|of|the) )*usual\b"
_A_PERIOD: Final = {"hourly": timedelta(hours=1), "daily": timedelta(days=1), "weekly": timedelta(weeks=1)}
_WITHIN: Final = "in|within|per|over|during|every|each"
_INVERTED: Final = (
    rf"(?P<compared>(?P<none>no|zero|0)|{_SIGN}\s*{_AMOUNT}) (?P<subject>{_FAILED_RUNS}|{_FAILED_WORK}|{_NUMBER})(?!\w)"
)
_QUOTATION: Final = re.compile(r""""[^"]*"|(?<!\S)'(?:[^']|'(?=\w))*'""")  # an apostrophe is within a word
_CHANNEL: Final = re.compile(
    r"(?<!\S)(?:(?:in|to|into|on|channel)[,;:.]?\s{1,5}){0,3}(?P<channel>#(?!\d+[.,;:]*(?!\S))\S+)"
)
_RUN: Final = re.compile(
    r"""(?: [,;\s] \s{0,5} (?:then|and)\b [,;:]? | \s{0,5} (?:→|->) | [,;] ){1,3} \s{0,5} (?:run|start|trigger)(?![\w-])
    [\s,;:.]* (?: the\s+workflow(?!\S)\s* | workflow\s+ (?=["']) )? (?P<name>.*)""",
    re.VERBOSE | re.DOTALL,
)
_NEGATIONS: Final = frozenset({"not", "never", "without", "except", "unless", "but", "!"})
"""Words that turn a condition into its opposite, or limit it; none can."""


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
                return f"{self.of} {quoted(self.name)} fails{within}"
            case "time":
                which = f"{self.of} {quoted(self.name)} {'median' if self.percentile == 50 else 'p95'}"  # noqa: PLR2004
                return f"{which} {self.sign} {in_units(timedelta(seconds=self.value))}{within}"
            case "oldest":
                return f"oldest message {self.sign} {in_units(timedelta(seconds=self.value))}"
            case "number" if not self.is_usual and self.sign in {"falls", "rises"}:
                return f"{self.of} {self.sign}{within}"
            case "count":
                called = next(group.one for group in GROUPS if group.name == self.of)
                return f"{called} {quoted(self.name)} {self.sign} {as_typed(self.value)}{'%' if self.is_share else ''}"
            case _:
                what = self.of if self.subject == "number" else self.subject
                usual = "x usual" if self.is_usual else ""
                return f"{what} {self.sign} {as_typed(self.value)}{usual}{within}"

    def called(self, name: str) -> AlertCondition:
        """Return it with the *name* of what's meant by an ID, unless it couldn't be read with that."""
        named = replace(self, name=" ".join(name.split()))
        with suppress(BadAlert):
            return named if replace(read_condition(named.words), name=named.name) == named else self
        return self

    def holds_for(self, number: float) -> bool:
        """Whether *number* compares with the value as it should."""
        return self.compares(number, self.value)

    def compares(self, number: float, other: float) -> bool:
        """Whether *number* compares with the *other* one as it should."""
        return _COMPARE[self.sign](number, other)


_COMPARE: Final[dict[str, Callable[[float, float], bool]]] = {"<": lt, "<=": le, ">": gt, ">=": ge, "=": eq}


def number_shown(value: float) -> str:
    """Write a number for people: ``1,234``, ``0.5``."""
    return f"{round(value):,}" if abs(value - round(value)) < 0.05 else f"{value:,.1f}"  # noqa: PLR2004 - a digit


def quoted(name: str) -> str:
    """Put a name into the quotation marks in which it's read as one, if there are any: some names have both."""
    in_marks = (f"{mark}{name}{mark}" for mark in "\"'")
    return next((text for text in in_marks if re.fullmatch(_QUOTED, _masked(fold(text).text))), f'"{name}"')


@dataclass(frozen=True, slots=True)
class TypedAlert:
    """An alert as typed: its *condition*, the name of the workflow to *run*, and the *channel*, or ``""``."""

    condition: AlertCondition
    run: str = ""
    channel: str = ""


class _Reader:
    """Reads a condition from left to right. What's quoted is neither a word nor a sign."""

    def __init__(self, text: str, typed: str) -> None:
        self.typed, self.at, self.folded = typed, 0, fold(text)
        self.text = _masked(self.folded.text)

    def take(self, pattern: str) -> re.Match[str] | None:
        """Go on after what comes here, if it's like *pattern*."""
        rest = self.text[self.at :]
        match = _compiled(pattern).match(self.text, self.at + len(rest) - len(rest.lstrip(" \n,;:.")))
        self.at = match.end() if match else self.at
        return match

    def left(self) -> str:
        """Return what's left, or everything if nothing is."""
        return " ".join(self.folded.after(self.at).split()).strip(",;:. ") or self.typed

    def condition(self) -> AlertCondition:
        """Parse a condition. Raises `BadAlert`."""
        self.take(_FILLERS)
        if match := self.take(_INVERTED):
            subject, compared = (self.folded.between(*match.span(name)) for name in ("subject", "compared"))
            words = f"{subject} {'< 1' if match['none'] else compared}, {self.folded.after(self.at)}"
            return _Reader(words, self.typed).condition()
        for row in ROWS:
            if match := self.take(rf"(?:{row.pattern})(?!\w)"):
                about = self._about(row.about, match)
                condition = self.within(row.follows(self, about) if row.follows else about)
                break
        else:
            if kind := self.take(r"(agent|workflow)(?!\w)"):
                raise BadAlert("name" if self.take(rf"{_VERBS}{_ENDS_OF_ONE}(?!\w)") else kind[1], self.typed)
            if self.take(rf"(?:{_GROUP})(?!\w)"):
                raise BadAlert("name", self.typed)
            raise BadAlert("condition", self.left() if self.take(r"service(?: is| are)?(?!\w)") else self.typed)
        if self.text[self.at :].strip(" ,;:."):
            raise BadAlert("rest", self.left(), condition.words)
        if condition.is_usual and condition.sign not in {"<", ">", "<=", ">="}:
            raise BadAlert("usual", condition.sign)
        return condition

    def _about(self, about: AlertCondition, match: re.Match[str]) -> AlertCondition:
        """Return what a row is about, with its pattern's *match*. Raises `BadAlert`."""
        fields = match.groupdict()
        of, typed, percentile = (
            fields.get("of", ""),
            fields.get("name"),
            _PERCENTILES.get(fields.get("percentile", ""), 0),
        )
        about = replace(about, of=_NUMBERS.get(of) or _GROUP_OF.get(of) or of, percentile=percentile)
        if typed is None:
            return about
        begin, end = match.span("name")
        is_quoted = re.fullmatch(_QUOTED, typed) is not None
        name = " ".join(self.folded.between(begin + is_quoted, end - is_quoted).split())
        if not name_key(name):
            raise BadAlert("name", self.typed)
        if not is_quoted and _is_negation(typed.split()[-1]):  # never fails
            raise BadAlert("condition", self.typed)
        is_handle = about.subject != "count" and name.startswith("@") and name_key(name[1:])
        return replace(about, name=name[1:] if is_handle else name)

    def within(self, about: AlertCondition) -> AlertCondition:
        """Parse ``in 24h``, if that follows and there can be a period."""
        is_number = about.subject == "number"
        if not (about.span or is_number) or (is_number and self.take(r"(?:in )?total\b|in all\b")):
            return about
        begins = f"(?:{_WITHIN}{'|for' if about.sign in {'<', '<=', '='} else ''})\\b|/"  # no runs for a day
        if period := self.take(rf"({'|'.join(_A_PERIOD)})\b"):
            span = _A_PERIOD[period[1]]
        elif self.take(rf"(?:{begins})(?: the\b)?(?: (?:last|past|previous)\b)?|(?=an? {UNIT})"):
            span = self.duration(rf"{DURATION}|(?:an? )?{UNIT}")
        else:
            return about
        longest = LONGEST_OF_TURNS if about.is_of_turns else LONGEST
        if not timedelta(minutes=1) <= span <= longest or (about.is_of_statistics and span < AN_HOUR):
            raise BadAlert("span" if about.is_of_statistics else "span_of_turns", in_units(span))
        return replace(about, span=span)

    def lasting(self, about: AlertCondition) -> AlertCondition:
        """Parse a duration, with or without ``for`` or ``>``."""
        self.take(r"(?:for|since)\b")
        self.take(rf"{_VERBS}(?:{_SIGNS['>=']}|{_SIGNS['>']})")
        if self.take("$") and about.value:
            return about
        return replace(about, value=self.duration(DURATION).total_seconds())

    def longer(self, about: AlertCondition) -> AlertCondition:
        """Parse a duration to compare with; the sign before it can be left out if there's one already."""
        if not (about.sign and self.take(rf"(?={NUMBER}|$)")):
            about = self.signed(about, replace(about, sign=">", value=60))
        return replace(about, value=self.duration(DURATION).total_seconds())

    def duration(self, pattern: str) -> timedelta:
        """Parse a duration. Raises `BadAlert`."""
        match = self.take(pattern) or self.take(_AMOUNT)
        span = read_duration(match[0]) if match else None
        if not span or span > _LONGEST_DURATION:
            raise BadAlert("duration", self.folded.between(*match.span()) if match else self.left())
        return span

    def signed(self, about: AlertCondition, example: AlertCondition) -> AlertCondition:
        """Parse a sign. Raises `BadAlert`."""
        for sign, pattern in _SIGNS.items():
            if self.take(rf"{_VERBS}(?:{pattern})"):
                return replace(about, sign=sign)
        raise BadAlert("sign", self.left(), example.words)

    def compared(self, about: AlertCondition) -> AlertCondition:
        """Parse a sign, and a number, a share, or a multiple of what's usual. Raises `BadAlert`."""
        may_be_usual, may_be_share = about.subject == "number", about.subject == "count"
        example = replace(about, sign=">", value=40 if may_be_share else 5, is_share=may_be_share)
        if about.sign and self.take(r"(?=$|(?:in|within|per)\b)"):
            return about
        about = self.signed(about, example)
        if may_be_usual and self.take(_USUAL):
            return replace(about, value=1, is_usual=True, span=AN_HOUR)
        match = self.take(_AMOUNT)
        if match is None:
            raise BadAlert("amount", self.left())
        number, unit = match["number"], _UNITS_OF_AMOUNTS.get(match["unit"], match["unit"] or "")
        is_multiple = number in _TIMES_USUAL
        value = _TIMES_USUAL[number] if is_multiple else read_number(number)
        is_usual = self.take(_USUAL) is not None
        if may_be_usual and (is_usual or is_multiple or unit == "x"):
            if not (value and is_usual and unit in {"", "%", "x"}):
                raise BadAlert("usual", self.left())
            return replace(about, value=value / 100 if unit == "%" else value, is_usual=True, span=AN_HOUR)
        if is_usual or is_multiple or unit not in {"", "%"} or (unit == "%" and not may_be_share):
            raise BadAlert("amount", self.typed, example.words)
        if not unit and ("." in number or value != int(value)):  # 5.000 may be five or five thousand
            raise BadAlert("amount", number, example.words)
        return replace(about, value=value, is_share=unit == "%")


class ConditionRow(NamedTuple):
    """A form of conditions: the *pattern* of how it begins, and what it's *about*; the pattern's groups are its fields.

    *follows* reads the rest. The *example* is shown to those who type words that are like its *hints*.
    """

    pattern: str
    about: AlertCondition
    follows: Callable[[_Reader, AlertCondition], AlertCondition] | None
    example: str
    hints: str


ROWS: Final = (
    ConditionRow(
        r"(?:oldest )?(?:waiting )?messages?(?: (?:waits?|waiting|age))?", AlertCondition("oldest", sign=">"),
        _Reader.longer, "oldest message > 10m", "message messages oldest waiting waits",
    ),
    ConditionRow(
        rf"{_ONE}(?P<percentile>p95|p50|median)(?: (?:answer|response|run))?(?: (?:times?|duration))?",
        AlertCondition("time", span=AN_HOUR), _Reader.longer, "agent Support p95 > 60s",
        "p95 p50 p99 median average mean percentile slow slower slowest agent answer answers",
    ),
    ConditionRow(
        _FAILED_RUNS, AlertCondition("failed runs", sign=">", span=AN_HOUR), _Reader.compared,
        "failed runs > 5 in 1h", "failed failures failure",
    ),
    ConditionRow(
        rf"{_ONE}(?:fails?|failed|failing)", AlertCondition("fails", sign=">", span=AN_HOUR), None,
        'workflow "Daily digest" fails', "fails fail failing workflow",
    ),
    ConditionRow(
        rf"(?:{_GROUP}) {_VERBS}chang(?:es?|ed)", AlertCondition("names", sign="changes", span=AN_HOUR), None,
        "tags change", "tag tags categories change changes new",
    ),
    ConditionRow(
        rf"(?:{_GROUP}) (?P<name>{_QUOTED}|(?:(?!{_SIGN}){_UNQUOTED})+)", AlertCondition("count"), _Reader.compared,
        "category billing > 40%", "% percent share category",
    ),
    ConditionRow(
        r"service (?:is |are )?(?:down|unreachable|unavailable|offline)", AlertCondition("down", sign=">", value=300),
        _Reader.lasting, "service down 5m", "down unreachable unavailable offline outage",
    ),
    ConditionRow("stale", AlertCondition("stale", sign=">"), _Reader.lasting, "stale 6h", "stale updated outdated old"),
    ConditionRow(
        _FAILED_WORK, AlertCondition("failed work", sign=">"), _Reader.compared,
        "failed work > 0", "dead letter letters work",
    ),
    ConditionRow(
        rf"(?:{_NUMBER}) {_VERBS}{_FALLS}(?! (?:below|under)\b)",
        AlertCondition("number", sign="falls", span=AN_HOUR), None, "prompts falls", "prompt prompts",
    ),
    ConditionRow(
        rf"(?:{_NUMBER}) {_VERBS}{_RISES}(?! (?:above|over)\b)",
        AlertCondition("number", sign="rises", span=AN_HOUR), None, "prompts rises", "",
    ),
    ConditionRow(_NUMBER, AlertCondition("number"), _Reader.compared, "runs > 3x usual", "usual normal usually"),
)  # fmt: skip
_LIMITS: Final = ("limit", "limits", "quota", "quotas")
"""Words of people who'd be alerted before they reach a limit, which the bridge tells them anyway."""


@lru_cache(maxsize=4096)
def read_condition(words: str) -> AlertCondition:
    """Parse a stored condition, without a workflow to run and a channel. Raises `BadAlert`."""
    read = _read(words, 2 * LONGEST_TEXT)
    if read.run or read.channel:
        raise BadAlert("rest", read.run or read.channel, read.condition.words)
    return read.condition


def read_alert(typed: str) -> TypedAlert:
    """Parse an alert as typed: a condition, then ``then run WORKFLOW`` and a channel. Raises `BadAlert`."""
    return _read(typed, LONGEST_TEXT)


def _read(typed: str, longest: int) -> TypedAlert:
    if len(typed) > longest:
        raise BadAlert("condition", typed, _nearest_form(typed[:longest]))
    typed = _unquoted(without_end(undecorated(typed.strip()), " .!"))
    try:
        text, channel, folded = typed, "", fold(typed)
        if match := _CHANNEL.search(_masked(folded.text)):
            channel = without_end(folded.between(*match.span("channel")), ",;:.")
            text = f"{folded.until(match.start())} {folded.after(match.end())}"
        text, run = _without_run(text)
        return TypedAlert(_Reader(text, typed if text.strip(" ,;:.") else "").condition(), run, channel)
    except BadAlert as exc:
        is_negated = any(_is_negation(word) for word in _masked(fold(typed).text).split())
        exc.near = exc.near if exc.near and (exc.part == "rest" or not is_negated) else _nearest_form(typed)
        raise


def _nearest_form(typed: str) -> str:
    """Return the condition that looks most like what's *typed*."""
    words = re.findall(r"[\w'!]+|%", fold(typed).text)[:_MOST_WORDS]
    if any(_is_negation(word) for word in words):
        return "stale 6h" if "stale" not in words else "failed runs > 5 in 1h"
    forms = ((_LIMITS, "runs > 100 in 24h"), *((row.hints.split(), row.example) for row in ROWS))
    is_like = (example for hints, example in forms if any(nearest(word, hints, least=0.85) for word in words))
    return next(is_like, "runs < 1 in 24h")


def _is_negation(word: str) -> bool:
    return word.strip(",;:.") in _NEGATIONS or word.startswith("!") or word.endswith("n't")


def _masked(folded: str) -> str:
    """Return a text with NULs in place of what's quoted."""
    return _QUOTATION.sub(lambda quoted: quoted[0][0] + "\0" * (len(quoted[0]) - 2) + quoted[0][-1], folded)


def _unquoted(text: str) -> str:
    """Return *text* without quotation marks around it, and without one that isn't closed."""
    folded = fold(text)
    masked = _masked(folded.text)
    if re.fullmatch(_QUOTED, masked):
        return folded.between(1, len(masked) - 1)
    opened = next((mark.start() for mark in re.finditer(rf'{_QUOTED}|(?P<open>")', masked) if mark["open"]), None)
    return text if opened is None else f"{folded.until(opened)} {folded.after(opened + 1)}"


def _without_run(typed: str) -> tuple[str, str]:
    """Split off the workflow to run. Raises `BadAlert`."""
    folded = fold(typed)
    match = _RUN.search(_masked(folded.text))
    if match is None:
        return typed, ""
    begin, end = match.span("name")
    is_quoted = re.fullmatch(_QUOTED, match["name"].strip()) is not None
    name = " ".join(folded.between(begin + is_quoted, len(folded.text[:end].rstrip()) - is_quoted).split())
    if not name:
        raise BadAlert("run", "")
    return folded.until(match.start()), name


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    spaced = pattern.replace(" ", r"\s++")  # possessive: a long run of blanks is tried once
    return re.compile(f"{spaced}", re.DOTALL)
