"""The project's own facts."""

from __future__ import annotations

from typing import Final

from bridge.project.models import Project
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Reply

_PROJECT_SPOKEN: Final = "Project {name}: {prompts:,} prompts, {members:,} members. {description}"


def project_card(project: Project) -> Reply:
    """Show the project."""
    name = kit.one_line(project.name)
    facts = [
        ("Id", str(project.id)),
        ("Visibility", project.visibility),
        ("Prompts", f"{project.promptCount:,}"),
        ("Members", f"{project.memberCount:,}"),
    ]
    about = [kit.section(kit.cut(project.description, 2900))] if project.description.strip() else []
    spoken = _PROJECT_SPOKEN.format(
        name=name, prompts=project.promptCount, members=project.memberCount, description=project.description
    )
    return kit.reply(
        spoken,
        kit.header(name),
        *about,
        kit.fields(facts),
        kit.trusted_context("Created {moment}", moment=project.createdAt),
    )
