"""What the plugin does while pytest runs; it costs nothing before a test uses the fixture."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Final

import pytest

from .options import OPTIONS, option

if TYPE_CHECKING:
    from .fixture import Asking
    from .suite import Suite

_NAME: Final = "judgeharness-session"
_ATTACHED: Final = "judgeharness"  # results, on a test's report
_NOT_GRADED: Final = "judgeharness_not_graded"
_MARKER: Final = (
    "judgeharness(preset=, shape=, perturbations=, repetitions=, aggregation_rule=, calibration=, certificate=, "
    "passport=, on_abstain=, max_calls=, min_consistency=, ...): how the fixture `judgeharness` measures; the keys of "
    "`harness:` in configuration files. Markers of modules, classes and tests add up, the nearest wins."
)


def start(config: pytest.Config) -> None:
    """Declare the marker and watch the session; options are checked at once where there are any."""
    config.addinivalue_line("markers", _MARKER)
    hooks = Hooks(config)
    config.pluginmanager.register(hooks, _NAME)
    if hooks.configured:
        hooks.suite()


def asking(request: pytest.FixtureRequest) -> Asking:
    """Return what a test asks judges with."""
    from .fixture import Asking as Fixture  # noqa: PLC0415 - loads late

    hooks: Any = request.config.pluginmanager.get_plugin(_NAME)
    return Fixture(request.node, hooks.suite())


class Hooks:
    """The hooks of one session, in the process that reports or in a worker of pytest-xdist."""

    def __init__(self, config: pytest.Config) -> None:
        """Wait for the first result."""
        self._config = config
        self._suite: Suite | None = None
        self._order: list[str] = []
        self._asks: list[str] = []  # tests that use the fixture

    @property
    def configured(self) -> bool:
        """Whether options say what is wanted of the session."""
        return any(option(self._config, entry.name) is not None for entry in OPTIONS)

    @property
    def _worker(self) -> dict[str, Any] | None:
        """What the worker tells in the end; None in the process that reports."""
        output: dict[str, Any] | None = getattr(self._config, "workeroutput", None)
        return output

    def suite(self) -> Suite:
        """Return the measurements of the session; their options are read at first use."""
        if self._suite is None:
            from .suite import Suite as Measured  # noqa: PLC0415

            self._suite = Measured.of(self._config)
        return self._suite

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note the order of tests, and check their markers before anything is asked."""
        self._order = [item.nodeid for item in session.items]
        self._asks = [item.nodeid for item in session.items if "judgeharness" in getattr(item, "fixturenames", ())]
        marked = [item for item in session.items if item.get_closest_marker("judgeharness") is not None]
        if marked and self._worker is None:  # a worker that fails here is restarted for ever: its tests say it instead
            for item in marked:
                self.suite().check_markers(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Where options ask for a report or a gate, take in what any harness measures, not the fixture's alone."""
        if not self.configured:
            return (yield)
        with self.suite().listening(item.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Say on a test's report what was not graded; a worker sends its results with it."""
        report = yield
        if self._suite is not None:
            if self._suite.is_not_graded(call.excinfo):
                setattr(report, _NOT_GRADED, True)
            if self._worker is not None:
                setattr(report, _ATTACHED, self._suite.sent())
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the results a worker sent."""
        if self._worker is None and (lines := getattr(report, _ATTACHED, None)):
            self.suite().receive(report.nodeid, lines)
        if report.skipped and self._suite is not None:
            self._suite.skipped.add(report.nodeid)

    def pytest_report_teststatus(
        self, report: pytest.CollectReport | pytest.TestReport, config: pytest.Config
    ) -> tuple[str, str, str | Mapping[str, bool]] | None:
        """Count a test whose judge gave no verdict among the errors, not among the failures."""
        quiet = config.getoption("langsmith_output", default=False)  # which shows a table instead
        return ("error", "E", "ERROR") if getattr(report, _NOT_GRADED, False) and not quiet else None

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Write the reports and check the gates; a worker says which tests asked a judge."""
        if self._worker is not None:
            self._worker[_ATTACHED] = self._asks
        elif (
            self._suite is not None
            and exitstatus != pytest.ExitCode.USAGE_ERROR
            and not session.config.option.collectonly
        ):
            ending = self._suite.finish(self._order, self._asks, interrupted=exitstatus == pytest.ExitCode.INTERRUPTED)
            if session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = ending

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Show what the session's judges came to."""
        if self._suite is None or not self._suite.worth_showing:
            return
        from .suite import summary_lines  # noqa: PLC0415

        terminalreporter.section("judgeharness")
        for line in summary_lines(self._suite, width=terminalreporter._tw.fullwidth):  # noqa: SLF001 - nothing public says it
            terminalreporter.line(line)

    def pytest_unconfigure(self) -> None:
        """Leave nothing behind."""
        if self._suite is not None:
            self._suite.close()

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of pytest-xdist where calls are counted."""
        if option(self._config, "max_calls") is not None or option(self._config, "config") is not None:
            node.workerinput[_ATTACHED] = self.suite().shared_calls()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Note the order of tests, which workers collected."""
        self._order = ids

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Learn from a worker that came to its end which tests use the fixture."""
        self._asks = getattr(node, "workeroutput", {}).get(_ATTACHED, self._asks)
