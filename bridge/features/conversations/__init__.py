"""Conversations in threads: what is for an agent, which agent it goes to, and what is sent."""
