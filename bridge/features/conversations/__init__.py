"""Conversations in threads: which messages are for an agent, which agent, and what it gets."""
