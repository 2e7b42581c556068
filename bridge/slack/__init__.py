"""The edge to Slack.

In: `guard` over HTTP and `sockets` in Socket Mode. Out: `post`, the only way, over `api`. `blockkit` is pure layout.
"""
