"""Logging: constant phrases with facts, for people (``console``) or machines (``json``).

Facts shared by several records (``thread``, ``turn``, ``command``) are set once with `facts` and appear in every record
logged inside its block. Texts, tokens and payloads aren't logged; as a last defense, anything like a token is removed
from every finished line, including tracebacks.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any, Literal, TextIO
from unicodedata import category

Format = Literal["console", "json"]

_current_facts: ContextVar[Mapping[str, Any]] = ContextVar("bridge_log_facts", default={})  # noqa: B039 - never mutated

# At DEBUG and INFO they log whole payloads, and some warn about each bad request, which anyone on the network can send;
# metrics count those.
_QUIET = {
    "aiohttp": logging.WARNING,
    "asyncio": logging.WARNING,
    "httpcore": logging.WARNING,
    "httpx": logging.WARNING,
    "markdown_it": logging.WARNING,
    "opentelemetry": logging.CRITICAL,  # it repeats itself, and shows headers; `bridge.app.traces` says why traces fail
    "opentelemetry.sdk.trace.sampling": logging.WARNING,
    "redis": logging.WARNING,
    "slack_bolt": logging.ERROR,
    "slack_sdk": logging.WARNING,
    "urllib3": logging.WARNING,
    "uvicorn": logging.ERROR,
    "uvicorn.error": logging.ERROR,
    "uvicorn.access": logging.ERROR,
}

_SECRET = re.compile(
    r"""xox[a-z](?:\.xox[a-z])?-[\w.-]+   # bot, user, refresh and rotated tokens
      | xapp-[\w-]+                       # app-level tokens
      | (?i:bearer)\s+[\w.~+/=-]+         # any Authorization header
      | https://hooks\.slack\.com/\S+     # a response_url is a permission to post
    """,
    re.VERBOSE,
)
_UNPRINTABLE = re.compile(r"[^\x20-\x7e]+")
_RECORD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


_LINE_BREAKS = {ord("\r"): "\\r", ord("\n"): "\\n"}


def printable(words: str) -> str:
    """Return *words*, which may come from outside, as one line that can't move a terminal's cursor or turn its text.

    Control and direction characters, also those of 8 bits, line breaks and half characters become question marks.
    """
    if words.isprintable():
        return words
    return "".join(word if word.isprintable() else " " if category(word) == "Zs" else "?" for word in words)


@contextmanager
def facts(**more: Any) -> Iterator[None]:
    """Add facts to every record logged inside the block, in this task and those it starts."""
    token = _current_facts.set({**_current_facts.get(), **more})
    try:
        yield
    finally:
        _current_facts.reset(token)


def new_reference() -> str:
    """Return a reference by which an unexpected error can be found in the log."""
    return secrets.token_hex(4)


def configure(log_format: Format, level: str, stream: TextIO | None = None) -> None:
    """Send the process's logging to *stream* (default: standard error), in *log_format*, from *level* on."""
    destination = logging.StreamHandler(stream if stream is not None else sys.stderr)
    destination.setFormatter(_Lines(log_format))
    root = logging.getLogger()
    root.handlers[:] = [destination]
    root.setLevel(level)
    for name, least in _QUIET.items():
        logging.getLogger(name).setLevel(max(least, root.level))


def _escaped(match: re.Match[str]) -> str:
    """Return the JSON escapes of characters that JSON allows and a terminal may obey."""
    return "".join(character if character.isprintable() else json.dumps(character)[1:-1] for character in match[0])


class _Lines(logging.Formatter):
    """One line per record: a JSON object, or time, level, phrase and facts with the traceback below."""

    def __init__(self, log_format: Format) -> None:
        super().__init__()
        self._log_format = log_format

    def format(self, record: logging.LogRecord) -> str:
        details: dict[str, Any] = {}
        if record.name.startswith("bridge"):  # other libraries' records get no facts
            own = {name: value for name, value in vars(record).items() if name not in _RECORD_FIELDS}
            details = {**_current_facts.get(), **own}
        when = datetime.fromtimestamp(record.created, UTC)
        exception = self.formatException(record.exc_info) if record.exc_info else ""
        if self._log_format == "json":
            fields = {
                "time": when.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
                "level": record.levelname.lower(),
                "logger": record.name,
                "message": record.getMessage(),
            }
            fields |= {name: value for name, value in details.items() if name not in fields}
            if exception:
                fields["exception"] = exception
            line = _UNPRINTABLE.sub(_escaped, json.dumps(fields, default=str, ensure_ascii=False))
        else:
            line = f"{when:%Y-%m-%dT%H:%M:%SZ} {record.levelname:<7} {record.name}: {record.getMessage()}"
            line = "".join((line, *(f"  {name}={value}" for name, value in details.items()))).translate(_LINE_BREAKS)
            line = "\n".join(map(printable, [line, *exception.splitlines()]))
        return _SECRET.sub("[redacted]", line)
