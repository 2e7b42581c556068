"""The page *Production in 30 minutes* names what exists."""

from __future__ import annotations

import asyncio
import re
from typing import Any

from ruamel.yaml import YAML

from bridge.settings import VARIABLES
from support.docs_site import ROOT, blocks
from support.reference import default_drain

PAGE = (ROOT / "docs/how-to/production.md").read_text(encoding="utf-8")
UNIT = (ROOT / "ops/systemd/bridge@.service").read_text(encoding="utf-8")


def rules() -> str:
    return (ROOT / "ops/prometheus/bridge-rules.yml").read_text(encoding="utf-8")


def test_there_are_ten_settings_with_reasons() -> None:
    table = PAGE.partition("## Ten settings")[2].partition("\n\n[")[0]
    rows = re.findall(r"^\| (`.+?) \| (.+) \|$", table, re.MULTILINE)
    names = [name for cell, _ in rows for name in re.findall(r"`(\w+)", cell)]
    [longest] = re.findall(r"above (\d+), raise", PAGE)
    stop = int(re.findall(r"^TimeoutStopSec=(\d+)$", UNIT, re.MULTILINE)[0])

    assert len(rows) == 10
    assert [name for name in names if name.removesuffix("_FILE") not in VARIABLES] == []
    assert default_drain() < int(longest) + 10 < stop


def test_the_alert_that_fires_is_a_rule_and_prometheus_knows_its_job() -> None:
    [scraping] = [YAML(typ="safe").load(block.code) for block in blocks("yaml") if "production" in block.where]
    [job] = scraping["scrape_configs"]
    ports = [target.rpartition(":")[2] for config in job["static_configs"] for target in config["targets"]]
    [group] = YAML(typ="safe").load(rules())["groups"]
    [alert] = [rule for rule in group["rules"] if rule["alert"] == "BridgeDown"]

    assert "`BridgeDown` fires" in PAGE
    assert f'job="{job["job_name"]}"' in alert["expr"]
    assert alert["for"] == "2m", "the page says two minutes"
    assert f"for port in {' '.join(ports)}; do" in PAGE
    assert "`ops/prometheus/bridge-rules.yml`" in PAGE
    assert scraping["rule_files"] == ["bridge-rules.yml"]


async def test_the_rules_become_a_resource_of_the_operators() -> None:
    [code] = [block.code for block in blocks("sh") if "PrometheusRule" in block.code]

    making = await asyncio.create_subprocess_shell(
        code.replace("kubectl apply -f -", "cat"), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    made, _ = await making.communicate()
    resource: dict[str, Any] = YAML(typ="safe").load(made.decode())

    assert (resource["kind"], resource["apiVersion"]) == ("PrometheusRule", "monitoring.coreos.com/v1")
    assert resource["spec"] == YAML(typ="safe").load(rules())
