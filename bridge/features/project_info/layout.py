"""The project's details."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from bridge.project.connection import DEFAULT
from bridge.project.models import Project
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.card import card
from bridge.slack.blockkit.reply import Reply

_MOST_SHOWN: Final = 40


def project_list(projects: Sequence[tuple[str, str, bool]]) -> Reply:
    """List several projects: the name of each, its ID, and whether it's the usual one here."""
    lines = [
        kit.paragraph(
            kit.words(kit.one_line(name, 80), bold=True),
            f" · @{kit.one_line(id_, 60)}",
            *([kit.words(" · used here", italic=True)] if is_usual else []),
        )
        for name, id_, is_usual in projects[:_MOST_SHOWN]
    ]
    example = projects[-1][1] if projects else DEFAULT
    line = kit.command(f"/workflows @{kit.one_line(example, 60)}")
    small = kit.context(f"Start with a project to use it, such as {line}.")
    return card(kit.header("Projects"), kit.rich(kit.bullets(lines)), small)


def project_card(project: Project, id_: str = "") -> Reply:
    """Show the project's details; *id_* is what people type for it, if there are several."""
    name = kit.one_line(project.name) or ("" if project.id is None else f"Project {project.id}")
    facts = [
        ("Type", f"@{kit.one_line(id_, 60)}" if id_ else None),
        ("ID", None if project.id is None else str(project.id)),
        ("Visibility", project.visibility),
        ("Prompts", kit.grouped(project.promptCount)),
        ("Members", kit.grouped(project.memberCount)),
    ]
    return card(
        kit.header(name or "Project"),
        kit.cut(project.description, 2900).strip(),
        kit.fields(facts) if any(value is not None for _title, value in facts) else None,
        kit.trusted_context("Created {moment}", moment=project.createdAt) if project.createdAt else None,
    )
