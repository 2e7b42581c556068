"""Who may do what: the rules of the operator's file, and the settings that are rules in short.

`rules` decides, without I/O, and `words` says what rules do.
"""
