"""The end-to-end tests on a machine without a browser."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LACKS = "node: error while loading shared libraries: libatomic.so.1: cannot open shared object file"


@pytest.fixture
def bare_machine(tmp_path: Path) -> dict[str, str]:
    """Environment of a machine without apt, where Playwright's driver lacks a library."""
    node = tmp_path / "node"
    node.write_text(f"#!/bin/sh\necho '{LACKS}' >&2\nexit 127\n")
    node.chmod(0o755)
    return os.environ | {"PLAYWRIGHT_NODEJS_PATH": str(node), "PATH": "", "PYTHONPATH": str(ROOT / "tests")}


def ran(environment: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own command
        (sys.executable, "-m", *words), cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def test_browser_tests_without_a_browser_are_skipped_with_the_reason(bare_machine: dict[str, str]) -> None:
    one = "tests/surface/browser/test_page_scripts.py::test_tab_completes_a_mention"
    done = ran(bare_machine, "pytest", "-q", "-p", "no:cacheprovider", one)

    assert done.returncode == 0, done.stdout
    assert "1 skipped" in done.stdout
    assert LACKS in done.stdout


def test_a_browser_that_cannot_be_installed_names_the_reason(bare_machine: dict[str, str]) -> None:
    done = ran(bare_machine, "support.browser")

    assert done.returncode == 1
    assert LACKS in done.stderr
    assert "apt install" in done.stderr
