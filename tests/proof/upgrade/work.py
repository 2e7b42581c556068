"""Work that one release leaves behind, and another one continues: waiting, half done, set up."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.faults import Hang
from bridge.playground.emulator.sample import ALICE, BOB, CAROL, DM_ALICE, DM_BOB, DM_CAROL, GENERAL, RANDOM, SHARED
from bridge.playground.sample_project import answers
from proof.upgrade.releases import Release
from support.feature_stories import NEEDS_APPROVAL
from support.ledger import AGENT_CHOICE, AGENTS, EDITED, Thread
from support.stories import PATIENCE, Users
from support.system import System
from support.waiting import wait_until

_POST = "chat.postMessage"
_SLEEPY = "/api/sdk/agents/6/chat"
_RUN = "/api/sdk/workflows/2/run"
_SET_UP = (
    ("/agents", "channel replies all", SHARED),
    ("/workflows", 'schedule "Daily digest" every monday at 9 {"day": "monday"}', GENERAL),
    ("/stats", "report daily 09:00", GENERAL),
    ("/stats", "alert runs > 1000000 in 24h", GENERAL),
)


@dataclass
class Work:
    """What people of *system* began: each thread is named for how far it got before its process was killed."""

    system: System
    hangs: list[Hang] = field(default_factory=list)
    listed: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.users = Users(self.system)

    async def begin(self) -> None:
        """Do one thing of each kind, until the running process has to be killed to get any further."""
        users, begin = self.users, self.users.begin
        for command, text, channel in _SET_UP:
            await users.insist(partial(self.system.slack.ui.command, ALICE, channel, command, text))
        await wait_until(partial(self._private, "alert:save"), "the alert is previewed", PATIENCE)
        preview = self._private("alert:save")[-1].ts
        await users.insist(partial(self.system.slack.ui.click, ALICE, GENERAL, preview, "alert:save"))
        await users.run(ALICE, GENERAL, NEEDS_APPROVAL, "approve", needs="approve")
        self.talk = await begin(ALICE, GENERAL, "talk-one", agent="Memory")
        self.edited = await begin(CAROL, DM_CAROL, "edited-one", agent="Memory")
        await asyncio.gather(users.settled(self.talk), users.settled(self.edited))

        self.menu = await begin(BOB, RANDOM, "menu-one")
        await wait_until(self._menus, "the menu is shown", PATIENCE)
        await users.reply(self.menu, BOB, "menu-two")
        self.system.project.on("POST", _SLEEPY, answers.Hang())
        self.sent = await begin(BOB, DM_BOB, "sent-one", agent="Sleepy")
        await wait_until(self.sent.asked, "the agent is asked", PATIENCE)
        await users.reply(self.sent, BOB, "sent-two")
        changed = await users.reply(self.sent, BOB, "sent-three")
        changed.changed = "sent-other"
        await self.system.slack.people.edit(DM_BOB, changed.ts, changed.changed)
        self.system.project.on("POST", _RUN, answers.Hang())
        await users.run(CAROL, RANDOM, 2, "run")
        self.outcome = await self._begin_hanging(_POST, "outcome-one", DM_ALICE, is_done=False)
        self.posted = await self._begin_hanging(_POST, "posted-one", SHARED, is_done=True)
        await self._edit_hanging()

    async def _begin_hanging(self, method: str, words: str, channel: str, *, is_done: bool) -> Thread:
        """Have an answer's post hang before or after it's carried out; another message waits behind it."""
        hang = self._hang(method, f"re: {words}", is_done=is_done)
        thread = await self.users.begin(ALICE, channel, words, agent="Memory")
        await self.users.reply(thread, ALICE, words.replace("one", "two"))
        await wait_until(partial(self._has_reached, hang), f"the answer to {words} is being posted", PATIENCE)
        return thread

    async def _edit_hanging(self) -> None:
        """Edit what was answered; the offer to send the new text hangs."""
        hang = self._hang("*", EDITED, is_done=False)
        one = self.edited.written[0]
        one.changed, one.again = "edited-other", 1
        await self.system.slack.people.edit(DM_CAROL, one.ts, one.changed)
        await wait_until(partial(self._has_reached, hang), "the new text is being offered", PATIENCE)

    def _hang(self, method: str, text: str, *, is_done: bool) -> Hang:
        self.hangs.append(hang := Hang(is_done=is_done))
        self.system.slack.faults.on(method, hang, when=lambda args: text in str(args))
        return hang

    def _has_reached(self, hang: Hang) -> bool:
        return any(call.fault is hang for call in self.system.slack.calls)

    def its_process_is_dead(self) -> None:
        """Let go of what hung, and of the connections."""
        for hang in self.hangs:
            hang.until.set()
        self.system.slack.faults.clear()
        self.system.project.clear()

    async def decide(self) -> None:
        """Approve the run, and choose an agent for what waits for one."""
        (request,) = (one for one in self.users.runs if one.needs and one.is_accepted)
        card, menu = request.requests()[0].ts, self._menus()[0].ts
        click, select = self.system.slack.ui.click, self.system.slack.ui.select
        await self.users.insist(partial(click, BOB, GENERAL, card, "approval:approve"))
        await self.users.insist(partial(select, BOB, RANDOM, menu, AGENT_CHOICE, str(AGENTS[0].id)))

    async def send_edited(self) -> None:
        """Press the button that sends the new text."""
        await wait_until(self._offers, "the new text can be sent", PATIENCE)
        (offer,) = self._offers()
        await self.users.insist(partial(self.system.slack.ui.click, CAROL, DM_CAROL, offer.ts, EDITED))
        await wait_until(lambda: "edited-other" in self.edited.answered(), "the new text is answered", PATIENCE)

    def ends(self) -> dict[str, list[str]]:
        """What became of each thread: the words that were answered, and how many have an unknown outcome."""
        threads = (self.talk, self.edited, self.menu, self.sent, self.outcome, self.posted)
        return {one.written[0].words: one.answered() + ["unknown"] * len(one.unknown()) for one in threads}

    async def check(self, release: Release, expected: Mapping[str, list[str]]) -> None:
        """Wait for these `ends`; check that nothing else happened, and that *release* lists the same as ever."""
        with suppress(AssertionError):  # the difference says more
            await wait_until(lambda: self.ends() == expected and self.users.is_settled(), "all has ended", PATIENCE)
        assert self.ends() == expected, self.ends()
        assert not [*self.users.faults()]
        talks = self.system.project.operations.talks.values()
        (session,) = (talk.messages for talk in talks if "talk-one" in talk.messages)
        assert session == [one.words for one in self.talk.written]
        assert (await release.prints(self.system, "dead", "list"))["dead"] == []
        await self.check_lists(release)

    async def check_lists(self, release: Release) -> None:
        """Check that *release* lists all that was set up, and the same whenever it's asked."""
        listed = await release.set_up(self.system)
        assert Counter(kind for kind, _ in listed) == {"schedule": 2, "alert": 1, "channel with settings": 1}
        assert listed == self.listed.setdefault(release.name, listed)

    def _menus(self) -> list[Message]:
        return [one for one in self.menu.said() if AGENT_CHOICE in str(one.blocks)]

    def _private(self, action: str) -> list[Message]:
        return [one for one in self.system.slack.workspace.messages.private if action in str(one.blocks)]

    def _offers(self) -> list[Message]:
        return [*self._private(EDITED), *(one for one in self.edited.said() if EDITED in str(one.blocks))]
