"""``/project``."""
