"""Format numbers for people to read."""

from __future__ import annotations

from typing import Final

_HUGE_PER_CENT: Final = 1000


def whole(number: int) -> str:
    """Write a whole number: ``1,234``."""
    return f"{number:,}"


def signed(number: int) -> str:
    """Write a difference with its sign: ``+56``."""
    return f"{number:+,}"


def per_cent(share: float) -> str:
    """Write a relative difference with its sign: ``+4.8%``; large ones without decimals."""
    percentage = 100 * share
    return f"{signed(round(percentage))}%" if abs(percentage) >= _HUGE_PER_CENT else f"{percentage:+.1f}%"
