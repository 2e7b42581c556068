"""Runs both commands of the README on a fresh machine: ``make fresh``.

The machine is a minimal Debian with python3, python3-venv, make and git, built below build/fresh, with the commit that
is checked out. It takes ten minutes, network access, root and debootstrap.

- ``DEBIAN=trixie`` or ``bookworm``: which one
- ``MIRROR=http://…``: where its packages come from; by default this machine's mirror

Everything runs in its own namespaces, so nothing stays mounted or running, however this ends.
"""

# ruff: noqa: S310, S603, S606, S607 - every command and address here is our own
from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import debian

DEBIAN = os.environ.get("DEBIAN") or "trixie"
FOLDER = debian.HERE / "build" / "fresh"
ROOT = FOLDER / DEBIAN
INSIDE = "/root/bridge"
PACKAGES = "python3,python3-venv,make,git"
MOUNTS = (
    ("proc", "proc", "rw"),
    ("sys", "sysfs", "ro"),
    ("dev/pts", "devpts", "newinstance,ptmxmode=0666"),
    ("dev/shm", "tmpfs", "mode=1777"),
)
REAPS = ("sh", "-c", '"$@"; exit $?', "sh")  # a shell as the first process reaps orphans


def main() -> int:
    """Build it and run both commands. Returns the exit code."""
    if "--isolated" not in sys.argv:
        if os.geteuid() != 0:
            return _refused("it needs root, since debootstrap and chroot do: sudo make fresh")
        if missing := [tool for tool in ("debootstrap", "unshare") if not shutil.which(tool)]:
            return _refused(f"it needs {' and '.join(missing)}: apt install debootstrap util-linux")
        os.execvp(debian.ISOLATED[0], [*debian.ISOLATED, *REAPS, sys.executable, __file__, "--isolated"])
    try:
        _build()
        _run()
        _say("make test")
        subprocess.run(_inside("make", "test"), check=True)
    except subprocess.CalledProcessError as exc:
        return _refused(f"“{' '.join(exc.cmd[-2:])}” failed with {exc.returncode} on {DEBIAN}")
    _say(f"Both commands work on a fresh {DEBIAN}.")
    return 0


def _build() -> None:
    _say(f"A minimal {DEBIAN} in build/fresh/{DEBIAN}")
    shutil.rmtree(ROOT, ignore_errors=True)
    debian.install(ROOT, DEBIAN, PACKAGES, FOLDER / f"{DEBIAN}.log")
    (ROOT / "etc/apt/apt.conf.d/99proxy").write_text("\n".join(debian.apt_proxies()))
    for name in ("/etc/resolv.conf", "/etc/hosts", "/etc/pip.conf", debian.CERTIFICATES):
        if Path(name).exists():
            there = ROOT / name.lstrip("/")
            there.parent.mkdir(parents=True, exist_ok=True)
            there.unlink(missing_ok=True)
            shutil.copyfile(name, there)
    for where, kind, options in MOUNTS:
        (ROOT / where).mkdir(exist_ok=True)
        debian.mount(kind, options, ROOT / where)
    subprocess.run(("git", "clone", "--quiet", str(debian.HERE), f"{ROOT}{INSIDE}"), check=True)


def _run() -> None:
    """Start ``make run``, wait until the page responds, then press Ctrl-C."""
    _say("make run")
    began = time.monotonic()
    with (FOLDER / f"{DEBIAN}.run.log").open("w+") as log:
        run = subprocess.Popen(_inside("make", "run"), stdout=log, stderr=log, process_group=0)
        while not (found := re.search(r"http://127\S+(?=\s)", Path(log.name).read_text())):
            if run.poll() is not None:
                raise subprocess.CalledProcessError(run.returncode, ["make", "run"])
            time.sleep(0.2)
        with urllib.request.urlopen(found[0], timeout=10) as page:
            page.read()
        sys.stdout.write(f"The page answers after {time.monotonic() - began:.0f} s.\n")
        os.killpg(run.pid, signal.SIGINT)
        run.wait(60)


def _inside(*command: str) -> list[str]:
    environ = [f"{name}={value}" for name, value in debian.network().items()]
    path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    words = ["chroot", str(ROOT), "env", "-i", "HOME=/root", "LANG=C.UTF-8", path, *environ]
    return [*words, "sh", "-c", f'cd {INSIDE} && exec "$@"', "sh", *command]


def _say(words: str) -> None:
    sys.stdout.write(f"\n== {words}\n")
    sys.stdout.flush()


def _refused(why: str) -> int:
    sys.stderr.write(f"make fresh: {why}\n")
    return 2


if __name__ == "__main__":
    raise SystemExit(main())
