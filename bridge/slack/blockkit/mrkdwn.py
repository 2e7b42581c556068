"""Undo Slack's escapes in typed text.

Slack writes ``&``, ``<`` and ``>`` as entities, and mentions and links in angle brackets:
https://docs.slack.dev/messaging/formatting-message-text#parsing. All are undone in one pass, so that inserted text (a
display name, a label) is never mistaken for an escape.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import Final, NamedTuple
from urllib.parse import unquote

from bridge.names.folding import fold, undecorated

_TOKEN: Final = re.compile(r"<(?P<inside>[@#!][^<>\n]*|[A-Za-z][A-Za-z0-9+.-]*:[^<>\n]*)>|&(?P<entity>amp|lt|gt);")
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://|mailto:|tel:", re.IGNORECASE)
_PERSON: Final = re.compile(r"<@([UW][A-Z0-9]+)(?:\|[^<>]*)?>")
_CHANNEL: Final = re.compile(r"<#([CDG][A-Z0-9]+)(?:\|[^<>]*)?>")
_UNNAMED_GROUP: Final = re.compile(r"<!subteam\^(S[A-Z0-9]+)\|?>")
_FIRST_MENTIONS: Final = re.compile(r"(?:\s*<@[uw][a-z0-9]+(?:\|[^<>]*)?>[\s:,;-]*)+")  # folded
_MOST_MENTIONED: Final = 500  # characters of a text that may be its first mentions
# Of folded text:
_BANG: Final = re.compile(r"\s*[*_~`]*!([a-z](?:[\w-]*[a-z0-9])?)[*_~`.!?؟।]*+(?=\s|$)")
_STOP: Final = re.compile(r"(?<![\w!])!+\s*stop(?![\w-])")
PLEASE: Final = frozenset({"please", "pls", "plz"})
_ASKED_NICELY: Final = PLEASE.union(
    {"bitte", "ok", "okay", "hey", "now", "no", "wait", "just", "thanks", "thank", "you"}
    | {"it", "this", "that", "everything", "immediately"}
)
"""Words that may be around a stop."""

LONGEST_BANG: Final = 100  # characters before and in a command's name
_ENTITY: Final = re.compile(r"&(amp|lt|gt);")
_ENTITIES: Final = {"amp": "&", "lt": "<", "gt": ">"}


class Mentions(NamedTuple):
    """The IDs of people, channels and user groups mentioned without a label, each once, in order."""

    users: tuple[str, ...]
    channels: tuple[str, ...]
    groups: tuple[str, ...] = ()


def plain_command_text(raw: str, names: Mapping[str, str] | None = None) -> str:
    """Return a command's text as the person typed it: a link becomes its address, unless Slack made it of other text.

    *names* are those of people, channels and groups by ID; for unknown ones, Slack's own label is used.
    """
    return _read(
        raw, names or {}, lambda target, label: label if _is_linked_by_slack(target, label) else _address(target)
    )


def mentions_in(raw: str, *, but: str = "") -> Mentions:
    """Find the mentions in a text, to look up their names; *but* is a person to leave out."""
    mentioned = ([id_ for id_ in kind.findall(raw) if id_ != but] for kind in (_PERSON, _CHANNEL, _UNNAMED_GROUP))
    return Mentions(*(tuple(dict.fromkeys(ids)) for ids in mentioned))


def channels_linked(raw: str, names: Mapping[str, str], *, typed: str) -> list[str]:
    """Return the IDs of the linked channels shown as *typed* by `plain_command_text`, without marks after it."""
    shown = {link[1]: plain_command_text(link[0], names) for link in _CHANNEL.finditer(raw)}
    return [id_ for id_, name in shown.items() if re.fullmatch(rf"{re.escape(name)}[^\w-]*", typed)]


def addressed(raw: str, bot_user: str) -> tuple[str, str]:
    """Split a text into the mentions it begins with, and the rest; without the bot among them, all is the rest."""
    if "<@" not in raw:  # most texts
        return "", raw
    head = fold(raw, _MOST_MENTIONED)
    match = _FIRST_MENTIONS.match(head.text)
    if match is None or not re.search(rf"<@{re.escape(bot_user.lower())}[|>]", match[0]):
        return "", raw
    mentions = head.until(match.end())
    return mentions, raw[len(mentions) :]


def bang(text: str) -> tuple[str, str] | None:
    """Split ``!stats since 7d`` into the folded word after the exclamation mark, and the rest as typed.

    The word may be followed by what ends a sentence. A stop may be among other words that ask for nothing else:
    ``please ! stop…``. None if *text* is something else.
    """
    folded = fold(text, LONGEST_BANG)
    asked, stops = _STOP.subn(" ", folded.text)
    if stops and folded.is_whole and _ASKED_NICELY.issuperset(re.findall(r"\w+", asked)):
        return "stop", ""
    if not _BANG.match(folded.text):
        return None
    folded = fold(undecorated(text), LONGEST_BANG)
    match = _BANG.match(folded.text)
    if match is None:
        return None
    rest = folded.after(match.end())
    return match[1], rest if fold(rest, LONGEST_BANG).text.strip() else ""


@cache
def mention_of(bot_user: str) -> re.Pattern[str]:
    """Return the pattern of a mention of *bot_user*, perhaps with a label."""
    return re.compile(rf"<@{re.escape(bot_user)}(?:\|[^<>]*)?>")


def message_text(raw: str, *, bot_user: str, names: Mapping[str, str]) -> str:
    """Return the text for an agent: without mentions of the bot, with *names* for IDs, and with Markdown links."""
    if f"<@{bot_user}" in raw:  # with the space, colon or comma after it
        mention = mention_of(bot_user).pattern
        raw = re.sub(rf"^\s*(?:{mention}[:,：，、]?(?:\s+|$))+", "", raw)  # noqa: RUF001 - as keyboards send them
        raw = re.sub(rf"[ \t]?{mention}", "", raw)
    return _read(raw, names, _markdown_link).strip()


def _read(raw: str, names: Mapping[str, str], link: Callable[[str, str], str]) -> str:
    """Undo Slack's escapes; *link* writes a link from its target and its label (or ``""``)."""
    if "<" not in raw and "&" not in raw:  # most texts
        return raw

    def shown(token: re.Match[str]) -> str:
        if token["entity"]:
            return _ENTITIES[token["entity"]]
        target, _, label = token["inside"].partition("|")
        if "&" in token["inside"]:
            target, label = (_ENTITY.sub(lambda entity: _ENTITIES[entity[1]], part) for part in (target, label))
        sigil, key = target[0], target[1:]
        if sigil in "@#":
            known = names.get(key, key)
            return sigil + (known if known != key else label.removeprefix(sigil) or key)
        if sigil != "!":
            return link(target, label)
        kind, _, key = key.partition("^")  # <!here>, <!subteam^S1|@group>, <!date^…|Monday>
        if kind == "date":
            return label
        return "@" + (label.removeprefix("@") or (names.get(key, key) if kind == "subteam" else kind))

    return _TOKEN.sub(shown, raw)


def _address(target: str) -> str:
    return re.sub(r"^(?:mailto|tel):", "", target)


def _is_linked_by_slack(target: str, label: str) -> bool:
    """Whether Slack made the link of what the person typed, *label*: it's the target, perhaps without the scheme."""
    scheme = _SCHEME.match(target)
    if not label or scheme is None:
        return False
    if scheme[0] == "tel:":
        return re.sub(r"[^+\d]", "", label) == re.sub(r"[^+\d]", "", target)
    own = _SCHEME.match(label)
    if own and own[0].casefold() != scheme[0].casefold():
        return False
    return _bare(label[own.end() :] if own else label) == _bare(target[scheme.end() :])


def _bare(address: str) -> tuple[str, str]:
    """Return a host and a path for comparing: Slack writes both in several ways."""
    host = re.split("[/?#]", address, maxsplit=1)[0]
    path = unquote(address[len(host) :]).rstrip("/")
    with suppress(UnicodeError):  # a name in other letters, which a target may have as xn--…
        host = host.casefold().encode("idna").decode()
    return host.casefold(), path


def _markdown_link(target: str, label: str) -> str:
    if _is_linked_by_slack(target, label):
        return label
    if not label:
        return _address(target)
    words = label.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    target = target.replace("<", "%3C").replace(">", "%3E")  # so that the target can't close the link
    return f"[{words}](<{target}>)" if re.search(r"[\s()]", target) else f"[{words}]({target})"
