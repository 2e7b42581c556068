"""Samples of agents: their list, their card and the form that asks one (`bridge.slack.blockkit.samples`)."""

from __future__ import annotations

from collections.abc import Iterator

from bridge.features.agents import layout
from bridge.features.agents.asking import AgentQuestion, ask_form, question_shown
from bridge.project.models import AgentDetail
from bridge.slack.blockkit.modals import Origin
from bridge.slack.blockkit.samples import CHANNEL, FACE, ORIGIN, PAGE, Sample, agent, sample, untyped


def samples(text: str, many: int) -> Iterator[Sample]:
    """Yield samples of agents."""
    one, agents = agent(text), [agent(text, number) for number in range(many)]
    yield sample(
        layout.agent_list, agents, text, 1, faces={1: FACE}, handles={1: f"@{text[:80]}"}, are_hidden=True, project=text
    )
    yield sample(layout.agent_list, agents)
    for tools in (None, 7, [7], *untyped(text)):
        detail = AgentDetail(name=text, description=text, model=text, welcome_message=text, tools=tools)
        yield sample(layout.agent_card, one, detail, PAGE, text, face=FACE, handle=text)
    yield sample(layout.agent_card, one, AgentDetail(), may_ask=False)
    yield sample(layout.handle_saved, one, text)
    yield sample(layout.handle_removed, one)
    yield sample(layout.not_a_handle, text)
    for error in ("", "paid_teams_only", "no_permission", "missing_scope", "name_already_exists", "bad_handle", text):
        yield sample(layout.no_handle, text, error)
    yield sample(layout.no_handle, text, "subteam_max_users_exceeded")
    for trouble in ("renamed", "used", "disabled", "removed"):
        yield sample(layout.handle_changed, trouble, text, text, text)
        yield sample(layout.handle_changed, trouble, "", "", "")
    yield sample(layout.conversation_root, one, text, text)
    yield sample(layout.conversation_root, one, text)
    yield sample(ask_form, one, ORIGIN, about=text, message=text)
    yield sample(ask_form, None, Origin(channel=CHANNEL))
    yield sample(question_shown, one, AgentQuestion(7, text, text), text, text)
    yield sample(question_shown, one, AgentQuestion(7, text, ""), "", "")
    yield sample(question_shown, one, AgentQuestion(7, text, text), "", "")
