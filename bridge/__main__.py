"""The way in: ``bridge`` and ``python -m bridge``."""

from __future__ import annotations

import gc
import os


def main() -> None:
    """Read the command line's code, and run what it was told."""
    # Nothing that is read is garbage; to look for some takes 15 ms of each start.
    gc.disable()
    # Pydantic would let packages that happen to be installed see all that it validates. To look for such plugins,
    # in what every installed package says of itself, takes 15 ms more. https://docs.pydantic.dev/latest/concepts/plugins/
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from bridge.cli import program  # noqa: PLC0415

    gc.freeze()
    gc.enable()
    program()


if __name__ == "__main__":
    main()
