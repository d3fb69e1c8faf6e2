"""What stands behind a verdict: a saved calibration, or one measured on labelled cases during the first run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from judgeharness_integrations.calibration.harnessing import calibration_report
from judgeharness_integrations.calibration.once import Once, SameObject
from judgeharness_integrations.calibration.report import CalibrationReport, CalibrationState
from judgeharness_integrations.cases import case_id_of
from judgeharness_integrations.execution.probehash import content_digest
from judgeharness_integrations.execution.recalling import is_searchable
from judgeharness_integrations.execution.reusing import CALIBRATION
from judgeharness_integrations.running import Run, fingerprint_parts

if TYPE_CHECKING:
    from judgeharness_integrations.calibration.labels import CalibrationSet
    from judgeharness_integrations.calibration.saved import SavedMeasurement
    from judgeharness_integrations.cases import Case
    from judgeharness_integrations.certifying.certificate import Certificate, HeldCertificate
    from judgeharness_integrations.design import Design
    from judgeharness_integrations.judging import Judge
    from judgeharness_integrations.plan import CasePlan
    from judgeharness_integrations.result import HarnessResult

__all__ = ["Anchor", "calibration_run"]

Planner: TypeAlias = "Callable[[Judge, Iterable[Case]], Iterator[CasePlan]]"


def calibration_run(run: str) -> str:
    """Return the run that rows of a run's labelled cases carry."""
    return f"{run}{CALIBRATION}"


@dataclass(kw_only=True)
class Anchor:
    """The calibration of a harness: given, or measured once for each judge on `labels`, after its first case.

    A certificate is given.
    """

    design: Design
    plan: Planner
    given: CalibrationReport | None
    labels: CalibrationSet | None
    certificate: Certificate | None = None
    max_age: timedelta
    clock: Callable[[], datetime]
    _measured: Once[CalibrationReport] = field(default_factory=Once)

    def due(self, judge: Judge, judge_model: str | None) -> Iterator[CasePlan]:
        """Yield what will be asked to calibrate a judge: nothing for one that is calibrated."""
        if self.labels is not None and self._key(judge, judge_model) not in self._measured:
            yield from self.plan(judge, self.labels.cases)

    async def anchored(self, run: Run, result: HarnessResult) -> HarnessResult:
        """Return a result with the calibration and the certificate that go with it."""
        if (held := self.held(run.judge, run.design, run.judge_model)) is not None:
            from judgeharness_integrations.certifying.applying import certified  # noqa: PLC0415 - few are certified

            result = certified(result, *held)
        report, state = await self._of(run)
        if report is None or state is None:
            return result
        unusable = report.unusable(state, result.criteria)
        warnings = tuple(dict.fromkeys((*result.warnings, *unusable)))
        return replace(result, calibration=report, calibration_state=state, warnings=warnings)

    def held(self, judge: Judge, design: Design, judge_model: str | None) -> HeldCertificate | None:
        """Return the certificate and whether it holds for a judge under a design; None without one."""
        given = self.certificate
        return None if given is None else (given, self._state(given, judge, design, judge_model))

    def _state(
        self, given: SavedMeasurement, judge: Judge, design: Design, judge_model: str | None
    ) -> CalibrationState:
        """Return whether what was given holds for a judge under a design."""
        return given.state(
            fingerprint_parts(judge, design, judge_model),
            now=self.clock(),
            max_age=self.max_age,
            unidentified=getattr(judge, "unidentified", None),
        )

    async def measured(self, run: Run, labels: CalibrationSet, plans: Sequence[CasePlan]) -> CalibrationReport | None:
        """Measure a judge on labelled cases; None when the run ended before every one of them was judged."""
        # rows of labelled cases are evidence for the report, not for the run; a log that can be searched keeps them
        # under a name of their own, so that an interrupted run does not pay for them twice; answers of other runs
        # are not taken: they may be the very samples that the calibration is to vouch for
        log = run.log if is_searchable(run.log) else None
        own = calibration_run(run.run) if log is not None else run.run
        labelled = replace(run, run=own, log=log, anchor=None, labelled=labels.name, reuse=False)
        async with aclosing(labelled.results(plans)) as measured:
            results = [result async for result in measured]
        if any(result.state != "complete" for result in results):
            return None
        parts = fingerprint_parts(run.judge, run.design, run.judge_model)
        measured_at = self.clock().isoformat()
        return calibration_report(
            results,
            labels,
            judge=run.judge.name,
            parts=parts,
            measured_at=measured_at,
            asked={case_id_of(case): content_digest(case) for case in labels.cases},
        )

    async def _of(self, run: Run) -> tuple[CalibrationReport | None, CalibrationState | None]:
        """Return the calibration that goes with a run's results and whether it holds."""
        if self.given is not None:
            return self.given, self._state(self.given, run.judge, run.design, run.judge_model)
        if self.labels is None:
            return None, None
        labels = self.labels

        async def measure() -> CalibrationReport | None:
            if run.budget.exhausted or run.contact.lost is not None:
                return None
            return await self.measured(run, labels, list(self.plan(run.judge, labels.cases)))

        report = await self._measured.get(self._key(run.judge, run.judge_model), measure)
        return report, None if report is None else CalibrationState(status="valid")

    def _key(self, judge: Judge, judge_model: str | None) -> object:
        """Return what a calibration is known by: a fingerprint, or the judge itself when it has no identity."""
        parts, identity = fingerprint_parts(judge, self.design, judge_model), judge.identity
        if parts is None or identity is None:
            return SameObject(getattr(judge, "function", judge))
        return repr(parts | {"parameters": dict(identity.parameters)})  # what it learns meanwhile is the same judge's
