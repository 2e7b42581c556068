"""Errors as sentences for the reader."""

from __future__ import annotations

from typing import Final

from bridge.playground.emulator import AppDelivery
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.page.sight import NotSeen

_LATE: Final = frozenset({"http_timeout", "timeout"})


class Sorry(Exception):
    """An action failed; its text says why."""


def explained(problem: Exception) -> str:
    """The sentence for a *problem*."""
    match problem:
        case Sorry():
            return str(problem)
        case NotSeen():
            return "That no longer exists, or you can't see it."
        case Refusal():
            return f"Slack rejected the bridge's response: {problem}."
        case LookupError():
            return "That button or menu no longer exists."
        case _:
            return "Slack doesn't allow that here."


def taken(delivery: AppDelivery) -> None:
    """Raise Sorry unless the app acknowledged the delivery."""
    if not delivery.is_acked:
        raise Sorry(f"The bridge didn't accept this ({_word(delivery)}). Try again.")


def _word(delivery: AppDelivery) -> str:
    """Slack's own word for the failure."""
    return "operation_timeout" if delivery.error in _LATE else "dispatch_failed"
