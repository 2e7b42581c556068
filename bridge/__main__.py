"""The entry point of ``bridge`` and ``python -m bridge``."""

from bridge.cli import program as main

if __name__ == "__main__":
    main()
