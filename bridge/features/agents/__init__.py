"""``/agents``, the form to ask one, and default agents."""
