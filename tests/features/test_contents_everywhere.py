"""Each kind of content in each place: the agent receives what docs/reference/contents.md says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bridge.playground.emulator import contents
from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, DM_ALICE, GENERAL
from support.harness import Harness
from support.payloads import BLOCKS, OLD_ALERT, rich, words
from support.pdf import pdf

PAGE = Path(__file__).parents[2] / "docs/reference/contents.md"
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if line.count("|") == 8 and not line.startswith("| ---")  # the first table
]
PLACES = ROWS[0][1:]


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
    """A bridge with a thread bound to an agent, and a group message."""

    harness: Harness
    thread: str = ""
    group: str = ""

    async def begin(self) -> None:
        self.group = self.harness.slack.people.start_group(ALICE, BOB, BRIDGE)
        self.thread = await self.harness.slack.people.say(ALICE, GENERAL, f"<@{BRIDGE}> hello")
        await self.harness.work()

    async def say(self, who: str, channel: str, content: Content, *, thread_ts: str = "", mention: bool = False) -> str:
        """Send the content."""
        people, text, attachments, blocks = self.harness.slack.people, content.text, content.attachments, content.blocks
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

    async def ask(self, place: str, content: Content) -> None:
        """Send the content there, for an agent."""
        people, ui = self.harness.slack.people, self.harness.slack.ui
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
                await ui.message_shortcut(ALICE, GENERAL, ts, "ask_about")
                await self.harness.work()
                form = self.harness.slack.views(ALICE)[-1]
                agents = await ui.suggestions(ALICE, form, "agent", "support")
                await ui.submit(form.id, {"agent": agents[0], "message": "Is that so?"}, ALICE)
            case "thread context":
                ts = await self.say(BOB, GENERAL, content)
                await people.say(ALICE, GENERAL, f"<@{BRIDGE}> Is that so?", thread_ts=ts)
            case _:
                raise AssertionError(place)

    async def gets(self, place: str, content: Content) -> str:
        """Send the content there; return how much of it reached the agent, in the words of the page."""
        asked, seen = len(self.harness.service.asked), len(self.harness.seen.ephemerals)
        await self.ask(place, content)
        await self.harness.slack.settled()
        await self.harness.work()
        (got,) = self.harness.service.messages[asked:]
        notices = [one.text for one in self.harness.seen.ephemerals[seen:] if "reached the agent" in one.text]
        if notices:
            assert content.name in notices[0] or "200 kB" in notices[0]
        how = "cut" if "cut here" in got else "text" if content.words in got else "name"
        assert content.name in got or how == "cut"
        return f"{how} (notice)" if notices else how


@pytest.mark.parametrize("place", PLACES)
async def test_the_agent_gets_of_each_content_what_the_page_says(harness: Harness, place: str) -> None:
    harness.configure(BRIDGE_DEFAULT_AGENT="7")
    stage = Stage(harness)
    await stage.begin()

    found = {what: await stage.gets(place, content) for what, content in CONTENTS.items()}

    assert found == {row[0]: row[1 + PLACES.index(place)] for row in ROWS[1:]}
