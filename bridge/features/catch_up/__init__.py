"""After an outage: what people said meanwhile is found in Slack's history."""
