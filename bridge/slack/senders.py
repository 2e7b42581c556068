"""Who people see as the sender of an app's post: an app or a bot, and the name it posts under.

One app may post under many names: all incoming webhooks of a workspace are one app, and ``chat:write.customize`` lets
an app choose a name for each post. A bot of a workflow or an old integration may have no app.

https://docs.slack.dev/reference/events/message/bot_message
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Self

from bridge.names.folding import name_key
from bridge.slack.payloads import mapping, text

WEBHOOKS: Final = "A0F7XDUAZ"
"""The app of all incoming webhooks that were set up without an app of their own."""

_ID: Final = re.compile(r"[AB][A-Z0-9]{2,30}")
_LONGEST: Final = 80  # characters of a name in a key


class Sender(NamedTuple):
    """A sender: the IDs of its *app* and its *bot*, of which ``""`` isn't known, and the *name* it posts under."""

    app: str
    bot: str
    name: str
    user: str = ""  # the bot's user

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> Self:
        """Return the sender of a *message*, with the name that Slack shows; a person's has no `id`."""
        profile = mapping(message.get("bot_profile"))
        app, bot = text(message, "app_id") or text(profile, "app_id"), text(message, "bot_id") or text(profile, "id")
        user = "" if message.get("subtype") == "bot_message" else text(message, "user")
        return cls(app, bot, text(message, "username") or text(profile, "name"), user)

    @property
    def id(self) -> str:
        """The ID of the app, or of its bot if Slack doesn't say which."""
        return self.app or self.bot

    @property
    def key(self) -> str:
        """What a rule for this sender is stored under: all that people can tell apart."""
        return key_of(self.id, self.name)

    @property
    def keys(self) -> tuple[str, ...]:
        """What rules that fit this sender are stored under, the most specific first."""
        ids = [id_ for id_ in dict.fromkeys((self.bot, self.app)) if id_]
        return (*(key_of(id_, self.name) for id_ in ids if name_key(self.name)), *ids)


def key_of(id_: str, name: str = "") -> str:
    """Return the key for an app or bot: ``A0123 alertmanager``, or only its ID for whatever name it posts under."""
    return f"{id_} {name_key(name)[:_LONGEST]}".rstrip()


def sender_id(key: str) -> str:
    """Return the ID of the app or bot in a key."""
    return key.partition(" ")[0]


def read_key(typed: str) -> str:
    """Read an ID, with or without a name, as a key; ``""`` if *typed* isn't one.

    IDs are in capitals: a name could look like one in small letters.
    """
    id_, _, name = typed.strip().partition(" ")
    return key_of(id_, name) if _ID.fullmatch(id_) else ""
