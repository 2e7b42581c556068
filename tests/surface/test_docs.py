"""The documentation builds without warnings, loads nothing from other servers, and matches the files it describes.

`tests/surface/test_docs_blocks.py` runs its shell and Python blocks.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest
from pydantic import SecretStr

from bridge.config import default_project, read_config
from bridge.features.alerts.conditions import read_alert
from bridge.features.schedules.schedule import read_question, read_report, read_run
from bridge.features.standing.phrases import describe
from bridge.playground.emulator import sample
from bridge.settings import Settings, environment, load, needs_restart, unknown_variables
from support import docs_site, reference
from support.docs_site import PAGES, Block, blocks
from support.tables import each


@each("name", reference.PAGES)
def test_a_reference_page_matches_the_code(name: str) -> None:
    assert (reference.FOLDER / f"{name}.md").read_text(encoding="utf-8") == reference.page(name), "run make reference"


async def test_the_site_builds_without_warnings_or_external_requests(tmp_path: Path) -> None:
    site = await docs_site.build(tmp_path)

    fetched = re.compile(r"<(?:script|img|link|iframe)[^>]+(?:src|href)=\"?(?:https?:)?//[^\s>\"]+")
    asked = {hit for page in site.rglob("*.html") for hit in fetched.findall(page.read_text("utf-8"))}
    assert {hit for hit in asked if 'rel="canonical"' not in hit} == set()


def test_every_page_is_in_the_navigation() -> None:
    listed = set(re.findall(r'"([\w/-]+\.md)"', (docs_site.ROOT / "zensical.toml").read_text(encoding="utf-8")))

    assert listed == {str(path.relative_to(docs_site.ROOT / "docs")) for path in PAGES}


def test_every_make_target_is_documented_and_exists() -> None:
    makefile = (docs_site.ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    page = (docs_site.ROOT / "docs/contributing/tests.md").read_text(encoding="utf-8").partition("\n## ")[0]
    named = re.compile(r"`(?:[A-Z]+=\S+ )?make ([a-z-]+)|^make ([a-z-]+)", re.MULTILINE)
    texts = [path.read_text(encoding="utf-8") for path in (*docs_site.ROOT.glob("*.md"), *PAGES)]

    assert set(re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE)) == targets
    assert {one or other for text in texts for one, other in named.findall(text)} <= targets


def test_every_documented_channel_has_the_bot_in_the_playground() -> None:
    texts = [page.read_text(encoding="utf-8") for page in (docs_site.ROOT / "README.md", *PAGES)]
    named = {name for text in texts for name in re.findall(r"(?<![^\s*])#([a-z][a-z0-9-]*)", text)}

    assert "ops" in named
    assert named <= {one.name for one in sample.channels() if sample.BRIDGE in one.members}


def test_a_skipped_block_states_its_reason() -> None:
    vague = [block.where for block in blocks("sh", "python") if 0 < len(block.why_not) < len("it needs a cluster")]

    assert vague == []


@pytest.mark.parametrize("block", list(blocks("dotenv")), ids=lambda block: block.where)
def test_env_lines_are_settings(block: Block, tmp_path: Path) -> None:
    needed = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_SIGNING_SECRET": "s", "PROJECT_API_KEY": "k"}
    (tmp_path / ".env").write_text(block.code, encoding="utf-8")
    needed["PROJECT_BASE_URL"] = "https://project.example.com"
    environ = environment(needed, tmp_path / ".env", embedded_redis=True)

    assert unknown_variables(environ) == []
    assert load(environ)


@pytest.mark.parametrize("block", list(blocks("toml")), ids=lambda block: block.where)
def test_operators_files_in_the_docs_are_valid(block: Block, tmp_path: Path) -> None:
    (tmp_path / "bridge.toml").write_text(block.code, encoding="utf-8")

    keys = dict.fromkeys(("DATA_KEY", "FINANCE_KEY", "DIRECTORS_KEY"), "k")
    config = read_config(tmp_path / "bridge.toml", keys, default_project({}))

    tables = (config.projects[0].keys, config.rules, config.channels, config.agents, config.limits)
    assert len(config.projects) > 1 or any(tables)


def yaml_of(page: str) -> str:
    [block] = [block for block in blocks("yaml") if page in block.where]
    return block.code


def test_documented_schedules_have_the_documented_meaning() -> None:
    page = (docs_site.ROOT / "docs/how-to/schedule-reports.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`.+`) \| (every .+) \|$", page, re.MULTILINE)

    shown = [(typed, is_posted) for cell, is_posted in rows for typed in re.findall(r"`([^`]+)`", cell)]
    wrong = [(typed, is_posted) for typed, is_posted in shown if _described(typed) != is_posted]

    assert len(shown) > 8
    assert wrong == []


def test_documented_questions_and_runs_are_understood() -> None:
    block, _alerts = (block for block in blocks("text") if "let-it-watch" in block.where)
    question, run = block.code.strip().splitlines()

    assert read_question(7, question.removeprefix("/agents ask Support ")).text == "What changed since yesterday?"
    assert read_run(3, run.removeprefix('/workflows schedule "Daily digest" ')).input == {"day": "monday"}


def test_documented_alerts_are_understood() -> None:
    page = (docs_site.ROOT / "docs/how-to/let-it-watch.md").read_text(encoding="utf-8")
    table = page.partition("| Condition |")[2].partition("\n\n")[0]
    typed = [one for row in table.splitlines() for one in re.findall(r"`([^`]+)`", row.split("|")[1])]
    typed += re.findall(r"^/stats alert (.+)$", page, re.MULTILINE)

    assert len(typed) > 15
    assert [one for one in typed if not read_alert(one).condition.words] == []


def _described(typed: str) -> str:
    spec = read_report(typed)
    return describe(spec.schedule.crons) + (f" ({spec.zone})" if spec.zone else "")


def test_the_page_about_rotation_says_which_secrets_a_reload_takes() -> None:
    page = (docs_site.ROOT / "docs/how-to/rotate-secrets.md").read_text(encoding="utf-8")
    said = dict(re.findall(r"^\| `(\w+)` \| (a restart|a reload|neither)", page, re.MULTILINE))
    before = Settings.model_construct(**dict.fromkeys(Settings.model_fields, ""))
    restarted = {
        str(field.alias): bool(needs_restart(before, before.model_copy(update={name: "new"})))
        for name, field in Settings.model_fields.items()
        if SecretStr in (field.annotation, *get_args(field.annotation))
    }

    assert {name: said[name] == "a restart" for name in restarted} == restarted


def test_what_we_use_inside_libraries_was_read_in_the_locked_versions() -> None:
    page = (docs_site.ROOT / "docs/contributing/libraries.md").read_text(encoding="utf-8")
    locked = (docs_site.ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `")]

    for _, library, _, places, tests, _ in rows:
        assert library.strip(" `") in locked, "read what the page lists in the new version, and change the page"
        for path in re.findall(r"`([\w/]+\.py)`", places + tests):
            assert (docs_site.ROOT / path).exists() or (docs_site.ROOT / "bridge" / path).exists(), path
    assert len(rows) > 4
