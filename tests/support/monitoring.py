"""What Prometheus loads, made from the tables in `bridge.metrics`; ``make reference`` writes it into ops/."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Final

from ruamel.yaml import YAML

from bridge.metrics import ALERTS

ROOT: Final = Path(__file__).parents[2]
RULES: Final = ROOT / "ops" / "prometheus" / "bridge-rules.yml"
_MADE: Final = "# Made from bridge/metrics.py by `make reference`; docs/how-to/watch.md says how to load it."


def rules() -> str:
    """The rules for Prometheus."""
    shown = [
        {
            "alert": one.name,
            "expr": one.query,
            **({"for": f"{one.minutes}m"} if one.minutes else {}),
            "labels": {"severity": one.severity},
            "annotations": {
                "summary": one.summary,
                "description": f"{one.meaning} {one.cure} Run: {one.command}",
            },
        }
        for one in ALERTS
    ]
    text, yaml = io.StringIO(), YAML()
    yaml.width = 1000
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.dump({"groups": [{"name": "bridge", "rules": shown}]}, text)
    return f"{_MADE}\n{text.getvalue()}"
