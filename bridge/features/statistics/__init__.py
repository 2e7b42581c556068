"""``/stats``: the project's numbers and how they changed."""
