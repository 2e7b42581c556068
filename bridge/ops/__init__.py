"""What an operator asks for: the app manifest for Slack, and whether all that is configured works."""
