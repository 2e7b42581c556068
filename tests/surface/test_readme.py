"""Everything the README and the docstrings name exists."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

import pytest

from support.tables import each

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
def test_every_link_on_a_page_resolves(page: str) -> None:
    links = re.findall(r"\]\(([^)#:]+)\)|src=\"([^\":]+)\"", (ROOT / page).read_text(encoding="utf-8"))

    assert links
    assert [link for pair in links for link in pair if link and not (ROOT / link).exists()] == []


def test_the_readme_begins_for_somebody_who_has_never_heard_of_it() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    what, _, rest = readme.partition("![")
    in_order = ["![", "## What you type, and what you get", "make run\n```", "**Quick links:**", "make test\n```"]
    at = [readme.find(one) for one in in_order]

    assert len(re.findall(r"[.!?](?:\s|$)", what.partition("\n")[2].strip())) == 2, "what it is, in two sentences"
    assert [
        said for said in ("](docs/how-to/project-client.md#the-eight-operations)", "OpenAI") if said not in what
    ] == []
    assert at == sorted(at)
    assert at[0] >= 0
    assert readme[: at[2]].count("\n") <= 40, "one screen"
    assert len(rest.splitlines()) <= 150


def test_the_readme_links_operators_questions() -> None:
    questions = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").partition("## Common questions")[2]
    asked = re.findall(r"\]\(([^)]+\.md[^)]*)\)", questions)
    links = (ROOT / "README.md").read_text(encoding="utf-8").partition("**Quick links:**")[2].partition("\n\n")[0]

    assert len(asked) == 12
    assert [page for page in asked if f"](docs/{page})" not in links] == []


def test_every_place_that_promises_answers_says_what_a_kill_costs() -> None:
    pages = ["README.md", "llms.txt", "docs/index.md", "docs/tutorials/playground.md", "docs/explanation/guarantees.md"]
    texts = {page: " ".join((ROOT / page).read_text(encoding="utf-8").split()) for page in pages}

    assert [
        page for page, text in texts.items() if not re.search(r"answered twice|once, and|answer arrives", text)
    ] == []
    assert [
        page for page, text in texts.items() if not re.search(r"asks? (?:you )?(?:before|whether)|Send again", text)
    ] == []


ANSWERS = {  # what the answer can't do without
    "how-to/rotate-secrets.md": ["*Revoke All OAuth Tokens*", "*Reinstall*", "`.env`", "restart", "Invite"],
    "how-to/upgrade.md": ["docker compose up --detach --build", "pip install", "kubectl apply", "bridge check"],
    "how-to/back-up-and-restore.md": [
        "`.env`",
        "docker compose cp --archive redis:/data/appendonlydir /backup/",
        "BRIDGE_DATA_DIR",
        "cp -a",
    ],
    "how-to/back-up-and-restore.md#redis-is-lost": ["empty Redis", "**Lost:**", "set them up again", "bridge catch-up"],
    "how-to/several-bridges.md": ["`REDIS_URL`", "`count: 3`", "REPLICAS=3", "load balancer"],
    "contributing/where-things-go.md#add-a-command": ["commands.py", "@project_info.command(", "bridge manifest"],
    "how-to/schedule-reports.md": ["/stats report every monday at 9 #ops", "/invite @bridge"],
    "how-to/no-answer.md": ["bridge trace https://", "bridge check", "**In Slack:**", "Copy link"],
    "how-to/choose-agents.md": ["/agents default Support", "BRIDGE_DEFAULT_AGENT="],
    "how-to/restrict-access.md#only-in-some-channels": ["BRIDGE_ALLOWED_CHANNELS=", "restart", "*About*"],
}


def lead(page: str, anchor: str) -> str:
    """Return what a link shows first: from the page's title, or the *anchor*'s heading, to the next heading."""
    indented = re.sub(
        r"^```.*?^```$", lambda fence: fence[0].replace("\n#", "\n #"), page, flags=re.MULTILINE | re.DOTALL
    )
    sections = re.split(r"^(?=#+ )", indented, flags=re.MULTILINE)[1:]
    headings = [section.partition("\n")[0].lstrip("# ").lower().replace(" ", "-") for section in sections]
    return sections[headings.index(anchor) if anchor else 0]


@each("link", ANSWERS)
def test_an_operators_question_is_answered_in_twenty_seconds(link: str) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    looked_for = readme.partition(f"](docs/{link})")[0].partition("**Quick links:**")[2]  # bold, to catch the eye
    path, _, anchor = link.partition("#")
    answer = lead((ROOT / "docs" / path).read_text(encoding="utf-8"), anchor)

    assert [needed for needed in ANSWERS[link] if needed not in answer] == []
    assert len(words(looked_for)) + len(words(answer)) <= 72  # four words a second, and 2 s for the click


def test_every_name_in_a_docstring_exists() -> None:
    for name in NAMES:
        found: object = importlib.import_module("bridge")
        module = "bridge"
        for part in name.split(".")[1:]:
            module = f"{module}.{part}"
            if not hasattr(found, part) and inspect.ismodule(found):
                importlib.import_module(module)
            assert hasattr(found, part) or part in getattr(found, "__annotations__", {}), name
            found = getattr(found, part, None)
