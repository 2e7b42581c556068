"""What one person sees on the page and others don't."""

from __future__ import annotations

import json

import httpx

from bridge.playground.emulator import EmulatedSlack, sample
from bridge.playground.emulator.entities import Member
from support.page_client import Window, calls


async def test_a_person_sees_their_own_channels_and_the_bots_direct_message(
    alice: Window, http: httpx.AsyncClient
) -> None:
    seen = await alice.sees()

    names = [one["name"] for one in seen["channels"]]
    assert (names[0], names[-1]) == ("general", "bridge")
    assert "private" in names
    assert "hidden" not in names
    assert seen["channels"][-1] | {"id": ""} == {
        "id": "",
        "name": "bridge",
        "kind": "im",
        "is_shared": False,
        "is_archived": False,
        "unread": False,
        "with": sample.BRIDGE,
    }
    assert seen["me"] == {
        "id": sample.ALICE,
        "name": "alice",
        "real_name": "Alice Adler",
        "kind": "home",
        "is_bot": False,
        "tz": "Europe/Berlin",
    }
    kinds = {one["name"]: one["kind"] for one in seen["people"]}
    assert (kinds["gus"], kinds["vera"], kinds["sam"]) == ("guest", "guest", "stranger")
    stranger = await Window(http, sample.STRANGER).sees()
    assert [one["name"] for one in stranger["channels"]] == ["shared", "bridge"]


async def test_a_channel_is_invisible_to_nonmembers(alice: Window, slack: EmulatedSlack) -> None:
    for channel in (sample.HIDDEN, sample.DM_BOB, "C0NOWHERE"):
        answer = await alice.http.get("/page/state", params={"as": sample.ALICE, "channel": channel})

        assert answer.status_code == 404
        for action, body in {"say": {"text": "x"}, "read": {}, "command": {"command": "/workflows"}}.items():
            assert not (await alice.tries(action, channel=channel, **body))["ok"]
    assert slack.deliveries == []


async def test_a_window_cant_be_a_bots_or_a_deactivated_persons(slack: EmulatedSlack, http: httpx.AsyncClient) -> None:
    slack.workspace.add_person(Member("U0GONE", "gone", "Gone Long", sample.TEAM, deleted=True))

    for who in (sample.BRIDGE, "U0NOBODY", "U0GONE"):
        assert (await http.get("/page/state", params={"as": who})).status_code == 404
        assert (await http.get("/page/wires", params={"as": who})).status_code == 404
        assert not (await Window(http, who).tries("say", channel=sample.GENERAL, text="x"))["ok"]


async def test_a_private_message_is_shown_to_one_person_only(
    alice: Window, bob: Window, http: httpx.AsyncClient
) -> None:
    await calls(http, "chat.postEphemeral", channel=sample.GENERAL, user=sample.ALICE, text="psst")

    (seen,) = (await alice.sees(sample.GENERAL))["messages"]
    assert (seen["html"], seen["is_private"], seen["is_app"]) == ("psst", True, True)
    assert "psst" not in json.dumps(await bob.sees(sample.GENERAL))
    assert not (await bob.tries("click", channel=sample.GENERAL, ts=seen["ts"], block_id="b", action_id="a"))["ok"]
    there = {"as": sample.BOB, "channel": sample.GENERAL, "ts": seen["ts"]}
    assert (await http.get("/page/wires", params=there)).status_code == 404


async def test_a_private_channels_name_is_shown_to_members_only(alice: Window, slack: EmulatedSlack) -> None:
    await slack.people.say(sample.ALICE, sample.GENERAL, f"<#{sample.HIDDEN}> <#{sample.PRIVATE}>")

    (html,) = await alice.shows(sample.GENERAL)

    assert "#private channel" in html
    assert "hidden" not in html
    assert f'data-channel="{sample.PRIVATE}">#private<' in html


async def test_a_private_message_is_gone_once_its_window_is_loaded_again(
    alice: Window, slack: EmulatedSlack, http: httpx.AsyncClient
) -> None:
    opened = str((await alice.sees(sample.GENERAL, since="now"))["since"])
    await calls(http, "chat.postEphemeral", channel=sample.GENERAL, user=sample.ALICE, text="psst")

    assert [one["html"] for one in (await alice.sees(sample.GENERAL, since=opened))["messages"]] == ["psst"]
    assert (await alice.sees(sample.GENERAL, since="now"))["messages"] == []
    assert len(slack.workspace.messages.private) == 1, "its buttons still work where it's shown"
