"""Fixtures of these tests."""

from support.edge import say, say_without_files, slack, web  # noqa: F401 - found by their names
