"""People's names, groups and workspaces."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bridge.errors import SlackAmbiguous, SlackError, SlackRefused
from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.slack.api import Identity, SlackWeb
from bridge.slack.blockkit.mrkdwn import mentions_in
from bridge.slack.directory import Directory, FetchCache
from support.clocks import Clock
from support.slack_fixtures import answers, asked, methods, refused
from support.tables import each

HOME = Identity(team="T1", enterprise="", bot_user="UBOT", bot_id="B1")
GRID = Identity(team="T1", enterprise="E1", bot_user="UBOT", bot_id="B1")
ORG_WIDE = Identity(team="E1", enterprise="E1", bot_user="UBOT", bot_id="B1", is_org_wide=True)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def directory(slack_web: SlackWeb, clock: Clock) -> Directory:
    return Directory(slack_web, HOME, monotonic=clock)


def person(**about: Any) -> dict[str, Any]:
    return {"ok": True, "user": {"id": "U1", "name": "ada", "team_id": "T1", **about}}


@pytest.mark.parametrize(
    ("about", "name"),
    [
        ({"profile": {"display_name": "Ada L.", "real_name": "Ada Lovelace"}}, "Ada L."),
        ({"profile": {"display_name": "", "real_name": "Ada Lovelace"}}, "Ada Lovelace"),
        ({}, "ada"),
        ({"name": None}, "U1"),
    ],
)
async def test_a_person_has_the_name_that_others_see(
    emulated: EmulatedSlack, directory: Directory, about: dict[str, Any], name: str
) -> None:
    answers(emulated, "users.info", person(**about))

    assert await directory.user_name("U1") == name


async def test_a_name_is_fetched_once_in_ten_minutes(
    emulated: EmulatedSlack, directory: Directory, clock: Clock
) -> None:
    answers(emulated, "users.info", person(name="ada"), person(name="grace"))

    names = [await directory.user_name("U1") for _ in range(3)]
    clock.time += 601
    names.append(await directory.user_name("U1"))

    assert names == ["ada", "ada", "ada", "grace"]


async def test_an_unreadable_name_is_the_id_for_a_minute(
    emulated: EmulatedSlack, directory: Directory, clock: Clock
) -> None:
    answers(emulated, "users.info", refused("missing_scope", needed="users:read"), person())
    answers(emulated, "conversations.info", refused("channel_not_found"))

    assert await directory.user_name("U1") == "U1"
    assert await directory.channel_name("C1") == "C1"
    clock.time += 59
    assert await directory.user_name("U1") == "U1"
    assert methods(emulated) == ["users.info", "conversations.info"]
    clock.time += 2
    assert await directory.user_name("U1") == "ada"


async def test_a_group_is_fetched_again_after_a_minute(
    emulated: EmulatedSlack, directory: Directory, clock: Clock
) -> None:
    answers(emulated, "usergroups.users.list", {"ok": True, "users": ["U1"]}, {"ok": True, "users": []})

    assert await directory.in_group("U1", "S1") is True
    assert await directory.in_group("U2", "S1") is False
    clock.time += 61
    assert await directory.in_group("U1", "S1") is False


async def test_an_unreadable_group_is_an_error(emulated: EmulatedSlack, directory: Directory, clock: Clock) -> None:
    answers(emulated, "usergroups.users.list", refused("missing_scope"), {"ok": True})

    for _ in range(2):  # once refused, once without users
        with pytest.raises(SlackError):
            await directory.in_group("U1", "S1")
        clock.time += 61


@each(
    ("identity", "about", "expected"),
    [
        (HOME, {"team_id": "T1"}, True),
        (HOME, {"team_id": "T2"}, False),
        (HOME, {"team_id": "T1", "is_stranger": True}, False),
        (HOME, {"team_id": "T1", "deleted": True}, False),
        (HOME, {"team_id": "T1", "is_bot": True}, False),
        (HOME, {"team_id": "T1", "is_restricted": True}, True),
        (GRID, {"team_id": "T1"}, True),
        (GRID, {"team_id": "T2", "enterprise_user": {"enterprise_id": "E1", "teams": ["T2", "T1"]}}, True),
        (GRID, {"team_id": "T2", "enterprise_user": {"enterprise_id": "E1", "teams": ["T2"]}}, False),
        (ORG_WIDE, {"team_id": "T2", "enterprise_user": {"enterprise_id": "E1", "teams": ["T2"]}}, True),
        (ORG_WIDE, {"team_id": "T9", "enterprise_user": {"enterprise_id": "E9", "teams": ["T9"]}}, False),
        (ORG_WIDE, {"team_id": "E1"}, True),
    ],
)
async def test_home_is_the_workspace_that_installed_the_app(
    emulated: EmulatedSlack, slack_web: SlackWeb, identity: Identity, about: dict[str, Any], *, expected: bool
) -> None:
    answers(emulated, "users.info", person(**about))

    assert await Directory(slack_web, identity).is_home("U1") is expected


@pytest.mark.parametrize(
    ("about", "kind"),
    [
        ({}, "member"),
        ({"is_restricted": False, "is_ultra_restricted": False}, "member"),
        ({"is_restricted": True}, "guest"),
        ({"is_restricted": True, "is_ultra_restricted": True}, "guest"),
        ({"is_bot": True}, "bot"),
        ({"is_restricted": True, "deleted": True}, "deactivated"),
        ({"is_stranger": True}, "stranger"),
        ({"is_restricted": "no"}, "member"),
    ],
)
async def test_anything_less_than_a_full_member_counts_as_a_guest(
    emulated: EmulatedSlack, directory: Directory, about: dict[str, Any], kind: str
) -> None:
    answers(emulated, "users.info", person(**about))

    assert (await directory.person("U1")).kind == kind
    assert await directory.is_guest("U1") is (kind != "member")


@pytest.mark.parametrize(
    ("answer", "is_bot"), [(person(is_bot=True), True), (person(), False), (refused("missing_scope"), False)]
)
async def test_a_bot_is_recognized_by_slacks_flag(
    emulated: EmulatedSlack, directory: Directory, answer: dict[str, Any], *, is_bot: bool
) -> None:
    answers(emulated, "users.info", answer)

    assert await directory.is_bot("U1") is is_bot


async def test_an_unreadable_person_is_an_error_not_a_guest(emulated: EmulatedSlack, directory: Directory) -> None:
    answers(emulated, "users.info", refused("missing_scope", needed="users:read"))

    with pytest.raises(SlackRefused):
        await directory.is_guest("U1")


@pytest.mark.parametrize("answer", [{"ok": True}, person(team_id=None), {"ok": True, "user": "U1"}])
async def test_a_persons_unknown_home_is_an_error(
    emulated: EmulatedSlack, directory: Directory, answer: dict[str, Any]
) -> None:
    answers(emulated, "users.info", answer)

    with pytest.raises(SlackRefused):
        await directory.is_home("U1")


async def test_a_failed_look_up_is_repeated_soon(emulated: EmulatedSlack, directory: Directory, clock: Clock) -> None:
    answers(emulated, "users.info", refused("internal_error"), person())

    with pytest.raises(SlackAmbiguous):
        await directory.is_home("U1")
    clock.time += 6

    assert await directory.is_home("U1") is True


async def test_the_cache_is_bounded() -> None:
    fetched: list[str] = []

    async def fetch(key: str) -> str:
        fetched.append(key)
        return key.upper()

    remembered = FetchCache(fetch, seconds=60, monotonic=Clock(), most=2)
    for key in ["a", "b", "c", "a", "c"]:
        await remembered.get(key)

    assert fetched == ["a", "b", "c", "a"]


async def test_a_cancelled_look_up_is_continued_by_the_next() -> None:
    begun = asyncio.Event()
    may_end = asyncio.Event()

    async def fetch(key: str) -> str:
        begun.set()
        await may_end.wait()
        return key.upper()

    remembered = FetchCache(fetch, seconds=60, monotonic=Clock())
    first = asyncio.create_task(remembered.get("a"))
    await begun.wait()
    second = asyncio.create_task(remembered.get("a"))
    await asyncio.sleep(0)

    first.cancel()
    may_end.set()

    assert await second == "A"


@pytest.mark.parametrize(
    ("answer", "may_post"),
    [
        ({"is_member": True}, True),
        ({"is_member": False}, False),
        ({"is_member": True, "is_archived": True}, False),
        ({"is_im": True}, True),
        ("channel_not_found", False),
        ("missing_scope", True),  # shows up on the first post
    ],
)
async def test_the_bot_may_post_where_it_is_a_member(
    emulated: EmulatedSlack, directory: Directory, answer: dict[str, Any] | str, *, may_post: bool
) -> None:
    said = refused(answer) if isinstance(answer, str) else {"ok": True, "channel": {"id": "C1", **answer}}
    answers(emulated, "conversations.info", said)

    assert await directory.may_post("C1") is may_post


def channels(*named: tuple[str, str], cursor: str = "") -> dict[str, Any]:
    listed = [{"id": id_, "name": name} for id_, name in named]
    return {"ok": True, "channels": listed, "response_metadata": {"next_cursor": cursor}}


async def test_a_channel_is_found_among_those_both_can_see(emulated: EmulatedSlack, directory: Directory) -> None:
    answers(
        emulated,
        "users.conversations",
        channels(("C1", "general"), cursor="more"),
        channels(("C2", "random")),
        channels(("C3", "staff")),
    )

    found = [await directory.channel_called(name, "U1") for name in ("#Random", "general", "#staff", "#nowhere")]

    assert found == ["C2", "C1", "C3", ""]
    lists = [(call["types"], call.get("user"), call.get("cursor")) for call in asked(emulated, "users.conversations")]
    assert lists == [("public_channel", None, None), ("public_channel", None, "more"), ("private_channel", "U1", None)]


async def test_without_the_permissions_no_channel_is_looked_up(emulated: EmulatedSlack, slack_web: SlackWeb) -> None:
    identity = Identity(team="T1", enterprise="", bot_user="UBOT", bot_id="B1", scopes=frozenset({"chat:write"}))

    assert await Directory(slack_web, identity).channel_called("#general", "U1") == ""
    assert methods(emulated) == []


async def test_a_refused_look_up_finds_no_channel(emulated: EmulatedSlack, directory: Directory) -> None:
    answers(emulated, "users.conversations", refused("missing_scope", needed="channels:read"))

    assert await directory.channel_called("#general", "U1") == ""


GROUPS = {"ok": True, "usergroups": [{"id": "S1", "handle": "ops", "name": "Operations"}, {"id": "S2"}, "odd"]}


async def test_all_groups_are_named_by_one_call(emulated: EmulatedSlack, directory: Directory) -> None:
    answers(emulated, "usergroups.list", GROUPS)

    assert [await directory.group_name(group) for group in ("S1", "S2", "S3")] == ["ops", "S2", "S3"]
    assert len(asked(emulated, "usergroups.list")) == 1


async def test_an_unreadable_group_is_shown_by_its_id(emulated: EmulatedSlack, directory: Directory) -> None:
    answers(emulated, "usergroups.list", refused("missing_scope"))

    assert await directory.group_name("S1") == "S1"


async def test_without_the_permission_groups_are_not_fetched(emulated: EmulatedSlack, slack_web: SlackWeb) -> None:
    directory = Directory(slack_web, Identity("T1", "", "UBOT", "B1", scopes=frozenset({"chat:write"})))

    assert await directory.group_name("S1") == "S1"
    assert emulated.calls == []


async def test_all_mentions_of_a_text_are_named_at_once(emulated: EmulatedSlack, directory: Directory) -> None:
    answers(emulated, "usergroups.list", GROUPS)
    answers(emulated, "users.info", refused("user_not_found"))
    answers(emulated, "conversations.info", {"ok": True, "channel": {"name": "general"}})

    named = await directory.names(mentions_in("<@U1> in <#C1> with <!subteam^S1>"))

    assert named == {"U1": "U1", "C1": "general", "S1": "ops"}
