"""Which project an input is about, decided once, before it's stored.

It's the one named first (``/workflows @orders run 3``, ``@bridge @orders hello``), or else the channel's or, in a
direct message, the person's last one. A thread keeps the project in which it began (`bridge.queue.records.Taken`), and
buttons and forms have the project of what they belong to (`bridge.slack.in_project`).
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

from bridge.engine.command_line import CommandLine
from bridge.engine.projects import ASK, ServedProjects, last_project, remember
from bridge.ids import PersonKey
from bridge.inbound import Inbound, InboundMessage, SlashCommand
from bridge.names.folding import fold, name_key
from bridge.names.nearness import likeness
from bridge.policy.policy import Policy
from bridge.project.connection import ProjectConnection
from bridge.queue.scripting import Scripts
from bridge.slack.blockkit.mrkdwn import addressed

I = TypeVar("I", bound=Inbound)  # noqa: E741 - an input

# Of folded text:
_COMMAND: Final = re.compile(r"\s*[*_~`]*[!/]([a-z][\w-]*)(?=\s)\s*")
_AT: Final = re.compile(r"\s*(?:@(?=\S)|<(?:@[uw]|!subteam\^s)[a-z0-9]+\|@?(?P<label>[^<>]+)>)")
_PLAIN: Final = re.compile(r"[^\W_](?:[\w -]*\w)?")  # not `order(…)`, nor an address
_ABOVE_CODE: Final = re.compile(
    r"\n\s*(?:@|(?:abstract|async|class|def|export|final|fn|fun|func|function|interface|private|protected|public|static)\b)"
)  # after a decorator
_MOST_TYPED: Final = 600  # characters that the mentions, a command and a project's name may take
_MOST_WORDS: Final = 12  # of a project's name


def _may_name_one(text: str) -> bool:
    """Whether a message may name a project, or be a command: most messages have none of these characters."""
    head = text[:_MOST_TYPED]
    return not head.isascii() or any(mark in head for mark in "@!/")


class NamedProject(NamedTuple):
    """A *project* that a text names, and the *rest* of the text, without its name."""

    project: ProjectConnection
    rest: str


def named_first(
    text: str, projects: ServedProjects, *, bot_user: str = "", bare: Collection[str] = ()
) -> NamedProject | None:
    """Return the project that *text* names first, as ``@orders``: after mentions of the bot, and a command's name.

    After a command in *bare*, a name alone counts, too. None if it names none.
    """
    mentions, rest = addressed(text, bot_user) if bot_user else ("", text)
    folded = fold(rest, _MOST_TYPED)
    command = _COMMAND.match(folded.text)
    begin = command.end() if command else 0
    at = _AT.match(folded.text, begin)
    if at is None and not (command and command[1] in bare):
        return None
    head = mentions + folded.until(begin)
    if at is not None and (label := at["label"]):  # Slack made a mention of it
        project = projects.find(label)
        return NamedProject(project, head + folded.after(at.end())) if project else None
    begin = at.end() if at else begin
    words = list(re.finditer(r"\S+", folded.text[begin:]))[:_MOST_WORDS]
    for end in (begin + word.end() for word in reversed(words)):
        project = projects.find(folded.between(begin, end).rstrip(":,"))
        if project:
            return NamedProject(project, head + folded.after(end))
    return None


def misspelled_first(text: str, projects: ServedProjects, *, bot_user: str) -> NamedProject | None:
    """Return the project whose ID or name *text* seems to misspell where a message may name one (`named_first`)."""
    mentions, rest = addressed(text, bot_user)
    folded = fold(rest, _MOST_TYPED)
    at = _AT.match(folded.text)
    if at is None or at["label"]:
        return None
    ends = [at.end() + word.end() for word in re.finditer(r"\S+", folded.text[at.end() :])][:_MOST_WORDS]
    best, named = 0.0, None
    for project in projects:
        for name in {name_key(project.id), name_key(project.name)}:
            end = ends[min(name.count(" "), len(ends) - 1)]
            typed = folded.text[at.end() : end].rstrip(":,")
            likely = likeness(typed, name) if _PLAIN.fullmatch(typed) else 0.0
            if likely > best and not _ABOVE_CODE.match(folded.text, end):
                best, named = likely, NamedProject(project, mentions + folded.after(end))
    return named


@dataclass(frozen=True, slots=True)
class Addressing:
    """Decides it. *of_channel* returns what's set for a channel, by its team and its ID (`ProjectConnection.key`)."""

    projects: ServedProjects
    commands: CommandLine
    scripts: Scripts
    bot_user: str
    policy: Policy
    of_channel: Callable[[str, str], Awaitable[str | None]]

    async def assign(self, inbound: I) -> I:
        """Return *inbound* with its project, as its person uses it, and without that project's name.

        Raises `StoreUnavailable`, and `SlackError` if it's unknown who has which key.
        """
        placed: Inbound = inbound
        if self.projects.is_several and inbound.is_placed and not inbound.names_project:
            placed = await self._of_several(inbound)
        may_have_key = self.projects.has_keys and placed.is_placed and placed.project != ASK
        if may_have_key and placed.user and not getattr(placed, "app", ""):
            key = await self.projects.key_for(self.policy, placed.project, placed.user)
            placed = placed.model_copy(update={"project": key})
        return placed  # type: ignore[return-value] # a copy is of the same type

    async def _of_several(self, inbound: I) -> I:
        named: NamedProject | None = None
        changed: dict[str, str] = {}
        about: Inbound = inbound
        match about:
            case InboundMessage(source="typed", text=text) if _may_name_one(text):
                named = named_first(text, self.projects, bot_user=self.bot_user, bare=self.commands.of_projects)
                changed = {"text": named.rest} if named else self._meant_by(about)
            case SlashCommand(command=command, text=text):
                named = named_first(f"{command} {text}", self.projects, bare=self.commands.of_projects)
                changed = {"text": named.rest[len(command) :].lstrip()} if named else {}
        person = PersonKey(inbound.team, inbound.user)
        if named:
            if inbound.channel.startswith("D"):
                await remember(self.scripts, person, named.project.key)
            changed |= {"project": named.project.key}
            return inbound.model_copy(update={**changed, "names_project": True})  # type: ignore[return-value] # a copy is of the same type
        if inbound.place and not inbound.place.startswith("D"):
            known = self.projects.of_channel(inbound.channel)
            key = known.key if known else await self.of_channel(inbound.team, inbound.channel)
        else:
            key = await last_project(self.scripts, person, self.projects)
        if key or changed:
            changed |= {"project": key or ""}
        placed: Inbound = inbound.model_copy(update=changed) if changed else inbound
        if key is None and self._is_command(placed):
            return placed.model_copy(update={"project": ASK})  # type: ignore[return-value] # as above
        return placed  # type: ignore[return-value] # as above

    def _is_command(self, inbound: Inbound) -> bool:
        match inbound:
            case SlashCommand():
                return True
            case InboundMessage(meant="", text=text) if _may_name_one(text):
                return self.commands.line_of(inbound, self.bot_user) is not None
        return False

    def _meant_by(self, message: InboundMessage) -> dict[str, str]:
        """Return what changes in a *message* that seems to misspell a project's name: nothing is done on a guess.

        If a command follows, the name comes after it, as `CommandLine` refuses it there.
        """
        meant = misspelled_first(message.text, self.projects, bot_user=self.bot_user)
        if meant is None:
            return {}
        line = self.commands.line_of(message.model_copy(update={"text": meant.rest}), self.bot_user)
        if line is None:
            return {"meant": meant.project.id}
        mentions, rest = addressed(message.text, self.bot_user)
        command, _, words = line[1:].partition(" ")
        return {"text": f"{mentions}!{command} {rest.split()[0]} {words}".rstrip()}
