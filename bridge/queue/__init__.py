"""The durable core, which knows neither Slack nor the project.

`inbox` stores what arrived, `worker` takes lanes, each with a thread's turns in order, `journal` writes each step of a
turn before its effect, and `turn` is what a handler gets. Each step is one of ``scripts/*.lua``.
"""
