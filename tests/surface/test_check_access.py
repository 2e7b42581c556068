"""`bridge check --access`: what a person may do in a channel, and why."""

from __future__ import annotations

from typing import Any

from pydantic import SecretStr

from bridge.cli.check.access import Asking, access_of, access_rows
from bridge.cli.rows import FAILURE, OK, Row, as_typed
from bridge.config import ProjectKey, default_project, no_file
from bridge.errors import ConfigurationError
from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.policy.rules import Rules, rules_of
from bridge.settings import well_formed
from bridge.slack.api import SlackWeb
from support.secrecy import BOT_TOKEN
from support.slack_fixtures import Json, answers, methods, refused
from support.tables import each

GREETING = {"ok": True, "team": "Acme", "team_id": "T1", "user": "helper", "user_id": "UBOT", "bot_id": "B1"}
NO_FILE = no_file(default_project({}))
OPEN = rules_of(NO_FILE)
FOUR = ("talk", "use commands", "run workflows", "schedule reports")


def person(**about: Any) -> Json:
    return {"ok": True, "user": {"id": "U1SUE", "name": "sue", "team_id": "T1", **about}}


def channel(**about: Any) -> Json:
    return {"ok": True, "channel": {"id": "C1GEN", "name": "general", "is_member": True, **about}}


def rules(*, channels: str = "", users: str = "", runners: str = "") -> Rules:
    return rules_of(
        NO_FILE,
        allowed_channels=frozenset(channels.split()),
        allowed_users=frozenset(users.split()),
        runners=frozenset(runners.split()),
    )


async def look(
    emulated: EmulatedSlack,
    slack_web: SlackWeb,
    rules: Rules = OPEN,
    who: Json | None = None,
    where: Json | None = None,
) -> dict[str, Row]:
    answers(emulated, "auth.test", GREETING)
    answers(emulated, "users.info", who or person())
    answers(emulated, "conversations.info", where or channel())
    answers(emulated, "usergroups.users.list", {"ok": True, "users": ["U1SUE"]})
    rows = await access_rows(slack_web, rules, Asking("U1SUE", "C1GEN"))
    return {row.what: row for row in as_typed(rows, {"BRIDGE_COMMAND_PREFIX": "acme-"})}


def allowed(rows: dict[str, Row]) -> list[str]:
    return [what for what in FOUR if rows[what].state == OK]


async def test_a_member_may_do_everything_without_restrictions(emulated: EmulatedSlack, slack_web: SlackWeb) -> None:
    rows = await look(emulated, slack_web)

    assert rows["person"].detail == "sue (U1SUE), a member of the workspace"
    assert rows["channel"].detail == "#general (C1GEN), public, the bot is in it"
    assert allowed(rows) == list(FOUR)
    assert rows["run workflows"].detail == "every member of the workspace can"


async def test_the_replies_that_need_no_mention_are_explained(emulated: EmulatedSlack, slack_web: SlackWeb) -> None:
    row = (await look(emulated, slack_web))["reply without a mention"]

    assert row.state == OK
    assert row.detail.startswith("only while the agent is talking with them and nobody else has written since")
    assert "BRIDGE_THREAD_REPLIES=auto, unless /acme-agents channel says otherwise" in row.detail


@each(
    ("who", "described", "may", "why"),
    [
        (
            person(is_restricted=True),
            "a guest of the workspace",
            FOUR[:2],
            "guests can't, unless listed in BRIDGE_RUNNERS",
        ),
        (person(is_ultra_restricted=True), "a guest of the workspace", FOUR[:2], "guests can't"),
        (person(team_id="T2"), "from another workspace", (), "not a member of the app's workspace"),
        (person(team_id="T2", is_stranger=True), "from another company", (), "not a member of the app's workspace"),
        (person(deleted=True), "deactivated", (), "this account is deactivated"),
        (person(is_bot=True), "a bot", (), "this is a bot, not a person"),
        (person(team_id=None), "workspace unknown", (), "Slack doesn't give enough information"),
        (refused("missing_scope", needed="users:read"), "the token lacks the scope users:read", FOUR, ""),
        (refused("internal_error"), "sent an unexpected response", FOUR[:2], "Slack doesn't give enough information"),
    ],
)
async def test_each_kind_of_person_is_named_and_judged(
    emulated: EmulatedSlack, slack_web: SlackWeb, *, who: Json, described: str, may: tuple[str, ...], why: str
) -> None:
    rows = await look(emulated, slack_web, who=who)

    assert described in rows["person"].detail
    assert allowed(rows) == list(may)
    assert why in rows["run workflows"].detail


async def test_an_unknown_person_gets_no_permissions_but_a_fix(emulated: EmulatedSlack, slack_web: SlackWeb) -> None:
    rows = await look(emulated, slack_web, who=refused("user_not_found"))

    assert rows.keys() == {"person", "channel"}
    assert rows["person"].detail == "the app can't see U1SUE"
    assert rows["person"].cure == "copy the member ID from the person's profile in Slack"


@each(
    ("rules", "may", "what", "why"),
    [
        (rules(users="U1SUE"), FOUR, "talk", "listed in BRIDGE_ALLOWED_USERS"),
        (rules(users="U2"), (), "talk", "not in BRIDGE_ALLOWED_USERS"),
        (rules(channels="C1GEN"), FOUR, "talk", "everyone in the workspace can, including guests"),
        (rules(channels="C2"), (), "use commands", "this channel isn't in BRIDGE_ALLOWED_CHANNELS"),
        (rules(runners="U1SUE"), FOUR, "run workflows", "listed in BRIDGE_RUNNERS"),
        (rules(runners="U2 S1"), FOUR, "schedule reports", "in a user group listed in BRIDGE_RUNNERS"),
        (rules(runners="U2"), FOUR[:2], "run workflows", "not in BRIDGE_RUNNERS, nor in a user group listed there"),
    ],
)
async def test_each_rule_is_named_where_it_decides(
    emulated: EmulatedSlack, slack_web: SlackWeb, *, rules: Rules, may: tuple[str, ...], what: str, why: str
) -> None:
    rows = await look(emulated, slack_web, rules)

    assert allowed(rows) == list(may)
    assert rows[what].detail == why


@each(
    ("where", "described", "may"),
    [
        (channel(is_private=True, is_ext_shared=True), "private, shared with another company, the bot is in it", FOUR),
        (channel(is_member=False), "the bot isn't in it", FOUR[1:]),
        (channel(is_archived=True), "archived", FOUR[1:]),
        (refused("channel_not_found"), "the app can't see C1GEN", FOUR[1:]),
        (refused("missing_scope", needed="channels:read"), "can't read C1GEN (missing_scope)", FOUR),
    ],
)
async def test_no_one_can_talk_where_the_bot_receives_nothing(
    emulated: EmulatedSlack, slack_web: SlackWeb, *, where: Json, described: str, may: tuple[str, ...]
) -> None:
    rows = await look(emulated, slack_web, where=where)

    assert described in rows["channel"].detail
    assert allowed(rows) == list(may)


async def test_an_unreadable_person_in_a_shared_channel_may_do_nothing(
    emulated: EmulatedSlack, slack_web: SlackWeb
) -> None:
    rows = await look(emulated, slack_web, who=refused("missing_scope"), where=channel(is_ext_shared=True))

    assert allowed(rows) == []
    assert {rows[what].cure for what in FOUR} == {"grant the scopes that `bridge check` lists, and reinstall the app"}


async def test_a_direct_message_is_not_looked_up(emulated: EmulatedSlack, slack_web: SlackWeb) -> None:
    answers(emulated, "auth.test", GREETING)
    answers(emulated, "users.info", person())

    rows = await access_rows(slack_web, OPEN, Asking("U1SUE", "D1SUE"))

    assert rows[1] == Row("Access", "channel", OK, "a direct message (D1SUE)")
    assert methods(emulated) == ["auth.test", "users.info"]


async def test_a_bad_token_hides_all_other_rows(emulated: EmulatedSlack, slack_web: SlackWeb) -> None:
    answers(emulated, "auth.test", refused("invalid_auth"))

    rows = await access_rows(slack_web, OPEN, Asking("U1SUE", "C1GEN"))

    assert [(row.what, row.state) for row in rows] == [("bot token", FAILURE)]


@each(
    ("user", "channel", "problems"),
    [("U1SUE", "C1GEN", 0), ("W12", "G12", 0), ("U12", "D12", 0), ("@sue", "C1GEN", 1), ("sue", "#general", 2)],
)
async def test_names_instead_of_ids_are_reported(user: str, channel: str, problems: int) -> None:
    found: tuple[str, ...] = ()
    try:
        await access_of({}, NO_FILE, user, channel)
    except ConfigurationError as exc:
        found = exc.problems

    assert len(found) == problems


async def test_the_settings_rules_decide_unless_one_is_malformed(emulated: EmulatedSlack) -> None:
    answers(emulated, "auth.test", GREETING)
    answers(emulated, "users.info", person())
    answers(emulated, "conversations.info", channel())
    given = {"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_API_URL": emulated.api_url, "BRIDGE_RUNNERS": "U0BOB, U1SUE"}

    rows = await access_of(well_formed(given), NO_FILE, "U1SUE", "C1GEN")

    assert rows is not None
    assert allowed({row.what: row for row in rows}) == list(FOUR)
    assert rows[-1].detail == "listed in BRIDGE_RUNNERS"
    assert await access_of(well_formed(given | {"BRIDGE_ALLOWED_USERS": "#general"}), NO_FILE, "U1SUE", "C1GEN") is None


@each(
    ("who", "said"),
    [(("U1SUE",), "FINANCE_KEY, as keys in the file says"), (("S1", "U2"), "FINANCE_KEY, as keys in the file says"),
     (("U2",), "the project's own")],
)  # fmt: skip
async def test_the_key_of_a_project_is_named_by_its_variable(
    emulated: EmulatedSlack, slack_web: SlackWeb, *, who: tuple[str, ...], said: str
) -> None:
    await look(emulated, slack_web)
    asking = Asking("U1SUE", "C1GEN", keys=(ProjectKey("FINANCE_KEY", SecretStr("secret"), who),))
    for method, answer in (("auth.test", GREETING), ("users.info", person()), ("conversations.info", channel())):
        answers(emulated, method, answer)
    answers(emulated, "usergroups.users.list", {"ok": True, "users": ["U1SUE"]})

    rows = await access_rows(slack_web, OPEN, asking)

    assert [row.detail for row in rows if row.what == "project's key"] == [said]
