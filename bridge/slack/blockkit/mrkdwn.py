"""What people type, freed of Slack's escapes.

Slack writes ``&``, ``<`` and ``>`` as entities and puts what it recognised into angle brackets:
https://docs.slack.dev/messaging/formatting-message-text#parsing. Everything is undone in a single pass, so that what
is put in (a display name, a label) is never taken for an escape itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(r"<(?P<inside>[@#!][^<>\n]*|[A-Za-z][A-Za-z0-9+.-]*:[^<>\n]*)>|&(?P<entity>amp|lt|gt);")
_CODE: Final = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
_PERSON: Final = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>")
_CHANNEL: Final = re.compile(r"<#([CDG][A-Z0-9]+)(?:\|[^<>]*)?>")
_ENTITIES: Final = {"amp": "&", "lt": "<", "gt": ">"}


class Mentions(NamedTuple):
    """The ids of people and channels in a text, each once, in their order."""

    users: tuple[str, ...]
    channels: tuple[str, ...]


def plain_command_text(raw: str, names: Mapping[str, str] | None = None) -> str:
    """Undo Slack's escapes in what was typed behind a command: a link becomes its address.

    *names* are those of people and channels by their ids; Slack's own label stands in for one that is not there.
    """
    return _TOKEN.sub(lambda token: _unescaped(token) or _as_typed(token["inside"], names or {}), raw)


def mentions_in(raw: str) -> Mentions:
    """Find whom and what a text mentions, to look up their names."""
    return Mentions(tuple(dict.fromkeys(_PERSON.findall(raw))), tuple(dict.fromkeys(_CHANNEL.findall(raw))))


def message_text(raw: str, *, bot_user: str, user_names: Mapping[str, str], channel_names: Mapping[str, str]) -> str:
    """Make the text that an agent gets: without mentions of the bot, with names in place of ids, links as Markdown."""

    def named(sigil: str, key: str, label: str) -> str:
        names = user_names if sigil == "@" else channel_names
        return sigil + (names.get(key) or label or key)

    def outside_code(token: re.Match[str]) -> str:
        return _unescaped(token) or _shown(token["inside"], named, _markdown_link)

    def inside_code(token: re.Match[str]) -> str:
        return _unescaped(token) or _shown(token["inside"], named, _label)

    raw = _without(bot_user, raw)
    parts, at = [], 0
    for code in _CODE.finditer(raw):
        parts += [_TOKEN.sub(outside_code, raw[at : code.start()]), _TOKEN.sub(inside_code, code[0])]
        at = code.end()
    return "".join([*parts, _TOKEN.sub(outside_code, raw[at:])]).strip()


def _without(bot_user: str, raw: str) -> str:
    """Take out mentions of the bot, with the blank, colon or comma that belongs to them."""
    if f"<@{bot_user}" not in raw:
        return raw
    mention = rf"<@{re.escape(bot_user)}(?:\|[^<>]*)?>"
    raw = re.sub(rf"^\s*(?:{mention}[:,]?(?:\s+|$))+", "", raw)
    return re.sub(rf"[ \t]?{mention}", "", raw)


def _unescaped(token: re.Match[str]) -> str:
    return _ENTITIES.get(token["entity"] or "", "")


def _plain_entities(text: str) -> str:
    return re.sub(r"&(amp|lt|gt);", lambda found: _ENTITIES[found[1]], text)


def _parted(inside: str) -> tuple[str, str]:
    target, _, label = inside.partition("|")
    return _plain_entities(target), _plain_entities(label)


def _as_typed(inside: str, names: Mapping[str, str]) -> str:
    """Show a token as the person saw it while typing; of a link, the address."""

    def named(sigil: str, key: str, label: str) -> str:
        return sigil + (names.get(key) or label.removeprefix(sigil) or key)

    return _shown(inside, named, _address)


def _shown(inside: str, named: Callable[[str, str, str], str], link: Callable[[str, str], str]) -> str:
    target, label = _parted(inside)
    if target[0] in "@#":
        return named(target[0], target[1:], label)
    if target[0] == "!":
        return _special(target[1:], label)
    return link(target, label)


def _special(what: str, label: str) -> str:
    """Show ``<!here>``, ``<!subteam^S1|@group>``, ``<!date^…|Monday>``."""
    kind, _, key = what.partition("^")
    if kind == "date":
        return label
    if kind == "subteam":
        return "@" + (label.removeprefix("@") or key)
    return "@" + (label.removeprefix("@") or kind)


def _address(target: str, _label: str = "") -> str:
    return re.sub(r"^(?:mailto|tel):", "", target)


def _label(target: str, label: str) -> str:
    return label or _address(target)


def _markdown_link(target: str, label: str) -> str:
    if not label or label in {target, _address(target)}:
        return _address(target)
    words = label.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    target = target.replace("<", "%3C").replace(">", "%3E")  # nothing in it ends the link
    return f"[{words}](<{target}>)" if re.search(r"[\s()]", target) else f"[{words}]({target})"
