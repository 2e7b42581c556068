"""What can't be seen of a text, by Unicode's table, and what terminals do with their control codes.

`regex` has the table (``Default_Ignorable_Code_Point`` of DerivedCoreProperties.txt), which Python lacks.
"""

from __future__ import annotations

import html
import json
import re
from typing import Final

import regex

_NO_WIDTH: Final = r"\p{Default_Ignorable_Code_Point}\p{Cc}\p{Cf}\p{Cs}"
_EMPTY: Final = "\u2800\U0001d159\U00013441\U00013442\U00016fe4"  # symbols that are blank by definition
_IGNORABLE: Final = regex.compile(f"[{_NO_WIDTH}]")
_SEEN: Final = regex.compile(rf"[^{_NO_WIDTH}\p{{Z}}{_EMPTY}]")
_DOUBTFUL: Final = regex.compile(rf"(?! )[{_NO_WIDTH}\p{{C}}\p{{Z}}{_EMPTY}]")  # nobody knows how private ones look

_CODES: Final = re.compile(  # ECMA-48: control sequences, control strings, and other escape sequences
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?"
    "|(?:\x1b[]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*+(?:\x07|\x1b\\\\|\x9c)?"
    "|\x1b[ -/]*[0-~]?"
)
_ERASE: Final = re.compile("(?:\x1b\\[|\x9b)([012]?)K")
_TO_THE_END, _ALL = "\x00", "\x01"  # what such a code erases of its line
_MOST_NAMED: Final = 10_000  # characters in which HTML's names are looked up


def is_ignorable(letter: str) -> bool:
    """Whether a character has no width: a control or format character, or one that Unicode lets fonts ignore."""
    return _IGNORABLE.match(letter) is not None


def is_blank(text: str) -> bool:
    """Whether nothing of *text* can be seen, also if it has HTML's names of such characters."""
    if _SEEN.search(text) is None:
        return True
    return text.lstrip().startswith("&") and _SEEN.search(html.unescape(text[:_MOST_NAMED])) is None


def escaped(text: str) -> str:
    """Write what can't be seen of *text* as JSON does, by its number in Unicode; blanks and line breaks stay."""
    return str(_DOUBTFUL.sub(lambda match: match[0] if match[0] == "\n" else json.dumps(match[0])[1:-1], text))


def as_on_a_terminal(text: str) -> str:
    """Return what a terminal shows of *text*: without colors, and with lines and letters that were written over."""
    text = text.replace("\r\n", "\n")
    if "\r" in text or "\b" in text:
        text = _ERASE.sub(lambda match: _ALL if match[1] in {"1", "2"} else _TO_THE_END, text)
        text = "\n".join(_last_written(_CODES.sub("", line)) for line in text.split("\n"))
    return _CODES.sub("", text) if "\x1b" in text or not text.isascii() else text


def _last_written(line: str) -> str:
    shown = ""
    for written in reversed(line.split("\r")):  # each covers the beginning of the ones before it
        letters: list[str] = []
        for letter in written.rpartition(_ALL)[2].replace(_TO_THE_END, ""):
            if letter != "\b":
                letters.append(letter)
            elif letters:
                letters.pop()
        shown += "".join(letters[len(shown) :])
        if _ALL in written or _TO_THE_END in written:
            break
    return shown
