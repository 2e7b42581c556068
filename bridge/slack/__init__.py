"""What goes out to Slack, only through `post`, which uses `api`, and how it looks: `blockkit` is pure layout."""

EVENTS_PATH = "/slack/events"
"""Where Slack sends all its requests, over HTTP."""
