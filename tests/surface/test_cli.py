"""Output of the commands: exit codes, one line per problem, tables, JSON, and the address of the Redis in use."""

from __future__ import annotations

import asyncio
import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from bridge.cli import COMMANDS, command_of, printing, program
from bridge.cli.catch_up import in_words
from bridge.cli.printing import columns, to_json
from bridge.cli.rows import FAILURE, OK, WARNING, Row, State, is_well, settings_rows, shown, trouble_lines
from bridge.cli.running import run
from bridge.cli.store import place_of
from bridge.errors import BridgeError, ConfigurationError, NamespaceTaken, SlackGone, SlackRefused, StoreUnavailable
from bridge.queue.outages import PastOutage
from support.tables import each

AWAY = (
    "Redis: can't connect. To fix it: make sure Redis is running (its log says why it stopped), and check REDIS_URL: "
    "host, port, rediss:// for TLS."
)


@pytest.mark.parametrize(
    ("trouble", "code", "line"),
    [
        (StoreUnavailable("away"), 1, AWAY),
        (ConfigurationError(["BRIDGE_PORT 3000 is taken"]), 2, "BRIDGE_PORT 3000 is taken"),
    ],
)
def test_a_failure_is_a_line_and_an_exit_code(
    trouble: BridgeError, code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def broken() -> int:
        raise trouble

    async def broken_in_a_task() -> int:
        async with asyncio.TaskGroup() as group:
            group.create_task(broken())
        return 0

    assert [run(broken), run(broken_in_a_task)] == [code, code]
    assert capsys.readouterr().err == f"{line}\n{line}\n"


def test_run_gives_the_exit_code_and_hides_no_bug() -> None:
    async def stopped() -> int:
        return 3

    async def broken() -> int:
        raise ZeroDivisionError

    assert run(stopped) == 3
    with pytest.raises(ZeroDivisionError):
        run(broken)


@each(
    ("trouble", "word"),
    [
        (NamespaceTaken("acme", "T1/U1"), "BRIDGE_NAMESPACE"),
        (SlackRefused("auth.test", "invalid_auth"), "SLACK_BOT_TOKEN"),
        (SlackRefused("apps.connections.open", "invalid_auth"), "SLACK_APP_TOKEN"),
        (SlackGone("apps.connections.open", "no socket"), "slack-status.com"),
        (BridgeError("something"), "BridgeError: something"),
    ],
)
def test_a_failure_says_where_to_look(trouble: BridgeError, word: str) -> None:
    (line,) = trouble_lines(trouble)

    assert word in line


def test_a_table_keeps_control_characters_out() -> None:
    assert columns("{:<6}|{:>3}|{}", "\x1b[2J", "1", "") == "?[2J  |  1|"


@pytest.mark.parametrize(("environ", "sign"), [({}, "\x1b[31m✗\x1b[0m"), ({"NO_COLOR": "1"}, "✗")])
def test_states_are_colored_unless_colors_are_off(
    environ: dict[str, str], sign: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    output = [CliRunner().invoke(program, ["check"], env=environ, color=is_terminal) for is_terminal in (True, False)]

    assert f"\n  {sign} PROJECT_BASE_URL" in output[0].stdout
    assert "\x1b" not in output[1].stdout


@each(
    ("typed", "problem"),
    [
        ("statu", "No such command 'statu'. Did you mean 'status'"),
        ("dead frob", "No such command 'frob'."),
        ("status --jsn", "No such option: --jsn (Possible options: --json)"),
        ("status x", "Got unexpected extra argument(s) (x)"),
        ("trace", "Missing argument 'PERMALINK'."),
        ("trace x", "PERMALINK: “x” isn't a message link, or a channel and ts: use More actions → Copy link"),
        ("dead retry", "Missing argument 'ID'."),
        ("check --access U1", "Option '--access' requires 2 arguments."),
        (
            "audit --since soon",
            "--since: “soon” isn't a duration: use a number of days, or one such as 90s, 15m, 24h or 7d",
        ),
        ("catch-up --since=", "--since: “” isn't a duration: use a number of days, or one such as 90s, 15m, 24h or 7d"),
        ("playground --port x", "--port: “x” isn't a port: use a number from 0 to 65535"),
        *(
            (f"{command} {options}", problem)
            for command in ("setup", "manifest")
            for options, problem in (
                ("--url nope", "--url: “nope” isn't a public https:// address: use one such as https://bridge.example.com"),
                ("--url https://x.example --socket", "--url: can't be used with --socket, which needs no address"),
            )
        ),
    ],
)  # fmt: skip
def test_a_wrong_command_line_is_explained(typed: str, problem: str) -> None:
    output = CliRunner().invoke(program, typed.split(), prog_name="bridge")

    assert (output.exit_code, output.stdout) == (2, "")
    assert problem in output.stderr.splitlines()[-1]


def test_help_has_each_commands_own_sentence_whole() -> None:
    shown = CliRunner().invoke(program, ["--help"], prog_name="bridge").stdout

    assert {name: command_of(name).help.partition("\n")[0] for name in COMMANDS} == COMMANDS
    assert [sentence for sentence in COMMANDS.values() if sentence not in shown] == []


@each(("seconds", "said"), [(-2, "0 s"), (119, "119 s"), (420, "7 min"), (7200, "2 h"), (432_000, "5 days")])
def test_an_age_is_said_in_its_largest_unit(seconds: int, said: str) -> None:
    assert printing.age(timedelta(seconds=seconds)) == said


def test_json_is_ascii_with_iso_times_and_objects() -> None:
    row = Row("Slack", "clock", OK, "“so”")

    assert json.loads(to_json({"row": row, "at": datetime(2026, 3, 4, tzinfo=UTC)})) == {
        "row": {"area": "Slack", "what": "clock", "state": "ok", "detail": "“so”", "cure": ""},
        "at": "2026-03-04T00:00:00+00:00",
    }
    assert to_json(row).isascii()


@each(
    ("url", "place"),
    [
        ("redis://localhost", "redis://localhost"),
        ("rediss://user:pass-word@host:6380/2?ssl_ca_certs=/ca.pem", "rediss://host:6380/2"),
        ("redis://:p%40ss@[::1]:6379/0", "redis://[::1]:6379/0"),
        ("unix:///run/redis.sock?password=pass-word", "unix:///run/redis.sock"),
        ("unix://user:pass-word@/run/redis.sock", "unix:///run/redis.sock"),
        (
            "redis+sentinel://user:pass-word@s1,s2:26380/main/0?sentinel_password=pass-word",
            "the master main of Sentinels s1:26379, s2:26380",
        ),
        ("rediss+cluster://user:pass-word@n1,n2:6380", "the cluster n1:6379, n2:6380"),
    ],
)
def test_a_redis_is_named_without_its_password(url: str, place: str) -> None:
    assert place_of(url) == place


ROWS = [
    Row("Slack", "bot token", OK, "bot “bridge”"),
    Row("Slack", "clock", WARNING, "90 s behind Slack's", "synchronize this machine's clock (NTP)"),
    Row("Redis", "reachable", FAILURE, "can't connect", "see that it runs"),
]


def test_a_check_shows_areas_states_and_fixes() -> None:
    assert shown(ROWS, as_json=False).splitlines() == [
        "Slack",
        "  ✓ bot token  bot “bridge”",
        "  ! clock      90 s behind Slack's",
        "               → synchronize this machine's clock (NTP)",
        "",
        "Redis",
        "  ✗ reachable  can't connect",
        "               → see that it runs",
        "",
        "1 problem found, 1 warning.",
    ]
    assert [is_well(ROWS), is_well(ROWS[:2])] == [False, True]


def test_a_check_for_programs_has_the_same_rows() -> None:
    read = json.loads(shown(ROWS, as_json=True))

    assert (read["ok"], len(read["rows"])) == (False, 3)
    assert read["rows"][2] == {
        "area": "Redis", "what": "reachable", "state": "failure", "detail": "can't connect",
        "cure": "see that it runs",
    }  # fmt: skip


def test_long_lines_of_a_check_wrap_below_their_column() -> None:
    rows = [Row("Slack", "scopes", WARNING, "word " * 60, "use https://a.example/" + "x" * 60)]

    lines = shown(rows, as_json=False, width=50).splitlines()
    in_pipe = shown(rows, as_json=False).splitlines()

    assert all(len(line) <= 50 for line in lines if "xx" not in line)
    assert lines[2].startswith(" " * 12 + "word")
    assert lines[-4:-2] == [" " * 12 + "→ use", " " * 14 + "https://a.example/" + "x" * 60]
    assert len(in_pipe) == 5


@each(
    ("states", "summary"),
    [([OK, OK], "No problems found."), ([OK, WARNING, WARNING], "2 warnings."), ([FAILURE] * 2, "2 problems found.")],
)
def test_the_last_line_of_a_check_sums_up(states: list[State], summary: str) -> None:
    assert shown([Row("Redis", "x", state, "y") for state in states], as_json=False).splitlines()[-1] == summary


def test_settings_problems_are_rows_with_fixes() -> None:
    rows = settings_rows(
        ["REDIS_URL isn't a Redis address: use redis://localhost:6379/0"],
        ["BRIDGE_PROT isn't a setting: did you mean BRIDGE_PORT?", "BRIDGE_X isn't a setting"],
    )

    assert [(row.what, row.state, row.detail, row.cure) for row in rows] == [
        ("REDIS_URL", FAILURE, "isn't a Redis address", "use redis://localhost:6379/0"),
        ("BRIDGE_PROT", WARNING, "isn't a setting", "did you mean BRIDGE_PORT?"),
        ("BRIDGE_X", WARNING, "isn't a setting", "correct the name or remove the line"),
    ]
    assert [row.state for row in settings_rows([], [])] == [OK]


def test_catch_up_looks_back_seven_days_at_most() -> None:
    output = CliRunner().invoke(program, ["catch-up", "--since", "8d"], env={"REDIS_URL": "redis://127.0.0.1:1"})

    assert output.exit_code == 2
    assert "use at most 7d" in output.output


LATER = datetime(2026, 11, 22, 12, tzinfo=UTC)


@each(
    ("changes", "said"),
    [
        ({}, "catching up starts within seconds, or once a bridge is running."),
        ({"is_planned": True, "read": 2, "left": 3, "found": 1, "queued": 1},
         "2 of 5 channels and threads read; 1 message checked, 1 missed and queued."),
        ({"is_planned": True, "found": 5, "queued": 4, "done_at": LATER},
         "caught up at 2026-11-22T12:00:00Z; 5 messages checked, 4 missed and queued."),
    ],
)  # fmt: skip
def test_status_shows_the_progress_of_catching_up(changes: dict[str, Any], said: str) -> None:
    outage = PastOutage(LATER - timedelta(hours=2), LATER - timedelta(hours=1), **changes)

    assert in_words(outage) == f"2026-11-22T10:00:00Z to 2026-11-22T11:00:00Z: {said}"


def test_commands_print_in_one_place() -> None:
    folder = Path(printing.__file__).parent
    prints = re.compile(r"typer\.s?echo\(|\bprint\(|sys\.std(?:out|err)\.write|click\.")

    found = [file.name for file in sorted(folder.glob("*.py")) if prints.search(file.read_text(encoding="utf-8"))]

    assert found == ["printing.py"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ✓ ü 中", "plain ✓ ü 中"),
        ("a\x1b[31mb", "a?[31mb"),
        ("\x9b31m\x00\x7f", "?31m??"),
        ("a\u202eb\u2066c\u200fd", "a?b?c?d"),
        ("a\u00a0b", "a b"),
        ("half \ud800", "half ?"),
        ("two\nlines", "two\nlines"),
        ("one\r\u2028\x85line", "one???line"),
    ],
)
def test_what_is_printed_holds_nothing_that_a_terminal_obeys(
    text: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    printing.out(text)
    printing.out(text, err=True)

    assert capsys.readouterr() == (f"{shown}\n", f"{shown}\n")
