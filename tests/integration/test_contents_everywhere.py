"""Each kind of content in each place: the agent receives what docs/reference/contents.md says."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bridge.playground.emulator import contents
from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, DM_ALICE, GENERAL
from support.payloads import BLOCKS, OLD_ALERT, rich, words
from support.pdf import pdf
from support.real_redis import RealRedis
from support.system import System, open_shared_system
from support.waiting import wait_until

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAGE = Path(__file__).parents[2] / "docs/reference/contents.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.count("|") == 8 and not line.startswith("| ---")  # the first table
]
PLACES = ROWS[0][1:]
MATRIX = {(row[0], place): cell for row in ROWS[1:] for place, cell in zip(PLACES, row[1:], strict=True)}


@dataclass(frozen=True)
class Content:
    """A message with *words* for the agent, and the *name* of its kind of content."""

    words: str
    name: str = ""
    text: str = "look"
    blocks: tuple[Any, ...] = ()
    attachments: tuple[Any, ...] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)
    clip: str = ""
    is_forward: bool = False


RED = "The lamp on the third floor is red"
TABLE = contents.table([["Item", "Amount"], ["Lamp", 1200]], block_id="b1")
PREVIEW = {  # https://docs.slack.dev/messaging/unfurling-links-in-messages
    "id": 1, "from_url": "https://a.test/lamps", "original_url": "https://a.test/lamps", "service_name": "a.test",
    "title": "All about lamps", "title_link": "https://a.test/lamps", "text": f"{RED}.",
    "fallback": "a.test: All about lamps",
}  # fmt: skip
CONTENTS = {
    "plain text": Content(RED, text=f"{RED}."),
    "rich text with an empty `text`": Content(f"**{RED}**", text="", blocks=(rich(words(RED, bold=True)),)),
    "forwarded message, with a comment": Content(f"> {RED}.", is_forward=True),
    "forwarded message alone": Content(f"> {RED}.", text="", is_forward=True),
    "pasted table": Content("| Lamp | 1200 |", attachments=(contents.pasted(TABLE),)),
    "app's alert in an attachment": Content("Branch: main", attachments=(OLD_ALERT,)),
    "app's alert in blocks": Content("*Job*: build", blocks=(rich(words("look")), *BLOCKS)),
    "snippet": Content(f"print('{RED}')", "a.py", files={"a.py": f"print('{RED}')".encode()}),
    "text file": Content(f"9,{RED}", "a.csv", files={"a.csv": "\n".join(f"{n},{RED}" for n in range(10)).encode()}),
    "document": Content(RED, "a.pdf", files={"a.pdf": pdf(RED)}),
    "voice clip": Content(f"> {RED}", "audio_message.m4a", clip=RED),
    "image": Content("\0", "a.png", files={"a.png": b"\x89PNG\r\n\x1a\n" + b"\0" * 16}),
    "image alone": Content("\0", "b.png", text="", files={"b.png": b"\x89PNG\r\n\x1a\n" + b"\0" * 16}),
    "other file": Content("\0", "a.zip", files={"a.zip": b"PK\x03\x04"}),
    "link preview": Content(RED, "https://a.test/lamps", text="<https://a.test/lamps>", attachments=(PREVIEW,)),
    "files over 200 kB in all": Content(
        "\0", "2.txt", files={f"{n}.txt": f"{RED}\n".encode() * 2600 for n in range(3)}
    ),
}


@dataclass
class Stage:
    """The shared system, with a thread bound to an agent, and a group message."""

    system: System
    thread: str
    group: str
    asked: int = 0

    async def say(self, who: str, channel: str, content: Content, *, thread_ts: str = "", mention: bool = False) -> str:
        """Send the content."""
        people, text, attachments, blocks = self.system.slack.people, content.text, content.attachments, content.blocks
        if mention and blocks and not text:
            blocks = (rich({"type": "user", "user_id": BRIDGE}, words(" "), *blocks[0]["elements"][0]["elements"]),)
        elif mention:
            text = f"<@{BRIDGE}> {text}".rstrip()
        files = people.attach(who, content.files)
        if content.clip:
            files.append(people.clip(who, content.clip))
        if content.is_forward:
            said = await people.say(BOB, GENERAL, f"{RED}.")
            return await people.forward(who, GENERAL, said, to=channel, comment=text, thread_ts=thread_ts or None)
        return await people.say(
            who, channel, text, thread_ts=thread_ts or None, files=files, blocks=blocks, attachments=attachments
        )

    async def got(self) -> str:
        """Wait until an agent receives something, and return it."""
        await wait_until(lambda: len(self.system.chats()) > self.asked, "the agent is asked")
        return self.system.chats()[self.asked]

    async def at(self, place: str, content: Content) -> str:
        """Send the content there and return what the agent received."""
        self.asked = len(self.system.chats())
        people, ui = self.system.slack.people, self.system.slack.ui
        match place:
            case "channel":
                await self.say(ALICE, GENERAL, content, mention=True)
            case "thread reply":
                await self.say(ALICE, GENERAL, content, thread_ts=self.thread)
            case "direct message":
                await self.say(ALICE, DM_ALICE, content)
            case "group direct message":
                await self.say(ALICE, self.group, content, mention=True)
            case "shortcut":
                ts = await self.say(BOB, GENERAL, content)
                before = len(self.system.slack.views(ALICE))
                await ui.message_shortcut(ALICE, GENERAL, ts, "ask_about")
                await wait_until(lambda: len(self.system.slack.views(ALICE)) > before, "the form is open")
                form = self.system.slack.views(ALICE)[-1]
                agents = await ui.suggestions(ALICE, "agent", "memory", view_id=form.id)
                await ui.submit(form.id, {"agent": agents[0], "message": "Is that so?"}, ALICE)
            case "thread context":
                ts = await self.say(BOB, GENERAL, content)
                await people.say(ALICE, GENERAL, f"<@{BRIDGE}> Is that so?", thread_ts=ts)
            case _:
                raise AssertionError(place)
        return await self.got()

    def notices(self) -> str:
        """Alice's private notices about content that was left out."""
        return " ".join(one.text for one in self.system.ephemerals(ALICE) if "reached the agent" in one.text)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(redis_server: RealRedis) -> AsyncIterator[Stage]:
    async with open_shared_system(redis_server.url, BRIDGE_DEFAULT_AGENT="1") as system:
        root = await system.mention(ALICE, GENERAL, "hello")
        await system.answered(GENERAL, root)
        yield Stage(system, root, system.slack.people.start_group(ALICE, BOB, BRIDGE))


@pytest.fixture
def stage(opened: Stage) -> Stage:
    opened.system.start_test()
    return opened


async def test_the_page_shows_each_content_in_each_conversation() -> None:
    assert [row[0] for row in ROWS[1:]] == list(CONTENTS)
    assert PLACES == ["channel", "thread reply", "direct message", "group direct message", "shortcut", "thread context"]


@pytest.mark.parametrize(("what", "place"), MATRIX, ids=lambda value: re.sub(r"\W+", "_", value))
async def test_the_agent_gets_the_parts_as_text(stage: Stage, what: str, place: str) -> None:
    content, says = CONTENTS[what], MATRIX[what, place]

    got = await stage.at(place, content)

    match says.split(" ")[0]:
        case "text":
            assert content.words in got
            assert content.name in got
        case "name":
            assert content.name in got
            assert content.words not in got
        case "cut":
            assert content.words not in got
            assert "cut here" in got
        case _:
            raise AssertionError(says)
    if "notice" in says:
        await wait_until(
            lambda: content.name in stage.notices() or "200 kB" in stage.notices(), "the author is notified"
        )
    else:
        assert stage.notices() == ""
