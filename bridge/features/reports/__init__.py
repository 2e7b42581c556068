"""Scheduled reports: schedules (pure), how they're stored, and how each is posted exactly once."""
