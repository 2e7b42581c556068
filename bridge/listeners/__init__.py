"""The Bolt listeners: each parses what came in, asks who may, puts it into the inbox, and acknowledges.

Only the options of a menu, and what is wrong with a form, are answered at once; handlers do the rest, in a worker.
"""
