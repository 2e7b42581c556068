"""Everything the README and the docstrings name exists."""

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


def words(markdown: str) -> list[str]:
    """Split a page's visible text into words, without comments, fences, link targets and bare punctuation."""
    shown = re.sub(r"<!--.*?-->|^```.*?$|\]\([^)]*\)|^!\[[^\n]*", " ", markdown, flags=re.MULTILINE | re.DOTALL)
    return [word for word in shown.split() if re.search(r"\w", word)]


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


ANSWERS = {
    "how-to/rotate-secrets.md": "to its channels again",
    "how-to/upgrade.md": "kubectl apply -f bridge.yaml",
    "how-to/back-up-and-restore.md": "docker compose cp redis:/data/appendonlydir .",
    "how-to/back-up-and-restore.md#redis-is-lost": "channel settings again",
    "how-to/several-bridges.md": "--scale bridge=3",
    "contributing/where-things-go.md#add-a-command": "above it",
    "how-to/schedule-reports.md": "/stats report every monday at 9 #ops",
    "how-to/no-answer.md": "bridge trace https://",
    "how-to/choose-agents.md": "/agents default Support",
    "how-to/restrict-access.md#only-in-some-channels": "BRIDGE_ALLOWED_CHANNELS=",
}


@pytest.mark.parametrize("link", ANSWERS)
def test_an_operators_question_is_answered_after_eighty_words(link: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    to_the_link = readme.partition(f"](docs/{link})")[0].partition("**Looking for**")[2]  # bold, to catch the eye
    path, _, anchor = link.partition("#")
    page = (ROOT / "docs" / path).read_text(encoding="utf-8")
    heading = "## " + anchor.replace("-", " ").capitalize() if anchor else "# "
    section = heading + page.partition(heading)[2]
    to_the_answer, found, _ = section.partition(ANSWERS[link])

    assert found
    assert len(words(to_the_link)) + len(words(to_the_answer + found)) <= 80  # 20 s at four words a second


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
