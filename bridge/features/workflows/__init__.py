"""``/workflows``, the form to run one, and the run cards."""
