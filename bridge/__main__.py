"""The way in: ``bridge`` and ``python -m bridge``."""

from bridge.cli import program


def main() -> None:
    """Run what the command line was told."""
    program()


if __name__ == "__main__":
    main()
