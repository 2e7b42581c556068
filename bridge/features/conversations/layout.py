"""Notices about a conversation, its title, its greeting, and suggested prompts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bridge.ends.notices import notify_or_stop
from bridge.project.models import Agent
from bridge.slack.blockkit import kit, markdown
from bridge.slack.blockkit.reply import Audience, Block, Reply, Speaker

CONTINUE: Final = "session:continue"
"""The button's value is ``<session to resume>:<the thread's session, if it has one>``."""

ANSWERED: Final = "answer_shown"
"""The name of the notice that an answer is shown."""

PROMPTS: Final = 4
_PROMPT_TITLE = 60
_WELCOME = 2000
WILL_NOTIFY: Final = kit.note("I'll send you a direct message when the answer is there.", replaces_original=True)
ANSWERED_ALREADY: Final = kit.note("Your message has been answered.", replaces_original=True)
MUTED: Final = kit.note(
    "Muted: I won't send this thread to the agent until someone types !unmute. Commands still work.",
    audience=Audience.THREAD,
)
UNMUTED: Final = kit.note("Unmuted: new messages will go to the agent again.", audience=Audience.THREAD)
CHANGED_MEANWHILE: Final = kit.reply("This thread's session changed in the meantime, so nothing was done. Try again.")


def still_working(agent: str, turn: str, value: str) -> Reply:
    """Say that the agent is still at work, and offer to notify the person, and to stop it."""
    text = f"{kit.named(agent, 100) if agent else 'The agent'} is still working on your message."
    return kit.ask(text, *notify_or_stop(turn, value))


def answer_shown(agent: str, link: str) -> Reply:
    """Tell a person, in a direct message, that their message was answered; *link* leads to the answer."""
    text = f"{kit.named(agent, 100) if agent else 'The agent'} is done with your message."
    where: list[Block | str] = [" ", kit.link(link, "Open it")] if link else []
    return kit.reply(text, kit.rich(kit.paragraph(text, *where)), audience=Audience.CHANNEL)


def handed_over(agent: str, before: str, session: int | None, speaker: Speaker | None = None) -> Reply:
    """Say which agent answers from now on, and which did before; *speaker* is the new one."""
    text = f"{kit.named(agent, 100)} now answers here"
    if before:
        of = "" if session is None else f" (session {session})"
        text = f"{text}, in a new session without the earlier conversation. It replaces {kit.named(before, 100)}{of}"
    text += "."
    return kit.note(text, audience=Audience.THREAD).model_copy(update={"speaker": speaker})


def answers_already(agent: str) -> Reply:
    """Say that this agent already answers in the thread."""
    text = f"{kit.named(agent, 100)} already answers here. Type !new to start a new session."
    return kit.reply(text, kit.with_code(text, "!new"))


def ask_to_continue(session: int, agent: str, before: int | None, value: str) -> Reply:
    """Ask before replacing a thread's session."""
    text = f"Resume session {session} with {kit.named(agent, 100)} in this thread?"
    small = f"It replaces session {before}. To go back, type !session {before}."
    if before is None:
        small = "It replaces the current conversation."
    return kit.ask(text, kit.button(f"Resume session {session}", CONTINUE, value), small=small)


def continued(session: int, agent: str, before: int | None) -> Reply:
    """Say which session the thread is in now, and which before."""
    was = "" if before is None else f" It replaces session {before}."
    text = f"This thread is now in session {session} with {kit.named(agent, 100)}.{was}"
    return kit.note(text, audience=Audience.THREAD)


def continues_already(session: int) -> Reply:
    """Say that this is already the thread's session."""
    return kit.reply(f"This thread is already in session {session}.")


def several_sessions(session: str, agents: Sequence[str]) -> Reply:
    """Say that several *agents* have a session with this number, and how to choose one."""
    names = kit.joined([kit.named(name, 60) for name in agents[:5]])
    return kit.reply(
        f"{names} each have a session {kit.one_line(session, 60)}. "
        f"Type !session {kit.one_line(session, 60)} in a thread with the one you mean."
    )


def no_such_session(session: str) -> Reply:
    """Say that a session can't be resumed here, but not whether it exists elsewhere."""
    return kit.reply(
        f"I can't resume session {kit.one_line(session, 60)}. "
        "Here, I can only resume sessions from this channel or from your direct messages with me."
    )


def greeting(agent: Agent | None, speaker: Speaker | None = None) -> Reply:
    """Greet a person who opens the Messages tab for the first time, with the welcome message of their agent, if any.

    It's shown as from *speaker*.
    """
    welcome = kit.clean(agent.welcome_message or "").strip() if agent else ""
    if agent is None or not welcome:
        text = (
            "Hello! Send me a message, and an agent will answer in a thread. Reply there to continue; a new message "
            "here starts a new conversation."
        )
        return kit.ask(text, audience=Audience.CHANNEL)
    unless = f"{kit.named(agent.name, 100)} answers here. To ask another agent, start with its name."
    return Reply(
        text=kit.fallback(welcome, 300),
        markdown=markdown.neutralized(kit.cut(welcome, _WELCOME)),
        footer=(kit.context(unless),),
        speaker=speaker,
        audience=Audience.CHANNEL,
    )


def prompts(agents: Sequence[Agent], default: Agent | None) -> list[dict[str, str]]:
    """Return prompts for Slack: for the default agent, for other agents by name, then for an overview.

    https://docs.slack.dev/reference/methods/assistant.threads.setSuggestedPrompts
    """
    others = [agent for agent in agents if default is None or agent.id != default.id]
    first = [*([default] if default else []), *others][: PROMPTS - 1]
    names = [name for agent in first if (name := kit.one_line(agent.name, 100))]
    asked = [{"title": kit.cut(f"Ask {name}", _PROMPT_TITLE), "message": f"{name}: What can you do?"} for name in names]
    return [*asked, {"title": "What can you do?", "message": "!help"}]
