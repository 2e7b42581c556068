"""Samples of projects (`bridge.slack.blockkit.samples`)."""

from __future__ import annotations

from collections.abc import Iterator

from bridge.features.project_info.layout import project_card, project_list
from bridge.project.models import Project
from bridge.slack.blockkit.samples import NOON, Sample, sample


def samples(text: str, many: int) -> Iterator[Sample]:
    """Yield samples of projects."""
    whole = Project(id=1, name=text, description=text, visibility=text, promptCount=7, memberCount=1, createdAt=NOON)
    yield sample(project_list, [(text, text, number == 0) for number in range(many)])
    yield sample(project_card, whole, text)
    yield sample(project_card, Project())
