"""What buttons and menus do. The action ids stand beside the blocks that carry them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bridge.features.agents import asking
from bridge.features.agents.defaults import open_default_form
from bridge.features.conversations import answers, layout as conversations, menu, notices, stops
from bridge.features.conversations.commands import continue_session
from bridge.features.deps import Call, Deps
from bridge.features.home import commands as home
from bridge.features.listing import TURNS, turned
from bridge.features.naming import agent_name
from bridge.features.plan import (
    AskEdited,
    CastVote,
    ChooseAgent,
    Nothing,
    Plan,
    QueueMessage,
    Resume,
    SendAgain,
    Show,
    ShowAfterAll,
)
from bridge.features.reports import commands as reports
from bridge.features.workflows import layout as workflows, run_card as runs
from bridge.features.workflows.running import (
    ask_for_input,
    ask_to_mend,
    check_runner,
    start,
    start_as_text,
    workflow_by_id,
)
from bridge.ids import ThreadKey, TurnId
from bridge.inbound import Click, InboundMessage


class _RunValue(BaseModel):
    """The value of a button that runs something, as `bridge.features.workflows.run_card.again_value` makes it."""

    model_config = ConfigDict(frozen=True)

    workflow: int | None = Field(default=None, alias="w")
    input: Any = Field(default=None, alias="i")
    kept: str = Field(default="", alias="t")  # the turn that brought an input which is nearly JSON

    @property
    def has_input(self) -> bool:
        """Whether the input was short enough to go along; null is an input too."""
        return "input" in self.model_fields_set


async def clicked(deps: Deps, call: Call, click: Click) -> Plan:
    """Decide what a click does. Raises `BridgeError` as commands do."""
    pressed = _PRESSED.get(click.action_id)
    return await pressed(deps, call, click) if pressed else _unknown(click)


def _unknown(click: Click) -> Nothing:
    return Nothing("unknown action", {"action": click.action_id})


async def _about_a_turn(_deps: Deps, _call: Call, click: Click) -> Plan:
    if click.action_id == notices.ASK_EDITED:
        return AskEdited(click.value, notices.asked_edited(), notices.message_gone())
    if click.action_id in {notices.SHOW, stops.SHOW}:
        asked_at = click.message_ts if click.action_id == notices.SHOW else ""  # a stop asks for more than that
        return ShowAfterAll(click.value, notices.shown_already(), notices.answer_gone(), asked_at)
    return SendAgain(click.value, notices.sent_again(), notices.message_gone())


async def _about_a_slip(_deps: Deps, _call: Call, click: Click) -> Plan:
    """Queue the message as it was meant: the command in its place, or the word as text."""
    slip = notices.Slip.parse(click.value)
    if slip is None:
        return _unknown(click)
    is_text = click.action_id == notices.SLIP_TEXT
    message = InboundMessage(
        team=click.team,
        channel=click.channel,
        user=click.user,
        user_team=click.user_team,
        is_shared=click.is_shared,
        text=f"!{slip.word if is_text else slip.command}",
        ts=slip.m,
        thread_ts=slip.t,
        is_mention=slip.a,
        is_direct=click.channel.startswith("D"),
        is_text=is_text,
    )
    return QueueMessage(
        message, notices.slip_settled("" if is_text else slip.command), in_order=is_text or slip.command == "new"
    )


async def _about_an_answer(_deps: Deps, _call: Call, click: Click) -> Plan:
    vote = answers.read_vote(click.value)
    if vote is None:
        return _unknown(click)
    is_up, of = vote
    return CastVote(of.turn, of.agent, of.session, is_up, notices.thanks(is_up=is_up))


async def _about_a_stop(_deps: Deps, _call: Call, click: Click) -> Plan:
    return Resume(_thread_of(click), drop=click.action_id == stops.DROP)


async def _continue(deps: Deps, call: Call, click: Click) -> Plan:
    return await continue_session(deps, call, click.value)


async def _show_nodes(deps: Deps, _call: Call, click: Click) -> Plan:
    return Show(runs.node_results(await deps.results.get(TurnId(click.value))))


async def _run(deps: Deps, call: Call, click: Click) -> Plan:
    is_sure = click.action_id == runs.CONFIRM
    await check_runner(deps, click.user)
    value = _run_value(click)
    if value.workflow is None:
        return await ask_for_input(deps, call, None)
    workflow = await workflow_by_id(deps, value.workflow)
    if not value.has_input:
        return await ask_for_input(deps, call, workflow, is_sure=is_sure)
    return start(workflow, value.input, is_sure=is_sure, replaces=runs.confirmed(workflow) if is_sure else None)


async def _about_an_input(deps: Deps, call: Call, click: Click) -> Plan:
    await check_runner(deps, click.user)
    value = _run_value(click)
    if value.workflow is None:
        return _unknown(click)
    workflow = await workflow_by_id(deps, value.workflow)
    do = start_as_text if click.action_id == runs.AS_TEXT else ask_to_mend
    return await do(deps, call, workflow, value.kept)


async def _open_form(deps: Deps, call: Call, click: Click) -> Plan:
    await check_runner(deps, click.user)
    value = _run_value(click)
    workflow = await workflow_by_id(deps, value.workflow) if value.workflow is not None else None
    return await ask_for_input(deps, call, workflow)


async def _open_chosen(deps: Deps, call: Call, click: Click) -> Plan:
    await check_runner(deps, click.user)
    if not click.value.isdecimal():
        return _unknown(click)
    return await ask_for_input(deps, call, await workflow_by_id(deps, int(click.value)))


async def _open_default_form(deps: Deps, call: Call, _click: Click) -> Plan:
    return await open_default_form(deps, call)


async def _choose(deps: Deps, _call: Call, click: Click) -> Plan:
    if not click.value.isdecimal():
        return _unknown(click)
    chosen = menu.chosen(await agent_name(deps, int(click.value)))
    return ChooseAgent(_thread_of(click), int(click.value), chosen, menu.chosen_before())


def _thread_of(click: Click) -> ThreadKey:
    """Find the thread of a message with buttons; one that is in none begins its own."""
    return ThreadKey(click.team, click.channel, click.thread_ts or click.message_ts)


def _run_value(click: Click) -> _RunValue:
    """Read a button's value; one of another release that is not understood opens the empty form."""
    try:
        return _RunValue.model_validate_json(click.value)
    except ValidationError:
        return _RunValue()


_PRESSED: Final[dict[str, Callable[[Deps, Call, Click], Awaitable[Plan]]]] = {
    runs.AGAIN: _run,
    runs.CONFIRM: _run,
    runs.FORM: _open_form,
    runs.MEND: _about_an_input,
    runs.AS_TEXT: _about_an_input,
    runs.NODES: _show_nodes,
    notices.SEND_AGAIN: _about_a_turn,
    notices.ASK_EDITED: _about_a_turn,
    notices.SHOW: _about_a_turn,
    stops.SHOW: _about_a_turn,
    notices.SLIP_COMMAND: _about_a_slip,
    notices.SLIP_TEXT: _about_a_slip,
    answers.FEEDBACK: _about_an_answer,
    menu.CHOOSE: _choose,
    workflows.RUN: _open_chosen,
    asking.OPEN_DEFAULT: _open_default_form,
    conversations.CONTINUE: _continue,
    **dict.fromkeys((stops.GO_ON, stops.DROP), _about_a_stop),
    **dict.fromkeys(reports.BUTTONS, reports.pressed),
    **dict.fromkeys(home.BUTTONS, home.pressed),
    **dict.fromkeys(TURNS, turned),
}
"""What each button and menu does, by its action id."""
