"""What a button, a menu or a form belongs to, if that isn't the default project.

IDs of one project mean nothing in another, so what people press says whose IDs it has: a message in the IDs of its
blocks, a form and Home in their private_metadata. Both are written here only, as the reply is sent.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from bridge.slack.blockkit.reply import Block, Reply, View

_MARK = "@"


def mark_reply(reply: Reply, project: str) -> Reply:
    """Return *reply* with the *project* that its buttons and menus belong to; ``""`` (the default one) changes nothing.

    https://docs.slack.dev/reference/block-kit/blocks/actions-block (``block_id``)
    """
    if not project:
        return reply
    return reply.model_copy(
        update={
            "blocks": _marked(reply.blocks, project),
            "plainer": tuple(_marked(form, project) for form in reply.plainer),
            "footer": _marked(reply.footer, project, "footer"),
            "replies": tuple(mark_reply(below, project) for below in reply.replies),
        }
    )


def mark_view(view: View, project: str) -> View:
    """Return a form or Home with the *project* that it belongs to; ``""`` (the default one) changes nothing."""
    if not project:
        return view
    return {
        **view,
        "private_metadata": json.dumps({**json.loads(view.get("private_metadata") or "{}"), "project": project}),
    }


def project_of(block_id: str) -> str:
    """Return the project of what was pressed in a message's block."""
    return block_id.rpartition(_MARK)[2] if is_marked(block_id) else ""


def is_marked(block_id: str) -> bool:
    """Whether a block's ID names a project."""
    return _MARK in block_id


def _marked(blocks: Sequence[Block], project: str, of: str = "") -> tuple[Block, ...]:
    return tuple(
        [
            {**block, "block_id": f"{block.get('block_id') or f'{of}{place}'}{_MARK}{project}"}
            if _acts(block)
            else block
            for place, block in enumerate(blocks)
        ]
    )


def _acts(part: object) -> bool:
    """Whether a block has something to press or to choose."""
    if isinstance(part, dict):
        return "action_id" in part or any(map(_acts, part.values()))
    return isinstance(part, list | tuple) and any(map(_acts, part))
