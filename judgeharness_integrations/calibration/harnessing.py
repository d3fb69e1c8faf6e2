"""Measured results of labelled cases -> a calibration report."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from judgeharness_integrations._errors import CaseError
from judgeharness_integrations.aggregation.copies import CopiedCases
from judgeharness_integrations.aggregation.grouping import named_cluster
from judgeharness_integrations.calibration.controls import longer_of
from judgeharness_integrations.calibration.facts import facts_of_result
from judgeharness_integrations.calibration.items import LabelledItem
from judgeharness_integrations.calibration.labels import CalibrationSet
from judgeharness_integrations.calibration.measure import CriterionCalibration, Judged, measure_calibration, stratified
from judgeharness_integrations.calibration.population import CaseFacts, population_of
from judgeharness_integrations.calibration.report import CalibrationReport
from judgeharness_integrations.calibration.words import ONLY_CRITERION
from judgeharness_integrations.cases import Case, case_id_of
from judgeharness_integrations.result import CriterionResult, HarnessResult
from judgeharness_integrations.verdictlog.row import Verdict, is_number

__all__ = ["calibration_report", "declared_scale"]

_PAIR = 2


def calibration_report(
    results: Iterable[HarnessResult],
    calibration_set: CalibrationSet,
    *,
    judge: str,
    parts: Mapping[str, Any] | None,
    measured_at: str,
    asked: Mapping[str, Hashable] | None = None,
) -> CalibrationReport:
    """Compare the decisions, all of one design, with the labels of a set.

    Cases that ask the same are one cluster: by a digest of what each of them asks (`asked`), else by their rows.

    Raises:
        CaseError: labels name a criterion the judge does not answer, leave it open, or match no result.

    """
    golds, ties = calibration_set.golds()
    texts = {case_id_of(case): _answers(case) for case in calibration_set.cases}
    items: dict[str, list[Judged]] = {}
    labelled: list[LabelledItem] = []
    facts: list[CaseFacts] = []
    strata: dict[str, list[str | None]] = {}
    design: dict[str, Any] = {}
    copies = CopiedCases()
    for result in results:
        design = dict(result.design.parts())
        columns = result.rows[0].attributes if result.rows else {}
        longer = longer_of(texts.get(result.case_id, {}), columns)
        named = _by_criterion(golds.get(result.case_id, {}), result)
        cluster = _cluster(result, copies, asked or {})
        facts += (replace(one, cluster=cluster) for one in _facts(result, texts, calibration_set.by, named))
        for criterion, gold in named.items():
            strata.setdefault(criterion, []).append(facts[-1].stratum)
            measured = result.criteria[criterion]
            items.setdefault(criterion, []).append(_judged(measured, gold, cluster=cluster, longer=longer))
            labelled.append(
                LabelledItem(
                    case_id=result.case_id,
                    criterion=criterion,
                    gold=gold,
                    verdict=measured.verdict,
                    status=measured.status,
                )
            )
    if not items:
        raise CaseError(f"no label of {calibration_set.name!r} matches a judged case.")
    return CalibrationReport(
        name=calibration_set.name,
        judge=judge,
        source=calibration_set.source,
        consensus=calibration_set.consensus,
        excluded_ties=ties,
        criteria=_criteria(items, strata, calibration_set, parts),
        measured_at=measured_at,
        parts=None if parts is None else json.loads(json.dumps(parts, default=str)),  # equal before and after a file
        items=_in_order(labelled, golds),
        design=design,
        candidates=calibration_set.candidates,
        population=population_of(facts, column=calibration_set.by),
    )


def _judged(measured: CriterionResult, gold: Verdict, *, cluster: Hashable, longer: str | None) -> Judged:
    return Judged(
        gold=gold,
        verdict=measured.verdict,
        status=measured.status,
        confidence=measured.consistency_rate,
        cluster=cluster,
        longer=longer,
        scored=measured.numeric,
    )


def _cluster(result: HarnessResult, copies: CopiedCases, asked: Mapping[str, Hashable]) -> Hashable:
    """Return the cluster of a case, that of an earlier one that asks the same."""
    if (digest := asked.get(result.case_id)) is not None:
        return copies.add(result.case_id, digest, named_cluster(result.rows))
    return copies.add_rows(result.case_id, result.rows)


def _facts(
    result: HarnessResult, texts: Mapping[str, Mapping[str, str]], column: str | None, named: Mapping[str, Verdict]
) -> list[CaseFacts]:
    """Return what is counted of a case, nothing of one without a label."""
    given = texts.get(result.case_id, {})
    return [facts_of_result(result, given, column=column, criteria=named)] if named else []


def _criteria(
    items: Mapping[str, list[Judged]],
    strata: Mapping[str, list[str | None]],
    labels: CalibrationSet,
    parts: Mapping[str, Any] | None,
) -> dict[str, CriterionCalibration]:
    found: dict[str, CriterionCalibration] = {}
    for criterion, judged in items.items():
        found[criterion] = measure_calibration(
            judged,
            criterion=criterion,
            positive=labels.positive,
            scale=declared_scale(parts, criterion),
            candidates=labels.candidates or 1,
        )
        if labels.by is not None:
            found[criterion] = stratified(
                found[criterion], judged, strata[criterion], labels.by, candidates=labels.candidates or 1
            )
    return found


def _answers(case: Case) -> dict[str, str]:
    """Return the answers a case holds."""
    given = {name: getattr(case, name, None) for name in ("output", "output_b")}
    return {name: text for name, text in given.items() if isinstance(text, str)}


def declared_scale(parts: Mapping[str, Any] | None, criterion: str) -> tuple[float, float] | None:
    """Return lowest and highest score of a criterion, where the judge declares them."""
    declared = (parts or {}).get("labels")
    said = declared.get(criterion) if isinstance(declared, Mapping) else None
    scale = said[1] if isinstance(said, (list, tuple)) and len(said) == _PAIR else None  # parts may come from a file
    if isinstance(scale, (list, tuple)) and len(scale) == _PAIR and all(map(is_number, scale)):
        return float(scale[0]), float(scale[1])
    return None


def _in_order(items: Iterable[LabelledItem], golds: Mapping[str, Any]) -> tuple[LabelledItem, ...]:
    """Return the items in the order of the label set; results come in order of completion."""
    place = {case_id: number for number, case_id in enumerate(golds)}
    return tuple(sorted(items, key=lambda item: place[item.case_id]))


def _by_criterion(labels: Mapping[str, Verdict], result: HarnessResult) -> dict[str, Verdict]:
    named: dict[str, Verdict] = {}
    for criterion, gold in labels.items():
        if criterion == ONLY_CRITERION:
            named[result.only.criterion] = gold
        elif criterion in result.criteria:
            named[criterion] = gold
        else:
            known = ", ".join(result.criteria)
            raise CaseError(f"a label names criterion {criterion!r}, but judge {result.judge!r} answers {known}.")
    return named
