"""An agent's answer, with feedback buttons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from bridge.features.buttons import Answered, feedback_buttons
from bridge.features.conversations import fences
from bridge.slack.blockkit import kit, untyped_json
from bridge.slack.blockkit.legible import legible
from bridge.slack.blockkit.reply import Audience, Reply, Speaker
from bridge.unseen import is_blank

SESSION_GONE: Final = "The project service no longer has the earlier conversation, so this answer starts a new one."
NO_SESSION: Final = "The project service sent no session I can use, so the agent won't remember this answer."
CUT: Final = "This answer is {size}, so I could read only its beginning."
REPEATED: Final = "No answer came back the first time, so I asked again."
LATE: Final = "I was offline when this message was sent, so my answer is late."

_NOTIFICATION = 300
_TOOLS = "Tools used: "
_CHOOSE = "Choose one:"


def answer_reply(
    message: str,
    tools_used: Any = None,
    *,
    notes: Sequence[str] = (),
    feedback: Answered | None = None,
    by: str = "",
    project: str = "",
    speaker: Speaker | None = None,
    has_files: bool = False,
) -> Reply:
    """Show an agent's answer, the tools it used, and the bridge's own *notes* below.

    With *feedback*, people can vote on the answer. *by* is the agent's name, if it should be shown, *project* its
    project's. The message is from *speaker*. What it asks is below, and with *has_files*, the files it hands over.
    """
    read = fences.Read(message)
    if fences.MAY_HAVE.search(message):
        read = fences.read(message, has_files=has_files)
    shown = legible(read.text)
    if is_blank(shown):
        shown = _CHOOSE if read.options else "_The agent sent an empty answer._"
    small, footer = [kit.answered_by(by)] if by else [], []
    small += [f"Project: {project}", *notes] if project else notes
    if tools_used and (tools := untyped_json.listed(untyped_json.names_in(tools_used), kit.FOOTER_TEXT - len(_TOOLS))):
        small.append(_TOOLS + tools)
    if small:
        footer.append(kit.context(*small))
    if feedback:
        footer.append(feedback_buttons(feedback))
    return Reply(
        text=kit.fallback(shown, _NOTIFICATION),
        markdown=shown,
        footer=tuple(footer),
        files=read.files,
        replies=(fences.question(read.options, speaker),) if read.options else (),
        audience=Audience.THREAD,
        speaker=speaker,
    )
