"""Talk among people in a thread: the agent goes on with the person it's talking with, and others mention it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import pytest

from bridge.ends.notices import SEND_REPLY
from bridge.ids import MessageKey
from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, CAROL, DM_ALICE, GENERAL, OTHER_BOT, SLACKBOT
from support.harness import Harness
from support.store import TEAM

HEY = f"<@{BRIDGE}> "
NOT_SENT = "Your reply wasn't sent to the agent, because others are writing in this thread, too."
Step = tuple[str, str]


@dataclass
class Talk:
    """A thread in #general that Alice starts with a mention; *posted* has the ts of each message by its text."""

    harness: Harness
    root: str = ""
    posted: dict[str, str] = field(default_factory=dict)

    async def say(self, user: str, text: str, **how: Any) -> None:
        """Say something in the thread, or start it; let the agent answer."""
        how = {"thread_ts": self.root or None, **how}
        self.posted[text] = await self.harness.slack.people.say(user, GENERAL, text, **how)
        self.root = self.root or self.posted[text]
        await self.harness.work()

    async def happens(self, *steps: Step) -> None:
        for user, text in steps:
            await self.say(user, text)

    async def deliver(self, text: str) -> None:
        """Let Slack deliver a message again, or one that it hasn't delivered yet."""
        message = self.harness.slack.workspace.messages.find(GENERAL, self.posted[text])
        assert message is not None
        await asyncio.gather(*(tried.wait() for tried in self.harness.slack.events.posted(message)))
        await self.harness.work()

    async def edit(self, text: str, now: str) -> None:
        await self.harness.slack.people.edit(GENERAL, self.posted[text], now)
        await self.harness.work()

    @property
    def asked(self) -> list[str]:
        """The messages that the agent got, without context and names."""
        return [text.rpartition("\n")[2].rpartition(": ")[2] for text in self.harness.service.messages]

    @property
    def told(self) -> list[str]:
        """Who was told in private that their reply wasn't sent."""
        return [one.user for one in self.harness.seen.ephemerals if one.text.startswith(NOT_SENT)]


@pytest.fixture
def talk(harness: Harness) -> Talk:
    return Talk(harness)


@pytest.mark.parametrize(
    ("steps", "asked"),
    [
        ([(ALICE, "more")], ["more"]),
        ([(ALICE, "more"), (ALICE, "and more")], ["more", "and more"]),
        ([(BOB, "thanks, lunch at 12?")], []),
        ([(BOB, "lunch?"), (ALICE, "sure")], []),
        ([(BOB, "lunch?"), (ALICE, f"{HEY}again"), (ALICE, "more")], ["again", "more"]),
        ([(BOB, f"{HEY}me too"), (BOB, "and this")], ["me too", "and this"]),
        ([(BOB, f"{HEY}me too"), (ALICE, "what about me")], ["me too"]),
        ([(BOB, f"<@{CAROL}> lunch?"), (ALICE, "more")], []),
        ([(ALICE, f"<@{CAROL}> look"), (ALICE, "more")], ["more"]),
        ([(ALICE, "<!subteam^S0RUNNERS> look"), (ALICE, "more")], ["more"]),
        ([(ALICE, "<!subteam^S0RUNNERS|@runners> look")], []),
        ([(ALICE, f"<!subteam^S0RUNNERS> {HEY}look")], [f"@runners {HEY}look".replace(HEY, "")]),
        ([(OTHER_BOT, "deployed"), (ALICE, "more")], ["more"]),
        ([(SLACKBOT, "a reminder"), (ALICE, "more")], ["more"]),
    ],
)
async def test_only_the_agents_partner_needs_no_mention(talk: Talk, steps: list[Step], asked: list[str]) -> None:
    await talk.say(ALICE, f"{HEY}hello")

    for user, text in steps:
        match user:
            case "U0OTHERBOT":
                talk.harness.slack.workspace.channels[GENERAL].members.append(OTHER_BOT)
                await talk.harness.slack.people.app_posts(GENERAL, text, thread_ts=talk.root)
            case "USLACKBOT":
                await talk.harness.slack.people.slack_says(GENERAL, text, thread_ts=talk.root)
            case _:
                await talk.say(user, text)

    assert talk.asked[1:] == asked


async def test_a_reply_counts_before_the_first_answer(talk: Talk) -> None:
    root = await talk.harness.slack.people.say(ALICE, GENERAL, f"{HEY}hello")
    await talk.harness.slack.people.say(ALICE, GENERAL, "more", thread_ts=root)
    await talk.harness.work()

    assert talk.asked == ["hello", "more"]


@pytest.mark.parametrize(("setting", "asked"), [("all", ["lunch?", "sure"]), ("mentions", []), ("auto", [])])
@pytest.mark.parametrize("is_everywhere", [True, False])
async def test_the_setting_decides_here_or_everywhere(
    talk: Talk, setting: str, asked: list[str], *, is_everywhere: bool
) -> None:
    if is_everywhere:
        talk.harness.configure(BRIDGE_THREAD_REPLIES=setting)
    else:
        talk.harness.configure(BRIDGE_THREAD_REPLIES="all" if setting != "all" else "mentions")
        await talk.harness.store.set_channel(replies=setting)
    await talk.happens((ALICE, f"{HEY}hello"), (BOB, "lunch?"), (ALICE, "sure"))

    assert talk.asked[1:] == asked


async def test_direct_messages_never_need_a_mention(talk: Talk) -> None:
    root = await talk.harness.slack.people.say(ALICE, DM_ALICE, "hello")
    await talk.harness.slack.people.say(ALICE, DM_ALICE, "more", thread_ts=root)
    await talk.harness.work()

    assert talk.asked == ["hello", "more"]


async def test_what_people_said_meanwhile_goes_along(talk: Talk) -> None:
    await talk.happens((ALICE, f"{HEY}hello"), (BOB, "lunch?"), (ALICE, "sure"))

    await talk.say(CAROL, f"{HEY}where?")

    assert talk.harness.service.messages[-1].split("\n")[1:] == [
        "> Bob Brandt: lunch?", "> Alice Adler: sure", "", "The new message to you:", "Carol Conti: where?",
    ]  # fmt: skip


async def test_a_thread_of_one_person_is_never_read(talk: Talk) -> None:
    await talk.happens((ALICE, f"{HEY}hello"), (ALICE, "more"), (ALICE, "and more"))

    assert talk.harness.seen.reads == 0


async def test_order_is_by_time_not_by_arrival(talk: Talk) -> None:
    await talk.say(ALICE, f"{HEY}hello")
    talk.harness.slack.drops_events = True
    await talk.happens((ALICE, "before"), (BOB, "lunch?"), (ALICE, "after"))
    talk.harness.slack.drops_events = False

    for text in ("lunch?", "after", "before"):
        await talk.deliver(text)

    assert talk.asked[1:] == ["before"]


async def test_replays_change_nothing(talk: Talk) -> None:
    await talk.happens((ALICE, f"{HEY}hello"), (BOB, "lunch?"), (ALICE, f"{HEY}again"))

    for text in ("lunch?", f"{HEY}hello"):
        await talk.deliver(text)
    await talk.say(ALICE, "more")

    assert talk.asked[1:] == ["again", "more"]
    assert talk.told == [BOB]


async def test_an_edit_that_mentions_the_bot_makes_its_author_the_partner(talk: Talk) -> None:
    await talk.happens((ALICE, f"{HEY}hello"), (BOB, "lunch?"))

    await talk.edit("lunch?", f"{HEY}lunch?")
    await talk.say(BOB, "more")
    await talk.say(ALICE, "and me?")

    assert talk.asked[1:] == ["lunch?", "more"]


async def test_an_edit_of_talk_is_not_new_talk(talk: Talk) -> None:
    await talk.happens((ALICE, f"{HEY}hello"), (BOB, "lunch?"), (ALICE, f"{HEY}again"))

    await talk.edit("lunch?", "lunch at 12?")
    await talk.say(ALICE, "more")

    assert talk.asked[1:] == ["again", "more"]


@pytest.mark.parametrize(
    ("steps", "deleted", "asked"),
    [
        ([(BOB, "lunch?")], "lunch?", ["and more"]),
        ([(BOB, "lunch?"), (CAROL, "sure")], "lunch?", []),
        ([(BOB, "lunch?"), (CAROL, "sure")], "sure", []),
        ([(ALICE, "more"), (BOB, "lunch?")], "more", ["more"]),
    ],
)
async def test_deleted_talk_is_no_talk(talk: Talk, steps: list[Step], deleted: str, asked: list[str]) -> None:
    await talk.say(ALICE, f"{HEY}hello")
    await talk.happens(*steps)

    await talk.harness.slack.people.delete(GENERAL, talk.posted[deleted])
    await talk.harness.work()
    await talk.say(ALICE, "and more")

    assert talk.asked[1:] == asked


async def test_a_deleted_waiting_message_leaves_no_partner(talk: Talk) -> None:
    await talk.say(ALICE, f"{HEY}hello")
    said = await talk.harness.slack.people.say(BOB, GENERAL, f"{HEY}wait", thread_ts=talk.root)
    await talk.harness.slack.people.delete(GENERAL, said)

    await talk.say(ALICE, "more")

    assert talk.asked[1:] == ["more"]


async def test_the_author_is_told_once_in_private(talk: Talk) -> None:
    await talk.happens((ALICE, f"{HEY}hello"), (BOB, "lunch?"), (BOB, "at 12?"), (ALICE, "sure"), (ALICE, "soup"))

    assert talk.told == [BOB, ALICE]
    assert {one.message.thread_ts for one in talk.harness.seen.ephemerals} == {talk.root}
    assert not await talk.harness.store.contains_text("at 12?")


async def test_nobody_is_told_again_within_thirty_days(talk: Talk) -> None:
    await talk.happens((ALICE, f"{HEY}hello"), (BOB, "lunch?"))
    other = Talk(talk.harness)
    await other.happens((ALICE, f"{HEY}hello"), (BOB, "dinner?"))
    assert talk.told == [BOB]

    keys = talk.harness.store.scripts.keys
    (key,) = [one async for one in talk.harness.store.redis.scan_iter(f"{keys.prefix}told:*")]
    assert 29.9 < await talk.harness.store.days_left(key.removeprefix(keys.prefix)) <= 30
    await talk.harness.store.redis.delete(key)  # as after 30 days
    await talk.say(BOB, "tea?")
    await other.say(BOB, "tea?")

    assert talk.told == [BOB, BOB]  # once in each thread


@pytest.mark.parametrize("text", [f"<@{CAROL}> lunch?", "<!subteam^S0RUNNERS> lunch?"])
async def test_a_reply_for_others_tells_nobody(talk: Talk, text: str) -> None:
    await talk.happens((ALICE, f"{HEY}hello"), (BOB, text))

    assert talk.told == []


async def test_the_button_sends_the_reply_once(talk: Talk) -> None:
    await talk.happens((ALICE, f"{HEY}hello"), (BOB, "and mine?"))

    await talk.harness.press(SEND_REPLY, user=BOB)
    await talk.say(BOB, "thanks, and this?")

    assert talk.asked[1:] == ["and mine?", "thanks, and this?"]
    (replaced,) = talk.harness.seen.ephemerals
    assert replaced.text == "Sent to the agent."
    await talk.deliver("and mine?")
    assert talk.asked[1:] == ["and mine?", "thanks, and this?"]


async def test_the_button_sends_the_current_text(talk: Talk) -> None:
    await talk.happens((ALICE, f"{HEY}hello"), (BOB, "and mien?"))
    await talk.edit("and mien?", "and mine?")

    await talk.harness.press(SEND_REPLY, user=BOB)

    assert talk.asked[1:] == ["and mine?"]


@pytest.mark.parametrize("is_edited", [False, True])
async def test_the_button_sends_a_reply_that_an_earlier_release_stored(talk: Talk, *, is_edited: bool) -> None:
    await talk.happens((ALICE, f"{HEY}hello"), (BOB, "and mine?"))
    keys, redis = talk.harness.store.scripts.keys, talk.harness.store.scripts.redis
    message = MessageKey(TEAM, GENERAL, talk.posted["and mine?"])
    await redis.set(keys.unsent(message), str(await redis.hget(keys.draft(message), "body")), ex=60)
    await redis.delete(keys.draft(message))
    if is_edited:
        await talk.edit("and mine?", "and his?")

    await talk.harness.press(SEND_REPLY, user=BOB)

    assert talk.asked[1:] == ["and his?" if is_edited else "and mine?"]


async def test_a_deleted_reply_is_not_sent(talk: Talk) -> None:
    await talk.happens((ALICE, f"{HEY}hello"), (BOB, "and mine?"))
    await talk.harness.slack.people.delete(GENERAL, talk.posted["and mine?"])

    await talk.harness.press(SEND_REPLY, user=BOB)

    assert talk.asked[1:] == []
    assert not await talk.harness.store.contains_text("and mine?")


async def test_a_person_without_access_is_told_why_once(talk: Talk) -> None:
    talk.harness.configure(BRIDGE_ALLOWED_USERS=ALICE)
    await talk.happens((ALICE, f"{HEY}hello"), (BOB, "lunch?"), (BOB, "at 12?"), (ALICE, "sure"))

    (notice, _) = talk.harness.seen.ephemerals
    assert (notice.user, "have access to the bridge" in notice.text) == (BOB, True)
    assert talk.asked[1:] == []


async def test_a_thread_of_an_earlier_release_goes_on(talk: Talk) -> None:
    await talk.say(ALICE, f"{HEY}hello")
    keys = talk.harness.store.scripts.keys
    (key,) = [one async for one in talk.harness.store.redis.scan_iter(f"{keys.prefix}thread:*")]
    await talk.harness.store.redis.hdel(key, "said")

    await talk.happens((ALICE, "more"), (BOB, "lunch?"), (ALICE, "sure"))

    assert talk.asked[1:] == ["more"]


@pytest.mark.parametrize(
    ("lost", "asked"),
    [([(ALICE, "more")], ["more"]), ([(BOB, "lunch?")], []), ([(BOB, "lunch?"), (ALICE, "sure")], [])],
)
async def test_a_wiped_store_learns_from_slack_who_the_partner_is(
    talk: Talk, lost: list[Step], asked: list[str]
) -> None:
    await talk.happens((BOB, f"{HEY}hello"), (ALICE, f"{HEY}hello"))
    await talk.harness.store.redis.delete(
        *[one async for one in talk.harness.store.redis.scan_iter("*") if ":thread:" in one or ":seen:" in one]
    )
    talk.harness.store.namespace.since = talk.harness.store.clock() + timedelta(days=1)

    await talk.happens(*lost)

    assert talk.asked[2:] == asked


async def test_a_notice_that_slack_refuses_harms_nothing(talk: Talk) -> None:
    talk.harness.slack.faults.on("chat.postEphemeral", Error("user_not_in_channel"))
    await talk.happens((ALICE, f"{HEY}hello"), (BOB, "lunch?"), (ALICE, f"{HEY}again"))

    assert talk.asked[1:] == ["again"]
