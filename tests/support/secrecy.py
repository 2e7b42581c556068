"""The secrets used in tests, and a search for leaks."""

from __future__ import annotations

SIGNING_SECRET = "s1gning-secret-of-the-tests"
BOT_TOKEN = "xoxb-token-of-the-tests"
APP_TOKEN = "xapp-token-of-the-tests"
CONFIG_TOKEN = "xoxe.xoxp-1-configuration-of-the-tests"
API_KEY = "key-of-the-tests"
REDIS_PASSWORD = "password-of-the-tests"

_ELSEWHERE = ("8f742231b10e8888abcd99yyyzzz85a5", "key-0123456789", "made-up-signing-secret", "xoxb-1-made-up")
SECRETS = (SIGNING_SECRET, BOT_TOKEN, APP_TOKEN, CONFIG_TOKEN, API_KEY, REDIS_PASSWORD, *_ELSEWHERE)


def secrets_in(text: str) -> list[str]:
    """List the secrets in *text*, by their first letters."""
    return [f"{secret[:6]}…" for secret in SECRETS if secret in text]
