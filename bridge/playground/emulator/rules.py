"""Composable rules for JSON values; errors are in Slack's words.

A rule takes a value and its JSON pointer, and yields a line for each error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

Rule = Callable[[Any, str], Iterator[str]]
_BEFORE, _BETWEEN, _AFTER = "[ERROR] ", " [json-pointer:", "]"


def problem(words: str, pointer: str) -> str:
    """A line as ``response_metadata.messages`` has them."""
    return f"{_BEFORE}{words}{_BETWEEN}{pointer}{_AFTER}"


def located(line: str) -> tuple[str, str]:
    """The text of a `problem`, and its pointer."""
    words, _, pointer = line.removeprefix(_BEFORE).rpartition(_BETWEEN)
    return (words, pointer.removesuffix(_AFTER)) if line.startswith(_BEFORE) and words else (line, "")


def anything(_value: Any, _pointer: str) -> Iterator[str]:
    yield from ()


def string(most: int, *, least: int = 0) -> Rule:
    """Text of *least* to *most* characters."""

    def rule(value: Any, pointer: str) -> Iterator[str]:
        if not isinstance(value, str):
            yield problem("must provide a string", pointer)
        elif len(value) > most:
            yield problem(f"must be less than {most + 1} characters", pointer)
        elif len(value) < least:
            yield problem(f"must be more than {least - 1} characters", pointer)

    return rule


def boolean(value: Any, pointer: str) -> Iterator[str]:
    if not isinstance(value, bool):
        yield problem("must provide a boolean", pointer)


def number(least: float, most: float) -> Rule:

    def rule(value: Any, pointer: str) -> Iterator[str]:
        if isinstance(value, bool) or not isinstance(value, int | float):
            yield problem("must provide a number", pointer)
        elif not least <= value <= most:
            yield problem(f"must be between {least:g} and {most:g}", pointer)

    return rule


def one_of(*allowed: str) -> Rule:

    def rule(value: Any, pointer: str) -> Iterator[str]:
        if value not in allowed:
            yield problem(f"must be one of {', '.join(allowed)}", pointer)

    return rule


def items(rule: Rule, *, most: int, least: int = 1) -> Rule:
    """A list of *least* to *most* items that follow *rule*."""

    def checked(value: Any, pointer: str) -> Iterator[str]:
        if not isinstance(value, list):
            yield problem("must provide an array", pointer)
            return
        if len(value) > most:
            yield problem(f"no more than {most} items allowed", pointer)
        if len(value) < least:
            yield problem(f"must have at least {least} items", pointer)
        for index, item in enumerate(value):
            yield from rule(item, f"{pointer}/{index}")

    return checked


def shape(required: Mapping[str, Rule], optional: Mapping[str, Rule] | None = None) -> Rule:
    """An object with these fields and no others."""
    known = {**(optional or {}), **required}

    def rule(value: Any, pointer: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield problem("must provide an object", pointer)
            return
        for name in required:
            if name not in value:
                yield problem(f"missing required field: {name}", pointer)
        for name, inner in value.items():
            if name not in known:
                yield problem(f"invalid additional property: {name}", pointer)
            elif inner is not None:
                yield from known[name](inner, f"{pointer}/{name}")

    return rule


def by_type(shapes: Mapping[str, Rule]) -> Rule:
    """An object that follows the rule for its ``type``."""

    def rule(value: Any, pointer: str) -> Iterator[str]:
        if not isinstance(value, dict) or not isinstance(value.get("type"), str):
            yield problem("missing required field: type", pointer)
        elif value["type"] not in shapes:
            yield problem(f"unsupported type: {value['type']}", f"{pointer}/type")
        else:
            yield from shapes[value["type"]](value, pointer)

    return rule


def both(*rules: Rule) -> Rule:

    def rule(value: Any, pointer: str) -> Iterator[str]:
        for rule in rules:
            yield from rule(value, pointer)

    return rule


def at_least_one(*names: str) -> Rule:
    """An object that has one of these fields."""

    def rule(value: Any, pointer: str) -> Iterator[str]:
        if isinstance(value, dict) and not any(value.get(name) for name in names):
            yield problem(f"missing required field: {' or '.join(names)}", pointer)

    return rule


def unique_by(field: str) -> Rule:
    """A list of objects whose *field* is unique."""

    def rule(value: Any, pointer: str) -> Iterator[str]:
        seen: set[str] = set()
        for index, item in enumerate(value if isinstance(value, list) else []):
            name = item.get(field) if isinstance(item, dict) else None
            if name in seen:
                yield problem(f"duplicate {field}: {name}", f"{pointer}/{index}/{field}")
            if isinstance(name, str):
                seen.add(name)

    return rule
