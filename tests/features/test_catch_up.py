"""After an outage, missed messages are found in Slack's history and accepted once, in order."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bridge.errors import SlackTokenRefused
from bridge.features.channels.settings import AppRule
from bridge.features.conversations.answers import LATE
from bridge.features.conversations.menu import CHOOSE
from bridge.ids import MessageKey, ThreadKey
from bridge.playground.emulator.faults import Error, Hang
from bridge.playground.emulator.sample import (
    ALICE,
    BOB,
    BRIDGE,
    DM_ALICE,
    GENERAL,
    OTHER_BOT,
    PRIVATE,
    RANDOM,
    SHARED,
    TEAM,
)
from bridge.queue.lease import LEASE
from bridge.queue.outages import Outages, PastOutage, Unit
from bridge.queue.passed_over import passed_over
from bridge.recovery.catch_up import CatchUp
from support.harness import NOT_NOW, READ, SALES, SUPPORT, Harness, kill_task
from support.waiting import wait_until

HOUR = 3600.0
MENTION = f"<@{BRIDGE}> "
APP = "A0OTHERBOT"
_COUNTER = "bridge_catch_up_messages_total"


@dataclass
class CatchUpCase:
    """A *harness* whose events reach the bridge only when a test delivers them; sleeping advances the clock."""

    harness: Harness

    def __post_init__(self) -> None:
        self.slack = self.harness.slack
        self.now = self.harness.store.clock
        self.harness.store.namespace.since = self.now() - timedelta(days=30)
        self.harness.on_sleep = self._advance

    async def _advance(self) -> None:
        self.advance(self.harness.slept[-1])

    def advance(self, seconds: float) -> None:
        self.now.time += timedelta(seconds=seconds)

    @property
    def outages(self) -> Outages:
        return Outages(self.harness.store.scripts)

    async def post(
        self, user: str, channel: str, text: str, ago: float, root: str | None = None, *, via: str = ""
    ) -> str:
        """Post a message from *user*, *ago* seconds in the past, without delivering it."""
        self.slack.drops_events = True
        ts = await self.slack.people.say(user, channel, text, thread_ts=root, via=via, at=self.slack.clock() - ago)
        self.slack.drops_events = False
        return ts

    async def deliver(self, channel: str, ts: str) -> None:
        """Deliver a message to the bridge."""
        message = self.slack.workspace.messages.find(channel, ts)
        assert message is not None
        await asyncio.gather(*(tried.wait() for tried in self.slack.events.posted(message)))

    async def is_passed_over(self, channel: str, ts: str) -> None:
        """Wait until it's recorded that a delivered message isn't for an agent; this happens in the background."""

        async def is_recorded() -> bool:
            return bool(await passed_over(self.harness.store.scripts, MessageKey(TEAM, channel, ts)))

        await wait_until(is_recorded, "the delivery is recorded")

    async def record_outage(self, seconds: float = HOUR) -> PastOutage:
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

    async def catch_up(self) -> PastOutage:
        """Run the catch-up and let the agents answer."""
        await self.reader().catch_up()
        await self.harness.work()
        return await self.latest()

    async def while_it_reads(self, hang: Hang) -> asyncio.Task[PastOutage]:
        """Start catching up and stop where a thread's history was requested but hasn't arrived."""
        self.slack.faults.on(READ, hang)
        catching_up = asyncio.create_task(self.catch_up())
        await wait_until(lambda: any(call.fault is hang for call in self.slack.calls), "a thread is being read")
        return catching_up

    async def bound(self, ago: float = 2 * HOUR) -> str:
        """Create a thread in #general whose root message an agent has answered."""
        root = await self.post(ALICE, GENERAL, f"{MENTION}hello", ago)
        await self.deliver(GENERAL, root)
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
def case(harness: Harness) -> CatchUpCase:
    return CatchUpCase(harness)


async def test_missed_messages_are_found_in_every_kind_of_conversation(case: CatchUpCase) -> None:
    root = await case.bound()
    await case.post(ALICE, GENERAL, "a reply", HOUR / 2, root)
    await case.post(ALICE, DM_ALICE, "in private", HOUR / 2)
    await case.post(BOB, PRIVATE, f"{MENTION}at the top", HOUR / 2)
    await case.post(BOB, RANDOM, "to each other", HOUR / 2)
    await case.post(BOB, case.slack.people.start_group(ALICE, BOB, BRIDGE), f"{MENTION}in a group", HOUR / 2)
    await case.record_outage()
    case.slack.rates.page_limit = 2  # applies to the bot's channel list too

    done = await case.catch_up()

    assert sorted(case.words) == ["a reply", "at the top", "in a group", "in private"]
    assert (done.queued, done.left, done.done_at is not None) == (4, 0, True)


async def test_the_thread_with_the_latest_message_is_read_first(case: CatchUpCase) -> None:
    roots = [await case.bound() for _ in range(3)]
    for root, seconds in zip(roots, (2, 0, 1), strict=True):
        await case.deliver(GENERAL, await case.post(ALICE, GENERAL, "more", 1.5 * HOUR + seconds, root))
    await case.harness.work()
    await case.record_outage()

    await case.catch_up()

    read = [call.args["ts"] for call in case.slack.calls_of(READ)]
    assert read[-3:] == [roots[1], roots[2], roots[0]]


async def test_messages_before_the_outage_are_ignored(case: CatchUpCase) -> None:
    root = await case.bound(4 * HOUR)
    await case.post(BOB, GENERAL, "long ago", 2 * HOUR, root)
    await case.record_outage()

    await case.catch_up()

    assert case.asked == []


async def test_a_root_is_found_with_its_replies(case: CatchUpCase) -> None:
    root = await case.post(ALICE, GENERAL, f"{MENTION}first", HOUR / 2)
    await case.post(ALICE, GENERAL, "second", HOUR / 3, root)
    await case.record_outage()

    await case.catch_up()

    assert case.asked == ["first", "second"]


async def test_a_mention_in_a_thread_of_the_outage_is_found(case: CatchUpCase) -> None:
    root = await case.post(ALICE, GENERAL, "to each other", HOUR / 2)
    await case.post(BOB, GENERAL, "still to each other", HOUR / 3, root)
    await case.post(BOB, GENERAL, f"{MENTION}help us", HOUR / 4, root)
    await case.record_outage()

    await case.catch_up()

    assert case.words == ["help us"]


async def test_a_mention_in_a_reply_that_is_also_in_the_channel_is_found(case: CatchUpCase) -> None:
    root = await case.post(BOB, GENERAL, "an old question", 2 * HOUR)
    case.slack.drops_events = True
    ago = case.slack.clock() - HOUR / 2
    await case.slack.people.say(ALICE, GENERAL, f"{MENTION}what now?", thread_ts=root, broadcast=True, at=ago)
    case.slack.drops_events = False
    await case.record_outage()

    await case.catch_up()

    assert case.words == ["what now?"]


async def test_a_channel_is_read_to_its_last_page(case: CatchUpCase) -> None:
    for number in range(40):
        await case.post(ALICE, RANDOM, f"{MENTION}{number:02d}", HOUR / 2 - number)
    await case.record_outage()
    case.slack.rates.page_limit = 15

    await case.catch_up()

    assert sorted(case.words) == [f"{number:02d}" for number in range(40)]


async def test_a_delivered_message_is_not_queued_again(case: CatchUpCase) -> None:
    root = await case.bound()
    await case.deliver(GENERAL, await case.post(ALICE, GENERAL, "once", HOUR / 2, root))
    await case.record_outage()

    await case.catch_up()

    assert case.asked == ["once"]
    assert case.counted("duplicate") == 1


async def test_a_reply_written_while_it_reads_is_left_to_live_delivery(case: CatchUpCase) -> None:
    root = await case.bound()
    await case.record_outage()
    case.advance(5)
    live = await case.post(ALICE, GENERAL, "just now", 1, root)

    await case.catch_up()
    before = list(case.words)
    await case.deliver(GENERAL, live)
    await case.harness.work()

    assert (before, case.words) == ([], ["just now"])
    assert LATE not in str(case.harness.seen.messages[-1].blocks)


async def test_a_waiting_message_edited_in_the_outage_is_sent_with_its_new_text(case: CatchUpCase) -> None:
    root = await case.bound()
    reply = await case.post(ALICE, GENERAL, "old", HOUR / 2, root)
    await case.deliver(GENERAL, reply)
    case.slack.drops_events = True
    await case.slack.people.edit(GENERAL, reply, "new")
    case.slack.drops_events = False
    await case.record_outage()

    await case.catch_up()

    assert case.asked == ["new"]


async def test_a_message_edited_after_reading_is_sent_with_its_new_text(case: CatchUpCase) -> None:
    root = await case.bound()
    reply = await case.post(ALICE, GENERAL, "old", HOUR / 2, root)
    await case.record_outage()
    catching_up = await case.while_it_reads(hang := Hang(is_done=True))

    await case.slack.people.edit(GENERAL, reply, "new")
    hang.until.set()
    await catching_up

    assert case.asked == ["new"]
    assert case.counted("outdated") == 1


async def test_a_message_deleted_after_it_was_read_is_not_sent(case: CatchUpCase) -> None:
    root = await case.bound()
    reply = await case.post(ALICE, GENERAL, "never mind", HOUR / 2, root)
    await case.record_outage()
    catching_up = await case.while_it_reads(hang := Hang(is_done=True))

    await case.slack.people.delete(GENERAL, reply)
    hang.until.set()
    await catching_up

    assert case.asked == []


async def test_the_first_answer_in_a_thread_says_that_it_is_late(case: CatchUpCase) -> None:
    root = await case.bound()
    for number in range(2):
        await case.post(ALICE, GENERAL, f"{number}", HOUR / 2 - number, root)
    await case.record_outage()

    await case.catch_up()

    assert [LATE in str(one.blocks) for one in case.harness.seen.messages] == [False, True, False]
    days = await case.harness.store.days_left(f"seen:e:late:{ThreadKey(TEAM, GENERAL, root)}")
    assert 0 < days <= 1, "after another outage the notice is posted again"


async def test_messages_that_are_too_old_are_offered_once_and_sent_together(case: CatchUpCase) -> None:
    root = await case.bound(60 * HOUR)
    for number in range(3):
        await case.post(ALICE, GENERAL, f"{number}", 30 * HOUR - number, root)
    await case.record_outage(40 * HOUR)
    await case.catch_up()
    assert case.asked == []
    (_answer, notice) = case.harness.seen.messages
    (button,) = [one for block in notice.blocks for one in block.get("elements", []) if "action_id" in one]
    assert "24 h old" in notice.words

    await case.harness.press(button["action_id"], user=BOB)

    assert case.words == ["0", "1", "2"]


async def test_a_late_command_is_not_run_but_brings_a_notice(case: CatchUpCase) -> None:
    root = await case.bound()
    for number, line in enumerate(("!mute", "!stop", "!workflows run 3 x")):
        await case.post(ALICE, GENERAL, line, HOUR / 2 - number, root)
    await case.post(ALICE, GENERAL, "go on", HOUR / 4, root)
    await case.record_outage()

    await case.catch_up()

    assert case.asked == ["go on"]
    assert case.harness.service.started == []
    assert [one.text for one in case.harness.seen.ephemerals] == [
        "I was offline when you typed this command, so I didn't run it. Type it again if you still need it."
    ] * 3


async def test_a_message_of_a_muted_thread_stays_unsent_after_unmuting(case: CatchUpCase) -> None:
    root = await case.bound()
    for text in ("!mute", "between us", "!unmute"):
        await case.deliver(GENERAL, ts := await case.post(ALICE, GENERAL, text, HOUR / 2, root))
        await case.harness.work()
        if text == "between us":
            await case.is_passed_over(GENERAL, ts)
    await case.post(ALICE, GENERAL, "to the agent", HOUR / 4, root)
    await case.record_outage()

    await case.catch_up()

    assert case.asked == ["to the agent"]


@pytest.mark.parametrize(
    ("before", "after"), [({}, {"answers": "all"}), ({"replies": "mentions"}, {"replies": "all"})], ids=["top", "reply"]
)
async def test_changed_settings_send_no_delivered_messages(
    case: CatchUpCase, before: dict[str, Any], after: dict[str, Any]
) -> None:
    root = await case.bound()
    await case.harness.store.set_channel(**before)
    under = root if "replies" in before else None
    delivered = await case.post(ALICE, GENERAL, "delivered", HOUR / 2, under)
    await case.deliver(GENERAL, delivered)
    await case.is_passed_over(GENERAL, delivered)
    await case.harness.store.set_channel(**after)
    await case.post(ALICE, GENERAL, "missed", HOUR / 4, under)
    await case.record_outage()

    await case.catch_up()

    assert case.words == ["missed"]


async def test_changed_rules_send_no_delivered_posts_of_apps(case: CatchUpCase) -> None:
    await case.harness.store.set_channel(answers="mentions")
    case.slack.drops_events = True
    delivered = await case.slack.people.app_posts(GENERAL, "delivered", at=case.slack.clock() - HOUR / 2)
    await case.slack.people.app_posts(GENERAL, "missed", at=case.slack.clock() - HOUR / 4)
    case.slack.drops_events = False
    await case.deliver(GENERAL, delivered)
    await case.is_passed_over(GENERAL, delivered)
    await case.harness.store.set_channel(apps={APP: AppRule(agent=7)})
    await case.record_outage()

    await case.catch_up()

    assert case.words == ["missed"]


async def test_a_mention_added_in_the_outage_is_found(case: CatchUpCase) -> None:
    delivered = await case.post(ALICE, GENERAL, "to each other", HOUR / 2)
    await case.deliver(GENERAL, delivered)
    await case.is_passed_over(GENERAL, delivered)
    case.advance(60)
    case.slack.drops_events = True
    await case.slack.people.edit(GENERAL, delivered, f"{MENTION}what now?")
    case.slack.drops_events = False
    await case.record_outage()

    await case.catch_up()

    assert case.words == ["what now?"]


@pytest.mark.parametrize(("rule", "asked"), [(AppRule(agent=7), ["Disk full"]), (AppRule(workflow=3, owner=ALICE), [])])
@pytest.mark.parametrize("webhook", ["", "Alertmanager"])
async def test_an_apps_post_found_late_goes_to_its_agent_and_runs_nothing(
    case: CatchUpCase, rule: AppRule, asked: list[str], webhook: str
) -> None:
    await case.harness.store.set_channel(apps={APP: rule})
    case.slack.drops_events = True
    await case.slack.people.app_posts(GENERAL, "Disk full", webhook=webhook, at=case.slack.clock() - HOUR / 2)
    case.slack.drops_events = False
    await case.record_outage()

    await case.catch_up()

    assert case.asked == asked
    assert case.harness.service.started == []


async def test_a_webhooks_post_found_in_a_shared_channel_may_be_from_elsewhere(case: CatchUpCase) -> None:
    await case.harness.store.set_channel(SHARED, apps={APP: AppRule(agent=7)})
    case.slack.drops_events = True
    await case.slack.people.app_posts(SHARED, "Disk full", webhook="Alertmanager", at=case.slack.clock() - HOUR / 2)
    case.slack.drops_events = False
    await case.record_outage()

    await case.catch_up()

    assert case.asked == []


async def test_replies_in_threads_that_were_quiet_for_weeks_are_found(case: CatchUpCase) -> None:
    for days in (20, 21):
        root = await case.bound(days * 24 * HOUR)
        await case.post(ALICE, GENERAL, f"after {days} days", HOUR / 2, root)
    await case.record_outage()

    await case.catch_up()

    assert sorted(case.words) == ["after 20 days", "after 21 days"]


async def test_messages_older_than_seven_days_are_not_looked_for(case: CatchUpCase) -> None:
    case.harness.configure(BRIDGE_MAX_AGE="30d")
    for days in (7.1, 6.9):
        await case.post(ALICE, GENERAL, f"{MENTION}{days} days ago", days * 24 * HOUR)
    await case.record_outage(10 * 24 * HOUR)

    await case.catch_up()

    assert case.words == ["6.9 days ago"]


async def test_the_amount_left_to_read_is_a_metric(case: CatchUpCase) -> None:
    for _ in range(60):
        await case.bound()
    await case.record_outage()
    catching_up = await case.while_it_reads(hang := Hang(is_done=True))
    left = (await case.latest()).left

    before = case.harness.metrics.exposition().decode()
    hang.until.set()
    await catching_up

    assert left > 60
    assert f"bridge_catch_up_left {left:.1f}" in before
    assert "bridge_catch_up_left 0.0" in case.harness.metrics.exposition().decode()


async def test_progress_is_in_the_log_every_minute(case: CatchUpCase, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(4):
        root = await case.bound()
        await case.post(ALICE, GENERAL, "more", HOUR / 2, root)
    await case.record_outage()
    case.slack.rates.limits_history = True
    caplog.set_level("INFO", CatchUp.__module__)

    await case.catch_up()

    records = [one for one in caplog.records if one.name == CatchUp.__module__]
    assert [one.message for one in records][:: len(records) - 1] == ["catching up after an outage", "caught up"]
    left = [vars(one)["left"] for one in records if one.message == "still catching up"]
    assert len(left) >= 3
    assert left == sorted(left, reverse=True)
    assert (vars(records[-1])["found"], vars(records[-1])["queued"]) == (4, 4)


async def test_an_outage_that_another_process_read_is_forgotten(case: CatchUpCase) -> None:
    root = await case.bound()
    await case.post(ALICE, GENERAL, "while away", HOUR / 2, root)
    await case.record_outage()
    await case.reader().mark_threads()
    await case.deliver(GENERAL, await case.post(ALICE, GENERAL, "live", 20, root))
    await case.harness.work("b")
    await case.reader("a").catch_up()
    other = case.reader("b")
    other.has_outage = lambda: False
    assert other._done

    running = asyncio.create_task(other.run())
    await wait_until(lambda: not other._done, "the outage is forgotten")
    await kill_task(running)

    assert case.words == ["while away", "live"]


async def test_messages_before_the_first_mention_are_ignored(case: CatchUpCase) -> None:
    root = await case.post(ALICE, GENERAL, "to each other", 2 * HOUR)
    await case.post(BOB, GENERAL, "between us", HOUR / 2, root)
    await case.deliver(GENERAL, await case.post(BOB, GENERAL, f"{MENTION}help us", 20, root))
    await case.harness.work()
    before = len(case.asked)
    await case.record_outage()

    await case.catch_up()

    assert len(case.asked) == before == 1


async def test_more_replies_than_may_wait_are_all_sent(case: CatchUpCase) -> None:
    root = await case.bound()
    for number in range(60):
        await case.post(ALICE, GENERAL, f"{number:02d}", HOUR / 2 - number, root)
    await case.record_outage()

    async def answers_meanwhile() -> None:
        """AnswerShape only when the reader pauses; by then the queue has to be empty."""
        case.advance(case.harness.slept[-1])
        await case.harness.work()

    case.harness.on_sleep = answers_meanwhile

    await case.catch_up()

    assert case.counted("full") > 0
    assert case.asked == [f"{number:02d}" for number in range(60)]
    assert case.harness.seen.ephemerals == []


async def test_one_process_reads_at_a_time(case: CatchUpCase) -> None:
    await case.bound()
    await case.record_outage()
    assert await case.outages.claim("b")

    await case.reader("a").catch_up()

    assert case.slack.calls[-1].method not in {"conversations.replies", "conversations.history"}


async def test_a_live_reply_waits_for_a_long_thread_where_history_is_limited(case: CatchUpCase) -> None:
    root = await case.bound()
    for number in range(40):
        await case.post(ALICE, GENERAL, f"{number:02d}", HOUR / 2 - number, root)
    await case.record_outage()
    await case.reader().mark_threads()
    case.slack.rates.limits_history = True

    await case.deliver(GENERAL, await case.post(ALICE, GENERAL, "live", 20, root))
    await case.harness.work()

    assert case.asked == [*(f"{number:02d}" for number in range(40)), "live"]
    assert len(case.slack.calls_of(READ)) <= 2 * 3  # each page is fetched once and refused once


async def test_a_thread_whose_messages_are_edited_all_the_time_is_read_to_its_end(case: CatchUpCase) -> None:
    root = await case.bound()
    written = [await case.post(ALICE, GENERAL, f"{number}", HOUR / 2 - number, root) for number in range(8)]
    await case.record_outage()
    reader = case.reader()
    receive = reader.receive

    async def edited_first(said: Any, channel: str) -> str:
        """Edit each message just as it is accepted."""
        if said["ts"] in written and "edited" not in said:
            await case.slack.people.edit(GENERAL, said["ts"], f"{said['text']}, edited")
        return await receive(said, channel)

    reader.receive = edited_first
    await reader.catch_up()
    await case.harness.work()

    assert case.asked == [f"{number}, edited" for number in range(8)]


async def test_catching_up_leaves_room_in_the_rate_limits(case: CatchUpCase) -> None:
    for number in range(100):
        root = await case.post(ALICE, RANDOM, f"{MENTION}{number}", 2 * HOUR)
        await case.deliver(RANDOM, root)
    await case.harness.work()
    await case.record_outage()

    await case.reader().catch_up()

    assert sum(case.harness.slept) >= 2 * 60  # 100 threads, 45 calls a minute


async def test_reading_pauses_while_too_many_threads_have_work(case: CatchUpCase) -> None:
    root = await case.bound()
    await case.post(ALICE, GENERAL, "while away", HOUR / 2, root)
    await case.record_outage()
    reader, depths = case.reader(), [300, 201, 0]
    calls: list[int] = []

    async def depth() -> int:
        calls.append(len(case.slack.calls_of(READ)))
        return depths.pop(0) if depths else 0

    reader.depth = depth

    await case.catch_up()

    assert (depths, calls[:3]) == ([], [0, 0, 0])
    assert case.words == ["while away"]


async def test_people_without_access_are_not_found(case: CatchUpCase) -> None:
    case.harness.configure(BRIDGE_ALLOWED_USERS=ALICE)
    await case.post(ALICE, RANDOM, f"{MENTION}mine", HOUR / 2)
    await case.post(BOB, RANDOM, f"{MENTION}not mine", HOUR / 2)
    await case.record_outage()

    await case.catch_up()

    assert case.words == ["mine"]


async def test_a_thread_that_slack_cannot_show_now_is_read_later(case: CatchUpCase) -> None:
    root = await case.bound()
    await case.post(ALICE, GENERAL, "while away", HOUR / 2, root)
    await case.record_outage()
    case.slack.faults.on(READ, NOT_NOW, times=2)

    await case.catch_up()

    assert case.words == ["while away"]


async def test_a_refused_token_leaves_everything_to_be_read(case: CatchUpCase) -> None:
    await case.bound()
    await case.record_outage()
    case.slack.faults.on(READ, Error("token_revoked"), times=None)

    with pytest.raises(SlackTokenRefused):
        await case.reader().catch_up()

    assert (await case.latest()).left > 0


@pytest.mark.parametrize(("others_reply", "is_read"), [(False, 0), (True, 1)])
async def test_a_thread_that_only_the_bot_replied_in_is_not_read(
    case: CatchUpCase, *, others_reply: bool, is_read: int
) -> None:
    root = await case.post(ALICE, GENERAL, f"{MENTION}hello", HOUR / 2)
    await case.deliver(GENERAL, root)
    case.slack.workspace.messages.post(BRIDGE, GENERAL, "an answer", thread_ts=root, at=case.slack.clock() - HOUR / 3)
    if others_reply:
        await case.post(ALICE, GENERAL, "a reply", HOUR / 4, root)
    scripts = case.harness.store.scripts
    await scripts.redis.delete(scripts.keys.active())  # became a conversation after the threads were listed
    await case.record_outage()

    await case.catch_up()

    reads = case.slack.calls_of(READ)
    assert len([call for call in reads if call.args.get("ts") == root]) == is_read
    assert case.words == ["hello", "a reply"][: 1 + is_read]


async def test_without_channel_lists_only_known_channels_are_read(
    case: CatchUpCase, caplog: pytest.LogCaptureFixture
) -> None:
    root = await case.bound()
    await case.post(BOB, GENERAL, f"{MENTION}at the top", HOUR / 2)
    await case.post(BOB, PRIVATE, f"{MENTION}unknown", HOUR / 2)
    await case.post(ALICE, GENERAL, "a reply", HOUR / 2, root)
    case.slack.scopes.difference_update({"channels:read", "groups:read", "im:read", "mpim:read"})
    case.harness.identity = (await case.harness.wires.web.hello()).identity
    case.harness.configure()
    await case.record_outage()

    await case.catch_up()

    assert sorted(case.words) == ["a reply", "at the top"]
    assert "can't look for missed messages in some channels" in caplog.text


async def test_an_unreadable_thread_is_skipped(case: CatchUpCase) -> None:
    root = await case.bound()
    await case.post(ALICE, GENERAL, "a reply", HOUR / 2, root)
    await case.post(ALICE, DM_ALICE, "in private", HOUR / 2)
    case.slack.scopes.discard("channels:history")
    await case.record_outage()

    done = await case.catch_up()

    assert case.asked == ["in private"]
    assert done.done_at is not None
    assert case.counted("unreadable") >= 1


@pytest.mark.parametrize("known_for", [timedelta(0), timedelta(days=30)], ids=["wiped", "restored from a backup"])
async def test_a_message_with_an_answer_in_slack_is_skipped(case: CatchUpCase, known_for: timedelta) -> None:
    root = await case.post(ALICE, GENERAL, f"{MENTION}answered", HOUR)
    await case.post(ALICE, GENERAL, f"{MENTION}waiting", HOUR / 2)
    await case.post(ALICE, GENERAL, "second", HOUR / 2, root)
    payload = {"turn": "t", "part": "0", "parts": 1, "agent": 7, "session": 42, "message": root}
    case.slack.workspace.messages.post(
        BRIDGE, GENERAL, "re: answered", thread_ts=root, at=case.slack.clock() - HOUR / 4,
        metadata={"event_type": "bridge_turn", "event_payload": payload},
    )  # fmt: skip
    await case.record_outage()
    case.harness.store.namespace.since = case.now() - known_for

    await case.catch_up()

    found = ["second", "waiting"] if known_for == timedelta(0) else ["waiting"]  # its thread is neither known nor new
    assert sorted(case.words) == found


@pytest.mark.parametrize("via", ["", OTHER_BOT], ids=["typed", "by an app"])
@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ("!stop", ["but this"]),
        (f"{MENTION}!STOP ", ["but this"]),
        ("please ! stop\u2026", ["but this"]),
        ("they say !stop", ["but this", "never mind", "they say !stop"]),
    ],
)
async def test_after_a_wipe_a_stopped_message_is_not_sent(
    case: CatchUpCase, typed: str, sent: list[str], via: str
) -> None:
    root = await case.bound()
    for number, words in enumerate(("never mind", typed, "but this")):
        await case.post(ALICE, GENERAL, words, HOUR / 2 - number, root, via=via if words == typed else "")
    await case.record_outage()
    await case.harness.store.redis.delete(*[key async for key in case.harness.store.redis.scan_iter("*:thread:*")])
    case.harness.store.namespace.since = case.now()

    await case.catch_up()

    assert sorted(case.words) == sent


@pytest.mark.parametrize("is_chosen_before", [True, False])
async def test_after_a_wipe_a_message_that_waited_for_a_choice_is_sent(
    case: CatchUpCase, *, is_chosen_before: bool
) -> None:
    case.harness.service.agents = [SUPPORT, SALES]
    root = await case.post(ALICE, GENERAL, f"{MENTION}question", HOUR / 2)
    await case.deliver(GENERAL, root)
    await case.harness.work()
    if is_chosen_before:
        await case.harness.press(CHOOSE, "8", works=False)
        await (await case.harness.start_next())  # the choice's turn; the message isn't sent yet
    await case.harness.store.redis.flushdb()
    await case.harness.store.namespace.hold()
    case.harness.store.namespace.since = case.now()
    await case.record_outage()
    if not is_chosen_before:
        await case.harness.press(CHOOSE, "8")

    await case.catch_up()
    if is_chosen_before:
        await case.harness.press(CHOOSE, "8")

    assert [(one["message"], one["agent"]) for one in case.harness.service.asked] == [("question", 8)]


async def test_after_a_wipe_an_answer_that_was_on_its_way_is_waited_for(case: CatchUpCase) -> None:
    root = await case.post(ALICE, GENERAL, f"{MENTION}in hand", HOUR / 2)
    await case.harness.store.namespace.hold()
    await case.harness.store.redis.flushdb()
    await case.harness.store.namespace.hold()
    case.harness.store.namespace.since = case.now()

    async def advance() -> None:
        """Let the worker that holds the turn post its answer within the lease."""
        if len(case.harness.slept) == 1:
            payload = {"turn": "t", "part": "0", "parts": 1, "agent": 7, "session": 42, "message": root}
            tag = {"event_type": "bridge_turn", "event_payload": payload}
            case.slack.workspace.messages.post(BRIDGE, GENERAL, "re: in hand", thread_ts=root, metadata=tag)
        case.advance(case.harness.slept[-1])

    case.harness.on_sleep = advance

    done = await case.catch_up()

    assert done.was_wiped
    assert done.done_at is not None
    assert case.asked == []
    assert sum(case.harness.slept) >= LEASE.total_seconds()


async def test_a_new_outage_starts_over_and_spans_the_earlier_one(case: CatchUpCase) -> None:
    await case.bound()
    first = await case.record_outage(2 * HOUR)
    outages = case.outages
    await outages.plan(first, [(1.0, Unit("c", TEAM, RANDOM))], case.now())

    case.advance(60)
    second = await case.record_outage(30)

    assert (second.began, second.is_planned, second.left) == (first.began, False, 0)
    assert not await outages.was_read(first, Unit("c", TEAM, RANDOM), case.now())
