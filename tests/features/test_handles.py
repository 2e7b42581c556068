"""Handles of agents: user groups without members that count as a mention of the bot."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bridge.playground.emulator.entities import Group
from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, GENERAL
from support.harness import NOT_NOW, SALES, SUPPORT, Harness

CREATE, LIST = "usergroups.create", "usergroups.list"


@pytest.fixture(autouse=True)
def _two_agents(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    harness.configure(BRIDGE_THREAD_REPLIES="auto")


async def give(harness: Harness, line: str = "/agents handle Support @support", user: str = ALICE) -> str:
    """Type the command; return what its person reads."""
    await harness.type_command(line, user)
    return harness.seen.ephemerals[-1].text


def group(harness: Harness) -> str:
    """The ID of the user group that the bridge has made."""
    (found,) = [one.id for one in harness.slack.workspace.groups.values() if one.created_by]
    return found


async def test_a_handle_is_an_empty_group_and_a_mention(harness: Harness) -> None:
    said = await give(harness)
    made = harness.slack.workspace.groups[group(harness)]
    await harness.say(f"<!subteam^{made.id}|@support> where is it?")

    assert said.startswith("Support has the handle @support.")
    assert (made.handle, made.members) == ("support", [])
    assert [(body["agent"], body["message"]) for body in harness.service.asked] == [(7, "where is it?")]


async def test_a_handle_in_a_bound_thread_counts_as_a_mention(harness: Harness) -> None:
    await give(harness)
    root = await harness.say(f"<!subteam^{group(harness)}> one")
    await harness.say("and I say two", root, BOB)
    await harness.say(f"three, <!subteam^{group(harness)}|@support>", root)

    assert [body["agent"] for body in harness.service.asked] == [7, 7]
    assert harness.service.messages[-1].endswith("three,")


async def test_a_foreign_group_stays_for_others(harness: Harness) -> None:
    await give(harness)
    await harness.say("<!subteam^S0RUNNERS|@runners> where is it?")

    assert harness.service.asked == []


async def test_an_edit_may_add_the_handle(harness: Harness) -> None:
    await give(harness)
    ts = await harness.say("where is it?")
    await harness.slack.people.edit(GENERAL, ts, f"<!subteam^{group(harness)}|@support> where is it?")
    await harness.slack.settled()
    await harness.work()

    assert [(body["agent"], body["message"]) for body in harness.service.asked] == [(7, "where is it?")]


async def test_the_list_shows_the_handle(harness: Harness) -> None:
    await give(harness)
    await harness.type_command("/agents")

    assert "ID 7 · m · @support" in str(harness.seen.ephemerals[-1].blocks)
    await harness.type_command("/agents show Support")
    assert "'Handle: '" in str(harness.seen.ephemerals[-1].blocks)


async def test_another_handle_renames_the_group(harness: Harness) -> None:
    await give(harness)
    first = group(harness)
    await give(harness, "/agents handle Support @help-desk")

    assert (group(harness), harness.slack.workspace.groups[first].handle) == (first, "help-desk")


async def test_a_removed_handle_is_disabled_and_comes_back(harness: Harness) -> None:
    await give(harness)
    first = group(harness)
    said = await give(harness, "/agents handle Support none")
    disabled = harness.slack.workspace.groups[first].deleted_at
    await harness.say(f"<!subteam^{first}|@support> where is it?")
    await give(harness)

    assert said == "Support no longer has a handle."
    assert disabled
    assert harness.service.asked == []
    assert (group(harness), harness.slack.workspace.groups[first].deleted_at) == (first, 0)


@pytest.mark.parametrize(
    ("error", "why"),
    [
        ("paid_teams_only", "paid Slack plan"),
        ("plan_upgrade_required", "paid Slack plan"),
        ("permission_denied", "doesn't let me manage user groups"),
        ("missing_scope", "usergroups:write"),
        ("handle_already_exists", "@support is already used"),
        ("something_new", "something_new"),
    ],
)
async def test_a_refused_handle_says_why_in_a_sentence(harness: Harness, error: str, why: str) -> None:
    harness.slack.faults.on(CREATE, Error(error))

    said = await give(harness)

    assert why in said
    assert said.count(". ") == 0
    assert not await harness.store.redis.exists("{test}:handles")


@pytest.mark.parametrize(("typed", "why"), [("@runners", "already used"), ("@no/t", "can't be a handle")])
async def test_a_handle_that_cannot_be_is_refused(harness: Harness, typed: str, why: str) -> None:
    assert why in await give(harness, f"/agents handle Support {typed}")


async def test_only_people_who_may_change_settings_set_handles(harness: Harness) -> None:
    harness.configure(BRIDGE_RUNNERS=BOB)

    assert "You don't have permission to change agents' handles." in await give(harness)


async def look(harness: Harness) -> None:
    """Let the bridge look at the groups, twice."""
    (job,) = [job for job in harness.parts().turns.features.jobs if job.name == "agents.check_handles"]
    for _ in range(2):
        await job.handler(harness.parts().turns.deps)
        await harness.work()


async def changed(harness: Harness, id_: str = "", *, by: str = ALICE, **changes: object) -> None:
    """Change a group in Slack, which sends an event."""
    group_ = replace(harness.slack.workspace.groups[id_ or group(harness)], **changes)  # type: ignore[arg-type] # any
    await harness.slack.people.change_group(by, group_)
    await harness.work()


def missed(harness: Harness, **changes: object) -> None:
    """Change the agent's group without an event that reaches the bridge."""
    groups = harness.slack.workspace.groups
    made = replace(groups[group(harness)], updated_by=ALICE, **changes)  # type: ignore[arg-type] # any
    groups.put(made.id, made)


CHANGES: list[tuple[dict[str, object], str, str]] = [
    ({"deleted_at": 1}, "⚠️ Someone disabled the handle @support of Support.", "@support ⚠️ disabled"),
    ({"deleted_at": 1, "handle": "old"}, "⚠️ Someone disabled the handle @support of Support.", "@support ⚠️ disabled"),
    ({"handle": "helpers"}, "Someone renamed the handle @support of Support. It's @helpers now.", "@helpers"),
]


@pytest.mark.parametrize("is_missed", [False, True], ids=["by event", "by the job"])
@pytest.mark.parametrize(("changes", "said", "listed"), CHANGES)
async def test_a_changed_handle_is_told_once_to_who_set_it(
    harness: Harness, changes: dict[str, object], said: str, listed: str, *, is_missed: bool
) -> None:
    await give(harness, user=BOB)
    before = len(harness.seen.messages)
    if is_missed:
        missed(harness, **changes)
    else:
        await changed(harness, **changes)
        assert len(harness.seen.messages) == before + 1
    await look(harness)

    (told,) = harness.seen.messages[before:]
    assert told.text.startswith(said)
    assert BOB in harness.slack.workspace.channels[told.message.channel].members
    await harness.type_command("/agents")
    assert listed in str(harness.seen.ephemerals[-1].blocks)


async def test_a_repeated_change_is_told_again(harness: Harness) -> None:
    await give(harness)
    before = len(harness.seen.messages)
    await changed(harness, deleted_at=1)
    await changed(harness, deleted_at=0)
    await changed(harness, deleted_at=1)

    assert len(harness.seen.messages) == before + 2


async def test_the_bridges_own_changes_are_no_news(harness: Harness) -> None:
    await give(harness)
    before = len(harness.seen.messages)
    await changed(harness, by=BRIDGE, handle="helpers")
    await changed(harness, by=BRIDGE, deleted_at=1)

    assert harness.seen.messages[before:] == []


async def test_a_change_of_another_group_costs_no_look_at_slack(harness: Harness) -> None:
    await give(harness)
    before = len(harness.seen.called(LIST))
    await changed(harness, "S0RUNNERS", members=[ALICE])

    assert len(harness.seen.called(LIST)) == before


@pytest.mark.parametrize("subteam", [None, "S1", {}, {"id": 5}, {"handle": "support"}])
async def test_an_odd_event_about_a_group_is_left_alone(harness: Harness, subteam: object) -> None:
    await harness.slack.people.send_event({"type": "subteam_updated", "subteam": subteam, "event_ts": "1.2"})
    await harness.work()

    assert harness.seen.called(LIST) == []
    assert all(delivery.is_acked for delivery in harness.slack.deliveries)


async def test_a_handle_that_was_removed_meanwhile_stays_removed(harness: Harness) -> None:
    await give(harness)
    missed(harness, handle="helpers")
    handles, deps = harness.parts().turns.deps.handles, harness.parts().turns.deps
    (change,) = await handles.check()
    await give(harness, "/agents handle Support none")
    await deps.inbox.write(*handles.notes(change))

    assert not await harness.store.redis.exists("{test}:handles")


async def test_slack_being_busy_delays_the_look(harness: Harness) -> None:
    await give(harness)
    harness.slack.faults.on(LIST, NOT_NOW)
    await changed(harness, handle="helpers")

    assert "It's @helpers now." in harness.seen.texts[-1]


async def test_nothing_posted_contains_a_live_handle(harness: Harness) -> None:
    await give(harness)
    await harness.say(f"<!subteam^{group(harness)}|@support> hello")
    await harness.type_command("/agents show Support")

    posted = [*harness.seen.messages, *harness.seen.ephemerals]
    assert "<!subteam" not in json.dumps([[one.text, one.blocks] for one in posted if one.user != ALICE])


@pytest.mark.parametrize("is_new", [True, False])
async def test_a_handle_that_another_group_has_now_is_told(harness: Harness, *, is_new: bool) -> None:
    await give(harness)
    missed(harness, deleted_at=1, handle="old")
    groups = harness.slack.workspace.groups
    taken_by = Group("S0NEW", "", "New", groups["S0RUNNERS"].team, []) if is_new else groups["S0RUNNERS"]
    await harness.slack.people.change_group(BOB, replace(taken_by, handle="support"))
    await harness.work()

    assert "⚠️ Another user group now has the handle @support of Support." in harness.seen.texts[-1]
