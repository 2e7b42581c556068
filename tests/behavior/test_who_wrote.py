"""Who wrote a message: the person whose token an app used, or an app, by the name that people see."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from bridge.playground.emulator.sample import ALICE, BOB, GENERAL, OTHER_BOT
from support.harness import Harness
from support.store import BOT, CHANNEL, ROOT, TEAM, ts

CLIENT = {
    "bot_id": "B0CLIENT",
    "app_id": "A0CLIENT",
    "bot_profile": {"id": "B0CLIENT", "app_id": "A0CLIENT", "name": "Voice desk", "team_id": TEAM},
}
"""What Slack adds to a message that an app posts, be it with a person's own token."""


async def arrives(harness: Harness, text: str, at: str = ROOT, **changes: Any) -> None:
    """Deliver a message, and do what it starts."""
    event = {"type": "message", "channel": GENERAL, "user": ALICE, "ts": at, "text": text, "team": TEAM, **changes}
    envelope = {"event_id": f"Ev{at}{changes.get('event_ts', '')}", "is_ext_shared_channel": False}
    assert (await harness.event({name: value for name, value in event.items() if value}, **envelope)).status == 200
    await harness.work()


@pytest.mark.parametrize(
    "message",
    [
        {"text": f"<@{BOT}> what is due?"},
        {"text": f"<@{BOT}> what is due?", "type": "app_mention"},
        {"text": "what is due?", "channel": "D0ALICE", "channel_type": "im"},
        {"text": "what is due?", "at": ts(1), "thread_ts": ROOT},
        {
            "text": "what is due?", "at": ts(1), "thread_ts": ROOT, "subtype": "file_share",
            "files": [{"id": "F1", "name": "what is due?.txt", "mode": "snippet"}],
        },
    ],
    ids=["mention", "app_mention", "direct", "reply", "file"],
)  # fmt: skip
async def test_what_an_app_posts_with_a_persons_token_is_that_persons(
    harness: Harness, message: dict[str, Any]
) -> None:
    if message.get("thread_ts"):
        await arrives(harness, f"<@{BOT}> hello", client_msg_id="c")

    await arrives(harness, **CLIENT, **message)

    assert "what is due?" in harness.service.messages[-1]
    assert len(harness.service.messages) == 1 + ("thread_ts" in message)


async def test_a_command_posted_with_a_persons_token_is_that_persons(harness: Harness) -> None:
    harness.configure(BRIDGE_RUNNERS=BOB)

    await arrives(harness, f"<@{BOT}> !workflows run 3 hello", **CLIENT)
    await arrives(harness, f"<@{BOT}> !workflows run 3 hello", ts(1), user=BOB, **CLIENT)

    assert harness.service.runs == ["hello"]
    assert "permission" in harness.seen.ephemerals[0].text


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"user": OTHER_BOT}, "its user is a bot"),
        ({"user": ALICE, "subtype": "bot_message", "username": "Deploys"}, "it's shown under another name"),
        ({"user": None}, "nobody is named"),
        ({"bot_id": "", "app_id": "", "bot_profile": None, "user": OTHER_BOT}, "a bot without an ID"),
    ],
)
async def test_a_post_of_an_apps_own_stays_the_apps(harness: Harness, changes: dict[str, Any], why: str) -> None:
    await arrives(harness, f"<@{BOT}> hello", **{**CLIENT, **changes})

    assert harness.service.messages == [], why


async def test_a_post_by_the_bridges_own_app_stays_its_own(harness: Harness) -> None:
    harness.identity = replace(harness.identity, app_id="A0CLIENT")
    harness.configure()

    await arrives(harness, f"<@{BOT}> hello", **CLIENT)

    assert harness.service.messages == []


@pytest.mark.parametrize("text", ["and then?", "!workflows run 3 hello"], ids=["question", "command"])
async def test_a_program_with_a_persons_token_cannot_talk_for_ever(harness: Harness, text: str) -> None:
    harness.configure(BRIDGE_APP_TURNS_PER_MINUTE="3")
    await arrives(harness, f"<@{BOT}> hello", client_msg_id="c")

    for number in range(1, 7):
        await arrives(harness, text, ts(number), thread_ts=ROOT, **CLIENT)
    await arrives(harness, text, ts(8), thread_ts=ROOT, client_msg_id="c")  # its person is still answered

    assert len(harness.service.messages) + len(harness.service.runs) == 1 + 3 + 1
    assert json.dumps([one.text for one in harness.seen.ephemerals]).count("too fast") == 3


async def test_an_edit_with_a_persons_token_is_offered_to_that_person(harness: Harness) -> None:
    await arrives(harness, f"<@{BOT}> hello", **CLIENT)
    said = {"user": ALICE, "ts": ROOT, "text": f"<@{BOT}> hello", **CLIENT}
    edited = {**said, "text": f"<@{BOT}> goodbye", "edited": {"user": ALICE, "ts": ts(5)}}

    await arrives(
        harness, "", ts(5), user=None, subtype="message_changed", message=edited, previous_message=said, event_ts=ts(5)
    )

    (offer,) = harness.seen.ephemerals
    assert offer.user == ALICE


async def test_a_thread_names_the_person_not_the_app_that_carried_the_message(harness: Harness) -> None:
    harness.write(ROOT, "the disk is full", user=BOB, channel=CHANNEL, **CLIENT)

    await arrives(harness, f"<@{BOT}> what is this?", ts(1), thread_ts=ROOT)

    assert "Bob Brandt" in harness.service.messages[0]
    assert "Voice desk" not in harness.service.messages[0]
