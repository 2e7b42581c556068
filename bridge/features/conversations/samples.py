"""Samples of conversations: answers, menus, stops and notices (`bridge.slack.blockkit.samples`)."""

from __future__ import annotations

from collections.abc import Iterator

from bridge.features.buttons import Answered
from bridge.features.conversations import fences, layout, menu, stops
from bridge.features.conversations.answers import answer_reply
from bridge.ids import TurnId
from bridge.slack.blockkit.samples import FACE, LINK, TURN, Sample, agent, sample, speaker, untyped


def samples(text: str, many: int) -> Iterator[Sample]:
    """Yield samples of conversations."""
    one, voice, button = agent(text), speaker(text), text[:500]
    vote = Answered(TurnId(TURN), 7, 7)
    for tools in untyped(text):
        yield sample(
            answer_reply, text, tools, notes=[text] * many, feedback=vote, by=text, project=text, speaker=voice
        )
    yield sample(answer_reply, text)
    yield sample(answer_reply, f"```choices\n{text}\n{text}\n```\n```csv a.csv\n{text}\n```", has_files=True)
    yield sample(fences.question, [text] * max(many, 1), voice)
    yield sample(fences.question, ["Yes", "No"], None)
    yield sample(fences.wasnt_asked, text, button)
    yield sample(fences.answered, text, text)
    yield sample(fences.answered, text, "")
    yield sample(layout.still_working, text, TURN, button)
    yield sample(layout.still_working, "", TURN, button)
    yield sample(layout.answer_shown, text, LINK)
    yield sample(layout.answer_shown, "", "")
    yield sample(layout.handed_over, text, text, 7, voice)
    yield sample(layout.handed_over, text, text, None)
    yield sample(layout.handed_over, text, "", None)
    yield sample(layout.answers_already, text)
    for before in (8, None):
        yield sample(layout.ask_to_continue, 7, text, before, button)
        yield sample(layout.continued, 7, text, before)
    yield sample(layout.continues_already, 7)
    yield sample(layout.no_such_session, text)
    yield sample(layout.several_sessions, text, [text, "Support"])
    yield sample(layout.greeting, one, voice)
    yield sample(layout.greeting, None)
    agents = [agent(text, number) for number in range(max(many, 1))]
    yield sample(menu.agent_menu, agents, one, faces={7: FACE}, may_set_default=True)
    yield sample(menu.agent_menu, agents)
    yield sample(menu.chosen, 7, text, face=FACE, may_set_default=True)
    yield sample(menu.chosen, 7, text)
    for result in ("queued", "sent", "posting", "late", "withdrawn", "nothing"):
        for waiting in (0, 1, 7):
            yield sample(stops.stop_shown, result, TURN, waiting)
    for is_dropped in (True, False):
        yield sample(stops.decided, 1, "held", is_dropped=is_dropped)
        yield sample(stops.decided, 7, f"{stops.SHOW} {TURN}", is_dropped=is_dropped)
