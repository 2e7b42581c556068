"""Nothing from outside pings, forges a link, unfurls or is parsed, on any surface: every function that shows something.

The surfaces are read out of the layouts, so that a new one is attacked from its first day. What each makes of the
attacks is sent over a socket in every way there is: posted, shown to one person, put in another message's place, and
down each step of the ladder where Slack refuses the blocks. `support.shown` says what of it would reach anybody.
"""

from __future__ import annotations

import ast
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import bridge
from bridge.cli.layouts import results, returns, surfaces
from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.playground.emulator.faults import Error, Http
from bridge.playground.emulator.sample import ALICE, GENERAL
from bridge.playground.emulator.server import ApiCall
from bridge.slack import parts
from bridge.slack.api import SlackWeb
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Block, Reply, View
from bridge.slack.parts import Place
from bridge.slack.post import ExistingParts, Recipient, Say
from support.emulated import at_once
from support.evil import ATTACKS
from support.saying import NO_FILES, TAG, US
from support.shown import active

TRUSTED = {"kit.trusted", "kit.trusted_context"}
"""These make text that Slack parses, of a template of our own words; what they are given is tested below."""

SHOWN = {name: function for name, function in surfaces() if name not in TRUSTED}
REPLIES = {name: function for name, function in SHOWN.items() if returns(function) is Reply}
BLOCKS = {name: function for name, function in SHOWN.items() if returns(function) in {Block, View, list[Block]}}

_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_FILE = re.compile(r"[a-z0-9-]{1,40}\.(?:json|md|txt)")


def test_the_surfaces_are_found() -> None:
    assert {"votes.thanks", "statistics_layout.stats_card"} <= REPLIES.keys(), "in whatever module they stand"
    assert len(REPLIES) > 60
    assert len(BLOCKS) > 30


def posted(**shown: Any) -> ApiCall:
    args = {"unfurl_links": False, "unfurl_media": False, **shown}
    return ApiCall("chat.postMessage", args | ({} if args.get("blocks") else {"parse": "none"}), token_ok=True, at=0.0)


def as_messages(reply: Reply) -> Iterator[ApiCall]:
    """Lay out *reply* as it is posted, and as it is where Slack refuses its blocks."""
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


def problems_of(reply: Reply, *, is_named_by_us: bool) -> Iterator[str]:
    calls = list(as_messages(reply))
    if not calls:
        yield "nothing is shown"
    for call in calls:
        yield from active(call)
        yield from (f"unseen: {text!r}" for text in texts_in(call.args) if _UNSEEN.search(text))
    if is_named_by_us:
        yield from (f"file: {file.name!r}" for file in reply.files if not _FILE.fullmatch(file.name))


@pytest.mark.parametrize("name", REPLIES)
def test_a_reply_does_nothing_that_its_words_say(name: str) -> None:
    found = {
        attack: [
            problem
            for reply in results(REPLIES[name], words)
            for problem in problems_of(reply, is_named_by_us=name != "kit.reply")
        ]
        for attack, words in ATTACKS.items()
    }

    assert {attack: problems for attack, problems in found.items() if problems} == {}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_form_does_nothing_that_its_words_say(name: str) -> None:
    for attack, words in ATTACKS.items():
        for shown in results(BLOCKS[name], words):
            assert active(posted(text="x", blocks=shown if isinstance(shown, list) else [shown])) == [], attack
            assert [text for text in texts_in(shown) if _UNSEEN.search(text)] == [], attack


WRITES = ("chat.postMessage", "chat.postEphemeral", "chat.update", "response_url")
_ALL = "\n".join(ATTACKS.values())
_AWAY = Place(GENERAL, "1699999999.000001")


@asynccontextmanager
async def every_way_out(emulated: EmulatedSlack, slack_web: SlackWeb) -> AsyncIterator[list[Callable[[Reply], Any]]]:
    """Give the ways in which a reply is sent, with files and without."""
    url = f"{emulated.url}/response/{emulated.tickets.response(ALICE, GENERAL)}"

    def ways(say: Say) -> list[Callable[[Reply], Any]]:
        return [
            lambda reply: say.post(_AWAY, reply, TAG, ExistingParts()),
            lambda reply: say.whisper(Recipient(GENERAL, ALICE, "", url), reply),
            lambda reply: say.whisper(Recipient(GENERAL, ALICE, "1.2", ""), reply),
            lambda reply: say.respond(url, reply, ExistingParts()),
            lambda reply: say.update(GENERAL, "1699999999.000002", reply, TAG),
        ]

    time = iter(range(0, 10**9, 2))  # each look at the clock is two seconds later: no channel is ever busy
    yield [
        way
        for identity in (US, NO_FILES)
        for way in ways(Say(slack_web, identity, sleep=at_once, monotonic=lambda: next(time) / 1000))
    ]


def has_blocks(asked: dict[str, Any]) -> bool:
    return bool(asked.get("blocks"))


@pytest.mark.parametrize("name", REPLIES)
async def test_a_call_of_slack_does_nothing_that_its_words_say(
    emulated: EmulatedSlack, slack_web: SlackWeb, name: str
) -> None:
    first, *_ = results(REPLIES[name], _ALL)
    async with every_way_out(emulated, slack_web) as ways:
        for takes_blocks in (True, False):
            emulated.faults.clear()
            for method in WRITES:
                takes = Http(200, '{"ok": true, "ts": "1700000000.000009"}')
                if not takes_blocks:
                    emulated.faults.on(method, Error("invalid_blocks"), times=None, when=has_blocks)
                emulated.faults.on(method, takes, times=None)
            for way in ways:
                await way(first)

    assert {call.method for call in emulated.calls} >= set(WRITES)
    assert [problem for call in emulated.calls for problem in active(call)] == []


def test_templates_are_written_out_in_the_code() -> None:
    """Nothing from outside is part of what is filled.

    What fills the text that Slack parses is moments, of which digits are made: those parameters take nothing else.
    """
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

    assert found == TRUSTED - {"kit.trusted"}, "nobody calls it: then it is to be deleted"
    assert kit.trusted("{when}", when=datetime(2026, 11, 20, 12, tzinfo=UTC))["text"].startswith("<!date^1795176000^")
    for evil in ATTACKS.values():
        with pytest.raises(AttributeError):
            kit.trusted("{when}", when=evil)  # type: ignore[arg-type]
