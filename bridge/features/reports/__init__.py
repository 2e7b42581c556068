"""Scheduled reports: when one is due (pure), who keeps them, and how each is posted exactly once."""
