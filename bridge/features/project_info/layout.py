"""The project's own facts."""

from __future__ import annotations

from bridge import words
from bridge.project.models import Project
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.reply import Reply


def project_card(project: Project) -> Reply:
    """Show the project."""
    name = kit.one_line(project.name)
    facts = [
        (words.ID, str(project.id)),
        (words.VISIBILITY, project.visibility),
        (words.PROMPTS, f"{project.promptCount:,}"),
        (words.MEMBERS, f"{project.memberCount:,}"),
    ]
    about = [kit.section(kit.cut(project.description, 2900))] if project.description.strip() else []
    spoken = words.PROJECT_SPOKEN.format(
        name=name, prompts=project.promptCount, members=project.memberCount, description=project.description
    )
    return kit.reply(
        spoken,
        kit.header(name),
        *about,
        kit.fields(facts),
        kit.trusted_context(words.CREATED, moment=project.createdAt),
    )
