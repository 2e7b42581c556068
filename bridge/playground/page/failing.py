"""What a person reads where something could not be done."""

from __future__ import annotations

from typing import Final

from bridge.playground.emulator import AppDelivery
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.page.sight import NotSeen

_LATE: Final = frozenset({"http_timeout", "timeout"})


class Sorry(Exception):
    """Something cannot be done; its text is the sentence that says why."""


def explained(problem: Exception) -> str:
    """Say in a sentence what is the matter."""
    match problem:
        case Sorry():
            return str(problem)
        case NotSeen():
            return "That is not there any more, or not for you."
        case Refusal():
            return f"Slack does not show what the bridge answered: {problem}."
        case LookupError():
            return "What you pressed or chose is not there any more."
        case _:
            return "Slack does not allow that here."


def taken(delivery: AppDelivery) -> None:
    """Raise Sorry unless the app took what was sent."""
    if not delivery.is_acked:
        raise Sorry(f"The bridge did not take it ({_word(delivery)}). Please try again.")


def _word(delivery: AppDelivery) -> str:
    """Slack's two words for what came to nothing."""
    return "operation_timeout" if delivery.error in _LATE else "dispatch_failed"
