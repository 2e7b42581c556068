"""The messages about incidents."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from bridge.features.incidents.kinds import KINDS
from bridge.features.incidents.records import IncidentChange
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Audience, Block, Reply

_TITLE: Final = 200
_DETAIL: Final = 500


def on(kind: str, detail: str, since: datetime, project: str = "") -> Reply:
    """Show an incident that's on, with the command and the page that help."""
    known = KINDS.get(kind)
    title = kit.one_line(kit.titled(known.title if known else "Something needs attention", project), _TITLE)
    ending = f": {kit.one_line(detail, _DETAIL)}." if detail else "."
    help_: Sequence[Block | str] = (
        ("Run ", kit.words(known.command, code=True), ", or see “", kit.words(known.page), "” in the documentation.")
        if known
        else ()
    )
    return kit.reply(
        f"⚠️ {title}{ending}",
        kit.rich(kit.paragraph("⚠️ ", kit.words(title, bold=True), ending), *([kit.paragraph(*help_)] if help_ else [])),
        kit.trusted_context("Since {since}", since=since),
        audience=Audience.CHANNEL,
    )


def over(kind: str, detail: str, since: datetime, ended: datetime, project: str = "") -> Reply:
    """Show an incident that's over, with how long it lasted."""
    known, where = KINDS.get(kind), f" ({kit.one_line(project, 60)})" if project else ""
    was = f"{known.was if known else 'something needed attention'}{where}"
    lasted = f", for {kit.spoken(ended - since)}."
    return kit.reply(
        f"✅ Over: {was}{lasted}",
        kit.rich(kit.paragraph("✅ Over: ", kit.words(was, bold=True), lasted)),
        *([kit.context(f"It was: {kit.one_line(detail, _DETAIL)}")] if detail else []),
        kit.trusted_context("From {since} to {ended}", since=since, ended=ended),
        audience=Audience.CHANNEL,
    )


def news(change: IncidentChange) -> Reply:
    """Say in an incident's thread what has changed, that it has begun again, or that it's over."""
    detail = kit.one_line(change.detail, _DETAIL)
    match change.does:
        case "ends":
            text = f"✅ Over after {kit.spoken(change.at - change.since)}."
        case "again":
            text = f"⚠️ Again: {detail}" if change.detail else "⚠️ Again."
        case _:
            text = f"Now: {detail}"
    return kit.reply(text, kit.section(text), kit.trusted_context("{at}", at=change.at), audience=Audience.CHANNEL)
