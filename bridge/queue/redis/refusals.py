"""Why Redis can't be used: what each error of redis-py means, and its cure, in one table.

`bridge serve` logs the line, `bridge check` and the other commands print it.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Collection, Iterator
from typing import Final, NamedTuple

from redis.exceptions import (
    AskError,
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    ClusterDownError,
    ConnectionError as NoConnection,
    InvalidResponse,
    MasterDownError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TimeoutError as NoAnswer,
    TryAgainError,
)

from bridge.errors import StoreUnavailable

Unexpected = ResponseError
"""What `refusal_of` doesn't know: a bug, or what no Redis has said so far (`unexpected`)."""

_LONGEST: Final = 120  # characters of Redis' own message
_ADDRESS: Final = "check the host and port in REDIS_URL"
_UNKNOWN_CURE: Final = "look for this in Redis' log, and check that REDIS_URL leads to the right server and database"
NO_COMMAND: Final = (
    "give it its name back (rename-command in redis.conf), or use Redis 6.2 or later; for a Sentinel, REDIS_URL begins "
    "with redis+sentinel://"
)


class RedisRefusal(NamedTuple):
    """A *reason* of `StoreUnavailable`, by *kinds* of errors or *words* of their messages, with what to do."""

    reason: str
    kinds: tuple[type[Exception], ...]
    words: str
    detail: str
    cure: str


_AWAY: Final = RedisRefusal(
    "away", (NoConnection, NoAnswer), "",
    "can't connect",
    "make sure Redis is running (its log says why it stopped), and check REDIS_URL: host, port, rediss:// for TLS",
)  # fmt: skip

REFUSALS: Final = (
    RedisRefusal("refused", (), "unknown command", "it doesn't have a command that the bridge needs", NO_COMMAND),
    RedisRefusal(
        "refused", (), "DB index is out of range|invalid DB index|SELECT is not allowed",
        "it has no database with this number", "set another one at the end of REDIS_URL, such as /0",
    ),
    RedisRefusal(
        "refused", (), "DENIED", "it's in protected mode, so it accepts only local connections",
        "set a password (requirepass in redis.conf), and add it to REDIS_URL: redis://:password@host:6379/0",
    ),
    RedisRefusal(
        "refused", (InvalidResponse,), "", "what answers isn't Redis", f"{_ADDRESS}: something else listens there",
    ),
    RedisRefusal(
        "away", (ssl.SSLCertVerificationError,), "(?:Hostname|IP address) mismatch",
        "its TLS certificate is for another host",
        "use the certificate's host in REDIS_URL, or add ?ssl_check_hostname=false",
    ),
    RedisRefusal(
        "away", (ssl.SSLCertVerificationError,), "", "its TLS certificate isn't trusted",
        "name the file of the authority that signed it: add ?ssl_ca_certs=/path/to/ca.pem to REDIS_URL",
    ),
    RedisRefusal(
        "away", (ssl.SSLError,), "", "TLS failed",
        "check whether this port of Redis uses TLS (rediss://) or not (redis://), and the options ssl_… in REDIS_URL",
    ),
    RedisRefusal(
        "refused", (), "without any password configured", "it has no password, but REDIS_URL does",
        "remove the password from REDIS_URL, or set it in Redis (requirepass in redis.conf)",
    ),
    RedisRefusal(
        "refused", (AuthenticationError,), "NOAUTH|WRONGPASS", "the user or password is wrong or missing",
        "fix REDIS_URL (redis://user:password@host:6379/0)",
    ),
    # The last words are errors in scripts.
    RedisRefusal(
        "refused", (AuthorizationError, NoPermissionError), "NOPERM|ACL failure|The user executing the script can't",
        "the user lacks permissions", "allow the user all keys and commands in the ACL",
    ),
    # BUSY: another client's script runs for seconds.
    RedisRefusal(
        "loading", (BusyLoadingError,), "LOADING|BUSY", "Redis is still loading its data, or busy with a script",
        "wait until it's done",
    ),
    RedisRefusal(
        "full", (OutOfMemoryError,), "OOM", "Redis is out of memory",
        "raise maxmemory; nothing the bridge stores may be evicted",
    ),
    # MISCONF: the disk is full or broken; writes are refused until that's fixed.
    RedisRefusal(
        "read-only", (ReadOnlyError,), "READONLY|MISCONF|NOREPLICAS", "Redis is read-only right now",
        "check its disk, and whether it has become a replica",
    ),
    RedisRefusal(
        "away", (), "cluster support disabled", "it isn't a cluster",
        "use redis:// in REDIS_URL instead of redis+cluster://",
    ),
    RedisRefusal(
        "away", (MasterDownError,), "MASTERDOWN", "it's a replica that has lost its master",
        "name the master in REDIS_URL, and make sure that it's running",
    ),
    # AskError and its subclass MovedError: the slot is moving to another node.
    RedisRefusal(
        "away", (AskError, ClusterDownError, TryAgainError), "",
        "it's a node of a cluster that is down, or that another node answers for",
        "use redis+cluster:// in REDIS_URL, and check the cluster (CLUSTER INFO)",
    ),
    RedisRefusal(
        "away", (), "no master is known", "no Sentinel or node of the cluster knows a master",
        "check the servers in REDIS_URL, and the name of the Sentinels' master after them",
    ),
    RedisRefusal(
        "away", (), "max number of clients", "it accepts no more clients", "raise maxclients in redis.conf"
    ),
    # UNBLOCKED: a master became a replica while a read waited there. WAIT's error: it became one right after a script,
    # whose writes are lost.
    _AWAY._replace(words="UNBLOCKED|WAIT cannot be used with replica", kinds=()),
    _AWAY._replace(kinds=(socket.gaierror,), detail="can't connect (host name not found)"),
    _AWAY._replace(
        words="Timeout connecting", kinds=(), detail="can't connect (timed out)",
        cure=f"{_ADDRESS}, the network, and that Redis uses TLS if it's rediss://",
    ),
    RedisRefusal(
        "away", (FileNotFoundError, PermissionError), "", "can't connect (a file in REDIS_URL can't be opened)",
        "check the path of the socket, or of the certificates (ssl_ca_certs)",
    ),
    _AWAY._replace(
        words="Connection closed by server", kinds=(), detail="it closed the connection",
        cure=f"use rediss:// in REDIS_URL if it uses TLS, and {_ADDRESS}",
    ),
    _AWAY,
)  # fmt: skip
"""Each way in which Redis may refuse; the first one that fits counts."""

_OF_REASON: Final = {
    **{refusal.reason: refusal for refusal in reversed(REFUSALS)},
    **{refusal.reason: refusal for refusal in REFUSALS if NoPermissionError in refusal.kinds},
    "away": _AWAY,
}

_DENIED: Final = re.compile(r"run the '([\w|-]+)' command|access (?:a|one of the) (key|channel)")
"""What an ACL forbids, in the words of Redis and Valkey."""

# Redis 6 reports an error in a script as "ERR Error running script …: @user_script: 12: -OOM …".
# In a pipeline, redis-py prefixes the command with its arguments, and makes the message a tuple.
_IN_A_PIPELINE: Final = "of pipeline caused error: "


def refusal_of(exc: BaseException) -> StoreUnavailable | None:
    """Return what an error means; None for a bug, such as a key of another type, and for what the caller can fix."""
    errors = list(_causes(exc))
    messages = [str(error).rpartition(_IN_A_PIPELINE)[2].lstrip("(\"'") for error in errors]
    for refusal in REFUSALS:
        has_words = refusal.words and any(
            re.search(rf"(?:^|[\s-])(?:{refusal.words})\b", message) for message in messages
        )
        is_kind = any(isinstance(error, refusal.kinds) for error in errors)
        needs_both = refusal.kinds == (ssl.SSLCertVerificationError,) and refusal.words
        if (is_kind and has_words) if needs_both else (is_kind or (has_words and isinstance(exc, RedisError))):
            return StoreUnavailable(refusal.reason, denied_by(exc), refusal.cure, refusal.detail)
    return None


def unexpected(exc: ResponseError) -> StoreUnavailable:
    """Return what any error means where the bridge can only show it: while it connects, and on the command line."""
    message = " ".join(str(exc).partition(", with args")[0].split())[:_LONGEST]
    return refusal_of(exc) or StoreUnavailable("refused", "", _UNKNOWN_CURE, f"it refused: {message}")


def _causes(exc: BaseException | None) -> Iterator[BaseException]:
    """Yield the error and, of one while connecting, what redis-py has wrapped in it."""
    while exc is not None:
        yield exc
        is_wrapped = isinstance(exc.__context__, OSError)
        wrapped = exc.__cause__ or (exc.__context__ if is_wrapped else None)
        exc = wrapped if isinstance(exc, NoConnection | NoAnswer) else None


def denied_by(exc: BaseException) -> str:
    """Return the name of the command that an ACL denied, ``keys``, ``channels``, or ``""`` if that's unknown."""
    match = _DENIED.search(f"{exc} {exc.__cause__ or ''}")
    if match is None:
        return ""
    return f"{match[2]}s" if match[2] else match[1].replace("|", " ").upper()


def lacks_command(error: StoreUnavailable) -> bool:
    """Whether a command failed because the user may not run it, or the server doesn't have it."""
    return error.denied != "" or error.cure == NO_COMMAND


def denial(denied: Collection[str]) -> str:
    """Say what the Redis user may not do."""
    commands = ", ".join(name for name in denied if name.isupper())
    others = [what for name, what in (("keys", "the bridge's keys"), ("channels", "its channels")) if name in denied]
    return "the user may not " + " or ".join([f"run {commands}"] * bool(commands) + [f"use {what}" for what in others])


def in_words(error: StoreUnavailable) -> tuple[str, str]:
    """Return why Redis can't be used, and what to do about it."""
    if error.denied:
        cure = f"allow it: {error.cure}" if error.cure.startswith("ACL ") else ""
        return denial(error.denied.split(", ")), cure or "allow it in the ACL; bridge check names all that's missing"
    refusal = _OF_REASON.get(error.reason, _AWAY)
    return error.detail or refusal.detail, error.cure or refusal.cure
