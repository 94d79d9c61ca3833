"""For every test in Python: a file whose tests were all skipped has checked nothing, and says why."""
import pytest

reasons = []
passed = []


def pytest_runtest_logreport(report):
    if report.skipped:
        reasons.append(report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr))
    elif report.when == "call":
        passed.append(report.nodeid)


def pytest_collectreport(report):
    if report.skipped:
        reasons.append(report.longrepr[2])


def pytest_sessionfinish(session, exitstatus):
    if exitstatus == pytest.ExitCode.OK and not passed:
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED


def pytest_unconfigure(config):
    if reasons and not passed:
        print("\nskipped: " + "; ".join(dict.fromkeys(r.removeprefix("Skipped: ") for r in reasons)))
