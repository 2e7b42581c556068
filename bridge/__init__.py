"""A bridge between a Slack workspace and one project on a workflow-and-agent service."""

__version__ = "1.1.0"

HOME = ""
"""The project's home page (https://…), or ``""``; hatch_build.py derives the package's links from it."""
