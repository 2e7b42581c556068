"""What the README and the docstrings name is there."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMES = sorted(
    {
        name
        for path in (ROOT / "bridge").rglob("*.*")
        if path.suffix in {".py", ".lua"}
        for name in re.findall(r"`(bridge(?:\.\w+)+)`", path.read_text(encoding="utf-8"))
    }
)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "llms.txt"])
def test_every_link_of_a_page_leads_somewhere(page: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)|src=\"([^\":]+)\"", (ROOT / page).read_text(encoding="utf-8"))

    assert links
    assert [link for pair in links for link in pair if link and not (ROOT / link).exists()] == []


def test_the_first_screen_of_the_readme_leads_to_what_operators_ask() -> None:
    questions = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").partition("## Questions")[2]
    asked = re.findall(r"\]\(([^)]+\.md[^)]*)\)", questions)
    first_screen, _, rest = (ROOT / "README.md").read_text(encoding="utf-8").partition("![")

    assert len(asked) == 10
    assert [page for page in asked if f"](docs/{page})" not in first_screen] == []
    assert len((first_screen + rest).splitlines()) <= 150


@pytest.mark.parametrize("name", NAMES)
def test_every_name_in_a_docstring_exists(name: str) -> None:
    found: object = importlib.import_module("bridge")
    module = "bridge"
    for part in name.split(".")[1:]:
        module = f"{module}.{part}"
        if not hasattr(found, part) and inspect.ismodule(found):
            importlib.import_module(module)
        assert hasattr(found, part) or part in getattr(found, "__annotations__", {})
        found = getattr(found, part, None)
