"""State in a JSON file, replaced atomically: the sample project's before each change is answered, and the page's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

_FORM: Final = 1  # the file's format


class StateFile:
    """The state in *folder*, in the file *name*; without a folder, nothing is stored."""

    def __init__(self, folder: Path | None, name: str) -> None:
        self._file = None if folder is None else folder / name

    def read(self) -> dict[str, Any] | None:
        """The stored state; None if there is none, or it is unreadable."""
        if self._file is None:
            return None
        try:
            stored = json.loads(self._file.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        is_ours = isinstance(stored, dict) and stored.get("form") == _FORM
        return stored if is_ours else None

    def write(self, state: Callable[[], dict[str, Any]]) -> None:
        """Replace the stored state with *state*, atomically."""
        if self._file is None:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        beside = self._file.with_suffix(".new")
        beside.write_text(json.dumps({"form": _FORM, **state()}), encoding="utf-8")
        beside.replace(self._file)
