"""Workflows: the list, and one with its nodes."""

from __future__ import annotations

from collections.abc import Sequence

from bridge.blocks import kit, runs, shapes
from bridge.blocks.lists import list_reply, matching
from bridge.blocks.reply import Block, Reply
from bridge.project.models import Workflow, WorkflowDetail

_LONGEST_CHAIN = 1500
_MOST_CHAINS = 12


def workflow_list(workflows: Sequence[Workflow], words: str = "") -> Reply:
    """Show the workflows, active ones first, inactive ones marked; with *words*, those that have them."""
    found = sorted(matching(workflows, words), key=lambda workflow: (not workflow.is_active, workflow.name.casefold()))
    if not found:
        return kit.reply(_nothing(words))
    title = f"Workflows with {kit.quoted(words, 60)}" if words else "Workflows"
    return list_reply(title, found, _line)


def workflow_card(workflow: Workflow, detail: WorkflowDetail) -> Reply:
    """Show one workflow: what it is for, how it is started, and its nodes in their order."""
    name = kit.one_line(detail.name or workflow.name)
    is_active = workflow.is_active if detail.is_active is None else detail.is_active
    description = detail.description or workflow.description or ""
    facts = kit.fields(
        [
            ("Id", str(workflow.id)),
            ("State", "active" if is_active else "inactive"),
            ("Trigger", detail.trigger_type or workflow.trigger_type),
            ("Nodes", f"{_node_count(workflow, detail):,}"),
        ]
    )
    blocks = [kit.header(name), *([kit.section(kit.cut(description, 2000))] if description.strip() else []), facts]
    blocks += _nodes(detail)
    run = kit.button("Run…", runs.FORM, runs.again_value(workflow.id))
    return kit.reply(f"Workflow {name} (id {workflow.id}). {description}", *blocks, kit.actions(run))


def _nothing(words: str) -> str:
    if words:
        return f"No workflow has {kit.quoted(words, 60)} in its name or description. Without words, all are listed."
    return "This project has no workflows yet."


def _line(workflow: Workflow) -> Block:
    facts = (
        f" · id {workflow.id} · {kit.one_line(workflow.trigger_type, 40)} · {kit.counted(workflow.node_count, 'node')}"
    )
    inactive = [kit.words(" · inactive", italic=True)] if not workflow.is_active else []
    about = kit.one_line(workflow.description or "", kit.DESCRIPTION)
    name = kit.words(kit.one_line(workflow.name, 100) or "(no name)", bold=True)
    return kit.paragraph(name, facts, *inactive, f"\n{about}" if about else "")


def _node_count(workflow: Workflow, detail: WorkflowDetail) -> int:
    shown = shapes.how_many(detail.nodes)
    return workflow.node_count if shown is None else shown


def _nodes(detail: WorkflowDetail) -> list[Block]:
    """Draw the chains of nodes, or name the nodes, or say how many there are: whatever can be recognised."""
    chains = [kit.cut(chain, _LONGEST_CHAIN) for chain in shapes.steps_of(detail.nodes, detail.edges)]
    if chains:
        left = [f"… and {len(chains) - _MOST_CHAINS} more paths"] if len(chains) > _MOST_CHAINS else []
        return [kit.rich(*(kit.paragraph(line) for line in _short(chains) + left))]
    names = shapes.listed(shapes.names_in(detail.nodes), _LONGEST_CHAIN)
    edges = shapes.how_many(detail.edges)
    lines = [f"Nodes: {names}"] if names else []
    lines += [f"Connections: {edges:,}"] if edges else []
    return [kit.rich(*(kit.paragraph(line) for line in lines))] if lines else []


def _short(chains: Sequence[str]) -> list[str]:
    """Keep the first chains that together stay readable."""
    kept: list[str] = []
    for chain in chains[:_MOST_CHAINS]:
        if sum(map(len, kept)) + len(chain) > 2 * _LONGEST_CHAIN:
            break
        kept.append(chain)
    return kept
