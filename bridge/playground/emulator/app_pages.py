"""Look-alikes of Slack's pages for a new app: the link with a manifest, and the page with the credentials.

Since July 2026, creating and installing are one step, and for many accounts the page drops the link's manifest.
https://docs.slack.dev/app-manifests/configuring-apps-with-app-manifests
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse
from starlette.routing import BaseRoute, Route

from bridge.playground.emulator.entities import Json

_PAGE = """<!doctype html><meta charset="utf-8"><title>{title}</title>
<style>body{{font:16px system-ui;max-width:44rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}}
button{{font:inherit;padding:.5rem 1rem}}code{{user-select:all}}li{{margin:.3rem 0}}</style><h1>{title}</h1>{body}"""


@dataclass(slots=True)
class AppPages:
    """The pages: *install* installs a manifest; then *credentials* are shown by name.

    If the page *drops_manifests* of links, people have to paste theirs: seen since July 2026, for many accounts.
    https://github.com/vellum-ai/vellum-assistant/issues/39141
    """

    install: Callable[[Json], None]
    credentials: Mapping[str, str]
    drops_manifests: bool = False

    def routes(self) -> list[BaseRoute]:
        return [Route("/apps", self._review, methods=["GET"]), Route("/apps", self._create, methods=["POST"])]

    async def _review(self, request: Request) -> HTMLResponse:
        """Show the permissions that the manifest asks for, or ask for a manifest."""
        text = request.query_params.get("manifest_json", "")
        is_dropped = self.drops_manifests and "new_app" in request.query_params
        if is_dropped or not text:
            form = "<form><textarea name=manifest_json rows=20 cols=80></textarea><p><button>Next</button></form>"
            return _page("Create New App", f"<p>From a manifest:</p>{form}")
        try:
            manifest = json.loads(text)
            name = manifest["display_information"]["name"]
            scopes = manifest["oauth_config"]["scopes"]["bot"]
        except (ValueError, LookupError, TypeError):
            return _page("Create New App", "<p>This link has no valid manifest.</p>", 400)
        optional = manifest["oauth_config"]["scopes"].get("bot_optional", ())
        asked = "".join(
            f"<li>{escape(scope)}{' (optional)' if scope in optional else ''}</li>" for scope in map(str, scopes)
        )
        return _page(
            f"Create {name}",
            f"<p>Review the permissions:</p><ul>{asked}</ul><form method=post>"
            f'<input type=hidden name=manifest value="{escape(text)}"><button>Create and Install</button></form>',
        )

    async def _create(self, request: Request) -> HTMLResponse:
        text = parse_qs((await request.body()).decode(errors="replace")).get("manifest", [""])[0]
        try:
            self.install(json.loads(text))
        except ValueError as exc:  # not JSON, or InvalidManifest
            return _page("Create New App", f"<p>This manifest is invalid: {escape(str(exc))}</p>", 400)
        rows = "".join(
            f"<li>{escape(name)}: <code>{escape(value)}</code></li>"
            for name, value in self.credentials.items()
            if value
        )
        return _page("Your app is installed", f"<h2>Your app credentials</h2><ul>{rows}</ul>")


def _page(title: str, body: str, status: int = 200) -> HTMLResponse:
    return HTMLResponse(_PAGE.format(title=escape(title), body=body), status)
