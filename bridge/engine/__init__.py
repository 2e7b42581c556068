"""What carries the features: `dispatch` finds an input's handler, `processor` runs it, `reply_poster` shows its result.

A handler (`feature`) is a coroutine that may run again after a crash. No feature is imported here.
"""
