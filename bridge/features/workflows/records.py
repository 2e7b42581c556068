"""What's left to do once the card of an ended run is posted."""

from __future__ import annotations

from typing import Literal

from bridge.engine.results import After


class RunEnded(After, frozen=True):
    """The run that *turn* started has ended with *status*; those who asked to be notified are told.

    *name* is the workflow's, and *took* how long it took, in words.
    """

    kind: Literal["run ended"] = "run ended"
    turn: str
    name: str
    status: str
    took: str = ""
