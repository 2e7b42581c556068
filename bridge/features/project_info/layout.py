"""The project's details."""

from __future__ import annotations

from bridge.project.models import Project
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Reply


def project_card(project: Project) -> Reply:
    """Show the project's details."""
    name = kit.one_line(project.name)
    facts = [
        ("ID", None if project.id is None else str(project.id)),
        ("Visibility", project.visibility),
        ("Prompts", kit.grouped(project.promptCount)),
        ("Members", kit.grouped(project.memberCount)),
    ]
    about = [kit.section(kit.cut(project.description, 2900))] if project.description.strip() else []
    counts = ", ".join(
        kit.counted(count, noun)
        for count, noun in ((project.promptCount, "prompt"), (project.memberCount, "member"))
        if count is not None
    )
    spoken = f"{' '.join(filter(None, ('Project', name)))}{f': {counts}' if counts else ''}. {project.description}"
    return kit.reply(
        spoken,
        kit.header(name or "Project"),
        *about,
        *([kit.fields(facts)] if any(value is not None for _title, value in facts) else []),
        *([kit.trusted_context("Created {moment}", moment=project.createdAt)] if project.createdAt else []),
    )
