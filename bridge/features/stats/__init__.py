"""``/stats``: the numbers of the project, and how they changed."""
