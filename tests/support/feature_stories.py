"""Stories besides talking: stop, mute, edit, vote, open Home, schedule reports; and a second project.

Its agents, workflows and sessions have the same IDs as the first one's.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from bridge.ends.notices import SHOWN_AFTER_ALL
from bridge.playground.emulator.entities import Message
from bridge.playground.emulator.faults import DropAfter
from bridge.playground.emulator.sample import (
    ALICE,
    BOB,
    BRIDGE,
    CAROL,
    DM_ALICE,
    DM_BOB,
    DM_CAROL,
    GENERAL,
    PRIVATE,
    RANDOM,
    SHARED,
)
from bridge.playground.sample_project.server import SampleProject
from support.ledger import OTHER
from support.secrecy import API_KEY
from support.stories import PATIENCE, Story, Users
from support.system import System
from support.waiting import wait_until

NEEDS_APPROVAL = 5
"""The workflow whose runs need approval in these stories."""

RULES = (
    f'[[rules]]\nmay = ["run"]\nworkflows = [{NEEDS_APPROVAL}]\napprove = {{by = ["{BOB}", "{CAROL}"]}}\n[[rules]]\n'
)
"""The operator's file of these stories."""

_EDITED = "turn:edited"
_GO_ON = "held:drop"
_VOTE = "answer:feedback"
_SHOW = "turn:show"
_WAS_SHOWN = SHOWN_AFTER_ALL.text


async def stops_an_answer(users: Users) -> None:
    """A slow agent is stopped, and the queued message discarded. No answer is owed."""
    thread = await users.begin(ALICE, DM_ALICE, "stop-one", agent="Sloth")
    thread.written[0].withdrawn = True
    await wait_until(lambda: thread.asked() or thread.said(), "the agent is asked", PATIENCE)
    (await users.reply(thread, ALICE, "stop-two")).withdrawn = True
    await wait_until(thread.are_all_accepted, "the message is queued", PATIENCE)
    await users.system.slack.people.say(ALICE, DM_ALICE, "!stop", thread_ts=thread.root)
    await wait_until(
        lambda: thread.told() or thread.answered(), "the message is shown as stopped, unknown or answered", PATIENCE
    )
    offers = [one for one in thread.said() if _GO_ON in str(one.blocks)]
    for offer in offers:
        await users.insist(lambda ts=offer.ts: users.system.slack.ui.click(ALICE, DM_ALICE, ts, _GO_ON))  # type: ignore[misc]


async def mutes_a_thread(users: Users) -> None:
    """Messages in a muted thread reach no agent."""
    thread = await users.begin(BOB, DM_BOB, "mute-one", agent="Memory")
    await users.settled(thread)
    await users.system.slack.people.say(BOB, DM_BOB, "!mute", thread_ts=thread.root)
    await users.system.slack.people.say(BOB, DM_BOB, "!unmute", thread_ts=thread.root)


async def changes_what_was_answered(users: Users) -> None:
    """A message is edited after its answer, and sent to the agent again."""
    thread = await users.begin(CAROL, DM_CAROL, "late-one", agent="Memory")
    await users.settled(thread)
    one = thread.written[0]
    await users.system.slack.people.edit(DM_CAROL, one.ts, "late-other")

    def offers() -> list[Message]:
        private = users.system.slack.workspace.messages.private
        shown = [*thread.said(), *(message for message in private if message.to == CAROL)]
        return [message for message in shown if _EDITED in str(message.blocks)]

    await wait_until(offers, "the new text can be sent", PATIENCE)
    one.changed, one.again = "late-other", 1
    await users.insist(lambda: users.system.slack.ui.click(CAROL, DM_CAROL, offers()[0].ts, _EDITED))


async def votes(users: Users) -> None:
    """Rate an answer as bad."""
    thread = await users.begin(BOB, PRIVATE, "vote-one", agent="Memory")
    await users.settled(thread)
    for answer in thread.said():
        for block in answer.all_blocks:
            for pair in block.get("elements", []):
                if pair.get("action_id") == _VOTE:
                    ts, value = answer.ts, pair["negative_button"]["value"]
                    await users.insist(
                        lambda ts=ts, value=value: users.system.slack.ui.select(BOB, PRIVATE, ts, _VOTE, value)
                    )  # type: ignore[misc]


async def waits_in_line(users: Users) -> None:
    """A message waits so long that it gets a queued reaction."""
    thread = await users.begin(CAROL, SHARED, "line-one", agent="Slower")
    await users.reply(thread, CAROL, "line-two")
    await users.settled(thread)


async def opens_home(users: Users) -> None:
    """The Home tab, and the messages tab with its prompts."""
    await users.system.slack.people.open_home(BOB)
    await users.system.slack.people.open_messages(BOB)


async def schedules_a_report(users: Users) -> None:
    """A report becomes due and is posted once; then it is paused and resumed."""
    system = users.system
    await users.insist(lambda: system.slack.ui.command(ALICE, GENERAL, "/stats", "report daily 09:00"))

    async def becomes_due() -> bool:
        reports = await _report_ids(users)
        if reports:
            await system.redis.zadd(f"{{{system.namespace}}}:due", {reports[0]: int(time.time() * 1000)})
        return bool(reports)

    await wait_until(becomes_due, "the report is scheduled", PATIENCE)
    await wait_until(lambda: _posted(users), "the report is posted", PATIENCE)
    await users.insist(lambda: system.slack.ui.command(ALICE, GENERAL, "/stats", "reports"))
    for action in ("report:pause", "report:resume"):
        offer = await _offered(users, action)
        await users.insist(lambda: system.slack.ui.click(ALICE, offer.channel, offer.ts, action))  # noqa: B023 - awaited in the same iteration
    turns = [str((one.metadata or {})["event_payload"].get("turn")) for one in _posted(users)]
    assert len(set(turns)) == len(turns), "no report was posted twice"


async def asks_for_approvals(users: Users) -> None:
    """One run is approved, by two people at once and with a double click; another request is withdrawn."""
    async with asyncio.TaskGroup() as group:
        group.create_task(_asks(users, "approve", BOB, BOB, CAROL))
        group.create_task(_asks(users, "withdraw", ALICE, ALICE))


async def _asks(users: Users, action: str, *presses: str) -> None:
    """Ask for a run, and press a button of each card that this posted."""
    await users.run(ALICE, GENERAL, NEEDS_APPROVAL, action, needs=action)
    for request in [one for one in users.runs if one.needs == action and one.is_accepted]:
        await wait_until(request.requests, f"{request.input} has its card", PATIENCE)
        ts = request.requests()[0].ts
        for user in presses:
            press = partial(users.system.slack.ui.click, user, GENERAL, ts, f"approval:{action}")
            await users.insist(press)


async def asks_for_what_is_in_doubt(users: Users) -> None:
    """A private answer, or only Slack's response to it, is lost; someone asks to see it."""
    users.system.slack.faults.on("response_url", DropAfter())
    await users.insist(lambda: users.system.slack.ui.command(CAROL, SHARED, "/project", ""))
    await _show_what_is_in_doubt(users)


async def _offered(users: Users, action: str) -> Message:
    """Wait until Alice can press a button, requesting whatever may be missing."""

    async def is_there() -> bool:
        await _press_show(users)
        return bool(_offers(users, action))

    await wait_until(is_there, f"{action} is offered", PATIENCE)
    return _offers(users, action)[-1]


async def _show_what_is_in_doubt(users: Users) -> None:
    await wait_until(lambda: _press_show(users), "a post is in doubt", PATIENCE)


async def _press_show(users: Users) -> bool:
    """Press the button that shows an answer in doubt; return whether there is one, or was: each story presses it."""
    notices = [
        (user, one)
        for user, channel in ((ALICE, DM_ALICE), (BOB, DM_BOB), (CAROL, DM_CAROL))
        for one in users.system.slack.workspace.messages.top_level(channel)
        if _SHOW in str(one.blocks) or one.text == _WAS_SHOWN
    ]
    for user, one in notices:
        if one.text != _WAS_SHOWN:
            await users.insist(lambda: users.system.slack.ui.click(user, one.channel, one.ts, _SHOW))  # noqa: B023 - awaited in the same iteration
    return bool(notices)


def _offers(users: Users, action: str) -> list[Message]:
    private = users.system.slack.workspace.messages.private
    return [one for one in private if one.to == ALICE and action in str(one.blocks)]


async def _report_ids(users: Users) -> list[str]:
    ids = await users.system.redis.zrange(f"{{{users.system.namespace}}}:reports", 0, -1)
    return [str(one) for one in ids]


def _posted(users: Users) -> list[Message]:
    shown = users.system.slack.messages(GENERAL)
    return [one for one in shown if one.user == BRIDGE and (one.metadata or {}).get("event_type") == "bridge_report"]


@asynccontextmanager
async def served(system: System, folder: Path, stories: tuple[Story, ...]) -> AsyncIterator[None]:
    """Serve a second project, which has #random, if *stories* are about it."""
    if stories not in {TWO_PROJECTS, ONE_DOWN}:
        yield
        return
    async with SampleProject(api_key=API_KEY) as system.other:
        file = folder / f"{system.namespace}.toml"
        table = f'base_url = "{system.other.base_url}"\napi_key_env = "KEY_OF_OTHER"\nchannels = ["{RANDOM}"]\n'
        file.write_text(f'[projects.default]\nchannels = ["{GENERAL}"]\n[projects.{OTHER}]\n{table}', encoding="utf-8")
        system.environ = {"BRIDGE_CONFIG": str(file), "KEY_OF_OTHER": API_KEY}
        yield


async def talks_to_both(users: Users) -> None:
    """Threads of both projects, in the same channels, at the same time."""
    ours = await users.begin(ALICE, GENERAL, "ours-one", agent="Memory")
    theirs = await users.begin(BOB, RANDOM, "theirs-one", agent="Memory", project=OTHER, is_named=False)
    beside = await users.begin(BOB, GENERAL, "beside-one", agent="Slow", project=OTHER)
    for number in ("two", "three"):
        await users.reply(ours, ALICE, f"ours-{number}")
        await users.reply(theirs, BOB, f"theirs-{number}")
        await users.reply(beside, BOB, f"beside-{number}")
    await asyncio.gather(*map(users.settled, (ours, theirs, beside)))


async def runs_in_both(users: Users) -> None:
    """The same workflow runs in both projects."""
    await users.run(ALICE, GENERAL, 1, "run-ours")
    await users.run(CAROL, RANDOM, 1, "run-theirs", project=OTHER)


async def loses_one_for_a_while(users: Users) -> None:
    """One project's service is down: the other answers, and its own messages are answered once it's back."""
    other = users.system.other
    assert other is not None
    await other.stop()
    waiting = await users.begin(CAROL, DM_CAROL, "waits-one", agent="Memory", project=OTHER)
    quick = await users.begin(ALICE, GENERAL, "quick-one", agent="Memory")
    await users.settled(quick)
    assert not waiting.asked(), "it's down"
    await other.start()
    await users.reply(waiting, CAROL, "waits-two")
    await users.settled(waiting)


FEATURE_STORIES = (
    stops_an_answer,
    mutes_a_thread,
    changes_what_was_answered,
    votes,
    waits_in_line,
    opens_home,
    schedules_a_report,
    asks_for_approvals,
    asks_for_what_is_in_doubt,
)
TWO_PROJECTS: tuple[Story, ...] = (talks_to_both, runs_in_both)
ONE_DOWN: tuple[Story, ...] = (loses_one_for_a_while,)
