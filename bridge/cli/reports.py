"""`bridge reports`: schedules, alerts and channel settings, as a list, and set again from it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from bridge.cli.names import DisplayNames, opened_names
from bridge.cli.printing import out
from bridge.cli.running import WRONG_SETTINGS, say
from bridge.cli.store import JsonOption, in_store
from bridge.features.alerts.listing import ListedAlert, read_alerts, write_alerts
from bridge.features.schedules.listing import (
    ListedChannel,
    ListedQuestion,
    ListedRun,
    ListedTask,
    ReportsListing,
    read_listing,
    write_listing,
)
from bridge.queue.scripting import Scripts
from bridge.slack.blockkit.kit import counted


class WholeListing(ReportsListing, frozen=True, extra="forbid"):
    """All schedules, alerts and channel settings of one bridge, as `bridge reports --json` prints them."""

    alerts: tuple[ListedAlert, ...] = ()


reports = typer.Typer(add_completion=False, invoke_without_command=True, rich_markup_mode=None)


@reports.callback()
def list_all(context: typer.Context, *, as_json: JsonOption = False) -> None:
    """List everything that's scheduled, alerts, and channel settings.

    bridge reports import sets them again from such a list.
    """
    if context.invoked_subcommand:
        return

    async def show(scripts: Scripts) -> int:
        listing = WholeListing(**dict(await read_listing(scripts)), alerts=tuple(await read_alerts(scripts)))
        if as_json:
            out(listing.to_text())
            return 0
        async with opened_names() as names:
            await names.look_up_agents()
            owners = [rule.owner for one in listing.channels for rule in one.settings.apps.values()]
            places = [one.channel for one in listing.channels]
            scheduled = (*listing.reports, *listing.schedules, *listing.alerts)
            await names.look_up([*owners, *places, *(id_ for one in scheduled for id_ in (one.channel, one.owner))])
        out("\n".join(lines_of(listing, names)))
        return 0

    in_store(show)


@reports.command("import")
def import_list(
    file: Annotated[str, typer.Argument(metavar="FILE", help="From bridge reports --json; - is standard input.")] = "-",
) -> None:
    """Set the schedules, alerts and channel settings of a list. Others stay; importing it again changes nothing."""
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        why = exc.strerror if isinstance(exc, OSError) else "not text"
        say(f"{file} can't be read ({why}): use the output of bridge reports --json")
        raise typer.Exit(WRONG_SETTINGS) from None

    async def set_all(scripts: Scripts) -> int:
        listing = WholeListing.parse(text)
        written = await write_listing(scripts, listing, scripts.clock.now())
        of_alerts = await write_alerts(scripts, listing.alerts, scripts.clock.now())
        schedules = f", {counted(written.schedules, 'other schedule')}" if written.schedules else ""
        channels = counted(written.channels, "channel")
        schedules += f", {counted(of_alerts, 'alert')}" if of_alerts else ""
        done = f"Set {counted(written.reports, 'report')}{schedules} and the settings of {channels}."
        others = written.others + len(listing.alerts) - of_alerts
        out(f"{done} {others} already as listed." if others else done)
        return 0

    in_store(set_all)


def lines_of(listing: WholeListing, names: DisplayNames) -> Iterator[str]:
    """Format *listing* for people."""
    yield "Scheduled reports"
    yield from [f"  {_when(report, names)}" for report in listing.reports] or ["  None."]
    yield ""
    yield "Scheduled questions and runs"
    yield from [f"  {_target(one, names)} {_when(one, names)}" for one in listing.schedules] or ["  None."]
    yield ""
    yield "Alerts"
    yield from [f"  {_alert(one, names)}" for one in listing.alerts] or ["  None."]
    yield ""
    yield "Channel settings"
    for one in listing.channels:
        yield f"  {names.channel(one.channel)}: {'; '.join(_settings(one, names))}"
    if not listing.channels:
        yield "  None."


def _when(task: ListedTask, names: DisplayNames) -> str:
    return f"{task.schedule} ({task.zone}) {_whose(task, names)}"


def _alert(alert: ListedAlert, names: DisplayNames) -> str:
    runs = f", runs workflow {alert.run}" if alert.run is not None else ""
    return f"{alert.condition} {_whose(alert, names, runs)}"


def _whose(one: ListedTask | ListedAlert, names: DisplayNames, more: str = "") -> str:
    paused = f", paused ({one.paused})" if one.paused else ""
    project = f", project {one.project}" if one.project else ""
    return f"in {names.channel(one.channel)}, by {names.person(one.owner)}{project}{more}{paused}"


def _target(task: ListedQuestion | ListedRun, names: DisplayNames) -> str:
    if isinstance(task, ListedRun):
        return f"run workflow {task.workflow}"
    return f"ask agent {task.agent if task.project else names.agent(task.agent)}"


def _settings(channel: ListedChannel, names: DisplayNames) -> Iterator[str]:
    settings = channel.settings
    if settings.agent is not None:
        yield f"agent {names.agent(settings.agent)}"
    if settings.answers == "all":
        yield "answers every message"
    if settings.replies:
        yield f"replies: {settings.replies}"
    for app, rule in settings.apps.items():
        target = f"workflow {rule.workflow}" if rule.agent is None else f"agent {names.agent(rule.agent)}"
        target = "ignored" if rule.ignores else target
        paused = f", paused ({rule.paused})" if rule.paused else ""
        yield f"{rule.name or 'app'} ({app}) → {target}, set up by {names.person(rule.owner)}{paused}"
