"""Workflow runs: the card in the channel, the questions before a run, and node results.

The person who started a run is shown by display name in plain text: a mention would ping them at each change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final

from bridge.ends.failures import sentence, what_happened
from bridge.ends.messages import MessageState
from bridge.errors import BadInput, BridgeError, ProjectError
from bridge.features.buttons import run_value
from bridge.features.run_status import begun_by, status_icon
from bridge.features.workflows.records import RunEnded
from bridge.project.models import RunResult, Workflow
from bridge.project.reading import TOO_LARGE
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.card import card
from bridge.slack.blockkit.content_words import size as file_size
from bridge.slack.blockkit.json_text import (
    beginning,
    compact,
    first_lines,
    json_kind,
    line_count,
    pointed_at,
    pretty,
)
from bridge.slack.blockkit.legible import legible, legible_value
from bridge.slack.blockkit.modals import TOOK_TOO_LONG
from bridge.slack.blockkit.reply import Attachment, Audience, Block, Reply
from bridge.slack.blockkit.untyped_json import name_of
from bridge.unseen import escaped, is_blank

ENDED: Final = "run_ended"
"""The name of the notice that a run has ended."""

FINISHED: Final = "finished"
FAILED: Final = "failed"
OUTCOME_UNKNOWN: Final = "outcome unknown"

AGAIN: Final = "run:again"
CONFIRM: Final = "run:confirm"
NODES: Final = "run:nodes"
OUTPUT: Final = "run:output"
NOTIFY: Final = "run:notify"
FIX: Final = "run:fix"
AS_TEXT: Final = "run:text"

_SURE = kit.confirm(
    "Run again?", f"It may already have run. {MessageState.RUN_UNKNOWN.value.cure}", "Run again", "Cancel"
)
_SKIPPED: Final = "Runs since {moment} were skipped because they were too late, or one was still running."
_NOT_IN_NAMES: Final = re.compile(r"[^\w-]")
FAILED_SIGN: Final = status_icon(FAILED)
_LINES: Final = 10
_FOLDED: Final = 1000  # characters
_INPUT: Final = 150
_REASON: Final = 500
_ERRORS: Final = ("error", "errors", "errorMessage", "error_message", "exception")
_REASONS: Final = (*_ERRORS, "reason", "message", "detail", "details", "output", "result")
_NODE_NAMES: Final = ("name", "label", "title", "data")
_DEEPEST: Final = 5
_NODE_TEXT = 1500
_NODES_TEXT = 7500
_MOST_NODES = 20
WILL_NOTIFY: Final = kit.reply("I'll send you a direct message when this run ends.")
ENDED_ALREADY: Final = kit.reply("This run has already ended.")
INPUT_EXPIRED: Final = kit.reply("This input is no longer available. Run the workflow again.")


@dataclass(frozen=True, slots=True)
class Run:
    """A run as its card shows it: *turn* started it, for the person with the display name *started_by*.

    If an *app*'s message or a *schedule* started it, this is the person who set that up, or who asked for it now: then
    the schedule's *owner* is named besides. *url* is a template of its
    address in the project's own pages, *project* the project's name if there are several. *approved_by* are the people
    who approved it, in words.
    """

    workflow: int
    name: str
    input: Any
    started_by: str
    turn: str
    app: str = ""
    url: str = ""
    schedule: str = ""
    project: str = ""
    approved_by: str = ""
    owner: str = ""


def running(run: Run, *, is_long: bool = False) -> Reply:
    """Show that a workflow is running, and offer to notify people of its end if it takes long."""
    notify = [kit.button("Notify me when it's done", NOTIFY, run.turn)] if is_long else []
    return _card(run, "running…", kit.context(_started_by(run)), buttons=notify)


def run_ended(ended: RunEnded, link: str) -> Reply:
    """Tell a person, in a direct message, that a run has ended; *link* leads to its card."""
    sign, called = status_icon(ended.status), kit.one_line(ended.name, 120) or kit.NO_NAME
    ending = f" · {kit.one_line(ended.status, 100)}" + (f" · {kit.one_line(ended.took, 60)}" if ended.took else "")
    where: list[Block | str] = [" · ", kit.link(link, "open the card")] if link else []
    title = kit.paragraph(f"{sign} ", kit.words(called, bold=True), ending, *where)
    return card(kit.rich(title), audience=Audience.CHANNEL)


def readable(result: RunResult) -> RunResult:
    """Return a result as people can read it (`legible`)."""
    texts = {"output": legible_value(result.output), "nodeResults": legible_value(result.nodeResults)}
    return result.model_copy(update=texts)


def finished(run: Run, result: RunResult, took: timedelta, *, exact: Any = None) -> Reply:
    """Show a run's result: the beginning of its output, or why it failed.

    Output that's too long for a message is attached as a file; for the rest, there's a button. The file has the
    *exact* output, if the one of a `readable` result isn't.
    """
    status = kit.one_line(result.status, 100) or FINISHED
    shown, files = _output(result, result.output if exact is None else exact)
    why, reason = why_failed(result)
    if reason:  # without one, the output may say more
        shown = shown[1:]
    called = "" if result.runId is None else f" · run {kit.one_line(str(result.runId), 60)}"
    facts = kit.context(f"{_started_by(run)}{called} · {kit.spoken(took)}")
    whole = [kit.button("Full output", OUTPUT, run.turn)] if has_more(result) else []
    nodes = [kit.button("Node results", NODES, run.turn)] if result.nodeResults else []
    buttons = [*whole, *nodes, _again(run)]
    return _card(run, status, why, *shown, facts, buttons=buttons, files=files, id_=result.runId)


def why_failed(result: RunResult) -> tuple[str, str]:
    """Return a sentence on the node that failed, and the reason it gave; ``""`` if the run didn't fail."""
    if status_icon(result.status) != FAILED_SIGN:
        return "", ""
    node, reason = _failed_node(result.nodeResults)
    reason = legible(reason or _error_in(result.model_extra) or _error_in(result.output))
    where = f"Failed at {kit.quoted(node, 80)}" if node else "Failed"
    return f"{where}: {kit.quoted(reason, _REASON)}" if reason else f"{where}. The workflow gave no reason.", reason


def were_skipped(since: datetime) -> Block:
    """Return the line about scheduled runs that were skipped before this one."""
    return kit.trusted_context(_SKIPPED, moment=since)


def has_more(result: RunResult) -> bool:
    """Whether the card shows only a part of the output, which isn't attached either."""
    output = result.output
    whole = "" if output is None else _written(output)
    if len(whole) > kit.CODE_TEXT:
        return False
    if why_failed(result)[1]:
        is_all_said = isinstance(output, str) or (isinstance(output, Mapping) and len(output) == 1)
        return bool(whole) and not (is_all_said and 0 < len(_error_in(output)) <= _REASON)
    return whole.strip("\n") != _beginning(output, whole, _LINES, _FOLDED)


def full_output(output: Any) -> Reply:
    """Show a run's whole output in the thread of its card; what's too long is attached as a file."""
    if output is None:
        text = "This output is older than a week and no longer available. Run the workflow again to see a new one."
        return kit.reply(text)
    whole, is_text = _written(output), isinstance(output, str)
    files = [Attachment(name=f"output.{'txt' if is_text else 'json'}", content=whole)]
    is_cut = len(whole) > kit.CODE_TEXT
    text = _beginning(output, whole, kit.CODE_TEXT, kit.CODE_TEXT)
    shown = kit.paragraph(text) if is_text else kit.code_block(text)
    return card(kit.rich(shown), audience=Audience.THREAD, files=files if is_cut else [])


def failed(run: Run, error: BridgeError, took: timedelta | None = None) -> Reply:
    """Show that a run didn't start, and why."""
    after = "" if took is None else f" · after {kit.spoken(took)}"
    facts = kit.context(f"{_started_by(run)}{after}")
    return _card(run, FAILED, sentence(error), facts, buttons=[_again(run)])


def unknown(run: Run, error: ProjectError | None = None) -> Reply:
    """Show that a run may have started, and why that's unknown."""
    happened = what_happened(error, "the workflow") if error else "No result came back"
    text = f"{happened[:1].upper()}{happened[1:]}, and I can't tell whether this ran. Check before you run it again."
    return _card(run, OUTCOME_UNKNOWN, text, kit.context(_started_by(run)), buttons=[_again(run, asks=_SURE)])


def confirm(workflow: Workflow, typed: Any, *, shows_input: bool = False) -> Reply:
    """Ask before running an inactive workflow, or one of which a rule *shows_input* first.

    For *typed* input too long for a button, a form opens.
    """
    name, label = kit.named(workflow.name, 100), "Run anyway" if not workflow.is_active else "Run it"
    asked = (
        " is inactive. Run it anyway?" if not workflow.is_active else " asks you to confirm. Run it with this input?"
    )
    button = kit.button(label, CONFIRM, run_value(workflow.id, typed))
    text = escaped(typed if isinstance(typed, str) else pretty(typed))
    shown = kit.rich(kit.code_block(kit.cut(text, kit.CODE_TEXT))) if shows_input else None
    return card(kit.rich(kit.paragraph(kit.words(name, bold=True), asked)), shown, buttons=[button])


def not_json(workflow: Workflow, typed: str, error: BadInput, input_turn: str) -> Reply:
    """Say where input isn't valid JSON, and offer to fix it or use it as text; *input_turn* stored it."""
    place = kit.rich(kit.code_block(pointed_at(typed, error.line, error.column)))
    as_text = kit.button("Run as text", AS_TEXT, compact({"w": workflow.id, "t": input_turn}))
    return card(sentence(error), place, buttons=[_fix_button(workflow, input_turn), as_text])


def offer_fix(workflow: Workflow, input_turn: str) -> Reply:
    """Offer, with a button, the form to fix malformed JSON, for when it couldn't be opened."""
    return kit.ask(TOOK_TOO_LONG, _fix_button(workflow, input_turn))


def runs_as_text(workflow: Workflow) -> Reply:
    """Replace the question about malformed JSON."""
    return kit.reply(f"{kit.named(workflow.name, 100)} is running with this input as text.", replaces_original=True)


def confirmed(workflow: Workflow) -> Reply:
    """Replace the question about an inactive workflow, so that it starts only one run."""
    name = kit.named(workflow.name, 100)
    chosen = " is running with this input." if workflow.is_active else " is inactive. You chose to run it anyway."
    return card(kit.rich(kit.paragraph(kit.words(name, bold=True), chosen)), replaces_original=True)


def node_results(results: Any) -> Reply:
    """Show each node's result in the thread of the run's card; long results are attached as a file."""
    if not results:
        text = (
            "These node results are older than a week and no longer available. Run the workflow again to see new ones."
        )
        return kit.reply(text)
    by_node = results if isinstance(results, Mapping) else {"": results}  # not by node
    shown, length, is_cut = [], 0, len(by_node) > _MOST_NODES
    for key, result in islice(by_node.items(), _MOST_NODES):
        called = result.get("name") if isinstance(result, Mapping) else ""
        name = kit.one_line(called if isinstance(called, str) and called.strip() else str(key), 100)
        text = result if isinstance(result, str) else beginning(result, _NODE_TEXT + 1)
        length += len(name) + min(len(text), _NODE_TEXT)
        is_cut = is_cut or len(text) > _NODE_TEXT or length > _NODES_TEXT
        if length > _NODES_TEXT:
            break
        heading = [kit.paragraph(kit.words(name, bold=True))] if name else []
        shown.append(kit.rich(*heading, kit.code_block(_beginning(result, text, _NODE_TEXT, _NODE_TEXT))))
    files = [Attachment(name="node-results.json", content=pretty(results))] if is_cut else []
    return card(kit.header("Node results"), *shown, audience=Audience.THREAD, files=files)


def _fix_button(workflow: Workflow, input_turn: str) -> Block:
    return kit.button("Fix it", FIX, compact({"w": workflow.id, "t": input_turn}))


def _card(
    run: Run,
    status: str,
    *lines: Block | str,
    buttons: Sequence[Block],
    files: Sequence[Attachment] = (),
    id_: object = None,
) -> Reply:
    title: list[Block | str] = [f"{status_icon(status)} ", kit.words(kit.one_line(run.name, 120), bold=True)]
    title.append(f" · {status}")
    if run.url and id_ is not None:
        title += [" · ", kit.link(run.url, "open", runId=id_, id=run.workflow)]
    typed = run.input if isinstance(run.input, str) else compact(run.input)
    kind = json_kind(run.input).removeprefix("a ")
    asked = kit.context(f"Input ({kind}): {kit.quoted(typed, _INPUT)}") if typed.strip() else None
    heading = kit.rich(kit.paragraph(*title))
    return card(heading, asked, *lines, buttons=buttons, audience=Audience.CHANNEL, files=files)


def _started_by(run: Run) -> str:
    text = begun_by(run.started_by, "Started", schedule=run.schedule, app=run.app, owner=run.owner)
    text += f" · Approved by {run.approved_by}" if run.approved_by else ""
    return kit.titled(text, run.project)


def _again(run: Run, asks: Block | None = None) -> Block:
    return kit.button("Run again", AGAIN, run_value(run.workflow, run.input), asks=asks)


def _output(result: RunResult, exact: Any) -> tuple[list[Block], list[Attachment]]:
    """Return the blocks for the beginning of a run's output, as JSON or text, and a file if the *exact* one is long."""
    output = result.output
    length = file_size(result.size) or TOO_LARGE if result.is_cut else ""
    if output is None or (isinstance(output, str) and is_blank(output)):
        missing = f"The result is {length}, so I couldn't read its output." if length else "No output"
        return [kit.context(missing)], []
    is_text, whole = isinstance(output, str), _written(output)
    text = _beginning(output, whole, _LINES, _FOLDED)
    shown = kit.paragraph(text) if is_text else kit.code_block(text)
    content = _written(exact)
    if len(content) <= kit.CODE_TEXT:
        return [kit.rich(shown)], []
    run = _NOT_IN_NAMES.sub("", str(result.runId or ""))[:60]
    name = f"{f'run-{run}-' if run else ''}output.{'txt' if is_text else 'json'}"
    attached = "The full output is attached in the thread."
    if length:
        attached = f"The result is {length}, so I could read only its beginning. It's attached in the thread."
    return [kit.rich(shown), kit.context(attached)], [Attachment(name=name, content=content, instead=whole)]


def _written(output: Any) -> str:
    return output if isinstance(output, str) else pretty(output)


def _beginning(output: Any, whole: str, most: int, limit: int) -> str:
    """Return the first lines of an output, which is written as *whole*, and how many more there are."""
    if isinstance(output, str) or len(whole) <= limit:
        return first_lines(whole, most, limit)
    return first_lines(beginning(output, limit + 1), most, limit, line_count(output))


def _failed_node(results: Any) -> tuple[str, str]:
    """Return the name of the node that failed, and its reason; ``""`` for what isn't said."""
    by_node = (
        results.items() if isinstance(results, Mapping) else enumerate(results if isinstance(results, list) else ())
    )
    for key, result in by_node:
        if not isinstance(result, Mapping):
            continue
        status = result.get("status")
        has_failed = status_icon(status) == FAILED_SIGN if isinstance(status, str) else any(map(result.get, _ERRORS))
        if has_failed:
            name = name_of({name: result[name] for name in _NODE_NAMES if name in result})
            return name or (str(key) if isinstance(key, str) else ""), _error_in(result)
    return "", ""


def _error_in(value: Any, depth: int = 0) -> str:
    """Find the reason of a failure in undocumented JSON; ``""`` if nothing looks like one."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return _error_in(value[0], depth + 1) if value and depth < _DEEPEST else ""
    if not isinstance(value, Mapping) or depth > _DEEPEST:
        return ""
    inner = (_error_in(value[key], depth + 1) for key in _REASONS if key in value)
    return next((error for error in inner if error), "")
