"""The project's own facts."""

from __future__ import annotations

from bridge.blocks import kit
from bridge.blocks.reply import Reply
from bridge.project.models import Project


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
    return kit.reply(
        f"Project {name}: {project.promptCount:,} prompts, {project.memberCount:,} members. {project.description}",
        kit.header(name),
        *about,
        kit.fields(facts),
        kit.trusted_context(f"Created {kit.date(project.createdAt)}"),
    )
