"""Upgrade: the release before, which ``before.txt`` names by its commit, and this one on one Redis.

``make upgrade`` runs `upgrade.cases`: either queues work, is killed, and the other one continues; then both serve at
once while they are killed. Slack, the service and what is asserted are outside of both. No lease is ended by force.
"""
