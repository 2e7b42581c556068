"""Scheduled reports: how one is posted, their list with its buttons, the form that makes one, and what is said of them.

The form asks in fields for what `/stats report` takes in words; `form_words` puts them into those words, so that there
is one reader for both (`bridge.reports.wording`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from bridge.blocks import kit
from bridge.blocks.forms import Origin, channel_menu, modal
from bridge.blocks.reply import Audience, Block, Reply, View

FORM: Final = "report"
"""The form's callback_id."""

PAUSE: Final = "report:pause"
RESUME: Final = "report:resume"
NOW: Final = "report:now"
DELETE: Final = "report:delete"
PAGE: Final = "report:page"
NEXT_PAGE: Final = "report:page:next"
OPEN: Final = "report:form"

BUTTONS: Final = frozenset({PAUSE, RESUME, NOW, DELETE, PAGE, NEXT_PAGE, OPEN})

OFTEN: Final = "often"
CLOCK: Final = "time"
CRON: Final = "cron"
ZONE: Final = "zone"
CHANNEL: Final = "channel"
COMPARE: Final = "compare"
ONLY: Final = "only"

ASKED: Final = "asked"
"""Why a report is paused: somebody wanted it so."""

NO_CLOCK: Final = "no clock"
"""Why a report is paused: the machine that the bridge runs on does not know its time zone."""

PAUSED: Final = "report_paused:"
"""How `bridge.inbound.Notice.what` begins for the owner of a report that could not be posted."""

_A_PAGE: Final = 15  # of three blocks each
_BY_CRON: Final = "cron"
_OFTEN: Final = (
    ("Every day", "daily"),
    ("Monday to Friday", "weekdays"),
    *((f"Every {day}", f"weekly {day[:3].lower()}") for day in ("Monday", "Tuesday", "Wednesday", "Thursday")),
    *((f"Every {day}", f"weekly {day[:3].lower()}") for day in ("Friday", "Saturday", "Sunday")),
    ("On the 1st of the month", "monthly 1"),
    ("On the 15th of the month", "monthly 15"),
    ("On the last day of the month", "monthly last"),
    ("As the cron expression says", _BY_CRON),
)
_COMPARE: Final = (
    ("The last report", "-"),
    ("The day before", "1d"),
    ("A week before", "7d"),
    ("Four weeks before", "28d"),
    ("A year before", "365d"),
)
_PARTS: Final = ("prompts", "runs", "versions", "categories", "tags")
_FIELD_OF: Final = {"often": OFTEN, "time": CLOCK, "weekday": OFTEN, "monthday": OFTEN, "option": OFTEN}


@dataclass(frozen=True, slots=True)
class Line:
    """A report as the list shows it: what it is *called* (``daily 09:00``), and how it stands."""

    id: str
    called: str
    zone: str
    channel: str
    owner: str
    due: datetime
    paused: str = ""


def small_print(called: str, zone: str, skipped: datetime | None) -> list[Block]:
    """Say below the statistics which report this is, and what was *skipped* before it."""
    below: list[Block] = []
    if skipped is not None:
        below.append(kit.trusted_context(f"Not posted since {kit.date(skipped)}, because it would have been too late."))
    return [*below, kit.context(f"Report {called}, {zone}. Mention me in this thread to ask an agent about it.")]


def report_kept(line: Line, why_zone: str) -> Reply:
    """Tell that a report is kept, when it comes first, and *why_zone* its time zone is that."""
    words = f"Report {line.called}, {line.zone}{why_zone}, is kept."
    return kit.reply(
        words,
        kit.rich(kit.paragraph(kit.words(f"Report {line.called}", bold=True), f", {line.zone}{why_zone}, is kept.")),
        kit.trusted_context(f"First time: {kit.date(line.due)}"),
        kit.actions(kit.button("Post one now", NOW, f"0:{line.id}"), kit.button("All reports", PAGE, "0")),
    )


def report_list(lines: Sequence[Line], page: int = 0, *, replaces_original: bool = False) -> Reply:
    """Show the reports that are kept, a page of them."""
    places = shown_on(page, len(lines))
    page, last = places.start // _A_PAGE, max(0, (len(lines) - 1) // _A_PAGE)
    shown = [lines[place] for place in places]
    words = f"Scheduled reports: {len(lines):,}" if lines else "No reports are scheduled yet."
    blocks = [block for line in shown for block in _shown(line, page)]
    return kit.reply(
        "\n".join([words, *(f"{line.called}, {line.zone}, {_standing(line)}" for line in shown)]),
        *([kit.header("Scheduled reports")] if lines else [kit.section(words)]),
        *blocks,
        kit.actions(kit.button("New report", OPEN, "-"), *_turning(page, last)),
        replaces_original=replaces_original,
    )


def shown_on(page: int, count: int) -> range:
    """Tell which of *count* reports a page of the list shows; one that is not there is the nearest that is."""
    last = max(0, (count - 1) // _A_PAGE)
    begin = min(max(page, 0), last) * _A_PAGE
    return range(begin, min(begin + _A_PAGE, count))


def posting_now() -> Reply:
    """Tell that a report is on its way."""
    return kit.reply("The report is being posted now.")


def report_not_kept() -> Reply:
    """Tell that a report was deleted before."""
    return kit.reply("This report is not kept any more.")


def offer_report_form() -> Reply:
    """Offer the form where it could not be opened."""
    words = "This took too long for the form to open by itself."
    return kit.reply(words, kit.section(words), kit.actions(kit.button("Open the form", OPEN, "-")))


def pause_notice(called: str, channel: str, error: str) -> str:
    """Name, for `told_paused`, why a report was paused."""
    return PAUSED + json.dumps([called, channel, error])


def told_paused(what: str) -> Reply:
    """Tell the owner of a report in a direct message that it could not be posted, and what to do."""
    try:
        called, channel, error = (str(fact) for fact in json.loads(what.removeprefix(PAUSED)))
    except ValueError:
        called, channel, error = "of yours", "", ""
    why = _WHY.get(error, f"Slack does not allow it ({kit.one_line(error, 60)})")
    words = f"Your report {kit.one_line(called, 120)} could not be posted and is paused: {why}."
    where = [{"type": "channel", "channel_id": channel}] if _is_channel(channel) else []
    return kit.reply(
        words,
        kit.rich(kit.paragraph(words), *([kit.paragraph("It was for ", *where)] if where else [])),
        kit.actions(kit.button("Show my reports", PAGE, "0")),
        audience=Audience.CHANNEL,
    )


def report_form(origin: Origin, zone: str) -> View:
    """Draw the form, with what most people want filled in."""
    clock = {"type": "timepicker", "action_id": CLOCK, "initial_time": "09:00"}
    expression = {"type": "plain_text_input", "action_id": CRON, "max_length": 100}
    place = {"type": "plain_text_input", "action_id": ZONE, "max_length": 60, "initial_value": zone}
    channel = channel_menu(CHANNEL, origin.channel if _is_channel(origin.channel) else "", with_direct=False)
    parts = [kit.option(part.capitalize(), part) for part in _PARTS]
    ticks = {"type": "checkboxes", "action_id": ONLY, "options": parts, "initial_options": parts}
    blocks = [
        kit.input_block(OFTEN, "How often", _choice(OFTEN, _OFTEN)),
        kit.input_block(CLOCK, "Time of day", clock),
        kit.input_block(CRON, "Cron expression", expression, hint=_CRON_HINT, optional=True),
        kit.input_block(ZONE, "Time zone", place, hint="Such as Europe/Berlin."),
        kit.input_block(CHANNEL, "Channel", channel, hint="I have to be a member of it."),
        kit.input_block(COMPARE, "Compare with", _choice(COMPARE, _COMPARE)),
        kit.input_block(ONLY, "What it shows", ticks),
    ]
    return modal(FORM, "Scheduled report", "Keep", blocks, origin)


def form_words(values: Mapping[str, Any]) -> str:
    """Write what a form says in the words of the command."""
    often, cron = str(values.get(OFTEN) or ""), str(values.get(CRON) or "").replace('"', " ")
    when = f'cron "{cron}"' if often == _BY_CRON or cron.strip() else f"{often} {values.get(CLOCK) or '-'}"
    compare, only = str(values.get(COMPARE) or "-"), str(values.get(ONLY) or "")
    words = [when, "".join(str(values.get(ZONE) or "").split())]
    words += [f"--compare {compare}"] if compare != "-" else []
    words += [f"--only {only}"] if only and set(only.split(",")) != set(_PARTS) else []
    return " ".join(word for word in words if word)


def field_of(part: str) -> str:
    """Name the field under which a problem with *part* (`bridge.errors.BadSchedule`) is shown."""
    return _FIELD_OF.get(part, part if part in {CRON, ZONE, CHANNEL, COMPARE, ONLY} else OFTEN)


def _shown(line: Line, page: int) -> list[Block]:
    where: Block = kit.words("a direct message")
    if _is_channel(line.channel):
        where = {"type": "channel", "channel_id": line.channel}  # Slack hides its name from whoever may not know it
    value = f"{page}:{line.id}"
    standing = kit.context(_standing(line)) if line.paused else kit.trusted_context(f"Next: {kit.date(line.due)}")
    rest = kit.button("Resume", RESUME, value) if line.paused else kit.button("Pause", PAUSE, value)
    sure = kit.confirm("Delete this report?", f"{line.called} will not be posted any more.", "Delete", "Keep it")
    return [
        kit.rich(
            kit.paragraph(
                kit.words(line.called, bold=True),
                f", {line.zone}, to ",
                where,
                f", kept by {kit.named(line.owner, 80)}",
            )
        ),
        standing,
        kit.actions(rest, kit.button("Run now", NOW, value), kit.button("Delete", DELETE, value, asks=sure)),
    ]


def _is_channel(channel: str) -> bool:
    """Whether this is the id of a channel, and not of a direct message."""
    return channel.startswith(("C", "G"))


def _standing(line: Line) -> str:
    if not line.paused:
        return f"next {line.due:%Y-%m-%d %H:%M} UTC"
    return "paused" if line.paused == ASKED else f"paused: {_WHY.get(line.paused, 'Slack does not allow it')}"


def _turning(page: int, last: int) -> list[Block]:
    """Make the buttons that turn pages; each has an id of its own, as Slack wants in one block."""
    buttons = [kit.button("Earlier", PAGE, str(page - 1))] if page > 0 else []
    return [*buttons, *([kit.button("More", NEXT_PAGE, str(page + 1))] if page < last else [])]


def _choice(name: str, choices: Sequence[tuple[str, str]]) -> Block:
    options = [kit.option(text, value) for text, value in choices]
    return kit.select(name, "Choose", options, options[0])


_CRON_HINT: Final = (
    "Minute, hour, day of the month, month, day of the week: 0 9 * * 1-5. With one, what is chosen above is left aside."
)
_WHY: Final = {
    "is_archived": "its channel is archived",
    "channel_not_found": "I am not in its channel any more",
    "not_in_channel": "I am not in its channel any more",
    "restricted_action": "I may not write in its channel",
    "missing_scope": "the app lacks a permission",
    NO_CLOCK: "the machine that the bridge runs on does not know its time zone",
}
