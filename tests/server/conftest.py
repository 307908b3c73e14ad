"""The servers of the tests. Each stops at the end of whoever asked for it; what it logged stands beside a failure."""
import contextlib

import pytest
import support


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        for server in support.running_servers:
            report.sections.append((f"log of the server on port {server.port}", "\n".join(server.lines[-40:])))


@pytest.fixture(scope="session")
def server():
    """One for all tests that change nothing that others see: no limit of rate, otherwise as it comes."""
    with support.serving("--webhook-host", "127.0.0.1:1", "--max-jobs-kept", "10000") as running:
        yield running


@pytest.fixture
def serve():
    """serve("--max-queue", 1) starts a server that stops with the test."""
    with contextlib.ExitStack() as stack:
        yield lambda *options, **more: stack.enter_context(support.serving(*options, **more))


@pytest.fixture(scope="session")
def piece(server):
    """A finished job that tests may read and must not change."""
    return server.make(prompt="a short piece for readers", duration=1.0, seed=7, title="for readers")
