"""The documentation in the playground: the built site if there is one, else the README's list of pages."""

from __future__ import annotations

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
