"""Everything about Slack.

In: `guard` over HTTP, and `sockets` in Socket Mode. Out: only `post`, which uses `api`. `blockkit` is pure layout.
"""

EVENTS_PATH = "/slack/events"
"""Where Slack sends all its requests, over HTTP."""
