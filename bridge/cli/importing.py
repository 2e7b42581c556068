"""Imports without what nobody needs: looking for garbage, and a library's own command line."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def importing() -> Iterator[None]:
    """Pause the garbage collector while the block imports: all of it stays, and looking takes a tenth of a start."""
    sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type] # loads rich and pygments: 3 MB, 20 ms
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
