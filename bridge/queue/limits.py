"""How much one thread and one person may begin, counted in Redis for all processes together.

What is counted, is counted in the script that takes it in (`put`, and `sent` for runs), so a limit costs no round
trip. A window begins with what is counted first and ends by itself with its key; what was refused counts for nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from bridge.ids import PersonKey
from bridge.inbound import Inbound


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits; 0 stands for none. *thread_turns* and *user_turns* are for a minute, *user_runs* for an hour."""

    thread_turns: int = 0
    user_turns: int = 0
    user_runs: int = 0


UNLIMITED: Final = Limits()


def person(inbound: Inbound) -> str:
    """Under whom it is counted."""
    return str(PersonKey(inbound.team, inbound.user))
