"""Stories besides talking: stop, mute, edit, vote, open Home, schedule reports."""

from __future__ import annotations

import time

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
    SHARED,
)
from support.conversations import PATIENCE, Town
from support.waiting import wait_until

_EDITED = "turn:edited"
_GO_ON = "held:drop"
_VOTE = "answer:feedback"
_SHOW = "turn:show"


async def stops_an_answer(town: Town) -> None:
    """A slow agent is stopped, and the queued message discarded. No answer is owed."""
    thread = await town.begin(ALICE, DM_ALICE, "stop-one", agent="Sloth")
    thread.written[0].withdrawn = True
    await wait_until(lambda: thread.asked() or thread.said(), "the agent is asked", PATIENCE)
    (await town.reply(thread, ALICE, "stop-two")).withdrawn = True
    await wait_until(thread.are_all_accepted, "the message is queued", PATIENCE)
    await town.world.slack.people.say(ALICE, DM_ALICE, "!stop", thread_ts=thread.root)
    await wait_until(thread.said, "the message is shown as stopped or unknown", PATIENCE)
    offers = [one for one in thread.said() if _GO_ON in str(one.blocks)]
    for offer in offers:
        await town.insist(lambda ts=offer.ts: town.world.slack.ui.click(ALICE, DM_ALICE, ts, _GO_ON))  # type: ignore[misc]


async def mutes_a_thread(town: Town) -> None:
    """Messages in a muted thread reach no agent."""
    thread = await town.begin(BOB, DM_BOB, "mute-one", agent="Memory")
    await town.settled(thread)
    await town.world.slack.people.say(BOB, DM_BOB, "!mute", thread_ts=thread.root)
    await town.world.slack.people.say(BOB, DM_BOB, "!unmute", thread_ts=thread.root)


async def changes_what_was_answered(town: Town) -> None:
    """A message is edited after its answer, and sent to the agent again."""
    thread = await town.begin(CAROL, DM_CAROL, "late-one", agent="Memory")
    await town.settled(thread)
    one = thread.written[0]
    await town.world.slack.people.edit(DM_CAROL, one.ts, "late-other")

    def offers() -> list[Message]:
        private = town.world.slack.workspace.messages.private
        shown = [*thread.said(), *(message for message in private if message.to == CAROL)]
        return [message for message in shown if _EDITED in str(message.blocks)]

    await wait_until(offers, "the new text can be sent", PATIENCE)
    one.changed, one.again = "late-other", 1
    await town.insist(lambda: town.world.slack.ui.click(CAROL, DM_CAROL, offers()[0].ts, _EDITED))


async def votes(town: Town) -> None:
    """Rate an answer as bad."""
    thread = await town.begin(BOB, PRIVATE, "vote-one", agent="Memory")
    await town.settled(thread)
    for answer in thread.said():
        for block in answer.all_blocks:
            for pair in block.get("elements", []):
                if pair.get("action_id") == _VOTE:
                    ts, value = answer.ts, pair["negative_button"]["value"]
                    await town.insist(
                        lambda ts=ts, value=value: town.world.slack.ui.select(BOB, PRIVATE, ts, _VOTE, value)
                    )  # type: ignore[misc]


async def waits_in_line(town: Town) -> None:
    """A message waits so long that it gets a queued sign."""
    thread = await town.begin(CAROL, SHARED, "line-one", agent="Slower")
    await town.reply(thread, CAROL, "line-two")
    await town.settled(thread)


async def looks_at_home(town: Town) -> None:
    """The Home tab, and the messages tab with its prompts."""
    await town.world.slack.people.open_home(BOB)
    await town.world.slack.people.open_messages(BOB)


async def keeps_a_report(town: Town) -> None:
    """A report becomes due and is posted once; then it is paused and resumed."""
    world = town.world
    await town.insist(lambda: world.slack.ui.command(ALICE, GENERAL, "/stats", "report daily 09:00"))

    async def becomes_due() -> bool:
        reports = await _report_ids(town)
        if reports:
            await world.redis.zadd(f"{{{world.namespace}}}:due", {reports[0]: int(time.time() * 1000)})
        return bool(reports)

    await wait_until(becomes_due, "the report is scheduled", PATIENCE)
    await wait_until(lambda: _posted(town), "the report is posted", PATIENCE)
    await town.insist(lambda: world.slack.ui.command(ALICE, GENERAL, "/stats", "reports"))
    for action in ("report:pause", "report:resume"):
        offer = await _offered(town, action)
        await town.insist(lambda: world.slack.ui.click(ALICE, offer.channel, offer.ts, action))  # noqa: B023 - waited for here
    turns = [str((one.metadata or {})["event_payload"].get("turn")) for one in _posted(town)]
    assert len(set(turns)) == len(turns), "no report was posted twice"


async def asks_for_what_is_in_doubt(town: Town) -> None:
    """A private answer, or only Slack's response to it, is lost; someone asks to see it."""
    town.world.slack.faults.on("response_url", DropAfter())
    await town.insist(lambda: town.world.slack.ui.command(CAROL, SHARED, "/project", ""))
    await _show_what_is_in_doubt(town)


async def _offered(town: Town, action: str) -> Message:
    """Wait until Alice can press a button, requesting whatever may be missing."""

    async def is_there() -> bool:
        await _press_show(town)
        return bool(_offers(town, action))

    await wait_until(is_there, f"{action} is offered", PATIENCE)
    return _offers(town, action)[-1]


async def _show_what_is_in_doubt(town: Town) -> None:
    await wait_until(lambda: _press_show(town), "a post is in doubt", PATIENCE)


async def _press_show(town: Town) -> bool:
    """Press the button that shows an answer in doubt; return whether there was one."""
    offers = [
        (user, one)
        for user, channel in ((ALICE, DM_ALICE), (BOB, DM_BOB), (CAROL, DM_CAROL))
        for one in town.world.slack.workspace.messages.top_level(channel)
        if _SHOW in str(one.blocks)
    ]
    for user, one in offers:
        await town.insist(lambda: town.world.slack.ui.click(user, one.channel, one.ts, _SHOW))  # noqa: B023 - waited for here
    return bool(offers)


def _offers(town: Town, action: str) -> list[Message]:
    private = town.world.slack.workspace.messages.private
    return [one for one in private if one.to == ALICE and action in str(one.blocks)]


async def _report_ids(town: Town) -> list[str]:
    ids = await town.world.redis.zrange(f"{{{town.world.namespace}}}:reports", 0, -1)
    return [str(one) for one in ids]


def _posted(town: Town) -> list[Message]:
    shown = town.world.slack.messages(GENERAL)
    return [one for one in shown if one.user == BRIDGE and (one.metadata or {}).get("event_type") == "bridge_report"]


BESIDE = (
    stops_an_answer,
    mutes_a_thread,
    changes_what_was_answered,
    votes,
    waits_in_line,
    looks_at_home,
    keeps_a_report,
    asks_for_what_is_in_doubt,
)
