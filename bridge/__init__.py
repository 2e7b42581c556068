"""A bridge between a Slack workspace and one project on a workflow-and-agent service."""

__version__ = "1.0.0"

HOME = ""
"""The project's address (https://…), once it has one; hatch_build.py makes the package's links from it."""
