"""A usage line declares a command; an invalid one is rejected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bridge.engine.dispatch import Features
from bridge.engine.feature import Feature
from bridge.engine.results import Done, Result
from bridge.engine.turn import Turn
from bridge.features.deps import Deps
from bridge.features.registry import features
from support.store import message
from support.tables import each


async def plain(deps: Deps, turn: Turn) -> Result:  # noqa: ARG001 - the shape of a command
    """Do nothing."""
    return Done("test")


async def with_word(deps: Deps, turn: Turn, *, word: str) -> Result:  # noqa: ARG001 - the shape of a command
    """Do nothing with a word."""
    return Done(word)


async def with_default(deps: Deps, turn: Turn, *, word: str = "") -> Result:  # noqa: ARG001 - the shape of a command
    """Do nothing with a word, or without."""
    return Done(word)


async def positional(deps: Deps, turn: Turn, word: str) -> Result:  # noqa: ARG001 - the shape of a command
    """Declare the parameter positional."""
    return Done(word)


def not_async(deps: Deps, turn: Turn) -> Result:  # noqa: ARG001 - the shape of a command
    """Omit ``async``."""
    return Done("test")


async def without_turn(deps: Deps) -> Result:  # noqa: ARG001 - the shape of a command
    """Omit the turn."""
    return Done("test")


async def without_docstring(deps: Deps, turn: Turn) -> Result:  # noqa: ARG001 - the shape of a command
    return Done("test")


@each(
    ("usage", "handler"),
    [
        ("workflows", plain),
        ("/Workflows", plain),
        ("/x <word", with_word),
        ("/x [word] <other>", with_word),
        ("/x <word> list", with_word),
        ("/x", with_word),
        ("/x <other>", with_word),
        ("/x <word>", with_default),
        ("/x [word]", with_word),
        ("/x <word>", positional),
        ("/x", not_async),
        ("/x", without_turn),
        ("/x help", plain),
        ("/taken", plain),
        ("!taken", plain),
    ],
)
def test_a_wrong_registration_fails_at_once(usage: str, handler: Callable[..., Any]) -> None:
    feature = Feature("x")
    feature.command("/taken")(plain)

    with pytest.raises(TypeError):
        feature.command(usage)(handler)


def test_a_command_without_help_fails_at_once() -> None:
    with pytest.raises(TypeError, match="help"):
        Feature("x").command("/x")(without_docstring)


def test_a_name_registered_twice_fails() -> None:
    one, other = Feature("one"), Feature("other")
    one.command("/x")(plain)
    other.command("/x")(plain)
    with pytest.raises(TypeError, match="twice"):
        Features(one, other)

    first, second = Feature("first"), Feature("second")
    first.button("press", label="button: Press")(plain)
    second.button("press", label="button: Press")(plain)
    with pytest.raises(TypeError, match="two features"):
        Features(first, second)


def test_a_command_has_one_default() -> None:
    feature = Feature("x")
    feature.command("/x a", default=True)(plain)

    with pytest.raises(TypeError, match="default"):
        feature.command("/x b", default=True)(plain)


@each(
    ("text", "line"),
    [
        ("!workflows run 3 hello  world", "/workflows run 3 hello  world"),
        ("  !Stats", "/stats"),
        ("!help", "/help"),
        ("!new", "/new"),
        ("!session", "/session"),
        ("!project\n", "/project"),
        ("!important: read this", None),
        ("!new-idea", None),
        *((f"!stats{end}", "/stats") for end in (".", "!", "?", "\u2026", "\uff01", "\u061f", ".*")),
        ("!workflows. run 3 hello.", "/workflows run 3 hello."),
        ("!important.", None),
        ("!stats: wow", None),
        *((f"!stop {words}", f"/stop {words}") for words in ("and write a poem", "motion")),
        *((words, None) for words in ("they say !stop", "don't !stop", "what does !stop do?", "stop", "!stop-loss")),
        ("! stats", None),
        ("stats", None),
        ("!", None),
        ("wow !stats", None),
    ],
)
def test_only_known_names_after_an_exclamation_mark_are_commands(text: str, line: str | None) -> None:
    assert features.commands.bang_line(text) == line


@each(
    ("text", "meant"),
    [
        ("!stpo", "stop"),
        ("!stpo!", "stop"),
        ("!nwe", "new"),
        ("  !Workflwo\n", "workflows"),
        ("!workflowsx", "workflows"),
        ("!sesion", "session"),
        ("!hlep", "help"),
        ("!unmuet", "unmute"),
        ("!stop", ""),
        ("!hello", ""),
        ("!yes", ""),
        ("!important", ""),
        ("!project-plan", ""),
    ],
)
def test_a_single_word_near_a_command_is_a_typo(text: str, meant: str) -> None:
    line = features.commands.bang_line(text)

    assert (line is not None) == bool(meant or text == "!stop")
    assert features.commands.meant_by(line or text.strip()) == meant


BOT = "U0BOT"


@each(
    ("text", "line"),
    [
        ("<@U0BOT> help", "/help"),
        ("<@U0BOT>: HELP!", "/help"),
        ("<@U0BOT>\u00a0\uff48elp\u200b", "/help"),
        ("help <@U0BOT>", "/help"),
        ("<@U0BOT>", "/help"),
        (" <@U0BOT|bridge> \u200b", "/help"),
        ("<@U0BOT> stop", "/stop"),
        ("<@U0BOT> `stop`.", "/stop"),
        ("<@U0BOT> /stats", "/stats"),
        ("<@U0BOT> \uff0fworkflows run 3 \u200bÜ", "/workflows run 3 \u200bÜ"),
        ("<@U0BOT> /acme-stats since 7d", "/stats since 7d"),
        ("<@U0BOT> /stop", "/stop"),
        ("<@U0CAROL> <@U0BOT> !stats", "/stats"),
        ("!stats <@U0BOT>", "/stats"),
        ("!workflows run 3 <@U0BOT|bridge> hello", "/workflows run 3 hello"),
        ("<@U0BOT> !workflows run 3 tell <@U0BOT>", "/workflows run 3 tell <@U0BOT>"),
        ("<@U0BOT> please stop!", "/stop"),
        ("<@U0BOT> please", None),
        ("<@U0BOT> help me", None),
        ("<@U0BOT> stop that", None),
        ("<@U0BOT> new", None),
        ("<@U0BOT> /etc/hosts is empty", None),
        ("<@U0BOT> /stats/7", None),
        ("<@U0BOT> <@U0CAROL>", None),
    ],
)
def test_a_mention_with_a_command_or_alone_is_understood(text: str, line: str | None) -> None:
    assert features.commands.line_of(message(text, is_mention=True), BOT) == line


def test_without_a_mention_only_an_exclamation_mark_makes_a_command() -> None:
    assert features.commands.line_of(message("help"), BOT) is None
    assert features.commands.line_of(message("/stats"), BOT) is None
    assert features.commands.line_of(message("/stats", is_direct=True), BOT) == "/stats"


@each("text", ["!stpo it", "stpo", "no !stpo", "!!stpo", "! stpo"])
def test_several_words_are_never_a_typo(text: str) -> None:
    assert features.commands.bang_line(text) is None


def test_the_manifest_gets_each_slash_command_once_with_its_hint() -> None:
    commands = {command.name: command for command in features.commands.slash_commands("acme-")}

    names = ["workflows", "agents", "project", "stats", "schedules", "approvals"]
    assert list(commands) == [f"/acme-{name}" for name in names]
    usages = "list [words] | show <workflow> | run [workflow] [input] | schedule [workflow] [schedule] | help"
    assert commands["/acme-workflows"].usage_hint == usages
    assert all(len(command.name) <= 32 and command.description for command in commands.values())
