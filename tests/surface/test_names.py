"""Names beside IDs in the tables of the command line."""

from __future__ import annotations

import pytest

from bridge.cli.names import DisplayNames
from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.playground.emulator.faults import Hang
from bridge.slack.api import Identity, SlackWeb
from bridge.slack.directory import Directory
from support.slack_fixtures import answers, methods, refused

HOME = Identity(team="T1", enterprise="", bot_user="UBOT", bot_id="B1")


@pytest.fixture
def names(slack_web: SlackWeb) -> DisplayNames:
    return DisplayNames(Directory(slack_web, HOME), seconds=0.1)


async def test_each_name_is_looked_up_once(emulated: EmulatedSlack, names: DisplayNames) -> None:
    answers(emulated, "users.info", {"ok": True, "user": {"profile": {"display_name": "Ada"}}})
    answers(emulated, "conversations.info", {"ok": True, "channel": {"name": "ops"}})

    await names.look_up(["U1", "C1", "U1", "D1", "", "unknown"])
    await names.look_up(["U1", "C1"])

    assert (names.person("U1"), names.channel("C1"), names.channel("D1")) == (
        "Ada (U1)", "#ops (C1)", "direct message (D1)",
    )  # fmt: skip
    assert sorted(methods(emulated)) == ["conversations.info", "users.info"]


async def test_a_notice_to_a_person_is_in_a_direct_message(emulated: EmulatedSlack, names: DisplayNames) -> None:
    answers(emulated, "users.info", {"ok": True, "user": {"profile": {"display_name": "Ada"}}})

    await names.look_up(["U1", "W1"])

    assert (names.channel("U1"), names.channel("W1")) == ("direct message (U1)", "direct message (W1)")


async def test_an_unknown_person_stays_an_id(emulated: EmulatedSlack, names: DisplayNames) -> None:
    answers(emulated, "users.info", refused("user_not_found"))

    await names.look_up(["U1"])

    assert names.person("U1") == "U1"


async def test_names_are_not_waited_for_long(
    emulated: EmulatedSlack, names: DisplayNames, capsys: pytest.CaptureFixture[str]
) -> None:
    emulated.faults.on("users.info", Hang())

    await names.look_up(["U1", "U2"])
    await names.look_up(["U3"])

    assert names.person("U1") == "U1"
    assert (
        capsys.readouterr().err
        == "Showing IDs instead of names (Slack: no answer in time). To find out more, run bridge check.\n"
    )


async def test_without_slack_and_project_ids_are_shown() -> None:
    names = DisplayNames()

    await names.look_up(["U1"])
    await names.look_up_agents()

    assert (names.person("U1"), names.channel("C1"), names.agent(7)) == ("U1", "C1", "7")
