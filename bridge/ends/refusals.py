"""Who isn't allowed what, and which messages aren't accepted: rows by the reason that's stored and logged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from bridge.ends import End
from bridge.slack.blockkit import kit

ASK: Final = "Ask your admin for access."
_READING: Final = "grant the scopes that `bridge check` lists, and reinstall the app"


MUTED: Final = End(
    "This thread is muted, so this message wasn't sent to the agent.", "Type !unmute to change that.",
    word="thread is muted",
)  # fmt: skip
FULL: Final = End(
    "Too many messages were already waiting in this thread, so this one wasn't queued.", "Send it again later.",
    word="queue full",
    said="{waiting} messages are already waiting in this thread, so this one wasn't queued. Send it again later.",
)  # fmt: skip
TOO_FAST: Final = End(
    "You were sending messages too fast, so this one wasn't queued.", "Wait a minute, and send it again.",
    is_public=False, word="rate limit", said="You're sending messages too fast. Try again {soon}.",
)  # fmt: skip
THREAD_TOO_FAST: Final = End(
    "This thread was getting messages too fast, so this one wasn't queued.", "Wait a minute, and send it again.",
    word="rate limit",
    said="This thread is getting messages too fast, so new ones don't reach the agent. Try again {soon}.",
)  # fmt: skip
MISSED: Final = End(
    "I was offline when you typed this command, so I didn't run it.", "Type it again if you still need it.",
    is_public=False, word="found too late, not run",
)  # fmt: skip
NOT_ALLOWED: Final = End(
    "This message's author no longer has access here.", ASK, word="no permission",
    said=f"You don't have permission to do this here. {ASK}",
)  # fmt: skip
"""A refusal whose reason isn't known, or not about messages."""

ACCESS: Final[Mapping[str, End]] = {
    "user": End(
        "You don't have access to the bridge.", "Ask your admin to add you.",
        is_public=False, word="not in BRIDGE_ALLOWED_USERS", no_longer="{who} no longer {has} access to the bridge",
        checked="not in BRIDGE_ALLOWED_USERS", mend="add them there, or remove the setting to allow everyone",
    ),
    "channel": End(
        "The bridge isn't enabled in this channel.", "Ask your admin to enable it.",
        word="not in BRIDGE_ALLOWED_CHANNELS", no_longer="the bridge is no longer enabled in that channel",
        checked="this channel isn't in BRIDGE_ALLOWED_CHANNELS",
        mend="add it there, or remove the setting to allow every channel",
    ),
    "stranger": End(
        "Only members of the bridge's own workspace can use it.", "Ask one of them to write to me.",
        is_public=False, word="from another workspace", said="Only members of the bridge's own workspace can use it.",
        no_longer="{who} {is_} no longer in this workspace", checked="not a member of the app's workspace",
    ),
    "unknown": End(
        "Slack couldn't confirm who you are, so nothing was done.",
        "Try again in a minute, and tell your admin if it keeps happening.",
        is_public=False, word="Slack didn't say where they're from",
        no_longer="Slack doesn't say whether {who} still {has} access",
        checked="Slack doesn't give enough information about this person", mend=_READING,
    ),
    "rule": End(  # in its own words, if they're known
        "The rules here don't allow this.", ASK,
        is_public=False, word="refused by a rule", no_longer="the rules no longer let {who} do this",
    ),
}  # fmt: skip
"""Each reason for which a message, too, isn't accepted."""

PERMISSIONS: Final[Mapping[str, End]] = {
    **ACCESS,
    "handle": End("You don't have permission to change agents' handles.", ASK),
    "default": End("You don't have permission to change channel settings.", ASK),
    "report": End("You don't have permission to schedule reports.", ASK),
    "alert": End("You don't have permission to set up alerts.", ASK),
    "runner": End(
        "You don't have permission to run workflows here.", ASK,
        no_longer="{who} no longer {has} permission to run workflows",
    ),
    "schedule": End("You don't have permission to schedule anything here.", ASK),
    **{
        reason: End("", "", said=f"Only the person who {did}, or someone with permission to run workflows, can "
                        "change it.")
        for reason, did in (
            ("not_your_schedule", "scheduled this"), ("not_yours", "scheduled this report"),
            ("not_your_alert", "set up this alert"), ("not_your_own", "set this up"),
        )
    },
    "key": End(
        "This was started with access to the project that you don't have.", "Start a new thread, or ask your admin.",
        no_longer="{who} no longer {has} the access to the project with which this was set up",
    ),
    "left": End(
        "", "", said="You aren't in that channel, so you can't do this there.",
        no_longer="{who} {is_} no longer in that channel",
    ),
    "approve": End(
        "You can't approve or deny this.", "Ask those whom its card names.",
        no_longer="{who} no longer {has} permission to approve runs",
    ),
    "own_approval": End("", "", said="You asked for this, so someone else has to approve it."),
    "not_your_request": End("", "", said="Only the person who asked for this can withdraw it."),
    "unanswered": End(
        "Slack didn't answer when I checked whether you may do this, so nothing was done.", "Try again in a minute."
    ),
    "deactivated": End(
        "", "", no_longer="{who} no longer {has} an active account", checked="this account is deactivated",
    ),
    "bot": End("", "", checked="this is a bot, not a person"),
    "project": End("", "", no_longer="I'm no longer connected to its project"),
    "no clock": End("", "", no_longer="the bridge's server doesn't know its time zone"),
    "gone": End("", "", no_longer="its agent or workflow no longer exists"),
    "unreadable": End("", "", no_longer="its condition isn't supported"),
}  # fmt: skip
"""Each reason of `bridge.errors.NotAllowed`, and of what was set up earlier and may no longer happen."""

ON_ARRIVAL: Final[Mapping[str, End]] = {
    **ACCESS,
    "canvas": End(
        "I can't answer in a canvas.", "Mention me in a channel, or send me a direct message.", word="in a canvas"
    ),
    "command_missed": MISSED,
    "thread_full": FULL,
    "not_queued": End(
        "I couldn't queue this message.",
        "Send it again in a minute.",
        is_public=False,
        word="message not queued",
        said="I couldn't queue {what}. Try again in a minute.",
    ),
    "muted": MUTED,
    "paused": TOO_FAST,
    "paused:thread": THREAD_TOO_FAST,
}
"""Each refusal of a message on arrival, by the name of the notice about it."""

_REFUSED: Final[Mapping[str, tuple[str, str]]] = {
    "channel_not_found": ("I'm not in the channel, or it no longer exists", "I'm no longer in its channel"),
    "ekm_access_denied": ("your organization's admins have suspended posting", ""),
    "is_archived": ("the channel is archived", "its channel is archived"),
    "missing_scope": ("the app is missing a permission", "the app is missing a permission"),
    "not_in_channel": ("I'm not in the channel", "I'm no longer in its channel"),
    "restricted_action": ("I'm not allowed to post in the channel", "I'm not allowed to post in its channel"),
    "restricted_action_non_threadable_channel": ("the channel doesn't allow replies in threads", ""),
    "restricted_action_read_only_channel": ("the channel is read-only", ""),
    "restricted_action_thread_locked": ("the thread is locked", ""),
    "restricted_action_thread_only_channel": ("the channel only allows replies in threads", ""),
}
"""Why Slack rejects a post for good, by its error: a reply, and what was set up earlier."""


def why_not_posted(error: str) -> str:
    """Say in a phrase why Slack rejects a reply with *error*."""
    base = "restricted_action" if error.startswith("restricted_action") else error
    known = _REFUSED.get(error) or _REFUSED.get(base)
    return known[0] if known else f"Slack doesn't allow it ({kit.one_line(error, 60)})"


def no_longer(reason: str, owner: str = "") -> str:
    """Return a clause that says why what *owner* set up may no longer happen; without one, it's for the owner.

    It's ``""`` for an unknown *reason*: one of `PERMISSIONS`, or an error of Slack's.
    """
    named, has, is_ = (kit.named(owner, 80), "has", "is") if owner else ("you", "have", "are")
    row = PERMISSIONS.get(reason)
    return row.no_longer.format(who=named, has=has, is_=is_) if row else _REFUSED.get(reason, ("", ""))[1]
