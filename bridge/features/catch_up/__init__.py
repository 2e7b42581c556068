"""Find messages that were missed during an outage in Slack's history."""
