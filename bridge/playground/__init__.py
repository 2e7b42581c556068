"""A Slack workspace and a project service that are not there: the bridge reaches them over HTTP only.

Nothing here imports what the bridge is made of. An emulator that shares code with what it tests proves nothing.
"""
