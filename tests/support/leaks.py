"""A pytest plugin: fail any test that leaks a secret into its output or log."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from support import secrecy


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Search everything captured so far."""
    report = yield
    told = secrecy.secrets_in("".join(text for _, text in report.sections))
    if told and report.passed:
        report.outcome, report.longrepr = "failed", f"a secret is in the output of this test: {', '.join(told)}"
    return report
