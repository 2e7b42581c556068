"""The documentation inside the playground, from the Markdown files behind `make docs`, with a search."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route, Router

from bridge.playground.page.guard import POLICY, Guarded

_PACKAGE: Final = Path(__file__).parents[2]
FOLDERS: Final = (_PACKAGE / "docs", _PACKAGE.parent / "docs")
"""The pages' folders: in an installed package, and in a checkout."""

_POLICY: Final = POLICY.replace("form-action 'none'", "form-action 'self'")  # the search
_MOST_FOUND: Final = 10
_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title><link rel="icon" href="/static/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/static/css/base.css"><link rel="stylesheet" href="/static/css/docs.css"></head>
<body class="docs"><header><a href="/docs/">Documentation</a>
<form role="search" action="/docs/">
<input type="search" name="q" aria-label="Search" placeholder="Search" value="{asked}"></form>
<a href="/">Playground</a></header>
<div><nav aria-label="Pages">{pages}</nav><main>{body}</main></div></body></html>"""


@dataclass(frozen=True, slots=True)
class DocsPage:
    """One page: its *path* below the folder, without ``.md``, its *title*, and its Markdown."""

    path: str
    title: str
    text: str


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
    found = {}
    for path in folder.rglob("*.md"):
        text = re.sub(r"<!--.*?-->\n?", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        name = path.relative_to(folder).with_suffix("").as_posix()
        found[name] = DocsPage(name, text.partition("\n")[0].lstrip("# "), text)
    return {name: found[name] for name in _listed(menu)}


def _listed(menu: Iterable[str | dict[str, list[str]]]) -> Iterator[str]:
    for entry in menu:
        for path in [entry] if isinstance(entry, str) else chain.from_iterable(entry.values()):
            yield path.removesuffix(".md")


def found(asked: str) -> list[DocsPage]:
    """The pages with every word, those with the words in a heading first."""
    words = re.findall(r"\w+", asked.casefold())

    def weight(page: DocsPage) -> tuple[bool, int, int]:
        headings = " ".join(line for line in page.text.splitlines() if line.startswith("#")).casefold()
        said = re.findall(r"\w+", page.text.casefold())
        return asked.casefold() not in headings, -sum(word in headings for word in words), -sum(map(said.count, words))

    return sorted((one for one in pages().values() if all(word in one.text.casefold() for word in words)), key=weight)


def _part(path: str) -> str:
    return path.rpartition("/")[0]


async def _index(request: Request) -> Response:
    asked = request.query_params.get("q", "").strip()
    if not asked:
        return _shown(pages().get("index"))
    rows = "".join(f'<li><a href="/docs/{one.path}">{escape(one.title)}</a></li>' for one in found(asked)[:_MOST_FOUND])
    return _html("Search", f"<h1>“{escape(asked)}”</h1><ul>{rows}</ul>" if rows else "<p>No page matches.</p>", asked)


async def _page(request: Request) -> Response:
    path = request.path_params["path"]
    picture = next((one / path for one in FOLDERS if path.startswith("images/") and (one / path).is_file()), None)
    if picture is not None and ".." not in path:
        return FileResponse(picture)
    return _shown(pages().get(path.removesuffix(".md")))


def _shown(page: DocsPage | None) -> Response:
    if page is None:
        return PlainTextResponse("This page doesn't exist. The contents are at /docs/.", status_code=404)
    return _html(page.title, _parser().render(page.text, {"path": page.path}))


def _html(title: str, body: str, asked: str = "") -> Response:
    menu, part = "", ""
    for one in pages().values():
        if _part(one.path) != part:
            part = _part(one.path)
            menu += f"<h2>{escape(part.replace('-', ' ').capitalize())}</h2>"
        menu += f'<a href="/docs/{one.path}">{escape(one.title)}</a>'
    shown = _PAGE.format(title=escape(title), asked=escape(asked), pages=menu, body=body)
    return HTMLResponse(shown, headers={"Content-Security-Policy": _POLICY})


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    for kind, rule in (("heading_open", _heading), ("link_open", _link), ("image", _image)):
        parser.add_render_rule(kind, rule)
    return parser


def _heading(self: RendererHTML, tokens: list[Token], at: int, options: OptionsDict, _: Any) -> str:
    """Give a heading its anchor: lower-case words joined by dashes."""
    words = re.sub(r"[^\w\s-]", "", tokens[at + 1].content.casefold())
    tokens[at].attrSet("id", re.sub(r"[\s-]+", "-", words).strip("-"))
    return self.renderToken(tokens, at, options, {})


def _link(self: RendererHTML, tokens: list[Token], at: int, options: OptionsDict, env: Any) -> str:
    href = str(tokens[at].attrGet("href"))
    if "://" not in href and not href.startswith("#"):
        tokens[at].attrSet("href", _address(env["path"], href))
    return self.renderToken(tokens, at, options, env)


def _image(self: RendererHTML, tokens: list[Token], at: int, options: OptionsDict, env: Any) -> str:
    tokens[at].attrSet("src", _address(env["path"], str(tokens[at].attrGet("src"))))
    return self.image(tokens, at, options, env)


def _address(of: str, href: str) -> str:
    """The address of a link on the page *of*."""
    to, _, anchor = href.partition("#")
    steps: list[str] = []
    for step in (PurePosixPath(of).parent / to).parts:
        steps = steps[:-1] if step == ".." else [*steps, step]
    return "/docs/" + "/".join(steps).removesuffix(".md") + (f"#{anchor}" if anchor else "")
