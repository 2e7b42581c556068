"""Shared fixtures."""

from support.emulated import emulated, slack_web  # noqa: F401 - found by their names
