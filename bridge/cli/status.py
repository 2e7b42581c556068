"""`bridge status`: what every process is doing."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Final

from bridge.cli.catch_up import in_words
from bridge.cli.printing import age, moment, out, printable, to_json
from bridge.cli.running import CANNOT_RUN
from bridge.cli.store import JsonOption, in_store
from bridge.ids import ThreadKey
from bridge.queue.outages import Outages, PastOutage
from bridge.queue.scripting import Scripts
from bridge.queue.status import Status, status_of
from bridge.queue.trace import Owner, owner_of
from bridge.queue.wipe import CURE
from bridge.slack.blockkit.kit import counted, permalink

_STEPS: Final = {"queued": "starting", "sent": "waiting for the project service", "posting": "posting to Slack"}


def status(
    *,
    as_json: JsonOption = False,
) -> None:
    """Show what each process is doing.

    Also counts busy, waiting and stopped threads, requests for approval, and work that failed. The exit code is 1 if
    none runs, or if one ended without stopping cleanly and no other has started since; it's listed for a day.
    """

    async def show(scripts: Scripts) -> int:
        status, outage = await status_of(scripts), await Outages(scripts).latest()
        if as_json:
            out(for_programs(status, outage))
        else:
            out(table(status, scripts.clock.now(), outage, await owner_of(scripts)), signs=True)
        return 0 if status.is_well else CANNOT_RUN

    in_store(show)


def for_programs(status: Status, outage: PastOutage | None = None) -> str:
    """Format the status as JSON; durations are in seconds."""
    processes = [
        {
            "name": process.name,
            "is_running": process.is_running,
            "is_replaced": process.is_replaced,
            "last_heard_seconds": process.last_heard and process.last_heard.total_seconds(),
            "work": process.work,
            "clock": process.clock,
        }
        for process in status.processes
    ]
    return to_json({"ok": status.is_well, **asdict(status), "processes": processes, "outage": outage}, indent=2)


def table(status: Status, now: datetime, outage: PastOutage | None = None, owner: Owner | None = None) -> str:
    """Format the status for people; *owner* is the namespace's, for links to its threads."""
    lines = ["Processes"]
    listed = [process for process in status.processes if process.work or not process.is_replaced]
    for process in listed:
        ago = age(process.last_heard) if process.last_heard is not None else "more than a day"
        if process.is_running:
            does = f"{len(process.work)} in progress" if process.work else "idle"
            seen = f"running, {does}, last heartbeat {ago} ago"
        else:
            at = f", last heartbeat at {moment(now - process.last_heard)}" if process.last_heard else ""
            seen = f"not seen for {ago}{at}{', replaced' if process.is_replaced else ''}"
        lines.append(f"  {'✓' if process.is_running else '✗'} {printable(process.name)}  {seen}")
        if process.is_running and process.clock:
            lines.append(f"      ! {printable(process.clock)}. Synchronize it (NTP).")
        if process.is_missing:
            lines.append("    → its log says why; start it again")
        for work in process.work:
            accepted = f", accepted {age(now - work.accepted_at)} ago" if work.accepted_at else ""
            kind, _, rest = work.lane.partition(":")
            where = f"turn {work.turn}"
            if kind == "t":
                thread = ThreadKey.parse(rest)
                link = owner and permalink(owner.workspace, thread.channel, thread.root)
                where = link or f"{thread.channel} {thread.root}"
            where += f"  @{work.project}" if work.project else ""
            does = _STEPS.get(work.step, work.step)
            if work.next_try:
                does = f"waiting for the project service until {moment(work.next_try, 'seconds')}"
            lines.append(printable(f"      {where}  {does}{accepted}"))
    if others := len(status.processes) - len(listed):
        lines.append(f"  {counted(others, 'other')} ended and {'was' if others == 1 else 'were'} replaced.")
    if not any(process.is_running for process in status.processes):
        lines.append("  No bridge is running.")
    numbers = {
        "Busy threads": status.lanes,
        "Threads waiting for someone to pick an agent": status.parked,
        "Stopped threads with messages waiting": status.held,
        "Requests waiting for approval": status.approvals,
        "Work that failed (bridge dead list)": status.dead,
    }
    lines += ["", "Queue", *(f"  {name:<44}  {number:>5,}" for name, number in numbers.items())]
    if outage:
        lines += ["", "Last catch-up", f"  {in_words(outage)}"]
    if status.wipe:
        lines += ["", "Redis", f"  ! {status.wipe.in_words()}.", f"    → {CURE}"]
    return "\n".join(lines)
