"""Workflows: the list, and one workflow with its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from bridge.features.buttons import DETAILS, NO_NEEDS, OPEN_IN_PROJECT, RUN_FORM, run_value
from bridge.project.models import Workflow, WorkflowDetail
from bridge.slack.blockkit import kit, modals, untyped_json
from bridge.slack.blockkit.card import card
from bridge.slack.blockkit.lists import ListPage, active_first, list_reply, matching
from bridge.slack.blockkit.reply import Block, Reply, View

RUN: Final = "workflow:run"
"""A searchable menu that opens the form for a workflow."""

NOTHING_ALLOWED: Final = "There's no workflow that you can run here. Ask your admin for access."

TURNS: Final = ("list:workflows:previous", "list:workflows:next")
"""The buttons that turn the list's pages."""

_LONGEST = 1500  # characters of the nodes


def workflow_list(
    workflows: Sequence[Workflow],
    wanted: str = "",
    page: int = 0,
    *,
    may_run: bool = False,
    needs: Mapping[int, str] = NO_NEEDS,
    are_hidden: bool = False,
    project: str = "",
) -> Reply:
    """Show a page of the workflows matching *wanted* in *project*, active ones first, inactive ones marked.

    People who *may_run* them get a menu that opens the form. *needs* is what has to happen before they run, by ID.
    If some *are_hidden*, there are more than they may run.
    """

    def line(workflow: Workflow) -> Block:
        marks = ["inactive"] if not workflow.is_active else []
        marks += [_needs_mark(first)] if (first := needs.get(workflow.id)) else []
        about = kit.one_line(workflow.description or "", kit.DESCRIPTION)
        return kit.paragraph(
            kit.words(kit.one_line(workflow.name, 100), bold=True),
            f" · ID {workflow.id}",
            *(kit.words(f" · {mark}", italic=True) for mark in marks),
            f"\n{about}" if about else "",
        )

    hits = active_first(matching(workflows, wanted))
    spot, menu = ListPage(page=page, words=wanted), [kit.external_select(RUN, "Run a workflow…")] if may_run else []
    nothing = NOTHING_ALLOWED if are_hidden else "This project has no workflows yet."
    return list_reply(
        "workflow", workflows, hits, line, spot, turns=TURNS, nothing=nothing, controls=menu, project=project
    )


def workflow_card(
    workflow: Workflow,
    detail: WorkflowDetail,
    *,
    is_whole: bool = False,
    may_run: bool = True,
    needs: str = "",
    url: str = "",
    project: str = "",
) -> Reply:
    """Show one workflow: its purpose, and a button for people who *may_run* it.

    Unless it *is_whole*, another button shows its ID, trigger and nodes. *needs* is what has to happen before it runs.
    *url* is the template of its address in the project's own pages, *project* the project's name if there are several.
    """
    name = kit.one_line(detail.name or "") or kit.one_line(workflow.name)
    is_active = workflow.is_active if detail.is_active is None else detail.is_active
    description = detail.description or workflow.description or ""
    count = untyped_json.how_many(detail.nodes)
    facts = [("Project", project or None), ("State", "✅ active" if is_active else "⏸️ inactive")]
    if is_whole:
        facts += [
            ("ID", str(workflow.id)),
            ("Trigger", detail.trigger_type or workflow.trigger_type),
            ("Nodes", kit.grouped(workflow.node_count if count is None else count)),
        ]
    nodes = untyped_json.listed(untyped_json.nodes_in(detail.nodes), _LONGEST) if is_whole else ""
    buttons = [kit.button("Run…", RUN_FORM, run_value(workflow.id))] if may_run else []
    buttons += [] if is_whole else [kit.button("Details", DETAILS, str(workflow.id), about=name)]
    return card(
        kit.header(name),
        kit.cut(description, 2000).strip(),
        kit.fields(facts),
        kit.rich(kit.paragraph(f"Nodes: {nodes}")) if nodes else None,
        kit.context(_needs_mark(needs)) if needs and may_run else None,
        kit.rich(kit.paragraph(kit.link(url, OPEN_IN_PROJECT, id=workflow.id))) if url else None,
        buttons=buttons,
    )


def _needs_mark(needs: str) -> str:
    return f"{'🔒' if needs.startswith('needs') else '❓'} {needs}"


def workflow_page(shown: Reply, origin: modals.Origin) -> View:
    """Show a `workflow_card` in a modal."""
    return modals.page("Workflow", shown.blocks, origin)
