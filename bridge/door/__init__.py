"""What comes in: `guard` checks requests over `http`, `sockets` opens Socket Mode, `listeners` parse and store.

Nothing here names a feature: what there is follows from `bridge.features.registry`.
"""
