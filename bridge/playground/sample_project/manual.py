"""The agent that looks things up: the manual, orders and the time."""

from __future__ import annotations

import re
from typing import Any, Final

from bridge.playground.sample_project.conversation import AgentReply, Talk

_PAGES: Final = {
    ("return", "refund", "broken", "damaged"): (
        "**Returns**: Items that arrive broken are replaced. Unused items can be returned within 30 days."
    ),
    ("ship", "deliver", "parcel", "post"): (
        "**Shipping**: Parcels ship every day but Sunday and take two days. Shipping is free for orders over 50.00."
    ),
    ("open", "hours", "close"): "**Opening hours**: Monday to Saturday, 9:00 to 18:00.",
    ("pay", "invoice", "card", "price"): "**Payment**: By card or invoice. Invoices are due within 14 days.",
    ("password", "login", "account"): (
        "**Accounts**: Choose *Forgot password?* on the sign-in page. The link in the email works for an hour."
    ),
    ("tea", "cup", "pot"): "**Products**: Teapots, cups, strainers, and eleven kinds of tea.",
}
"""The manual's pages, by the words that they're about."""
_ORDER: Final = re.compile(r"\border\D{0,12}(\d{3,6})\b", re.IGNORECASE)
_STATES: Final = ("is being packed", "shipped yesterday", "was delivered this morning", "is waiting for payment")
_CANCEL: Final = re.compile(r"(?P<yes>\byes, )?\bcancel\b", re.IGNORECASE)
_ASKS: Final = "{order} Shall I cancel it?\n\n```options\nYes, cancel order {number}\nNo, keep it\n```"
_KEEP: Final = re.compile(r"\bno, keep it\b", re.IGNORECASE)
_NEWS: Final = re.compile(r"\bwhat(?:'s|’s| is| has)? (?:changed|new)\b", re.IGNORECASE)  # noqa: RUF001 - as phones write it
_SINCE_YESTERDAY: Final = "Since yesterday: 42 orders, 3 tickets still open, and green tea is running low."
_TIME: Final = re.compile(r"\b(?:time|when|now|today)\b", re.IGNORECASE)


def look_up(talk: Talk, message: str) -> AgentReply:
    """Answer from the matching pages, with the tools used."""
    tools: list[Any] = ["search_docs"]
    folded = message.casefold()
    parts = [page for words, page in _PAGES.items() if any(word in folded for word in words)]
    if order := _ORDER.search(message):
        tools.append("order_status")
        parts.insert(0, f"Order {order[1]} {_STATES[int(order[1]) % len(_STATES)]}.")
    if order and (cancel := _CANCEL.search(message)):
        parts = (
            [f"Order {order[1]} is cancelled."] if cancel["yes"] else [_ASKS.format(order=parts[0], number=order[1])]
        )
        return AgentReply(parts[0], tools_used=tools)
    if _KEEP.search(message):
        return AgentReply("OK, it stays as it is.", tools_used=tools)
    if _NEWS.search(message):
        tools.append("order_status")
        parts.insert(0, _SINCE_YESTERDAY)
    if _TIME.search(message):
        tools.append("current_time")
    return AgentReply(_put(parts, talk), tools_used=tools)


def _put(parts: list[str], talk: Talk) -> str:
    if not parts:
        hint = "Ask me about shipping, returns, payment, opening hours, accounts, or an order: *cancel order 1042*"
        return hint if len(talk.messages) == 1 else f"I couldn't find anything about that. {hint}"
    return "\n\n".join(parts) + "\n\nRead more in the [manual](https://example.com/manual)."
