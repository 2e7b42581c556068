"""Shortcuts, as the manifest lists them, and what they do: each opens a form.

A global one has no place where something could be said, so whatever there is to say is shown in a modal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from bridge.errors import BridgeError, NotAllowed, StoreError
from bridge.features.agents import asking
from bridge.features.agents.asking import ASK_AN_AGENT
from bridge.features.deps import Call, Deps
from bridge.features.home.commands import origin_of
from bridge.features.plan import Nothing, OpenForm, Plan
from bridge.features.workflows import forms
from bridge.features.workflows.forms import Origin
from bridge.features.workflows.run_card import offer_form
from bridge.features.workflows.running import check_runner
from bridge.inbound import Shortcut
from bridge.slack.blockkit import kit
from bridge.slack.blockkit.failures import sentence
from bridge.slack.blockkit.mrkdwn import mentions_in, message_text, plain_command_text


@dataclass(frozen=True, slots=True)
class Listed:
    """A shortcut as Slack's manifest lists it. https://docs.slack.dev/reference/app-manifest#features."""

    callback_id: str
    name: str
    description: str
    type: Literal["global", "message"]


RUN: Final = Listed("run", forms.RUN_A_WORKFLOW, "Choose a workflow of the project and run it.", "global")
ASK: Final = Listed("ask", ASK_AN_AGENT, "Begin a conversation with an agent of the project.", "global")
ASK_ABOUT: Final = Listed("ask_about", "Ask an agent about this", "Ask an agent about this message.", "message")
RUN_WITH: Final = Listed(
    "run_with", "Run a workflow with this", "Run a workflow with the text of this message.", "message"
)

SHORTCUTS: Final = (RUN, ASK, ASK_ABOUT, RUN_WITH)


async def used(deps: Deps, call: Call, shortcut: Shortcut) -> Plan:
    """Decide what a shortcut opens. What forbids it is shown in a modal."""
    try:
        if shortcut.refusal:
            raise NotAllowed(shortcut.refusal)
        return await _form(deps, call, shortcut)
    except StoreError:
        raise
    except BridgeError as exc:
        why = sentence(exc)
        return OpenForm(forms.page("Sorry", [kit.section(why)], Origin()), otherwise=kit.reply(why))


async def _form(deps: Deps, call: Call, shortcut: Shortcut) -> Plan:
    origin = await origin_of(deps, call)
    match shortcut.name:
        case RUN.callback_id | RUN_WITH.callback_id:
            await check_runner(deps, call.user)
            typed = plain_command_text(shortcut.text)
            return OpenForm(forms.run_form(None, origin, typed=typed), otherwise=offer_form(None))
        case ASK.callback_id:
            return OpenForm(asking.ask_form(None, origin), otherwise=asking.offer_ask_form())
        case ASK_ABOUT.callback_id:
            about = await _worded(deps, shortcut)
            where = {"thread_ts": shortcut.thread_ts, "author": shortcut.author, "message_ts": shortcut.message_ts}
            view = asking.ask_form(None, origin.model_copy(update=where), about=about)
            return OpenForm(view, otherwise=asking.offer_ask_form())
    return Nothing("unknown shortcut", {"name": shortcut.name})


async def _worded(deps: Deps, shortcut: Shortcut) -> str:
    """Write a message as people read it."""
    names = {user: await deps.name_of(user) for user in mentions_in(shortcut.text).users}
    return message_text(shortcut.text, bot_user="", user_names=names, channel_names={})
