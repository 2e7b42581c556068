"""The Bolt listeners: each parses an input, checks access, stores it in the inbox, and acknowledges.

Only menu options and form errors are answered right away; a worker handles all other inputs.
"""
