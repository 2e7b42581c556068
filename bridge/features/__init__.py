"""The bridge's features: a folder for each, and a line for each in `registry`.

A handler (`feature`) is a coroutine that may run again; `turns` runs it, and `reply_poster` shows its result.
"""
