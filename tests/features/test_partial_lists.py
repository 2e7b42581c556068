"""Lists of which the service says that they're a part: nothing takes them for the whole."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bridge.features.buttons import FIND
from bridge.features.conversations.menu import CHOOSE
from bridge.playground.emulator.sample import ALICE, BRIDGE, GENERAL
from support.harness import SUPPORT, WORKFLOW, Harness
from support.sample_posts import US
from support.tables import each

PART = "The project service lists only some of its"
SIXTY = {"id": 60, "name": "Sixty", "model": "m"}
SEVENTY = {**WORKFLOW, "id": 70, "name": "Seventy"}


@pytest.fixture
def harness(harness: Harness) -> Harness:
    harness.service.page = {"next_cursor": "abc"}
    harness.service.unlisted = [SIXTY, SEVENTY]
    return harness


@pytest.mark.parametrize(
    ("line", "noun"),
    [
        ("/workflows", "workflow"),
        ("/workflows list Nothing", "workflow"),
        ("/agents", "agent"),
        ("/agents list Nothing", "agent"),
    ],
)
async def test_a_list_that_is_a_part_says_so(harness: Harness, line: str, noun: str) -> None:
    await harness.type_command(line)
    assert f"{PART} {noun}s. Type an ID" in str(harness.seen.ephemerals[-1].blocks)

    harness.service.page = {}
    harness.monotonic += 10
    await harness.type_command(line)
    assert PART not in str(harness.seen.ephemerals[-1].blocks)


async def options(harness: Harness, action_id: str, form: str, typed: str = "") -> tuple[str, list[dict[str, Any]]]:
    """Return what stands above the options of a menu, and the options."""
    asked = {
        "type": "block_suggestion", "team": {"id": US.team}, "user": {"id": ALICE, "team_id": US.team},
        "channel": {"id": GENERAL}, "action_id": action_id, "block_id": "b", "value": typed,
        **({"view": {"callback_id": form}} if form else {}),
    }  # fmt: skip
    answer = json.loads((await harness.interaction(asked)).body)
    (group,) = answer.get("option_groups") or [{"label": {"text": ""}, "options": answer.get("options")}]
    return group["label"]["text"], group["options"]


MENUS = [
    (CHOOSE, "", "agent"), (FIND, "", "workflow"), ("agent", "ask", "agent"), ("agent", "default", "agent"),
    ("app:", "default", "agents and workflow"),
]  # fmt: skip


@each(("action_id", "form", "noun"), MENUS)
async def test_a_searchable_menu_of_a_part_says_so(harness: Harness, action_id: str, form: str, noun: str) -> None:
    harness.service.page = {"next_cursor": "abc"}
    harness.monotonic += 10
    part, some = await options(harness, action_id, form)
    _, unlisted = await options(harness, action_id, form, "70" if noun == "workflow" else "60")
    harness.service.page = {}
    harness.monotonic += 10
    whole, same = await options(harness, action_id, form)

    assert part == f"Only some {noun}s are listed. Type an ID for the others."
    assert unlisted[-1]["text"]["text"].endswith("Seventy" if noun == "workflow" else "Sixty")
    assert (whole, same) == ("", some)


async def test_a_searchable_menu_says_how_many_there_are(harness: Harness) -> None:
    harness.service.page = {}
    harness.service.agents = [{**SUPPORT, "id": id_, "name": f"Agent {id_}"} for id_ in range(1, 151)]

    label, first = await options(harness, CHOOSE, "")
    assert (label, len(first)) == ("The first 100 of 150 agents. Type to find the others.", 100)
    label, (found,) = await options(harness, CHOOSE, "", "Agent 150")
    assert (label, found["value"]) == ("", "150")


async def test_an_id_is_typed_instead_of_choosing_in_the_menu(harness: Harness) -> None:
    root = await harness.say(f"<@{BRIDGE}> hello")
    await harness.say("60", root)
    await harness.type_command("/stats agents")

    assert [(body["agent"], body["message"]) for body in harness.service.asked] == [(60, "hello")]
    assert "Sixty" in harness.seen.ephemerals[-1].text


async def test_home_says_that_its_agents_are_a_part(harness: Harness) -> None:
    await harness.slack.people.open_home(ALICE)
    await harness.work()

    assert f"{PART} agents" in str(harness.seen.homes[-1]["view"])


@pytest.mark.parametrize("page", [{}, {"total": 2}])
@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ("/workflows show 70", "Seventy"),
        ("/agents show 60", "Sixty"),
        ("/workflows run 70 hello", "Seventy"),
        ("/agents chat 60 hello", "Sixty"),
        ("/agents default 60", "Sixty"),
    ],
)
async def test_an_id_that_is_not_listed_is_asked_of_the_service(
    harness: Harness, line: str, seen: str, page: dict[str, int]
) -> None:
    harness.service.page = page
    await harness.type_command(line)

    texts = [one.text + str(one.blocks) for one in (*harness.seen.messages, *harness.seen.ephemerals)]
    assert [text for text in texts if seen in text]
    assert harness.service.started == ([(70, "hello")] if "run" in line else [])
    assert [body["agent"] for body in harness.service.asked] == ([60] if "chat" in line else [])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("/workflows show 99", "No workflow 99. /workflows lists them all."),
        ("/workflows show Nothing", "The project service lists only some workflows, and “Nothing” isn't one of them."),
    ],
)
async def test_what_the_service_does_not_have_is_refused(harness: Harness, line: str, said: str) -> None:
    await harness.type_command(line)

    assert said in harness.seen.ephemerals[-1].text


async def test_the_only_agent_of_a_part_does_not_answer_unasked(harness: Harness) -> None:
    harness.service.agents = [SUPPORT]
    await harness.say(f"<@{BRIDGE}> hello")

    (menu,) = harness.seen.replies("bridge_menu")
    assert f"{PART} agents" in str(menu.blocks)
    await harness.press(CHOOSE, "7")
    assert [body["agent"] for body in harness.service.asked] == [7]


@pytest.mark.parametrize("how", ["named", "default here", "default"])
async def test_an_agent_that_is_not_listed_answers(harness: Harness, how: str) -> None:
    if how == "default":
        harness.configure(BRIDGE_DEFAULT_AGENT="60")
    if how == "default here":
        await harness.type_command("/agents default 60")
    await harness.say(f"<@{BRIDGE}> {'60: ' if how == 'named' else ''}hello", channel=GENERAL)

    assert [(body["agent"], body["message"]) for body in harness.service.asked] == [(60, "hello")]
