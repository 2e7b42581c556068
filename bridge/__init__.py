"""A bridge between a Slack workspace and one project on a workflow-and-agent service."""

__version__ = "1.0.0"

HOME = ""
"""The project's address, once it has one: https://…. The package's links follow from it (hatch_build.py)."""
