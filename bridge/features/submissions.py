"""What forms do once they are filled in."""

from __future__ import annotations

from bridge.errors import NoSuch
from bridge.features.agents import asking
from bridge.features.agents.defaults import change_default
from bridge.features.agents.layout import default_of_channel
from bridge.features.deps import Call, Deps
from bridge.features.home.commands import agent_by_id
from bridge.features.plan import Nothing, Plan, StartThread
from bridge.features.reports.commands import report_form_sent
from bridge.features.reports.layout import FORM as REPORT
from bridge.features.workflows import forms
from bridge.features.workflows.forms import FormErrors, Origin
from bridge.features.workflows.running import check_runner, start, workflow_by_id
from bridge.ids import ThreadKey
from bridge.inbound import Submission
from bridge.project.models import Agent
from bridge.queue.recent import Remembered
from bridge.slack.blockkit.kit import escape


async def submitted(deps: Deps, call: Call, submission: Submission) -> Plan:
    """Decide what a form does. Raises `BridgeError` as commands do."""
    if submission.form == REPORT:
        return await report_form_sent(deps, call, submission)
    match submission.form:
        case forms.RUN:
            return await _run(deps, call, submission)
        case asking.ASK:
            return await _ask(deps, call, submission)
        case asking.DEFAULT:
            return await _choose_default(deps, call, submission)
    return Nothing("unknown form", {"form": submission.form})


async def _run(deps: Deps, call: Call, submission: Submission) -> Plan:
    await check_runner(deps, call.user)
    request = forms.read_run_form(submission.values)
    if isinstance(request, FormErrors):
        return _not_filled_in(request)
    workflow = await workflow_by_id(deps, request.workflow)
    remembered = Remembered(request.kind, request.typed) if request.is_remembered else None
    await deps.recent.remember(call.team, call.user, workflow.id, remembered)
    return start(workflow, request.input, is_sure=Origin.parse(submission.private_metadata).is_sure)


async def _ask(deps: Deps, call: Call, submission: Submission) -> Plan:
    """Ask in a new thread, or in that of the message that the question is about."""
    question = asking.read_ask_form(submission.values)
    if isinstance(question, FormErrors):
        return _not_filled_in(question)
    origin = Origin.parse(submission.private_metadata)
    agent = await _agent(deps, await _answering(deps, call, submission, question))
    author = await deps.name_of(origin.author) if origin.author else ""
    text = asking.question_text(question, author)
    if origin.thread_ts != origin.message_ts and not submission.thread_ts:  # in the thread it is told by itself
        text = await deps.in_thread(ThreadKey(call.team, origin.channel, origin.thread_ts), origin.message_ts, text)
    root = asking.question_shown(agent, question, await deps.name_of(call.user), author)
    return StartThread(agent.id, root, escape(text), submission.thread_ts)


async def _answering(deps: Deps, call: Call, submission: Submission, question: asking.Question) -> int:
    """Say who gets a question: in a thread that has its agent already, that one, whoever was chosen."""
    if not submission.thread_ts:
        return question.agent
    thread = ThreadKey(call.team, submission.channel, submission.thread_ts)
    conversation = await deps.sessions.thread(thread)
    return question.agent if conversation is None or conversation.agent is None else conversation.agent


async def _agent(deps: Deps, id_: int) -> Agent:
    agent = await agent_by_id(deps, id_)
    if agent is None:
        raise NoSuch("agent", str(id_))
    return agent


async def _choose_default(deps: Deps, call: Call, submission: Submission) -> Plan:
    chosen = asking.read_default_form(submission.values)
    if isinstance(chosen, FormErrors):
        return _not_filled_in(chosen)
    agent = await _agent(deps, chosen) if chosen is not None else None
    told = default_of_channel(agent, await deps.channel_name_of(call.channel))
    return await change_default(deps, call, agent, told)


def _not_filled_in(errors: FormErrors) -> Plan:
    """The door shows these under the fields, and lets no such form in."""
    return Nothing("form not filled in", dict.fromkeys(errors.by_block, "wrong"))
