"""Alerts on the statistics and on the bridge's own work: one post when a condition begins to hold, one when it ends."""
