"""The messages about incidents."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from bridge.features.incidents.kinds import KINDS
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Audience, Block, Reply

_TITLE: Final = 200
_SAID: Final = 500


def _title(kind: str, project: str) -> str:
    known = KINDS.get(kind)
    return kit.titled(known.title if known else "Something needs attention", project)


def on(kind: str, said: str, since: datetime, project: str = "") -> Reply:
    """Show an incident that's on, with the command and the page that help."""
    title, known = kit.one_line(_title(kind, project), _TITLE), KINDS.get(kind)
    detail = f": {kit.one_line(said, _SAID)}." if said else "."
    help_: Sequence[Block | str] = (
        ("Run ", kit.words(known.command, code=True), ", or see ", kit.words(known.page, code=True), ".")
        if known
        else ()
    )
    return kit.reply(
        f"⚠️ {title}{detail}",
        kit.rich(kit.paragraph("⚠️ ", kit.words(title, bold=True), detail), *([kit.paragraph(*help_)] if help_ else [])),
        kit.trusted_context("Since {since}", since=since),
        audience=Audience.CHANNEL,
    )


def over(kind: str, said: str, since: datetime, ended: datetime, project: str = "") -> Reply:
    """Show an incident that's over, with how long it lasted."""
    title = kit.one_line(_title(kind, project), _TITLE)
    ending = f": over after {kit.spoken(ended - since)}."
    return kit.reply(
        f"✅ {title}{ending}",
        kit.rich(kit.paragraph("✅ ", kit.words(title, bold=True), ending)),
        *([kit.context(f"It was: {kit.one_line(said, _SAID)}")] if said else []),
        kit.trusted_context("From {since} to {ended}", since=since, ended=ended),
        audience=Audience.CHANNEL,
    )


def changed(said: str, at: datetime) -> Reply:
    """Say in an incident's thread what has changed."""
    return _line(f"Now: {kit.one_line(said, _SAID)}", at)


def again(said: str, at: datetime) -> Reply:
    """Say in an incident's thread that it has begun again."""
    return _line(f"⚠️ Again: {kit.one_line(said, _SAID)}" if said else "⚠️ Again.", at)


def ended(since: datetime, at: datetime) -> Reply:
    """Say in an incident's thread that it's over."""
    return _line(f"✅ Over after {kit.spoken(at - since)}.", at)


def _line(text: str, at: datetime) -> Reply:
    return kit.reply(text, kit.section(text), kit.trusted_context("{at}", at=at), audience=Audience.CHANNEL)
