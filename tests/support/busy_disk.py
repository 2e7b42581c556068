"""A disk that is busy: somebody else writes to it and waits for each piece to be there."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_WRITERS = 3
_PIECE = bytes(32 << 20)


@contextmanager
def busy_disk(folder: Path) -> Iterator[None]:
    """Write to the disk of *folder* and sync, over and over, while the block runs: a server's own syncs take long."""
    over = threading.Event()
    writers = [threading.Thread(target=_write, args=(folder / f"busy{n}", over)) for n in range(_WRITERS)]
    for writer in writers:
        writer.start()
    try:
        yield
    finally:
        over.set()
        for writer in writers:
            writer.join()


def _write(path: Path, over: threading.Event) -> None:
    with path.open("wb", buffering=0) as file:
        while not over.is_set():
            file.seek(0)
            file.write(_PIECE)
            os.fsync(file.fileno())
    path.unlink()
