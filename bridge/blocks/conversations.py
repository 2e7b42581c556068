"""What is said about a conversation: muted, handed over, continued; its title, its greeting, and its prompts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from bridge.blocks import kit, markdown
from bridge.blocks.reply import Audience, Reply
from bridge.project.models import Agent

CONTINUE: Final = "session:continue"
"""Its value is ``<session>:<the session that the thread had, or nothing>``."""

MESSAGES_OPENED: Final = "messages:opened"
"""What stands for an opened Messages tab in the inbox."""

PROMPTS: Final = 4
TITLE: Final = 60
_TITLE_WORDS = 9
_PROMPT_TITLE = 60
_WELCOME = 2000


def muted() -> Reply:
    """Tell that nothing said here is for the agent."""
    return _line(
        "Muted: nothing said in this thread goes to the agent until somebody writes !unmute. Commands still work."
    )


def unmuted() -> Reply:
    """Tell that what is said here is for the agent again."""
    return _line("No longer muted: the agent gets what is said here from now on.")


def is_muted() -> Reply:
    """Tell a person who speaks to the bot in a muted thread why nothing happens."""
    return kit.reply("This thread is muted, so the agent does not get this message. Write !unmute to change that.")


def handed_over(agent: str, before: str, session: int | None) -> Reply:
    """Tell which agent answers from now on, and which did before."""
    words = f"{kit.named(agent, 100)} answers here from now on, in a new session that knows nothing of the earlier one."
    was = (
        f" Before, {kit.named(before, 100)} did{f' (session {session})' if session is not None else ''}."
        if before
        else ""
    )
    return _line(words + was)


def answers_already(agent: str) -> Reply:
    """Tell that this agent has the thread."""
    return kit.reply(f"{kit.named(agent, 100)} answers here already. Write !new to begin a new session.")


def ask_to_continue(session: int, agent: str, before: int | None, value: str) -> Reply:
    """Ask before the session of a thread is replaced."""
    words = f"Continue session {session} with {kit.named(agent, 100)} in this thread?"
    has = (
        f"session {before}. To go back to that, write !session {before}." if before is not None else "what it has now."
    )
    yes = kit.button(f"Continue session {session}", CONTINUE, value)
    return kit.reply(words, kit.section(words), kit.context(f"It takes the place of {has}"), kit.actions(yes))


def continued(session: int, agent: str, before: int | None) -> Reply:
    """Tell which session a thread continues now."""
    was = f" Before, it was session {before}." if before is not None else ""
    return _line(f"This thread continues session {session} with {kit.named(agent, 100)}.{was}")


def continues_already(session: int) -> Reply:
    """Tell that this is the thread's session."""
    return kit.reply(f"This thread is in session {session} already.")


def no_such_session(session: str) -> Reply:
    """Tell that a session cannot be continued here; not whether it exists elsewhere."""
    return kit.reply(
        f"No session {kit.one_line(session, 20)} can be continued here. "
        "It has to be one of this channel, or of your own direct message with me."
    )


def changed_meanwhile() -> Reply:
    """Tell that a question was about a session that the thread no longer has."""
    return kit.reply("The session of this thread has changed meanwhile, so nothing was done. Please try again.")


def greeting(agent: Agent | None) -> Reply:
    """Greet a person who opens the Messages tab for the first time."""
    welcome = kit.clean(agent.welcome_message or "").strip() if agent else ""
    if agent is None or not welcome:
        words = (
            "Hello! Write here, and an agent of this project answers. Each message at the top begins a conversation."
        )
        return kit.reply(words, kit.section(words), audience=Audience.CHANNEL)
    return Reply(
        text=kit.fallback(welcome, 300),
        markdown=markdown.neutralised(kit.cut(welcome, _WELCOME)),
        footer=(kit.context(f"{kit.named(agent.name, 100)} answers here unless you begin with another agent's name."),),
        audience=Audience.CHANNEL,
    )


def prompts(agents: Sequence[Agent], default: Agent | None) -> list[dict[str, str]]:
    """Suggest how to begin: with the default agent, then with others by name, then with a look around."""
    others = [agent for agent in agents if default is None or agent.id != default.id]
    named = [*([default] if default else []), *others][: PROMPTS - 1]
    asked = [_prompt(agent) for agent in named if kit.one_line(agent.name, 100)]
    return [*asked, {"title": "What can I ask for?", "message": "!help"}]


def _prompt(agent: Agent) -> dict[str, str]:
    name = kit.one_line(agent.name, 100)
    return {"title": kit.cut(f"Ask {name}", _PROMPT_TITLE), "message": f"{name}: What can you do?"}


_SECRET = re.compile(
    r"^(?:xox|xapp|sk-|pk-|gh[oprsu]_|glpat|AKIA|eyJ|Bearer$)|:.*@|=|(?=.*\d)(?=.*[A-Za-z])[\w+/.~-]{16,}$|^\d{9,}$|[A-Za-z+/_-]{28,}"
)
_TELLS = re.compile(
    r"(?i)\b(?:pass(?:word|phrase|wort)?|pwd|token|secret|api-?key|key|pin)[:=]?(?: (?:is|was|ist|:))?$"
)
_JOINS = frozenset({"is", "was", "ist", ":"})  # stand between what a secret is called and the secret


def title_of(message: str) -> str:
    """Name a conversation by the first words of its first message, without anything that looks like a secret."""
    words = kit.one_line(message, 400).split()[:_TITLE_WORDS]
    shown: list[str] = []
    for word in words:
        is_told = word not in _JOINS and _TELLS.search(" ".join(shown[-2:])) is not None
        shown.append("…" if is_told or _SECRET.search(word) else word)
    return markdown.neutralised(kit.cut(" ".join(shown), TITLE))


def _line(words: str) -> Reply:
    return kit.reply(words, kit.context(words), audience=Audience.THREAD)
