"""What an evaluation left behind, read back: `load_results`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, overload

from judgeharness_adk.results.calibrating import calibrated
from judgeharness_adk.results.joining import joined_results
from judgeharness_adk.results.labelling import write_sheet
from judgeharness_adk.results.overview import overview
from judgeharness_adk.results.records import AdkResult
from judgeharness_adk.results.variances import RubricVariance, rubric_variances
from judgeharness_integrations.aggregation.rules import RuleLike
from judgeharness_integrations.calibration import CalibrationReport
from judgeharness_integrations.verdictlog import VerdictRow, write_log

if TYPE_CHECKING:
    from os import PathLike

__all__ = ["AdkResults", "load_results"]

_LOGGER = logging.getLogger("judgeharness_adk")
_PLACE = ("evaluation", "evaluated_at", "app", "eval_set_id", "eval_id", "turn")


@dataclass(frozen=True, repr=False)
class AdkResults(Sequence[AdkResult]):
    """Measurements in order of time; `notes` say what was skipped, replaced or not found while reading them."""

    results: tuple[AdkResult, ...]
    notes: tuple[str, ...] = ()

    @overload
    def __getitem__(self, place: int) -> AdkResult: ...
    @overload
    def __getitem__(self, place: slice) -> AdkResults: ...
    def __getitem__(self, place: int | slice) -> AdkResult | AdkResults:
        """Return one measurement, or a slice as `AdkResults`."""
        if isinstance(place, slice):
            return replace(self, results=self.results[place])
        return self.results[place]

    def __len__(self) -> int:
        """Return the number of measurements."""
        return len(self.results)

    def __iter__(self) -> Iterator[AdkResult]:
        """Yield the measurements."""
        return iter(self.results)

    def __repr__(self) -> str:
        """Return the counts."""
        return f"AdkResults({len(self)} measurements, {self.joined} joined; {', '.join(self.metrics)})"

    def __str__(self) -> str:
        """Return the report."""
        return self.report()

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics, in order of appearance."""
        return tuple(dict.fromkeys(one.metric for one in self))

    @property
    def joined(self) -> int:
        """Number of measurements whose invocation ADK's results know."""
        return sum(one.joined for one in self)

    def filter(self, keep: Callable[[AdkResult], bool]) -> AdkResults:
        """Return the measurements to keep: `results.filter(lambda one: one.eval_id == "refund")`."""
        return replace(self, results=tuple(one for one in self if keep(one)))

    def latest(self) -> AdkResults:
        """Return the measurements of the last evaluation of each eval set of each app.

        What no result of ADK knows is of no known evaluation, and left out.
        """
        last: dict[tuple[str | None, str | None], AdkResult] = {}
        for one in self:
            known = last.get((one.app, one.eval_set_id), one)
            if one.joined and (one.evaluated_at or "") >= (known.evaluated_at or ""):
                last[one.app, one.eval_set_id] = one
        return self.filter(lambda one: one.joined and one.evaluation == last[one.app, one.eval_set_id].evaluation)

    def report(self) -> str:
        """Return the overview: decisions, failures, consistency, calibration, variance, and what was not measured."""
        return overview(self.results, self.notes)

    def rows(self) -> list[VerdictRow]:
        """Return the verdict log: a case an invocation, the metric as judge, the rubrics as criteria.

        What ADK knows of the invocation is in the attributes: `evaluation`, `evaluated_at`, `app`, `eval_set_id`,
        `eval_id`, `turn`, `eval_run`.
        """
        return [
            replace(row, judge=one.metric, attributes={**row.attributes, **_place(one)})
            for one in self
            for row in one.result.rows
        ]

    def write_log(self, path: str | PathLike[str]) -> Path:
        """Write `rows()` as CSV or JSONL (`.gz` too), which `judgeharness replay` reads."""
        return write_log(self.rows(), path)

    def write_labelling_sheet(self, path: str | PathLike[str], *, seed: int | None = None) -> Path:
        """Write a sheet for people to label, as CSV or JSONL: a line an invocation and rubric, its `gold` empty.

        It does not show what the judge said. Rubrics that no calibration covers (those of one invocation alone) are
        not in it.

        Args:
            path: the file.
            seed: shuffle the lines; the same seed gives the same order.

        Raises:
            UsageError: nothing can be labelled, or the file's ending is another.

        """
        return write_sheet(self.results, Path(path), seed=seed)

    def calibrate(
        self,
        labels: str | PathLike[str],
        *,
        metric: str | None = None,
        name: str | None = None,
        source: str = "human",
        positive: str = "PASS",
    ) -> CalibrationReport:
        """Compare the decisions with a filled labelling sheet; `.save(path)` makes it a metric's `calibration`.

        Args:
            labels: the sheet. Gold is PASS or FAIL (also yes/no, true/false, 1/0); lines of the same invocation and
                rubric are several annotators, of whom the majority counts; lines without gold are left out.
            metric: whose decisions; needed where there are several metrics.
            name: what reports call the label set; the sheet's name when None.
            source: `human`, `executable` or `model:<name>`.
            positive: the label precision and recall are about, PASS or FAIL; where neither people nor the rule ever
                say it, they are None.

        Raises:
            UsageError: several metrics or configurations, no gold, or labels that match nothing.

        """
        return calibrated(
            self.results,
            Path(labels),
            metric=metric,
            name=name,
            source=source,
            positive=positive,
        )

    def variance(self) -> tuple[RubricVariance, ...]:
        """Split the variance of each metric's rubrics: between cases, runs of a case in an evaluation, and samples."""
        return rubric_variances(self.results)


def _place(one: AdkResult) -> dict[str, str | float]:
    known = {name: getattr(one, name) for name in _PLACE} | {"eval_run": one.run}
    return {name: value for name, value in known.items() if value is not None}


def load_results(
    path: str | PathLike[str] = ".",
    *,
    history: str | PathLike[str] | None = None,
    rules: Mapping[str, RuleLike] = MappingProxyType({}),
) -> AdkResults:
    """Read the measurements that evaluations kept, and join them with ADK's own results.

    An invocation that no sidecar holds is read from the rationales of ADK's results: its counts, decision, rule, model
    and fingerprint. What is damaged is skipped, warned about and in `notes`. `latest()` leaves out earlier evaluations.

    Args:
        path: the folder the evaluation ran in, searched for `*.judgeharness.jsonl`, or one such file; or one
            `*.evalset_result.json`, whose rationales alone are read.
        history: where ADK's results are: a folder, or one `*.evalset_result.json`. When None, the folder of `path`;
            where `path` is in an `.adk` folder, the folder that holds it.
        rules: name -> function, for measurements folded by rules of your own (`my_rules:fold`).

    Raises:
        UsageError: nothing was found or nothing whole is left, a line is of another version or of a rule that is not
            in `rules`, or the one file given as `history` is damaged; file and line are named.

    """
    results, notes = joined_results(Path(path), None if history is None else Path(history), rules)
    for note in notes:
        _LOGGER.warning("%s", note)
    return AdkResults(results, notes)
