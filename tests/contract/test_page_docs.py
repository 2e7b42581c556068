"""The documentation in the playground: every page opens, every link resolves, and search works."""

from __future__ import annotations

import re
from urllib.parse import urljoin

import httpx
import pytest

from bridge.playground.page import docs
from support import docs_site

SEARCHED = {  # the section that answers, and what people type
    "how-to/restrict-access#only-in-some-channels": ["answer only in some channels", "restrict to some channels"],
    "how-to/choose-agents#default-agent-and-channel-settings": ["default agent", "how do I set the default agent?"],
    "how-to/back-up-and-restore#redis-is-lost": ["redis is lost", "lost redis", "what happens when Redis is lost?"],
    "how-to/several-bridges#replicas-and-several-bridges": ["three replicas", "run 3 replicas", "replica"],
    "how-to/back-up-and-restore#back-up-and-restore": ["back up", "backup", "backing up", "backups"],
    "how-to/rotate-secrets#rotate-tokens-and-secrets": ["rotate a token", "token", "tokens", "rotating the bot token"],
    "how-to/upgrade#upgrade-and-roll-back": ["upgrade", "how do I upgrade", "upgrading to a new version"],
    "how-to/schedule-reports#schedule-reports": ["statistics to #ops each monday", "post statistics every Monday"],
    "how-to/no-answer#find-out-why-there-was-no-answer": ["no answer", "why didn't it answer?", "bot silent"],
    "how-to/no-answer#if-nobody-gets-an-answer": ["why did nobody get an answer?"],
    "contributing/where-things-go#add-a-command": ["add a command", "adding commands"],
    "reference/settings#bridge_max_age": ["BRIDGE_MAX_AGE"],
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


@pytest.mark.parametrize(
    ("asked", "section"), [(asked, to) for to, all_asked in SEARCHED.items() for asked in all_asked]
)
async def test_the_search_finds_the_section_that_answers_first(
    asked: str, section: str, http: httpx.AsyncClient
) -> None:
    answer = await http.get("/docs/", params={"q": asked})

    assert re.findall(r'<li><a href="/docs/([^"]+)', answer.text)[:1] == [section]


@pytest.mark.parametrize(
    "forms",
    [
        ["token", "tokens"],
        ["backup", "backups"],
        ["setting", "settings"],
        ["match", "matches", "matched", "matching"],
        ["stop", "stopped", "stopping"],
    ],
)
async def test_the_search_finds_a_word_in_all_its_forms(forms: list[str], http: httpx.AsyncClient) -> None:
    answers = [await http.get("/docs/", params={"q": form}) for form in forms]

    [results] = {tuple(re.findall(r'<li><a href="([^"]+)', answer.text)) for answer in answers}
    assert results


async def test_a_search_result_leads_to_the_section_and_quotes_it(http: httpx.AsyncClient) -> None:
    answer = await http.get("/docs/", params={"q": "redis is lost"})

    first = answer.text.partition("<main>")[2].partition("</li>")[0]
    assert '<a href="/docs/how-to/back-up-and-restore#redis-is-lost">Back up and restore: Redis is lost</a>' in first
    assert re.search(r"<p>[^<]*Redis[^<]*</p>", first)


async def test_a_search_result_is_quoted_without_markup(http: httpx.AsyncClient) -> None:
    answer = await http.get("/docs/", params={"q": "default agent"})

    quoted = re.findall(r"<p>([^<]*)</p>", answer.text)
    assert quoted
    assert [line for line in quoted if re.search(r"[*`|]| [,;:)]| \.(?!\w)", line)] == []


async def test_a_search_that_finds_nothing_says_where_to_look(http: httpx.AsyncClient) -> None:
    answer = await http.get("/docs/", params={"q": "xylophone"})

    assert "No results for" in answer.text
    assert "Try different words, or start with the\n<a" in answer.text


async def test_a_search_for_markup_finds_nothing_and_shows_it_as_text(http: httpx.AsyncClient) -> None:
    answer = await http.get("/docs/", params={"q": "<script>alert(1)</script>"})

    assert "<script>" not in answer.text


async def test_a_missing_page_still_has_the_list_and_the_search(http: httpx.AsyncClient) -> None:
    answer = await http.get("/docs/nowhere")

    assert answer.status_code == 404
    assert "Page not found" in answer.text
    assert 'type="search"' in answer.text


async def test_nothing_outside_the_documentation_is_served(http: httpx.AsyncClient) -> None:
    for path in ("../pyproject.toml", "images/../../pyproject.toml", "images/%2e%2e/%2e%2e/pyproject.toml", "nothing"):
        assert (await http.get(f"/docs/{path}")).status_code == 404, path
