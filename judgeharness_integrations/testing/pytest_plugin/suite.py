"""One session: its harnesses and its budget, what was measured in each process, and what is shown at the end."""

from __future__ import annotations

import copy
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from judgeharness_integrations._errors import JudgeHarnessError, NotGradedError, UsageError
from judgeharness_integrations.analysis.certifying.certificate import held_text
from judgeharness_integrations.judging.adapterkit import shape_of, standard_for
from judgeharness_integrations.judging.cases import Case, PairwiseCase
from judgeharness_integrations.judging.config.building import (
    build_calibration,
    build_certificate,
    build_harness_options,
)
from judgeharness_integrations.judging.execution.retrying import Budget
from judgeharness_integrations.judging.harness import JudgeHarness, Shape
from judgeharness_integrations.judging.judge import Judge
from judgeharness_integrations.judging.recording import asked_by, case_texts, recording
from judgeharness_integrations.judging.tiers import prices_of
from judgeharness_integrations.redacting import redactor
from judgeharness_integrations.reporting.calibrationtext import anchor_text
from judgeharness_integrations.reporting.measured import gates_section, last_lines, measured_table
from judgeharness_integrations.reporting.runsection import measured_entries
from judgeharness_integrations.reporting.sections import Block, Section
from judgeharness_integrations.reporting.text import cost_text
from judgeharness_integrations.verdictlog.encoding import counted

from .ending import Ending, Record, as_line, check_writable, ended, from_line
from .settings import BY_PRESET, Settings, finished_harness, layered, read_marker

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.result import HarnessResult
    from judgeharness_integrations.analysis.runs.report import JudgeSection, OnAbstain
    from judgeharness_integrations.judging.calibrating import CalibrationSet
    from judgeharness_integrations.judging.config.schema import Config


_ASKING = ("calibration", "certificate", "passport", "max_calls")  # of the harness, but not of its design
_CHECKING = ("on_abstain", "min_consistency")  # not of the harness


def marker_keys(item: pytest.Item) -> dict[str, Any]:
    """Return the keys of a test's markers, module before class before function.

    Raises:
        UsageError: one of them cannot be used.

    """
    merged: dict[str, Any] = {}
    for marker in reversed(list(item.iter_markers("judgeharness"))):
        where = f"{item.nodeid}: @pytest.mark.judgeharness"
        if marker.args:
            raise UsageError(f"{where} takes keys, as in judgeharness(repetitions=3), not {marker.args[0]!r:.60}.")
        merged = layered(merged, read_marker(marker.kwargs, where=where))
    return merged


class Designer:
    """Makes the harnesses of a session, each design once."""

    def __init__(self, *, file: Config, design: Mapping[str, Any], root: Path, budget: Budget) -> None:
        """Take the session's options; `root` is where paths of markers start."""
        self._file, self._design, self._root = file, design, root
        self.budget = budget
        self._harnesses: dict[str, JudgeHarness] = {}
        self._labels: dict[str, CalibrationSet] = {}  # candidate -> its labels, with the number of candidates

    def harness(
        self, keys: Mapping[str, Any], judge: Judge | None = None, case: Case = None, model: str | None = None
    ) -> JudgeHarness:
        """Return the harness for a judge and case; a judge is counted among the candidates of its labels.

        Args:
            keys: those of the test's markers.
            judge: what it declares to answer tells the shape where no key does.
            case: a pair is asked in both orders.
            model: the model behind the judge, where the test names it.

        Raises:
            UsageError: the keys make no harness, or candidates cannot be counted.

        """
        wanted = {name: value for name, value in keys.items() if name not in _CHECKING}
        shape: Shape = "pairwise" if isinstance(case, PairwiseCase) else "any" if judge is None else shape_of(judge)
        discrete = bool(getattr(judge, "discrete", False))
        key = json.dumps([wanted, shape, discrete], sort_keys=True)
        if key not in self._harnesses:
            self._harnesses[key] = self._build(wanted, judge, shape)
        harness = self._harnesses[key]
        return harness if judge is None or harness.calibration_set is None else self._counted(harness, judge, model)

    def _counted(self, harness: JudgeHarness, judge: Judge, model: str | None) -> JudgeHarness:
        """Return the harness with how many candidates its labels were looked at for, as `judgeharness run` counts."""
        from judgeharness_integrations.judging.candidates import asked_candidate, count_candidates  # noqa: PLC0415 - few have labels

        candidate = asked_candidate(judge, harness.design_for(judge), model)
        labels = self._labels.get(candidate)
        if labels is None and harness.calibration_set is not None:
            labels = self._labels[candidate] = count_candidates(self._file, harness.calibration_set, [candidate])
        return harness if labels is None else harness.with_labels(labels)

    def borrowed(self, harness: JudgeHarness) -> JudgeHarness:
        """Return a harness of the test's own, which spends from the session's budget unless it has one."""
        if harness.budget is not None:
            return harness
        mine = copy.copy(harness)
        mine.budget = self.budget
        return mine

    def _build(self, wanted: Mapping[str, Any], judge: Judge | None, shape: Shape) -> JudgeHarness:
        design = {name: value for name, value in wanted.items() if name not in _ASKING}
        keys = {"shape": shape} | layered(self._design, design)
        finished = finished_harness(keys, where="the design in force")
        file = self._file.model_copy(update={"harness": finished} | self._held(wanted, "certificate", "passport"))
        options: dict[str, Any] = {"on_unfit": "skip"} | build_harness_options(file) | build_certificate(file)
        options |= self._held(wanted, "calibration") or build_calibration(file)
        options |= {"budget": self.budget}
        options["max_calls"] = wanted.get("max_calls", file.execution.max_calls)
        standard = finished.preset in (None, "standard") and not any(name in keys for name in BY_PRESET)
        if judge is None or not standard or file.passport is not None:
            return JudgeHarness(**options)
        return standard_for(
            judge, finished.shape, **{name: value for name, value in options.items() if name not in BY_PRESET}
        )

    def _held(self, keys: Mapping[str, Any], *names: str) -> dict[str, str]:
        """Return which of the files that a marker may name in place of the configuration's it names."""
        return {name: str(self._root / Path(keys[name]).expanduser()) for name in names if name in keys}


@dataclass(kw_only=True)
class SharedBudget(Budget):
    """A budget of calls whose count stands in a file that processes share; `max_calls` is for all, `spent` is ours."""

    counted_in: Path = Path()

    def take(self) -> None:
        """Take one attempt of those left to all processes.

        Raises:
            BudgetExhausted: there is none left.

        """
        from filelock import FileLock  # noqa: PLC0415 - loaded at first use

        with self._lock, FileLock(f"{self.counted_in}.lock"):
            mine, self.spent = self.spent, int(self.counted_in.read_text(encoding="ascii"))
            try:
                super().take()
                self.counted_in.write_text(str(self.spent), encoding="ascii")
                mine += 1
            finally:
                self.spent = mine

    def give_back(self) -> None:
        """Say that an attempt that was taken was not made."""
        from filelock import FileLock  # noqa: PLC0415 - loaded at first use

        with self._lock, FileLock(f"{self.counted_in}.lock"):
            super().give_back()
            left = int(self.counted_in.read_text(encoding="ascii")) - 1
            self.counted_in.write_text(str(left), encoding="ascii")


def calls_allowed(file: Config, max_calls: int | None) -> int | None:
    """Return how many attempts a session may make: the option's, else those of the file's budget; None: no limit."""
    return file.execution.budget.calls if max_calls is None else max_calls


def session_budget(file: Config, max_calls: int | None, *, counted_in: str | None) -> Budget:
    """Return the budget of this process; `counted_in` is the file in which workers count together."""
    limits = file.execution.budget
    options: dict[str, Any] = {
        "max_calls": calls_allowed(file, max_calls),
        "max_tokens": limits.tokens,
        "max_cost": limits.cost,
        "prices": prices_of(file) or None,
        "named": {"max_calls": "judgeharness_max_calls" if max_calls is not None else "execution.budget.calls"},
    }
    if counted_in is None:
        return Budget(**options)
    if not Path(counted_in).exists():
        raise UsageError("a limit of calls is counted in a file, which this worker cannot see: leave the limit out.")
    return SharedBudget(**options, counted_in=Path(counted_in))


def check_shareable(file: Config) -> None:
    """Refuse limits that workers cannot count together.

    Raises:
        UsageError: tokens or money are limited.

    """
    limits = file.execution.budget
    if limits.tokens is not None or limits.cost is not None:
        raise UsageError(
            f"{file.path}: workers of pytest-xdist share a limit of calls alone: limit execution.budget.calls instead "
            "of tokens and cost, or give -n0."
        )


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
            [replace(record, result=asked_by(record.result, record.test)) for record in self._records],
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


_MOST_REPEATED: Final = 6


def summary_lines(suite: Suite, *, width: int) -> list[str]:
    """Return lines: a table of judges, what anchors them, the gates, and what else must be known."""
    from judgeharness_integrations.reporting.terminal import section_lines  # noqa: PLC0415 - loads rich

    return section_lines(Section(title="", blocks=tuple(_blocks(suite))), width=width)


def _blocks(suite: Suite) -> Iterator[Block]:
    if (ending := suite.ending) is not None:
        yield measured_table(entry for section in ending.report.judges for entry in measured_entries(section))
        for section in ending.report.judges:
            yield from (f"{section.judge}: {line}" for line in _about(section))
        if ending.unusable_gates is not None:
            yield f"gates: {ending.unusable_gates}"
        if ending.gates is not None:
            yield gates_section(ending.gates)
    yield from _spending(suite)
    if suite.silent:
        yield f"no result: {suite.silent} tests that use the fixture ended without one (crashed, failed or not reached)"
    yield from suite.lost
    if suite.gates_unchecked:
        yield "gates: not checked, nothing was measured"
    if ending is not None:
        yield from _repeated(ending)
        yield from (f"written: {path}" for path in ending.written)
        yield from ending.problems
        yield from last_lines(ending.gates)


def _about(section: JudgeSection) -> Iterator[str]:
    yield anchor_text(section.calibration, section.calibration_state)
    yield from (held_text(*held) for held in section.certificates)
    cost = cost_text(section.cost, section.cost_remarks)
    yield f"{counted(section.usage.calls, 'call')}" + ("" if cost is None else f", {cost}")
    for name, count in section.skipped.items():
        yield f"{name} did not fit {count} of {counted(section.cases, 'case')} and was skipped"
    yield from (f"warning: {warning}" for warning in section.every_warning)


def _repeated(ending: Ending) -> Iterator[str]:
    """Yield the cases that were measured more than once: each result is counted, but they are not independent."""
    for (judge, case), times in list(ending.repeated.items())[:_MOST_REPEATED]:
        yield f"judge {judge!r} was asked {times} times about case {case!r}"
    if (more := len(ending.repeated) - _MOST_REPEATED) > 0:
        yield f"and about {counted(more, 'more case')} several times"


def _spending(suite: Suite) -> Iterator[str]:
    spent, allowed = suite.calls
    if allowed is not None:
        reason = suite.designer.budget.reason
        yield f"calls: {spent} attempts of {allowed} allowed" + (f"; {reason}" if reason else "")
