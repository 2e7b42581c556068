"""The documentation in the playground: a site built on the first visit, else the README's list of pages."""

from __future__ import annotations

import os
import re
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from bridge.playground.page import docs
from support import docs_site


def pages_of(checkout: Path) -> httpx.AsyncClient:
    app = Starlette(routes=docs.routes(checkout=checkout))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")


async def test_the_site_is_built_on_the_first_visit_and_after_a_change(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "zensical.toml").write_text('[project]\nsite_name = "S"\nsite_dir = "build/docs"\n')
    page = tmp_path / "docs" / "index.md"
    page.write_text("# Start\n\nFirst *text*")
    async with pages_of(tmp_path) as http:
        first = await http.get("/docs/")
        page.write_text("# Start\n\nSecond *text*")
        os.utime(page, (page.stat().st_atime, page.stat().st_mtime + 10))
        second = await http.get("/docs/")

    assert [answer.headers["content-type"].partition(";")[0] for answer in (first, second)] == ["text/html"] * 2
    assert "First <em>text</em>" in first.text
    assert "Second <em>text</em>" in second.text


async def test_without_a_built_site_the_readmes_links_are_shown(tmp_path: Path) -> None:
    for name in ("README.md", "docs"):
        (tmp_path / name).symlink_to(docs_site.ROOT / name)
    async with pages_of(tmp_path) as http:
        listed = (await http.get("/docs/")).text
        links = re.findall(r'href="([^"]+)"', listed)
        answers = [await http.get(link.partition("#")[0]) for link in links]

    assert "make docs" in listed
    assert len(links) > 20
    assert [answer.url for answer in answers if answer.status_code != 200] == []
    assert all(answer.headers["content-type"].startswith("text/plain") for answer in answers)


async def test_a_built_site_is_shown_with_its_pages(tmp_path: Path) -> None:
    site = tmp_path / "build" / "docs"
    (site / "how-to").mkdir(parents=True)
    (site / "index.html").write_text("<h1>Start</h1>")
    (site / "how-to" / "upgrade.html").write_text("<h1>Upgrade</h1>")
    async with pages_of(tmp_path) as http:
        start, page = await http.get("/docs/"), await http.get("/docs/how-to/upgrade.html")

    assert (start.text, page.text) == ("<h1>Start</h1>", "<h1>Upgrade</h1>")
    assert "frame-ancestors 'none'" in page.headers["content-security-policy"]


async def test_an_installed_package_says_where_the_documentation_is(tmp_path: Path) -> None:
    async with pages_of(tmp_path) as http:
        assert "folder docs" in (await http.get("/docs/")).text


@pytest.mark.parametrize("path", ["nowhere", "..%2fsecret", "%2e%2e/secret", "../secret", "build"])
async def test_nothing_outside_the_documentation_is_shown(path: str, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "secret").write_text("no")
    async with pages_of(tmp_path) as http:
        assert (await http.get(f"/docs/{path}")).status_code == 404
