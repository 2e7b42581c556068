"""Text from outside takes time linear in its length: in every regular expression, and in every function of a text."""

from __future__ import annotations

import gc
import inspect
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from bridge.slack.blockkit.samples import Sample
from support.adversarial import TABLES, TEXTS, of_length
from support.arguments import argument, type_hints
from support.layouts import ROOMS as SAMPLED, samples_of
from support.patterns import ROOT, Used, calls, patterns, slow_texts
from support.tables import each

pytestmark = pytest.mark.timeout(600)  # on a busy machine, whose speed must not matter


def smallest_step(clock: Callable[[], float]) -> float:
    began = clock()
    while (now := clock()) == began:
        pass
    return now - began


IS_FINE = smallest_step(time.process_time) < 0.0005  # some kernels count in ticks of four milliseconds
CLOCK = time.process_time if IS_FINE else time.perf_counter  # of glances; only the first ignores other processes
GLANCE = 12_000  # characters; below, some functions have a quick way
QUICK = 0.012  # seconds for a glance; what grows with the square of the text takes longer
MEASURABLE = 0.01 if IS_FINE else 0.03  # seconds of the processor
TIMES, GROWTH = 4, 2.5  # a text so many times as long may cost that much more per character; with the square, it's 4
READABLE = 0.025  # seconds for the longest text that a table of rows reads; the slowest takes 0.01
CLEARLY = 1.5  # what costs so little more per character is linear, however roughly it's measured

_NOT_ON_A_TEXT = (
    "bridge.app", "bridge.cli", "bridge.logs", "bridge.playground.local_server", "bridge.queue.redis",
    "bridge.queue.scripting", "bridge.slack.blockkit.commonmark", "bridge.playground.emulator.limits.expanded",
    "bridge.slack.blockkit.markdown.messages", "bridge.slack.blockkit.markdown.pieces",
    "bridge.slack.blockkit.markdown.neutralized", "bridge.names.matching.pick",
    "bridge.slack.blockkit.mrkdwn.mention_of",
)  # fmt: skip
"""What connects, prints, reads what's ours or an ID, is called with a text that was cut to a message's length, or is
the expensive part of another function here: `laid_out`, `harmless_title`, `picked`."""


@contextmanager
def stopped_after(limit: float) -> Iterator[None]:
    """Raise TimeoutError in what takes more CPU time; regular expressions look for signals, too."""

    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def seconds(work: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> float:
    gc.disable()  # it looks at all that the test process has loaded, several times in a long text
    began = clock()
    try:
        work()
    finally:
        took = clock() - began
        gc.enable()
    return took


def slowness(made: Callable[[int], Callable[[], Any]]) -> str:
    """Compare a long and a short text if a glance is suspicious; several looks, since machines are noisy."""
    try:
        with stopped_after(10):
            if is_linear_at_a_glance(made):
                return ""
            length = GLANCE
            while (short := seconds(made(length))) < MEASURABLE and length < 16 * GLANCE:
                length *= 2
            for _ in range(3):
                if (long := seconds(made(TIMES * length))) < GROWTH * TIMES * max(short, MEASURABLE):
                    return ""
                short = max(short, seconds(made(length)))
    except TimeoutError:
        return "stopped"
    return f"{short * 1000:.2f} ms, {long * 1000:.2f} ms"


def is_linear_at_a_glance(made: Callable[[int], Callable[[], Any]]) -> bool:
    """Whether a text costs next to nothing, or in proportion to its length; the fastest of several looks counts."""
    longest = shortest = float("inf")
    for _ in range(2):
        longest = min(longest, seconds(made(GLANCE), CLOCK))
        if longest < QUICK:
            return True
        for _ in range(2):
            shortest = min(shortest, seconds(made(GLANCE // TIMES), CLOCK))
        if longest < CLEARLY * TIMES * shortest:
            return True
    return False


# Patterns


MODULES = [  # not imported here: each process that runs tests collects this file
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted(Path(ROOT, "bridge").rglob("*.py"))
    if path.stem != "__main__"
]


def room_of(module: str) -> str:
    return ".".join(module.split(".")[:3])


ROOMS = list(dict.fromkeys(map(room_of, MODULES)))


def test_the_patterns_are_found() -> None:
    assert len(patterns()) > 150


@each("room", ROOMS)
def test_no_pattern_costs_more_than_its_text(room: str) -> None:
    def of(used: Used, work: Callable[[Any], Any], before: str, unit: str, after: str) -> Callable[[int], Any]:
        def made(length: int) -> Callable[[], Any]:
            text: Any = before + unit * (length // len(unit)) + after
            text = text.encode("latin-1", errors="replace") if isinstance(used.pattern.pattern, bytes) else text
            return lambda: work(text)

        return made

    slow = (
        (used.place, text, how)
        for used in patterns()
        if room_of(used.module) == room
        for text in dict.fromkeys(slow_texts(used.pattern))
        for work in calls(used)
        if (how := slowness(of(used, work, *text)))
    )

    assert next(slow, None) is None


# Rows, which are compiled where they're read, and their readers, for texts of limited length


@each("table", TABLES)
def test_no_row_costs_more_than_a_glance(table: str) -> None:
    rows, read, longest = TABLES[table]
    read(of_length(":fox: ", longest))  # loads what's loaded once: patterns, time zones, emoji

    def is_slow(work: Callable[[str], Any], text: str) -> bool:
        return all(seconds(lambda: work(text)) > READABLE for _ in range(3))  # the first quick look is enough

    texts = {
        begin + of_length(unit, longest - len(begin + end)) + end
        for row in rows
        for begin, unit, end in slow_texts(row)
    }
    with stopped_after(300):
        slow = (
            (work, text)
            for text in sorted(texts)
            for work in (read, *(row.match for row in rows))
            if is_slow(work, text)
        )

        assert next(slow, None) is None


# Functions


@cache
def sampled() -> set[Callable[..., Any]]:
    """The layouts, whose samples are measured."""
    return {sample.layout for room in SAMPLED for sample in samples_of(room, "x")}


def functions(module: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield every public function of *module* that takes a text, if its other arguments can be made."""
    if module.startswith(_NOT_ON_A_TEXT) or module.endswith(".samples"):
        return  # isn't even imported
    for name, function in vars(import_module(module)).items():
        plain = inspect.unwrap(function) if callable(function) else function  # without its cache
        is_here = inspect.isfunction(plain) and plain.__module__ == module and not name.startswith("_")
        if not is_here or inspect.iscoroutinefunction(plain) or f"{module}.{name}" in _NOT_ON_A_TEXT:
            continue
        hints = type_hints(plain)
        if plain in sampled():
            continue
        if any(hints.get(one.name) in (str, bytes) for one in needed(plain)):
            with suppress(AssertionError, TypeError, ValueError, RecursionError):
                arguments(plain, "x")
                yield name, plain


signature = cache(inspect.signature)


def needed(function: Callable[..., Any]) -> list[inspect.Parameter]:
    parameters = signature(function).parameters.values()
    return [one for one in parameters if one.default is one.empty and one.kind is not one.VAR_POSITIONAL]


def arguments(function: Callable[..., Any], text: str) -> tuple[list[Any], dict[str, Any]]:
    """Make arguments of their types, with *text* for each text in them."""
    hints = type_hints(function)
    positional, named = list[Any](), dict[str, Any]()
    for one in needed(function):
        value = argument(hints[one.name], text)
        if one.kind is one.KEYWORD_ONLY:
            named[one.name] = value
        elif one.kind is not one.VAR_KEYWORD:
            positional.append(value)
    return positional, named


def test_the_functions_are_found() -> None:
    found = [f"{module}.{name}" for module in MODULES for name, _ in functions(module)]

    known = {
        "slack.blockkit.markdown.harmless_title",
        "features.conversations.contents.transcript",
        "slack.parts.pieces",
    }
    assert {f"bridge.{name}" for name in known} <= set(found)
    assert len(found) > 200
    assert len(sampled()) > 150


@lru_cache(maxsize=4)
def samples_with(room: str, text: str) -> dict[str, list[Sample]]:
    """The samples of each layout of a room."""
    of_layout: dict[str, list[Sample]] = {}
    for sample in samples_of(room, text):
        of_layout.setdefault(sample.name, []).append(sample)
    return of_layout


@each("room", SAMPLED)
def test_no_layout_costs_more_than_its_text(room: str) -> None:
    def of(name: str, unit: str) -> Callable[[int], Callable[[], Any]]:
        def made(length: int) -> Callable[[], Any]:
            samples = samples_with(room, of_length(unit, length))[name]
            return lambda: [sample.shown() for sample in samples[:2]]  # others differ in what isn't a text

        return made

    slow = (
        (name, what, how)
        for what, unit in TEXTS.items()
        for name in samples_with(room, "x")
        if (how := slowness(of(name, unit)))
    )

    assert next(slow, None) is None


@each("room", [*ROOMS, "support.adversarial"])
def test_no_function_costs_more_than_its_text(room: str) -> None:
    def of(function: Callable[..., Any], unit: str) -> Callable[[int], Callable[[], Any]]:
        def made(length: int) -> Callable[[], Any]:
            positional, named = arguments(function, of_length(unit, length))

            def work() -> None:
                with suppress(Exception):
                    found = function(*positional, **named)
                    if isinstance(found, Iterator):
                        list(found)

            return work

        return made

    slow = (
        (module, name, what, how)
        for module in [*MODULES, "support.adversarial"]
        if room_of(module) == room
        for name, function in functions(module)
        for what, unit in TEXTS.items()
        if (how := slowness(of(function, unit)))
    )

    assert next(slow, None) is None
