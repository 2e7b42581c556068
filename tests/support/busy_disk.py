"""A disk kept busy by another writer that syncs each piece."""

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
    """Write and sync in *folder* continuously during the block, so that a server's own syncs are slow."""
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
