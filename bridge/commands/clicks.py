"""What buttons and menus do. The action ids stand beside the blocks that carry them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from bridge.blocks import menu, notices, runs
from bridge.commands.deps import Call, Deps
from bridge.commands.naming import agent_name
from bridge.commands.running import ask_for_input, check_runner, start, workflow_by_id
from bridge.ids import ThreadKey, TurnId
from bridge.inbound import Click
from bridge.turns.plan import ChooseAgent, Nothing, Plan, SendAgain, Show


class _RunValue(BaseModel):
    """The value of a button that runs something, as `bridge.blocks.runs.again_value` makes it."""

    model_config = ConfigDict(frozen=True)

    workflow: int | None = Field(default=None, alias="w")
    input: Any = Field(default=None, alias="i")

    @property
    def has_input(self) -> bool:
        """Whether the input was short enough to go along; null is an input too."""
        return "input" in self.model_fields_set


async def clicked(deps: Deps, call: Call, click: Click) -> Plan:
    """Decide what a click does. Raises `BridgeError` as commands do."""
    plan: Plan = Nothing("unknown action", {"action": click.action_id})
    match click.action_id:
        case runs.AGAIN | runs.CONFIRM:
            plan = await _run(deps, call, click)
        case runs.FORM:
            plan = await _open_form(deps, call, click)
        case runs.NODES:
            plan = Show(runs.node_results(await deps.results.get(TurnId(click.value))))
        case notices.SEND_AGAIN:
            plan = SendAgain(click.value, notices.sent_again(), notices.message_gone())
        case menu.CHOOSE if click.value.isdecimal():
            plan = await _choose(deps, click, int(click.value))
    return plan


async def _run(deps: Deps, call: Call, click: Click) -> Plan:
    is_sure = click.action_id == runs.CONFIRM
    await check_runner(deps, click.user)
    value = _run_value(click)
    if value.workflow is None:
        return ask_for_input(call, None)
    workflow = await workflow_by_id(deps, value.workflow)
    if not value.has_input:
        return ask_for_input(call, workflow, is_sure=is_sure)
    return start(workflow, value.input, is_sure=is_sure, replaces=runs.confirmed(workflow) if is_sure else None)


async def _open_form(deps: Deps, call: Call, click: Click) -> Plan:
    await check_runner(deps, click.user)
    value = _run_value(click)
    return ask_for_input(call, await workflow_by_id(deps, value.workflow) if value.workflow is not None else None)


async def _choose(deps: Deps, click: Click, agent: int) -> Plan:
    thread = ThreadKey(click.team, click.channel, click.thread_ts or click.message_ts)
    return ChooseAgent(thread, agent, menu.chosen(await agent_name(deps, agent)), menu.chosen_before())


def _run_value(click: Click) -> _RunValue:
    """Read a button's value; one of another release that is not understood opens the empty form."""
    try:
        return _RunValue.model_validate_json(click.value)
    except ValidationError:
        return _RunValue()
