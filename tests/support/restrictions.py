"""Ways in which what Bob set up in #general loses its permission, with the clause of the notice and who gets it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

from bridge.playground.emulator.sample import BOB, CAROL, DM_BOB, GENERAL, OTHER_TEAM, RANDOM
from support.harness import Harness


class Restriction(NamedTuple):
    """*apply* it; the owner and the channel, as far as they're among *places*, read *why*."""

    apply: Callable[[Harness], None]
    why: str
    places: frozenset[str]


def change_owner(harness: Harness, **flags: Any) -> None:
    people = harness.slack.workspace.people
    people.put(BOB, replace(people[BOB], **flags))


def _leave(harness: Harness) -> None:
    """Make the channel a private one that the owner has left."""
    channel = harness.slack.workspace.channels[GENERAL]
    channel.is_private, channel.members = True, [one for one in channel.members if one != BOB]


_BOTH = frozenset({GENERAL, DM_BOB})
_MAY_NOT_RUN = "no longer have permission to run workflows"

RESTRICTIONS = {
    "channel": Restriction(
        lambda harness: harness.configure(BRIDGE_ALLOWED_CHANNELS=RANDOM),
        "the bridge is no longer enabled in that channel",
        frozenset({DM_BOB}),
    ),
    "user": Restriction(
        lambda harness: harness.configure(BRIDGE_ALLOWED_USERS=CAROL), "you no longer have access to the bridge", _BOTH
    ),
    "runner": Restriction(lambda harness: harness.configure(BRIDGE_RUNNERS=CAROL), _MAY_NOT_RUN, _BOTH),
    "guest": Restriction(lambda harness: change_owner(harness, is_restricted=True), _MAY_NOT_RUN, _BOTH),
    "deactivated": Restriction(
        lambda harness: change_owner(harness, deleted=True),
        "Bob Brandt no longer has an active account",
        frozenset({GENERAL}),
    ),
    "stranger": Restriction(
        lambda harness: change_owner(harness, team=OTHER_TEAM, is_stranger=True),
        "Bob Brandt is no longer in this workspace",
        frozenset({GENERAL}),
    ),
    "left": Restriction(_leave, "you are no longer in that channel", _BOTH),
}
ONE_OF_EACH = {name: RESTRICTIONS[name] for name in ("channel", "runner", "stranger")}
"""One for each list of places; `test_reports_posting` goes through all."""
