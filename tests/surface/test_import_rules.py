"""The import rules hold and catch violations; the playground shares no class names with the bridge."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import bridge

CODE = Path(bridge.__file__).parent.parent


def linted(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports_command as lint; lint()", "--no-cache"],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "NO_COLOR": "1", "COLUMNS": "200"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_imports_follow_the_rules() -> None:
    output = linted(CODE)

    assert output.returncode == 0, output.stdout + output.stderr


BREACHES = [
    ("queue/keys.py", "bridge.slack.blockkit.reply", "Imports point down"),
    ("features/statistics/commands.py", "bridge.settings", "Only the command line and the composition root"),
    ("engine/results.py", "slack_sdk", "Slack's libraries are called at the edge only"),
    ("engine/processor.py", "bridge.features.deps", "Imports point down"),
    ("door/guard.py", "bridge.features.home.seen", "The door names no feature"),
    ("door/guard.py", "httpx", "httpx is called in bridge.project only"),
    ("door/listeners/__init__.py", "redis", "Redis is called in bridge.queue only"),
    ("slack/blockkit/reply.py", "time", "Layouts are pure"),
    ("features/home/commands.py", "bridge.features.agents.commands", "Features don't import each other"),
    ("playground/__init__.py", "bridge.engine.results", "The playground imports nothing else from bridge"),
    ("playground/emulator/rates.py", "bridge.errors", "The playground imports nothing else from bridge"),
    ("somewhere.py", "json", "Imports point down"),
]
"""A module, what it must not import, and the rule that says so."""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What is said about each rule when all breaches are in a copy at once: a run takes half a second."""
    folder = tmp_path_factory.mktemp("copied")
    shutil.copytree(CODE / "bridge", folder / "bridge", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CODE / "pyproject.toml", folder)
    for module, imported, _ in BREACHES:
        with (folder / "bridge" / module).open("a", encoding="utf-8") as file:
            file.write(f"\nimport {imported}\n")
    output = linted(folder)
    assert output.returncode == 1, output.stdout + output.stderr
    verdicts, _, details = output.stdout.partition("\nBroken contracts\n")
    _, *sections = re.split(r"^(?=\S.*\n-+\n)", details, flags=re.MULTILINE)
    found = {section.partition("\n")[0]: section for section in sections}
    assert all(f"{rule} BROKEN" in verdicts for rule in found)
    return found


@pytest.mark.parametrize(("module", "imported", "rule"), BREACHES)
def test_a_broken_rule_is_named(report: dict[str, str], module: str, imported: str, rule: str) -> None:
    name = "bridge." + module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    [section] = [said for title, said in report.items() if title.startswith(rule)]

    assert (f"{name} -> {imported} (l." if module != "somewhere.py" else f"- {name}\n") in section


@pytest.mark.parametrize(
    ("rule", "listing"),
    [("Features don't import each other", "modules"), ("The door names no feature", "forbidden_modules")],
)
def test_a_rule_about_features_lists_them_all(rule: str, listing: str) -> None:
    project = tomllib.loads((CODE / "pyproject.toml").read_text(encoding="utf-8"))
    [contract] = [one for one in project["tool"]["importlinter"]["contracts"] if one["name"] == rule]
    folders = {f"bridge.features.{file.parent.name}" for file in (CODE / "bridge" / "features").glob("*/__init__.py")}

    assert set(contract[listing]) == folders


def public_classes(folder: Path) -> Iterator[tuple[str, Path]]:
    for file in folder.rglob("*.py"):
        for name in re.findall(r"^class (?!_)(\w+)", file.read_text(encoding="utf-8"), re.MULTILINE):
            yield name, file


def test_a_public_class_name_has_one_meaning() -> None:
    """The playground is a product of its own: it shares no class name with the bridge but may use one twice itself."""
    places: dict[str, list[str]] = {}
    for name, file in public_classes(CODE / "bridge"):
        places.setdefault(name, []).append(str(file.relative_to(CODE)))
    twice = {
        name: files
        for name, files in places.items()
        if len(files) > 1 and not all(file.startswith("bridge/playground/") for file in files)
    }

    assert len(places) > 100
    assert twice == {}


def test_a_put_that_may_be_refused_has_its_result_read() -> None:
    """Only a notice's may go unread: if it's refused, its person was told before."""
    unread = [
        f"{path}:{node.lineno}"
        for path in sorted((CODE / "bridge").rglob("*.py"))
        if ".put(" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Await)
        for call in [node.value.value]
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "put"
        and {"condition", "writes"} & {keyword.arg for keyword in call.keywords}
        and "notice" not in ast.unparse(call.args[0]).partition("(")[0]
    ]

    assert unread == []
