"""The page for a real Slack: there is no workspace to show, only the state of the parts."""

from __future__ import annotations

from html import escape
from typing import Final

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import Route

from bridge.playground.local_server import LocalServer, Port
from bridge.playground.page.supervisor import PartStatus, Supervisor

_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
_PAGE: Final = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="refresh" content="2">
<title>The bridge's playground</title>
<h1>The bridge's playground</h1>
<p>The bridge is connected to your Slack workspace: talk to it there. Unset SLACK_… to get a workspace here.</p>
<table border="1" cellpadding="6">
<tr><th scope="col">Part</th><th scope="col">Kind</th><th scope="col">State</th><th scope="col"></th></tr>
{rows}
</table>
"""


def status_page(supervisor: Supervisor, *, port: Port) -> LocalServer:
    """A page at *port* with the parts of *supervisor*."""

    async def page(_: Request) -> HTMLResponse:
        rows = "\n".join(_row(part) for part in supervisor.parts())
        return HTMLResponse(_PAGE.format(rows=rows), headers=_HEADERS)

    return LocalServer(Starlette(routes=[Route("/", page)]), port=port)


def _row(part: PartStatus) -> str:
    cells = (
        part.name,
        "built in" if part.is_stand_in else "real",
        "up" if part.is_up else "down",
        part.detail,
    )
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>"
