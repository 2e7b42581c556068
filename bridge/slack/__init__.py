"""Everything about Slack.

In: `guard` over HTTP, and `sockets` in Socket Mode. Out: only `post`, which uses `api`. `blockkit` is pure layout.
"""
