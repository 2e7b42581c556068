"""The sample people, channels and groups; IDs have the real format."""

from __future__ import annotations

from typing import Final

from bridge.playground.emulator.entities import Channel, Group, Member

TEAM: Final = "T0HOME"
OTHER_TEAM: Final = "T0PARTNER"
SISTER_TEAM: Final = "T0SISTER"  # another workspace of the same organization
ENTERPRISE: Final = "E0GRID"
TEAM_DOMAIN: Final = "playground"
APP: Final = "A0BRIDGE"
BRIDGE: Final = "U0BRIDGE"  # the bot user
BRIDGE_BOT: Final = "B0BRIDGE"

ALICE: Final = "U0ALICE"
BOB: Final = "U0BOB"
CAROL: Final = "U0CAROL"
GUEST: Final = "U0GUEST"  # a guest in several channels
VISITOR: Final = "U0VISITOR"  # a guest in a single channel
STRANGER: Final = "U0STRANGER"  # from the other company
GRID: Final = "W0GRID"  # from the organization's other workspace
GONE: Final = "U0GONE"  # deactivated
OTHER_BOT: Final = "U0OTHERBOT"
SLACKBOT: Final = "USLACKBOT"  # Slack's own users, in every workspace
SLACK: Final = "USLACK"

GENERAL: Final = "C0GENERAL"
OPS: Final = "C0OPS"
RANDOM: Final = "C0RANDOM"
NOBOT: Final = "C0NOBOT"  # public, without the bot
PRIVATE: Final = "C0PRIVATE"  # private, with the bot
HIDDEN: Final = "C0HIDDEN"  # private, without the bot
SHARED: Final = "C0SHARED"  # shared with the other company
ORG: Final = "C0ORG"  # shared with the organization's other workspace
DM_ALICE: Final = "D0ALICE"  # with the bot
DM_BOB: Final = "D0BOB"
DM_CAROL: Final = "D0CAROL"

RUNNERS: Final = "S0RUNNERS"
FINANCE: Final = "S0FINANCE"
LEADS: Final = "S0LEADS"


def slacks_own() -> list[Member]:
    """Slackbot and Slack: Slack doesn't mark them as bots (``is_bot`` is false), and they have no ``bot_id``."""
    return [
        Member(SLACKBOT, "slackbot", "Slackbot", TEAM, is_slacks=True),
        Member(SLACK, "slack", "Slack", TEAM, is_slacks=True),
    ]


def people() -> list[Member]:
    """Everyone except `slacks_own`."""
    return [
        Member(ALICE, "alice", "Alice Adler", TEAM),
        Member(BOB, "bob", "Bob Brandt", TEAM),
        Member(CAROL, "carol", "Carol Conti", TEAM),
        Member(GUEST, "gus", "Gus Guest", TEAM, is_restricted=True),
        Member(VISITOR, "vera", "Vera Visitor", TEAM, is_restricted=True, is_ultra_restricted=True),
        Member(STRANGER, "sam", "Sam Stranger", OTHER_TEAM, is_stranger=True),
        Member(GRID, "grace", "Grace Grid", SISTER_TEAM, enterprise=ENTERPRISE),
        Member(GONE, "gina", "Gina Gone", TEAM, deleted=True),
        Member(BRIDGE, "bridge", "Bridge", TEAM, is_bot=True, bot_id=BRIDGE_BOT, app_id=APP),
        Member(OTHER_BOT, "otherbot", "Other Bot", TEAM, is_bot=True, bot_id="B0OTHERBOT", app_id="A0OTHERBOT"),
    ]


def channels() -> list[Channel]:
    home = [ALICE, BOB, CAROL]
    return [
        Channel(GENERAL, "general", [*home, GUEST, OTHER_BOT, BRIDGE]),
        Channel(OPS, "ops", [*home, OTHER_BOT, BRIDGE], purpose="Alerts, and the statistics every Monday"),
        Channel(RANDOM, "random", [*home, GUEST, VISITOR, BRIDGE]),
        Channel(NOBOT, "no-bot", [*home]),
        Channel(PRIVATE, "private", [ALICE, BOB, BRIDGE], is_private=True),
        Channel(HIDDEN, "hidden", [CAROL], is_private=True),
        Channel(SHARED, "shared", [*home, STRANGER, BRIDGE], is_ext_shared=True, shared_team_ids=[TEAM, OTHER_TEAM]),
        Channel(ORG, "org-wide", [*home, GRID, BRIDGE], is_org_shared=True, shared_team_ids=[TEAM, SISTER_TEAM]),
        Channel(DM_ALICE, "", [ALICE, BRIDGE], is_im=True),
        Channel(DM_BOB, "", [BOB, BRIDGE], is_im=True),
        Channel(DM_CAROL, "", [CAROL, BRIDGE], is_im=True),
    ]


def groups() -> list[Group]:
    return [
        Group(RUNNERS, "runners", "Workflow runners", TEAM, [ALICE, CAROL]),
        Group(FINANCE, "finance", "Finance", TEAM, [ALICE, BOB]),
        Group(LEADS, "leads", "Team leads", TEAM, [BOB, CAROL]),
    ]
