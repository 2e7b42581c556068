"""The agent that looks things up: in the shop's manual, among its orders, and on the clock."""

from __future__ import annotations

import re
from typing import Any, Final

from bridge.playground.sample_project.conversation import AgentReply, Talk

_PAGES: Final = (
    (
        r"return|refund|broken|damaged",
        "returns",
        "Whatever arrives broken is replaced. The rest may be sent back for 30 days, unused.",
    ),
    (
        r"ship|deliver|parcel|post",
        "shipping",
        "Parcels leave every day but Sunday and take two days. Above 50.00 they are free.",
    ),
    (r"open|hours|close", "opening-hours", "Monday to Saturday, 9 to 18 o'clock."),
    (r"pay|invoice|card|price", "payment", "By card or on invoice; an invoice is due within 14 days."),
    (
        r"password|login|account",
        "accounts",
        "Choose *Forgotten?* below the password; the mail that comes holds for an hour.",
    ),
    (r"tea|cup|pot", "products", "Teapots, cups, strainers, and eleven kinds of tea."),
)
_ORDER: Final = re.compile(r"\border\D{0,12}(\d{3,6})\b", re.IGNORECASE)
_STATES: Final = ("is being packed", "left us yesterday", "was delivered this morning", "waits for its payment")
_TIME: Final = re.compile(r"\b(?:time|when|now|today)\b", re.IGNORECASE)


def look_up(talk: Talk, message: str) -> AgentReply:
    """Answer from the pages that fit, with the tools that were used."""
    tools: list[Any] = ["search_docs"]
    found = [f"**{name}**: {text}" for pattern, name, text in _PAGES if re.search(pattern, message, re.IGNORECASE)]
    if order := _ORDER.search(message):
        tools.append("order_status")
        found.insert(0, f"Order {order[1]} {_STATES[int(order[1]) % len(_STATES)]}.")
    if _TIME.search(message):
        tools.append("current_time")
    return AgentReply(_put(found, talk), tools_used=tools)


def _put(found: list[str], talk: Talk) -> str:
    if not found:
        hint = "Ask me about shipping, returns, payment, opening hours, accounts, or an order: *where is order 1042?*"
        return hint if len(talk.said) == 1 else f"I found nothing about that. {hint}"
    return "\n\n".join(found) + "\n\nMore is in the [manual](https://example.com/manual)."
