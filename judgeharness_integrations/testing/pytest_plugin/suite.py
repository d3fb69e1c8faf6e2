"""The measurements of one session: recorded in each process, reported and gated once."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from judgeharness_integrations._errors import JudgeHarnessError, NotGradedError, UsageError
from judgeharness_integrations.judging.prices import prices_of
from judgeharness_integrations.judging.recording import asked_by, case_texts, recording
from judgeharness_integrations.redacting import redactor
from judgeharness_integrations.testing.pytest_plugin.ending import Ending, check_writable, ended
from judgeharness_integrations.testing.pytest_plugin.fixture import (
    Designer,
    calls_allowed,
    check_shareable,
    marker_keys,
    session_budget,
)
from judgeharness_integrations.testing.pytest_plugin.records import Record, as_line, from_line
from judgeharness_integrations.testing.pytest_plugin.settings import Settings

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.result import HarnessResult
    from judgeharness_integrations.analysis.runs.report import OnAbstain
    from judgeharness_integrations.judging.cases import Case

_ON_ABSTAIN: dict[str, OnAbstain] = {"fail": "failure", "skip": "skipped", "pass": "passed"}


class Suite:
    """Everything judges were asked in a session.

    Attributes:
        settings: the options.
        designer: makes harnesses of options and markers.
        skipped: tests that were skipped, which owe no result.
        silent: number of tests that use the fixture and gave no result; known at the end.
        lost: why results of workers could not be read.
        ending: report, gates and files; None before the end, and without results.
        gates_unchecked: there are gates, and nothing was measured; known at the end.

    """

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        """Take the options; nothing is asked."""
        worker: dict[str, Any] | None = getattr(config, "workerinput", None)
        counted_in = None if worker is None else worker.get("judgeharness")
        budget = session_budget(settings.file, settings.max_calls, counted_in=counted_in)
        if worker is None:
            for path in settings.outputs:
                check_writable(path)
        self.settings = settings
        self.designer = Designer(file=settings.file, design=settings.design, root=config.rootpath, budget=budget)
        self.skipped: set[str] = set()
        self.silent = 0
        self.lost: list[str] = []
        self.ending: Ending | None = None
        self.gates_unchecked = False
        self._records: list[Record] = []
        self._sent = 0
        self._listens = False
        self._shared: Path | None = None

    @classmethod
    def of(cls, config: pytest.Config) -> Suite:
        """Return the suite of a session.

        Raises:
            pytest.UsageError: an option cannot be used; pytest ends with exit code 4.

        """
        try:
            suite = cls(config, Settings.of(config))
            suite.designer.harness({})
        except UsageError as error:
            raise pytest.UsageError(f"judgeharness: {error}") from error
        return suite

    def check_markers(self, item: pytest.Item) -> None:
        """Refuse a test's markers that make no harness, before anything is asked.

        Raises:
            pytest.UsageError: pytest ends with exit code 4.

        """
        try:
            self.designer.harness(marker_keys(item))
        except JudgeHarnessError as error:
            raise pytest.UsageError(f"judgeharness: {error}") from error

    def record(self, test: str, result: HarnessResult, case: Case, *, with_texts: bool) -> None:
        """Keep a result of the fixture for the report, unless every result of the test is kept anyway."""
        if not self._listens:
            self._keep(test, result, redactor().data(case_texts(case)) if with_texts else {})

    @contextmanager
    def listening(self, test: str) -> Iterator[None]:
        """Keep every measurement that is made while a test runs, those of migrated evaluators too."""
        self._listens = True
        try:
            with recording(lambda result, texts: self._keep(test, result, texts)):
                yield
        finally:
            self._listens = False

    def _keep(self, test: str, result: HarnessResult, texts: Mapping[str, str]) -> None:
        self._records.append(Record(result=replace(result, test=test), texts=texts))

    def is_not_graded(self, raised: pytest.ExceptionInfo[BaseException] | None) -> bool:
        """Return whether a test ended because its judge gave no verdict."""
        return raised is not None and raised.errisinstance(NotGradedError)

    def sent(self) -> list[str]:
        """Return the results that were not sent yet."""
        lines = [as_line(record) for record in self._records[self._sent :]]
        self._sent = len(self._records)
        return lines

    def receive(self, test: str, lines: Sequence[str]) -> None:
        """Take results of a worker's test."""
        for line in lines:
            try:
                self._records.append(from_line(line, folder=self.settings.file.folder))
            except UsageError as error:
                self.lost.append(f"{test}: a result of a worker cannot be read: {error}")

    def shared_calls(self) -> str | None:
        """Return the file in which workers count their calls; None without a limit.

        Raises:
            pytest.UsageError: something else is limited.

        """
        try:
            check_shareable(self.settings.file)
        except UsageError as error:
            raise pytest.UsageError(f"judgeharness: {error}") from error
        if calls_allowed(self.settings.file, self.settings.max_calls) is None:
            return None
        if self._shared is None:
            self._shared = Path(tempfile.mkdtemp(prefix="judgeharness-"))
            (self._shared / "calls").write_text("0", encoding="ascii")
        return str(self._shared / "calls")

    @property
    def calls(self) -> tuple[int, int | None]:
        """How many attempts were made, and how many were allowed."""
        shared, budget = self._shared, self.designer.budget
        spent = budget.spent if shared is None else int((shared / "calls").read_text(encoding="ascii"))
        return spent, budget.max_calls

    @property
    def worth_showing(self) -> bool:
        """Whether a judge was to be asked, or gates were to be checked."""
        return self.ending is not None or self.silent > 0 or bool(self.lost) or self.gates_unchecked

    def finish(self, order: Sequence[str], asking: Sequence[str], *, interrupted: bool) -> pytest.ExitCode:
        """Report everything in the order of tests; return what the session comes to.

        Args:
            order: all tests, as they were collected.
            asking: the tests that use the fixture.
            interrupted: the session was.

        """
        place = {test: number for number, test in enumerate(order)}
        self._records.sort(key=lambda record: place.get(record.test, len(place)))
        heard = {record.test for record in self._records}
        self.silent = sum(test not in heard and test not in self.skipped for test in asking)
        if not self._records:
            self.gates_unchecked = bool(self.settings.gates)
            return pytest.ExitCode.OK
        settings = self.settings
        self.ending = ended(
            [replace(one, result=asked_by(one.result, one.test)) for one in self._records],
            gates=settings.gates,
            outputs=settings.outputs,
            on_abstain=_ON_ABSTAIN[settings.on_abstain],
            prices=prices_of(settings.file),
            interrupted=interrupted,
        )
        if self.ending.unusable_gates is not None:
            return pytest.ExitCode.USAGE_ERROR
        return pytest.ExitCode.OK if self.ending.ok and not self.lost else pytest.ExitCode.TESTS_FAILED

    def close(self) -> None:
        """Leave nothing behind."""
        if self._shared is not None:
            shutil.rmtree(self._shared, ignore_errors=True)
