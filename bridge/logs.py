"""Logging: constant phrases with facts beside them, for people (``console``) or machines (``json``).

Facts that hold for a while (``thread``, ``turn``, ``command``) are set once at the door with `facts` and appear in
every record below it. Texts, tokens and payloads are not logged in the first place; what looks like a token is
taken out of every finished line all the same, tracebacks included, as the last line of defence.
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

Format = Literal["console", "json"]

_current_facts: ContextVar[Mapping[str, Any]] = ContextVar("bridge_log_facts", default={})  # noqa: B039 - never mutated

# Their DEBUG and INFO print whole payloads, and some of their warnings come once for each bad request, which
# anybody on the network can send: those are counted in the metrics instead.
_QUIET = {
    "aiohttp": logging.WARNING,
    "asyncio": logging.WARNING,
    "httpcore": logging.WARNING,
    "httpx": logging.WARNING,
    "redis": logging.WARNING,
    "slack_bolt": logging.ERROR,
    "slack_sdk": logging.WARNING,
    "uvicorn": logging.ERROR,
    "uvicorn.error": logging.ERROR,
    "uvicorn.access": logging.ERROR,
}

_SECRET = re.compile(
    r"""xox[a-z](?:\.xox[a-z])?-[\w.-]+   # bot, user, refresh and rotated tokens
      | xapp-[\w-]+                       # app-level tokens
      | (?i:bearer)\s+[\w.~+/=-]+         # anybody's Authorization header
      | https://hooks\.slack\.com/\S+     # a response_url is a permission to post
    """,
    re.VERBOSE,
)
_RECORD_FIELDS = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


@contextmanager
def facts(**more: Any) -> Iterator[None]:
    """Put these facts beside every record that is logged inside the block, in this task and those it starts."""
    token = _current_facts.set({**_current_facts.get(), **more})
    try:
        yield
    finally:
        _current_facts.reset(token)


def new_reference() -> str:
    """Make a name by which a record is found, for what nobody expected."""
    return secrets.token_hex(4)


def redacted(line: str) -> str:
    """Take out whatever looks like a token."""
    return _SECRET.sub("[redacted]", line)


def configure(log_format: Format, level: str, stream: TextIO | None = None) -> None:
    """Send all logging of the process to *stream* (default: standard error), in *log_format*, from *level* on."""
    destination = logging.StreamHandler(stream if stream is not None else sys.stderr)
    destination.setFormatter(_JsonLines() if log_format == "json" else _Console())
    destination.addFilter(_remember_facts)
    root = logging.getLogger()
    root.handlers[:] = [destination]
    root.setLevel(level)
    for name, least in _QUIET.items():
        logging.getLogger(name).setLevel(max(least, root.level))


def _remember_facts(record: logging.LogRecord) -> bool:
    """Read the facts where the record is made: a formatter may run elsewhere."""
    record.bridge_facts = _current_facts.get()
    return True


def _facts_of(record: logging.LogRecord) -> dict[str, Any]:
    """Join the facts of the block and those of the record itself; of other people's records, none."""
    if not record.name.startswith("bridge"):
        return {}
    beside = {name: value for name, value in vars(record).items() if name not in _RECORD_FIELDS}
    return {**beside.pop("bridge_facts", {}), **beside}


def _when(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)


class _JsonLines(logging.Formatter):
    """One JSON object for each record, on one line."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {
            "time": _when(record).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        fields |= {name: value for name, value in _facts_of(record).items() if name not in fields}
        if record.exc_info:
            fields["exception"] = self.formatException(record.exc_info)
        return redacted(json.dumps(fields, default=str, ensure_ascii=False))


class _Console(logging.Formatter):
    """Time, level, phrase and facts on one line; a traceback below it."""

    def format(self, record: logging.LogRecord) -> str:
        clock = _when(record).astimezone().strftime("%H:%M:%S")
        beside = "".join(f"  {name}={_one_line(value)}" for name, value in _facts_of(record).items())
        line = f"{clock} {record.levelname:<7} {record.name}: {_one_line(record.getMessage())}{beside}"
        if record.exc_info:
            line = f"{line}\n{self.formatException(record.exc_info)}"
        return redacted(line)


def _one_line(value: object) -> str:
    """Keep a value from looking like a record of its own."""
    return str(value).replace("\r", "\\r").replace("\n", "\\n")
