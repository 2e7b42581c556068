"""What forms do once they are filled in."""

from __future__ import annotations

from bridge.blocks.forms import RUN, FormErrors, Origin, read_run_form
from bridge.commands.deps import Call, Deps
from bridge.commands.running import check_runner, start, workflow_by_id
from bridge.inbound import Submission
from bridge.turns.plan import Nothing, Plan


async def submitted(deps: Deps, call: Call, submission: Submission) -> Plan:
    """Decide what a form does. Raises `BridgeError` as commands do."""
    if submission.form != RUN:
        return Nothing("unknown form", {"form": submission.form})
    await check_runner(deps, call.user)
    request = read_run_form(submission.values)
    if isinstance(request, FormErrors):  # the door shows these under the fields and lets no such form in
        return Nothing("form not filled in", dict.fromkeys(request.by_block, "wrong"))
    workflow = await workflow_by_id(deps, request.workflow)
    return start(workflow, request.input, is_sure=Origin.parse(submission.private_metadata).is_sure)
