"""Schedules: their confirmations, footers, list and notices; their forms are in `bridge.features.schedules.forms`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from bridge.features.buttons import REPORT_FORM
from bridge.features.run_status import status_icon
from bridge.features.schedules import forms
from bridge.features.schedules.schedule import QuestionSpec, ReportSpec, RunSpec, StoredTask
from bridge.features.standing import kind
from bridge.features.standing.kind import ListRow, Noun, ShownThing, paused_because
from bridge.features.standing.layout import delete_button
from bridge.features.standing.timed import next_time
from bridge.features.titles import TITLE, title_of, title_of_input
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.card import card
from bridge.slack.blockkit.modals import OPEN_THE_FORM
from bridge.slack.blockkit.reply import Audience, Block, Reply

OPEN: Final = REPORT_FORM
_NOW: Final = f"report:{kind.NOW}"

ALL: Final = "s"
"""Marks the page's number in the values of buttons in the list of everything, not only of reports."""

REPORT: Final = Noun("report", "/stats report", kit.button("All reports", "report:page", "0"), "not_yours")
SCHEDULE: Final = Noun(
    "schedule", "/schedules", kit.button("All schedules", "report:page", f"{ALL}0"), "not_your_schedule"
)
"""What tasks are in notices: reports, or questions and runs."""

CANNOT: Final = {
    "report": "This report can't be posted",
    "question": "This question can't be asked",
    "run": "This run can't be started",
}
"""What can't be done with a task whose owner has no access, or whose project was removed."""

NOW_SAYS: Final = {"report": "Post now", "question": "Ask now", "run": "Run now"}
_DOING: Final = {
    "report": "Posting the report now.",
    "question": "Asking now.",
    "run": "Requested. Its card shows whether it starts, or waits for someone.",
}
_WONT: Final = {"report": "be posted", "question": "be asked", "run": "run"}
_RUNNING: Final = {"question": "waiting for the answer", "run": "running"}
_SKIPPED: Final = "Questions since {moment} were skipped because they were too late, or one was still being answered."
_TARGET: Final = 80
_QUESTION: Final = 3000


@dataclass(frozen=True, kw_only=True)
class ShownTask(ShownThing[StoredTask]):
    """A task with the name of its agent or workflow, the *target*.

    *step* and *what* are those of what it started last (`TaskStore.answers`); *link* leads to its last message. *words*
    is from `words_of`, for a reader who may read that, and *thread_link* leads to the thread that a question continues.
    """

    called: str = ""
    target: str = ""
    step: str = ""
    what: str = ""
    link: str = ""
    words: str = ""
    thread_link: str = ""


def words_of(task: StoredTask) -> str:
    """Return what tells a task from others at the same time: a report's options, or the first words of the rest."""
    match task.spec:
        case QuestionSpec(text=text):
            return kit.quoted(title_of(text), TITLE)
        case RunSpec(input=given):
            return f"input {kit.quoted(words, TITLE)}" if (words := title_of_input(given)) else ""
    return _options(task)


def titled(task: StoredTask, target: str, words: str = "") -> str:
    """Return what a task does, and when: ``ask Analyst every Monday at 09:00 (Europe/Berlin)``.

    For those who may read it, *words* is from `words_of`.
    """
    return f"{_does(task, target)}{task.called}{f': {words}' if words else ''}"


def small_print(report: StoredTask, asked_by: str = "") -> list[Block]:
    """Return the footer of a posted report: its schedule, who asked for it now, and since when slots were skipped."""
    by = f"Posted for {kit.named(asked_by, 80)}. " if asked_by else ""
    below = [
        kit.context(f"{by}Schedule: {report.called}. Mention me in the thread to ask an agent about these numbers.")
    ]
    if report.skipped is None:
        return below
    return [
        kit.trusted_context("Reports since {moment} were skipped because they were too late.", moment=report.skipped),
        *below,
    ]


def question_root(task: StoredTask, text: str, agent: str, owner: str, asked_by: str = "") -> Reply:
    """Show a scheduled question, as the root of the thread where the agent answers, or in the thread it continues.

    *asked_by* is who asked it now, outside of its schedule.
    """
    asked = f"Scheduled question for {kit.named(agent, _TARGET)}"
    now = f"Asked now by {kit.named(asked_by, 80)} · " if asked_by else ""
    in_thread = "The answer appears in the thread: reply there to continue."
    below = [kit.context(f"{now}{asked} by {kit.named(owner, 80)}: {task.called}. {in_thread}")]
    if task.skipped is not None:
        below.insert(0, kit.trusted_context(_SKIPPED, moment=task.skipped))
    quoted = kit.rich(kit.quotation(kit.cut(kit.clean(text), _QUESTION)))
    return kit.reply(f"{asked}: {text}", quoted, *below, audience=Audience.CHANNEL)


def overlapped(task: StoredTask, target: str) -> Reply:
    """Say in the channel that a slot is skipped because its predecessor is still running."""
    noun = task.spec.does
    why = "the one before is still being answered" if noun == "question" else "the one before is still running"
    text = f"Skipped: {titled(task, target, words_of(task))}, because {why}."
    text += " Use --overlap wait to start it afterwards instead."
    return kit.note(text, audience=Audience.CHANNEL)


def scheduled(
    task: StoredTask,
    target: str = "",
    *,
    knows_zone: bool,
    is_changed: bool = False,
    warning: str = "",
    offers: Collection[str],
) -> Reply:
    """Say that a task is scheduled, or was *changed*, and when it's due first; a *warning* is shown below.

    *offers* are the verbs of the buttons that its owner may press.
    """
    noun, did = task.spec.does, "Saved" if is_changed else "Scheduled"
    when, ending = kit.words(task.when, bold=True), f" ({task.spec.zone}) in "
    notes = [] if knows_zone else ["Slack doesn't share your time zone, so this one is in UTC."]
    if isinstance(task.spec, QuestionSpec | RunSpec):
        becomes = "starts after it" if task.spec.overlap == "wait" else "is skipped"
        busy = "being answered" if noun == "question" else "running"
        notes.append(f"If a {noun} is still {busy} when the next one is due, the new one {becomes}.")
    elif options := _options(task):
        notes.append(f"{options}.")
    if warning:
        notes.append(warning)
    if task.paused or is_changed:
        state = _state(task)
    elif noun == "report":
        state = kit.trusted_context("First report: {moment} (your time)", moment=task.due)
    else:
        state = kit.trusted_context("First time: {moment} (your time)", moment=task.due)
    return card(
        kit.rich(kit.paragraph(f"{did}: ", _does(task, target), when, ending, kit.place(task.spec.channel), ".")),
        state,
        *map(kit.context, notes),
        buttons=[
            *([kit.button(NOW_SAYS[noun], _NOW, f"{_list(task)}0:{task.id}")] if kind.NOW in offers else []),
            delete_button(
                noun_of(task),
                f"Schedule: {titled(task, target, words_of(task))}",
                f"report:{kind.DELETE}",
                f"{kind.ALONE}:{task.id}",
            ),
            noun_of(task).lists,
        ],
    )


def form_button(does: str) -> Block:
    """Return the button that opens the form for what a task *does*."""
    return kit.button(OPEN_THE_FORM, forms.FORMS[does].opener, "-")


def already_scheduled(task: StoredTask, owner: str, target: str, *, offers: Collection[str]) -> Reply:
    """Say that the same task is already scheduled, with its *owner*'s name; *offers* is as in `ShownThing`."""
    title, ending = f"This {noun_of(task).word} already exists: ", f", scheduled by {kit.named(owner, 80)}."
    when, zone = kit.words(task.when, bold=True), f" ({task.spec.zone}) in "
    value = f"{_list(task)}0:{task.id}"
    verb, label = (kind.RESUME, "Resume") if task.paused else (kind.NOW, NOW_SAYS[task.spec.does])
    change = [kit.button(label, f"report:{verb}", value)] if verb in offers else []
    return card(
        kit.rich(kit.paragraph(title, _does(task, target), when, zone, kit.place(task.spec.channel), ending)),
        _state(task),
        buttons=[*change, noun_of(task).lists],
    )


def deleted(task: StoredTask, owner: str, called: str) -> Reply:
    """Name the task that was deleted, in place of the message with the button."""
    by = f"Deleted the {noun_of(task).word} of {kit.named(owner, 80)} in "
    ending = f": {called}. It won't {_WONT[task.spec.does]} again."
    return card(kit.rich(kit.paragraph(by, kit.place(task.spec.channel), ending)), replaces_original=True)


def starting_now(does: str) -> Reply:
    """Say that a report is being posted, a question asked or a run started."""
    return kit.reply(_DOING[does])


def noun_of(task: StoredTask) -> Noun:
    """Return what a task is in notices: a report or a schedule."""
    return REPORT if isinstance(task.spec, ReportSpec) else SCHEDULE


def row(one: ShownTask, value: str) -> ListRow:
    """Return how a list shows a task; *value* is that of its buttons."""
    task = one.record
    verb, name = kit.capitalized(_VERBS[task.spec.does]), kit.one_line(one.target, _TARGET) or kit.NO_NAME
    does: list[Block | str] = [f"{verb} ", kit.words(name, bold=True)]
    if isinstance(task.spec, ReportSpec):
        does = [kit.words(verb, bold=True)]
    by = "".join(f" · {kit.named(name, 80)}" for name in (one.project, one.owner) if name)
    lines = [kit.paragraph(*does, f" {task.when} ({task.spec.zone}) in ", kit.place(task.spec.channel), by)]
    if one.words and not isinstance(task.spec, ReportSpec):
        lines.append(kit.paragraph(kit.capitalized(one.words)))
    if options := _options(task):
        thread: list[Block | str] = [" · ", kit.link(one.thread_link, "open the thread")] if one.thread_link else []
        lines.append(kit.paragraph(options, *thread))
    if last := _last(one):
        at: list[Block | str] = [" · ", kit.date(task.last, one.link)] if task.last else []
        lines.append(kit.paragraph(f"Last: {last}", *at))
    paused = _paused(task) if task.paused else ""
    in_home = kit.paragraph(paused) if paused else kit.paragraph("Next: ", kit.date(task.due))
    return ListRow(lines, _state(task), in_home, [kit.button(NOW_SAYS[task.spec.does], _NOW, value)])


def _options(task: StoredTask) -> str:
    """Return the options of a task in words; ``""`` if it has none."""
    spec, found = task.spec, list[str]()
    if isinstance(spec, ReportSpec):
        found += [f"compared with {spec.compare} ago"] if spec.compare else []
        found += [f"only {', '.join(spec.only)}"] if spec.only else []
        found += ["with agents and workflows"] if spec.agents else []
        found += ["only if something changed"] if spec.only_if_changed else []
    else:
        found += ["in one thread"] if isinstance(spec, QuestionSpec) and spec.continues else []
        found += ["waits for the one before"] if spec.overlap == "wait" else []
    return kit.capitalized(" · ".join(found))


_VERBS: Final = {"report": "report", "question": "ask", "run": "run"}


def _last(one: ShownTask) -> str:
    """Return the last result of a task; ``""`` if there's none yet."""
    task = one.record
    if one.step in {"queued", "sent", "posting"} and task.spec.does in _RUNNING:
        return f"⏳ {_RUNNING[task.spec.does]}"
    skipped = "skipped since then" if task.skipped and task.last and task.skipped > task.last else ""
    if task.last is None:
        return "skipped" if task.skipped else ""
    match task.spec:
        case QuestionSpec():
            shown = {"answered": "✅ answered", "unknown": "⚠️ outcome unknown", "": "asked"}.get(
                one.what, "❌ not answered"
            )
        case RunSpec():
            shown = f"{status_icon(task.ended)} {kit.one_line(task.ended, 60)}"
        case _:
            shown = "✅ posted"
    return f"{shown}, {skipped}" if skipped else shown


def _does(task: StoredTask, target: str) -> str:
    """Return what a question or a run does, with a blank: ``ask Analyst ``; ``""`` for a report."""
    if isinstance(task.spec, ReportSpec):
        return ""
    return f"{_VERBS[task.spec.does]} {kit.named(target, _TARGET) if target.strip() else kit.NO_NAME} "


def _list(task: StoredTask) -> str:
    """Return the mark of the list that a button leads to."""
    return "" if isinstance(task.spec, ReportSpec) else ALL


def _paused(task: StoredTask) -> str:
    return f"⏸️ {kit.capitalized(paused_because(task.paused))}"


def _state(task: StoredTask) -> Block:
    """Return the line that says when a task is due, or why it's paused."""
    if task.paused:
        return kit.context(_paused(task))
    return next_time(task.due)
