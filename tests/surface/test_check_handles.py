"""How `bridge check` compares the agents' handles with the workspace's user groups."""

from __future__ import annotations

from bridge.cli.check.slack import handle_rows
from bridge.cli.rows import OK, WARNING
from bridge.errors import SlackRefused
from bridge.features.agents.handles import Handle
from bridge.slack.user_groups import UserGroup
from support.tables import each

STORED = {"S1": Handle(agent=7, handle="support", owner="U1", team="T1").model_dump_json()}


@each(
    ("groups", "state", "detail"),
    [
        ({"S1": UserGroup("S1", handle="support")}, OK, "1 handle"),
        ({"S1": UserGroup("S1", handle="support", is_disabled=True)}, WARNING, "@support of agent 7 is disabled"),
        ({"S1": UserGroup("S1", handle="helpers")}, WARNING, "@helpers of agent 7 is renamed"),
        ({}, WARNING, "@support of agent 7 is removed"),
        ({"S2": UserGroup("S2", handle="support")}, WARNING, "@support of agent 7 is used by another group"),
        (SlackRefused("usergroups.list", "missing_scope"), WARNING, "can't be looked up"),
    ],
)
def test_a_handle_is_compared_with_its_group(
    groups: dict[str, UserGroup] | SlackRefused, state: str, detail: str
) -> None:
    (row,) = handle_rows(STORED, groups)

    assert row.state == state
    assert detail in row.detail


def test_no_handles_are_no_row() -> None:
    assert handle_rows({}, {"S1": UserGroup("S1")}) == []


def test_handles_without_a_look_at_slack_are_no_row() -> None:
    assert handle_rows(STORED, None) == []
