"""An agent's answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bridge.blocks import kit, markdown, shapes
from bridge.blocks.reply import Audience, Reply

_NOTIFICATION = 300


def answer(message: str, tools_used: Any = None, *, notes: Sequence[str] = ()) -> Reply:
    """Show what an agent answered, with the tools that it used and our own *notes* below."""
    if not message.strip():
        message = "_The agent answered with an empty message._"
    tools = shapes.listed(shapes.names_in(tools_used), kit.FOOTER_TEXT - len("Tools used: "))
    footer = [*notes, *([f"Tools used: {tools}"] if tools else [])]
    return Reply(
        text=kit.fallback(message, _NOTIFICATION),
        markdown=markdown.neutralised(kit.clean(message)),
        footer=(kit.context(*footer),) if footer else (),
        audience=Audience.THREAD,
    )
