"""What redis-py raises, and what it means here."""

from __future__ import annotations

import pytest
from redis import exceptions

from bridge.errors import ConfigurationError, StoreUnavailable
from bridge.store.connection import connect, translated


@pytest.mark.parametrize(
    ("raised", "reason"),
    [
        (exceptions.ConnectionError("refused"), "away"),
        (exceptions.TimeoutError("slow"), "away"),
        (exceptions.MaxConnectionsError("too many"), "away"),
        (exceptions.BusyLoadingError("Redis is loading the dataset in memory"), "loading"),
        (exceptions.OutOfMemoryError("command not allowed when used memory > 'maxmemory'."), "full"),
        (exceptions.ReadOnlyError("You can't write against a read only replica."), "read-only"),
        (exceptions.AuthenticationError("Authentication required."), "refused"),
        (exceptions.NoPermissionError("this user has no permissions"), "refused"),
        (exceptions.ResponseError("MISCONF Errors writing to the AOF file: No space left on device"), "read-only"),
        (exceptions.ResponseError("ERR Error running script (call to f_1): @user_script: 2: -OOM command"), "full"),
        (exceptions.ResponseError("BUSY Redis is busy running a script."), "loading"),
        (exceptions.MasterDownError("Link with MASTER is down"), "away"),
    ],
)
def test_what_an_operator_can_mend_is_unavailable_with_a_word_for_why(raised: Exception, reason: str) -> None:
    with pytest.raises(StoreUnavailable) as caught, translated():
        raise raised

    assert caught.value.reason == reason
    assert caught.value.__cause__ is raised


@pytest.mark.parametrize(
    "raised",
    [
        exceptions.ResponseError("WRONGTYPE Operation against a key holding the wrong kind of value"),
        exceptions.ResponseError("BUSYGROUP Consumer Group name already exists"),
        exceptions.ResponseError("NOGROUP No such key"),
        exceptions.NoScriptError("No matching script."),
        exceptions.DataError("Invalid input"),
        ValueError("not of Redis"),
    ],
)
def test_what_the_program_must_mend_passes_as_it_is(raised: Exception) -> None:
    with pytest.raises(type(raised)) as caught, translated():
        raise raised

    assert caught.value is raised


def test_an_address_that_cannot_be_read_is_not_shown() -> None:
    with pytest.raises(ConfigurationError) as caught:
        connect("redis://:hidden@h/0?socket_read_size=hidden&max_connections=hidden")

    assert "hidden" not in str(caught.value)
