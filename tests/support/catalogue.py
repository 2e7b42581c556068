"""The words of `bridge.words`, as they are found in it: nothing is listed by hand."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

from bridge import words

_PLACE = re.compile(r"\{(?P<name>\w*)[^{}]*\}")
_EXAMPLES: dict[Any, Sequence[Any]] = {
    int: (0, 1, 2, 3, 11, 22, 1234),
    str: ("runs", "categories", "message"),
    Sequence[str]: (["/stats"], ["/stats report", "/stats reports"]),
}


def constants() -> Iterator[tuple[str, str]]:
    """Go through the constants and templates, by name; what one name has several of, by ``NAME[key]``."""
    for name, value in vars(words).items():
        if name.isupper():
            yield from [(name, value)] if isinstance(value, str) else ((f"{name}[{key}]", value[key]) for key in value)


def functions() -> Iterator[tuple[str, Callable[..., str]]]:
    """Go through the functions, by name."""
    for name, value in vars(words).items():
        if inspect.isfunction(value):
            yield name, value


def said() -> Iterator[tuple[str, str]]:
    """Go through all that can be said: templates with a name in each place, functions with examples."""
    yield from ((name, _PLACE.sub("Weekly import", text)) for name, text in constants())
    for name, function in functions():
        hints = typing.get_type_hints(function)
        for given in product(*(_EXAMPLES[hints[parameter]] for parameter in inspect.signature(function).parameters)):
            yield f"{name}{given}", function(*given)


def places(template: str) -> set[str]:
    """Name the places of a template."""
    return {found["name"] for found in _PLACE.finditer(template)}
