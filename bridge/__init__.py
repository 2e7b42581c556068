"""A bridge between a Slack workspace and one project on a workflow-and-agent service."""

__version__ = "0.1.0"
