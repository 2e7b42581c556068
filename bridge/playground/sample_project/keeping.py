"""What outlives the sample project's process: one file of JSON, replaced as a whole before a change is answered."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

_FILE: Final = "project.json"
_FORM: Final = 1  # of what is in the file


class ProjectFile:
    """The state in *folder*; without a folder it ends with the process."""

    def __init__(self, folder: Path | None) -> None:
        self._file = None if folder is None else folder / _FILE

    def read(self) -> dict[str, Any] | None:
        """What was kept last; None where there is nothing, or nothing that can be read."""
        if self._file is None:
            return None
        try:
            found = json.loads(self._file.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        is_ours = isinstance(found, dict) and found.get("form") == _FORM
        return found if is_ours else None

    def write(self, state: Callable[[], dict[str, Any]]) -> None:
        """Keep what *state* gives in place of what was there: all of it or, if the process is killed now, nothing."""
        if self._file is None:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        beside = self._file.with_suffix(".new")
        beside.write_text(json.dumps({"form": _FORM, **state()}), encoding="utf-8")
        beside.replace(self._file)
