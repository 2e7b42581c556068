"""What the bridge does for people: a folder for each feature, one line for each in `registry`.

A handler (`feature`) is a coroutine that may run again; `turns` runs it, and `reply_poster` shows what it returns.
"""
