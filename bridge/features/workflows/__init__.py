"""``/workflows``, the form to run a workflow, and the run cards."""
