"""``/workflows``, the form to run one, and the cards of runs."""
