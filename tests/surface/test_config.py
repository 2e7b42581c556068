"""The operator's file: what it sets, and the line and fix of each error."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import SecretStr

from bridge.config import Config, changes, default_project, read_config
from bridge.errors import ConfigurationError
from support.tables import each

ENVIRON = {"DATA_KEY": "data-key-1", "ORDERS_KEY": "orders-key-1", "BOT": "xoxb-secret", "SPACED": "two words"}
DEFAULT = default_project(
    {"PROJECT_BASE_URL": "https://project.example", "PROJECT_API_KEY": SecretStr("default-key"), "BRIDGE_RUN_URL": None}
)
DATA = """\
[projects.data]
name = "Data"
base_url = "https://data.example/"
api_key_env = "DATA_KEY"
"""


def read(folder: Path, text: str | bytes) -> Config:
    file = folder / "bridge.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_config(file, ENVIRON, DEFAULT)


def problems(folder: Path, text: str | bytes) -> list[str]:
    with pytest.raises(ConfigurationError) as caught:
        read(folder, text)
    return [problem.removeprefix(f"{folder}/") for problem in caught.value.problems]


def test_without_a_file_there_is_one_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    config = read_config(None, {}, DEFAULT)

    assert [(one.id, one.name, one.base_url) for one in config.projects] == [
        ("default", "default", "https://project.example")
    ]
    assert (config.file, config.projects[0].api_key.get_secret_value()) == (None, "default-key")


def test_the_default_file_is_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bridge.toml").write_text('projects.default.name = "Company"', encoding="utf-8")

    config = read_config(None, {}, DEFAULT)

    assert config.projects[0].name == "Company"


def test_projects_keep_the_order_of_the_file_after_the_default_one(tmp_path: Path) -> None:
    (tmp_path / "orders").write_text("orders-key-2\n", encoding="utf-8-sig")
    config = read(
        tmp_path,
        '\ufeff[projects.orders]\r\nbase_url = "https://orders.example/api/sdk"\r\napi_key_file = "orders"\r\n'
        f'{DATA}channels = ["C0123456789", "G0123456789"]\n[projects.default]\nchannels = ["C0DEFAULT01"]\n',
    )

    projects = config.projects
    assert [(one.id, one.name) for one in projects] == [("default", "default"), ("orders", "orders"), ("data", "Data")]
    assert [one.base_url for one in projects] == [
        "https://project.example", "https://orders.example", "https://data.example",
    ]  # fmt: skip
    assert [one.api_key.get_secret_value() for one in projects] == ["default-key", "orders-key-2", "data-key-1"]
    assert [sorted(one.channels) for one in projects] == [["C0DEFAULT01"], [], ["C0123456789", "G0123456789"]]
    assert not re.search("[a-z]+-key-[12]|default-key", repr(config))


def test_changes_of_a_reload_are_said_in_words(tmp_path: Path) -> None:
    one = read(tmp_path, DATA.replace("data]", "gone]").replace('"Data"', '"Gone"') + DATA)
    other = read_config(tmp_path / "bridge.toml", ENVIRON | {"DATA_KEY": "other"}, DEFAULT)
    third = read(tmp_path, DATA.replace("data.example", "x.example") + 'channels = ["C0123456789"]')

    assert changes(one, other) == ("gone: new key", "data: new key")
    assert changes(one, third) == ("gone: removed", "data: new address, channels")
    assert changes(third, one) == ("gone: added", "data: new address, channels")
    assert changes(one, one) == ()
    assert changes(one, read(tmp_path, f'{DATA}[agents.Support]\nface = ":fox_face:"\n')) == (
        "gone: removed",
        "agents: changed",
    )


def test_a_revision_says_nothing_about_keys(tmp_path: Path) -> None:
    first = read(tmp_path, DATA).revision
    other = read_config(tmp_path / "bridge.toml", {"DATA_KEY": "other"}, DEFAULT).revision
    moved = read_config(tmp_path / "bridge.toml", ENVIRON, default_project({"PROJECT_BASE_URL": "http://x.example"}))

    assert first == other != moved.revision


def test_its_revision_changes_with_its_text(tmp_path: Path) -> None:
    first = read(tmp_path, DATA).revision

    assert read(tmp_path, DATA).revision == first
    assert read(tmp_path, DATA.replace("Data", "Sales")).revision != first


@each(
    ("text", "problem"),
    [
        ('name = "x', "bridge.toml isn't valid TOML ("),
        ("[projects.data]\nname = Data\n", "(Invalid value, at line 2, column 8): write text in quotation marks, such"),
        (DATA + DATA, "(Cannot declare ('projects', 'data') twice, at line 5, column 15): write text in quotation"),
        ("a = " + "[" * 5000, "bridge.toml isn't valid TOML (too many levels): write"),
    ],
)
def test_a_syntax_error_has_its_line(tmp_path: Path, text: str, problem: str) -> None:
    (found,) = problems(tmp_path, text)

    assert problem in found


@each(
    ("text", "problem"),
    [
        # The file
        ("[project.data]", "project isn't a setting: did you mean projects?"),
        ("zones = 1", "zones isn't a setting: use projects"),
        ("projects = 1", "projects isn't a table: write it as [projects.data]"),
        ("[projects]\n\ndata = 3", "projects.data isn't a table: write it as [projects.data]"),
        # IDs
        (DATA.replace("data]", "Data]"), "projects.Data isn't a usable ID: use up to 31 lower-case letters"),
        (DATA.replace("data]", '"my data"]'), 'projects."my data" isn\'t a usable ID: use'),
        (DATA.replace("data]", "7]"), "projects.7 isn't a usable ID: use"),
        (DATA.replace("data]", "d" * 32 + "]"), "isn't a usable ID: use"),
        (DATA.replace("data]", "here]"), "projects.here isn't a usable ID: use another ID, since @here notifies"),
        # Names
        (DATA.replace('"Data"', "7"), 'projects.data.name has a value of the wrong type: write it as name = "Data"'),
        (DATA.replace('"Data"', '" "'), "projects.data.name isn't usable: use up to 75 characters on one line"),
        (DATA.replace("Data", "D" * 76), "projects.data.name isn't usable: use"),
        (DATA.replace("Data", "a\\nb"), "projects.data.name isn't usable: use"),
        (
            '[projects.default]\nname = "dátä"\n' + DATA.replace("Data", "DA\u0301TA\u0308"),
            "projects.data.name has the ID or name of projects.default: give each project its own",
        ),
        (DATA.replace("Data", "Default"), "projects.data.name has the ID or name of projects.default: give"),
        (
            f"{DATA.replace('Data', 'Orders')}\n{DATA.replace('data]', 'orders]')}",
            "projects.orders has the ID or name of projects.data: give each project its own",
        ),
        (
            f"{DATA.replace('data]', 'a-b]')}{DATA.replace('data]', 'a--b]').replace('Data', 'Other')}",
            "projects.a--b has the ID or name of projects.a-b: give",
        ),
        # Addresses
        (DATA.replace("https://", ""), "projects.data.base_url isn't a web address: use one such as https://"),
        (DATA.replace("data.ex", "me:hunter2@data.ex"), "projects.data.base_url has a query, a fragment or a pass"),
        (DATA.replace("base_url", "baseurl"), "projects.data.baseurl isn't a setting: did you mean base_url?"),
        ('[projects.data]\napi_key_env = "DATA_KEY"', 'projects.data.base_url is missing: add base_url = "https:/'),
        # Keys
        (
            DATA.replace("api_key_env", "api_key"),
            "projects.data.api_key isn't allowed, since this file can't hold keys: set DATA_KEY in .env, and write",
        ),
        (f'{DATA}apiKey = "hunter2"', "projects.data.apiKey isn't allowed, since this file can't hold keys: set"),
        (f'{DATA}api_key_fil = "x"', "projects.data.api_key_fil isn't a setting: did you mean api_key_file?"),
        (f'{DATA}colour = "x"', "projects.data.colour isn't a setting: use name, base_url, api_key_env, api_key_f"),
        (
            DATA.replace('api_key_env = "DATA_KEY"', ""),
            'projects.data has no key: add api_key_env = "DATA_KEY", or api_key_file',
        ),
        (f'{DATA}api_key_file = "x"', "projects.data.api_key_file and api_key_env are both set: remove one"),
        (
            DATA.replace("DATA_KEY", "sk-hunter2"),
            "projects.data.api_key_env isn't a variable's name: put the key into .env under a name such as DATA_KEY",
        ),
        (
            DATA.replace("DATA_KEY", "hunter2"),
            "projects.data.api_key_env names a variable that isn't set: set it in .env or in the environment",
        ),
        (DATA.replace("DATA_KEY", "BOT"), "projects.data.api_key_env names a variable that starts with xoxb-…, so"),
        (DATA.replace("DATA_KEY", "SPACED"), "api_key_env names a variable that contains spaces or special chara"),
        (
            DATA.replace("env = ", "file = "),
            "projects.data.api_key_file names a file that can't be read (No such file or directory): name a readable",
        ),
        (DATA.replace('env = "DATA_KEY"', 'file = "."'), "names a file that can't be read (Is a directory): name"),
        (DATA.replace('env = "DATA_KEY"', 'file = "empty"'), "names a file that is empty: write the key to it"),
        (DATA.replace('env = "DATA_KEY"', 'file = "\\u0000"'), "names a file that can't be read (not text): name a"),
        # The default project
        (
            f'[projects.default]\nname = "Company"\nbase_url = "https://x.example"\n{DATA}',
            "projects.default.base_url belongs to PROJECT_BASE_URL and PROJECT_API_KEY: remove it here",
        ),
        (
            '[projects.default]\ndefault_agent = "Support"',
            "projects.default.default_agent is set by BRIDGE_DEFAULT_AGENT: remove it here",
        ),
        ('[projects.default]\nrun_url = "x"', "projects.default.run_url is set by BRIDGE_RUN_URL: remove it here"),
        # What each project has of its own
        (
            f"{DATA}default_agent = 7",
            'projects.data.default_agent has a value of the wrong type: write it as default_agent = "Support"',
        ),
        (
            f'{DATA}run_url = "https://x.example/{{id}}"',
            "projects.data.run_url needs {runId} and besides {id} no oth",
        ),
        (f'{DATA}agent_url = "x.example/{{id}}"', "projects.data.agent_url isn't a web address: use one such as"),
        (
            f'{DATA}workflow_url = "https://x.example"',
            "projects.data.workflow_url needs {id} and no other placeholder",
        ),
        ('[projects.default]\napi_key = "hunter2"', "projects.default.api_key isn't allowed, since this file can't"),
        ('[projects.default]\nnam = "x"', "projects.default.nam isn't a setting: did you mean name?"),
        # Channels
        (f"{DATA}channels = 3", 'projects.data.channels has a value of the wrong type: write it as channels = ["C0'),
        (
            f'{DATA}channels = [\n  "C0123456789",\n  "#general",\n]',
            'projects.data.channels has an invalid entry: use channel IDs such as "C0123456789"',
        ),
        (f'{DATA}channels = ["D0123456789"]', "projects.data.channels has an invalid entry: use channel IDs such"),
        (f"{DATA}channels = [7]", 'projects.data.channels has a value of the wrong type: write it as channels = ["'),
        (
            f'[projects.default]\nchannels = ["C0123456789"]\n{DATA}channels = ["C0AAAAAAAAA",\n"C0123456789"]',
            "projects.data.channels has C0123456789, as projects.default has: list each channel in one project only",
        ),
        # Rules
        ("[[rules]]\nwho = []", "rules[1].who is empty: list at least one, or remove the setting"),
        ('[[rules]]\nwho = ["@ops"]', 'rules[1].who has an invalid entry: use IDs such as "S0123456789" or members'),
        ('[[rules]]\nwhom = ["S0OPS0001"]', "rules[1].whom isn't a setting: did you mean who?"),
        ('[[rules]]\nmay = ["runs"]', "rules[1].may has an unknown value: use ask, run, schedule, report, alert, sett"),
        ('[[rules]]\nmay = "run"', 'rules[1].may has a value of the wrong type: write it as may = ["run"]'),
        ('[[rules]]\nchannels = ["#ops"]', 'rules[1].channels has an invalid entry: use IDs such as "C0123456789" or'),
        ('[[rules]]\nworkflows = [" "]', "rules[1].workflows has an empty entry: remove it, or write a name"),
        ("[[rules]]\nrefuse = true\nconfirm = true", "rules[1] refuses, so nothing is left to confirm or approve: re"),
        ('[[rules]]\nmay = ["ask"]\nconfirm = true', "rules[1] has confirm or approve, which are for workflows: add "),
        ("[[rules]]\napprove = {count = 0}", "rules[1].approve.count is out of range: use a number such as count"),
        ('[[rules]]\napprove = {within = "4x"}', "rules[1].approve.within isn't a duration: use a number of hours"),
        ('[[rules]]\napprove = {by = ["U0A", "U0B"], count = 3}', "rules[1].approve needs 3 people, but lists 2: list"),
        ("[[rules]]\n[[rules]]\n\napprove.selfs = true", "rules[2].approve.selfs isn't a setting: did you mean self?"),
        ("rules = 1", "rules isn't a table: write it as [[rules]]"),
        # Channels, agents and limits
        ("[channels.general]", 'channels.general has an invalid entry: use channel IDs such as "C0123456789"'),
        ('[channels.C0A]\nanswers = "some"', "channels.C0A.answers has an unknown value: use mentions or all"),
        ('[channels.C0A]\nagnet = "x"', "channels.C0A.agnet isn't a setting: did you mean agent?"),
        ('[channels.C0A]\nproject = "data"', "channels.C0A.project isn't a project: use one of default"),
        ("[channels.C0A]\napps.A0APP = {}", "channels.C0A.apps.A0APP needs an agent or a workflow: write it as"),
        ("[channels.C0A]\napps.app = {agent = 7}", "channels.C0A has an invalid app: use app IDs such as apps.A0"),
        ('[agents.Support]\nface = "smile!"', "agents.Support.face isn't one emoji: use one such as \":headph"),
        ("[[limits]]\nturns = 3", 'limits[1].per is missing: add per = "person"'),
        ('[[limits]]\nper = "group"\nturns = 3', 'limits[1] needs user groups: add only = ["S0123456789"]'),
        ('[[limits]]\nper = "person"', "limits[1] has no number: add turns, runs or characters, such as turns = 50"),
        ('[[limits]]\nper = "person"\nturns = 0', "limits[1].turns is out of range: use a number such as turns = 50"),
        ('[[limits]]\nper = "person"\nturns = "9"', "limits[1].turns has a value of the wrong type: write it as turn"),
        ('[[limits]]\nper = "person"\nevery = "week"\nturns = 1', "limits[1].every has an unknown value: use hour or"),
        ('[[limits]]\nper = "agent"\nruns = 1', "limits[1] can't count runs per agent: remove that"),
        # Other ways to write TOML
        ('projects = {data = {api_key = "hunter2"}}', "projects.data.api_key isn't allowed"),
        ('[projects]\n"data".api_key = "hunter2"', "projects.data.api_key isn't allowed"),
    ],
)
def test_an_error_has_its_path_and_its_cure(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "empty").write_text(" \n", encoding="utf-8")

    found = problems(tmp_path, text)

    first = next(one for one in found if problem in one)
    assert re.match(r"bridge\.toml (projects?|rules|channels|agents|limits|zones)\b", first)
    assert ": " in first
    assert "hunter2" not in str(found)
    assert not re.search("xoxb-secret|two words|key-1", str(found))


def test_all_problems_are_reported_once(tmp_path: Path) -> None:
    found = problems(tmp_path, f'{DATA.replace("DATA_KEY", "NONE")}channels = ["x", "y"]\n[projects.Orders]\nkey = "k"')

    assert [one.split()[1] for one in found] == [
        "projects.data.channels", "projects.Orders.base_url", "projects.Orders.key",
    ]  # fmt: skip


@pytest.mark.parametrize("raw", [b"\xff\xfe", b"name = '\xe9'"])
def test_a_file_in_another_encoding_is_refused(tmp_path: Path, raw: bytes) -> None:
    assert problems(tmp_path, raw) == ["BRIDGE_CONFIG can't be read (not text in UTF-8): set it to a readable file"]


def test_a_file_that_is_named_must_exist(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as caught:
        read_config(tmp_path / "hunter2", {}, DEFAULT)

    assert caught.value.problems == (
        "BRIDGE_CONFIG can't be read (No such file or directory): set it to a readable file",
    )


def test_terms_of_approval_are_read(tmp_path: Path) -> None:
    config = read(tmp_path, '[[rules]]\nmay = ["run"]\n\n[[rules]]\nwho = ["members"]\napprove.within = "2d"')

    assert config.rules[1].approve is not None
    assert config.rules[1].approve.within == timedelta(days=2)
