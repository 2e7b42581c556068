"""The documentation in the playground: every page opens, every link resolves, and search works."""

from __future__ import annotations

import re
from urllib.parse import urljoin

import httpx

from bridge.playground.page import docs
from support import docs_site

SEARCHED = {
    "only in some channels": "how-to/restrict-access",
    "default agent": "how-to/choose-agents",
    "redis is lost": "how-to/back-up-and-restore",
    "three replicas": "how-to/several-bridges",
    "back up": "how-to/back-up-and-restore",
    "rotate token": "how-to/rotate-secrets",
    "upgrade": "how-to/upgrade",
    "statistics monday": "how-to/schedule-reports",
    "no answer": "how-to/no-answer",
    "why did nobody get an answer?": "how-to/no-answer",
    "bot silent": "how-to/no-answer",
    "how do I upgrade": "how-to/upgrade",
    "add a command": "contributing/where-things-go",
}


async def test_every_page_is_shown_and_every_link_leads_to_an_anchor(http: httpx.AsyncClient) -> None:
    shown = {path: await http.get(path) for path in (f"/docs/{page}" for page in docs.pages())}
    broken = []
    for path, page in list(shown.items()):
        assert page.status_code == 200, path
        for link in re.findall(r'(?:href|src)="([^"]+)"', page.text):
            if "://" in link:
                continue
            target, _, anchor = urljoin(path, link).partition("#")
            answer = shown[target] = shown.get(target) or await http.get(target)
            if answer.status_code != 200 or (anchor and f'id="{anchor}"' not in answer.text):
                broken.append((path, link))

    assert broken == []


async def test_the_menu_has_the_order_of_the_site(http: httpx.AsyncClient) -> None:
    site = re.findall(r'"([\w/-]+)\.md"', (docs_site.ROOT / "zensical.toml").read_text(encoding="utf-8"))
    page = await http.get("/docs/")
    menu = re.findall(r'<a href="/docs/([^"#]+)">', page.text.partition("<main>")[0])

    assert menu == site


async def test_the_search_leads_to_each_page_that_operators_ask_for(http: httpx.AsyncClient) -> None:
    missed = {}
    for asked, page in SEARCHED.items():
        answer = await http.get("/docs/", params={"q": asked})
        results = re.findall(r'<li><a href="/docs/([^"#]+)', answer.text)[:3]
        if page not in results:
            missed[asked] = results

    assert missed == {}


async def test_a_search_result_leads_to_the_section_and_quotes_it(http: httpx.AsyncClient) -> None:
    answer = await http.get("/docs/", params={"q": "redis is lost"})

    first = answer.text.partition("<main>")[2].partition("</li>")[0]
    assert '<a href="/docs/how-to/back-up-and-restore#redis-is-lost">Back up and restore: Redis is lost</a>' in first
    assert re.search(r"<p>[^<]*Redis[^<]*</p>", first)


async def test_a_search_that_finds_nothing_says_where_to_look(http: httpx.AsyncClient) -> None:
    answer = await http.get("/docs/", params={"q": "xylophone"})

    assert "No page has any of these words." in answer.text


async def test_a_search_for_markup_finds_nothing_and_shows_it_as_text(http: httpx.AsyncClient) -> None:
    answer = await http.get("/docs/", params={"q": "<script>alert(1)</script>"})

    assert "<script>" not in answer.text


async def test_nothing_outside_the_documentation_is_served(http: httpx.AsyncClient) -> None:
    for path in ("../pyproject.toml", "images/../../pyproject.toml", "images/%2e%2e/%2e%2e/pyproject.toml", "nothing"):
        assert (await http.get(f"/docs/{path}")).status_code == 404, path
