"""``/approvals``, and the cards of runs that others have to approve."""
