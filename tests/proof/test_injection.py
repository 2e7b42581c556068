"""Untrusted text never pings, forges a link, unfurls or is parsed, on any surface.

Each layout has samples of what it makes of the attacks, and a test finds those without one. The
result is sent over a socket in every way: posted, shown to one person, as an update, and as each fallback for refused
blocks. `support.unsafe_markup` finds what would take effect.
"""

from __future__ import annotations

import ast
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import bridge
from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.playground.emulator.faults import Error, Http
from bridge.playground.emulator.sample import ALICE, GENERAL
from bridge.playground.emulator.server import ApiCall
from bridge.slack import parts
from bridge.slack.api import SlackWeb
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Block, Reply
from bridge.slack.parts import Place
from bridge.slack.post import ExistingParts, Poster, Recipient
from support.attacks import ATTACKS
from support.layouts import ROOMS, shown_in
from support.sample_posts import NO_FILES, TAG, US
from support.slack_fixtures import at_once
from support.tables import each
from support.unsafe_markup import violations

TRUSTED = {"kit.trusted_context"}
"""Functions for text that Slack parses, from literal templates; a test below checks their callers."""

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_FILE = re.compile(r"[a-z0-9-]{1,40}\.(?:csv|json|md|txt)")


def test_the_surfaces_are_found() -> None:
    shown = [(name, shown) for room in ROOMS for name, shown in shown_in(room, "x")]
    replies = {name for name, one in shown if isinstance(one, Reply)}

    assert {"feedback.thanks", "statistics.stats_card"} <= replies, "in every layout module"
    assert len(replies) > 60
    assert len({name for name, _ in shown} - replies) > 30


def posted(**shown: Any) -> ApiCall:
    args = {"unfurl_links": False, "unfurl_media": False, **shown}
    return ApiCall("chat.postMessage", args | ({} if args.get("blocks") else {"parse": "none"}), token_ok=True, at=0.0)


def as_messages(reply: Reply) -> Iterator[ApiCall]:
    """Lay out *reply* as posted, and with each fallback for refused blocks."""
    for part in parts.parts_of(reply):
        yield from (posted(text=part.text, blocks=list(form)) for form in (part.blocks, *part.plainer))
        for text in parts.pieces(part.instead or part.text):
            yield posted(text=text)


def texts_in(shown: Any) -> Iterator[str]:
    if isinstance(shown, list | tuple):
        for item in shown:
            yield from texts_in(item)
    elif isinstance(shown, dict):
        for name, item in shown.items():
            if name == "text" and isinstance(item, str):
                yield item
            elif name != "value":
                yield from texts_in(item)


def problems_of(shown: Reply | Block | list[Block]) -> Iterator[str]:
    reply = shown if isinstance(shown, Reply) else Reply(text="x", blocks=shown if isinstance(shown, list) else [shown])
    calls = list(as_messages(reply))
    if not calls:
        yield "nothing is shown"
    for call in calls:
        yield from violations(call)
        yield from (f"unseen: {text!r}" for text in texts_in(call.args) if _UNSEEN.search(text))
    yield from (f"file: {file.name!r}" for file in reply.files if not _FILE.fullmatch(file.name))


@each("room", ROOMS)
def test_attacks_in_a_layout_have_no_effect(room: str) -> None:
    found = [
        (name, attack, problem)
        for attack, words in ATTACKS.items()
        for name, shown in shown_in(room, words)
        for problem in problems_of(shown)
    ]

    assert found == []


WRITES = ("chat.postMessage", "chat.postEphemeral", "chat.update", "response_url")
_ALL = "\n".join(ATTACKS.values())
_AWAY = Place(GENERAL, "1699999999.000001")


@asynccontextmanager
async def all_send_functions(
    emulated: EmulatedSlack, slack_web: SlackWeb
) -> AsyncIterator[list[Callable[[Reply], Any]]]:
    """Yield all ways to send a reply, with and without permission for files."""
    url = f"{emulated.url}/response/{emulated.tickets.response(ALICE, GENERAL)}"

    def ways(poster: Poster) -> list[Callable[[Reply], Any]]:
        return [
            lambda reply: poster.post(_AWAY, reply, TAG, ExistingParts()),
            lambda reply: poster.whisper(Recipient(GENERAL, ALICE, "", url), reply),
            lambda reply: poster.whisper(Recipient(GENERAL, ALICE, "1.2", ""), reply),
            lambda reply: poster.respond(url, reply, ExistingParts()),
            lambda reply: poster.update(GENERAL, "1699999999.000002", reply, TAG),
        ]

    time = iter(range(0, 10**9, 2))  # the clock advances at each look, so no channel is rate-limited
    yield [
        way
        for identity in (US, NO_FILES)
        for way in ways(Poster(slack_web, identity, sleep=at_once, monotonic=lambda: next(time) / 1000))
    ]


def has_blocks(asked: dict[str, Any]) -> bool:
    return bool(asked.get("blocks"))


@pytest.mark.parametrize("room", ROOMS)
async def test_attacks_in_a_slack_call_have_no_effect(emulated: EmulatedSlack, slack_web: SlackWeb, room: str) -> None:
    replies = {name: shown for name, shown in shown_in(room, _ALL) if isinstance(shown, Reply)}
    async with all_send_functions(emulated, slack_web) as ways:
        for (name, reply), takes_blocks in product(replies.items(), (True, False)):
            emulated.faults.clear()
            for method in WRITES:
                takes = Http(200, '{"ok": true, "ts": "1700000000.000009"}')
                if not takes_blocks:
                    emulated.faults.on(method, Error("invalid_blocks"), times=None, when=has_blocks)
                emulated.faults.on(method, takes, times=None)
            emulated.calls.clear()
            for way in ways:
                await way(reply)
            assert {call.method for call in emulated.calls} >= set(WRITES)
            assert [problem for call in emulated.calls for problem in violations(call)] == [], name


def test_trusted_templates_are_literals() -> None:
    """Their parameters accept only points in time, which are formatted as digits."""
    found = set()
    for file in Path(bridge.__file__).parent.rglob("*.py"):
        if "playground" in file.parts or file.name == "kit.py":
            continue
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and (called := ast.unparse(node.func)) in TRUSTED:
                found.add(called)
                template = node.args[0] if len(node.args) == 1 else node
                is_ours = isinstance(template, ast.Constant) or re.fullmatch(r"(\w+\.)?[A-Z_]+", ast.unparse(template))
                assert is_ours, ast.unparse(node)

    assert found == TRUSTED, "delete a trusted function without callers"
    [shown] = kit.trusted_context("{when}", when=datetime(2026, 11, 20, 12, tzinfo=UTC))["elements"]
    assert shown["text"].startswith("<!date^1795176000^")
    for evil in ATTACKS.values():
        with pytest.raises(AttributeError):
            kit.trusted_context("{when}", when=evil)  # type: ignore[arg-type]
