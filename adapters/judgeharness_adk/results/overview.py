"""What an evaluation did not measure: what its measurements say of themselves, told once."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from judgeharness_integrations.analysis.aggregation.rules import samples_planned
from judgeharness_integrations.analysis.aggregation.statistics import variance_split
from judgeharness_integrations.analysis.fingerprint import Fingerprint
from judgeharness_integrations.analysis.result import CriterionResult, HarnessResult, boundary
from judgeharness_integrations.reporting.text import under_passport
from judgeharness_integrations.verdictlog.encoding import number_text, safe_text
from judgeharness_integrations.verdictlog.row import VerdictRow

from .records import AdkResult

_MOST = 20  # sentences; invocations with rubrics of their own may have one each


def failed_samples(criteria: Iterable[CriterionResult]) -> tuple[int, int]:
    """Return how many samples hold no verdict, and of how many that were planned."""
    counts = [(max(0, measured.planned - measured.valid), measured.planned) for measured in criteria]
    return sum(failed for failed, _ in counts), sum(planned for _, planned in counts)


def unmeasured(results: Sequence[AdkResult]) -> Iterator[str]:
    """Yield lines: the union of the measurements' boundaries, each with how many say so if not all do."""
    counts = Counter(sentence for one in results for sentence in _sentences(one))
    failed, planned = failed_samples(measured for one in results for measured in one.result.criteria.values())
    if not (counts or failed):
        return
    yield from ("", "not measured:")
    for sentence, count in list(counts.items())[:_MOST]:
        share = "" if count == len(results) else f" ({count} of {len(results)} measurements)"
        yield f"  - {safe_text(sentence)}{share}"
    if len(counts) > _MOST:
        yield f"  - {len(counts) - _MOST} more, which print(one.result) tells for every measurement"
    if failed:
        yield f"  - {failed} of {planned} samples hold no verdict"


def _sentences(one: AdkResult) -> Iterable[str]:
    return dict.fromkeys(sentence for view in _views(one) for sentence in boundary(view))


def _views(one: AdkResult) -> Iterator[HarnessResult]:
    """Yield the result a criterion at a time, under the name of what it is pooled in, without its failed samples.

    Failed samples are added up over the measurements instead: a sentence for each number of them would hide the rest.
    """
    for name, measured in one.result.criteria.items():
        criterion = one.pooled or name
        whole = replace(measured, criterion=criterion, planned=measured.valid)
        yield replace(one.result, criteria={criterion: whole})


@dataclass(frozen=True, kw_only=True)
class RubricVariance:
    """Variance components of "a single sample says PASS" (1 or 0), for one rubric under one configuration.

    `between_cases`: the turns of eval cases differ. `between_runs`: the agent answers differently when a case is run
    again in one evaluation (`num_runs`). `between_samples`: the judge says different things about one answer,
    perturbations included. A case that was evaluated twice counts as two cases: between evaluations the agent, its
    model or its tools may have been changed, which is no noise of the agent, so it must not enter `between_runs`. What
    evaluations differ by is therefore in `between_cases`, which cases that come twice otherwise make too small:
    `AdkResults.latest` is free of both.

    None means not estimable: one case, one run of each case, one sample of each run, or samples that may stop early
    (`curtail`). Where no case ran twice, `between_cases` holds what runs would add to it. Components that came out
    negative are 0 and named in `clipped`.
    `cases`, `runs` and `samples` count what the estimate rests on; samples that failed are in none of them.
    """

    metric: str
    rubric: str
    fingerprint: str | None
    between_cases: float | None
    between_runs: float | None
    between_samples: float | None
    cases: int
    runs: int
    samples: int
    clipped: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return one line: the components, and what they rest on."""
        parts = {"cases": self.between_cases, "runs": self.between_runs, "samples": self.between_samples}
        shown = ", ".join(f"{name} {component_text(value)}" for name, value in parts.items())
        counts = f"{self.cases} cases, {self.runs} runs, {self.samples} samples"
        clipped = f"; negative, set to 0: {', '.join(self.clipped)}" if self.clipped else ""
        return f"{safe_text(self.metric, 80)} · {safe_text(self.rubric, 60)}: between {shown} ({counts}{clipped})"


def component_text(value: float | None) -> str:
    """Return a component with three decimals, `-` when it cannot be estimated."""
    return "-" if value is None else f"{value:.3f}"


def rubric_variances(results: Sequence[AdkResult]) -> tuple[RubricVariance, ...]:
    """Split the variance of each metric, configuration and rubric.

    Invocations that no result of ADK knows are left out; where none is known, each is a case of its own. Metrics
    whose questions are others in every invocation (sentences) have no variance between cases or runs.
    """
    whole = [one for one in results if not one.result.counts_alone]
    known = [one for one in whole if one.joined] or whole
    groups: dict[tuple[str, str | None, str], list[VerdictRow]] = {}
    for one in known:
        if one.pooled is None:
            for rubric in one.result.criteria:
                rows = [row for row in one.result.rows if row.criterion == rubric]
                groups.setdefault((one.metric, one.fingerprint, rubric), []).extend(_nested(one, rows))
    return tuple(_split(*key, rows) for key, rows in groups.items())


def _nested(one: AdkResult, rows: Sequence[VerdictRow]) -> list[VerdictRow]:
    """Return valid rows with the turn of an evaluation's eval case as case and the run as what is nested in it."""
    place = [one.evaluation, one.app, one.eval_set_id, one.eval_id, one.turn] if one.joined else [one.result.case_id]
    case_id = json.dumps(place)
    return [replace(row, case_id=case_id, perturbation=str(one.run)) for row in rows if row.verdict is not None]


def _split(metric: str, fingerprint: str | None, rubric: str, rows: Sequence[VerdictRow]) -> RubricVariance:
    split = variance_split([] if samples_planned(rows) else rows)
    return RubricVariance(
        metric=metric,
        rubric=rubric,
        fingerprint=fingerprint,
        between_cases=split.between_cases,
        between_runs=split.between_perturbations,
        between_samples=split.between_repetitions,
        cases=len({row.case_id for row in rows}),
        runs=len({(row.case_id, row.perturbation) for row in rows}),
        samples=len(rows),
        clipped=tuple({"perturbations": "runs"}.get(name, name) for name in split.clipped),
    )


_DECISIONS = (
    "rubric",
    "decided",
    "abstained",
    "not graded",
    "of",
    "PASS of decided",
    "failed samples",
    "consistency",
    "calibration",
)
_COMPONENTS = (
    "rubric",
    "turns",
    "runs",
    "samples",
    "between turns",
    "between runs",
    "between samples",
    "negative, set to 0",
)
_ONE = "results.filter(lambda one: one.evaluation == results[0].evaluation)"
_NAME = 48  # characters of a rubric's id


def overview(results: Sequence[AdkResult], notes: Sequence[str]) -> str:
    """Return the report of measurements; those of another configuration of a metric stand apart."""
    groups: dict[tuple[str, str | None], list[AdkResult]] = {}
    for one in results:
        groups.setdefault((one.metric, one.fingerprint), []).append(one)
    lines = [*_head(results), *(f"note: {safe_text(note)}" for note in notes)]
    earlier: dict[str, AdkResult] = {}
    for (metric, _), group in groups.items():
        lines += ["", *_metric(group, earlier.get(metric))]
        earlier[metric] = group[-1]
    lines += unmeasured(results)
    return "\n".join(lines) + "\n"


def _head(results: Sequence[AdkResult]) -> Iterator[str]:
    invocations = len({one.invocation_id for one in results})
    joined = sum(one.joined for one in results)
    known = f"{joined} of {len(results)} joined with ADK's results"
    yield f"{len(results)} measurements of {invocations} invocations; {known}"
    if joined < len(results):
        yield "  not joined: no *.evalset_result.json found here knows the invocation, so its case and run are unknown"
        yield "  (ADK keeps it in the agent's folder, give history=; AgentEvaluator only with a results manager)"
    evaluations = {one.evaluation: one.evaluated_at for one in results if one.joined}
    if len(evaluations) > 1:
        times = sorted(filter(None, evaluations.values()))
        span = f", from {safe_text(times[0], 40)} to {safe_text(times[-1], 40)}" if times else ""
        yield f"  {len(evaluations)} evaluations are pooled{span}"
        yield f"  the last of each eval set: results.latest(); any one: {_ONE}"


def _metric(group: Sequence[AdkResult], earlier: AdkResult | None) -> Iterator[str]:
    result = next((one.result for one in reversed(group) if not one.result.counts_alone), group[-1].result)
    rule = "one sample, informal" if result.informal else result.aggregation_rule
    asked = f"{', '.join(result.design.perturbations)} x {result.repetitions}"
    asked = "perturbations unknown" if result.counts_alone else asked
    model = safe_text(result.judge_model or "unknown", 80)
    yield f"{safe_text(group[0].metric, 80)} · judge {model} · {safe_text(asked, 120)} · {safe_text(rule, 80)}"
    if earlier is not None:
        changes = Fingerprint(earlier.parts or {}).changes(group[0].parts or {})
        unknown = any(one.result.counts_alone for one in (earlier, group[0]))
        what = "what changed is in the sidecars alone" if unknown else f"{safe_text(', '.join(changes), 120)} changed"
        yield f"  another configuration than above: {what}"
    yield f"  {_counts(group)}"
    yield from _table([_DECISIONS, *_decisions(group)])
    evaluations = {one.evaluation for one in group if one.joined}
    yield from _variance(rubric_variances(group), evaluations=len(evaluations))


def _counts(group: Sequence[AdkResult]) -> str:
    invocations = f"{len({one.invocation_id for one in group})} invocations"
    runs = {(one.evaluation, one.app, one.eval_set_id, one.eval_id, one.run) for one in group if one.joined}
    if not runs:
        return f"{invocations} of unknown eval cases"
    counts = Counter(run[:-1] for run in runs)
    least, most = min(counts.values()), max(counts.values())
    each = f"{least}" if least == most else f"{least} to {most}"
    cases = f"{len({case[1:] for case in counts})} eval cases"
    evaluations = len({case[0] for case in counts})
    if evaluations == 1:
        return f"{invocations}, {cases}, runs of a case: {each}"
    return f"{invocations}, {cases}, {evaluations} evaluations, runs of a case in one evaluation: {each}"


def _decisions(group: Sequence[AdkResult]) -> Iterator[Sequence[str]]:
    rubrics: dict[str, list[tuple[AdkResult, CriterionResult]]] = {}
    for one in group:
        for name, measured in one.result.criteria.items():
            rubrics.setdefault(one.pooled or name, []).append((one, measured))
    for name, cases in rubrics.items():
        statuses = Counter(measured.status for _, measured in cases)
        passed = sum(measured.verdict == "PASS" for _, measured in cases if measured.status == "decided")
        yield (
            safe_text(name, _NAME),
            str(statuses["decided"]),
            str(statuses["abstained"]),
            str(statuses["not_graded"]),
            str(len(cases)),
            _share(passed, statuses["decided"]),
            "{} of {}".format(*failed_samples(measured for _, measured in cases)),
            _consistency(cases),
            _calibrations(cases),
        )


def _share(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({100 * part / whole:.1f} %)" if whole else "")


def _consistency(cases: Sequence[tuple[AdkResult, CriterionResult]]) -> str:
    """Return the mean over the measured cases and their number; of single samples there is none."""
    rates = [
        measured.consistency_rate
        for one, measured in cases
        if measured.consistency_rate is not None and not one.result.informal
    ]
    return f"{number_text(statistics.fmean(rates))} (n={len(rates)})" if rates else "none"


def _calibrations(cases: Sequence[tuple[AdkResult, CriterionResult]]) -> str:
    words = Counter(
        _calibration(one.result, measured.criterion)
        if measured.criterion in one.standing or one.result.counts_alone
        else "uncalibrated"
        for one, measured in cases
    )
    if len(words) == 1:
        return next(iter(words))
    return "; ".join(f"{count} {word}" for word, count in words.items())


def _calibration(result: HarnessResult, criterion: str) -> str:
    if result.counts_alone:
        return "unknown"
    report, state = result.calibration, result.calibration_state
    if report is None or state is None:
        return safe_text(under_passport(result, criterion) or "uncalibrated", 80)
    if not state.valid:
        return safe_text(str(state), 80)
    if criterion not in report.criteria:
        return f"uncalibrated: no label in {safe_text(report.name, 40)}"
    return safe_text(f"{report.word} ({report.name}, n={report.criteria[criterion].n})", 80)


def _variance(variances: Sequence[RubricVariance], *, evaluations: int) -> Iterator[str]:
    if not variances:
        return
    yield '  variance of "a sample says PASS" (1 or 0); -: not estimable from so few turns, runs or samples'
    if all(one.between_runs is None for one in variances):
        unknown = "runs of a case are told apart by ADK's results, and none is joined"
        why = "no case ran twice in one evaluation" if evaluations else unknown
        yield f"  {why}: what differs between runs (num_runs) is in the part from turns"
    if evaluations > 1:
        yield "  a turn counts once an evaluation: what differs between evaluations is in the part from turns"
    yield from _table(
        [
            _COMPONENTS,
            *(
                (
                    safe_text(one.rubric, _NAME),
                    *map(str, (one.cases, one.runs, one.samples)),
                    *map(component_text, (one.between_cases, one.between_runs, one.between_samples)),
                    ", ".join(one.clipped) or "-",
                )
                for one in variances
            ),
        ]
    )


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield rows with aligned columns: texts at both ends, numbers between them."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *numbers, last in rows:
        cells = [cell.rjust(width) for cell, width in zip(numbers, widths[1:-1], strict=True)]
        yield "  " + "  ".join([first.ljust(widths[0]), *cells, last]).rstrip()
