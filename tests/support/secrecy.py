"""The secrets used in tests, and the pytest plugin that fails a test if it leaks one into its output or log."""

from __future__ import annotations

from collections.abc import Generator

import pytest

SIGNING_SECRET = "s1gning-secret-of-the-tests"
BOT_TOKEN = "xoxb-token-of-the-tests"
APP_TOKEN = "xapp-token-of-the-tests"
API_KEY = "key-of-the-tests"
REDIS_PASSWORD = "password-of-the-tests"

_ELSEWHERE = ("8f742231b10e8888abcd99yyyzzz85a5", "key-0123456789", "made-up-signing-secret", "xoxb-1-made-up")
SECRETS = (SIGNING_SECRET, BOT_TOKEN, APP_TOKEN, API_KEY, REDIS_PASSWORD, *_ELSEWHERE)


def secrets_in(text: str) -> list[str]:
    """List the secrets in *text*, by their first letters."""
    return [f"{secret[:6]}…" for secret in SECRETS if secret in text]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Fail a test that leaks a secret into its output or log."""
    report = yield
    leaked = secrets_in("".join(text for _, text in report.sections))
    if leaked and report.passed:
        report.outcome, report.longrepr = "failed", f"a secret is in the output of this test: {', '.join(leaked)}"
    return report
