"""What a setting's text must look like, and what to do where it does not.

Each function makes a pydantic validator. Its errors are sentences that go on after the variable's name; none
shows the value (see `bridge.settings`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from urllib.parse import SplitResult, unquote, urlsplit

from pydantic import BeforeValidator

_SLACK_TOKENS = re.compile(r"(?:xoxe\.)?xox[a-z]-|xapp-|xoxe-")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_SERVERS = re.compile(r"redis(?P<tls>s?)\+(?P<kind>sentinel|cluster)://(?P<place>[^/?#]*)(?P<path>[^?#]*)(?P<query>.*)")
_SERVER = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:\[\]]+)(?::(?P<port>\d{1,5}))?")
_PATHS = {"sentinel": r"/(?P<master>[^/\s]+)(?:/(?P<db>\d*))?", "cluster": r"/?"}
_PORTS = {"sentinel": 26379, "cluster": 6379}


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


@dataclass(frozen=True, slots=True)
class RedisServers:
    """What an address of several servers says.

    *kind* is ``sentinel``, and the servers are Sentinels that know the *master*, or ``cluster``, and they are nodes
    of one. *plain* is the address that one server would have: user, password, TLS, database and options.
    """

    kind: str
    servers: tuple[tuple[str, int], ...]
    plain: str
    master: str = ""


def redis_servers(text: str) -> RedisServers | None:
    """Read ``redis+sentinel://…`` or ``redis+cluster://…``; None for every other kind of address.

    Raises ValueError, in the way of this module.
    """
    found = _SERVERS.fullmatch(text)
    if found is None:
        return None
    kind = found["kind"]
    login, at, places = found["place"].rpartition("@")
    path, servers = re.fullmatch(_PATHS[kind], found["path"]), tuple(_servers(places, _PORTS[kind]))
    if path is None or None in servers:
        shown = "redis+sentinel://host:26379,host:26379/master/0" if kind == "sentinel" else "redis+cluster://host,host"
        raise ValueError(f"is not an address of a {kind}: use one like {shown}")
    names = path.groupdict()
    plain = f"redis{found['tls']}://{login}{at}host/{names.get('db') or 0}{found['query']}"
    return RedisServers(kind, tuple(filter(None, servers)), plain, unquote(names.get("master", "")))


def _servers(places: str, port: int) -> Iterator[tuple[str, int] | None]:
    for place in places.split(","):
        found = _SERVER.fullmatch(place)
        number = int((found and found["port"]) or port)
        yield (found["host"].strip("[]"), number) if found and 0 < number < 65536 else None  # noqa: PLR2004


def redis_url() -> BeforeValidator:
    """Take the address of a Redis server, of Sentinels or of a cluster."""

    def check(text: str) -> str:
        _printable(text, "an address (write %XX for them in a password)")
        if redis_servers(text):
            return text
        parts = _split(text, "redis://host:6379/0")
        if parts.scheme == "unix" and parts.path.startswith("/"):
            return text
        if parts.scheme not in {"redis", "rediss"} or not parts.hostname or not re.fullmatch(r"(/\d*)?", parts.path):
            raise ValueError("is not an address of Redis: use redis://host:6379/0, rediss://… or unix:///path")
        return text

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
