"""The clipboard of the machine that a command runs on, filled by whatever program the system has for it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

_PROGRAMS: Final[Sequence[Sequence[str]]] = (
    ("pbcopy",),  # macOS
    ("wl-copy",),  # Wayland
    ("xclip", "-selection", "clipboard"),
    ("xsel", "--clipboard", "--input"),
    ("clip.exe",),  # Windows, and Linux in Windows
)
_PATIENCE: Final = 5  # seconds; a program that waits for a display doesn't hold up the next question


def copies(text: str) -> bool:
    """Copy *text*, in ASCII, because Windows' program reads its own code page. Returns whether a program took it."""
    encoded, nothing = text.encode("ascii"), subprocess.DEVNULL  # some stay behind, and would keep a pipe open
    for program in _PROGRAMS:
        with suppress(OSError, subprocess.SubprocessError):
            subprocess.run(program, input=encoded, stdout=nothing, stderr=nothing, timeout=_PATIENCE, check=True)  # noqa: S603 - one of those above
            return True
    return False
