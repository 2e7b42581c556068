"""After an outage, what people said meanwhile is found in Slack's history and taken in once, in order."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bridge.features.catch_up.reading import CatchUp
from bridge.features.conversations.answers import LATE
from bridge.ids import MessageKey, ThreadKey, TurnId
from bridge.inbound import Click, InboundMessage
from bridge.listeners.messages import MessageListeners, parse
from bridge.metrics import Metrics
from bridge.playground.emulator import EmulatedSlack
from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, DM_ALICE, GENERAL, PRIVATE, RANDOM, TEAM
from bridge.queue.outages import Outages, PastOutage, Unit
from bridge.queue.patience import Patience
from bridge.slack.api import SlackWeb, opened
from bridge.slack.blockkit.reply import Reply
from bridge.slack.parts import MessageTag, Place
from support.harness import killed
from support.turns import Bench, Posted

TOKEN = "xoxb-1"
HOUR = 3600.0
MENTION = f"<@{BRIDGE}> "
_COUNTER = "bridge_catch_up_messages_total"


@dataclass
class Town:
    """A workspace that keeps what was said, and a *bench* whose clock is Slack's."""

    bench: Bench
    slack: EmulatedSlack
    web: SlackWeb
    metrics: Metrics = field(default_factory=Metrics)

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.slack.clock(), UTC)

    async def says(self, user: str, channel: str, text: str, ago: float, root: str | None = None) -> str:
        """Let *user* write something so many seconds ago, of which nobody hears."""
        return await self.slack.people.say(user, channel, text, thread_ts=root, at=self.slack.clock() - ago)

    async def hears(self, channel: str, ts: str) -> None:
        """Let Slack deliver a message now."""
        found = next(one for one in self.slack.workspace.messages.of(channel) if one.ts == ts)
        event = {"type": "message", **found.as_json(), "channel": channel}
        body = {"event": event, "event_id": f"Ev{ts}", "is_ext_shared_channel": False}
        parsed = parse(body, self.bench.identity)
        assert isinstance(parsed, InboundMessage)
        await self.bench.receiver().receive(parsed)

    async def was_away(self, seconds: float = HOUR) -> PastOutage:
        """Note that nobody heard Slack for so long, until now."""
        self.bench.store.clock.time = self.now()
        outages = Outages(self.bench.store.scripts)
        await outages.note(self.now() - timedelta(seconds=seconds), self.now())
        found = await outages.latest()
        assert found is not None
        return found

    def reader(self, process: str = "a") -> CatchUp:
        """What catches up in a process."""
        bench = self.bench
        messages = MessageListeners(bench.receiver(), bench.identity, bench.metrics)
        return CatchUp(
            outages=Outages(bench.store.scripts),
            web=self.web,
            identity=bench.identity,
            take=messages.found,
            patience=Patience(bench.draining, sleep=bench.sleep),
            metrics=self.metrics,
            process=process,
            now=self.now,
            has_outage=lambda: True,
            store_since=lambda: bench.store.namespace.since,
            depth=bench.store.process().inbox.depth,
            monotonic=lambda: bench.monotonic,
        )

    async def catches_up(self) -> PastOutage:
        """Read all that is to be read, and let the agents answer."""
        await self.reader().catch_up()
        self.bench.store.clock.time = self.now()
        await self.bench.work()
        found = await Outages(self.bench.store.scripts).latest()
        assert found is not None
        return found

    async def bound(self, ago: float = 2 * HOUR) -> str:
        """Have a thread in #general to whose root an agent has answered."""
        root = await self.says(ALICE, GENERAL, f"{MENTION}hello", ago)
        await self.hears(GENERAL, root)
        await self.bench.work()
        self.bench.service.asked.clear()
        return root

    @property
    def asked(self) -> list[str]:
        return self.bench.service.messages

    def counted(self, outcome: str) -> float:
        """How many messages were found with that outcome."""
        text = self.metrics.exposition().decode()
        samples = [one for family in text_string_to_metric_families(text) for one in family.samples]
        return sum(one.value for one in samples if one.labels.get("outcome") == outcome and one.name == _COUNTER)


@pytest.fixture
async def town(bench: Bench) -> AsyncIterator[Town]:
    async with (
        EmulatedSlack(signing_secret="s", bot_token=TOKEN, clock=time.time) as slack,
        opened(slack.api_url, TOKEN, Metrics()) as web,
    ):
        slack.nobody_listens = True
        bench.identity = await web.auth_test()
        town = Town(bench, slack, web)

        async def passes() -> None:
            slack.clock.move(bench.slept[-1])

        bench.on_sleep = passes
        bench.store.clock.time = town.now()
        bench.store.namespace.since = town.now() - timedelta(days=30)
        bench.store_since = lambda: bench.store.namespace.since
        yield town


async def test_what_was_said_everywhere_is_found(town: Town) -> None:
    root = await town.bound()
    await town.says(BOB, GENERAL, "a reply", HOUR / 2, root)
    await town.says(ALICE, DM_ALICE, "in private", HOUR / 2)
    await town.says(BOB, PRIVATE, f"{MENTION}at the top", HOUR / 2)
    await town.says(BOB, RANDOM, "to each other", HOUR / 2)
    await town.was_away()

    done = await town.catches_up()

    assert sorted(words.rpartition(": ")[2] for words in town.asked) == ["a reply", "at the top", "in private"]
    assert (done.queued, done.left, done.done_at is not None) == (3, 0, True)


async def test_what_was_said_before_the_outage_is_left_alone(town: Town) -> None:
    root = await town.bound(4 * HOUR)
    await town.says(BOB, GENERAL, "long ago", 2 * HOUR, root)
    await town.was_away()

    await town.catches_up()

    assert town.asked == []


async def test_replies_are_found_oldest_first(town: Town) -> None:
    root = await town.bound()
    for number in range(5):
        await town.says(ALICE, GENERAL, f"{number}", HOUR / 2 - number, root)
    await town.was_away()

    await town.catches_up()

    assert town.asked == ["0", "1", "2", "3", "4"]


async def test_a_root_is_found_with_its_replies(town: Town) -> None:
    root = await town.says(ALICE, GENERAL, f"{MENTION}first", HOUR / 2)
    await town.says(ALICE, GENERAL, "second", HOUR / 3, root)
    await town.was_away()

    await town.catches_up()

    assert town.asked == ["first", "second"]


async def test_a_mention_below_a_message_of_the_outage_is_found(town: Town) -> None:
    root = await town.says(ALICE, GENERAL, "to each other", HOUR / 2)
    await town.says(BOB, GENERAL, "still to each other", HOUR / 3, root)
    await town.says(BOB, GENERAL, f"{MENTION}help us", HOUR / 4, root)
    await town.was_away()

    await town.catches_up()

    assert [words.rpartition(": ")[2] for words in town.asked] == ["help us"]


async def test_a_found_message_that_slack_delivers_late_is_one_turn(town: Town) -> None:
    root = await town.bound()
    reply = await town.says(ALICE, GENERAL, "once", HOUR / 2, root)
    await town.was_away()

    await town.catches_up()
    await town.hears(GENERAL, reply)
    await town.bench.work()

    assert town.asked == ["once"]


async def test_a_message_that_slack_delivered_is_not_taken_in_again(town: Town) -> None:
    root = await town.bound()
    await town.hears(GENERAL, await town.says(ALICE, GENERAL, "once", HOUR / 2, root))
    await town.was_away()

    await town.catches_up()

    assert town.asked == ["once"]
    assert town.counted("duplicate") == 1


async def test_a_message_edited_after_it_was_read_goes_with_its_new_text(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = await town.bound()
    reply = await town.says(ALICE, GENERAL, "old", HOUR / 2, root)
    await town.was_away()
    read = town.web.read

    async def edited_meanwhile(method: str, arguments: Any, **how: Any) -> Any:
        page = await read(method, arguments, **how)
        if method == "conversations.replies" and "old" in str(page):
            await town.slack.people.edit(GENERAL, reply, "new")
            version = next(one for one in town.slack.workspace.messages.of(GENERAL) if one.ts == reply).edited
            message = InboundMessage(
                team=TEAM, channel=GENERAL, user=ALICE, text="new", ts=reply, thread_ts=root,
                edited_ts=str((version or {}).get("ts")),
            )  # fmt: skip
            await town.bench.receiver().edited(message)
        return page

    monkeypatch.setattr(town.web, "read", edited_meanwhile)
    await town.catches_up()

    assert town.asked == ["new"]
    assert town.counted("outdated") == 1


async def test_a_message_deleted_after_it_was_read_is_not_sent(town: Town, monkeypatch: pytest.MonkeyPatch) -> None:
    root = await town.bound()
    reply = await town.says(ALICE, GENERAL, "never mind", HOUR / 2, root)
    await town.was_away()
    read = town.web.read

    async def deleted_meanwhile(method: str, arguments: Any, **how: Any) -> Any:
        page = await read(method, arguments, **how)
        if method == "conversations.replies":
            at = f"{town.slack.clock():.6f}"
            await town.bench.receiver().deleted(MessageKey(TEAM, GENERAL, reply), at)
        return page

    monkeypatch.setattr(town.web, "read", deleted_meanwhile)
    await town.catches_up()

    assert town.asked == []


async def test_a_live_reply_waits_for_older_ones_of_its_thread(town: Town) -> None:
    root = await town.bound()
    await town.says(ALICE, GENERAL, "older", HOUR / 2, root)
    await town.was_away()
    reader = town.reader()
    town.bench.bring_up = reader.bring_up
    await reader.mark_threads()

    await town.hears(GENERAL, await town.says(ALICE, GENERAL, "live", 20, root))
    await town.bench.work()

    assert town.asked == ["older", "live"]


async def test_a_live_reply_goes_on_where_its_thread_may_not_be_read(town: Town) -> None:
    root = await town.bound()
    await town.was_away()
    reader = town.reader()
    town.bench.bring_up = reader.bring_up
    await reader.mark_threads()
    town.slack.scopes.discard("channels:history")

    await town.hears(GENERAL, await town.says(ALICE, GENERAL, "live", 20, root))
    await town.bench.work()

    assert town.asked == ["live"]


async def test_the_first_answer_in_a_thread_says_that_it_is_late(town: Town) -> None:
    root = await town.bound()
    for number in range(2):
        await town.says(ALICE, GENERAL, f"{number}", HOUR / 2 - number, root)
    await town.was_away()

    await town.catches_up()

    assert [LATE in str(one.reply.footer) for one in town.bench.say.messages] == [False, True, False]


async def test_messages_too_old_are_offered_once_and_sent_together(town: Town) -> None:
    root = await town.bound(60 * HOUR)
    for number in range(3):
        await town.says(ALICE, GENERAL, f"{number}", 30 * HOUR - number, root)
    await town.was_away(40 * HOUR)
    await town.catches_up()
    assert town.asked == []
    (_answer, notice) = town.bench.say.messages
    (button,) = [one for block in notice.reply.blocks for one in block.get("elements", []) if "action_id" in one]

    click = Click(
        team=TEAM, channel=GENERAL, user=BOB, user_team=TEAM, action_id=button["action_id"], value=button["value"],
        thread_ts=root, message_ts=notice.ts,
    )  # fmt: skip
    await town.bench.store.process().inbox.put(click)
    await town.bench.work()

    assert "24 hours" in notice.words
    assert [words.rpartition(": ")[2] for words in town.asked] == ["0", "1", "2"]


async def test_a_command_found_late_is_not_run_and_its_person_is_told(town: Town) -> None:
    root = await town.bound()
    for number, line in enumerate(("!mute", "!stop", "!workflows run 3 x")):
        await town.says(ALICE, GENERAL, line, HOUR / 2 - number, root)
    await town.says(ALICE, GENERAL, "go on", HOUR / 4, root)
    await town.was_away()

    await town.catches_up()

    assert town.asked == ["go on"]
    assert town.bench.service.started == []
    assert [reply.text for _who, reply in town.bench.say.whispers] == [
        "I was offline when you typed this command, so I didn't run it. Type it again if you still need it."
    ] * 3


async def test_what_was_said_before_the_bot_was_called_in_is_not_for_it(town: Town) -> None:
    root = await town.says(ALICE, GENERAL, "to each other", 2 * HOUR)
    await town.says(BOB, GENERAL, "between us", HOUR / 2, root)
    await town.hears(GENERAL, await town.says(BOB, GENERAL, f"{MENTION}help", 20, root))
    await town.bench.work()
    before = len(town.asked)
    await town.was_away()

    await town.catches_up()

    assert len(town.asked) == before == 1


async def test_more_replies_than_may_wait_are_all_sent(town: Town) -> None:
    root = await town.bound()
    for number in range(60):
        await town.says(ALICE, GENERAL, f"{number:02d}", HOUR / 2 - number, root)
    await town.was_away()
    reading = asyncio.create_task(town.reader().catch_up())

    while not reading.done():
        await town.bench.work()
        await asyncio.sleep(0)
    await town.bench.work()

    assert town.asked == [f"{number:02d}" for number in range(60)]
    assert town.bench.say.whispers == []
    await reading


async def test_another_process_goes_on_where_one_was_killed(town: Town) -> None:
    root = await town.bound()
    for number in range(3):
        await town.says(ALICE, GENERAL, f"{number}", HOUR / 2 - number, root)
    await town.says(BOB, RANDOM, f"{MENTION}elsewhere", HOUR / 2)
    await town.was_away()
    first = town.reader()
    taken = first.take

    async def dies(said: Any, channel: str) -> str:
        if said["text"] == "1":
            await asyncio.Event().wait()
        return await taken(said, channel)

    first.take = dies
    dying = asyncio.create_task(first.catch_up())
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.shield(dying), 1.0)
    await killed(dying)

    await town.reader("b").catch_up()
    await town.bench.work()

    assert [words for words in town.asked if words.isdigit()] == ["0", "1", "2"]
    assert "elsewhere" in town.asked


async def test_one_process_reads_at_a_time(town: Town) -> None:
    await town.bound()
    await town.was_away()
    assert await Outages(town.bench.store.scripts).claim("b")

    await town.reader("a").catch_up()

    assert town.slack.calls[-1].method not in {"conversations.replies", "conversations.history"}


async def test_limited_history_is_waited_for(town: Town) -> None:
    root = await town.bound()
    for number in range(40):
        await town.says(ALICE, GENERAL, f"{number:02d}", HOUR / 2 - number, root)
    await town.was_away()
    town.slack.limits_history = True

    await town.catches_up()

    assert town.asked == [f"{number:02d}" for number in range(40)]
    assert sum(town.bench.slept) > 2 * 60  # three pages of the thread


async def test_it_asks_no_more_than_others_can_bear(town: Town) -> None:
    for number in range(100):
        root = await town.says(ALICE, RANDOM, f"{MENTION}{number}", 2 * HOUR)
        await town.hears(RANDOM, root)
    await town.bench.work()
    await town.was_away()

    await town.reader().catch_up()

    assert sum(town.bench.slept) >= 2 * 60  # 100 threads, 45 calls a minute


async def test_without_the_lists_only_known_channels_are_read(town: Town, caplog: pytest.LogCaptureFixture) -> None:
    root = await town.bound()
    await town.says(BOB, GENERAL, f"{MENTION}at the top", HOUR / 2)
    await town.says(BOB, PRIVATE, f"{MENTION}unknown", HOUR / 2)
    await town.says(BOB, GENERAL, "a reply", HOUR / 2, root)
    town.slack.scopes.difference_update({"channels:read", "groups:read", "im:read", "mpim:read"})
    town.bench.identity = await town.web.auth_test()
    await town.was_away()

    await town.catches_up()

    assert sorted(words.rpartition(": ")[2] for words in town.asked) == ["a reply", "at the top"]
    assert "some channels can't be looked through for what was missed" in caplog.text


async def test_a_thread_that_may_not_be_read_is_left_out(town: Town) -> None:
    root = await town.bound()
    await town.says(BOB, GENERAL, "a reply", HOUR / 2, root)
    await town.says(ALICE, DM_ALICE, "in private", HOUR / 2)
    town.slack.scopes.discard("channels:history")
    await town.was_away()

    done = await town.catches_up()

    assert town.asked == ["in private"]
    assert done.done_at is not None
    assert town.counted("unreadable") >= 1


async def test_what_had_an_answer_before_the_store_was_wiped_is_skipped(town: Town) -> None:
    root = await town.says(ALICE, GENERAL, f"{MENTION}answered", HOUR)
    await town.says(ALICE, GENERAL, f"{MENTION}waiting", HOUR / 2)
    await town.says(ALICE, GENERAL, "second", HOUR / 2, root)
    payload = {"turn": "t", "part": "0", "parts": 1, "message": root}
    town.slack.workspace.messages.post(
        BRIDGE, GENERAL, "re: answered", thread_ts=root, at=town.slack.clock() - HOUR / 4,
        metadata={"event_type": "bridge_turn", "event_payload": payload},
    )  # fmt: skip
    tag = MessageTag("bridge_turn", TurnId("t"), agent=7, session=42)
    town.bench.say.messages.append(Posted(Place(GENERAL, root), Reply(text="re: answered"), tag, root))
    await town.was_away()
    town.bench.store.namespace.since = town.now()

    await town.catches_up()

    assert sorted(words.rpartition(": ")[2] for words in town.asked) == ["second", "waiting"]


async def test_a_new_outage_begins_anew_and_spans_the_earlier_one(town: Town) -> None:
    await town.bound()
    first = await town.was_away(2 * HOUR)
    outages = Outages(town.bench.store.scripts)
    await outages.plan(first, [(1.0, Unit("c", TEAM, RANDOM))], town.now())

    town.slack.clock.move(60)
    second = await town.was_away(30)

    assert (second.began, second.is_planned, second.left) == (first.began, False, 0)
    assert not await outages.was_read(first, Unit("c", TEAM, RANDOM), town.now())


async def test_the_index_knows_threads_by_their_newest_message(town: Town) -> None:
    older = await town.bound(3 * HOUR)
    newer = await town.bound(2 * HOUR)
    await town.hears(GENERAL, await town.says(ALICE, GENERAL, "more", HOUR, older))

    found = await Outages(town.bench.store.scripts).active_threads(town.now() - timedelta(hours=24), 0)

    assert [thread for _score, thread in found] == [ThreadKey(TEAM, GENERAL, older), ThreadKey(TEAM, GENERAL, newer)]
