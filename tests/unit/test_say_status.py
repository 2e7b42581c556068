"""The sign that an agent works: shown where it can be, cleared always, in nobody's way."""

from __future__ import annotations

from datetime import timedelta

import pytest

from bridge.slack.api import SlackWeb
from bridge.slack.history import Place
from bridge.slack.indicators import RENEW, Indicators, working
from support.clocks import Clock
from support.saying import US
from support.waiting import wait_until
from support.wire_slack import CutOff, Raw, Reaction, WireSlack, limited, refused

AGENTS = "agents.sessions.setStatus"
ASSISTANT = "assistant.threads.setStatus"
RENAME = "agents.sessions.rename"
PROMPTS = "assistant.threads.setSuggestedPrompts"
HERE = Place("C1", "1.1")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def indicators(web: SlackWeb, clock: Clock) -> Indicators:
    return Indicators(web, US, monotonic=clock)


async def test_the_newer_method_is_used_where_it_is_there(slack: WireSlack, indicators: Indicators) -> None:
    await indicators.show_working(HERE, "is thinking…")
    await indicators.clear_working(HERE)

    assert slack.asked == [
        (AGENTS, {"channel_id": "C1", "thread_ts": "1.1", "status": "processing"}),
        (AGENTS, {"channel_id": "C1", "thread_ts": "1.1", "status": "active"}),
    ]


@pytest.mark.parametrize("error", ["feature_disabled", "unknown_method", "not_agent_app", "missing_scope"])
async def test_where_it_is_not_the_older_one_is_used_and_the_newer_left_alone_for_an_hour(
    slack: WireSlack, indicators: Indicators, clock: Clock, error: str
) -> None:
    slack.script[AGENTS] = [refused(error)]

    await indicators.show_working(HERE, "is thinking…")
    await indicators.clear_working(HERE)
    clock.time += 3601
    await indicators.clear_working(HERE)

    assert slack.methods() == [AGENTS, ASSISTANT, ASSISTANT, AGENTS, ASSISTANT]
    assert [call["status"] for call in slack.calls(ASSISTANT)] == ["is thinking…", "", ""]


async def test_where_neither_is_there_nothing_is_asked_any_more(slack: WireSlack, indicators: Indicators) -> None:
    slack.script[AGENTS] = [refused("unknown_method")]
    slack.script[ASSISTANT] = [refused("not_agent_app")]

    for _ in range(3):
        await indicators.show_working(HERE, "is thinking…")
        await indicators.clear_working(HERE)

    assert slack.methods() == [AGENTS, ASSISTANT]


async def test_a_refusal_of_one_thread_says_nothing_about_the_others(slack: WireSlack, indicators: Indicators) -> None:
    slack.script[AGENTS] = [refused("not_authorized"), {"ok": True}]

    await indicators.show_working(HERE, "is thinking…")
    await indicators.show_working(Place("C2", "2.2"), "is thinking…")

    assert slack.methods() == [AGENTS, AGENTS]


@pytest.mark.parametrize("reaction", [CutOff(), limited(5), Raw(status=500), Raw("<p>")])
async def test_nothing_that_slack_does_is_an_error(
    slack: WireSlack, indicators: Indicators, reaction: Reaction
) -> None:
    slack.script[AGENTS] = [reaction]

    await indicators.show_working(HERE, "is thinking…")
    await indicators.clear_working(HERE)

    assert len(slack.calls(AGENTS)) == 2


async def test_only_twenty_are_shown_a_minute_but_all_of_those_are_cleared(
    slack: WireSlack, indicators: Indicators, clock: Clock
) -> None:
    places = [Place("C1", f"{number}.0") for number in range(25)]
    for place in places:
        await indicators.show_working(place, "is thinking…")
    for place in places:
        await indicators.clear_working(place)

    shown = [call["thread_ts"] for call in slack.calls(AGENTS) if call["status"] == "processing"]
    cleared = [call["thread_ts"] for call in slack.calls(AGENTS) if call["status"] == "active"]
    assert shown == cleared == [place.thread_ts for place in places[:20]]

    clock.time += 61
    await indicators.show_working(places[24], "is thinking…")
    assert slack.calls(AGENTS)[-1]["thread_ts"] == "24.0"


async def test_a_block_that_is_quick_shows_no_sign(slack: WireSlack, indicators: Indicators) -> None:
    async with working(indicators, HERE, "Support"):
        pass

    assert slack.asked == []


async def test_a_sign_stays_as_long_as_the_agent_works_although_slack_clears_it(
    slack: WireSlack, indicators: Indicators
) -> None:
    async with working(indicators, HERE, "Support", renew=timedelta(milliseconds=20)):
        await wait_until(lambda: len(slack.calls(AGENTS)) >= 3, "it is shown for the third time")
    shown = [call["status"] for call in slack.calls(AGENTS)]

    assert shown == ["processing"] * (len(shown) - 1) + ["active"]
    assert timedelta(minutes=2) > RENEW, "how long Slack shows it"


async def test_signs_that_are_shown_anew_count_as_shown_and_all_are_cleared(
    slack: WireSlack, indicators: Indicators, clock: Clock
) -> None:
    places = [Place("C1", f"{number}.0") for number in range(15)]
    for place in places:
        await indicators.show_working(place, "is thinking…")
    clock.time += 30
    for place in places:
        await indicators.show_working(place, "is thinking…")
    for place in places:
        await indicators.clear_working(place)

    told = [call["status"] for call in slack.calls(AGENTS)]
    assert (told.count("processing"), told.count("active")) == (20, 15)


async def test_a_sign_that_another_process_set_is_cleared(slack: WireSlack, indicators: Indicators) -> None:
    await indicators.clear_working(HERE)

    assert slack.methods() == [AGENTS]


async def test_outside_of_a_thread_there_is_no_sign(slack: WireSlack, indicators: Indicators) -> None:
    await indicators.show_working(Place("C1"), "is thinking…")
    await indicators.clear_working(Place("C1"))

    assert slack.asked == []


async def test_the_older_method_shows_in_turn_two_texts_that_are_both_true(
    slack: WireSlack, indicators: Indicators
) -> None:
    slack.script[AGENTS] = [refused("unknown_method")]

    await indicators.show_working(HERE, "is asking Support…")

    assert slack.calls(ASSISTANT)[0]["loading_messages"] == ["is asking Support…", "is still waiting for the answer…"]


async def test_a_thread_is_named_but_only_twenty_in_a_minute(slack: WireSlack, indicators: Indicators) -> None:
    for number in range(25):
        await indicators.set_title(Place("D1", f"{number}.0"), f"title {number}")
    await indicators.set_title(HERE, "")

    assert [call["title"] for call in slack.calls(RENAME)] == [f"title {number}" for number in range(20)]
    assert slack.calls(RENAME)[0] == {"channel_id": "D1", "thread_ts": "0.0", "title": "title 0"}


@pytest.mark.parametrize(("error", "calls"), [("feature_disabled", 1), ("not_authorized", 2)])
async def test_titles_are_not_tried_again_where_the_workspace_has_none(
    slack: WireSlack, indicators: Indicators, error: str, calls: int
) -> None:
    slack.script[RENAME] = [refused(error)]

    await indicators.set_title(HERE, "one")
    await indicators.set_title(HERE, "two")

    assert len(slack.calls(RENAME)) == calls


async def test_prompts_are_offered_without_a_thread(slack: WireSlack, indicators: Indicators) -> None:
    prompts = [{"title": "Ask", "message": "Support: What can you do?"}]

    await indicators.suggest_prompts("D1", prompts)
    await indicators.suggest_prompts("D1", [])

    assert slack.asked == [(PROMPTS, {"channel_id": "D1", "prompts": prompts})]
