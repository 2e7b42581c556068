"""The edge to Slack: what comes in over HTTP, and the only way out."""
