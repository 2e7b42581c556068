"""A stored workspace: each change is written to SQLite before it is answered.

WAL mode with ``synchronous=NORMAL`` survives a killed process; only a power failure may lose the last moments, which is
fine for a playground.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

FILE: Final = "slack.sqlite3"
_FORM: Final = 1  # the file's format
_BYTES: Final = "$bytes"  # how file contents are stored in JSON: {"$bytes": "base64"}
_TABLE: Final = """
CREATE TABLE IF NOT EXISTS things (
  place INTEGER PRIMARY KEY, kind TEXT NOT NULL, id TEXT NOT NULL, content TEXT NOT NULL, UNIQUE (kind, id)
)
"""
_WRITE: Final = (
    "INSERT INTO things (kind, id, content) VALUES (?, ?, ?)"
    " ON CONFLICT (kind, id) DO UPDATE SET content = excluded.content"
)


class Storage:
    """Stores everything in a file in *folder*, which it creates if needed; without a folder, nothing is stored.

    A file in another format is renamed rather than deleted.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._db = _opened(folder) if folder else None
        self._depth = 0

    def read(self, kind: str) -> list[tuple[str, dict[str, Any]]]:
        """Every ID of a kind with its fields, in order of insertion."""
        if self._db is None:
            return []
        rows = self._db.execute("SELECT id, content FROM things WHERE kind = ? ORDER BY place", (kind,))
        return [(key, json.loads(content, object_hook=_with_bytes)) for key, content in rows]

    def write(self, kind: str, key: str, thing: Any) -> None:
        """Store *thing*, a dataclass; None removes it."""
        if self._db is None:
            return
        if thing is None:
            self._db.execute("DELETE FROM things WHERE kind = ? AND id = ?", (kind, key))
            return
        self._db.execute(_WRITE, (kind, key, json.dumps(dataclasses.asdict(thing), default=_as_json)))

    @contextmanager
    def together(self) -> Iterator[None]:
        """Store all changes made meanwhile, or none; nested calls join the outer one."""
        if self._db is None:
            yield
            return
        if self._depth == 0:
            self._db.execute("BEGIN IMMEDIATE")
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1
            if self._depth == 0:
                # Also after an exception: the file must match the changed memory.
                self._db.execute("COMMIT")

    def close(self) -> None:
        if self._db is not None:
            self._db.close()


def _opened(folder: Path) -> sqlite3.Connection:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / FILE
    db = _connected(file)
    (form,) = db.execute("PRAGMA user_version").fetchone()
    if form not in {0, _FORM}:
        db.close()
        file.replace(file.with_suffix(f".form{form}"))
        db = _connected(file)
    db.execute(_TABLE)
    db.execute(f"PRAGMA user_version = {_FORM}")
    return db


def _connected(file: Path) -> sqlite3.Connection:
    db = sqlite3.connect(file, isolation_level=None)  # no implicit transactions
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = NORMAL")
    return db


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes):
        return {_BYTES: base64.b64encode(value).decode()}
    raise TypeError(type(value))


def _with_bytes(value: dict[str, Any]) -> Any:
    return base64.b64decode(value[_BYTES]) if list(value) == [_BYTES] else value
