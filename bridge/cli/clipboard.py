"""The clipboard of the machine that a command runs on, filled by whatever program the system has for it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
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
    return any(_copies_with(program, text.encode("ascii")) for program in _PROGRAMS)


def _copies_with(program: Sequence[str], text: bytes) -> bool:
    nothing = subprocess.DEVNULL  # some stay behind to serve the text, and would keep a pipe open
    try:
        done = subprocess.run(program, input=text, stdout=nothing, stderr=nothing, timeout=_PATIENCE, check=False)  # noqa: S603 - one of those above
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
