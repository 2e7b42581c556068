"""The soak: people talk for ten minutes with bridges that are killed, through a Slack, a service and a Redis that fail.

``make soak`` prints a table and ends with 1 where a promise was broken. ``SECONDS=120`` makes it shorter, ``SWEEP=1``
kills bridges at every single passage of every point instead (see `support.lives`), ``SEED=…`` repeats the choices.
"""
