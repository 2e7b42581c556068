"""The error of a Web API method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bridge.playground.emulator.entities import Json


class Refusal(Exception):
    """``ok: false`` with *error* and explanatory *messages*."""

    def __init__(self, error: str, *, messages: Sequence[str] = (), **more: Any) -> None:
        super().__init__(error)
        self.error = error
        self.messages = list(messages)
        self.more = more

    def as_json(self) -> Json:
        answer: Json = {"ok": False, "error": self.error, **self.more}
        if self.messages:
            answer["response_metadata"] = {"messages": self.messages}
        return answer
