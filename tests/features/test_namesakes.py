"""Agents and workflows whose names look the same: wherever several are shown, they can be told apart by their IDs."""

from __future__ import annotations

from typing import Any

import pytest

from bridge.features.alerts.store import AlertStore
from bridge.features.buttons import ALERT_FORM
from bridge.names.matching import Called, namesakes
from bridge.playground.emulator.sample import ALICE, BOB, BRIDGE, RANDOM
from support.harness import SUPPORT, WORKFLOW, Harness
from support.tables import each

LONG = "Nightly export of all orders and invoices of the European subsidiary to the warehouse "
TWINS = [SUPPORT, SUPPORT | {"id": 9}]
FLOWS = [WORKFLOW, WORKFLOW | {"id": 5}]


@each(
    ("names", "alike"),
    [
        (["Import", "Export"], []),
        (["Import", "import ", "Export"], [0, 1]),
        (["Straße", "STRASSE"], [0, 1]),
        ([f"{LONG}EU", f"{LONG}US", LONG[:50]], [0, 1]),
        ([f"{LONG}EU", f"{LONG}EU"], [0, 1]),
        ([f"EU {LONG}", f"US {LONG}"], []),
        (["", ""], [0, 1]),
    ],
)
def test_namesakes_are_those_that_look_the_same(names: list[str], alike: list[int]) -> None:
    assert namesakes([Called(*pair) for pair in enumerate(names)], 75) == set(alike)


def test_a_stored_name_is_no_namesake_of_itself() -> None:
    assert namesakes([Called(7, "Support"), Called(7, "Support")], 75) == set()


async def typed(harness: Harness, *lines: str) -> str:
    """Type commands, confirm an alert's preview, and return the last private reply."""
    for line in lines:
        await harness.type_command(line)
        if "'alert:save'" in str([reply.blocks for reply in harness.seen.ephemerals[-1:]]):
            await harness.press("alert:save")
    return "".join(reply.words for reply in harness.seen.ephemerals[-1:])


def texts_of(blocks: Any, kind: str) -> list[str]:
    """Return the texts of the elements of a *kind* in blocks, in order."""
    if isinstance(blocks, list):
        return [text for block in blocks for text in texts_of(block, kind)]
    if not isinstance(blocks, dict):
        return []
    own = [blocks["text"]] if blocks.get("type") == kind else []
    texts = [text if isinstance(text, str) else str(text["text"]) for text in own]
    return texts + [text for value in blocks.values() for text in texts_of(value, kind)]


@pytest.fixture
def twins(harness: Harness) -> Harness:
    harness.service.agents, harness.service.workflows = TWINS, FLOWS
    return harness


@pytest.mark.parametrize(
    ("lines", "lists", "shown"),
    [
        (
            ['/agents ask 7 every day at 9 "What changed?"', '/agents ask 9 every day at 9 "What changed?"'],
            "/schedules",
            ["Ask Support (ID 7) every day", "Ask Support (ID 9) every day"],
        ),
        (
            ["/workflows schedule 3 every day at 9", "/workflows schedule 5 every day at 9"],
            "/schedules",
            ["Run Import (ID 3) every day", "Run Import (ID 5) every day"],
        ),
        (
            ["/stats alert agent 7 p95 > 60s", "/stats alert workflow 5 fails"],
            "/stats alerts",
            ['agent "Support (ID 7)" p95', 'workflow "Import (ID 5)" fails'],
        ),
        (["/stats alert runs < 1 in 24h then run 5"], "/stats alerts", ["runs Import (ID 5)"]),
    ],
    ids=["questions", "runs", "alerts", "alerts' runs"],
)
async def test_lists_and_home_show_the_ids(twins: Harness, lines: list[str], lists: str, shown: list[str]) -> None:
    listed = await typed(twins, *lines, lists)
    await twins.slack.people.open_home(ALICE)
    await twins.work()
    home = twins.slack.home(ALICE)

    assert home is not None
    in_home = "".join(texts_of(home.content["blocks"], "text"))
    assert [text for text in shown if text not in listed.replace("&gt;", ">") or text not in in_home] == []


async def test_a_previewed_alert_is_changed_by_the_shown_words(twins: Harness) -> None:
    await twins.type_command("/stats alert workflow 5 fails then run 3")
    await twins.press(ALERT_FORM)
    words = twins.seen.forms[-1]["blocks"][0]["element"]["initial_value"]
    await twins.slack.ui.submit(twins.slack.views(ALICE)[-1].id, {"condition": words}, ALICE)
    await twins.work()
    await twins.press("alert:save")

    (alert,) = await AlertStore(twins.store.scripts).all()
    assert words == 'workflow "Import (ID 5)" fails in 1h then run "Import (ID 3)"'
    assert (alert.spec.target, alert.spec.run, alert.spec.parsed.name) == (5, 3, "Import")


async def test_an_unknown_list_adds_nothing(twins: Harness) -> None:
    await typed(twins, "/stats alert agent 7 p95 > 60s")
    twins.configure()  # a new process, which hasn't read it

    assert 'agent "Support" p95' in await typed(twins, "/stats alerts")


async def test_notices_name_the_id(twins: Harness) -> None:
    await typed(twins, "/agents default 7", "/agents default 9", "/agents channel run 5 A0OTHER")

    assert [notice.words.partition(" in this")[0] for notice in twins.seen.messages] == [
        "Support (ID 7) now answers mentions",
        "Support (ID 9) now answers mentions",
        "Posts from A0OTHER now run the workflow “Import (ID 5)”",
    ]


async def test_buttons_of_a_doubtful_command_differ(twins: Harness) -> None:
    await typed(twins, "/workflows run Import x")

    assert texts_of(twins.seen.ephemerals[-1].blocks, "button")[:2] == ["Import (ID 3)", "Import (ID 5)"]


async def test_the_form_of_a_channel_tells_starts_apart(twins: Harness) -> None:
    await typed(twins, "/agents channel run 5 A0OTHER", "/agents default 9", "/agents channel")
    await twins.press("default:form")
    view = twins.slack.views(ALICE)[-1]

    chosen = [option["text"]["text"] for option in _chosen(view.content["blocks"])]
    options = await twins.slack.ui.suggestions(ALICE, view, "app:", "")

    assert {"Support (ID 9)", "Run Import (ID 5)"} <= set(chosen)
    assert [option["text"]["text"] for option in options] == [
        "Ignored", "Run Import (ID 3)", "Run Import (ID 5)", "Answered by Support (ID 7)", "Answered by Support (ID 9)",
    ]  # fmt: skip


def _chosen(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    fields = [block["element"] for block in blocks if block["type"] == "input"]
    return [field["initial_option"] for field in fields if "initial_option" in field]


async def test_menus_tell_long_names_apart(harness: Harness) -> None:
    harness.service.agents = [SUPPORT | {"name": f"{LONG}EU"}, SUPPORT | {"id": 9, "name": f"{LONG}US"}]
    harness.service.workflows = [WORKFLOW | {"name": f"{LONG}EU"}, WORKFLOW | {"id": 5, "name": f"{LONG}US"}]

    await harness.say(f"<@{BRIDGE}> hello", channel=RANDOM)
    agents = harness.seen.messages[-1].blocks[1]["elements"][0]["options"]
    await harness.type_command("/workflows run")
    workflows = await harness.slack.ui.suggestions(ALICE, harness.slack.views(ALICE)[-1], "workflow", "")

    ends = [option["text"]["text"][-6:] for option in (*agents, *workflows)]
    assert ends == ["(ID 7)", "(ID 9)", "(ID 3)", "(ID 5)"]


async def test_statistics_tell_workflows_apart(twins: Harness) -> None:
    await typed(twins, "/workflows run 3 x", "/workflows run 5 x", "/stats agents")

    shown = twins.seen.ephemerals[-1].text
    assert "Import (ID 3): Runs 1" in shown
    assert "Import (ID 5): Runs 1" in shown


async def test_requests_for_approval_tell_workflows_apart(twins: Harness) -> None:
    twins.use_file(f'[[rules]]\nmay = ["run"]\napprove = {{by = ["{BOB}"]}}\n[[rules]]\n')

    await typed(twins, "/workflows run 3 x", "/workflows run 5 x")

    cards = [card.words for card in twins.seen.replies("bridge_approval")]
    assert ["Import (ID 3)" in cards[0], "Import (ID 5)" in cards[1]] == [True, True]
