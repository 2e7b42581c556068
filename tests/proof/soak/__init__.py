"""Soak test: people talk for ten minutes while bridges are killed and Slack, the service and Redis fail.

``make soak`` prints a table and exits with 1 if a promise was broken. ``SECONDS=120`` shortens it, ``SEED=…`` repeats
a run's random choices, and ``SWEEP=1`` instead kills bridges at every point, on each passage (`support.kill_runs`).
"""
