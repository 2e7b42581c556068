"""Alerts: their messages, their preview, their list, and the form."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from bridge.features.alerts.alert import AlertSpec, Preview, StoredAlert
from bridge.features.alerts.conditions import quoted
from bridge.features.buttons import ALERT_FORM, ASK_ABOUT, STATISTICS, run_button
from bridge.features.episodes.episode import UNTIL_IT_RECOVERS
from bridge.features.standing import layout as standing
from bridge.features.standing.kind import ListRow, Noun, ShownThing, paused_because
from bridge.slack.blockkit import charts, kit
from bridge.slack.blockkit.modals import OPEN_THE_FORM
from bridge.slack.blockkit.reply import Audience, Block, Reply

SAVE: Final = "alert:save"
SNOOZE: Final = "alert:snooze"
SNOOZES_IT: Final = "snooze"
UNSNOOZE: Final = "off"

NOUN: Final = Noun("alert", "/stats alert", kit.button("All alerts", "alert:page", "0"), "not_your_alert")

SNOOZES: Final = {
    "1h": ("Snooze 1 hour", timedelta(hours=1)),
    "1d": ("Snooze 1 day", timedelta(days=1)),
    UNTIL_IT_RECOVERS: ("Snooze until it recovers", None),
    UNSNOOZE: ("End snooze", None),
}
"""The choices of the menu, and how long each is."""

_MOST_PERIODS: Final = 8
_MOST_POINTS: Final = 20
NAME: Final = 160


def alert_text(condition: str, detail: str, facts: str) -> str:
    """Return an alert in words, for an agent or a workflow."""
    return " ".join(filter(None, [f"Alert: {condition}: {detail}.", facts]))


def begun(stored: StoredAlert, detail: str, facts: str, since: datetime, owner: str, *, project: str = "") -> Reply:
    """Show that a condition holds, and what to do next; *project* is its project's name if there are several."""
    called = kit.one_line(stored.called, NAME)
    of = f"{kit.named(project, 80)} · " if project else ""
    by = f"{of}Set up by {kit.named(owner, 80)} · Not posted again while it lasts."
    runs = [kit.context(f"Runs {kit.named(stored.spec.run_name, 80)}.")] if stored.spec.run is not None else []
    buttons = [
        kit.button("Ask an agent about this", ASK_ABOUT, kit.cut(alert_text(called, detail, facts), kit.BUTTON_VALUE)),
        run_button(),
        kit.button("Show statistics", STATISTICS, "-"),
        _snooze_menu(stored.id),
    ]
    return kit.reply(
        f"⚠️ {called}: {detail}.",
        kit.rich(kit.paragraph("⚠️ ", kit.words(called, bold=True), f": {kit.one_line(detail, 500)}.")),
        kit.trusted_context("Since {since}", since=since),
        *runs,
        kit.context(by),
        kit.actions(*buttons),
        audience=Audience.CHANNEL,
    )


def over(stored: StoredAlert, detail: str, since: datetime, ended: datetime) -> Reply:
    """Replace the message about a condition that no longer holds."""
    called, length = kit.one_line(stored.called, NAME), kit.spoken(ended - since)
    ending = f" is over. It lasted {length}."
    return kit.reply(
        f"✅ {called}{ending}",
        kit.rich(kit.paragraph("✅ ", kit.words(called, bold=True), ending)),
        kit.context(f"Now: {detail}"),
        kit.trusted_context("From {since} to {ended}", since=since, ended=ended),
        kit.actions(kit.button("Show statistics", STATISTICS, "-"), NOUN.lists),
        audience=Audience.CHANNEL,
    )


def recovered(stored: StoredAlert, detail: str, since: datetime, ended: datetime) -> Reply:
    """Say in its thread that a condition no longer holds."""
    text = f"✅ Recovered after {kit.spoken(ended - since)}: {kit.one_line(detail, 500)}."
    return kit.reply(text, kit.section(text), kit.context(stored.called), audience=Audience.CHANNEL)


def unknown(stored: StoredAlert, detail: str) -> Reply:
    """Say that for a day it has been unknown whether a condition holds, and why."""
    called, why = kit.one_line(stored.called, NAME), kit.one_line(detail, 500)
    small = (
        "It counts as still on, and is checked every minute." if stored.since else "It's still checked every minute."
    )
    return kit.reply(
        f"⚠️ I couldn't check {called} for a day: {why}.",
        kit.rich(kit.paragraph("⚠️ I couldn't check ", kit.words(called, bold=True), f" for a day: {why}.")),
        kit.context(small),
        kit.actions(NOUN.lists),
        audience=Audience.CHANNEL,
    )


def previewed(
    spec: AlertSpec, value: str, shown: Preview, now: str, *, is_known: bool, is_new: bool = True, warning: str = ""
) -> Reply:
    """Show what an alert would have done, and offer to set it up, or to change it; *value* is the button's.

    *now* is what was found now, and *is_known* whether that says whether the condition holds. A *warning*
    is shown below.
    """
    buttons = [kit.button("Create alert" if is_new else "Save changes", SAVE, value)]
    buttons += [kit.button("Change…", ALERT_FORM, kit.cut(typed_words(spec), 1000))] if is_new else []
    called = kit.one_line(spec.condition, NAME)
    does = "Posts once in " if spec.run is None else f"Runs {kit.named(spec.run_name, 80)}, and posts once in "
    ending = " when this begins, and replies when it's over."
    verdict = _verdict(shown)
    lines = []
    for begin, end in shown.periods[-_MOST_PERIODS:][::-1]:
        if end is None:
            lines.append(kit.trusted_context("⚠️ From {begin}, still on", begin=begin))
        else:
            lines.append(kit.trusted_context("⚠️ From {begin} to {end}", begin=begin, end=end))
    size = -(-len(shown.points) // _MOST_POINTS) or 1
    pieces = [shown.points[at : at + size] for at in range(0, len(shown.points), size)]
    worst = min if shown.is_of_few else max
    # A point of a whole day needs no time, which is long.
    has_days = len(pieces) > 1 and pieces[1][0][0] - pieces[0][0][0] >= timedelta(days=1)
    points = [
        (
            f"{piece[0][0]:%b} {piece[0][0].day}" + ("" if has_days else f" {piece[0][0]:%H:%M}"),
            round(worst(n for _at, n in piece)),
        )
        for piece in pieces
    ]
    chart = charts.line(called, points)
    not_yet = [] if is_known else [kit.section(f"⚠️ This can't alert yet: {kit.one_line(now, 500)}.")]
    text = " ".join([f"{called}:", *([verdict] if verdict else []), f"{'Now' if is_known else 'Not yet'}: {now}."])
    title = "Preview of an alert" if verdict else "New alert" if is_new else "Changed alert"
    return kit.reply(
        text,
        kit.header(title),
        kit.rich(kit.paragraph(kit.words(called, bold=True)), kit.paragraph(does, kit.place(spec.channel), ending)),
        *([kit.section(verdict)] if verdict else []),
        *lines,
        *([chart] if chart else []),
        *(not_yet or [kit.context(f"Now: {now}")]),
        *([kit.context(warning)] if warning else []),
        kit.actions(*buttons),
    )


def typed_words(spec: AlertSpec) -> str:
    """Return the condition, and the workflow that it runs, as a person types them after ``alert``."""
    run = f" then run {quoted(spec.run_name)}" if spec.run is not None else ""
    return spec.condition + run


def _verdict(shown: Preview) -> str:
    """Say what an alert would have done; nothing if that isn't recorded, or not long enough."""
    if not shown.is_possible or shown.since is None:
        return ""
    times = "once" if len(shown.periods) == 1 else f"{len(shown.periods):,} times"
    days = max(1, round((shown.points[-1][0] - shown.since) / timedelta(days=1)))
    length = "in the last day" if days == 1 else f"in the last {days} days"
    return f"Would have alerted {times} {length}." if shown.periods else f"Wouldn't have alerted {length}."


def set_up(stored: StoredAlert, now: str, *, is_known: bool, is_new: bool = True, warning: str = "") -> Reply:
    """Say that an alert is set up, or changed; a *warning* is shown below."""
    called = kit.one_line(stored.called, NAME)
    start, typed = "Alert set up: " if is_new else "Alert changed: ", kit.one_line(typed_words(stored.spec), NAME)
    where: list[Block | str] = [" in ", kit.place(stored.spec.channel), "."]
    small = "It's checked every minute." if is_known else f"It can't alert yet: {now}."
    return kit.reply(
        f"{start}{called}. {small}",
        kit.rich(kit.paragraph(start, kit.words(called, bold=True), *where)),
        kit.context(small),
        *([kit.context(warning)] if warning else []),
        kit.actions(NOUN.lists, standing.delete_button(NOUN, typed, "alert:delete", f"0:{stored.id}")),
        replaces_original=True,
    )


def form_button() -> Block:
    """Return the button that opens the form."""
    return kit.button(OPEN_THE_FORM, ALERT_FORM, "-")


def row(shown: ShownThing[StoredAlert], value: str, now: datetime) -> ListRow:
    """Return how a list shows an alert."""
    stored, called = shown.record, kit.words(kit.one_line(shown.record.called, NAME), bold=True)
    runs = f" · runs {kit.named(stored.spec.run_name, 80)}" if stored.spec.run is not None else ""
    ending = "".join([runs, *(f" · {kit.named(name, 80)}" for name in (shown.project, shown.owner) if name)])
    until, is_snoozed = stored.snoozed_until, stored.is_snoozed(now)
    text = kit.capitalized(paused_because(stored.paused) if stored.paused else status(stored, now))
    state, in_home = kit.context(text), kit.paragraph(text)
    if not stored.paused and stored.since:
        state = kit.trusted_context("On since {since}", since=stored.since)
        in_home = kit.paragraph("On since ", kit.date(stored.since))
    elif not stored.paused and until and is_snoozed:
        state = kit.trusted_context("Snoozed until {until}", until=until)
    sign = "⏸️" if stored.paused else "⚠️" if stored.since else "💤" if is_snoozed else "✅"
    line = kit.paragraph(f"{sign} ", called, " in ", kit.place(stored.spec.channel), ending)
    menu = _snooze_menu(stored.id, value.partition(":")[0], may_end=UNSNOOZE in shown.offers)
    return ListRow([line], state, in_home, [menu])


def status(stored: StoredAlert, now: datetime) -> str:
    """Return the state of an alert that isn't paused."""
    if stored.since:
        return f"on since {kit.DATE_AND_TIME.format(moment=stored.since)}"
    if stored.is_snoozed(now):
        return "snoozed until it recovers" if stored.snoozed == UNTIL_IT_RECOVERS else "snoozed"
    return "watching"


def _snooze_menu(id_: str, page: str = "", *, may_end: bool = True) -> Block:
    options = [kit.option(text, f"{name}:{page}:{id_}") for name, (text, _length) in SNOOZES.items()]
    options = options if may_end else options[:-1]
    return kit.select(SNOOZE, "Snooze…", options)


def snoozed(stored: StoredAlert, until: datetime | None, choice: str) -> Reply:
    """Confirm a snooze, or its end."""
    called = kit.one_line(stored.called, NAME)
    if choice == UNSNOOZE:
        return kit.reply(f"No longer snoozed: {called}.")
    if until is None:
        return kit.reply(f"Snoozed until it recovers: {called}.")
    text = f"Snoozed: {called}."
    return kit.reply(text, kit.section(text), kit.trusted_context("Until {until} (your time)", until=until))
