"""`.github`: valid by GitHub's schemas; nothing in it changes unless a commit of ours changes it."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator
from ruamel.yaml import YAML

GITHUB = Path(__file__).parents[2] / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    return content


@pytest.mark.parametrize("path", [*WORKFLOWS, GITHUB / "dependabot.yml"], ids=lambda path: path.name)
def test_every_file_matches_its_schema(path: Path) -> None:
    name = "github-workflows" if path in WORKFLOWS else path.stem
    schema = (files("check_jsonschema") / "builtin_schemas" / "vendor" / f"{name}.json").read_text(encoding="utf-8")

    problems = Draft7Validator(json.loads(schema)).iter_errors(read(path))

    assert [f"{list(problem.path)}: {problem.message}" for problem in problems] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_action_is_pinned_by_its_commit_with_the_version_beside_it(path: Path) -> None:
    used = re.findall(r"^ *(?:- )?uses: *(.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)

    assert len(used) == sum("uses" in step for job in read(path)["jobs"].values() for step in job["steps"])
    assert [
        action for action in used if not re.fullmatch(r"[\w-]+/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)
    ] == []


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_only_jobs_that_publish_may_write_and_none_of_them_runs_our_tests_or_builds_packages(path: Path) -> None:
    workflow = read(path)
    jobs = {name: job.get("permissions", workflow["permissions"]) for name, job in workflow["jobs"].items()}
    may_write = {name for name, rights in jobs.items() if "write" in rights.values()}

    assert may_write <= {"image", "release", "publish"}
    assert [
        f"{name}: {step['run']}"
        for name in may_write
        for step in workflow["jobs"][name]["steps"]
        if re.search(r"\bmake\b|\.ci/|\bpip\b", step.get("run", ""))
    ] == []
    assert {"write-all", "read-all"}.isdisjoint(map(str, [workflow["permissions"], *jobs.values()]))
