"""The types of settings, and the errors for invalid values.

Each function returns a pydantic validator. Errors continue a sentence that starts with the variable's name: the
problem, a colon, and one working example. They never show the value (see `bridge.settings`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from importlib.metadata import distributions
from pathlib import Path
from typing import Concatenate, ParamSpec
from urllib.parse import SplitResult, unquote, urlsplit

from pydantic import BeforeValidator

from bridge.names.amounts import read_duration

P = ParamSpec("P")

_SLACK_TOKENS = re.compile(r"(?:xoxe\.)?xox[a-z]-|xapp-|xoxe-")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_SERVERS = re.compile(
    r"redis(?P<tls>s?)\+(?P<kind>sentinel|cluster)://(?P<servers>[^/?#]*)(?P<path>[^?#]*)(?P<query>.*)"
)
_SERVER = re.compile(r"(?P<host>\[[0-9A-Fa-f:.]+\]|[^\s:\[\]]+)(?::(?P<port>\d{1,5}))?")
_PATHS = {"sentinel": re.compile(r"/(?P<master>[^/\s]+)(?:/(?P<db>\d*))?"), "cluster": re.compile(r"/?")}
_PORTS = {"sentinel": 26379, "cluster": 6379}
_LAST_PORT = 65_535


def _setting_type(check: Callable[Concatenate[str, P], object]) -> Callable[P, BeforeValidator]:
    """Turn *check*, which takes a text and options, into a function that takes the options and returns a validator.

    The validator passes a default that isn't text (None), and raises a ValueError that takes the place of the text.
    """

    def make(*options: P.args, **more: P.kwargs) -> BeforeValidator:
        def validate(value: object) -> object:
            if isinstance(value, ValueError):
                raise value
            return check(unquoted(value), *options, **more) if isinstance(value, str) else value

        return BeforeValidator(validate)

    return make


def unquoted(value: str) -> str:
    """Return a text that has no quotation marks around it, as Docker's --env-file leaves them. Raises ValueError."""
    if re.fullmatch(r"""(["']).+\1""", value, re.DOTALL):
        raise ValueError("has quotation marks around its value: remove them (docker run --env-file keeps them)")
    return value


@_setting_type
def text(value: str) -> str:
    """Accept any text."""
    return value


def _printable(value: str, what: str) -> str:
    if not re.fullmatch(r"[!-~]+", value):
        raise ValueError(f"contains spaces or special characters: {what}")
    return value


def secret_word(value: str, what: str) -> str:
    """Return a secret, if it's one word of printable characters and no Slack token. Raises ValueError."""
    if match := _SLACK_TOKENS.match(unquoted(value)):
        raise ValueError(f"starts with {match[0]}…, so it's a Slack token: use {what} instead")
    return _printable(value, f"copy {what} again")


secret = _setting_type(secret_word)


@_setting_type
def token(value: str, prefix: str, what: str) -> str:
    """Accept a Slack token that starts with *prefix*."""
    if value.startswith(prefix):
        return _printable(value, f"copy {what} again")
    match = _SLACK_TOKENS.match(value)
    if match and match[0] == f"xoxe.{prefix}":  # https://docs.slack.dev/authentication/using-token-rotation
        raise ValueError(f"starts with {match[0]}…, so it expires: use an app without token rotation")
    problem = f"starts with {match[0]}…" if match else f"doesn't start with {prefix}"
    raise ValueError(f"{problem}: use {what} ({prefix}…)")


@_setting_type
def web_url(value: str, example: str, *, end: str = "") -> str:
    """Accept an http or https address without query or password; *end* replaces slashes at its end."""
    return web_address(value, example) + end


def project_address(value: str) -> str:
    """Return the project service's address, without the path of its operations and slashes at the end.

    Raises ValueError.
    """
    return web_address(value, "https://project.example.com").removesuffix("/api/sdk").rstrip("/")


project_url = _setting_type(project_address)


def web_address(value: str, example: str) -> str:
    """Return an http or https address without spaces around it and slashes at its end. Raises ValueError."""
    value = value.strip()
    parts = _split(value, example)
    host = parts.hostname or ""
    if parts.scheme not in {"http", "https"} or not host:
        raise ValueError(f"isn't a web address: use one such as {example}")
    if "?" in value or "#" in value or "@" in parts.netloc:
        raise ValueError(f"has a query, a fragment or a password: use the plain address, such as {example}")
    try:
        host.encode("idna")  # otherwise the resolver does it, and fails with a UnicodeError
    except UnicodeError:
        raise ValueError(f"has an invalid host name: use an address such as {example}") from None
    if not re.fullmatch(r"[\w.:-]+", host) or parts.port == 0:
        raise ValueError(f"has an invalid host name or port: use an address such as {example}")
    if not re.fullmatch(r"[!-~]*", value.lower().replace(host, "")):
        raise ValueError(f"contains spaces or special characters: use an address such as {example}")
    return value.rstrip("/")


@_setting_type
def otlp_endpoint(value: str) -> str:
    """Accept the address of an OpenTelemetry collector, if what sends traces there is installed."""
    if not any(distributions(name="opentelemetry-exporter-otlp-proto-http")):
        raise ValueError("needs an extra: pip install 'slack-project-bridge[otel]', or remove it")
    return web_address(value, "http://localhost:4318")


@_setting_type
def link_template(value: str, needed: str, *others: str) -> str:
    """Accept a web address with the placeholder *needed*, and perhaps *others*, after the host."""
    example = f"https://project.example.com/…/{{{needed}}}"
    names, host = re.findall(r"\{([^{}]*)\}", value), value.partition("://")[2].partition("/")[0]
    address = _split(re.sub(r"\{[^{}]*\}", "", value), example)
    if address.scheme not in {"http", "https"} or not address.hostname or "@" in address.netloc or "{" in host:
        raise ValueError(f"isn't a web address: use one such as {example}")
    unknown = [name for name in names if name not in {needed, *others}]
    if unknown or needed not in names or re.search(r"[{}]", re.sub(r"\{[^{}]*\}", "", value)):
        more = f"besides {{{others[0]}}} " if others else ""
        raise ValueError(f"needs {{{needed}}} and {more}no other placeholder: use one such as {example}")
    return _printable(value, f"use an address such as {example}")


@dataclass(frozen=True, slots=True)
class RedisServers:
    """Several servers: the Sentinels of *master*, or the nodes of a cluster; *kind* is ``sentinel`` or ``cluster``.

    *plain* is the address of a single server with the same user, password, TLS, database and options.
    """

    kind: str
    servers: tuple[tuple[str, int], ...]
    plain: str
    master: str = ""


def redis_servers(url: str) -> RedisServers | None:
    """Parse ``redis+sentinel://…`` or ``redis+cluster://…``; None for other addresses. Raises ValueError."""
    match = _SERVERS.fullmatch(url)
    if match is None:
        return None
    kind = match["kind"]
    login, at, listed = match["servers"].rpartition("@")
    path, servers = _PATHS[kind].fullmatch(match["path"]), []
    for server in map(_SERVER.fullmatch, listed.split(",")):
        port = int((server and server["port"]) or _PORTS[kind])
        if path is None or server is None or not 0 < port <= _LAST_PORT:
            like = (
                "redis+sentinel://host:26379,host:26379/master/0" if kind == "sentinel" else "redis+cluster://host,host"
            )
            raise ValueError(f"isn't a valid {kind} address: use one such as {like}")
        servers.append((server["host"].strip("[]"), port))
    names = path.groupdict() if path else {}
    plain = f"redis{match['tls']}://{login}{at}host/{names.get('db') or 0}{match['query']}"
    return RedisServers(kind, tuple(servers), plain, unquote(names.get("master", "")))


EMBEDDED = "embedded"
"""The REDIS_URL of the embedded Redis."""


@_setting_type
def redis_address(value: str) -> str:
    """Accept the address of a Redis server, of Sentinels or of a cluster, or `EMBEDDED`."""
    if value == EMBEDDED:
        return value
    _printable(value, "percent-encode them in a password, such as %20 for a space")
    if redis_servers(value) is None:
        parts = _split(value, "redis://localhost:6379/0")
        is_server = parts.scheme in {"redis", "rediss"} and parts.hostname and re.fullmatch(r"(/\d*)?", parts.path)
        if not is_server and not (parts.scheme == "unix" and parts.path.startswith("/")):
            raise ValueError("isn't a Redis address: use one such as redis://localhost:6379/0")
    return value


def _split(url: str, example: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises ValueError
    except ValueError:
        raise ValueError(f"isn't a valid address: use one such as {example}") from None
    return parts


@_setting_type
def duration(value: str, unit: str, *, upto: timedelta, may_be_zero: bool = False) -> timedelta:
    """Parse a duration: a number of *unit*, or a duration such as ``90s``, ``15m`` or ``7d``."""
    length = read_duration(f"{value}{unit}" if re.fullmatch(r"[\d.]+", value) else value)
    most = f"{upto.days}d" if upto.days else f"{upto.seconds // 3600}h"
    if length is None:
        examples = "90s, 15m, 24h or 7d" if upto >= timedelta(days=7) else f"90s or 15m (at most {most})"
        raise ValueError(f"isn't a duration: use a number of {_UNITS[unit]}, or one such as {examples}")
    if length > upto or (not length and not may_be_zero):
        raise ValueError(f"is out of range: use {'' if may_be_zero else 'more than 0 and '}at most {most}")
    return length


@_setting_type
def whole(value: str, least: int, most: int, example: int) -> int:
    """Parse a whole number."""
    if not re.fullmatch(r"\d{1,9}", value, re.ASCII) or not least <= int(value) <= most:
        raise ValueError(f"isn't a whole number from {least} to {most}: use one such as {example}")
    return int(value)


@_setting_type
def one_of(value: str, *words: str) -> str:
    """Return the one of *words* that was given, ignoring case."""
    for word in words:
        if word.lower() == value.lower():
            return word
    *others, last = words
    raise ValueError(f"has an unknown value: use {', '.join(others)} or {last}")


@_setting_type
def matching(value: str, pattern: re.Pattern[str], words: str) -> str:
    """Accept text that matches *pattern*, which *words* describe."""
    if not pattern.fullmatch(value):
        raise ValueError(f"has unsupported characters or is too long: use {words}")
    return value


@_setting_type
def ids(value: str, letters: str, what: str) -> frozenset[str]:
    """Parse Slack IDs, separated by commas, that start with one of *letters*.

    At least one: an empty list would look like a restriction and allow everyone.
    """
    entries = [entry.strip() for entry in value.split(",")]
    for number, entry in enumerate(entries, start=1):
        if entry and not re.fullmatch(rf"[{letters}][A-Z0-9]{{2,}}", entry, re.ASCII):
            raise ValueError(f"has an invalid entry (number {number}): use {what}")
    if not any(entries):
        raise ValueError(f"lists no ID: use {what}, or remove it to allow everyone")
    return frozenset(filter(None, entries))


@_setting_type
def folder(value: str) -> Path:
    """Parse a path; ``~`` is the home folder."""
    if "\0" not in value:
        with suppress(RuntimeError, ValueError, OSError):
            return Path(value).expanduser().absolute()
    raise ValueError("isn't a usable path: use an absolute one such as /var/lib/bridge")
