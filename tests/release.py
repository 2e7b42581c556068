"""Builds what a release consists of, and tries it: ``make release-check``.

Wheel, sdist, lock, notes and SBOM go to dist/. The wheel is installed with the lock's versions in an empty environment,
and serves a playground there. The SBOM lists that environment, since the lock also has the tools of tests and checks.

- ``TAG=v1.2.3``: the tag that it's for, which must be the version's
"""

# ruff: noqa: S603 - every command here is our own
from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

from bridge.playground.emulator.sample import ALICE, GENERAL
from support.playground import Playground, bare_environment

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
INSTALLED = ROOT / "build" / "release"  # the empty environment
QUESTION, ANSWER = "@bridge how do I reset my password?", "Forgot password?"
PAGE = "bridge/playground/page/static/index.html"


def main() -> int:
    """Build it and try it. Returns the exit code."""
    os.environ.pop("PYTHONPATH", None)  # nothing of the checkout is imported below
    began = time.monotonic()
    try:
        for line in _check():
            _say(line)
    except AssertionError as exc:
        sys.stderr.write(f"make release-check: {exc}\n")
        return 1
    _say(f"dist/ is ready after {time.monotonic() - began:.0f} s")
    return 0


def _check() -> Iterator[str]:
    """Do one step after the other, and yield what it showed. Raises AssertionError."""
    shutil.rmtree(DIST, ignore_errors=True)
    _python("build", "--outdir", str(DIST), str(ROOT))
    [wheel], [sdist] = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    yield f"built {wheel.name} and {sdist.name}"
    yield f"the wheel has all {_contents(wheel)} files of bridge/ but samples, and nothing else"
    _install(wheel)
    version = _bridge("--version").removeprefix("bridge ").strip()
    notes = _notes(version, wheel)
    (DIST / "notes.md").write_text(notes, encoding="utf-8")
    shutil.copy(ROOT / "constraints.txt", DIST)
    yield f"{version} is the version of the wheel, of bridge --version and of the changelog's newest section"
    assert "playground" in _bridge("--help"), "bridge --help doesn't list its commands"
    problems = _bridge("check", code=1)
    missing = {"SLACK_BOT_TOKEN", "PROJECT_BASE_URL", "PROJECT_API_KEY", "REDIS_URL", "Run bridge setup"}
    assert not {name for name in missing if name not in problems}, f"bridge check lists other problems:\n{problems}"
    yield "bridge check lists the missing settings"
    asyncio.run(_play())
    yield "a playground has answered"
    yield f"the SBOM lists {_sbom(version)} packages"


def _contents(wheel: Path) -> int:
    """Compare the *wheel*, apart from its metadata, with git's files of the bridge; return how many there are."""
    names = zipfile.ZipFile(wheel).namelist()
    packed = {name for name in names if not re.match(r"slack_project_bridge-[^/]+\.dist-info/", name)}
    files = _run("git", "-C", str(ROOT), "ls-files", "bridge").splitlines()
    ours = {name for name in files if not name.endswith("/samples.py")}  # they're for the tests
    assert {"bridge/py.typed", PAGE} <= ours, "git has no py.typed, or no page"
    assert any(name.endswith(".lua") for name in ours), "git has no script"
    assert not packed - ours, f"the wheel has what doesn't belong: {sorted(packed - ours)}"
    assert not ours - packed, f"the wheel lacks {sorted(ours - packed)}"
    return len(packed)


def _install(wheel: Path) -> None:
    """Install the *wheel* in an environment that has nothing else, not even pip."""
    _python("venv", "--clear", "--without-pip", str(INSTALLED))
    pip = ("pip", "--python", str(INSTALLED / "bin" / "python"), "install", "--quiet")
    _python(*pip, "--constraint", str(ROOT / "constraints.txt"), f"{wheel}[embedded,playground]")


def _notes(version: str, wheel: Path) -> str:
    """Return the changelog's newest section, which must be the one of *version*."""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased, *sections = re.split(r"^## (?=\d)", changelog, flags=re.MULTILINE)
    heading, _, notes = sections[0].partition("\n")
    assert wheel.name.split("-")[1] == version, f"bridge --version prints {version}"
    assert heading.split(" - ")[0] == version, f"the changelog's newest section is “{heading}”, the version {version}"
    if tag := os.environ.get("TAG"):
        assert tag == f"v{version}", f"the tag is {tag}, the version {version}"
        assert not unreleased.partition("## Unreleased")[2].strip(), "the changelog has unreleased lines"
    return re.sub(r"\n  (?=\S)", " ", notes.strip()) + "\n"  # GitHub breaks a line where the text does


async def _play() -> None:
    """Ask an agent in a playground of the installed bridge."""
    with tempfile.TemporaryDirectory(prefix="br-") as folder:  # a short path, for Redis's socket
        playground = Playground(Path(folder), ("--no-open",), python=INSTALLED / "bin" / "python")
        try:
            await (await playground.start()).ready(ALICE)
            asked = await playground.do("say", ALICE, channel=GENERAL, text=QUESTION)
            await playground.answered(GENERAL, asked["ts"], ANSWER)
        finally:
            code = await playground.end()
        assert code == 0, f"the playground ended with {code}:\n{playground.text}"
        assert "Traceback" not in playground.text, playground.text


def _sbom(version: str) -> int:
    """Write the SBOM of what is installed; return how many packages it lists."""
    path = DIST / f"slack-project-bridge-{version}.cdx.json"
    _python("cyclonedx_py", "environment", "--pyproject", "pyproject.toml", "--output-file", str(path), str(INSTALLED))
    bom = json.loads(path.read_text(encoding="utf-8"))
    bom["metadata"]["component"]["version"] = version  # pyproject.toml leaves it to bridge/__init__.py
    path.write_text(json.dumps(bom, indent=2) + "\n", encoding="utf-8")
    return len(bom["components"])


def _bridge(*words: str, code: int = 0) -> str:
    """Run the installed ``bridge`` in an empty folder and without settings; return its output."""
    with tempfile.TemporaryDirectory() as folder:
        return _run(str(INSTALLED / "bin" / "bridge"), *words, folder=folder, code=code)


def _python(module: str, *words: str) -> None:
    """Run a *module* of our own environment."""
    _run(sys.executable, "-m", module, *words)


def _run(*command: str, folder: str | Path = ROOT, code: int = 0) -> str:
    """Run it without settings and return its output. Raises AssertionError with that, unless it ends with *code*."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    done = subprocess.run(command, cwd=folder, env=bare_environment(), check=False, **pipes)
    assert done.returncode == code, f"“{' '.join(command)}” ended with {done.returncode}:\n{done.stdout}"
    return done.stdout


def _say(words: str) -> None:
    sys.stdout.write(f"make release-check: {words}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main())
