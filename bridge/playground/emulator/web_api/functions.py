"""``functions.*``: results of workflow steps: https://docs.slack.dev/reference/methods/functions.completeSuccess."""

from __future__ import annotations

from bridge.playground.emulator.entities import Execution, Json
from bridge.playground.emulator.refusal import Refusal
from bridge.playground.emulator.web_api.method import Family, MethodCall

family = Family()


@family.method("functions.completeSuccess")
def complete_success(call: MethodCall) -> Json:
    """Complete the step, with its outputs."""
    outputs = call.json("outputs")
    if not isinstance(outputs, dict):
        raise Refusal("parameter_validation_failed", messages=["[ERROR] missing required field: outputs"])
    execution = _running(call)
    execution.status, execution.outputs = "completed", outputs
    call.workspace.execute(execution)
    return {"ok": True}


@family.method("functions.completeError")
def complete_error(call: MethodCall) -> Json:
    """Fail the step, with an error."""
    error = call.need("error")
    execution = _running(call)
    execution.status, execution.error = "failed", error
    call.workspace.execute(execution)
    return {"ok": True}


def _running(call: MethodCall) -> Execution:
    execution = call.workspace.executions.get(call.need("function_execution_id"))
    if execution is None:
        raise Refusal("function_execution_not_found")
    if execution.status != "running":
        raise Refusal("execution_not_in_running_state")
    return execution
