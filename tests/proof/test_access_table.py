"""Access rules as a table: every kind of person, in every kind of channel, on every surface.

A row says whether a person may use the bridge and whether they may run workflows; `expected` derives the outcome on
each surface. Each cell goes through the real surface with a payload like Slack's.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from redis.asyncio import Redis

from bridge.ends import notices
from bridge.features.buttons import RUN_FORM, run_value
from bridge.features.conversations import menu
from bridge.features.workflows import forms, run_card
from bridge.json_reader import Json
from bridge.playground.emulator import sample
from bridge.playground.emulator.entities import Channel, Group, Member
from bridge.playground.emulator.sample import BRIDGE, OTHER_TEAM, TEAM
from bridge.slack.blockkit import modals
from bridge.slack.blockkit.reply import View
from support.harness import open_harness
from support.surfaces import HOME, Person, Surfaces

ORGANISATION = replace(HOME, enterprise="E0GRID")
ORG_WIDE = replace(HOME, team="E0GRID", enterprise="E0GRID", is_org_wide=True)
GROUP, UNREADABLE = "S0RUNNERS", "S0BROKEN"

PLACES = {
    "a channel": Channel("C0OPEN", "open", []),
    "a private channel": Channel("C0PRIVATE", "private", [], is_private=True),
    "a shared channel": Channel("C0SHARED", "shared", [], is_ext_shared=True),
    "a direct message": Channel("D0DIRECT", "", [], is_im=True),
}
ELSEWHERE = Channel("C0ELSEWHERE", "elsewhere", [])


def a_person(team: str = TEAM, info: Json | None = None, said: str | None = None, **flags: bool) -> Person:
    return Person(Member("U0SUE", "sue", "Sue Somebody", team, **flags), info, said)


def of_workspaces(*teams: str, organisation: str = "E0GRID") -> Json:
    about = Member("U0SUE", "sue", "Sue Somebody", teams[0]).as_json()
    return {"ok": True, "user": about | {"enterprise_user": {"enterprise_id": organisation, "teams": list(teams)}}}


@dataclass(frozen=True)
class Row:
    """A person; *access* and *run* are the reasons against using the bridge or running workflows (``""``: allowed)."""

    who: Person
    access: str = ""
    run: str = ""
    rules: dict[str, str] = field(default_factory=dict)
    identity: Any = HOME


def closed(*, runners: str = "U0RUE", users: str = "U0SUE") -> dict[str, str]:
    channels = ",".join(place.id for place in PLACES.values())
    return {
        "BRIDGE_ALLOWED_CHANNELS": channels,
        "BRIDGE_ALLOWED_USERS": users.replace(" ", ","),
        "BRIDGE_RUNNERS": runners.replace(" ", ","),
    }


NO_SCOPE = {"ok": False, "error": "missing_scope", "needed": "users:read"}
BROKEN = {"ok": False, "error": "internal_error"}

PEOPLE = {
    "a member": Row(a_person()),
    "a guest of several channels": Row(a_person(is_restricted=True), run="runner"),
    "a guest of one channel": Row(a_person(is_restricted=True, is_ultra_restricted=True), run="runner"),
    "a member of another company": Row(a_person(OTHER_TEAM, is_stranger=True), access="stranger"),
    "a deactivated member": Row(a_person(deleted=True), run="runner"),
    "a member whom the app may not look up": Row(a_person(info=NO_SCOPE)),
    "a member while Slack fails": Row(a_person(info=BROKEN), run="unanswered"),
    "a listed guest": Row(a_person(is_restricted=True), rules={"BRIDGE_RUNNERS": "U0SUE"}),
    "a guest in a listed group": Row(a_person(is_restricted=True), rules={"BRIDGE_RUNNERS": GROUP}),
    "a listed person whom the app may not look up": Row(a_person(info=NO_SCOPE), rules={"BRIDGE_RUNNERS": "U0SUE"}),
    "a member of another workspace of the organisation": Row(
        a_person("T0SISTER", info=of_workspaces("T0SISTER")), access="stranger", identity=ORGANISATION
    ),
    "a member of two workspaces of the organisation": Row(
        a_person("T0SISTER", info=of_workspaces("T0SISTER", TEAM)), identity=ORGANISATION
    ),
    "a member with the organisation's ID": Row(a_person("E0GRID", info=of_workspaces(TEAM)), identity=ORGANISATION),
    "a member of another workspace with the organisation's ID": Row(
        a_person("E0GRID", info=of_workspaces("T0SISTER")), access="stranger", identity=ORGANISATION
    ),
    "a member of another organisation": Row(
        a_person("E0OTHER", info=of_workspaces("T0PARTNER", organisation="E0OTHER"), is_stranger=True),
        access="stranger",
        identity=ORGANISATION,
    ),
    "a member of the organisation whom the app may not look up": Row(
        a_person("T0SISTER", info=NO_SCOPE), access="unknown", identity=ORGANISATION
    ),
    "a member, with the app installed organisation-wide": Row(
        a_person("T0SISTER", info=of_workspaces("T0SISTER")), identity=ORG_WIDE
    ),
    "a stranger, with the app installed organisation-wide": Row(
        a_person(OTHER_TEAM, is_stranger=True), access="stranger", identity=ORG_WIDE
    ),
    "an allowed user who isn't a runner": Row(a_person(), run="runner", rules=closed()),
    "an allowed user who is a runner": Row(a_person(), rules=closed(runners="U0SUE")),
    "an allowed user in a group of runners": Row(a_person(), rules=closed(runners=f"U0RUE {GROUP}")),
    "an allowed user, with an unreadable group of runners": Row(
        a_person(), run="unknown", rules=closed(runners=UNREADABLE)
    ),
    "an allowed user in one of two groups, the other unreadable": Row(
        a_person(), rules=closed(runners=f"{UNREADABLE} {GROUP}")
    ),
    "a person who isn't an allowed user": Row(a_person(), access="user", rules=closed(users="U0RUE")),
    "a runner who isn't an allowed user": Row(a_person(), access="user", rules=closed(users="U0RUE", runners="U0SUE")),
    "a stranger who is an allowed user": Row(
        a_person(OTHER_TEAM, is_stranger=True), access="stranger", rules=closed(runners="U0SUE")
    ),
}

Surface = Callable[[Surfaces, Person, Channel, str], Awaitable[str]]
SURFACES: dict[str, tuple[str, Surface]] = {
    "mention": ("talks", lambda surfaces, who, at, _: surfaces.send(who, at, f"<@{BRIDGE}> Support: hello")),
    "mention in a thread": (
        "talks",
        lambda surfaces, who, at, root: surfaces.send(who, at, f"<@{BRIDGE}> hello", thread_ts=root),
    ),
    "reply": ("talks", lambda surfaces, who, at, root: surfaces.send(who, at, "hello", thread_ts=root)),
    "command that reads": ("is answered", lambda surfaces, who, at, _: surfaces.type_command(who, at, "/project", "")),
    "command that runs": (
        "runs",
        lambda surfaces, who, at, _: surfaces.type_command(who, at, "/workflows", "run 3 hello"),
    ),
    "command that opens the form": (
        "gets the form",
        lambda surfaces, who, at, _: surfaces.type_command(who, at, "/workflows", "run 3"),
    ),
    "! that reads": ("is answered", lambda surfaces, who, at, root: surfaces.send(who, at, "!project", thread_ts=root)),
    "! that runs": (
        "runs",
        lambda surfaces, who, at, root: surfaces.send(who, at, "!workflows run 3 x", thread_ts=root),
    ),
    "button that runs, on another's card": (
        "runs",
        lambda surfaces, who, at, _: surfaces.click(who, at, run_card.AGAIN, run_value(3, "hello")),
    ),
    "button that confirms": (
        "runs",
        lambda surfaces, who, at, _: surfaces.click(who, at, run_card.CONFIRM, run_value(3, "hello")),
    ),
    "button that opens the form": (
        "gets the form",
        lambda surfaces, who, at, _: surfaces.click(who, at, RUN_FORM, run_value(3)),
    ),
    "button that sends another's message again": (
        "sends again",
        lambda surfaces, who, at, _: surfaces.click(who, at, notices.SEND_AGAIN, "of-another"),
    ),
    "menu of agents": ("chooses", lambda surfaces, who, at, _: surfaces.click(who, at, menu.CHOOSE, "7")),
    "options of a menu": ("is offered some", lambda surfaces, who, at, _: surfaces.query_options(who, at, menu.CHOOSE)),
    "form": ("runs", lambda surfaces, who, at, _: surfaces.submit(who, *filled_in(at))),
    "button on Home": (
        "gets the form",
        lambda surfaces, who, _at, _root: surfaces.click_on_home(who, RUN_FORM, run_value(3)),
    ),
}
OF_RUNNERS = {"runs", "gets the form"}
NOT_IN_A_CHANNEL = {"button on Home"}


def filled_in(place: Channel) -> tuple[View, dict[str, dict[str, Any]]]:
    values = {
        "workflow": {"workflow": {"type": "external_select", "selected_option": {"value": "3"}}},
        "input": {"input": {"type": "plain_text_input", "value": "hello"}},
    }
    return forms.run_form(None, modals.Origin(channel=place.id)).view, values


def expected(outcome: str, row: Row) -> str:
    """The outcome for a person on a surface that normally leads to *outcome*."""
    if row.access:
        return "is offered nothing" if outcome == "is offered some" else f"is refused: {row.access}"
    return f"may not: {row.run}" if row.run and outcome in OF_RUNNERS else outcome


@asynccontextmanager
async def open_surfaces(redis: Redis, row: Row) -> AsyncIterator[Surfaces]:
    async with open_harness(redis, **row.rules) as harness:
        harness.identity = replace(row.identity, scopes=harness.identity.scopes)
        harness.store.namespace.since = None
        harness.configure()
        workspace = harness.slack.workspace
        workspace.groups.put(GROUP, Group(GROUP, "runners", "Runners", TEAM, ["U0SUE"]))
        surfaces = Surfaces(harness)
        surfaces.add_person_to(row.who, [*PLACES.values(), ELSEWHERE])
        yield surfaces


async def outcomes_of_all(surfaces: Surfaces, who: Person, place: Channel) -> dict[str, str]:
    root = await surfaces.bind(place)
    return {name: await surface(surfaces, who, place, root) for name, (_, surface) in SURFACES.items()}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize("row", PEOPLE.values(), ids=PEOPLE)
async def test_each_surface_allows_what_the_table_says(redis: Redis, row: Row, place: Channel) -> None:
    async with open_surfaces(redis, row) as surfaces:
        found = await outcomes_of_all(surfaces, row.who, place)

    assert found == {name: expected(outcome, row) for name, (outcome, _) in SURFACES.items()}


@pytest.mark.parametrize(
    "row", [PEOPLE["an allowed user who is a runner"], PEOPLE["an allowed user who isn't a runner"]]
)
async def test_an_unlisted_channel_is_refused_except_on_home(redis: Redis, row: Row) -> None:
    async with open_surfaces(redis, row) as surfaces:
        found = await outcomes_of_all(surfaces, row.who, ELSEWHERE)

    refused_here = replace(row, access="channel")
    assert found == {
        name: expected(outcome, row if name in NOT_IN_A_CHANNEL else refused_here)
        for name, (outcome, _) in SURFACES.items()
    }


@pytest.mark.parametrize(
    ("info", "outcomes"),
    [
        ({"ok": True, "user": Member("U0SUE", "sue", "Sue", TEAM).as_json()}, ("talks", "is answered", "sends again")),
        ({"ok": True, "user": Member("U0SUE", "sue", "Sue", OTHER_TEAM).as_json()}, ("is refused: stranger",) * 3),
        (NO_SCOPE, ("is refused: unknown",) * 3),
        ({"ok": False, "error": "user_not_found"}, ("is refused: unknown",) * 3),
        ({"ok": True, "user": {"id": "U0SUE"}}, ("is refused: unknown",) * 3),
        (BROKEN, ("is sent again by Slack", "is asked to try again", "is asked to try again")),
    ],
    ids=["home", "another company", "no scope", "not found", "no workspace", "Slack fails"],
)
async def test_a_person_without_a_workspace_is_looked_up(
    redis: Redis, info: Json, outcomes: tuple[str, str, str]
) -> None:
    row = Row(a_person(info=info, said=""))
    place = PLACES["a shared channel"]
    async with open_surfaces(redis, row) as surfaces:
        surfaces.harness.configure(BRIDGE_THREAD_REPLIES="all")
        root = await surfaces.bind(place)
        mentioned = await surfaces.send(row.who, place, f"<@{BRIDGE}> Support: hello")
        replied = await surfaces.send(row.who, place, "hello", thread_ts=root)
        typed = await surfaces.type_command(row.who, place, "/project", "")
        clicked = await surfaces.click(row.who, place, notices.SEND_AGAIN, "of-another")

    assert replied == mentioned
    assert (mentioned, typed, clicked) == outcomes


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
async def test_another_bots_message_is_ignored(redis: Redis, place: Channel) -> None:
    row = Row(Person(Member("U0BOT", "botty", "Botty Bot", TEAM, is_bot=True, bot_id="B0BOT", app_id="A0BOT")))
    async with open_surfaces(redis, row) as surfaces:
        root = await surfaces.bind(place)
        found = {
            await surfaces.send(row.who, place, f"<@{BRIDGE}> hello"),
            await surfaces.send(row.who, place, "hello", thread_ts=root),
            await surfaces.send(row.who, place, "!workflows run 3 x", thread_ts=root),
        }

    assert found == {"is ignored"}


async def test_a_reply_in_an_unrelated_thread_gets_no_refusal(redis: Redis) -> None:
    row = PEOPLE["a person who isn't an allowed user"]
    async with open_surfaces(redis, row) as surfaces:
        assert await surfaces.send(row.who, PLACES["a channel"], "hello", thread_ts="1600000000.000100") == "is ignored"


async def test_a_member_is_looked_up_once_for_all_surfaces(redis: Redis) -> None:
    row = PEOPLE["a member"]
    async with open_surfaces(redis, row) as surfaces:
        await outcomes_of_all(surfaces, row.who, PLACES["a channel"])

        asked = [call.method for call in surfaces.harness.slack.calls if call.method.startswith("user")]
        assert asked == ["users.info"]


def test_the_playground_has_a_person_of_each_kind() -> None:
    kinds = {(one.team == TEAM, one.is_bot, one.is_restricted, one.is_ultra_restricted) for one in sample.people()}

    assert kinds >= {
        (True, False, False, False),
        (True, True, False, False),
        (True, False, True, False),
        (True, False, True, True),
        (False, False, False, False),
    }
