"""`bridge forget`: erase what is stored about a person."""

from __future__ import annotations

import re
from dataclasses import asdict
from datetime import timedelta
from typing import Annotated, Final

import typer

from bridge.cli.printing import out, to_json
from bridge.cli.running import CANNOT_RUN
from bridge.cli.store import JsonOption, in_store
from bridge.engine.standing import Standing
from bridge.features.registry import features
from bridge.queue.erasure import erase_person
from bridge.queue.scripting import Scripts
from bridge.slack.blockkit.kit import counted

_OUT_OF_REACH: Final = """\
Not erased, because the bridge can't reach it:
  - messages in Slack
  - sessions at the project service
  - logs and backups"""
_SESSION: Final = timedelta(days=90)  # only lanes that wait for a choice live so long
_RUNNING: Final = "{} being worked on. Run this again when it's answered."


def forget(
    user: Annotated[str, typer.Argument(metavar="USER", help="A member ID, such as U0123456789.")],
    *,
    as_json: JsonOption = False,
) -> None:
    """Erase what is stored about a person.

    That's their messages and inputs, votes, recent runs and threads, audit entries, and what they set up. Their name is
    taken off what others still need: handles of agents, and requests that they may approve.
    """
    if not re.fullmatch(r"[UW][A-Z0-9]{2,30}", user):
        raise typer.BadParameter(f"“{user}” isn't a member ID: use one such as U0123456789", param_hint="USER")

    async def erase(scripts: Scripts) -> int:
        set_up = await erase_set_up(scripts, user)
        erased = await erase_person(scripts, user, _SESSION)
        if as_json:
            numbers = {kind.plural.replace(" ", "_"): number for kind, number in set_up.items()}
            out(to_json({**asdict(erased), **numbers}))
        else:
            words = [counted(erased.turns, "message"), counted(erased.entries, "record")]
            words += [kind.counted(number) for kind, number in set_up.items() if number]
            out(f"Erased: {', '.join(words)}.")
            if erased.running:
                out(_RUNNING.format(counted(erased.running, "message")))
            out(_OUT_OF_REACH)
        return CANNOT_RUN if erased.running else 0

    in_store(erase)


async def erase_set_up(scripts: Scripts, user: str) -> dict[Standing, int]:
    """Erase the person from all that people set up; returns from how many of each kind."""
    return {kind: await kind.erase(scripts, user) for kind in features.standing if kind.erase}
