"""Which agent answers a conversation that begins."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bridge.project import Agent

_NAMED_FIRST = re.compile(r"\s*\"?([^:\"\n]{1,200}?)\"?\s*:(?=\s|$)\s*(.*)", re.DOTALL)


def named_first(text: str, agents: Sequence[Agent]) -> tuple[Agent, str] | None:
    """The agent that *text* names before a colon (``Support: hello``), by name or id, and the text after it.

    None where it names none: then it is ordinary text, colon or not.
    """
    match = _NAMED_FIRST.fullmatch(text)
    if match is None:
        return None
    wanted = match[1].strip().casefold()
    named = [agent for agent in agents if wanted in {agent.name.strip().casefold(), str(agent.id)}]
    return (named[0], match[2].strip()) if len(named) == 1 else None


def configured(wanted: str, agents: Sequence[Agent]) -> Agent | None:
    """The agent of ``BRIDGE_DEFAULT_AGENT``, by id or name; an id wins over a name that looks like one."""
    by_id = [agent for agent in agents if str(agent.id) == wanted.strip()]
    by_name = [agent for agent in agents if agent.name.strip().casefold() == wanted.strip().casefold()]
    found = by_id or by_name
    return found[0] if wanted.strip() and len(found) == 1 else None
