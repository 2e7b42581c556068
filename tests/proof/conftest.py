"""Shared fixtures."""

from support.slack_fixtures import emulated, slack_web  # noqa: F401 - found by their names
