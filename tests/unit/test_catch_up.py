"""After an outage, missed messages are found in Slack's history and accepted once, in order."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bridge.errors import SlackTokenRefused
from bridge.features.catch_up.reading import CatchUp
from bridge.features.conversations.answers import LATE
from bridge.features.shared.channels import AppRule
from bridge.ids import ThreadKey
from bridge.playground.emulator.faults import Error, Hang
from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, DM_ALICE, GENERAL, PRIVATE, RANDOM, TEAM
from bridge.queue.outages import Outages, PastOutage, Unit
from bridge.queue.turn import LEASE
from support.harness import NOT_NOW, READ, Harness, killed
from support.waiting import wait_until

HOUR = 3600.0
MENTION = f"<@{BRIDGE}> "
APP = "A0OTHERBOT"
_COUNTER = "bridge_catch_up_messages_total"


@dataclass
class Town:
    """A *harness* whose events reach the bridge only when a test delivers them; sleeping advances the clock."""

    harness: Harness

    def __post_init__(self) -> None:
        self.slack = self.harness.slack
        self.now = self.harness.store.clock
        self.harness.store.namespace.since = self.now() - timedelta(days=30)
        self.harness.on_sleep = self._passes

    async def _passes(self) -> None:
        self.passes(self.harness.slept[-1])

    def passes(self, seconds: float) -> None:
        self.now.time += timedelta(seconds=seconds)

    @property
    def outages(self) -> Outages:
        return Outages(self.harness.store.scripts)

    async def says(self, user: str, channel: str, text: str, ago: float, root: str | None = None) -> str:
        """Post a message from *user*, *ago* seconds in the past, without delivering it."""
        self.slack.nobody_listens = True
        ts = await self.slack.people.say(user, channel, text, thread_ts=root, at=self.slack.clock() - ago)
        self.slack.nobody_listens = False
        return ts

    async def hears(self, channel: str, ts: str) -> None:
        """Deliver a message to the bridge."""
        message = self.slack.workspace.messages.find(channel, ts)
        assert message is not None
        await asyncio.gather(*(tried.wait() for tried in self.slack.events.posted(message)))

    async def was_away(self, seconds: float = HOUR) -> PastOutage:
        """Record an outage of *seconds* that ends now."""
        await self.outages.note(self.now() - timedelta(seconds=seconds), self.now())
        return await self.latest()

    async def latest(self) -> PastOutage:
        found = await self.outages.latest()
        assert found is not None
        return found

    def reader(self, process: str = "a") -> CatchUp:
        """The catch-up of a process."""
        return self.harness.parts(process).catch_up

    async def catches_up(self) -> PastOutage:
        """Run the catch-up and let the agents answer."""
        await self.reader().catch_up()
        await self.harness.work()
        return await self.latest()

    async def while_it_reads(self, hang: Hang) -> asyncio.Task[PastOutage]:
        """Start catching up and stop where a thread's history was requested but hasn't arrived."""
        self.slack.faults.on(READ, hang)
        catching_up = asyncio.create_task(self.catches_up())
        await wait_until(lambda: any(call.fault is hang for call in self.slack.calls), "a thread is being read")
        return catching_up

    async def bound(self, ago: float = 2 * HOUR) -> str:
        """Create a thread in #general whose root message an agent has answered."""
        root = await self.says(ALICE, GENERAL, f"{MENTION}hello", ago)
        await self.hears(GENERAL, root)
        await self.harness.work()
        self.harness.service.asked.clear()
        return root

    @property
    def asked(self) -> list[str]:
        return self.harness.service.messages

    @property
    def words(self) -> list[str]:
        """The messages agents were sent, without their authors."""
        return [words.rpartition(": ")[2] for words in self.asked]

    def counted(self, outcome: str) -> float:
        """The number of missed messages with this outcome."""
        text = self.harness.metrics.exposition().decode()
        samples = [one for family in text_string_to_metric_families(text) for one in family.samples]
        return sum(one.value for one in samples if one.labels.get("outcome") == outcome and one.name == _COUNTER)


@pytest.fixture
def town(harness: Harness) -> Town:
    return Town(harness)


async def test_missed_messages_are_found_in_every_kind_of_conversation(town: Town) -> None:
    root = await town.bound()
    await town.says(BOB, GENERAL, "a reply", HOUR / 2, root)
    await town.says(ALICE, DM_ALICE, "in private", HOUR / 2)
    await town.says(BOB, PRIVATE, f"{MENTION}at the top", HOUR / 2)
    await town.says(BOB, RANDOM, "to each other", HOUR / 2)
    await town.says(BOB, town.slack.people.start_group(ALICE, BOB, BRIDGE), f"{MENTION}in a group", HOUR / 2)
    await town.was_away()
    town.slack.page_limit = 2  # applies to the bot's channel list too

    done = await town.catches_up()

    assert sorted(town.words) == ["a reply", "at the top", "in a group", "in private"]
    assert (done.queued, done.left, done.done_at is not None) == (4, 0, True)


async def test_the_thread_with_the_latest_message_is_read_first(town: Town) -> None:
    roots = [await town.bound() for _ in range(3)]
    for root, seconds in zip(roots, (2, 0, 1), strict=True):
        await town.hears(GENERAL, await town.says(ALICE, GENERAL, "more", 1.5 * HOUR + seconds, root))
    await town.harness.work()
    await town.was_away()

    await town.catches_up()

    read = [call.args["ts"] for call in town.slack.calls_of(READ)]
    assert read[-3:] == [roots[1], roots[2], roots[0]]


async def test_messages_before_the_outage_are_ignored(town: Town) -> None:
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

    assert town.words == ["help us"]


async def test_a_mention_in_a_reply_that_is_also_in_the_channel_is_found(town: Town) -> None:
    root = await town.says(BOB, GENERAL, "an old question", 2 * HOUR)
    town.slack.nobody_listens = True
    ago = town.slack.clock() - HOUR / 2
    await town.slack.people.say(ALICE, GENERAL, f"{MENTION}what now?", thread_ts=root, broadcast=True, at=ago)
    town.slack.nobody_listens = False
    await town.was_away()

    await town.catches_up()

    assert town.words == ["what now?"]


async def test_a_channel_is_read_to_its_last_page(town: Town) -> None:
    for number in range(40):
        await town.says(ALICE, RANDOM, f"{MENTION}{number:02d}", HOUR / 2 - number)
    await town.was_away()
    town.slack.page_limit = 15

    await town.catches_up()

    assert sorted(town.words) == [f"{number:02d}" for number in range(40)]


async def test_a_found_message_that_slack_delivers_late_is_one_turn(town: Town) -> None:
    root = await town.bound()
    reply = await town.says(ALICE, GENERAL, "once", HOUR / 2, root)
    await town.was_away()

    await town.catches_up()
    await town.hears(GENERAL, reply)
    await town.harness.work()

    assert town.asked == ["once"]


async def test_a_delivered_message_is_not_queued_again(town: Town) -> None:
    root = await town.bound()
    await town.hears(GENERAL, await town.says(ALICE, GENERAL, "once", HOUR / 2, root))
    await town.was_away()

    await town.catches_up()

    assert town.asked == ["once"]
    assert town.counted("duplicate") == 1


async def test_a_reply_written_while_it_reads_is_left_to_live_delivery(town: Town) -> None:
    root = await town.bound()
    await town.was_away()
    town.passes(5)
    live = await town.says(ALICE, GENERAL, "just now", 1, root)

    await town.catches_up()
    before = list(town.words)
    await town.hears(GENERAL, live)
    await town.harness.work()

    assert (before, town.words) == ([], ["just now"])
    assert LATE not in str(town.harness.seen.messages[-1].blocks)


async def test_a_message_edited_after_reading_is_sent_with_its_new_text(town: Town) -> None:
    root = await town.bound()
    reply = await town.says(ALICE, GENERAL, "old", HOUR / 2, root)
    await town.was_away()
    catching_up = await town.while_it_reads(hang := Hang(is_done=True))

    await town.slack.people.edit(GENERAL, reply, "new")
    hang.until.set()
    await catching_up

    assert town.asked == ["new"]
    assert town.counted("outdated") == 1


async def test_a_message_deleted_after_it_was_read_is_not_sent(town: Town) -> None:
    root = await town.bound()
    reply = await town.says(ALICE, GENERAL, "never mind", HOUR / 2, root)
    await town.was_away()
    catching_up = await town.while_it_reads(hang := Hang(is_done=True))

    await town.slack.people.delete(GENERAL, reply)
    hang.until.set()
    await catching_up

    assert town.asked == []


async def test_a_live_reply_waits_for_older_ones_of_its_thread(town: Town) -> None:
    root = await town.bound()
    await town.says(ALICE, GENERAL, "older", HOUR / 2, root)
    await town.was_away()
    await town.reader().mark_threads()

    await town.hears(GENERAL, await town.says(ALICE, GENERAL, "live", 20, root))
    await town.harness.work()

    assert town.asked == ["older", "live"]


async def test_a_live_reply_is_answered_if_its_thread_cannot_be_read(town: Town) -> None:
    root = await town.bound()
    await town.was_away()
    await town.reader().mark_threads()
    town.slack.scopes.discard("channels:history")

    await town.hears(GENERAL, await town.says(ALICE, GENERAL, f"{MENTION}live", 20, root))
    await town.harness.work()

    assert town.asked == ["live"]


async def test_the_first_answer_in_a_thread_says_that_it_is_late(town: Town) -> None:
    root = await town.bound()
    for number in range(2):
        await town.says(ALICE, GENERAL, f"{number}", HOUR / 2 - number, root)
    await town.was_away()

    await town.catches_up()

    assert [LATE in str(one.blocks) for one in town.harness.seen.messages] == [False, True, False]
    days = await town.harness.store.days_left(f"late:{ThreadKey(TEAM, GENERAL, root)}")
    assert 0 < days <= 1, "after another outage the notice is posted again"


async def test_messages_too_old_are_offered_once_and_sent_together(town: Town) -> None:
    root = await town.bound(60 * HOUR)
    for number in range(3):
        await town.says(ALICE, GENERAL, f"{number}", 30 * HOUR - number, root)
    await town.was_away(40 * HOUR)
    await town.catches_up()
    assert town.asked == []
    (_answer, notice) = town.harness.seen.messages
    (button,) = [one for block in notice.blocks for one in block.get("elements", []) if "action_id" in one]
    assert "24 hours" in notice.words

    await town.harness.presses(button["action_id"], user=BOB)
    await town.harness.work()

    assert town.words == ["0", "1", "2"]


async def test_a_late_command_is_not_run_and_its_author_gets_a_notice(town: Town) -> None:
    root = await town.bound()
    for number, line in enumerate(("!mute", "!stop", "!workflows run 3 x")):
        await town.says(ALICE, GENERAL, line, HOUR / 2 - number, root)
    await town.says(ALICE, GENERAL, "go on", HOUR / 4, root)
    await town.was_away()

    await town.catches_up()

    assert town.asked == ["go on"]
    assert town.harness.service.started == []
    assert [one.text for one in town.harness.seen.whispers] == [
        "I was offline when you typed this command, so I didn't run it. Type it again if you still need it."
    ] * 3


@pytest.mark.parametrize(("rule", "asked"), [(AppRule(agent=7), ["Disk full"]), (AppRule(workflow=3, owner=ALICE), [])])
async def test_an_apps_post_found_late_goes_to_its_agent_and_runs_nothing(
    town: Town, rule: AppRule, asked: list[str]
) -> None:
    await town.harness.store.set_channel(apps={APP: rule})
    town.slack.nobody_listens = True
    await town.slack.people.app_posts(GENERAL, "Disk full", at=town.slack.clock() - HOUR / 2)
    town.slack.nobody_listens = False
    await town.was_away()

    await town.catches_up()

    assert town.asked == asked
    assert town.harness.service.started == []


async def test_replies_in_threads_that_were_quiet_for_weeks_are_found(town: Town) -> None:
    for days in (20, 21):
        root = await town.bound(days * 24 * HOUR)
        await town.says(BOB, GENERAL, f"after {days} days", HOUR / 2, root)
    await town.was_away()

    await town.catches_up()

    assert sorted(town.words) == ["after 20 days", "after 21 days"]


async def test_messages_older_than_seven_days_are_not_looked_for(town: Town) -> None:
    town.harness.configure(BRIDGE_MAX_AGE="30d")
    for days in (7.1, 6.9):
        await town.says(ALICE, GENERAL, f"{MENTION}{days} days ago", days * 24 * HOUR)
    await town.was_away(10 * 24 * HOUR)

    await town.catches_up()

    assert town.words == ["6.9 days ago"]


async def test_the_amount_left_to_read_is_a_metric(town: Town) -> None:
    for _ in range(60):
        await town.bound()
    await town.was_away()
    catching_up = await town.while_it_reads(hang := Hang(is_done=True))
    left = (await town.latest()).left

    before = town.harness.metrics.exposition().decode()
    hang.until.set()
    await catching_up

    assert left > 60
    assert f"bridge_catch_up_left {left:.1f}" in before
    assert "bridge_catch_up_left 0.0" in town.harness.metrics.exposition().decode()


async def test_progress_is_in_the_log_every_minute(town: Town, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(4):
        root = await town.bound()
        await town.says(ALICE, GENERAL, "more", HOUR / 2, root)
    await town.was_away()
    town.slack.limits_history = True
    caplog.set_level("INFO", CatchUp.__module__)

    await town.catches_up()

    told = [one for one in caplog.records if one.name == CatchUp.__module__]
    assert [one.message for one in told][:: len(told) - 1] == ["catching up after an outage", "caught up"]
    left = [vars(one)["left"] for one in told if one.message == "still catching up"]
    assert len(left) >= 3
    assert left == sorted(left, reverse=True)
    assert (vars(told[-1])["found"], vars(told[-1])["queued"]) == (4, 4)


async def test_an_outage_that_another_process_read_is_forgotten(town: Town) -> None:
    root = await town.bound()
    await town.says(ALICE, GENERAL, "while away", HOUR / 2, root)
    await town.was_away()
    await town.reader().mark_threads()
    await town.hears(GENERAL, await town.says(ALICE, GENERAL, "live", 20, root))
    await town.harness.work("b")
    await town.reader("a").catch_up()
    other = town.reader("b")
    other.has_outage = lambda: False
    assert other._done

    running = asyncio.create_task(other.run())
    await wait_until(lambda: not other._done, "the outage is forgotten")
    await killed(running)

    assert town.words == ["while away", "live"]


async def test_messages_before_the_first_mention_are_ignored(town: Town) -> None:
    root = await town.says(ALICE, GENERAL, "to each other", 2 * HOUR)
    await town.says(BOB, GENERAL, "between us", HOUR / 2, root)
    await town.hears(GENERAL, await town.says(BOB, GENERAL, f"{MENTION}help", 20, root))
    await town.harness.work()
    before = len(town.asked)
    await town.was_away()

    await town.catches_up()

    assert len(town.asked) == before == 1


async def test_more_replies_than_may_wait_are_all_sent(town: Town) -> None:
    root = await town.bound()
    for number in range(60):
        await town.says(ALICE, GENERAL, f"{number:02d}", HOUR / 2 - number, root)
    await town.was_away()

    async def answers_meanwhile() -> None:
        """Answer only when the reader pauses; by then the queue has to be empty."""
        town.passes(town.harness.slept[-1])
        await town.harness.work()

    town.harness.on_sleep = answers_meanwhile

    await town.catches_up()

    assert town.counted("full") > 0
    assert town.asked == [f"{number:02d}" for number in range(60)]
    assert town.harness.seen.whispers == []


async def test_another_process_continues_after_a_kill(town: Town) -> None:
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
    await town.harness.work()

    assert [words for words in town.asked if words.isdigit()] == ["0", "1", "2"]
    assert "elsewhere" in town.asked


async def test_one_process_reads_at_a_time(town: Town) -> None:
    await town.bound()
    await town.was_away()
    assert await town.outages.claim("b")

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
    assert sum(town.harness.slept) > 2 * 60  # the thread has three pages


async def test_a_live_reply_waits_for_a_long_thread_where_history_is_limited(town: Town) -> None:
    root = await town.bound()
    for number in range(40):
        await town.says(ALICE, GENERAL, f"{number:02d}", HOUR / 2 - number, root)
    await town.was_away()
    await town.reader().mark_threads()
    town.slack.limits_history = True

    await town.hears(GENERAL, await town.says(ALICE, GENERAL, "live", 20, root))
    await town.harness.work()

    assert town.asked == [*(f"{number:02d}" for number in range(40)), "live"]
    assert len(town.slack.calls_of(READ)) <= 2 * 3  # each page is fetched once and refused once


async def test_a_thread_whose_messages_are_edited_all_the_time_is_read_to_its_end(town: Town) -> None:
    root = await town.bound()
    written = [await town.says(ALICE, GENERAL, f"{number}", HOUR / 2 - number, root) for number in range(8)]
    await town.was_away()
    reader = town.reader()
    take = reader.take

    async def edited_first(said: Any, channel: str) -> str:
        """Edit each message just as it is accepted."""
        if said["ts"] in written and "edited" not in said:
            await town.slack.people.edit(GENERAL, said["ts"], f"{said['text']}, edited")
        return await take(said, channel)

    reader.take = edited_first
    await reader.catch_up()
    await town.harness.work()

    assert town.asked == [f"{number}, edited" for number in range(8)]


async def test_catching_up_leaves_room_in_the_rate_limits(town: Town) -> None:
    for number in range(100):
        root = await town.says(ALICE, RANDOM, f"{MENTION}{number}", 2 * HOUR)
        await town.hears(RANDOM, root)
    await town.harness.work()
    await town.was_away()

    await town.reader().catch_up()

    assert sum(town.harness.slept) >= 2 * 60  # 100 threads, 45 calls a minute


async def test_reading_pauses_while_too_many_threads_have_work(town: Town) -> None:
    root = await town.bound()
    await town.says(ALICE, GENERAL, "while away", HOUR / 2, root)
    await town.was_away()
    reader, depths = town.reader(), [300, 201, 0]
    calls: list[int] = []

    async def depth() -> int:
        calls.append(len(town.slack.calls_of(READ)))
        return depths.pop(0) if depths else 0

    reader.depth = depth

    await town.catches_up()

    assert (depths, calls[:3]) == ([], [0, 0, 0])
    assert town.words == ["while away"]


async def test_people_without_access_are_not_found(town: Town) -> None:
    town.harness.configure(BRIDGE_ALLOWED_USERS=ALICE)
    await town.says(ALICE, RANDOM, f"{MENTION}mine", HOUR / 2)
    await town.says(BOB, RANDOM, f"{MENTION}not mine", HOUR / 2)
    await town.was_away()

    await town.catches_up()

    assert town.words == ["mine"]


async def test_a_thread_that_slack_cannot_show_now_is_read_later(town: Town) -> None:
    root = await town.bound()
    await town.says(ALICE, GENERAL, "while away", HOUR / 2, root)
    await town.was_away()
    town.slack.faults.on(READ, NOT_NOW, times=2)

    await town.catches_up()

    assert town.words == ["while away"]


async def test_a_refused_token_leaves_everything_to_be_read(town: Town) -> None:
    await town.bound()
    await town.was_away()
    town.slack.faults.on(READ, Error("token_revoked"), times=None)

    with pytest.raises(SlackTokenRefused):
        await town.reader().catch_up()

    assert (await town.latest()).left > 0


@pytest.mark.parametrize(("others_reply", "is_read"), [(False, 0), (True, 1)])
async def test_a_thread_that_only_the_bot_replied_in_is_not_read(
    town: Town, *, others_reply: bool, is_read: int
) -> None:
    root = await town.says(ALICE, GENERAL, f"{MENTION}hello", HOUR / 2)
    await town.hears(GENERAL, root)
    town.slack.workspace.messages.post(BRIDGE, GENERAL, "an answer", thread_ts=root, at=town.slack.clock() - HOUR / 3)
    if others_reply:
        await town.says(BOB, GENERAL, "a reply", HOUR / 4, root)
    scripts = town.harness.store.scripts
    await scripts.redis.delete(scripts.keys.active())  # became a conversation after the threads were listed
    await town.was_away()

    await town.catches_up()

    reads = town.slack.calls_of(READ)
    assert len([call for call in reads if call.args.get("ts") == root]) == is_read
    assert town.words == ["hello", "a reply"][: 1 + is_read]


async def test_without_channel_lists_only_known_channels_are_read(town: Town, caplog: pytest.LogCaptureFixture) -> None:
    root = await town.bound()
    await town.says(BOB, GENERAL, f"{MENTION}at the top", HOUR / 2)
    await town.says(BOB, PRIVATE, f"{MENTION}unknown", HOUR / 2)
    await town.says(BOB, GENERAL, "a reply", HOUR / 2, root)
    town.slack.scopes.difference_update({"channels:read", "groups:read", "im:read", "mpim:read"})
    town.harness.identity = (await town.harness.wires.web.hello()).identity
    town.harness.configure()
    await town.was_away()

    await town.catches_up()

    assert sorted(town.words) == ["a reply", "at the top"]
    assert "can't look for missed messages in some channels" in caplog.text


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


@pytest.mark.parametrize("known_for", [timedelta(0), timedelta(days=30)], ids=["wiped", "restored from a backup"])
async def test_a_message_with_an_answer_in_slack_is_skipped(town: Town, known_for: timedelta) -> None:
    root = await town.says(ALICE, GENERAL, f"{MENTION}answered", HOUR)
    await town.says(ALICE, GENERAL, f"{MENTION}waiting", HOUR / 2)
    await town.says(ALICE, GENERAL, "second", HOUR / 2, root)
    payload = {"turn": "t", "part": "0", "parts": 1, "agent": 7, "session": 42, "message": root}
    town.slack.workspace.messages.post(
        BRIDGE, GENERAL, "re: answered", thread_ts=root, at=town.slack.clock() - HOUR / 4,
        metadata={"event_type": "bridge_turn", "event_payload": payload},
    )  # fmt: skip
    await town.was_away()
    town.harness.store.namespace.since = town.now() - known_for

    await town.catches_up()

    found = ["second", "waiting"] if known_for == timedelta(0) else ["waiting"]  # its thread is neither known nor new
    assert sorted(town.words) == found


async def test_after_a_wipe_a_stopped_message_is_not_sent(town: Town) -> None:
    root = await town.bound()
    for number, words in enumerate(("never mind", "!stop", "but this")):
        await town.says(ALICE, GENERAL, words, HOUR / 2 - number, root)
    await town.was_away()
    await town.harness.store.redis.delete(*[key async for key in town.harness.store.redis.scan_iter("*:thread:*")])
    town.harness.store.namespace.since = town.now()

    await town.catches_up()

    assert town.words == ["but this"]


async def test_after_a_wipe_an_answer_that_was_on_its_way_is_waited_for(town: Town) -> None:
    root = await town.says(ALICE, GENERAL, f"{MENTION}in hand", HOUR / 2)
    await town.harness.store.namespace.hold()
    await town.harness.store.redis.flushdb()
    await town.harness.store.namespace.hold()
    town.harness.store.namespace.since = town.now()

    async def passes() -> None:
        """Let the worker that holds the turn post its answer within the lease."""
        if len(town.harness.slept) == 1:
            payload = {"turn": "t", "part": "0", "parts": 1, "agent": 7, "session": 42, "message": root}
            tag = {"event_type": "bridge_turn", "event_payload": payload}
            town.slack.workspace.messages.post(BRIDGE, GENERAL, "re: in hand", thread_ts=root, metadata=tag)
        town.passes(town.harness.slept[-1])

    town.harness.on_sleep = passes

    done = await town.catches_up()

    assert done.was_wiped
    assert done.done_at is not None
    assert town.asked == []
    assert sum(town.harness.slept) >= LEASE.total_seconds()


async def test_a_new_outage_starts_over_and_spans_the_earlier_one(town: Town) -> None:
    await town.bound()
    first = await town.was_away(2 * HOUR)
    outages = town.outages
    await outages.plan(first, [(1.0, Unit("c", TEAM, RANDOM))], town.now())

    town.passes(60)
    second = await town.was_away(30)

    assert (second.began, second.is_planned, second.left) == (first.began, False, 0)
    assert not await outages.was_read(first, Unit("c", TEAM, RANDOM), town.now())


async def test_the_index_knows_threads_by_their_newest_message(town: Town) -> None:
    older = await town.bound(3 * HOUR)
    newer = await town.bound(2 * HOUR)
    await town.hears(GENERAL, await town.says(ALICE, GENERAL, "more", HOUR, older))

    found = await town.outages.active_threads(town.now() - timedelta(hours=24), 0)

    assert [thread for _score, thread in found] == [ThreadKey(TEAM, GENERAL, older), ThreadKey(TEAM, GENERAL, newer)]
