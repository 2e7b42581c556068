"""What a setting's text must look like, and what to do where it does not.

Each function makes a pydantic validator. Its errors are sentences that go on after the variable's name; none
shows the value (see `bridge.settings`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from pydantic import BeforeValidator

_SLACK_TOKENS = re.compile(r"(?:xoxe\.)?xox[a-z]-|xapp-|xoxe-")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_REDIS_LATER = re.compile(r"rediss?\+(sentinel|cluster)://")


def _text(check: Callable[[str], object]) -> BeforeValidator:
    """Check text; a value that is not text (None as the default) passes."""
    return BeforeValidator(lambda value: check(value) if isinstance(value, str) else value)


def _printable(text: str, what: str) -> str:
    if not re.fullmatch(r"[!-~]+", text):
        raise ValueError(f"holds spaces or characters that {what} cannot have: copy it again")
    return text


def secret(what: str) -> BeforeValidator:
    """Take one word of printable characters, which is not one of Slack's tokens."""

    def check(text: str) -> str:
        if found := _SLACK_TOKENS.match(text):
            raise ValueError(f"begins with {found[0]}…, a Slack token: put {what} here")
        return _printable(text, what)

    return _text(check)


def token(prefix: str, what: str) -> BeforeValidator:
    """Take a Slack token that begins with *prefix*."""

    def check(text: str) -> str:
        if text.startswith(prefix):
            return _printable(text, what)
        found = _SLACK_TOKENS.match(text)
        begins = f"begins with {found[0]}…" if found else f"does not begin with {prefix}"
        raise ValueError(f"{begins}: use {what} {prefix}…")

    return _text(check)


def web_url(*, ends_with_slash: bool = False) -> BeforeValidator:
    """Take an http or https address without query or password; it is given a last slash, or none."""

    def check(text: str) -> str:
        parts = _split(text, "https://host")
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError("is not a web address: use https://host or http://host, with a path if there is one")
        if parts.query or parts.fragment or "@" in parts.netloc:
            raise ValueError("has a query, a fragment or a password in it: use the plain address")
        return _printable(text, "a web address").rstrip("/") + ("/" if ends_with_slash else "")

    return _text(check)


def redis_url() -> BeforeValidator:
    """Take the address of one Redis server."""

    def check(text: str) -> str:
        if later := _REDIS_LATER.match(text):
            raise ValueError(f"names a {later[1]}, which comes with a later release: use redis:// and one server")
        parts = _split(text, "redis://host:6379/0")
        if parts.scheme == "unix" and parts.path.startswith("/"):
            return text
        if parts.scheme not in {"redis", "rediss"} or not parts.hostname or not re.fullmatch(r"(/\d*)?", parts.path):
            raise ValueError("is not an address of Redis: use redis://host:6379/0, rediss://… or unix:///path")
        return _printable(text, "an address (write %XX for them in a password)")

    return _text(check)


def _split(text: str, example: str) -> SplitResult:
    try:
        parts = urlsplit(text)
        _ = parts.port  # read to be checked
    except ValueError:
        raise ValueError(f"is not an address: use one like {example}") from None
    return parts


def duration(unit: str, *, upto: timedelta, may_be_zero: bool = False) -> BeforeValidator:
    """Take a length of time: a number of *unit*, or a number with ``s``, ``m``, ``h`` or ``d`` after it."""

    def check(text: str) -> timedelta:
        found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?) ?([smhd]?)", text, re.ASCII)
        if not found:
            raise ValueError(f"is not a length of time: use a number of {_UNITS[unit]}, or one like 90s, 15m, 24h, 7d")
        length = timedelta(**{_UNITS[found[2] or unit]: float(found[1])})
        if length > upto or (not length and not may_be_zero):
            raise ValueError(f"is out of range: use {'' if may_be_zero else 'more than 0 and '}at most {_shown(upto)}")
        return length

    return _text(check)


def _shown(length: timedelta) -> str:
    return f"{length.days}d" if length.days else f"{length.seconds // 3600}h"


def whole(least: int, most: int) -> BeforeValidator:
    """Take a whole number."""

    def check(text: str) -> int:
        if not re.fullmatch(r"\d{1,9}", text, re.ASCII) or not least <= int(text) <= most:
            raise ValueError(f"is not a whole number from {least} to {most}: use one")
        return int(text)

    return _text(check)


def one_of(*words: str) -> BeforeValidator:
    """Take one of *words*, in any case."""

    def check(text: str) -> str:
        found = next((word for word in words if word.lower() == text.lower()), None)
        if found is None:
            raise ValueError(f"is none of its values: use {' or '.join(words)}")
        return found

    return _text(check)


def matching(pattern: str, words: str) -> BeforeValidator:
    """Take what the whole *pattern* matches; *words* say what that is."""

    def check(text: str) -> str:
        if not re.fullmatch(pattern, text, re.ASCII):
            raise ValueError(f"has characters that it cannot have, or too many: use {words}")
        return text

    return _text(check)


def ids(letters: str, what: str) -> BeforeValidator:
    """Take Slack ids that begin with one of *letters*, separated by commas."""

    def check(text: str) -> frozenset[str]:
        entries = [entry.strip() for entry in text.split(",")]
        for number, entry in enumerate(entries, start=1):
            if entry and not re.fullmatch(rf"[{letters}][A-Z0-9]{{2,}}", entry):
                raise ValueError(f"is wrong at entry {number}: use {what}")
        return frozenset(filter(None, entries))

    return _text(check)


def folder() -> BeforeValidator:
    """Take a path; ``~`` is the home folder."""

    def check(text: str) -> Path:
        try:
            return Path(text).expanduser().absolute()
        except (RuntimeError, ValueError, OSError):
            raise ValueError("is not a folder that can be named: use an absolute path") from None

    return _text(check)
