"""The import rules hold and catch violations; the playground shares no class names with the bridge."""

from __future__ import annotations

import ast
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


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    shutil.copytree(CODE / "bridge", tmp_path / "bridge", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(CODE / "pyproject.toml", tmp_path)
    return tmp_path


def test_imports_follow_the_rules() -> None:
    output = linted(CODE)

    assert output.returncode == 0, output.stdout + output.stderr


@pytest.mark.parametrize(
    ("module", "line", "rule"),
    [
        ("queue/keys.py", "import bridge.slack.blockkit.reply", "Imports point down"),
        ("features/statistics/commands.py", "import bridge.settings", "Only the command line and the composition root"),
        ("engine/results.py", "import slack_sdk", "Slack's libraries are called at the edge only"),
        ("engine/turns.py", "import bridge.features.deps", "Imports point down"),
        ("door/guard.py", "import bridge.features.home.pages", "The door names no feature"),
        ("door/guard.py", "import httpx", "httpx is called in bridge.project only"),
        ("door/listeners/__init__.py", "import redis.asyncio", "Redis is called in bridge.queue only"),
        ("slack/blockkit/reply.py", "import time", "Layouts are pure"),
        (
            "features/home/commands.py",
            "import bridge.features.agents.commands",
            "Features don't import each other",
        ),
        ("playground/__init__.py", "import bridge.engine.results", "The playground imports nothing else from bridge"),
        ("playground/emulator/rates.py", "import bridge.errors", "The playground imports nothing else from bridge"),
        ("somewhere.py", "import json", "Imports point down"),
    ],
)
def test_a_broken_rule_is_named(copied: Path, module: str, line: str, rule: str) -> None:
    with (copied / "bridge" / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")

    output = linted(copied)

    assert output.returncode == 1, output.stdout + output.stderr
    assert any(verdict.startswith(rule) and " BROKEN" in verdict for verdict in output.stdout.splitlines())


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
        for node in ast.parse(file.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                yield node.name, file


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
    """Only a notice or another input of its own can't be refused; mypy checks that the others match every result."""
    unread = [
        f"{path}:{node.lineno}"
        for path in sorted((CODE / "bridge").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Await)
        for call in [node.value.value]
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "put"
        and {"condition", "writes"} & {keyword.arg for keyword in call.keywords}
    ]

    assert unread == []
