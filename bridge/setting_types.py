"""What a setting's text must look like, and what to do where it does not.

Each function makes a pydantic validator of its options. Errors are sentences that go on after the variable's name;
none shows the value (see `bridge.settings`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Concatenate, ParamSpec
from urllib.parse import SplitResult, unquote, urlsplit

from pydantic import BeforeValidator

P = ParamSpec("P")

_SLACK_TOKENS = re.compile(r"(?:xoxe\.)?xox[a-z]-|xapp-|xoxe-")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_SERVERS = re.compile(r"redis(?P<tls>s?)\+(?P<kind>sentinel|cluster)://(?P<place>[^/?#]*)(?P<path>[^?#]*)(?P<query>.*)")
_SERVER = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:\[\]]+)(?::(?P<port>\d{1,5}))?")
_PATHS = {"sentinel": r"/(?P<master>[^/\s]+)(?:/(?P<db>\d*))?", "cluster": r"/?"}
_PORTS = {"sentinel": 26379, "cluster": 6379}
_LAST_PORT = 65_535


def _setting_type(check: Callable[Concatenate[str, P], object]) -> Callable[P, BeforeValidator]:
    """Make of a check of text, with options, a function that takes the options and makes a validator.

    A default that is not text (None) passes. A ValueError in the text's place says why that could not be had, and
    is raised.
    """

    def make(*options: P.args, **more: P.kwargs) -> BeforeValidator:
        def validate(value: object) -> object:
            if isinstance(value, ValueError):
                raise value
            return check(value, *options, **more) if isinstance(value, str) else value

        return BeforeValidator(validate)

    return make


@_setting_type
def text(given: str) -> str:
    """Take any text."""
    return given


def _printable(given: str, what: str) -> str:
    if not re.fullmatch(r"[!-~]+", given):
        raise ValueError(f"holds spaces or characters that {what} cannot have: copy it again")
    return given


@_setting_type
def secret(given: str, what: str) -> str:
    """Take one word of printable characters, which is not one of Slack's tokens."""
    if found := _SLACK_TOKENS.match(given):
        raise ValueError(f"begins with {found[0]}…, a Slack token: put {what} here")
    return _printable(given, what)


@_setting_type
def token(given: str, prefix: str, what: str) -> str:
    """Take a Slack token that begins with *prefix*."""
    if given.startswith(prefix):
        return _printable(given, what)
    found = _SLACK_TOKENS.match(given)
    begins = f"begins with {found[0]}…" if found else f"does not begin with {prefix}"
    raise ValueError(f"{begins}: use {what} {prefix}…")


@_setting_type
def web_url(given: str, *, end: str = "") -> str:
    """Take an http or https address without query or password; *end* takes the place of its last slashes."""
    parts = _split(given, "https://host")
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise ValueError("is not a web address: use https://host or http://host, with a path if there is one")
    if parts.query or parts.fragment or "@" in parts.netloc:
        raise ValueError("has a query, a fragment or a password in it: use the plain address")
    return _printable(given, "a web address").rstrip("/") + end


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


def redis_servers(url: str) -> RedisServers | None:
    """Read ``redis+sentinel://…`` or ``redis+cluster://…``; None for every other kind of address.

    Raises ValueError, in the way of this module.
    """
    found = _SERVERS.fullmatch(url)
    if found is None:
        return None
    kind = found["kind"]
    login, at, places = found["place"].rpartition("@")
    path, servers = re.fullmatch(_PATHS[kind], found["path"]), []
    for server in map(_SERVER.fullmatch, places.split(",")):
        port = int((server and server["port"]) or _PORTS[kind])
        if path is None or server is None or not 0 < port <= _LAST_PORT:
            like = (
                "redis+sentinel://host:26379,host:26379/master/0" if kind == "sentinel" else "redis+cluster://host,host"
            )
            raise ValueError(f"is not an address of a {kind}: use one like {like}")
        servers.append((server["host"].strip("[]"), port))
    names = path.groupdict() if path else {}
    plain = f"redis{found['tls']}://{login}{at}host/{names.get('db') or 0}{found['query']}"
    return RedisServers(kind, tuple(servers), plain, unquote(names.get("master", "")))


@_setting_type
def redis_address(given: str) -> str:
    """Take the address of a Redis server, of Sentinels or of a cluster."""
    _printable(given, "an address (write %XX for them in a password)")
    if redis_servers(given) is None:
        parts = _split(given, "redis://host:6379/0")
        is_server = parts.scheme in {"redis", "rediss"} and parts.hostname and re.fullmatch(r"(/\d*)?", parts.path)
        if not is_server and not (parts.scheme == "unix" and parts.path.startswith("/")):
            raise ValueError("is not an address of Redis: use redis://host:6379/0, rediss://… or unix:///path")
    return given


def _split(url: str, example: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port  # read to be checked
    except ValueError:
        raise ValueError(f"is not an address: use one like {example}") from None
    return parts


@_setting_type
def duration(given: str, unit: str, *, upto: timedelta, may_be_zero: bool = False) -> timedelta:
    """Take a length of time: a number of *unit*, or a number with ``s``, ``m``, ``h`` or ``d`` after it."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?) ?([smhd]?)", given, re.ASCII)
    if not found:
        raise ValueError(f"is not a length of time: use a number of {_UNITS[unit]}, or one like 90s, 15m, 24h, 7d")
    length = timedelta(**{_UNITS[found[2] or unit]: float(found[1])})
    if length > upto or (not length and not may_be_zero):
        most = f"{upto.days}d" if upto.days else f"{upto.seconds // 3600}h"
        raise ValueError(f"is out of range: use {'' if may_be_zero else 'more than 0 and '}at most {most}")
    return length


@_setting_type
def whole(given: str, least: int, most: int) -> int:
    """Take a whole number."""
    if not re.fullmatch(r"\d{1,9}", given, re.ASCII) or not least <= int(given) <= most:
        raise ValueError(f"is not a whole number from {least} to {most}: use one")
    return int(given)


@_setting_type
def one_of(given: str, *words: str) -> str:
    """Take one of *words*, in any case."""
    for word in words:
        if word.lower() == given.lower():
            return word
    raise ValueError(f"is none of its values: use {' or '.join(words)}")


@_setting_type
def matching(given: str, pattern: str, words: str) -> str:
    """Take what the whole *pattern* matches; *words* say what that is."""
    if not re.fullmatch(pattern, given, re.ASCII):
        raise ValueError(f"has characters that it cannot have, or too many: use {words}")
    return given


@_setting_type
def ids(given: str, letters: str, what: str) -> frozenset[str]:
    """Take Slack ids that begin with one of *letters*, separated by commas."""
    entries = [entry.strip() for entry in given.split(",")]
    for number, entry in enumerate(entries, start=1):
        if entry and not re.fullmatch(rf"[{letters}][A-Z0-9]{{2,}}", entry):
            raise ValueError(f"is wrong at entry {number}: use {what}")
    return frozenset(filter(None, entries))


@_setting_type
def folder(given: str) -> Path:
    """Take a path; ``~`` is the home folder."""
    try:
        return Path(given).expanduser().absolute()
    except (RuntimeError, ValueError, OSError):
        raise ValueError("is not a folder that can be named: use an absolute path") from None
