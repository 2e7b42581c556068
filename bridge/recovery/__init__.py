"""What Slack couldn't deliver: messages that were missed during an outage are found in Slack's history."""
