"""The benchmark: the bridge beside two baselines, in one run, on one machine.

``make bench`` measures everything in five minutes, ``make bench QUICK=1`` takes a glance in one, ``make bench
ONLY="acks turns"`` the named scenarios (`bench.scenarios`), and ``FULL=1`` adds a million stored threads.

How it is measured
------------------

- Servers are real processes, pinned to one core together with a real Redis (append-only file on, unix socket).
  The load client, Slack and the project service share the second core, in one process on uvloop.
- Slack and the service are two protocols on httptools that answer constant JSON (`bench.fakes`), not the emulator
  of the playground, which checks what Slack checks and would be what is measured.
- Requests are signed, as long as Slack's, over keep-alive connections. Every answer is checked: each message
  reaches the agent once, in its session, and is answered once, in its thread, in order; each message that was
  acknowledged is found in Redis. A scenario in which that fails has no
  other figure, and the run ends with an error.
- What is compared is measured in turns, A B A B, and the figure is the median of the ratios of neighbours: a
  machine that is slower for a while is slower for both. Only ratios can be compared between machines.
- *bare* is a Bolt app that does nothing, on the bridge's server (uvicorn, uvloop, httptools). *naive* is what one
  writes oneself in 80 lines, each library as it comes. It runs on uvicorn, which is the faster of Bolt's servers.

Messages in the closed loops are replies without a mention, in threads that have their session. In the burst each
begins a thread, delivered once; that Slack delivers a mention as two events is measured beside it.

What was found
--------------

- A quarter of a turn is spent in writes to sockets. What saves round trips to Redis, or joins those of several
  lanes, saves most.
- Bolt's dispatch, its adapter and its second look at the JSON are a third of an acknowledgement; httpx around
  aiohttp is a fifth of a turn; redis-py's parser in Python is an eighth.
- The scripts themselves are cheap: 0.1 ms of Redis for a turn, in four of them.
- A process that is killed between its post and the step after it makes the next one look into the thread. The Slack
  here has no history, so that servers in the middle of turns are stopped in peace where others go on.
"""
