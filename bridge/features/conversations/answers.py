"""An agent's answer, with the buttons that ask what people think of it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from bridge.ids import TurnId
from bridge.slack.blockkit import kit, untyped_json
from bridge.slack.blockkit.reply import Audience, Reply

FEEDBACK: Final = "answer:feedback"

SESSION_GONE: Final = "The earlier conversation is no longer known to the service, so this answer begins a new one."

_NOTIFICATION = 300
_TOOLS = "Tools used: "
_GOOD, _BAD = ({"text": kit.plain(text), "accessibility_label": text} for text in ("Good answer", "Bad answer"))
_VOTE = re.compile(r"(up|down):(?P<turn>[\w-]{1,64}):(?P<agent>\d{1,18}):(?P<session>\d{0,18})")


@dataclass(frozen=True, slots=True)
class Answered:
    """Which answer it is: of which *turn*, by which *agent*, in which *session*."""

    turn: TurnId
    agent: int
    session: int | None


def answer(
    message: str, tools_used: Any = None, *, notes: Sequence[str] = (), feedback: Answered | None = None
) -> Reply:
    """Show what an agent answered, with the tools that it used and our own *notes* below.

    With *feedback*, people can say what they think of it, with Slack's own pair of buttons.
    """
    # https://docs.slack.dev/reference/block-kit/block-elements/feedback-buttons-element
    shown = kit.clean(message) if message.strip() else "_The agent answered with an empty message._"
    small, footer = [*notes], []
    if tools_used and (tools := untyped_json.listed(untyped_json.names_in(tools_used), kit.FOOTER_TEXT - len(_TOOLS))):
        small.append(_TOOLS + tools)
    if small:
        footer.append(kit.context(*small))
    if feedback:
        which = f"{feedback.turn}:{feedback.agent}:{'' if feedback.session is None else feedback.session}"
        buttons = {
            "type": "feedback_buttons",
            "action_id": FEEDBACK,
            "positive_button": {**_GOOD, "value": f"up:{which}"},
            "negative_button": {**_BAD, "value": f"down:{which}"},
        }
        footer.append({"type": "context_actions", "elements": [buttons]})
    return Reply(
        text=kit.fallback(shown, _NOTIFICATION), markdown=shown, footer=tuple(footer), audience=Audience.THREAD
    )


def read_vote(value: str) -> tuple[bool, Answered] | None:
    """Read the value of a feedback button: whether it is a good answer, and which; None for one of another release."""
    match = _VOTE.fullmatch(value)
    if match is None:
        return None
    session = int(match["session"]) if match["session"] else None
    return match[1] == "up", Answered(TurnId(match["turn"]), int(match["agent"]), session)
