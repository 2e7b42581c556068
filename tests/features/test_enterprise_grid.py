"""A workspace of an Enterprise Grid organization: who is at home, in which channel, and under which key.

The payloads' forms are from https://docs.slack.dev/enterprise-grid/developing-for-enterprise-grid, from
https://docs.slack.dev/apis/events-api#event-type-structure, and from the references of the interaction payloads.
"""

from __future__ import annotations

from typing import Any

import pytest

from bridge.features.buttons import RUN_FORM
from bridge.playground.emulator import sample
from bridge.playground.emulator.entities import Member
from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import ALICE, BRIDGE, ENTERPRISE, GENERAL, GRID, ORG, SISTER_TEAM, TEAM
from support.harness import Harness
from support.store import PREFIX

WENDY = "W0WENDY"
"""A member of both workspaces, whose ID begins with W."""

MISSING = "missing"
TEAMS = [TEAM, SISTER_TEAM, ENTERPRISE, None, MISSING]


@pytest.fixture
async def grid(harness: Harness) -> Harness:
    """A bridge in a workspace of an organization; Wendy writes in both channels."""
    workspace = harness.slack.workspace
    workspace.add_person(Member(WENDY, "wendy", "Wendy Wong", TEAM))
    for channel in (GENERAL, ORG):
        workspace.channels[channel].members.append(WENDY)
    harness.slack.join_organization()
    harness.identity = (await harness.wires.web.hello()).identity
    harness.configure()
    return harness


def mention(user: str, channel: str, ts: str, thread_ts: str = "", **teams: Any) -> dict[str, Any]:
    event = {"type": "app_mention", "user": user, "channel": channel, "text": f"<@{BRIDGE}> hello", "ts": ts, **teams}
    return {name: value for name, value in event.items() if value is not MISSING} | (
        {"thread_ts": thread_ts} if thread_ts else {}
    )


async def test_the_bot_knows_its_organization(grid: Harness) -> None:
    assert grid.identity.home == {TEAM, ENTERPRISE}


@pytest.mark.parametrize("user", [ALICE, WENDY])
@pytest.mark.parametrize("channel", [GENERAL, ORG])
async def test_a_member_of_the_workspace_is_answered_and_remembered(grid: Harness, user: str, channel: str) -> None:
    root = await grid.slack.people.say(user, channel, f"<@{BRIDGE}> hello")
    await grid.work()
    await grid.slack.people.say(user, channel, "and again", thread_ts=root)
    await grid.work()

    assert [body.get("sessionId") for body in grid.service.asked] == [None, 42]


@pytest.mark.parametrize("said", TEAMS, ids=str)
@pytest.mark.parametrize("outer", [TEAM, SISTER_TEAM, ENTERPRISE, None])
async def test_whatever_team_an_event_names_the_thread_has_one_key(grid: Harness, outer: Any, said: Any) -> None:
    teams = {"team": said, "user_team": said, "source_team": said}
    outside = {"context_team_id": outer, "enterprise_id": ENTERPRISE, "is_ext_shared_channel": False}
    first, second = "1700000000.000100", "1700000001.000100"
    await grid.event(mention(WENDY, GENERAL, first, team=TEAM), event_id="Ev1")
    await grid.work()

    await grid.event(
        mention(WENDY, GENERAL, second, thread_ts=first, **teams), team_id=outer, event_id="Ev2", **outside
    )
    await grid.work()

    assert [body.get("sessionId") for body in grid.service.asked] == [None, 42]
    threads = [key async for key in grid.store.redis.scan_iter(f"{PREFIX}thread:*")]
    assert threads == [f"{PREFIX}thread:{TEAM}:{GENERAL}:{first}"]


@pytest.mark.parametrize("said", TEAMS[1:], ids=str)
async def test_someone_of_a_sister_workspace_only_is_refused(grid: Harness, said: Any) -> None:
    event = mention(GRID, ORG, "1700000000.000100", team=said, user_team=said, source_team=said)

    await grid.event(event, event_id="Ev1", enterprise_id=ENTERPRISE, is_ext_shared_channel=False)
    await grid.work()

    assert grid.service.messages == []
    assert "workspace" in grid.seen.ephemerals[-1].text


@pytest.mark.parametrize("team", [TEAM, SISTER_TEAM, ENTERPRISE, ""])
async def test_commands_and_clicks_of_members_work(grid: Harness, team: str) -> None:
    fields = {
        "team_id": team, "enterprise_id": ENTERPRISE, "enterprise_name": "Playground", "channel_id": ORG,
        "user_id": WENDY, "command": "/workflows", "text": "run 3 hello", "is_enterprise_install": "false",
        "response_url": grid.response_url(WENDY, ORG), "trigger_id": grid.slack.tickets.trigger(WENDY),
    }  # fmt: skip
    await grid.form(fields)
    await grid.work()

    assert grid.service.runs == ["hello"]


@pytest.mark.parametrize("team", [{"id": SISTER_TEAM, "domain": "sister"}, None])
@pytest.mark.parametrize("of_user", [TEAM, SISTER_TEAM, ENTERPRISE, None])
async def test_a_click_counts_whatever_team_it_names(grid: Harness, team: Any, of_user: Any) -> None:
    await grid.interaction({
        "type": "block_actions", "team": team, "enterprise": {"id": ENTERPRISE, "name": "Playground"},
        "user": {"id": WENDY, "team_id": of_user}, "channel": {"id": ORG}, "is_enterprise_install": False,
        "container": {"type": "message", "message_ts": "1700000000.000100", "channel_id": ORG, "is_ephemeral": True},
        "response_url": grid.response_url(WENDY, ORG), "trigger_id": grid.slack.tickets.trigger(WENDY),
        "actions": [{"action_id": RUN_FORM, "block_id": "b", "type": "button", "value": "{}"}],
    })  # fmt: skip
    await grid.work()

    assert [form["title"]["text"] for form in grid.seen.forms] == ["Run a workflow"]


async def test_a_rule_names_people_by_ids_of_both_kinds(grid: Harness) -> None:
    grid.use_file(f'[[rules]]\nwho = ["{WENDY}"]\nmay = ["ask", "run"]\n')

    await grid.type_command("/workflows run 3 hers", WENDY)
    await grid.type_command("/workflows run 3 not his", ALICE)

    assert grid.service.runs == ["hers"]


async def test_without_users_read_a_person_of_no_stated_workspace_is_refused(grid: Harness) -> None:
    grid.slack.faults.on("users.info", Error("missing_scope"), times=None)

    await grid.event(mention(WENDY, ORG, "1700000000.000100"), event_id="Ev1", enterprise_id=ENTERPRISE)
    await grid.work()

    assert grid.service.messages == []


async def test_the_agent_reads_the_names_of_people_with_both_kinds_of_ids(grid: Harness) -> None:
    await grid.slack.people.say(ALICE, GENERAL, f"<@{BRIDGE}> ask <@{WENDY}> and <@{sample.BOB}>")
    await grid.work()

    assert "@Wendy Wong" in grid.service.messages[0]
    assert "@Bob Brandt" in grid.service.messages[0]
