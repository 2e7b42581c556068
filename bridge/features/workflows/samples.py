"""Samples of workflows and their runs (`bridge.slack.blockkit.samples`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from bridge.ends.samples import all_errors, project_errors
from bridge.errors import BadInput
from bridge.features.workflows import layout, run_card
from bridge.features.workflows.forms import run_form
from bridge.features.workflows.records import RunEnded
from bridge.features.workflows.run_card import Run
from bridge.project.models import RunResult, WorkflowDetail
from bridge.slack.blockkit.samples import DAY, LINK, NOON, ORIGIN, PAGE, TURN, Sample, sample, untyped, workflow


def samples(text: str, many: int) -> Iterator[Sample]:
    """Yield samples of workflows."""
    active, inactive = workflow(text), workflow(text, 4)
    workflows = [workflow(text, number) for number in range(many)]
    yield sample(
        layout.workflow_list, workflows, text, may_run=True, needs={0: text[:200]}, are_hidden=True, project=text
    )
    yield sample(layout.workflow_list, workflows, page=1)
    for shape in untyped(text):
        detail = WorkflowDetail(name=text, description=text, trigger_type=text, nodes=shape, edges=shape)
        yield sample(layout.workflow_card, active, detail, is_whole=True, needs=text, url=PAGE, project=text)
    yield sample(layout.workflow_card, inactive, WorkflowDetail(), may_run=False)
    yield sample(run_form, active, ORIGIN, typed=text, is_remembered=True)
    yield sample(run_form, inactive, ORIGIN, typed=text, kind="json")
    yield sample(run_form, None, ORIGIN)
    run = Run(3, text, text, text, TURN, url=PAGE, project=text, approved_by=text)
    runs = [
        run,
        Run(3, text, {text: text}, text, TURN),
        replace(run, app=text),
        replace(run, schedule=text, owner=text),
    ]
    for started in runs:
        yield sample(run_card.running, started, is_long=started is run)
        yield sample(run_card.unknown, started)
    results: list[dict[str, Any]] = [
        *({"output": shape, "nodeResults": shape} for shape in untyped(text)),
        {"output": None},
        {"status": "failed", "error": text},
        {"status": "failed", "nodeResults": {text: {"status": "failed", "error": text}}},
        {"status": "failed"},
        {"output": [text] * many},
    ]
    for fields in results:
        result = RunResult.model_validate({"runId": 4711, "status": "completed", **fields})
        yield sample(run_card.finished, run, result, DAY, exact=result.output)
        yield sample(run_card.full_output, result.output)
        yield sample(run_card.node_results, result.nodeResults)
    yield sample(run_card.finished, run, RunResult(runId=text, status=text), DAY)
    for error in all_errors(text):
        yield sample(run_card.failed, run, error, DAY)
    yield sample(run_card.failed, run, BadInput(text, 1, 1))
    for failure in project_errors(text):
        yield sample(run_card.unknown, run, failure)
    ended = RunEnded(turn=TURN, name=text, status=text, took=text)
    yield sample(run_card.run_ended, ended, LINK)
    yield sample(run_card.run_ended, RunEnded(turn=TURN, name=text, status=text), "")
    yield sample(run_card.were_skipped, NOON)
    for one in (active, inactive):
        for typed in untyped(text):
            yield sample(run_card.confirm, one, typed, shows_input=True)
        yield sample(run_card.confirm, one, text)
        yield sample(run_card.confirmed, one)
    yield sample(run_card.not_json, active, text, BadInput(text, 1, 1), TURN)
    yield sample(run_card.offer_fix, active, TURN)
    yield sample(run_card.runs_as_text, active)
