"""``/agents``, and the form to ask an agent."""
