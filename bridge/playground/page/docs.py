"""The documentation below ``/docs``: a site built when it's visited, or else the README's list of its pages."""

from __future__ import annotations

import asyncio
import re
import sys
from asyncio.subprocess import DEVNULL, create_subprocess_exec
from pathlib import Path
from typing import Final

from markdown_it import MarkdownIt
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route, Router

from bridge.playground.page.guard import Guarded

CHECKOUT: Final = Path(__file__).parents[3]
_SITE_POLICY: Final = (  # the site's own scripts and styles are inline, and its search runs in a worker
    "default-src 'self' 'unsafe-inline' data: blob:; object-src 'none'; base-uri 'self'; frame-ancestors 'none'"
)
_NOT_HERE: Final = "The documentation is in the folder docs of the project's repository."
_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Documentation</title></head>
<body><h1>Documentation</h1><p>These pages couldn't be built as a site. <code>make docs</code> says why.</p>
{links}</body></html>"""


def routes(checkout: Path = CHECKOUT) -> list[BaseRoute]:
    """The routes below ``/docs``."""
    one_build = asyncio.Lock()

    async def shown(request: Request) -> Response:
        path = request.path_params["path"]
        site, pages = checkout / "build" / "docs", checkout / "docs"
        if not path or path.endswith(".html"):
            async with one_build:
                await _build(checkout, site)
        if file := _file(site, path or "index.html"):
            return FileResponse(file, headers={"Content-Security-Policy": _SITE_POLICY})
        if file := _file(pages, path):
            return PlainTextResponse(file.read_text(encoding="utf-8"))
        return _links(checkout / "README.md") if not path else PlainTextResponse("Page not found", 404)

    return [Mount("/docs", Guarded(Router([Route("/{path:path}", shown)])))]


async def _build(checkout: Path, site: Path) -> None:
    """Build the site, in under a second, unless it's newer than its pages; a failed build leaves it as it was."""
    start, settings = site / "index.html", checkout / "zensical.toml"
    sources = [settings, *(checkout / "docs").rglob("*.*")]
    if not settings.is_file() or (
        start.is_file() and start.stat().st_mtime >= max(source.stat().st_mtime for source in sources)
    ):
        return
    building = await create_subprocess_exec(
        *(sys.executable, "-m", "zensical", "build"), cwd=checkout, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL
    )
    await building.wait()


def _file(folder: Path, path: str) -> Path | None:
    """The file at *path* in *folder*; None if there is none, or the path leads out of it."""
    file = (folder / path).resolve()
    return file if file.is_file() and file.is_relative_to(folder.resolve()) else None


def _links(readme: Path) -> Response:
    if not readme.is_file():  # an installed package
        return PlainTextResponse(_NOT_HERE)
    _, _, section = readme.read_text(encoding="utf-8").partition("\n## Documentation\n")
    listed = re.findall(r"^- .*(?:\n  .*)*", section.partition("\n## ")[0], re.MULTILINE)
    links = MarkdownIt("commonmark", {"html": False}).render("\n".join(listed).replace("](docs/", "](/docs/"))
    return HTMLResponse(_PAGE.format(links=links))
