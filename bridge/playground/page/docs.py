"""The documentation inside the playground, from the Markdown files behind `make docs`, with a search."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from html import escape
from itertools import chain
from pathlib import Path, PurePosixPath
from textwrap import shorten
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route, Router

from bridge.playground.page.docs_search import DocsPage, Section, query_stems, search
from bridge.playground.page.guard import POLICY, Guarded

_PACKAGE: Final = Path(__file__).parents[2]
FOLDERS: Final = (_PACKAGE / "docs", _PACKAGE.parent / "docs")
"""The pages' folders: in an installed package, and in a checkout."""

_POLICY: Final = POLICY.replace("form-action 'none'", "form-action 'self'")  # the search
_MOST_RESULTS: Final = 10
_LONGEST_LINE: Final = 180  # characters
_TABLE_HEAD: Final = re.compile(r"^\|.*\n\|[ |:-]+$\n?", re.MULTILINE)
_LONGEST_KEPT: Final = 20  # characters of a word of code, so that it fits into a table on a phone
_NO_RESULTS: Final = """<p>Try different words, or start with the
<a href="/docs/#common-questions">common questions</a>.</p>"""
_NOT_FOUND: Final = "<h1>Page not found</h1><p>Choose a page from the list, or search above.</p>"
_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><link rel="icon" href="/static/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/static/css/base.css"><link rel="stylesheet" href="/static/css/docs.css">
<script type="module" blocking="render" src="/static/js/theme.js"></script>
<script type="module" src="/static/js/docs.js"></script></head>
<body class="docs"><header><a href="/docs/">Documentation</a>
<form role="search" action="/docs/">
<input type="search" name="q" aria-label="Search" placeholder="Search" value="{query}"></form>
<a href="/">Playground</a></header>
<div><nav aria-label="Pages">{pages}</nav><main>{body}</main></div></body></html>"""


def routes(host: str = "") -> list[BaseRoute]:
    """The routes below ``/docs``; *host* is another host name to accept."""
    own = Router([Route("/", _index), Route("/{path:path}", _page)])
    return [Mount("/docs", Guarded(own, host))]


@cache
def pages() -> Mapping[str, DocsPage]:
    """Every page, in the order of the site's menu; none if the documentation isn't installed."""
    folder = next((one for one in FOLDERS if (one / "index.md").is_file()), None)
    if folder is None:
        return {}
    menu = tomllib.loads((folder.parent / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]
    read = {}
    for path in folder.rglob("*.md"):
        text = re.sub(r"<!--.*?-->\n?", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        name = path.relative_to(folder).with_suffix("").as_posix()
        read[name] = DocsPage(name, text.partition("\n")[0].lstrip("# "), text)
    return {name: read[name] for name in _listed(menu)}


def _listed(menu: Iterable[str | dict[str, list[str]]]) -> Iterator[str]:
    for entry in menu:
        for path in [entry] if isinstance(entry, str) else chain.from_iterable(entry.values()):
            yield path.removesuffix(".md")


def _result(section: Section, query: str) -> str:
    """A result: the page, the section, and the line that contains the most query words."""
    words = query_stems(query)
    text = _TABLE_HEAD.sub("", section.text)
    lines = [
        " · ".join(filter(None, (" ".join(cell.split()) for cell in re.sub(r"[*`]|^- ", "", one).split("|"))))
        for one in re.split(r"\n\n|\n(?=[|-])", text)
    ]
    line = max(
        lines, key=lambda one: (sum(word in one.casefold() for word in words), not one.endswith(":")), default=""
    )
    name = section.page.title if section.is_whole_page else f"{section.page.title}: {section.heading}"
    link = f"/docs/{section.page.path}#{_anchor(section.heading)}"
    return (
        f'<li><a href="{link}">{escape(name)}</a><p>{escape(shorten(line, _LONGEST_LINE, placeholder=" …"))}</p></li>'
    )


def _part(path: str) -> str:
    return path.rpartition("/")[0]


async def _index(request: Request) -> Response:
    query = request.query_params.get("q", "").strip()
    if not query:
        return _shown(pages().get("index"))
    found = search(pages(), query)[:_MOST_RESULTS]
    count = {0: "No results", 1: "1 result"}.get(len(found), f"{len(found)} results")
    rows = "".join(_result(one, query) for one in found)
    results = f'<ul class="found">{rows}</ul>' if rows else _NO_RESULTS
    return _html("Search", f"<h1>{count} for “{escape(query)}”</h1>{results}", query)


async def _page(request: Request) -> Response:
    path = request.path_params["path"]
    picture = next((one / path for one in FOLDERS if path.startswith("images/") and (one / path).is_file()), None)
    if picture is not None and ".." not in path:
        return FileResponse(picture)
    return _shown(pages().get(path.removesuffix("/").removesuffix(".md")))


def _shown(page: DocsPage | None) -> Response:
    if page is None:
        return _html("Page not found", _NOT_FOUND, status_code=404)
    return _html(page.title, _parser().render(page.text, {"path": page.path}))


def _html(title: str, body: str, query: str = "", *, status_code: int = 200) -> Response:
    menu, part = "", ""
    for one in pages().values():
        if _part(one.path) != part:
            part = _part(one.path)
            menu += f"<h2>{escape(part.replace('-', ' ').capitalize())}</h2>"
        menu += f'<a href="/docs/{one.path}">{escape(one.title)}</a>'
    shown = _PAGE.format(title=escape(title), query=escape(query), pages=menu, body=body)
    return HTMLResponse(shown, status_code, headers={"Content-Security-Policy": _POLICY})


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    for kind, rule in (("heading_open", _heading), ("link_open", _link), ("image", _image), ("code_inline", _code)):
        parser.add_render_rule(kind, rule)
    return parser


def _heading(self: RendererHTML, tokens: list[Token], at: int, options: OptionsDict, _: Any) -> str:
    """Render a heading with its anchor: lower-case words joined by dashes."""
    tokens[at].attrSet("id", _anchor(tokens[at + 1].content))
    return self.renderToken(tokens, at, options, {})


def _anchor(heading: str) -> str:
    return re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", heading.casefold())).strip("-")


def _link(self: RendererHTML, tokens: list[Token], at: int, options: OptionsDict, env: Any) -> str:
    href = str(tokens[at].attrGet("href"))
    if "://" not in href and not href.startswith("#"):
        tokens[at].attrSet("href", _address(env["path"], href))
    return self.renderToken(tokens, at, options, env)


def _image(self: RendererHTML, tokens: list[Token], at: int, options: OptionsDict, env: Any) -> str:
    tokens[at].attrSet("src", _address(env["path"], str(tokens[at].attrGet("src"))))
    return self.image(tokens, at, options, env)


def _code(_self: RendererHTML, tokens: list[Token], at: int, _options: OptionsDict, _env: Any) -> str:
    """Render code in which a browser doesn't wrap after the dashes of a word such as ``--socket``."""
    return f"<code>{' '.join(map(_kept, tokens[at].content.split(' ')))}</code>"


def _kept(word: str) -> str:
    is_kept = "-" in word and len(word) <= _LONGEST_KEPT
    return f'<span class="kept">{escape(word)}</span>' if is_kept else escape(word)


def _address(of: str, href: str) -> str:
    """The URL of a link on the page *of*."""
    to, _, anchor = href.partition("#")
    steps: list[str] = []
    for step in (PurePosixPath(of).parent / to).parts:
        steps = steps[:-1] if step == ".." else [*steps, step]
    return "/docs/" + "/".join(steps).removesuffix(".md") + (f"#{anchor}" if anchor else "")
