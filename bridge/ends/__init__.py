"""The ends of an input, as one table: a row for each way in which a message, a command or a click can end or wait.

A row says what happened, what helps and with which button, what its author is told, what operators read, and who may
see it. Whatever says so renders the row: the reply and the notice in Slack, ``!why``, `bridge trace`, the audit,
`bridge check` and the docs. `messages` has the rows of messages, `refusals` those of what isn't accepted or allowed,
`failures` and `typed` one for each class of `bridge.errors`. A fact in a sentence stands in braces, or is a function's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

Cure = Literal["", "send", "again", "now", "new text"]
"""The button that helps: send a reply that needed a mention, send a message again or now, or send its edited text."""


@dataclass(frozen=True, slots=True)
class End:
    """What *happened*, as a sentence about "this message", and the *cure*, as a sentence and perhaps a *button*.

    *word* is the same for operators, in the audit and the trace. Only its author sees what isn't *public*; *said* is
    what they are told at once, if it isn't the same. *checked* and *mend* are what `bridge check` says and suggests,
    and *no_longer* is a clause that says why what ``{who}`` set up may no longer happen. *says* makes what's said of an
    error's facts.
    """

    happened: str
    cure: str
    button: Cure = ""
    is_public: bool = True
    word: str = ""
    said: str = ""
    checked: str = ""
    mend: str = ""
    no_longer: str = ""
    says: Callable[[Any], str] | None = None

    @property
    def told(self) -> str:
        """What its author is told at once."""
        happened = self.happened.replace("{cause}", "").replace("this message", "your message")
        return self.said or f"{happened} {self.cure}"

    def called(self, word: str, said: str = "", **more: Any) -> Self:
        """Return the same with another *word* for operators, and with what's *said*."""
        return replace(self, word=word, said=said, **more)
