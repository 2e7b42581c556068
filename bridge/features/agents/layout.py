"""Agents: the list, and one with its tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from bridge import words
from bridge.project.models import Agent, AgentDetail
from bridge.slack.blockkit import kit, shapes
from bridge.slack.blockkit.lists import Spot, by_name, list_reply, matching
from bridge.slack.blockkit.reply import Audience, Block, Reply

TURNS: Final = ("list:agents:previous", "list:agents:next")
"""The buttons of the list."""

CHANGED: Final = "default_changed:"
"""How `bridge.inbound.Notice.what` begins for a channel whose default agent was changed."""


def agent_list(agents: Sequence[Agent], wanted: str = "", default: int | None = None, page: int = 0) -> Reply:
    """Show a page of the agents, the channel's *default* marked; those with the *wanted* words."""
    found = by_name(matching(agents, wanted))
    if not found:
        return kit.reply(_nothing(wanted))
    title = words.AGENTS_WITH.format(words=kit.quoted(wanted, 60)) if wanted else words.AGENTS
    spot = Spot(page=page, words=wanted)
    return list_reply(title, found, lambda agent: _line(agent, is_default=agent.id == default), spot, TURNS)


def agent_card(agent: Agent, detail: AgentDetail) -> Reply:
    """Show one agent: what it is for, its model, and the tools that it can use."""
    name = kit.one_line(detail.name or agent.name)
    description = detail.description or agent.description or ""
    temperature = agent.temperature if detail.temperature is None else detail.temperature
    tools = shapes.listed(shapes.names_in(detail.tools), 1500)
    facts = [(words.ID, str(agent.id)), (words.MODEL, detail.model or agent.model)]
    facts += [(words.TEMPERATURE, f"{temperature:g}")] if temperature is not None else []
    blocks = [kit.header(name), *([kit.section(kit.cut(description, 2000))] if description.strip() else [])]
    label = kit.words(f"{words.TOOLS} ", bold=True)
    blocks += [kit.fields(facts), kit.rich(kit.paragraph(label, tools or _unnamed(detail)))]
    if welcome := kit.one_line(detail.welcome_message or agent.welcome_message or "", 1000):
        blocks.append(kit.rich(kit.paragraph(kit.words(f"{words.SAYS_HELLO} ", bold=True), welcome)))
    return kit.reply(words.AGENT_SPOKEN.format(name=name, id=agent.id, description=description), *blocks)


def conversation_root(agent: Agent, message: str, asked_by: str = "") -> Reply:
    """Show a message that was typed in a command, as the root of the thread in which the agent answers."""
    # The bot posts it, and it must not look like a word of the bot's own.
    asked = who_asks(agent, asked_by)
    blocks = [kit.rich(kit.quotation(part)) for part in _parts(kit.clean(message), kit.SECTION_TEXT)]
    blocks.append(kit.context(words.ASKED_SMALL.format(asked=asked)))
    return kit.reply(f"{asked}: {message}", *blocks, audience=Audience.CHANNEL)


def who_asks(agent: Agent, asked_by: str) -> str:
    """Say who asks whom."""
    whom = kit.named(agent.name, 80)
    return (
        words.ASKS.format(person=kit.named(asked_by, 80), agent=whom) if asked_by else words.ASKED_OF.format(agent=whom)
    )


def default_set(agent: Agent) -> Reply:
    """Tell that an agent answers in the channel from now on."""
    return kit.reply(words.DEFAULT_SET.format(agent=kit.named(agent.name, 100)))


def default_of_channel(agent: Agent | None, channel_name: str) -> Reply:
    """Tell the same of a channel that was chosen in a form; None is nobody."""
    where = kit.named(f"#{channel_name}", 100)
    if agent is None:
        return kit.reply(words.NOBODY_ANSWERS_IN.format(channel=where))
    return kit.reply(words.DEFAULT_SET_IN.format(agent=kit.named(agent.name, 100), channel=where))


def default_taken_away() -> Reply:
    """Tell that no agent is the channel's default any more."""
    return kit.reply(words.DEFAULT_TAKEN_AWAY)


def change_notice(agent: Agent | None, person: str) -> str:
    """Name, for `told_of_change`, what a *person* made of a channel's default agent."""
    return CHANGED + json.dumps([agent.name if agent else "", person])


def told_of_change(what: str) -> Reply:
    """Tell a channel who changed its default agent to which."""
    try:
        agent, person = (str(fact) for fact in json.loads(what.removeprefix(CHANGED)))
    except ValueError:
        agent, person = "", words.SOMEBODY
    template = words.DEFAULT_CHANGED if agent else words.DEFAULT_REMOVED
    text = template.format(**({"agent": kit.named(agent, 100)} if agent else {}), person=kit.named(person, 80))
    return kit.reply(text, kit.context(text), audience=Audience.CHANNEL)


def _nothing(wanted: str) -> str:
    return words.NO_AGENT_WITH.format(words=kit.quoted(wanted, 60)) if wanted else words.NO_AGENTS


def _unnamed(detail: AgentDetail) -> str:
    count = shapes.how_many(detail.tools)
    return f"{count:,}" if count else words.NO_TOOLS


def _line(agent: Agent, *, is_default: bool) -> Block:
    facts = words.AGENT_FACTS.format(id=agent.id, model=kit.one_line(agent.model, 60))
    mark = [kit.words(f" · {words.ANSWERS_MENTIONS}", italic=True)] if is_default else []
    about = kit.one_line(agent.description or "", kit.DESCRIPTION)
    name = kit.words(kit.one_line(agent.name, 100) or words.NO_NAME, bold=True)
    return kit.paragraph(name, f" · {facts}", *mark, f"\n{about}" if about else "")


def _parts(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, min(len(text), kit.LIST_TEXT), size)] or ["-"]
