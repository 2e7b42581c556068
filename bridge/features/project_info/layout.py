"""The project's details."""

from __future__ import annotations

from bridge.project.models import Project
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Reply


def project_card(project: Project) -> Reply:
    """Show the project's details."""
    name = kit.one_line(project.name)
    facts = [
        ("ID", str(project.id)),
        ("Visibility", project.visibility),
        ("Prompts", f"{project.promptCount:,}"),
        ("Members", f"{project.memberCount:,}"),
    ]
    about = [kit.section(kit.cut(project.description, 2900))] if project.description.strip() else []
    counts = f"{kit.counted(project.promptCount, 'prompt')}, {kit.counted(project.memberCount, 'member')}"
    spoken = f"Project {name}: {counts}. {project.description}"
    return kit.reply(
        spoken,
        kit.header(name),
        *about,
        kit.fields(facts),
        kit.trusted_context("Created {moment}", moment=project.createdAt),
    )
