"""What `make` says on a machine that can't run the bridge yet."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("python", "said"),
    [
        ("python9", "python9 wasn't found. Use Python 3.11 or later, for example: make PYTHON=python3.12 run"),
        ("false", "Python 3.11 or later is required, for example: make PYTHON=python3.12 run"),
    ],
)
def test_an_unusable_python_is_explained_in_one_line(python: str, said: str, tmp_path: Path) -> None:
    command = ["make", f"PYTHON={python}", f"VENV={tmp_path / 'venv'}", "run"]

    made = subprocess.run(  # noqa: S603 - our own command
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )

    assert made.returncode == 2
    assert [line for line in made.stdout.splitlines() if not line.startswith("make")] == [said]
