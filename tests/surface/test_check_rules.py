"""`bridge check` on the operator's file: what Slack or the service doesn't know, and rules without an effect."""

from __future__ import annotations

from pathlib import Path

from bridge.cli.check.access import Asking, access_rows
from bridge.cli.check.rules import rule_rows
from bridge.cli.rows import FAILURE, OK, Row
from bridge.config import Config, default_project, read_config
from bridge.engine.unknown_names import Lists
from bridge.names.listing import Listing
from bridge.playground.emulator.emulator import EmulatedSlack
from bridge.policy.rules import rules_of
from bridge.project.models import Agent, Workflow
from bridge.settings import well_formed
from bridge.slack.api import SlackWeb
from support.secrecy import BOT_TOKEN
from support.tables import each

RUNS = '[[rules]]\nwho = ["S0RUNNERS"]\nmay = ["run"]\n'


LISTS = Lists(
    {"default": Listing([Workflow(id=3, name="Refund all"), Workflow(id=4, name="Digest")])},
    {"default": Listing([Agent(id=7, name="Support")])},
)


def config_of(folder: Path, text: str) -> Config:
    (folder / "bridge.toml").write_text(text, encoding="utf-8")
    return read_config(
        folder / "bridge.toml", {"FINANCE_KEY": "k"}, default_project({"PROJECT_BASE_URL": "http://p.test"})
    )


async def check(emulated: EmulatedSlack, folder: Path, text: str) -> list[Row]:
    values = well_formed({"SLACK_BOT_TOKEN": BOT_TOKEN, "SLACK_API_URL": emulated.api_url})
    return await rule_rows(values, config_of(folder, text), LISTS)


async def test_a_file_without_tables_has_no_rows(emulated: EmulatedSlack, tmp_path: Path) -> None:
    assert await check(emulated, tmp_path, "") == []


async def test_a_sound_file_has_one_row(emulated: EmulatedSlack, tmp_path: Path) -> None:
    [row] = await check(emulated, tmp_path, RUNS)

    assert (row.state, row.detail) == (OK, "1 rule, 0 channels, 0 limits")


@each(
    ("text", "path", "problem"),
    [
        ('[[rules]]\nmay = ["run"]\n' + RUNS, "rules[2]", "never matches: rule 1 fits all that it does"),
        ('[[rules]]\nmay = ["run"]\nagents = ["Support"]', "rules[1]", "never matches: nothing in its may is"),
        (
            '[[rules]]\nwho = ["S0NONE0001"]',
            "rules[1].who",
            "names S0NONE0001, and Slack doesn't know a user group with",
        ),
        ('[[rules]]\nwho = ["U0NONE0001"]', "rules[1].who", "names U0NONE0001, and Slack doesn't know a person"),
        ('[[rules]]\nchannels = ["C0NONE0001"]', "rules[1].channels", "names C0NONE0001, and Slack doesn't"),
        ('[[rules]]\napprove = {by = ["S0NONE0001"]}', "rules[1].approve", "names S0NONE0001"),
        ('[channels.C0NONE0001]\nagent = "7"', "channels.C0NONE0001", "names C0NONE0001, and Slack doesn't know"),
        (
            '[[rules]]\nworkflows = ["Refunds *"]',
            "rules[1].workflows",
            "names “Refunds *”, and the service has no such",
        ),
        ("[[rules]]\nworkflows = [9]", "rules[1].workflows", "names “9”, and the service has no such workflow"),
        ('[[rules]]\nagents = ["Sales"]', "rules[1].agents", "names “Sales”, and the service has no such agent"),
        (
            '[[rules]]\ncategories = ["billing"]',
            "rules[1].categories",
            "names “billing”, and the service has nothing of",
        ),
        (
            '[[limits]]\nper = "agent"\nonly = ["Sales"]\nturns = 5',
            "limits[1].only",
            "names “Sales”, and the service has",
        ),
        ('[[rules]]\nprojects = ["data"]', "rules[1].projects", "names “data”, which fits no project"),
        ('[channels.C0GENERAL]\nagent = "Sales"', "channels.C0GENERAL.agent", "names “Sales”, and the service has no"),
        ('[agents.Sales]\nface = ":fox_face:"', "agents.Sales", "names “Sales”, and the service has no such agent"),
        (
            '[projects.default]\nkeys = [{who = ["S0NONE0001"], api_key_env = "FINANCE_KEY"}]',
            "projects.default.keys[1].who",
            "names S0NONE0001, and Slack doesn't know a user group",
        ),
        (
            '[projects.default]\nkeys = [{who = ["U0NONE0001"], api_key_env = "FINANCE_KEY"}]',
            "projects.default.keys[1].who",
            "names U0NONE0001, and Slack doesn't know a person",
        ),
    ],
)
async def test_a_problem_has_its_place_and_a_cure(
    emulated: EmulatedSlack, tmp_path: Path, text: str, path: str, problem: str
) -> None:
    rows = await check(emulated, tmp_path, text)

    assert [(row.what, row.state) for row in rows if problem in row.detail] == [(path, FAILURE)], rows
    assert all(row.cure for row in rows if row.state == FAILURE)


@each(
    ("text", "cures"),
    [
        ('[[rules]]\nwho = ["S0NONE0001"]', ["copy the ID again from Slack"]),
        ('[[rules]]\nwho = ["U0NONE0001"]', ["copy the ID again from Slack"]),
        (
            '[[rules]]\nchannels = ["C0NONE0001"]',
            ["copy the ID again from Slack; a private channel also needs the bot in it (/invite)"],
        ),
    ],
)
async def test_an_unknown_ids_cure_is_about_its_kind(
    emulated: EmulatedSlack, tmp_path: Path, text: str, cures: list[str]
) -> None:
    assert [row.cure for row in await check(emulated, tmp_path, text) if row.state == FAILURE] == cures


async def test_workflows_that_nobody_may_run_are_named(emulated: EmulatedSlack, tmp_path: Path) -> None:
    rows = await check(emulated, tmp_path, '[[rules]]\nmay = ["run"]\nworkflows = ["Digest"]')

    assert [row.detail for row in rows if row.what == "workflows"] == ["no rule lets anyone run “Refund all”"]


EVERYONE = '[[rules]]\nmay = ["run", "ask"]\n'


@each(
    ("text", "nobodys"),
    [
        ('[[rules]]\nmay = ["run"]\nworkflows = ["Digest"]\nrefuse = true\n' + EVERYONE, "“Digest”"),
        ('[[rules]]\nworkflows = ["Di*"]\nrefuse = true\n' + EVERYONE, "“Digest”"),
        ('[[rules]]\nwho = ["members", "guests"]\nworkflows = [4]\nrefuse = true\n' + EVERYONE, "“Digest”"),
        (
            '[[rules]]\nchannels = ["public", "private", "direct"]\nworkflows = [4]\nrefuse = true\n' + EVERYONE,
            "“Digest”",
        ),
        ('[[rules]]\nwho = ["guests"]\nworkflows = [4]\nrefuse = true\n' + EVERYONE, ""),
        ('[[rules]]\nchannels = ["public"]\nworkflows = [4]\nrefuse = true\n' + EVERYONE, ""),
        ('[[rules]]\nmay = ["schedule"]\nworkflows = [4]\nrefuse = true\n' + EVERYONE, ""),
        (RUNS + "[[rules]]\nworkflows = [4]\nrefuse = true\n" + EVERYONE, ""),
        ('[[rules]]\nmay = ["run"]\napprove = {count = 2}\n', "“Refund all”, “Digest”"),
        ('[[rules]]\nmay = ["run", "approve"]\napprove = {count = 2}\n', ""),
        ('[[rules]]\nmay = ["run"]\napprove = {by = ["S0RUNNERS"]}\n', ""),
    ],
)
async def test_a_workflow_refused_to_everyone_is_nobodys(
    emulated: EmulatedSlack, tmp_path: Path, text: str, nobodys: str
) -> None:
    rows = await check(emulated, tmp_path, text)

    said = [row.detail for row in rows if row.what == "workflows"]
    assert said == ([f"no rule lets anyone run {nobodys}"] if nobodys else [])


@each(
    ("user", "workflow", "said"),
    [
        ("U0ALICE", "Refund all", "rule 2 ({file}): @runners may run workflows (“Refund *”)"),
        ("U0BOB", "Refund all", "no rule in {file} allows it for “Refund all”"),
        ("U0BOB", "", "no rule in {file} allows it; to ask about one workflow, add --run WORKFLOW"),
        ("U0ALICE", "Payroll", "rule 3 ({file}): nobody may run workflows or schedule anything (“Payroll”)"),
        ("U0ALICE", "Digest", "no rule in {file} allows it for “Digest”"),
    ],
)
async def test_access_names_the_rule_that_decides(
    slack_web: SlackWeb, tmp_path: Path, *, user: str, workflow: str, said: str
) -> None:
    text = '[[rules]]\nmay = ["ask"]\n\n[[rules]]\nwho = ["S0RUNNERS"]\nmay = ["run"]\nworkflows = ["Refund *"]'
    text += '\n[[rules]]\nmay = ["run", "schedule"]\nworkflows = ["Payroll"]\nrefuse = true'
    rules = rules_of(config_of(tmp_path, text))
    asking = Asking(user, "C0GENERAL", workflow=Workflow(id=3, name=workflow) if workflow else None)

    rows = {row.what: row for row in await access_rows(slack_web, rules, asking)}

    row = rows[f"run {workflow}" if workflow else "run workflows"]
    assert row.detail == said.format(file=tmp_path / "bridge.toml")
    assert rows["talk"].detail == f"rule 1 ({tmp_path / 'bridge.toml'}): everyone may talk to agents"
