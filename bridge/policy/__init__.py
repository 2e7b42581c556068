"""Who may do what, and how often: the tables of the operator's file, and the settings that are these in short.

`rules` judges and `limits` says what counts, without I/O; `policy` reads the facts that they turn on. `words` says what
rules do.
"""
