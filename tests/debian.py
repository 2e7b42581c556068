"""A minimal Debian in a folder, made by debootstrap, for `tests/fresh.py` and `tests/image.py`. Needs root."""

# ruff: noqa: S603, S607 - every command here is our own
from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

HERE = Path(__file__).parents[1]
ISOLATED = ("unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc")
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
_READ_BY = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "NODE_EXTRA_CA_CERTS")
_NETWORK = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "PIP_INDEX_URL")


def install(root: Path, release: str, packages: str, log: Path) -> None:
    """Install *release* into *root*, with *packages* (comma-separated). Raises `subprocess.CalledProcessError`.

    Packages come from ``MIRROR``, by default this machine's own mirror.
    """
    root.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as writing:
        debootstrap = ("debootstrap", "--variant=minbase", f"--include={packages}", release, str(root), *_mirror())
        subprocess.run(debootstrap, check=True, stdout=writing, stderr=writing)


def mount(kind: str, options: str, where: Path) -> None:
    """Mount a file system of a *kind*. Raises `subprocess.CalledProcessError`."""
    subprocess.run(("mount", "-t", kind, "-o", options, kind, str(where)), check=True)


def network() -> dict[str, str]:
    """The variables for this machine's network access."""
    environ = {name: os.environ[name] for name in _NETWORK if name in os.environ}
    return {**environ, **dict.fromkeys(_READ_BY, CERTIFICATES)} if Path(CERTIFICATES).exists() else environ


def output_of(*command: str) -> list[str]:
    """The output lines of *command*, even if it fails."""
    return subprocess.run(command, check=False, capture_output=True, text=True).stdout.splitlines()


def _mirror() -> list[str]:
    if mirror := os.environ.get("MIRROR"):
        return [mirror]
    targets = output_of("apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI)", "Created-By: Packages")
    found = [uri for origin, _, uri in (line.partition(" ") for line in targets) if origin == "Debian"]
    return [uri for uri in found if "security" not in uri][:1]  # none: debootstrap has one of its own


def apt_proxies() -> list[str]:
    """The proxy lines of this machine's apt configuration."""
    return [line for line in output_of("apt-config", "dump") if re.match("(?i)Acquire::https?::Proxy ", line)]
