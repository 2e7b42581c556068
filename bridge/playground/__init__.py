"""An emulated Slack workspace and a sample project service, which the bridge reaches over HTTP only.

Nothing here imports the rest of `bridge`: an emulator that shares code with what it tests proves nothing.
"""
