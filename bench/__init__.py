"""Benchmark the bridge against two baselines, in one run on one machine.

``make bench`` takes ten minutes and ``make bench QUICK=1`` one. ``ONLY="acks turns"`` selects scenarios
(`bench.scenarios`); ``FULL=1`` adds a million stored threads.

Method
------

- Each server is a real process, pinned to one core with a real Redis (append-only file, unix socket). The load
  client and the fake Slack and project service share the second core, in one process on uvloop.
- Slack and the service are minimal httptools protocols that return constant JSON (`bench.fakes`). The playground's
  emulator validates every call and would dominate the measurement. The bot has every scope, so that agents speak under
  their own names.
- Requests are signed, as long as Slack's, and sent over keep-alive connections. Every result is checked: each
  message reaches the agent once, in its session, and is answered once, in its thread and in order; each
  acknowledged message is in Redis. A scenario that fails a check reports nothing else, and the run exits with 1.
- Servers are compared in alternation, A B A B. The figure is the median ratio of neighbouring measurements, so a
  slow spell affects both. Compare only ratios between machines.
- *bare* is an empty Bolt app on the bridge's server (uvicorn, uvloop, httptools). *naive* is an obvious 80-line
  implementation with every library's defaults, on uvicorn, the faster of Bolt's servers.

The closed loops send replies without a mention, in threads with a session. In the burst, each message starts a
thread and is delivered once; a separate figure covers mentions, which Slack delivers as two events.

Findings
--------

- A quarter of a turn goes into socket writes. The best savings come from fewer Redis round trips, or from batching
  those of several lanes.
- Bolt's dispatch, its adapter and its second JSON parse take a third of an acknowledgement; httpx on top of aiohttp
  takes a fifth of a turn, and redis-py's Python parser an eighth.
- The Lua scripts are cheap: a turn runs four, which take 0.1 ms of Redis in total.
- After a crash between posting and the next step, the successor reads the thread. This fake Slack has no history, so
  servers in the middle of turns are shut down cleanly when others continue their work.
"""
