"""Conversations in threads: which messages are for an agent, which agent answers, and what it receives."""
