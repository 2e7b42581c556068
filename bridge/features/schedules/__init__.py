"""Scheduled reports: parsing schedules, storing reports, and posting each exactly once."""
