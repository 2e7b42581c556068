"""``!why`` and *Why no answer?*: what happened to one message."""
