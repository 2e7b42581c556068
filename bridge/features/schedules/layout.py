"""Scheduled reports: their footer, list, form and notices.

`form_words` turns the form's fields into the text of a `/stats report` command, so that both are parsed by
`bridge.features.schedules.schedule`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bridge.errors import BadSchedule
from bridge.features.buttons import REPORT_FORM
from bridge.features.schedules.phrases import find_zone
from bridge.features.schedules.schedule import StoredTask
from bridge.features.statistics.numbers import PARTS
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.failures import failure, no_longer
from bridge.slack.blockkit.modals import OPEN_THE_FORM, TOOK_TOO_LONG, Origin, channel_menu, modal
from bridge.slack.blockkit.reply import Audience, Block, Reply, View

FORM: Final = "report"
"""The form's callback_id."""

PAUSE: Final = "report:pause"
RESUME: Final = "report:resume"
NOW: Final = "report:now"
DELETE: Final = "report:delete"
PAGE: Final = "report:page"
NEXT_PAGE: Final = "report:page:next"
OPEN: Final = REPORT_FORM

ALONE: Final = "made"
"""Stands for the page's number in the values of buttons outside the list."""

OFTEN: Final = "often"
CLOCK: Final = "time"
CRON: Final = "cron"
ZONE: Final = "zone"
CHANNEL: Final = "channel"
COMPARE: Final = "compare"
ONLY: Final = "only"

ASKED: Final = "asked"
"""The reason of a report paused by a person."""

NO_CLOCK: Final = "no clock"
"""The reason of a report paused because the bridge's machine doesn't know its time zone."""

REMOVED: Final = "project"
"""The reason of a report that isn't posted until its project is served again."""

CHANGED: Final = "report_changed"
"""The name of the notice to the owner of a report that someone else paused or deleted."""

PAUSED: Final = "report_paused"
"""The name of the notice to the owner of a report that couldn't be posted."""

HOW_OFTEN: Final = {
    "every day": "Every day",
    "every weekday": "Every weekday",
    "every Monday": "Every Monday",
    "every Tuesday": "Every Tuesday",
    "every Wednesday": "Every Wednesday",
    "every Thursday": "Every Thursday",
    "every Friday": "Every Friday",
    "every Saturday": "Every Saturday",
    "every Sunday": "Every Sunday",
    "every month on the 1st": "Every month on the 1st",
    "every month on the 15th": "Every month on the 15th",
    "every month on the last day": "Every month on the last day",
    CRON: "Custom (cron expression)",
}
"""The form's choices: the words of the command, and their labels; likewise `COMPARED`."""

COMPARED: Final = {
    "-": "The previous report",
    "1d": "A day earlier",
    "7d": "A week earlier",
    "28d": "Four weeks earlier",
    "365d": "A year earlier",
}

_CRON_HINT: Final = (
    "Minute, hour, day of the month, month, day of the week, such as 0 9 * * 1-5. Overrides the choices above."
)
_WHY_PAUSED: Final = {
    "is_archived": "its channel is archived",
    "channel_not_found": "I'm no longer in its channel",
    "not_in_channel": "I'm no longer in its channel",
    "restricted_action": "I'm not allowed to post in its channel",
    "missing_scope": "the app is missing a permission",
    REMOVED: "I'm no longer connected to its project",
    NO_CLOCK: "the bridge's server doesn't know its time zone",
}
_NOT_ALLOWED: Final = "Slack didn't allow it"
_ITS_OWNER: Final = "its owner"
_DELETE: Final = "Delete"
_POST_NOW: Final = "Post now"
_A_PAGE: Final = 15  # of three blocks each
_MOST_IN_HOME: Final = 5
_FIELDS: Final = {OFTEN, CLOCK, CRON, ZONE, CHANNEL, COMPARE, ONLY}


def small_print(report: StoredTask) -> list[Block]:
    """Return the footer of a posted report: its schedule, and since when slots were skipped."""
    below = [kit.context(f"Schedule: {report.called}. Mention me in the thread to ask an agent about these numbers.")]
    if report.skipped is None:
        return below
    return [
        kit.trusted_context("Reports since {moment} were skipped because they were too late.", moment=report.skipped),
        *below,
    ]


def report_scheduled(report: StoredTask, *, knows_zone: bool) -> Reply:
    """Say that a report is scheduled, and when it's posted first."""
    when, ending = kit.words(report.when, bold=True), f" ({report.spec.zone}) in "
    notes = [] if knows_zone else [kit.context("Slack doesn't share your time zone, so this one is in UTC.")]
    return kit.reply(
        f"Scheduled: {report.called}.",
        kit.rich(kit.paragraph("Scheduled: ", when, ending, _where(report.spec.channel), ".")),
        kit.trusted_context("First report: {moment} (your time)", moment=report.due),
        *notes,
        kit.actions(
            kit.button(_POST_NOW, NOW, f"0:{report.id}"),
            delete_button(report, f"{ALONE}:{report.id}"),
            kit.button("All reports", PAGE, "0"),
        ),
    )


def not_scheduled(error: BadSchedule) -> Reply:
    """Say what's wrong with a schedule, and offer the form."""
    error.form = kit.button(OPEN_THE_FORM, OPEN, "-")
    return failure(error)


def report_exists(report: StoredTask, owner: str) -> Reply:
    """Say that the same report is already scheduled, with its *owner*'s name."""
    title, ending = "This report already exists: ", f", scheduled by {kit.named(owner, 80)}."
    when, zone = kit.words(report.when, bold=True), f" ({report.spec.zone}) in "
    state = kit.trusted_context("Next: {moment} (your time)", moment=report.due)
    paused = kit.context(f"⏸️ {_capitalized(_status(report))}") if report.paused else state
    value = f"0:{report.id}"
    change = kit.button("Resume", RESUME, value) if report.paused else kit.button(_POST_NOW, NOW, value)
    return kit.reply(
        f"{title}{report.called}{ending}",
        kit.rich(kit.paragraph(title, when, zone, _where(report.spec.channel), ending)),
        paused,
        kit.actions(change, kit.button("All reports", PAGE, "0")),
    )


def delete_button(report: StoredTask, value: str, owner: str = "") -> Block:
    """Return the button that deletes a report, after a confirmation; *owner* is its owner's name, if it's shown."""
    by = f"Scheduled by {kit.named(owner, 80)}: " if owner else "Schedule: "
    text = f"{by}{report.called}. You can't undo this."
    asks = kit.confirm("Delete this report?", text, _DELETE, "Cancel", is_danger=True)
    return kit.button(_DELETE, DELETE, value, asks=asks)


def report_deleted(report: StoredTask, owner: str) -> Reply:
    """Name the report that was deleted, in place of the message with the button."""
    by = f"Deleted the report of {kit.named(owner, 80)} in "
    ending = f": {report.called}. It won't be posted again."
    where = _where(report.spec.channel)
    return kit.reply(by + "its channel" + ending, kit.rich(kit.paragraph(by, where, ending)), replaces_original=True)


def change_notice(report: StoredTask, person: str, *, is_deleted: bool) -> str:
    """Return the `Notice.what` for a report that *person* deleted or paused (`report_changed`)."""
    return f"{CHANGED}:" + json.dumps([report.called, report.spec.channel, person, is_deleted])


def report_changed(facts: str = "") -> Reply:
    """Tell the owner of a report, in a direct message, that someone else deleted or paused it."""
    try:
        called, channel, person, is_deleted = json.loads(facts)
    except ValueError:
        called, channel, person, is_deleted = "", "", "", False
    who = kit.named(str(person), 80) if person else kit.SOMEONE
    did = "deleted" if is_deleted else "paused"
    start, ending = f"{who} {did} your report {kit.quoted(str(called), 120)}", "."
    where: list[Block | str] = [" in ", _where(str(channel))] if _is_channel(str(channel)) else []
    return kit.reply(
        start + ending,
        kit.rich(kit.paragraph(start, *where, ending)),
        kit.actions(kit.button("All reports", PAGE, "0")),
        audience=Audience.CHANNEL,
    )


def report_list(
    reports: Sequence[tuple[StoredTask, str]],
    page: int = 0,
    *,
    replaces_original: bool = False,
    above: Reply | None = None,
) -> Reply:
    """Show a page of the reports, each with its owner's name, below what was just done (*above*)."""
    places = shown_on(page, len(reports))
    page, last = places.start // _A_PAGE, max(0, (len(reports) - 1) // _A_PAGE)
    shown = [reports[place] for place in places]
    turns = [kit.button("Previous", PAGE, str(page - 1))] if page > 0 else []
    turns += [kit.button("Next", NEXT_PAGE, str(page + 1))] if page < last else []
    text = f"Scheduled reports: {len(reports):,}" if reports else "No reports are scheduled yet."
    lines = [f"{report.called}, {_status(report)}" for report, _owner in shown]
    return kit.reply(
        "\n".join([*([above.text] if above else []), text, *lines]),
        *(above.blocks if above else ()),
        kit.header("Scheduled reports") if reports else kit.section(text),
        *(block for report, owner in shown for block in _shown(report, owner, page)),
        kit.actions(kit.button("Schedule a report…", OPEN, "-"), *turns),
        replaces_original=replaces_original,
    )


def home_section(reports: Sequence[StoredTask]) -> list[Block]:
    """Return the section of the Home tab with a person's own *reports*."""
    blocks = [kit.header("Your reports")] if reports else []
    for report in reports[:_MOST_IN_HOME]:
        sign, ending = ("⏸️ ", " · paused") if report.paused else ("", "")
        ending = kit.titled(ending, report.project_name)
        when, zone = kit.words(kit.one_line(_capitalized(report.when), 100), bold=True), f" ({report.spec.zone}) in "
        blocks.append(kit.rich(kit.paragraph(sign, when, zone, _where(report.spec.channel), ending)))
        delete = delete_button(report, f"home:{report.id}")
        blocks.append(kit.actions(delete) | {"block_id": f"report:{report.id}"})
    return blocks


def shown_on(page: int, count: int) -> range:
    """Return the indices of the reports on a page, of *count* in all; a page that doesn't exist is the nearest one."""
    last = max(0, (count - 1) // _A_PAGE)
    begin = min(max(page, 0), last) * _A_PAGE
    return range(begin, min(begin + _A_PAGE, count))


def posting_now() -> Reply:
    """Say that a report is being posted."""
    return kit.reply("Posting the report now.")


def report_gone() -> Reply:
    """Say that a report was already deleted."""
    return kit.ask("This report was already deleted.", kit.button("All reports", PAGE, "0"))


def offer_report_form() -> Reply:
    """Offer the form with a button, for when it couldn't be opened."""
    return kit.reply(TOOK_TOO_LONG, kit.section(TOOK_TOO_LONG), kit.actions(kit.button(OPEN_THE_FORM, OPEN, "-")))


def pause_notice(called: str, channel: str, error: str) -> str:
    """Return the `Notice.what` for a report that was paused because of Slack's *error* (`report_paused`)."""
    return f"{PAUSED}:" + json.dumps([called, channel, error, "", True])


def report_paused(facts: str = "") -> Reply:
    """Tell the owner of a report, in a direct message, or its channel, that the report is paused."""
    try:
        called, channel, error, owner, is_owner = (*json.loads(facts), "", True)[:5]
    except ValueError:
        called, channel, error, owner, is_owner = "", "", "", "", True
    who = "" if is_owner else str(owner) or _ITS_OWNER
    why = _WHY_PAUSED.get(error) or no_longer(str(error), who)
    was = "is paused" if why else "couldn't be posted and is paused"
    why = why or f"{_NOT_ALLOWED} ({kit.one_line(str(error), 60)})"
    which = "One of your reports" if is_owner else "A report"
    if called:
        which = f"{'Your' if is_owner else 'The'} report {kit.quoted(str(called), 120)}"
    where: list[Block | str] = [" in ", _where(str(channel))] if is_owner and _is_channel(str(channel)) else []
    fix = " It continues once your admin adds the project back." if error == REMOVED else ""
    fix = fix if is_owner else " Someone with permission can schedule it again with /stats report."
    ending = f" {was}: {why}.{fix}"
    return kit.reply(
        which + ending,
        kit.rich(kit.paragraph(f"⚠️ {which}", *where, ending)),
        kit.actions(kit.button("All reports", PAGE, "0")),
        audience=Audience.CHANNEL,
    )


def may_not_post(reason: str, owner: str) -> Reply:
    """Say that a report can't be posted because of its *owner* (``""``: the reader) or its channel."""
    why = no_longer(reason, owner)
    return kit.reply(f"This report can't be posted: {why}. Delete it, or schedule it again once that's fixed.")


def report_form(origin: Origin, zone: str) -> View:
    """Return the form, with common values filled in."""
    often, compared = (
        [kit.option(text, value) for value, text in choices.items()] for choices in (HOW_OFTEN, COMPARED)
    )
    clock = {"type": "timepicker", "action_id": CLOCK, "initial_time": "09:00"}
    expression = {"type": "plain_text_input", "action_id": CRON, "max_length": 100}
    place = {"type": "plain_text_input", "action_id": ZONE, "max_length": 60, "initial_value": zone}
    channel = channel_menu(CHANNEL, origin.channel if _is_channel(origin.channel) else "", with_direct=False)
    parts = [kit.option(part.capitalize(), part) for part in PARTS]
    ticks = {"type": "checkboxes", "action_id": ONLY, "options": parts, "initial_options": parts}
    blocks = [
        kit.input_block(OFTEN, "How often", kit.select(OFTEN, "Choose", often, often[0])),
        kit.input_block(CLOCK, "Time of day", clock),
        kit.input_block(CRON, "Cron expression", expression, hint=_CRON_HINT, optional=True),
        kit.input_block(ZONE, "Time zone", place, hint="Such as Berlin or Europe/Berlin."),
        kit.input_block(CHANNEL, "Channel", channel, hint="I need to be a member of that channel."),
        kit.input_block(COMPARE, "Compare with", kit.select(COMPARE, "Choose", compared, compared[0])),
        kit.input_block(ONLY, "Include", ticks),
    ]
    return modal(FORM, "Schedule a report", "Schedule", blocks, origin)


def form_words(values: Mapping[str, Any]) -> str:
    """Return a form's values as the text of the command. Raises `BadSchedule` for an unknown time zone."""
    often, cron = str(values.get(OFTEN) or ""), str(values.get(CRON) or "").replace('"', " ")
    is_cron = often == CRON or bool(cron.strip())
    when = f'cron "{cron}"' if is_cron else f"{often} {values.get(CLOCK) or '-'}"
    compare, only = str(values.get(COMPARE) or "-"), str(values.get(ONLY) or "")
    zone = str(values.get(ZONE) or "")
    words = [when, find_zone(zone) if zone.strip() else ""]
    words += [f"--compare {compare}"] if compare != "-" else []
    words += [f"--only {only}"] if only and set(only.split(",")) != set(PARTS) else []
    return " ".join(filter(None, words))


def field_of(part: str) -> str:
    """Return the field that shows an error in *part* (`bridge.errors.BadSchedule`)."""
    return CLOCK if part == "no_time" else part if part in _FIELDS else OFTEN


def _shown(report: StoredTask, owner: str, page: int) -> list[Block]:
    value, when = f"{page}:{report.id}", kit.words(_capitalized(report.when), bold=True)
    ending = kit.titled(f" · {kit.named(owner, 80)}", report.project_name)
    next_is = kit.trusted_context("Next: {moment} (your time)", moment=report.due)
    pause = kit.button("Resume", RESUME, value) if report.paused else kit.button("Pause", PAUSE, value)
    return [
        kit.rich(kit.paragraph(when, f" ({report.spec.zone}) in ", _where(report.spec.channel), ending)),
        kit.context(f"⏸️ {_capitalized(_status(report))}") if report.paused else next_is,
        kit.actions(pause, kit.button(_POST_NOW, NOW, value), delete_button(report, value, owner)),
    ]


def _capitalized(words: str) -> str:
    return words[:1].upper() + words[1:]


def _where(channel: str) -> Block:
    """Return a mention of a channel; Slack hides the name of a private one from people who can't see it."""
    return {"type": "channel", "channel_id": channel} if _is_channel(channel) else kit.words("a direct message")


def _is_channel(channel: str) -> bool:
    """Whether this is the ID of a channel, not of a direct message."""
    return channel.startswith(("C", "G"))


def _status(report: StoredTask) -> str:
    if not report.paused:
        return f"next {kit.DATE_AND_TIME.format(moment=report.due)}"
    if report.paused == ASKED:
        return "paused"
    return f"paused: {_WHY_PAUSED.get(report.paused) or no_longer(report.paused, _ITS_OWNER) or _NOT_ALLOWED}"
