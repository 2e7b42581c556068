"""Samples of the Home tab (`bridge.slack.blockkit.samples`)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import get_args

from bridge.engine.home import Need
from bridge.features.home.layout import Home, home_view, refused_view
from bridge.features.home.recent import ConversationState, RecentActivity, RecentConversation, RecentRun, Unsettled
from bridge.ids import ThreadKey, TurnId
from bridge.project.models import Stats
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.samples import CHANNEL, DAY, FACE, NOON, PAGES, TS, TURN, Sample, agent, sample


def samples(text: str, many: int) -> Iterator[Sample]:
    """Yield samples of the tab."""
    thread = ThreadKey("T1", CHANNEL, TS)
    states = get_args(ConversationState)
    recent = RecentActivity(
        runs=tuple(
            RecentRun(number, text, text if number else "failed", NOON - timedelta(hours=number), CHANNEL, TS)
            for number in range(many)
        ),
        conversations=tuple(
            RecentConversation(thread, 7, NOON, states[number % len(states)]) for number in range(many + len(states))
        ),
        unsettled=tuple(
            Unsettled(TurnId(TURN), state, NOON, name, text, CHANNEL, TS, TS)
            for state in ("unknown", "running", "given up")
            for name in (text, "")
        ),
    )
    rows = [kit.row(text[:200], kit.button(text, "x", "y"), NOON - DAY, PAGES)]
    home = Home(
        agents=[agent(text, number) for number in range(many)],
        stats=Stats(promptCount=7),
        now=NOON,
        recent=recent,
        words={thread: text},
        needs=[Need(NOON, tuple(rows))] * many,
        of_features=[rows],
        numbers=rows,
        workspace=PAGES,
        faces={7: FACE},
        projects=[(f"p{number}", text) for number in range(many)],
        chosen="p1",
    )
    yield sample(home_view, home, CHANNEL)
    yield sample(home_view, Home(None, Stats(), NOON, may_run=False, may_set=False), CHANNEL)
    yield sample(home_view, Home(None, None, NOON, recent=recent), CHANNEL)
    yield sample(home_view, Home([], Stats(), NOON, is_down=True), CHANNEL)
    yield sample(refused_view, text)
