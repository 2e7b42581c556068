"""The documentation: it builds without a warning, asks no other server, and what it shows works."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridge.playground.sample_project.server import SampleProject
from support import docs_site, reference
from support.playground import bare_environment

PAGES = sorted((docs_site.ROOT / "docs").rglob("*.md"))
_BLOCK = re.compile(
    r"(?:<!-- not run: (?P<why>[^>]+) -->\n)?^```(?P<language>\w*)[^\n]*\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)


def blocks(*languages: str) -> Iterator[tuple[str, str, str]]:
    """Give each fenced block of these languages: where it is, its code, and why it is not run."""
    for path in [docs_site.ROOT / "README.md", docs_site.ROOT / "CONTRIBUTING.md", *PAGES]:
        for number, found in enumerate(_BLOCK.finditer(path.read_text(encoding="utf-8")), 1):
            if found["language"] in languages:
                yield f"{path.relative_to(docs_site.ROOT)}:{number}", found["code"], found["why"] or ""


@pytest.mark.parametrize("name", reference.PAGES)
def test_a_reference_page_says_what_the_code_says(name: str) -> None:
    assert (reference.FOLDER / f"{name}.md").read_text(encoding="utf-8") == reference.page(name), "run make reference"


async def test_the_site_builds_without_a_warning_and_asks_no_other_server(tmp_path: Path) -> None:
    site = await docs_site.build(tmp_path)

    fetched = re.compile(r"<(?:script|img|link|iframe)[^>]+(?:src|href)=\"?(?:https?:)?//[^\s>\"]+")
    asked = {hit for page in site.rglob("*.html") for hit in fetched.findall(page.read_text("utf-8"))}
    assert {hit for hit in asked if 'rel="canonical"' not in hit} == set()


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r'"([\w/-]+\.md)"', (docs_site.ROOT / "zensical.toml").read_text(encoding="utf-8")))

    assert listed == {str(path.relative_to(docs_site.ROOT / "docs")) for path in PAGES}


RUN = {where: code for where, code, why in blocks("sh", "python") if not why}


@pytest.mark.parametrize("where", RUN)
async def test_what_a_block_shows_works(where: str, tmp_path: Path) -> None:
    code = RUN[where]
    program = [sys.executable, "-c", code] if code.startswith(("import", "from")) else ["sh", "-euc", code]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shutil.copy(docs_site.ROOT / ".env.example", tmp_path)

    async with SampleProject(api_key="key") as project:
        environ = bare_environment(PATH=path, PROJECT_BASE_URL=project.base_url, PROJECT_API_KEY="key")
        running = await asyncio.create_subprocess_exec(
            *program, cwd=tmp_path, env=environ, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
        )
        printed, _ = await running.communicate()

    assert running.returncode == 0, f"{where}: {printed.decode()}"
    assert printed
