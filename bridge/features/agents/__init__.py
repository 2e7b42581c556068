"""``/agents``, the form to ask one, and who answers in a channel."""
