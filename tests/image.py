"""Builds the Dockerfile's image and tries it: ``make image``.

buildah needs no daemon and, on a base made by debootstrap, no image registry. The image then runs like in
docker-compose.yml, as far as possible without an engine: with its own user, a read-only file system except /tmp, no
capabilities and no new privileges, between the emulated Slack, the sample project and a Redis. Needs root.

- ``BASE=python:3.13.9-slim-trixie``: another base, from a registry
- ``MIRROR=http://…``: where Debian's packages come from; by default this machine's mirror
"""

# ruff: noqa: S603, S607 - every command and address here is our own
from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import debian
from support.ports import free_port
from support.real_redis import server_program

FOLDER = debian.HERE / "build" / "image"
LOG = FOLDER / "tried.log"
STORAGE = ("--storage-driver", "vfs", "--root", str(FOLDER / "storage"), "--runroot", str(FOLDER / "run"))
OURS = "localhost/debian-python"
IMAGE = "localhost/bridge"
UID = "10001"
SECONDS = 60


def main() -> int:
    """Build it and try it. Returns the exit code."""
    if missing := [tool for tool in ("buildah", "debootstrap", "unshare", "setpriv") if not shutil.which(tool)]:
        _say(f"Skipped: this machine has no {' and no '.join(missing)}. On Debian: apt install buildah debootstrap")
        return 0
    if os.geteuid() != 0:
        return _failed("it needs root, since debootstrap and chroot do: sudo make image")
    if "--isolated" not in sys.argv:
        os.execvp(debian.ISOLATED[0], [*debian.ISOLATED, sys.executable, __file__, "--isolated"])  # noqa: S606 - as above
    LOG.unlink(missing_ok=True)
    try:
        base = os.environ.get("BASE") or _base()
        began = time.monotonic()
        _build(base)
        _say(f"Built {IMAGE} on {base} in {time.monotonic() - began:.0f} s. Trying it …")
        for line in _try(_read_only_root()):
            _say(line)
    except subprocess.CalledProcessError as exc:
        return _failed(f"“{' '.join(map(str, exc.cmd))}” failed with {exc.returncode}")
    except (AssertionError, TimeoutError) as exc:
        return _failed(str(exc))
    return 0


def _base() -> str:
    """Build a base of Debian's own Python, unless it exists."""
    if (
        subprocess.run(
            ("buildah", *STORAGE, "inspect", "--type", "image", OURS), check=False, capture_output=True
        ).returncode
        == 0
    ):
        return OURS
    _say("A minimal Debian with Python, as the base …")
    root = FOLDER / "debian"
    shutil.rmtree(root, ignore_errors=True)
    debian.install(root, "trixie", "python3,python3-venv,ca-certificates", FOLDER / "debian.log")
    container = _buildah("from", "scratch")
    _buildah("add", container, str(root), "/")
    _buildah("commit", "--rm", container, OURS)
    shutil.rmtree(root)
    return OURS


def _build(base: str) -> None:
    """Build the Dockerfile, with packages from this machine's pip sources."""
    mounted = [f"--volume={name}:{name}:ro" for name in ("/etc/pip.conf", debian.CERTIFICATES) if Path(name).exists()]
    arguments = [f"--build-arg={name}={value}" for name, value in debian.network().items()]
    _buildah("bud", "--isolation", "chroot", "--from", base, *mounted, *arguments, "--tag", IMAGE, str(debian.HERE))


def _read_only_root() -> Path:
    """Mount the image like Compose: read-only, with /tmp in memory and /proc."""
    root = Path(_buildah("mount", _buildah("from", "--pull-never", IMAGE)))
    for kind, options, name in (("proc", "ro", "proc"), ("tmpfs", "mode=1777", "tmp"), ("tmpfs", "mode=0755", "dev")):
        debian.mount(kind, options, root / name)
    for name in ("dev/null", "dev/urandom", "etc/resolv.conf", "etc/hosts"):
        (root / name).touch()
        subprocess.run(("mount", "--bind", f"/{name}", str(root / name)), check=True)
    subprocess.run(("mount", "--bind", str(root), str(root)), check=True)
    subprocess.run(("mount", "-o", "remount,bind,ro", str(root)), check=True)
    return root


def _inside(root: Path, *command: str, **environ: str) -> list[str]:
    """The command line that runs *command* in the image with the rights that Compose gives it."""
    image_path = next(line for line in _config("Env") if line.startswith("PATH="))
    variables = [image_path, "PYTHONUNBUFFERED=1", *(f"{name}={value}" for name, value in environ.items())]
    rights = ("setpriv", "--reuid", UID, "--regid", UID, "--clear-groups", "--bounding-set=-all", "--no-new-privs")
    # Rights are dropped inside, since entering needs one.
    return ["unshare", f"--root={root}", "env", "-i", *variables, *rights, "--inh-caps=-all", *command]


def _try(root: Path) -> Iterator[str]:
    """Run the image's command between stand-ins. Yields the results; raises AssertionError and TimeoutError."""
    slack, project, redis, port = (str(free_port()) for _ in range(4))
    users = [line.split(":") for line in (root / "etc/passwd").read_text().splitlines()]
    assert _config("User") == [next(name for name, _, uid, *_ in users if uid == UID)], "the image runs as another user"
    with ExitStack() as stack:
        module = (sys.executable, "-m")
        stack.enter_context(_running(server_program(), "--port", redis, "--save", "", "--dir", str(FOLDER)))
        stack.enter_context(
            _running(*module, "bridge.playground.sample_project", "--port", project, "--api-key", "key")
        )
        events = f"http://127.0.0.1:{port}/slack/events"
        people = stack.enter_context(
            _running(*module, "bridge.playground.emulator", "--port", slack, "--events-url", events)
        )
        environ = {
            "SLACK_BOT_TOKEN": "xoxb-playground",
            "SLACK_SIGNING_SECRET": "playground-signing-secret",
            "SLACK_API_URL": f"http://127.0.0.1:{slack}/api/",
            "PROJECT_BASE_URL": f"http://127.0.0.1:{project}",
            "PROJECT_API_KEY": "key",
            "REDIS_URL": f"redis://127.0.0.1:{redis}/0",
            "BRIDGE_PORT": port,
        }
        bridge = stack.enter_context(_running(*_inside(root, *_config("Cmd"), **environ)))
        _until(lambda: _is_ready(port), "the bridge is ready")
        yield f"ready as uid {_status(bridge, 'Uid')}, with capabilities {_status(bridge, 'CapEff')}"
        written = subprocess.run(_inside(root, "touch", "/opt/bridge/x"), check=False, capture_output=True, text=True)
        assert "Read-only file system" in written.stderr, f"the file system can be written to: {written.stderr}"
        yield "its file system is read-only"
        assert people.stdin is not None
        _tell(people, "say U0ALICE C0GENERAL <@U0BRIDGE> 1: hello")
        _until(lambda: _has_answered(people), "a mention is answered")
        yield "a mention is answered"
        bridge.send_signal(signal.SIGTERM)
        assert bridge.wait(SECONDS) == 0, f"it ended with {bridge.returncode}"
        yield "it ends gracefully"


@contextmanager
def _running(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    with LOG.open("ab") as log:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def _is_ready(port: str) -> bool:
    try:
        return bool(urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=2).status == 200)
    except OSError:
        return False


def _tell(people: subprocess.Popen[bytes], line: str) -> None:
    assert people.stdin is not None
    people.stdin.write(f"{line}\n".encode())
    people.stdin.flush()


def _has_answered(people: subprocess.Popen[bytes]) -> bool:
    """Whether the log shows a message of the bridge in the channel, now or at the next call."""
    _tell(people, "show C0GENERAL")
    return re.search(r"^[\d.]+ [\d.]+ U0BRIDGE \S", LOG.read_text(), re.MULTILINE) is not None


def _until(holds: object, what: str) -> None:
    assert callable(holds)
    end = time.monotonic() + SECONDS
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not within {SECONDS} s; see {LOG}")
        time.sleep(0.2)


def _status(process: subprocess.Popen[bytes], name: str) -> str:
    """A line of the process's /proc/PID/status."""
    found = re.search(rf"^{name}:\t(\S+)", Path(f"/proc/{process.pid}/status").read_text(), re.MULTILINE)
    return found[1] if found else ""


def _config(name: str) -> list[str]:
    """The image's configuration under *name*."""
    template = "{{range .OCIv1.Config." + name + "}}{{.}}\n{{end}}" if name != "User" else "{{.OCIv1.Config.User}}"
    return _buildah("inspect", "--type", "image", "--format", template, IMAGE).split("\n")


def _buildah(*words: str) -> str:
    """Run buildah and return its output; its log is in build/image. Raises `subprocess.CalledProcessError`."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "buildah.log").open("ab") as log:
        done = subprocess.run(("buildah", *STORAGE, *words), check=True, stdout=subprocess.PIPE, stderr=log, text=True)
    return done.stdout.strip()


def _say(words: str) -> None:
    sys.stdout.write(f"make image: {words}\n")
    sys.stdout.flush()


def _failed(why: str) -> int:
    sys.stderr.write(f"make image: {why}\n")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
