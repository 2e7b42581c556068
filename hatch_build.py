"""The package's links, made from the one constant that has the project's address (`bridge.HOME`)."""

from __future__ import annotations

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface


class Links(MetadataHookInterface):
    """Gives no links as long as there is no address."""

    def update(self, metadata: dict[str, object]) -> None:
        """Add the links to *metadata*."""
        text = (Path(self.root) / "bridge" / "__init__.py").read_text(encoding="utf-8")
        found = re.search(r'^HOME = "(https://[^"]+)"', text, re.MULTILINE)
        pages = {"Documentation": "docs/index.md", "Changelog": "CHANGELOG.md", "Issues": "issues"}
        blob = {name: page if page == "issues" else f"blob/main/{page}" for name, page in pages.items()}
        metadata["urls"] = {"Homepage": found[1], **{n: f"{found[1]}/{at}" for n, at in blob.items()}} if found else {}
