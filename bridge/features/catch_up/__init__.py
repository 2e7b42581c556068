"""After an outage: find what people wrote meanwhile in Slack's history."""
