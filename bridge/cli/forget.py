"""`bridge forget`: erase what is stored about a person."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from datetime import timedelta
from typing import Annotated, Final

import typer

from bridge.cli.printing import out, to_json
from bridge.cli.running import CANNOT_RUN
from bridge.cli.store import JsonOption, in_store
from bridge.features.alerts.alert import AlertSpec
from bridge.features.alerts.store import AlertStore
from bridge.features.channels.settings import Channels
from bridge.features.schedules.schedule import ReportSpec, Spec
from bridge.features.schedules.store import TaskStore
from bridge.queue.erasure import erase_person
from bridge.queue.scripting import Scripts
from bridge.slack.blockkit.kit import counted

_OUT_OF_REACH: Final = """\
Not erased, because the bridge can't reach it:
  - messages in Slack
  - sessions at the project service
  - logs and backups"""
_SESSION: Final = timedelta(days=90)  # only lanes that wait for a choice live so long
_RUNNING: Final = "{} being worked on. Run this again when it's answered."


def forget(
    user: Annotated[str, typer.Argument(metavar="USER", help="A member ID, such as U0123456789.")],
    *,
    as_json: JsonOption = False,
) -> None:
    """Erase what is stored about a person.

    That's their messages and inputs, votes, recent runs and threads, schedules, alerts, app rules, and audit entries.
    """
    if not re.fullmatch(r"[UW][A-Z0-9]{2,30}", user):
        raise typer.BadParameter(f"“{user}” isn't a member ID: use one such as U0123456789", param_hint="USER")

    async def erase(scripts: Scripts) -> int:
        deleted = await erase_set_up(scripts, user)
        erased = await erase_person(scripts, user, _SESSION)
        if as_json:
            out(to_json({**asdict(erased), **deleted}))
        else:
            words = [
                counted(erased.turns, "message"),
                counted(erased.entries, "record"),
                counted(deleted["reports"], "report"),
                *([counted(deleted["schedules"], "other schedule")] if deleted["schedules"] else []),
                counted(deleted["alerts"], "alert"),
                counted(deleted["app_rules"], "app rule"),
            ]
            out(f"Erased: {', '.join(words)}.")
            if erased.running:
                out(_RUNNING.format(counted(erased.running, "message")))
            out(_OUT_OF_REACH)
        return CANNOT_RUN if erased.running else 0

    in_store(erase)


async def erase_set_up(scripts: Scripts, user: str) -> dict[str, int]:
    """Delete the schedules, alerts and app rules that the person set up; returns their numbers."""
    found = list[Spec | AlertSpec]()
    for store in (TaskStore(scripts, session_lifetime=_SESSION), AlertStore(scripts)):
        for one in await store.all():
            if one.spec.owner == user:
                await scripts.run("write", json.dumps(store.delete(one.id)), confirmed=True)
                found.append(one.spec)
    reports, alerts = (sum(isinstance(one, kind) for one in found) for kind in (ReportSpec, AlertSpec))
    schedules, rules = len(found) - reports - alerts, await _erase_rules(scripts, user)
    return {"reports": reports, "schedules": schedules, "alerts": alerts, "app_rules": rules}


async def _erase_rules(scripts: Scripts, user: str) -> int:
    """Delete the app rules that the person set up; returns their number."""
    channels, count = Channels(scripts), 0
    for team, channel in await channels.all():
        is_replaced = False
        while not is_replaced:
            stored = await channels.stored(team, channel)
            theirs = [app for app, rule in stored.settings.apps.items() if rule.owner == user]
            settings = stored.settings
            for app in theirs:
                settings = settings.with_app(app, None)
            is_replaced = not theirs or await channels.replace(team, channel, stored, settings)
            count += len(theirs) if is_replaced else 0
    return count
