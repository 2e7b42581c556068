"""The operator's file next to real bridges: `bridge check`, `bridge config`, SIGHUP, and a start with a wrong file."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from bridge.config import TABLES
from bridge.playground.emulator.sample import ALICE, BOB, GENERAL
from bridge.playground.sample_project.server import SampleProject
from support.forks import run, start
from support.secrecy import API_KEY, BOT_TOKEN, SIGNING_SECRET
from support.system import BridgeProcess, System
from support.waiting import wait_until

DATA_KEY = "data-key-1"
SECRETS = (API_KEY, BOT_TOKEN, SIGNING_SECRET, DATA_KEY)


@pytest.fixture
async def data_project() -> AsyncIterator[SampleProject]:
    async with SampleProject(api_key=DATA_KEY) as project:
        yield project


def with_data(folder: Path, base_url: str, *more: str, name: str = "bridge.toml") -> str:
    """Write a file with a second project; returns its path."""
    lines = ["[projects.data]", 'name = "Data"', f'base_url = "{base_url}"', 'api_key_env = "DATA_KEY"', *more]
    (folder / name).write_text("\n".join(lines), encoding="utf-8")
    return str(folder / name)


async def says(system: System, folder: Path, *words: str, **environ: str) -> tuple[int, str, str]:
    """Run the command line with the settings of *system*; returns its exit code, output and errors."""
    own = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    found = await run(words, folder, {**own, **system.bridge().environ, "NO_COLOR": "1", **environ})
    assert [secret for secret in SECRETS if secret in found[1] + found[2]] == []
    return found


def is_logged(bridge: BridgeProcess, message: str) -> dict[str, Any] | None:
    lines = [json.loads(line) for line in bridge.log.decode().splitlines() if line.startswith("{")]
    return next((line for line in reversed(lines) if message in line["message"]), None)


# bridge serve


async def test_a_wrong_file_starts_no_bridge(system: System, tmp_path: Path) -> None:
    file = with_data(tmp_path, "data.example", "nam = 'hunter2'")

    bridge = await system.bridge(BRIDGE_CONFIG=file, DATA_KEY=DATA_KEY, BRIDGE_PORT="many").start()

    assert await bridge.wait() == 2
    assert bridge.log.decode().splitlines() == [
        "BRIDGE_PORT isn't a whole number from 0 to 65535: use one such as 3000",
        f"{file} projects.data.base_url isn't a web address: use one such as https://project.example.com",
        f"{file} projects.data.nam isn't a setting: did you mean name?",
    ]


# bridge check


async def test_each_of_several_projects_has_a_row(system: System, tmp_path: Path, data_project: SampleProject) -> None:
    with_data(tmp_path, data_project.base_url)

    _, output, _ = await says(system, tmp_path, "check", "--json", DATA_KEY=DATA_KEY)

    rows = [row for row in json.loads(output)["rows"] if row["area"] == "Project service"]
    counts = f"{len(data_project.operations.workflows)} workflows; {len(data_project.operations.agents)} agents"
    assert [(row["what"], row["state"], row["detail"]) for row in rows] == [
        ("default", "ok", f"reachable, key accepted; {counts}"),
        ("data (Data)", "ok", f"reachable, key accepted; {counts}"),
    ]


@pytest.mark.parametrize(
    ("key", "path", "detail", "cure"),
    [
        ("another", "", "get_project: the key was rejected", "copy the key of projects.data again"),
        (DATA_KEY, "/x", "get_project: nothing found at this address", "check projects.data.base_url: it's the servi"),
    ],
)
async def test_a_projects_problem_names_its_setting_in_the_file(
    system: System, tmp_path: Path, data_project: SampleProject, *, key: str, path: str, detail: str, cure: str
) -> None:
    with_data(tmp_path, f"{data_project.base_url}{path}")

    code, output, _ = await says(system, tmp_path, "check", "--json", DATA_KEY=key)

    (row,) = (row for row in json.loads(output)["rows"] if row["what"] == "data (Data)")
    assert code == 1
    assert detail in row["detail"]
    assert cure in row["cure"]


async def test_other_keys_of_a_project_are_tried_and_listed(
    system: System, tmp_path: Path, data_project: SampleProject
) -> None:
    keys = ('{who = ["S0FINANCE"], api_key_env = "FINANCE_KEY"}', '{who = ["U0BOSS"], api_key_env = "OLD_KEY"}')
    with_data(tmp_path, data_project.base_url, f"keys = [{', '.join(keys)}]")
    data_project.more_keys.add("finance-1")
    known = {"DATA_KEY": DATA_KEY, "FINANCE_KEY": "finance-1", "OLD_KEY": "old-1"}

    code, output, _ = await says(system, tmp_path, "check", "--json", **known)
    _, shown, _ = await says(system, tmp_path, "config", "show", **known)

    rows = {row["what"]: row for row in json.loads(output)["rows"]}
    assert code == 1
    assert rows["data, FINANCE_KEY"]["detail"] == "key accepted"
    assert rows["data, OLD_KEY"]["detail"].startswith("the key was rejected")
    assert rows["data, OLD_KEY"]["cure"] == "copy this project's OLD_KEY again"
    assert "FINANCE_KEY for S0FINANCE; OLD_KEY for U0BOSS" in shown


async def test_names_in_the_file_are_compared_with_lists_that_are_read_once(
    system: System, tmp_path: Path, data_project: SampleProject
) -> None:
    rules = ('[[rules]]\nprojects = ["data"]\nworkflows = ["Greet a custmer"]', '[[rules]]\nagents = ["Memry"]')
    with_data(tmp_path, data_project.base_url, *rules)

    _, output, _ = await says(system, tmp_path, "check", "--json", DATA_KEY=DATA_KEY)

    rows = {row["what"]: row["detail"] for row in json.loads(output)["rows"] if row["area"] == "Rules"}
    assert rows["rules[1].workflows"] == "names “Greet a custmer”, and the service has no such workflow"
    assert rows["rules[2].agents"] == "names “Memry”, and the service has no such agent"
    for project in (system.project, data_project):
        assert [len(project.calls_to(f"/api/sdk/{kind}")) for kind in ("workflows", "agents")] == [1, 1]


async def test_a_wrong_file_is_checked_with_its_line(system: System, tmp_path: Path) -> None:
    with_data(tmp_path, "https://data.example", 'channels = ["general"]')

    code, output, _ = await says(system, tmp_path, "check", "--json", DATA_KEY=DATA_KEY)

    rows = json.loads(output)["rows"]
    assert code == 1
    assert rows[0] == {
        "area": "Settings",
        "what": "bridge.toml",
        "state": "failure",
        "detail": "projects.data.channels has an invalid entry",
        "cure": 'use channel IDs such as "C0123456789"',
    }
    assert "get_agents" in {row["what"] for row in rows}  # the other project is probed as ever


async def test_a_file_with_one_project_changes_no_row(system: System, tmp_path: Path) -> None:
    _, before, _ = await says(system, tmp_path, "check", "--json")
    (tmp_path / "bridge.toml").write_text('[projects.default]\nname = "Company"', encoding="utf-8")

    _, after, _ = await says(system, tmp_path, "check", "--json")

    whats = [[row["what"] for row in json.loads(output)["rows"]] for output in (before, after)]
    assert whats[0] == whats[1]


# bridge config show


async def test_show_names_the_source_of_each_value(system: System, tmp_path: Path) -> None:
    with_data(tmp_path, "https://data.example", 'channels = ["C0123456789"]', 'default_agent = "Support"')
    (tmp_path / ".env").write_text("# keys\nDATA_KEY=data-key-1\nBRIDGE_MAX_AGE=2h\n", encoding="utf-8")
    (tmp_path / "secret").write_text(SIGNING_SECRET, encoding="utf-8")

    code, output, _ = await says(
        system, tmp_path, "config", "show", "--json", SLACK_SIGNING_SECRET="", SLACK_SIGNING_SECRET_FILE="secret"
    )

    shown = json.loads(output)
    settings = {one["name"]: (one["value"], one["source"]) for one in shown["settings"]}
    assert (code, shown["ok"], shown["file"], shown["processes"]) == (0, True, "bridge.toml", [])
    assert settings["SLACK_BOT_TOKEN"] == ("set", "environment")
    assert settings["SLACK_SIGNING_SECRET"] == ("set", "SLACK_SIGNING_SECRET_FILE, environment")
    assert settings["BRIDGE_MAX_AGE"] == ("2h", ".env:3")
    assert settings["BRIDGE_RUN_TIMEOUT"] == ("900", "default")
    assert settings["BRIDGE_DEFAULT_AGENT"] == (None, "")
    assert settings["PROJECT_BASE_URL"] == (system.project.base_url, "environment")
    assert [(one["name"], one["value"], one["source"]) for one in shown["projects"]] == [
        ("default.name", "default", "default"),
        ("default.base_url", system.project.base_url, "environment"),
        ("default.api_key", "set", "environment"),
        ("default.channels", None, ""),
        ("data.name", "Data", "bridge.toml"),
        ("data.base_url", "https://data.example", "bridge.toml"),
        ("data.api_key", "set", "bridge.toml"),
        ("data.channels", "C0123456789", "bridge.toml"),
        ("data.default_agent", "Support", "bridge.toml"),
    ]


async def test_show_lists_what_each_table_sets(system: System, tmp_path: Path) -> None:
    text = """[[rules]]
who = ["S0FINANCE01", "U0BOB00001"]
may = ["run"]
workflows = ["Pay *", 7]
approve = {by = ["S0LEADS0001"], count = 2, self = false}
[[rules]]

[channels.C0SUPPORT01]
agent = "Support"
apps.A0MONITOR01 = {workflow = "Triage"}
[agents.Support]
face = ":headphones:"
[[limits]]
per = "person"
turns = 50
"""
    (tmp_path / "bridge.toml").write_text(text, encoding="utf-8")

    code, output, _ = await says(system, tmp_path, "config", "show", "--json")
    _, table, _ = await says(system, tmp_path, "config", "show")

    shown = json.loads(output)
    values = {one["name"]: (one["value"], one["source"]) for kind in TABLES for one in shown[kind]}
    assert code == 0
    assert values == {
        "rules[1].who": ("S0FINANCE01, U0BOB00001", "bridge.toml"),
        "rules[1].may": ("run", "bridge.toml"),
        "rules[1].workflows": ("Pay *, 7", "bridge.toml"),
        "rules[1].approve.by": ("S0LEADS0001", "bridge.toml"),
        "rules[1].approve.count": ("2", "bridge.toml"),
        "rules[1].approve.self": ("false", "bridge.toml"),
        "rules[1].approve.within": ("4h", "default"),
        "rules[2]": ("everyone may do everything", "bridge.toml"),
        "channels.C0SUPPORT01.agent": ("Support", "bridge.toml"),
        "channels.C0SUPPORT01.apps.A0MONITOR01.workflow": ("Triage", "bridge.toml"),
        "agents.Support.face": (":headphones:", "bridge.toml"),
        "limits[1].per": ("person", "bridge.toml"),
        "limits[1].every": ("hour", "default"),
        "limits[1].turns": ("50", "bridge.toml"),
    }
    lines = table.splitlines()
    assert all(f"{kind.capitalize()} (bridge.toml)" in lines for kind in ("projects", *TABLES))
    assert any(line.split() == ["rules[1].may", "bridge.toml", "run"] for line in lines)


async def test_show_compares_the_file_with_what_processes_use(system: System, tmp_path: Path) -> None:
    file = with_data(tmp_path, "https://data.example")
    bridge = await system.start_bridge(BRIDGE_CONFIG=file, DATA_KEY=DATA_KEY)

    async def shows(words: str) -> bool:
        code, output, _ = await says(system, tmp_path, "config", "show", DATA_KEY=DATA_KEY)
        return code == 0 and words in output

    await wait_until(lambda: shows("uses this configuration since"), "the process has reported")
    with_data(tmp_path, "https://other.example")
    assert await shows("uses an earlier configuration since")
    bridge.send_signal(signal.SIGHUP)
    await wait_until(lambda: shows("uses this configuration since"), "the process has the new file")


async def test_show_names_the_problems_of_a_wrong_file(system: System, tmp_path: Path) -> None:
    (tmp_path / "bridge.toml").write_text("[projects.default]\nnam = 'x'", encoding="utf-8")

    code, output, errors = await says(system, tmp_path, "config", "show", BRIDGE_PORT="many")

    assert code == 2
    assert "  BRIDGE_PORT " in output
    assert "many" not in output + errors
    assert errors.splitlines()[-2:] == [
        "BRIDGE_PORT isn't a whole number from 0 to 65535: use one such as 3000",
        "bridge.toml projects.default.nam isn't a setting: did you mean name?",
    ]


# Reloads


async def test_a_reload_is_taken_by_all_processes(system: System, tmp_path: Path) -> None:
    file = str(tmp_path / "bridge.toml")
    Path(file).write_text("", encoding="utf-8")
    bridges = [await system.start_bridge(BRIDGE_CONFIG=file, DATA_KEY=DATA_KEY) for _ in range(2)]
    with_data(tmp_path, "https://data.example")

    code, output, _ = await says(system, tmp_path, "config", "reload")

    assert code == 0, output
    assert output.count("took it: projects default, data") == 2
    assert output.endswith("2 of 2 processes took it.\n")
    assert all(is_logged(bridge, "the configuration was reloaded") for bridge in bridges)


async def test_a_gate_with_a_typo_is_said_at_the_start_and_by_a_reload(system: System, tmp_path: Path) -> None:
    file = tmp_path / "bridge.toml"
    gate = '[[rules]]\nmay = ["run"]\nworkflows = ["{}"]\nrefuse = true\n[[rules]]\n'
    file.write_text(gate.format("Greet a custmer"), encoding="utf-8")
    bridge = await system.start_bridge(BRIDGE_CONFIG=str(file))
    problem = "rule 1 names no workflow: “Greet a custmer”; nearest: “Greet a customer”"

    await wait_until(lambda: is_logged(bridge, "has no effect"), "the start's log says it")
    code, text, _ = await says(system, tmp_path, "config", "reload")
    also, data, _ = await says(system, tmp_path, "config", "reload", "--json")
    _, shown, _ = await says(system, tmp_path, "config", "show", BRIDGE_CONFIG=str(file))
    file.write_text(gate.format("Greet a customer"), encoding="utf-8")
    mended, _, _ = await says(system, tmp_path, "config", "reload")

    logged = is_logged(bridge, "has no effect")
    assert logged is not None
    assert (logged["level"], logged["problem"]) == ("error", problem)
    assert (code, also, mended) == (1, 1, 0)
    assert f"took it, but {problem}\n" in text
    assert json.loads(data)["ok"] is False
    assert [one["in_force"]["unknown"] for one in json.loads(data)["processes"]] == [[problem]]
    assert problem in shown


async def test_a_process_that_refuses_a_reload_keeps_the_old_one(system: System, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
    files = [with_data(folder, "https://data.example") for folder in (here, there)]
    takes, refuses = [await system.start_bridge(BRIDGE_CONFIG=file, DATA_KEY=DATA_KEY) for file in files]
    with_data(here, "https://other.example")
    with_data(there, "https://other.example", "key = 'hunter2'")

    code, output, _ = await says(system, tmp_path, "config", "reload", "--json")
    _, text, _ = await says(system, tmp_path, "config", "reload")

    states = [one["in_force"] for one in json.loads(output)["processes"]]
    problem = f"{files[1]} projects.data.key isn't allowed, since this file can't hold keys: set DATA_KEY in .env"
    assert code == 2
    assert sorted(state["projects"] for state in states) == [["default", "data"]] * 2
    assert [problem in "".join(state["problems"]) for state in states].count(True) == 1
    assert len({state["revision"] for state in states}) == 2
    assert problem in text
    assert "1 of 2 processes took it." in text
    refusal = is_logged(refuses, "the new configuration was refused; the old one stays in force")
    assert refusal is not None
    assert (refusal["level"], problem in refusal["problems"]) == ("error", True)
    assert is_logged(takes, "refused") is None


async def test_a_hang_up_reloads_one_process(system: System, tmp_path: Path) -> None:
    file = with_data(tmp_path, "https://data.example")
    first, second = [await system.start_bridge(BRIDGE_CONFIG=file, DATA_KEY=DATA_KEY) for _ in range(2)]

    first.send_signal(signal.SIGHUP)
    await wait_until(lambda: is_logged(first, "the configuration was reloaded"), "it's reloaded")
    with_data(tmp_path, "nonsense")
    first.send_signal(signal.SIGHUP)
    await wait_until(lambda: is_logged(first, "the new configuration was refused"), "it's refused")

    assert is_logged(second, "reloaded") is is_logged(second, "refused") is None
    assert (await first.state())[0] == 200


async def test_a_reload_without_a_bridge_says_so(system: System, tmp_path: Path) -> None:
    code, _, errors = await says(system, tmp_path, "config", "reload")

    assert code == 1
    assert "No bridge is running." in errors


async def test_a_key_added_to_env_is_found_by_a_reload(system: System, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("", encoding="utf-8")
    bridge = system.bridge()
    bridge.began(await start(["serve"], tmp_path, bridge.environ))
    await bridge.ready()
    with_data(tmp_path, "https://data.example")
    (tmp_path / ".env").write_text(f"DATA_KEY={DATA_KEY}\n", encoding="utf-8")

    code, output, _ = await says(system, tmp_path, "config", "reload")

    assert (code, "took it: projects default, data" in output) == (0, True), output


@pytest.fixture
async def moved_project() -> AsyncIterator[SampleProject]:
    async with SampleProject(api_key="k-2") as project:
        yield project


async def test_a_reload_takes_the_default_projects_address_and_key_files(
    system: System, data_project: SampleProject, moved_project: SampleProject, tmp_path: Path
) -> None:
    (tmp_path / "key").write_text(API_KEY, encoding="utf-8")
    (tmp_path / "data.key").write_text("not-yet", encoding="utf-8")
    lines = ["[projects.data]", f'base_url = "{data_project.base_url}"', 'api_key_file = "data.key"']
    (tmp_path / "bridge.toml").write_text("\n".join(lines), encoding="utf-8")
    settings = f"PROJECT_BASE_URL={system.project.base_url}\nPROJECT_API_KEY_FILE={tmp_path}/key\n"
    (tmp_path / ".env").write_text(settings, encoding="utf-8")
    bridge = system.bridge()
    for name in ("PROJECT_BASE_URL", "PROJECT_API_KEY"):
        del bridge.environ[name]
    bridge.began(await start(["serve"], tmp_path, bridge.environ))
    await bridge.ready()
    system.slack.events_url = f"{bridge.url}/slack/events"
    _, unchanged, _ = await says(system, tmp_path, "config", "reload")

    (tmp_path / "key").write_text("k-2", encoding="utf-8")
    (tmp_path / "data.key").write_text(DATA_KEY, encoding="utf-8")
    moved = settings.replace(system.project.base_url, moved_project.base_url)
    (tmp_path / ".env").write_text(f"{moved}BRIDGE_DEFAULT_AGENT=1\nBRIDGE_MAX_AGE=2h\n", encoding="utf-8")
    code, output, _ = await says(system, tmp_path, "config", "reload", "--json")
    root = await system.mention(ALICE, GENERAL, "hello")
    await system.answered(GENERAL, root)
    other = await system.mention(ALICE, GENERAL, "@data Memory: hello")
    await system.answered(GENERAL, other)

    assert "took it: projects default, data\n      nothing has changed\n1 of 1" in unchanged
    (state,) = [one["in_force"] for one in json.loads(output)["processes"]]
    assert (code, state["problems"], state["needs_restart"]) == (0, [], ["BRIDGE_MAX_AGE"])
    assert state["changed"] == ["default: new address, key, default agent", "data: new key"]
    assert [len(one.calls_to("/api/sdk/agents/1/chat")) for one in (moved_project, data_project)] == [1, 1]
    assert system.chats() == []
    _, text, _ = await says(system, tmp_path, "config", "reload")
    assert "BRIDGE_MAX_AGE has changed, too: restart it to use that" in text


@pytest.mark.parametrize("mended_by", ["a new key in its file", "a reload", "the service"])
async def test_messages_wait_while_the_key_is_rejected(system: System, tmp_path: Path, mended_by: str) -> None:
    (tmp_path / "key").write_text("k-2", encoding="utf-8")
    settings = f"PROJECT_API_KEY_FILE={tmp_path}/key\nBRIDGE_DEFAULT_AGENT=1\n"
    (tmp_path / ".env").write_text(settings, encoding="utf-8")
    bridge = system.bridge()
    del bridge.environ["PROJECT_API_KEY"]
    bridge.began(await start(["serve"], tmp_path, bridge.environ))
    await bridge.ready()
    system.slack.events_url = f"{bridge.url}/slack/events"
    root = await system.mention(ALICE, GENERAL, "hello")
    (told,) = await system.answered(GENERAL, root)
    _, state = await bridge.state()

    match mended_by:
        case "the service":
            system.project.api_key = "k-2"
        case "a reload":
            (tmp_path / ".env").write_text(settings.replace("_FILE", "").replace(f"{tmp_path}/key", API_KEY))
            await says(system, tmp_path, "config", "reload")
        case _:
            (tmp_path / "key").write_text(API_KEY, encoding="utf-8")
    answers = await system.answered(GENERAL, root, 2)
    system.project.api_key = API_KEY

    assert (state["project"], state["project_trouble"]) == ("down", "the key is rejected; run bridge check")
    assert "Your message is queued" in told
    assert len(answers) == 2
    assert system.chats() == ["hello"]
    assert (await bridge.state())[1]["project"] == "up"


async def test_a_reload_refuses_a_wrong_env_as_a_whole(system: System, tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("", encoding="utf-8")
    bridge = system.bridge()
    bridge.began(await start(["serve"], tmp_path, bridge.environ))
    await bridge.ready()
    (tmp_path / "bridge.toml").write_text('[projects.default]\nname = "Company"', encoding="utf-8")
    (tmp_path / ".env").write_text("BRIDGE_MAX_AGE=soon\n", encoding="utf-8")

    bridge.send_signal(signal.SIGHUP)

    await wait_until(lambda: is_logged(bridge, "the new configuration was refused"), "it's refused")
    refusal = is_logged(bridge, "the new configuration was refused")
    assert refusal is not None
    assert refusal["problems"].startswith("BRIDGE_MAX_AGE ")
    assert is_logged(bridge, "the configuration was reloaded") is None


async def test_rules_hold_from_the_start_and_after_a_reload(system: System, tmp_path: Path) -> None:
    file = tmp_path / "bridge.toml"
    file.write_text('[[rules]]\nwho = ["S0RUNNERS"]\nmay = ["run"]\n', encoding="utf-8")
    await system.start_bridge(BRIDGE_CONFIG=str(file))

    async def said(user: str) -> str:
        """Run a workflow as *user*, and return what they're told in private."""
        before = len(system.slack.workspace.messages.private)
        await system.slack.ui.command(user, GENERAL, "/workflows", "run 1 hello")
        await wait_until(lambda: len(system.slack.workspace.messages.private) > before, "it's answered")
        return system.slack.workspace.messages.private[-1].text

    def runs() -> int:
        return len([call for call in system.project.calls if call.path.endswith("/run")])

    assert "only @runners can" in await said(BOB)
    file.write_text("[[rules]]\nwho = []\n", encoding="utf-8")
    code, _, _ = await says(system, tmp_path, "config", "reload")
    assert code == 2
    assert "only @runners can" in await said(BOB)  # what was closed stays closed
    file.write_text('[[rules]]\nwho = ["U0BOB"]\nmay = ["run"]\n', encoding="utf-8")
    code, output, _ = await says(system, tmp_path, "config", "reload")
    assert (code, "rules: changed" in output) == (0, True), output
    assert runs() == 0
    await system.slack.ui.command(BOB, GENERAL, "/workflows", "run 1 hello")
    await wait_until(lambda: runs() == 1, "it runs")
