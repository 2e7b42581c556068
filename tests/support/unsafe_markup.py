"""Pings, forged links and unfurling in what the bot sends, found as Slack would render it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from bridge.playground.emulator.server import ApiCall
from bridge.slack.blockkit.samples import CHANNEL, GROUP, PAGES
from support.rendered import READERS, inline, links, outside_of_code


def text_length(shown: Any) -> int:
    """Count the characters of text in blocks, for Slack's limits on the total."""
    if isinstance(shown, dict):
        return sum(len(v) if k == "text" and isinstance(v, str) else text_length(v) for k, v in shown.items())
    return sum(map(text_length, shown)) if isinstance(shown, (list, tuple)) else 0


_PARSED = re.compile(r"<(?:[!@#][^<>\n]*>|[a-z][a-z0-9+.-]*:[^<>\n|]*\|)", re.IGNORECASE)
_OURS = re.compile(rf"<!date\^\d+\^[^<>|]*\|[^<>]*>|<#{CHANNEL}>")  # a moment, or `CHANNEL`
_BARE = re.compile(r"(?<![^\W_])@(?:channel|here|everyone)(?![^\W_])", re.IGNORECASE)
_ADDRESS = re.compile(r"(?:https?://)?([\w-]+\.[\w.-]+)")
_TARGET = re.compile(r"https?://([\w.-]+)")

_LIVE = {"user", "usergroup", "broadcast", "channel", "link"}  # rich text elements that ping or link
_POSTS = {"chat.postMessage", "chat.postEphemeral", "chat.update", "response_url"}


def violations(call: ApiCall) -> list[str]:
    """List what in a recorded *call* would ping someone, show a misleading link, or unfurl."""
    return [f"{call.method}: {problem}" for problem in _problems(call)]


def _problems(call: ApiCall) -> Iterator[str]:
    if call.args.get("link_names"):
        yield "link_names"
    if call.method in {"chat.postMessage", "response_url"} and _unfurls(call):
        yield "it may unfurl links"
    if call.method in _POSTS:
        yield from _in_text(call)
    if call.method.endswith("setStatus"):
        yield from _in_words(str(call.args.get("status", "")))
    yield from _in_blocks(call.args.get("blocks") or [])
    yield from _in_blocks(call.args.get("view") or {})
    yield from _in_words(str(call.args.get("initial_comment", "")))


def _unfurls(call: ApiCall) -> bool:
    return not (call.args.get("unfurl_links") is False and call.args.get("unfurl_media") is False)


def _in_text(call: ApiCall) -> Iterator[str]:
    yield from _in_words(str(call.args.get("text") or ""))
    is_shown = not call.args.get("blocks")
    if is_shown and call.method != "response_url" and call.args.get("parse") != "none":
        yield "its text would be parsed"


def _in_blocks(shown: Any) -> Iterator[str]:
    if isinstance(shown, list):
        for item in shown:
            yield from _in_blocks(item)
    elif isinstance(shown, dict):
        yield from _in_object(shown)
        for item in shown.values():
            yield from _in_blocks(item)


def _in_object(shown: dict[str, Any]) -> Iterator[str]:
    match shown:
        case {"type": "mrkdwn", "text": str() as text}:
            yield from _in_words(text)
            if shown.get("verbatim") is not True:
                yield "mrkdwn that is not verbatim"
        case {"type": "markdown", "text": str() as text}:
            yield from (problem for reader in READERS for problem in _in_words(outside_of_code(text, reader)))
            yield from _in_links(text)
        case {"type": "link", "url": str() as url} if url.startswith(PAGES):  # from a setting
            pass
        case {"type": "usergroup", "usergroup_id": str() as group} if group == GROUP:  # of the operator's file
            pass
        case {"type": "channel", "channel_id": str() as channel} if channel == CHANNEL:  # as Slack named it
            pass
        case {"type": str() as kind} if kind in _LIVE and "block_id" not in shown:
            yield f"rich text with an element {kind}"


def _in_words(text: str) -> Iterator[str]:
    if found := _PARSED.search(_OURS.sub("", text)):
        yield f"“{text[found.start() : found.start() + 30]}”"
    if found := _BARE.search(text):
        yield f"“{found[0]}”"


def _in_links(text: str) -> Iterator[str]:
    for tokens in (tokens for reader in READERS for tokens in inline(text, reader)):
        for label, target in links(tokens):
            claimed, real = _ADDRESS.search(label), _TARGET.match(target)
            if claimed and real and claimed[1] != real[1]:
                yield f"“[{label}]({target})”"
