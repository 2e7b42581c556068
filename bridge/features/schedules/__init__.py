"""Scheduled reports, questions and runs: parsing schedules, storing them, and starting each slot once."""
