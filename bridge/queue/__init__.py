"""The durable core, which calls neither Slack nor the project service.

`inbox` stores messages as turns; `worker` takes lanes, each with a thread's turns in order; `journal` has the object
that handlers get, and writes each step of a turn before its effect. Each step is one script in ``scripts/``.
"""
