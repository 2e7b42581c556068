"""Scheduled reports: how one is posted, their list with its buttons, the form that makes one, and what is said of them.

The form asks in fields for what `/stats report` takes in words; `form_words` puts them into those words, so that there
is one reader for both (`bridge.features.reports.wording`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from bridge import words
from bridge.features.stats.numbers import PARTS
from bridge.features.workflows.forms import Origin, channel_menu, modal
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Audience, Block, Reply, View

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

ALONE: Final = "made"
"""What stands in place of a page's number in the value of a button that is not in the list."""

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
        below.append(kit.trusted_context(words.REPORT_SKIPPED, moment=skipped))
    return [*below, kit.context(words.REPORT_BELOW.format(report=called, zone=zone))]


def report_kept(line: Line, why_zone: str) -> Reply:
    """Tell that a report is kept, when it comes first, and *why_zone* its time zone is that."""
    report, zone = kit.words(line.called, bold=True), f"{line.zone}{why_zone}"
    return kit.reply(
        words.REPORT_SCHEDULED_SPOKEN.format(report=line.called, zone=zone),
        kit.rich(
            kit.paragraph(*kit.filled(words.REPORT_SCHEDULED, report=report, zone=zone, place=_where(line.channel)))
        ),
        kit.trusted_context(words.REPORT_FIRST_TIME, moment=line.due),
        kit.actions(
            kit.button(words.POST_ONE_NOW, NOW, f"0:{line.id}"),
            delete_button(line.called, f"{ALONE}:{line.id}"),
            kit.button(words.ALL_REPORTS, PAGE, "0"),
        ),
    )


def delete_button(called: str, value: str) -> Block:
    """Make the button that deletes a report, once it has asked."""
    told = words.NOT_POSTED_ANY_MORE.format(report=called)
    return kit.button(
        words.DELETE, DELETE, value, asks=kit.confirm(words.DELETE_SURE, told, words.DELETE, words.KEEP_IT)
    )


def report_deleted() -> Reply:
    """Take the place of what was told when a report was made."""
    return kit.reply(words.REPORT_DELETED, replaces_original=True)


def report_list(lines: Sequence[Line], page: int = 0, *, replaces_original: bool = False) -> Reply:
    """Show the reports that are kept, a page of them."""
    places = shown_on(page, len(lines))
    page, last = places.start // _A_PAGE, max(0, (len(lines) - 1) // _A_PAGE)
    shown = [lines[place] for place in places]
    text = words.SCHEDULED_REPORTS_SPOKEN.format(count=len(lines)) if lines else words.NO_REPORTS
    blocks = [block for line in shown for block in _shown(line, page)]
    return kit.reply(
        "\n".join([text, *(f"{line.called}, {line.zone}, {_standing(line)}" for line in shown)]),
        *([kit.header(words.SCHEDULED_REPORTS)] if lines else [kit.section(text)]),
        *blocks,
        kit.actions(kit.button(words.NEW_REPORT, OPEN, "-"), *_turning(page, last)),
        replaces_original=replaces_original,
    )


def shown_on(page: int, count: int) -> range:
    """Tell which of *count* reports a page of the list shows; one that is not there is the nearest that is."""
    last = max(0, (count - 1) // _A_PAGE)
    begin = min(max(page, 0), last) * _A_PAGE
    return range(begin, min(begin + _A_PAGE, count))


def posting_now() -> Reply:
    """Tell that a report is on its way."""
    return kit.reply(words.POSTING_NOW)


def report_not_kept() -> Reply:
    """Tell that a report was deleted before."""
    return kit.reply(words.REPORT_NOT_KEPT)


def offer_report_form() -> Reply:
    """Offer the form where it could not be opened."""
    text = words.TOOK_TOO_LONG
    return kit.reply(text, kit.section(text), kit.actions(kit.button(words.OPEN_THE_FORM, OPEN, "-")))


def pause_notice(called: str, channel: str, error: str) -> str:
    """Name, for `told_paused`, why a report was paused."""
    return PAUSED + json.dumps([called, channel, error])


def told_paused(what: str) -> Reply:
    """Tell the owner of a report in a direct message that it could not be posted, and what to do."""
    try:
        called, channel, error = (str(fact) for fact in json.loads(what.removeprefix(PAUSED)))
    except ValueError:
        called, channel, error = words.REPORT_OF_YOURS, "", ""
    why = words.WHY_PAUSED.get(error, words.NOT_ALLOWED_BY_SLACK_NAMED.format(error=kit.one_line(error, 60)))
    text = words.REPORT_PAUSED.format(report=kit.one_line(called, 120), why=why)
    where: Block = {"type": "channel", "channel_id": channel}
    was_for = [kit.paragraph(*kit.filled(words.REPORT_WAS_FOR, channel=where))] if _is_channel(channel) else []
    return kit.reply(
        text,
        kit.rich(kit.paragraph(text), *was_for),
        kit.actions(kit.button(words.SHOW_MY_REPORTS, PAGE, "0")),
        audience=Audience.CHANNEL,
    )


def report_form(origin: Origin, zone: str) -> View:
    """Draw the form, with what most people want filled in."""
    clock = {"type": "timepicker", "action_id": CLOCK, "initial_time": "09:00"}
    expression = {"type": "plain_text_input", "action_id": CRON, "max_length": 100}
    place = {"type": "plain_text_input", "action_id": ZONE, "max_length": 60, "initial_value": zone}
    channel = channel_menu(CHANNEL, origin.channel if _is_channel(origin.channel) else "", with_direct=False)
    parts = [kit.option(part.capitalize(), part) for part in PARTS]
    ticks = {"type": "checkboxes", "action_id": ONLY, "options": parts, "initial_options": parts}
    blocks = [
        kit.input_block(OFTEN, words.HOW_OFTEN, _choice(OFTEN, words.OFTEN)),
        kit.input_block(CLOCK, words.TIME_OF_DAY, clock),
        kit.input_block(CRON, words.CRON_EXPRESSION, expression, hint=words.CRON_HINT, optional=True),
        kit.input_block(ZONE, words.TIME_ZONE, place, hint=words.TIME_ZONE_HINT),
        kit.input_block(CHANNEL, words.CHANNEL, channel, hint=words.MEMBER_OF_IT),
        kit.input_block(COMPARE, words.COMPARE_WITH, _choice(COMPARE, words.COMPARE)),
        kit.input_block(ONLY, words.WHAT_IT_SHOWS, ticks),
    ]
    return modal(FORM, words.SCHEDULED_REPORT, words.KEEP, blocks, origin)


def form_words(values: Mapping[str, Any]) -> str:
    """Write what a form says in the words of the command."""
    often, cron = str(values.get(OFTEN) or ""), str(values.get(CRON) or "").replace('"', " ")
    is_cron = often == _BY_CRON or bool(cron.strip())
    when = words.REPORT_CRON.format(expression=cron) if is_cron else f"{often} {values.get(CLOCK) or '-'}"
    compare, only = str(values.get(COMPARE) or "-"), str(values.get(ONLY) or "")
    said = [when, "".join(str(values.get(ZONE) or "").split())]
    said += [f"--compare {compare}"] if compare != "-" else []
    said += [f"--only {only}"] if only and set(only.split(",")) != set(PARTS) else []
    return " ".join(word for word in said if word)


def field_of(part: str) -> str:
    """Name the field under which a problem with *part* (`bridge.errors.BadSchedule`) is shown."""
    return _FIELD_OF.get(part, part if part in {CRON, ZONE, CHANNEL, COMPARE, ONLY} else OFTEN)


def _shown(line: Line, page: int) -> list[Block]:
    value = f"{page}:{line.id}"
    standing = kit.context(_standing(line)) if line.paused else kit.trusted_context(words.NEXT_IS, moment=line.due)
    rest = kit.button(words.RESUME, RESUME, value) if line.paused else kit.button(words.PAUSE, PAUSE, value)
    return [
        kit.rich(
            kit.paragraph(
                *kit.filled(
                    words.REPORT_LINE,
                    report=kit.words(line.called, bold=True),
                    zone=line.zone,
                    place=_where(line.channel),
                    owner=kit.named(line.owner, 80),
                )
            )
        ),
        standing,
        kit.actions(rest, kit.button(words.RUN_NOW, NOW, value), delete_button(line.called, value)),
    ]


def _where(channel: str) -> Block:
    """Name a channel so that Slack hides its name from whoever may not know it."""
    return {"type": "channel", "channel_id": channel} if _is_channel(channel) else kit.words(words.A_DIRECT_MESSAGE)


def _is_channel(channel: str) -> bool:
    """Whether this is the id of a channel, and not of a direct message."""
    return channel.startswith(("C", "G"))


def _standing(line: Line) -> str:
    if not line.paused:
        return words.NEXT_IS_SPOKEN.format(moment=words.DATE_AND_TIME.format(moment=line.due))
    if line.paused == ASKED:
        return words.PAUSED
    return words.PAUSED_BECAUSE.format(why=words.WHY_PAUSED.get(line.paused, words.NOT_ALLOWED_BY_SLACK))


def _turning(page: int, last: int) -> list[Block]:
    """Make the buttons that turn pages; each has an id of its own, as Slack wants in one block."""
    buttons = [kit.button(words.EARLIER, PAGE, str(page - 1))] if page > 0 else []
    return [*buttons, *([kit.button(words.MORE, NEXT_PAGE, str(page + 1))] if page < last else [])]


def _choice(name: str, choices: Mapping[str, str]) -> Block:
    options = [kit.option(text, value) for value, text in choices.items()]
    return kit.select(name, words.CHOOSE, options, options[0])
