"""Keys of a project for some people and user groups, in bridge.toml."""

from __future__ import annotations

from pathlib import Path

import pytest

from bridge.config import default_project, read_config
from bridge.errors import ConfigurationError
from bridge.features.conversations.menu import CHOOSE
from bridge.features.workflows.run_card import AGAIN
from bridge.playground.emulator.faults import Error
from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, CAROL, FINANCE, GENERAL, TEAM
from support.harness import Harness
from support.store import PREFIX
from support.tables import each

KEY = "finance-key"
FILE = f'[projects.default]\nkeys = [{{who = ["{FINANCE}"], api_key_env = "FINANCE_KEY"}}]\n'


@pytest.fixture
def asked(harness: Harness) -> list[tuple[str, str]]:
    """Each chat and run from now on: with which key, and its words. Alice and Bob are in the group finance."""
    return harness.use_keys(FILE, FINANCE_KEY=KEY)


async def say(harness: Harness, user: str, text: str, root: str | None = None) -> str:
    ts = await harness.slack.people.say(user, GENERAL, f"<@{BRIDGE}> {text}", thread_ts=root)
    await harness.work()
    return ts


async def leaves(harness: Harness, user: str) -> None:
    group = harness.slack.workspace.groups[FINANCE]
    group.members.remove(user)
    await harness.sleep(2)


async def test_a_person_of_the_group_has_its_key(harness: Harness, asked: list[tuple[str, str]]) -> None:
    await say(harness, ALICE, "hello from finance")
    await say(harness, CAROL, "hello from elsewhere")
    await harness.type_command("/workflows run 3 hers", ALICE)
    await harness.type_command("/workflows run 3 not hers", CAROL)

    assert [key for key, _ in asked] == [KEY, "", KEY, ""]


async def test_a_projects_limit_counts_for_all_its_keys(harness: Harness) -> None:
    limit = '[[limits]]\nper = "project"\nonly = ["default"]\nruns = 1\n'
    asked = harness.use_keys(f"{FILE}{limit}", FINANCE_KEY=KEY)

    await harness.type_command("/workflows run 3 hers", ALICE)
    await harness.type_command("/workflows run 3 not hers", CAROL)

    assert [key for key, _ in asked] == [KEY]


async def test_a_thread_keeps_the_key_with_which_it_began(harness: Harness, asked: list[tuple[str, str]]) -> None:
    root = await say(harness, CAROL, "hello")
    await say(harness, ALICE, "and me", root)

    assert [key for key, _ in asked] == ["", ""]
    assert [body.get("sessionId") for body in harness.service.asked] == [None, 42]


async def test_a_thread_with_a_key_is_for_those_who_have_it(harness: Harness, asked: list[tuple[str, str]]) -> None:
    root = await say(harness, ALICE, "hello")
    await say(harness, BOB, "and me", root)
    await say(harness, CAROL, "and me, too", root)

    assert [key for key, _ in asked] == [KEY, KEY]
    assert "access to the project that you don't have" in harness.seen.ephemerals[-1].text


async def test_who_leaves_the_group_loses_the_key_at_once(harness: Harness, asked: list[tuple[str, str]]) -> None:
    root = await say(harness, ALICE, "hello")
    await leaves(harness, ALICE)

    await say(harness, ALICE, "still there?", root)
    await say(harness, ALICE, "a new thread")

    assert [key for key, _ in asked] == [KEY, ""]
    assert "access to the project" in str([one.text for one in harness.seen.ephemerals])


async def test_a_button_of_someone_elses_key_is_refused(harness: Harness, asked: list[tuple[str, str]]) -> None:
    await harness.type_command("/workflows run 3 hello", ALICE)

    await harness.press(AGAIN, user=CAROL)

    assert [key for key, _ in asked] == [KEY]
    assert "access to the project" in harness.seen.ephemerals[-1].text


async def test_a_schedule_runs_with_its_owners_key(harness: Harness, asked: list[tuple[str, str]]) -> None:
    await harness.type_command("/workflows schedule Import daily 9", ALICE)
    [task] = await harness.report_store().all()
    await harness.type_command("/schedules", ALICE)
    await harness.press("report:now", user=ALICE)
    await leaves(harness, ALICE)
    await harness.at(task.due)

    assert [key for key, _ in asked] == [KEY]
    [stored] = await harness.report_store().all()
    assert stored.paused == "key"


async def test_home_shows_what_a_person_may_see_now(harness: Harness, asked: list[tuple[str, str]]) -> None:
    read = harness.served_reads
    await harness.slack.people.open_home(ALICE)
    await harness.work()
    assert {key for key, _ in read} == {KEY}
    read.clear()

    await leaves(harness, ALICE)
    await harness.store.processes["a"].inbox.write(*harness.parts().turns.deps.homes.redraws(TEAM, ALICE))
    await harness.work()

    assert {key for key, _ in read} == {""}
    assert asked == []


async def test_a_menu_of_a_key_has_no_options_for_others(harness: Harness, asked: list[tuple[str, str]]) -> None:
    query = {
        "type": "block_suggestion", "team": {"id": TEAM}, "user": {"id": CAROL, "team_id": TEAM},
        "channel": {"id": GENERAL},
        "container": {"type": "message", "channel_id": GENERAL, "message_ts": "1700000000.000100"},
        "action_id": CHOOSE, "block_id": "0@+FINANCE_KEY", "value": "",
    }  # fmt: skip

    theirs = await harness.interaction({**query, "user": {"id": ALICE, "team_id": TEAM}})
    others = await harness.interaction(query)

    assert "Support" in str(theirs.body)
    assert "Support" not in str(others.body)
    assert asked == []


async def test_if_slack_does_not_say_who_is_in_the_group_nothing_is_sent(
    harness: Harness, asked: list[tuple[str, str]]
) -> None:
    harness.slack.faults.on("usergroups.users.list", Error("missing_scope"), times=None)

    await say(harness, ALICE, "hello")

    assert asked == []
    assert "access to the project" in harness.seen.ephemerals[-1].text


@each("others", [f'"{ALICE}"', f'"{FINANCE}"'])
async def test_a_group_that_slack_does_not_know_takes_nobody_elses_key(harness: Harness, others: str) -> None:
    asked = harness.use_keys(FILE.replace(f'"{FINANCE}"', f'"S0GONE", {others}'), FINANCE_KEY=KEY)

    await say(harness, ALICE, "hello from finance")
    await say(harness, CAROL, "hello from elsewhere")

    assert [key for key, _ in asked] == [KEY]


@pytest.mark.usefixtures("asked")
async def test_statistics_and_recents_are_apart(harness: Harness) -> None:
    await say(harness, ALICE, "hello")
    await harness.type_command("/stats", ALICE)

    keys = [key async for key in harness.store.redis.scan_iter(f"{PREFIX}*FINANCE_KEY*")]
    assert keys
    assert KEY not in str(keys)


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ('{who = ["S0FINANCE"], api_key_env = "NOT_SET"}', "names a variable that isn't set"),
        ('{who = ["S0FINANCE"]}', "projects.default"),
        ('{who = [], api_key_env = "FINANCE_KEY"}', "is empty: list at least one, or remove the entry"),
        (
            '{who = ["C0FINANCE"], api_key_env = "FINANCE_KEY"}',
            'has an invalid entry: use IDs such as "S0123456789" (U… for people, S… for user groups)',
        ),
        ('{who = "S0FINANCE", api_key_env = "FINANCE_KEY"}', 'write it as who = ["S0123456789"]'),
        ('{whos = ["S0FINANCE"], api_key_env = "FINANCE_KEY"}', "isn't a setting: did you mean who?"),
        (
            '{who = ["S0A"], api_key_env = "FINANCE_KEY"}]\nkey = ["x"',
            "projects.default.key isn't a setting: did you mean keys?",
        ),
        (
            '{who = ["S0A"], api_key_env = "FINANCE_KEY"}]\nkey = "x"\nrepeat = ["Support"',
            "put it into PROJECT_API_KEY",
        ),
        ('"S0FINANCE"', 'write it as keys = [{who = ["S0123456789"], api_key_env = "FINANCE_KEY"}]'),
        (
            '{who = ["S0A"], api_key_env = "FINANCE_KEY"}, {who = ["U0B", "S0A"], api_key_env = "OTHER_KEY"}',
            "has S0A in two entries, of which only the first counts: remove it from one",
        ),
        (
            '{who = ["S0A"], api_key_env = "FINANCE_KEY"}, {who = ["S0B"], api_key_env = "FINANCE_KEY"}',
            "has the same key twice",
        ),
    ],
)
def test_what_is_wrong_with_a_key_is_said(tmp_path: Path, table: str, problem: str) -> None:
    file = tmp_path / "bridge.toml"
    file.write_text(f"[projects.default]\nkeys = [{table}]\n", encoding="utf-8")

    with pytest.raises(ConfigurationError) as caught:
        read_config(file, {"FINANCE_KEY": KEY, "OTHER_KEY": KEY}, default_project({}))

    assert problem in str(caught.value.problems)
    assert KEY not in str(caught.value.problems)
