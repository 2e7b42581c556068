"""The forms that have to do with agents: one begins a conversation, one chooses who answers in a channel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from bridge import words
from bridge.features.agents.layout import who_asks
from bridge.features.conversations.menu import agent_options
from bridge.features.workflows.forms import CHANNEL, FormErrors, Origin, channel_menu, modal, text_input
from bridge.project.models import Agent
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Audience, Block, Reply, View

ASK: Final = "ask"
DEFAULT: Final = "default"
"""The forms' callback_ids."""

AGENT: Final = "agent"
MESSAGE: Final = "message"
ABOUT: Final = "about"
WHERE: Final = "where"

OPEN_ASK: Final = "ask:form"
OPEN_DEFAULT: Final = "default:form"
"""Buttons that open them; the first one's value may name an agent."""

NOBODY: Final = "none"
_IN_THREAD: Final = "thread"
_DIRECT: Final = "direct"


@dataclass(frozen=True, slots=True)
class Question:
    """A form that was filled in well: what to ask which agent, and the words of others that it is about."""

    agent: int
    message: str
    about: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where something from a form goes: a channel, and a thread in it."""

    channel: str
    thread_ts: str = ""


def ask_form(agent: Agent | None, origin: Origin, *, about: str | None = None) -> View:
    """Draw the form that begins a conversation; *about* are the words of a message whose shortcut was used."""
    fields = [
        kit.input_block(AGENT, words.AGENT, kit.external_select(AGENT, words.CHOOSE_AN_AGENT, _chosen(agent))),
        kit.input_block(MESSAGE, words.YOUR_QUESTION, text_input(MESSAGE)),
    ]
    if about is not None:
        is_cut = len(about) > kit.PLAIN_TEXT_INPUT
        hint = words.ONLY_THE_FIRST.format(limit=kit.PLAIN_TEXT_INPUT) if is_cut else words.ABOUT_HINT
        element = text_input(ABOUT, about)
        fields.append(kit.input_block(ABOUT, words.ABOUT_THIS_MESSAGE, element, hint=hint, optional=True))
    return modal(ASK, words.ASK_AN_AGENT, words.ASK, [*fields, _where(origin)], origin)


def default_form(origin: Origin, agent: Agent | None = None) -> View:
    """Draw the form that chooses who answers mentions in a channel; *agent* does now."""
    menu = kit.external_select(AGENT, words.CHOOSE_AN_AGENT_OR_NOBODY, _chosen(agent))
    is_channel = origin.channel.startswith(("C", "G")) and origin.channel != origin.direct
    channels = channel_menu(CHANNEL, origin.channel if is_channel else "", with_direct=False)
    fields = [
        kit.input_block(CHANNEL, words.CHANNEL, channels),
        kit.input_block(AGENT, words.WHO_ANSWERS_THERE, menu),
    ]
    return modal(DEFAULT, words.WHO_ANSWERS_HERE, words.SAVE, fields, origin)


def read_ask_form(values: Mapping[str, Any]) -> Question | FormErrors:
    """Check what `bridge.features.workflows.forms.form_values` gave of the first form."""
    agent, message = str(values.get(AGENT) or ""), str(values.get(MESSAGE) or "")
    errors = {} if agent.isdecimal() else {AGENT: words.CHOOSE_AGENT_FROM_LIST}
    if not message.strip():
        errors[MESSAGE] = words.WRITE_YOUR_QUESTION
    return FormErrors(errors) if errors else Question(int(agent), message.strip(), str(values.get(ABOUT) or "").strip())


def read_default_form(values: Mapping[str, Any]) -> int | FormErrors | None:
    """Check what `form_values` gave of the second form: the agent's id, None for nobody."""
    agent, errors = str(values.get(AGENT) or ""), {}
    if agent != NOBODY and not agent.isdecimal():
        errors[AGENT] = words.CHOOSE_AGENT_FROM_LIST
    if not values.get(CHANNEL):
        errors[CHANNEL] = words.CHOOSE_CHANNEL_FROM_LIST
    if errors:
        return FormErrors(errors)
    return None if agent == NOBODY else int(agent)


def place_of(form: str, values: Mapping[str, Any], origin: Origin) -> Place:
    """Find where what comes of a form is to be shown."""
    where = str(values.get(WHERE) or "") if form == ASK else str(values.get(CHANNEL) or "")
    match where:
        case "":
            return Place(origin.channel)
        case _ if form == ASK and where == _IN_THREAD:
            return Place(origin.channel, origin.thread_ts)
        case _ if form == ASK and where == _DIRECT:
            return Place(origin.direct)
        case _:
            return Place(where)


def agent_choices(agents: Sequence[Agent], query: str, *, form: str) -> list[Block]:
    """Offer agents, and nobody where that is a choice."""
    found = agent_options(agents, query)
    if form != DEFAULT or query.strip():
        return found
    return [kit.option(words.NOBODY, NOBODY), *found[: kit.OPTIONS - 1]]


def question_text(question: Question, author: str, said_before: str = "") -> str:
    """Write what the agent gets: the question, and marked as a quotation what it is about.

    *said_before* is the thread before it, as it is to be read.
    """
    parts = [question.message]
    if question.about:
        by = words.QUOTED_ABOUT_BY.format(author=kit.one_line(author, 80)) if author else words.QUOTED_ABOUT
        parts.append(f"{by}\n{_quoted(question.about)}")
    if said_before:
        parts.append(f"{words.QUOTED_THREAD}\n{_quoted(said_before)}")
    return "\n\n".join(parts)


def question_shown(agent: Agent, question: Question, asked_by: str, author: str) -> Reply:
    """Show in the thread, or as its root, what was asked there."""
    asked = who_asks(agent, asked_by)
    blocks = [kit.rich(kit.quotation(kit.clean(question.message)))]
    if question.about:
        by = words.ABOUT_A_MESSAGE_BY.format(author=kit.named(author, 80)) if author else words.ABOUT_A_MESSAGE
        blocks += [kit.context(by), kit.rich(kit.quotation(kit.cut(kit.clean(question.about), kit.CODE_TEXT)))]
    blocks.append(kit.context(words.ASKED_SMALL.format(asked=asked)))
    return kit.reply(f"{asked}: {question.message}", *blocks, audience=Audience.CHANNEL)


def offer_ask_form(agent: Agent | None = None) -> Reply:
    """Offer the form with a button, for when it could not be opened by itself."""
    text = words.WHAT_TO_ASK.format(agent=kit.named(agent.name, 100)) if agent else words.WHICH_AGENT_TO_ASK
    return kit.reply(text, kit.section(text), kit.actions(ask_button(agent, words.OPEN_THE_FORM)))


def offer_default_form() -> Reply:
    """Offer the form with a button, for when it could not be opened by itself."""
    text = words.WHO_IS_TO_ANSWER
    return kit.reply(text, kit.section(text), kit.actions(kit.button(words.OPEN_THE_FORM, OPEN_DEFAULT, "")))


def ask_button(agent: Agent | None, label: str) -> Block:
    """Make a button that opens the form."""
    return kit.button(label, OPEN_ASK, str(agent.id) if agent else "")


def _where(origin: Origin) -> Block:
    if not origin.thread_ts:
        return kit.input_block(WHERE, words.ASK_IN, channel_menu(WHERE, origin.direct or origin.channel))
    choices = [kit.option(words.IN_THE_THREAD, _IN_THREAD)]
    if origin.direct and origin.direct != origin.channel:
        choices.append(kit.option(words.IN_OUR_DIRECT_MESSAGE, _DIRECT))
    hint = "" if origin.direct else words.OPEN_HOME_ONCE
    return kit.input_block(WHERE, words.ASK_IN, kit.select(WHERE, words.CHOOSE_WHERE, choices, choices[0]), hint=hint)


def _chosen(agent: Agent | None) -> Block | None:
    return kit.option(agent.name or words.UNNAMED_AGENT.format(id=agent.id), str(agent.id)) if agent else None


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" for line in text.strip().splitlines())
