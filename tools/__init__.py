"""Makers of pictures: ``python -m tools.screens``, ``python -m tools.screenshot``. They share tests/support."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))
