"""Errors as sentences for the reader."""

from __future__ import annotations

from bridge.playground.emulator import AppDelivery
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.page.viewer import NotVisible


class ActionFailed(Exception):
    """An action failed; its text says why."""


def explain(problem: Exception) -> str:
    match problem:
        case ActionFailed():
            return str(problem)
        case NotVisible():
            return "That no longer exists, or you can't see it."
        case Refusal():
            return f"Slack rejected the bridge's response: {problem}."
        case LookupError():
            return "That button or menu no longer exists."
        case _:
            return "Slack doesn't allow that here."


def require_ack(delivery: AppDelivery) -> None:
    """Raise ActionFailed unless the app acknowledged the delivery."""
    if not delivery.is_acked:
        raise ActionFailed(f"Slack couldn't deliver this to the bridge ({delivery.failure}). Try again.")
