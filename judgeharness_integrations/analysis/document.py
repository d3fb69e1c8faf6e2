"""A result as JSON: `schemas/result-1.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from operator import attrgetter
from typing import Any

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.verdictlog.encoding import COLUMNS, field_record
from judgeharness_integrations.verdictlog.row import VerdictRow, is_number, verdict_to_json

from .aggregation.rules import rule
from .calibration.rates import rate_document
from .calibration.saved import SavedMeasurement
from .design import Design
from .result import CriterionResult, Distribution, HarnessResult, boundary

RESULT_SCHEMA = "judgeharness.result/1"
RECORDED_SCHEMA = "judgeharness.recorded/1"
EVIDENCE_TEXTS = ("call_id", "reasoning", "raw", "model", "error", "asked_at", "probe_hash")
_texts = attrgetter(*EVIDENCE_TEXTS)


def result_document(result: HarnessResult, *, rows: bool = False) -> dict[str, Any]:
    """Return the result as JSON-able data; a distribution is a list of `{verdict, count}`, so numbers stay numbers.

    With `rows` it holds everything a result is rebuilt from (`reporting.rebuilding`).
    """
    document: dict[str, Any] = {
        "schema": RESULT_SCHEMA,
        "case_id": result.case_id,
        "judge": result.judge,
        "judge_model": result.judge_model,
        "criteria": {name: _criterion(measured, result) for name, measured in result.criteria.items()},
        "perturbations": list(result.perturbations),
        "skipped": dict(result.skipped),
        "repetitions": result.repetitions,
        "aggregation_rule": None if result.informal else result.aggregation_rule,
        "rule_fixed": None if result.informal else result.rule_fixed,
        "informal": result.informal,
        "state": result.state,
        "fingerprint": result.fingerprint,
        "calibration": _calibration(result),
        "usage": dict(vars(result.usage)),
        "warnings": list(result.warnings),
        "not_measured": list(boundary(result)),
        "design": _design(result.design),
        "temperature": result.temperature if is_number(result.temperature) else None,  # whatever a client calls it
        "model_families": list(result.model_families),
    }
    document |= _rare(result)
    if result.earlier:
        document["earlier"] = [result_document(one, rows=rows) for one in result.earlier]
    if rows:
        document |= _evidence(result)
    return document


def _rare(result: HarnessResult) -> dict[str, Any]:
    """Return the keys of what few results have."""
    certificate, passport = result.certificate, result.design.passport
    known = {
        "unasked": list(result.unasked),
        "untested": list(result.untested),
        "ended": result.ended,
        "certificate": certificate and result.certificate_state and certificate.record(result.certificate_state),
        "passport": passport and passport[0].record(passport[1]),
        "test": result.test,
        "waits": result.waits,
    }
    return {name: value for name, value in known.items() if value}


def _evidence(result: HarnessResult) -> dict[str, Any]:
    """Return the keys that a result is rebuilt from."""
    passport = result.design.passport
    reports = {"certificate_report": result.certificate, "passport_report": passport and passport[0]}
    return {
        "calibration_report": calibration_record(result.calibration),
        **{name: calibration_record(one) for name, one in reports.items() if one is not None},
        "rows": [row_record(row) for row in (*result.rows, *result.probe_rows)],
    }


def recorded_line(result: HarnessResult, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return a result with its rows, the texts that were judged, and the test that asked, as JSON keeps them."""
    document = result_document(result, rows=True)
    test = {"test": document.pop("test")} if "test" in document else {}
    return {"schema": RECORDED_SCHEMA, "result": document, "case": dict(texts), **test}


def _design(design: Design) -> dict[str, Any]:
    """Return what the rest of the document does not say of the design, as it also is for a single sample."""
    return {
        "perturbations": list(design.perturbations),
        "rule": design.rule.name if _has_its_name(design) else None,
        "rule_fixed": design.rule_fixed,
        "min_valid": design.min_valid,
        "tolerance": design.tolerance,
        "wordings": list(design.wordings),
        "curtail": design.curtail,
        "stopping_rule": design.stopping_rule,
        **({"retested": design.retested} if design.retested else {}),
    }


def _has_its_name(design: Design) -> bool:
    """Whether the rule's name brings it back; a function of the caller's own may be called `majority`, too."""
    try:
        return design.passport is not None or rule(design.rule.name) == design.rule
    except UsageError:
        return False


def calibration_record(calibration: SavedMeasurement | None) -> dict[str, Any] | None:
    """Return a calibration or certificate as JSON-able data, from which `from_dict` makes it again."""
    if calibration is None:
        return None
    report: dict[str, Any] = json.loads(json.dumps(calibration.to_dict(), default=str))  # as its digest reads it
    return report


def row_record(row: VerdictRow) -> dict[str, Any]:
    """Return a row as a log keeps it, and what a log loses: empty texts, attributes named `model` or `model_`."""
    record, texts = field_record(row), _texts(row)
    if "" in texts:
        record |= {name: "" for name, text in zip(EVIDENCE_TEXTS, texts, strict=True) if text == ""}
    if row.attributes:
        given = row.attributes.items()
        record |= {f"{name}_" if name.rstrip("_") in COLUMNS else name: value for name, value in given}
    return record


def _distribution(distribution: Distribution) -> list[dict[str, Any]]:
    return [{"verdict": verdict_to_json(verdict), "count": count} for verdict, count in distribution.items()]


def _criterion(measured: CriterionResult, result: HarnessResult) -> dict[str, Any]:
    aggregated = not result.informal  # of a single sample nothing was folded
    return {
        "verdict": verdict_to_json(measured.verdict),
        "status": measured.status,
        "reason": measured.reason if aggregated or measured.status != "decided" else "",
        "kind": "numbers" if measured.numeric else "labels",
        "sample_distribution": _distribution(measured.sample_distribution),
        "outcomes": dict(measured.outcomes),
        "planned": measured.planned,
        "taken": measured.taken,
        "censored": measured.censored,
        "unbiased_rate": measured.unbiased_rate,
        "consistency_rate": measured.consistency_rate if aggregated else None,
        "chance_consistency": measured.chance_consistency if aggregated else None,
        "label_count": measured.label_count,
        "agreement": measured.agreement,
        "sd": measured.sd,
        "tolerance": measured.tolerance,
        "perturbations": [
            {
                "name": p.name,
                "asked": p.asked,
                "valid": p.valid,
                "swapped": p.swapped,
                "sample_distribution": _distribution(p.sample_distribution),
                "flip_rate": p.flip_rate,
                **({} if p.probability_change is None else {"probability_change": p.probability_change}),
            }
            for p in measured.perturbations
        ],
        "prompt_sensitivity": dict(measured.prompt_sensitivity),
        "samples": measured.independence.status,
        "effective_samples": measured.independence.effective,
        "collapse_evidence": list(measured.independence.evidence),
        "parser_conflicts": measured.parser_conflicts,
    }


def _calibration(result: HarnessResult) -> dict[str, Any] | None:
    report, state = result.calibration, result.calibration_state
    if report is None or state is None:
        return None
    return {
        **report.record(state),
        "word": report.word,
        "criteria": {
            name: {
                "n": measured.n,
                "positive": measured.positive,
                "precision": rate_document(measured.precision) if state.valid else None,
                "recall": rate_document(measured.recall) if state.valid else None,
                "coverage": rate_document(measured.coverage) if state.valid else None,
                "untold": measured.untold,
            }
            for name, measured in report.criteria.items()
        },
    }
