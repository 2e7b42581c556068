"""The locked versions install on every Python that `pyproject.toml` allows."""

from __future__ import annotations

import re
from importlib.metadata import distributions
from pathlib import Path

from packaging.specifiers import SpecifierSet

LOCKED = (Path(__file__).parents[2] / "constraints.txt").read_text(encoding="utf-8")
OLDEST = "3.11.2"  # Debian 12's


def test_every_locked_version_accepts_the_oldest_python() -> None:
    locked = dict(re.findall(r"^([\w.-]+)==(\S+)$", LOCKED, re.MULTILINE))
    installed = [one for one in distributions() if one.version == locked.get(one.name)]  # some aren't for this Python
    needed = {one.name: one.metadata.get("Requires-Python", "") for one in installed}

    assert len(needed) > 50
    assert {name: said for name, said in needed.items() if not SpecifierSet(said).contains(OLDEST)} == {}
