"""The durable core: it knows neither Slack nor the project.

`inbox` stores what came in, and `worker` takes lanes, each a thread's turns in order. `journal` writes each step of a
turn before the effect that it stands for; `turn` is what a handler gets. Each step is one of ``scripts/*.lua``.
"""
