"""Handles of agents: user groups without members that count as a mention of the bot."""

from __future__ import annotations

import json

import pytest

from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import ALICE, BOB, GENERAL
from support.harness import SALES, SUPPORT, Harness

CREATE, LIST = "usergroups.create", "usergroups.list"


@pytest.fixture(autouse=True)
def _two_agents(harness: Harness) -> None:
    harness.service.agents = [SUPPORT, SALES]
    harness.configure(BRIDGE_THREAD_REPLIES="auto")


async def give(harness: Harness, line: str = "/agents handle Support @support", user: str = ALICE) -> str:
    """Type the command; return what its person reads."""
    await harness.type_command(line, user)
    await harness.work()
    return harness.seen.ephemerals[-1].text


async def say(harness: Harness, text: str, thread_ts: str = "", user: str = ALICE) -> str:
    """Write in #general; return the message's ``ts``."""
    ts = await harness.slack.people.say(user, GENERAL, text, thread_ts=thread_ts)
    await harness.slack.settled()
    await harness.work()
    return ts


def group(harness: Harness) -> str:
    """The ID of the user group that the bridge has made."""
    (found,) = [one.id for one in harness.slack.workspace.groups.values() if one.created_by]
    return found


async def test_a_handle_is_an_empty_group_and_a_mention(harness: Harness) -> None:
    said = await give(harness)
    made = harness.slack.workspace.groups[group(harness)]
    await say(harness, f"<!subteam^{made.id}|@support> where is it?")

    assert said.startswith("Support has the handle @support.")
    assert (made.handle, made.members) == ("support", [])
    assert [(body["agent"], body["message"]) for body in harness.service.asked] == [(7, "where is it?")]


async def test_a_handle_in_a_bound_thread_counts_as_a_mention(harness: Harness) -> None:
    await give(harness)
    root = await say(harness, f"<!subteam^{group(harness)}> one")
    await say(harness, "and I say two", root, BOB)
    await say(harness, f"three, <!subteam^{group(harness)}|@support>", root)

    assert [body["agent"] for body in harness.service.asked] == [7, 7]
    assert harness.service.messages[-1].endswith("three,")


async def test_a_foreign_group_stays_for_others(harness: Harness) -> None:
    await give(harness)
    await say(harness, "<!subteam^S0RUNNERS|@runners> where is it?")

    assert harness.service.asked == []


async def test_an_edit_may_add_the_handle(harness: Harness) -> None:
    await give(harness)
    ts = await say(harness, "where is it?")
    await harness.slack.people.edit(GENERAL, ts, f"<!subteam^{group(harness)}|@support> where is it?")
    await harness.slack.settled()
    await harness.work()

    assert [(body["agent"], body["message"]) for body in harness.service.asked] == [(7, "where is it?")]


async def test_the_list_shows_the_handle(harness: Harness) -> None:
    await give(harness)
    await harness.type_command("/agents")
    await harness.work()

    assert "ID 7 · m · @support" in str(harness.seen.ephemerals[-1].blocks)
    await harness.type_command("/agents show Support")
    await harness.work()
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
    await say(harness, f"<!subteam^{first}|@support> where is it?")
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

    assert "You don't have permission" in await give(harness)


async def changed(harness: Harness, **changes: object) -> None:
    """Change the group in Slack, and let the bridge look."""
    groups = harness.slack.workspace.groups
    made = groups[group(harness)]
    for name, value in changes.items():
        setattr(made, name, value)
    groups.put(made.id, made)
    for _ in range(2):  # it's told once
        (job,) = [job for job in harness.parts().turns.features.jobs if job.name == "agents.check_handles"]
        await job.handler(harness.parts().turns.deps)
        await harness.work()


@pytest.mark.parametrize(
    ("changes", "said", "listed"),
    [
        ({"deleted_at": 1}, "⚠️ Someone disabled the handle @support of Support.", "@support ⚠️ disabled"),
        (
            {"deleted_at": 1, "handle": "old"},
            "⚠️ Someone disabled the handle @support of Support.",
            "@support ⚠️ disabled",
        ),
        ({"handle": "helpers"}, "Someone renamed the handle @support of Support. It's @helpers now.", "@helpers"),
    ],
)
async def test_a_changed_handle_is_told_once_to_who_set_it(
    harness: Harness, changes: dict[str, object], said: str, listed: str
) -> None:
    await give(harness, user=BOB)
    before = len(harness.seen.messages)
    await changed(harness, **changes)

    (told,) = harness.seen.messages[before:]
    assert told.text.startswith(said)
    assert BOB in harness.slack.workspace.channels[told.message.channel].members
    await harness.type_command("/agents")
    await harness.work()
    assert listed in str(harness.seen.ephemerals[-1].blocks)


async def test_nothing_posted_contains_a_live_handle(harness: Harness) -> None:
    await give(harness)
    await say(harness, f"<!subteam^{group(harness)}|@support> hello")
    await harness.type_command("/agents show Support")
    await harness.work()

    posted = [*harness.seen.messages, *harness.seen.ephemerals]
    assert "<!subteam" not in json.dumps([[one.text, one.blocks] for one in posted if one.user != ALICE])


async def test_a_handle_that_another_group_has_now_is_told(harness: Harness) -> None:
    await give(harness)
    groups = harness.slack.workspace.groups
    runners = groups["S0RUNNERS"]
    runners.handle = "support"
    groups.put(runners.id, runners)
    await changed(harness, handle="old")

    assert "⚠️ Another user group now has the handle @support of Support." in harness.seen.texts[-1]
