"""Fixtures that start real servers."""

from support.processes import private_redis, system  # noqa: F401 - fixtures, found by their names
