"""How the place where a command looks is named."""

from __future__ import annotations

import pytest

from bridge.ops.whereabouts import place_of


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("redis://localhost", "redis://localhost"),
        ("rediss://user:pass-word@host:6380/2?ssl_ca_certs=/ca.pem", "rediss://host:6380/2"),
        ("redis://:p%40ss@[::1]:6379/0", "redis://[::1]:6379/0"),
        ("unix:///run/redis.sock?password=pass-word", "unix:///run/redis.sock"),
        ("unix://user:pass-word@/run/redis.sock", "unix:///run/redis.sock"),
        (
            "redis+sentinel://user:pass-word@s1,s2:26380/main/0?sentinel_password=pass-word",
            "the master main of Sentinels s1:26379, s2:26380",
        ),
        ("rediss+cluster://user:pass-word@n1,n2:6380", "the cluster n1:6379, n2:6380"),
    ],
)
def test_a_redis_is_named_without_its_user_and_password(url: str, place: str) -> None:
    assert place_of(url) == place
