"""Which agent answers a conversation that begins."""

from __future__ import annotations

from collections.abc import Sequence

from bridge.project import Agent

_LONGEST_NAME = 200


def named_first(text: str, agents: Sequence[Agent]) -> tuple[Agent, str] | None:
    """The agent that *text* names before a colon (``Support: hello``), by name or id, and the text after it.

    None where it names none: then it is ordinary text, colon or not.
    """
    before, colon, rest = text.partition(":")
    name = before.strip().removeprefix('"').removesuffix('"').strip()
    is_name = 0 < len(name) <= _LONGEST_NAME and '"' not in name and "\n" not in name
    if not colon or not is_name or rest[:1].strip():
        return None
    named = [agent for agent in agents if name.casefold() in {agent.name.strip().casefold(), str(agent.id)}]
    return (named[0], rest.strip()) if len(named) == 1 else None


def configured(wanted: str, agents: Sequence[Agent]) -> Agent | None:
    """The agent of ``BRIDGE_DEFAULT_AGENT``, by id or name; an id wins over a name that looks like one."""
    by_id = [agent for agent in agents if str(agent.id) == wanted.strip()]
    by_name = [agent for agent in agents if agent.name.strip().casefold() == wanted.strip().casefold()]
    found = by_id or by_name
    return found[0] if wanted.strip() and len(found) == 1 else None
