"""JSON as people type and read it."""

from __future__ import annotations

import json
import re
from typing import Any, Final

from bridge.errors import BadInput
from bridge.json_reader import DEEPEST, TooDeep, read_json
from bridge.names.folding import fold

_JSON_PROBLEMS: Final = {  # Python's error messages, the same since 3.5, and plain ones
    "Expecting value": "expected a value",
    "Expecting ',' delimiter": "expected a comma, } or ]",
    "Expecting ':' delimiter": "expected a colon",
    "Expecting property name": "expected a name in double quotes",
    "Illegal trailing comma": "expected no comma before the end",
    "Extra data": "expected nothing after the end",
    "Unterminated string": "expected a closing quote for the text that begins here",
    "Invalid control character": "expected no line break or tab within a text",
    "Invalid \\": "expected another character after the backslash",
}

_AROUND = 40  # characters shown before and after a position
_MOST_INDENTED = 100_000  # characters
_DEEPEST_INDENTED = 20
_TYPOGRAPHIC = str.maketrans(dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'))
_STRING_OR_BETWEEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"?|[^"]+', re.DOTALL)
_NOTE: Final = 30  # characters for how many more lines there are
_FIRST: Final = 20  # characters of a text, among which JSON begins


def typed_json(text: str) -> Any:
    """Read JSON that a person typed. Otherwise, quotes are straightened, and what's between the strings is folded.

    Raises `BadInput`, also for values that only Python accepts (``NaN``) and that can't be sent.
    """
    straight = text.translate(_TYPOGRAPHIC)
    pieces = [(piece, fold(piece).text) for piece in _STRING_OR_BETWEEN.findall(straight)]
    folded = "".join(piece if '"' in between else between for piece, between in pieces)
    for form in (text, folded):
        try:
            return _strict(form)
        except BadInput:
            continue
    return _strict(straight.replace("\u00a0", " "))  # its errors have the places that people see


def typed_input(text: str) -> Any:
    """Read a JSON object, array or double-quoted string as that value; anything else is a string.

    So ``3``, ``true`` and text that only starts with a quotation are strings: a sentence needs no quotes. An invalid
    object or array raises `BadInput`: it's more likely a typo than text.
    """
    begins = fold(text, _FIRST).text.lstrip()
    if not begins.startswith(("{", "[", '"')):
        return text
    try:
        return typed_json(text)
    except BadInput:
        if begins.startswith('"'):
            return text
        raise


def json_kind(value: Any) -> str:
    """Name what a typed input was read as: ``a JSON object``, ``text``."""
    match value:
        case str():
            return "text"
        case dict():
            return "a JSON object"
        case list():
            return "a JSON array"
        case _:
            return "a JSON value"


def _strict(text: str) -> Any:
    try:
        value = read_json(text)
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except json.JSONDecodeError as exc:
        problems = (problem for prefix, problem in _JSON_PROBLEMS.items() if exc.msg.startswith(prefix))
        raise BadInput(next(problems, "expected something else"), exc.lineno, exc.colno) from exc
    except UnicodeEncodeError as exc:
        raise BadInput("half of a character pair", 1, 1) from exc
    except TooDeep as exc:
        raise BadInput(f"nested more than {DEEPEST} levels deep", 1, 1) from exc
    except ValueError as exc:
        raise BadInput("not a value that can be sent", 1, 1) from exc
    return value


def pretty(value: Any) -> str:
    """Write JSON for people: indented, with letters unescaped; if it's too large or deep, one item per line.

    Indenting takes 0.1 ms per kB and, in depth d, d times as long.
    """
    try:
        written = json.dumps(value, ensure_ascii=False, default=str)
        if len(written) > _MOST_INDENTED or _is_deep(value, _DEEPEST_INDENTED):
            return json.dumps(value, separators=(",\n", ": "), ensure_ascii=False, default=str)
        return json.dumps(value, indent=2, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):  # nested deeper than Python's limit
        return f"({type(value).__name__}, nested too deeply to be shown)"


def beginning(value: Any, limit: int) -> str:
    """Write the beginning of *value*, indented: at least *limit* characters if there are as many, and few more."""
    written, length = [], 0
    try:
        for chunk in json.JSONEncoder(indent=2, ensure_ascii=False, default=str).iterencode(value):
            written.append(chunk)
            length += len(chunk)
            if length >= limit:
                break
    except (ValueError, RecursionError):
        return f"({type(value).__name__}, nested too deeply to be shown)"
    return "".join(written)


def line_count(value: Any) -> int:
    """Count the lines of *value* as indented JSON."""
    lines, left = 1, [value]
    while left:
        value = left.pop()
        inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
        if inner:
            lines += len(inner) + 1  # the closing bracket
            left += inner
    return lines


def first_lines(text: str, most: int, limit: int, count: int = 0) -> str:
    """Return the first lines of *text*, *most* lines and *limit* characters, and say how many more there are.

    A line that doesn't fit is left out, or cut if the lines before it are short. If *text* is only a beginning, *count*
    is how many lines there are.
    """
    text = text.strip("\n")
    count = max(count, text.count("\n") + 1)
    if count <= most and len(text) <= limit:
        return text
    shown: list[str] = []
    room = limit - _NOTE
    for line in text.split("\n", most)[:most]:
        if len(line) > room:
            if room > limit // 2:
                shown.append(line[:room].rstrip() + "…")
            break
        shown.append(line)
        room -= len(line) + 1
    more = count - len(shown)
    note = [f"… {more:,} more line{'' if more == 1 else 's'}"] if more else []
    return "\n".join(shown + note)


def _is_deep(value: Any, most: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(most == 0 or _is_deep(part, most - 1) for part in inner if isinstance(part, dict | list))


def compact(value: Any) -> str:
    """Write JSON in as few characters as possible."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def pointed_at(text: str, line: int, column: int) -> str:
    """Show the part of *text* around a position, with a mark below it."""
    lines = text.split("\n")
    shown = lines[line - 1] if line <= len(lines) else ""
    begin = max(0, column - 1 - _AROUND)
    part = "".join(mark if mark.isprintable() else " " for mark in shown[begin : column - 1 + _AROUND])
    before = "…" if begin else ""
    after = "…" if column - 1 + _AROUND < len(shown) else ""
    return f"{before}{part}{after}\n{' ' * (len(before) + column - 1 - begin)}^"
