"""Results, rows and reports as pandas data frames: one row a thing, typed columns, NA for what was not measured."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from judgeharness_integrations._errors import NotInstalledError
from judgeharness_integrations.analysis.result import CriterionResult, HarnessResult
from judgeharness_integrations.verdictlog.encoding import LONE_SURROGATES
from judgeharness_integrations.verdictlog.row import TOKENS, Verdict, VerdictRow, is_number, verdict_text

from .calibrationtext import calibration_word

if TYPE_CHECKING:
    import pandas as pd

    from judgeharness_integrations.analysis.agreement.alttestreport import AltTest, AltTestReport
    from judgeharness_integrations.analysis.agreement.kappatable import AgreementTable, PairAgreement
    from judgeharness_integrations.analysis.calibration.measure import CriterionCalibration
    from judgeharness_integrations.analysis.calibration.saved import CalibrationReport
    from judgeharness_integrations.analysis.ranking.rating import JudgeRank, RankReport
    from judgeharness_integrations.analysis.replay.report import JudgeReplay, ReplayReport
    from judgeharness_integrations.analysis.runs.report import RunReport

__all__ = [
    "MEASURES",
    "Columns",
    "Kind",
    "agreement_frame",
    "alttest_frame",
    "calibration_frame",
    "frame",
    "label_and_score",
    "rank_frame",
    "replay_frame",
    "report_frame",
    "result_frame",
    "results_frame",
    "rows_frame",
]


Kind: TypeAlias = Literal["text", "count", "number", "flag"]
Columns: TypeAlias = "Mapping[str, Kind]"

# pandas' nullable types: a missing count stays a count, and NA is neither NaN nor False
_TYPES: Final[Mapping[Kind, str]] = {"text": "string", "count": "Int64", "number": "Float64", "flag": "boolean"}


def frame(records: Iterable[Mapping[str, Any]], columns: Columns) -> pd.DataFrame:
    """Return a data frame of these columns, in their order; None, and what a record lacks, is NA.

    Raises:
        NotInstalledError: pandas is not installed.

    """
    try:
        import pandas as pd  # noqa: PLC0415 - an extra
    except ModuleNotFoundError:
        raise NotInstalledError("pandas, which holds data frames,", "pandas") from None
    listed = list(records)
    made = {
        name: pd.array([_value(record.get(name), kind) for record in listed], dtype=_TYPES[kind])
        for name, kind in columns.items()
    }
    return pd.DataFrame(made, columns=list(columns), index=pd.RangeIndex(len(listed)))


def _value(value: Any, kind: Kind) -> Any:
    """Return a value as its column takes it: half an emoji becomes the escape it came from, as in files."""
    if value is None or kind != "text":
        return value
    return str(value).encode("utf-8", errors=LONE_SURROGATES).decode("utf-8")


def label_and_score(verdict: Verdict | None) -> tuple[str | None, float | None]:
    """Return a verdict as text (a set as `{a, b}`) and, where it is a number, as one."""
    if verdict is None:
        return None, None
    score = float(verdict) if isinstance(verdict, (int, float)) and is_number(verdict) else None
    return verdict_text(verdict), score


_TESTED: Final[Columns] = {
    "candidate": "text",
    "score": "text",
    "epsilon": "number",
    "multiplicative": "flag",
    "passed": "flag",
    "omega": "number",
    "n_rejected": "count",
    "m_tested": "count",
    "skipped": "count",
    "rho": "number",
    "rho_low": "number",
    "rho_high": "number",
    "rho_human": "number",
    "tie_rate": "number",
    "decisive_rate": "number",
    "omega_tango": "number",
    "omega_clustered": "number",
    "n_instances": "count",
    "q": "number",
    "reason": "text",
    "interval_reason": "text",
    "clustered_reason": "text",
    "warnings": "text",
}
_AGREED: Final[Columns] = {
    "label": "text",
    "first": "text",
    "second": "text",
    "role": "text",
    "coefficient": "text",
    "weights": "text",
    "value": "number",
    "low": "number",
    "high": "number",
    "observed": "number",
    "expected": "number",
    "items": "count",
    "categories": "count",
    "reason": "text",
}


def alttest_frame(report: AltTestReport) -> pd.DataFrame:
    """Return one row a candidate, score and epsilon; see `AltTest`. `skipped` counts annotators that were not tested.

    Raises:
        NotInstalledError: pandas is not installed.

    """
    return frame((_tested(one) | {"q": report.q} for one in report.candidates), _TESTED)


def _tested(one: AltTest) -> dict[str, Any]:
    low, high = one.rho_interval or (None, None)
    told: dict[str, Any] = {"skipped": len(one.skipped), "warnings": "; ".join(one.warnings) or None}
    return {name: getattr(one, name, None) for name in _TESTED} | told | {"rho_low": low, "rho_high": high}


def agreement_frame(table: AgreementTable) -> pd.DataFrame:
    """Return one row a pair of raters, humans with humans, then humans with each candidate; see `Coefficient`.

    Of sets, every label's pairs follow, with the `label`; it is NA in the rows about whole sets.

    Raises:
        NotInstalledError: pandas is not installed.

    """
    return frame(_pairs(table), _AGREED)


def _pairs(table: AgreementTable) -> Iterator[dict[str, Any]]:
    for pair in table.pairs:
        yield _agreed(pair, None)
    for label, below in table.per_label.items():
        for pair in below.pairs:
            yield _agreed(pair, label)


def _agreed(pair: PairAgreement, label: str | None) -> dict[str, Any]:
    found = pair.coefficient
    low, high = found.interval or (None, None)
    return {
        **{name: getattr(found, name, None) for name in _AGREED},
        "label": label,
        "first": pair.first,
        "second": pair.second,
        "role": pair.role,
        "coefficient": found.name,
        "low": low,
        "high": high,
        "reason": found.reason or None,
    }


_RATES = ("precision", "recall", "accuracy", "coverage", "base_rate", "sensitivity", "specificity")
_ESTIMATES = ("balanced_accuracy", "lift", "ac1", "macro_f1", "spearman", "kendall", "quadratic_kappa")
MEASURES: Final = (*_RATES, "kappa", *_ESTIMATES, "mean_absolute_error", "root_mean_squared_error", "bias")

_COLUMNS: Final[Columns] = {
    "criterion": "text",
    "measure": "text",
    "value": "number",
    "low": "number",
    "high": "number",
    "se": "number",
    "successes": "count",
    "n": "count",
    "positive": "text",
    "labels": "text",
    "source": "text",
    "judge": "text",
    "measured_at": "text",
    "undefined": "text",
}


def calibration_frame(report: CalibrationReport) -> pd.DataFrame:
    """Return one row a criterion and measure: its value, 95 % interval or standard error, and `n`, what it is over.

    A measure that is undefined has a row with NA, and `undefined` says why where that is known. `labels` names the
    label set, `source` where its labels come from.

    Raises:
        NotInstalledError: pandas is not installed.

    """
    whole = {
        "labels": report.name,
        "source": report.source,
        "judge": report.judge,
        "measured_at": report.measured_at,
    }
    return frame((whole | one for measured in report.criteria.values() for one in _measures(measured)), _COLUMNS)


def _measures(measured: CriterionCalibration) -> Iterator[dict[str, Any]]:
    found = _errors(measured)
    for name in MEASURES:
        value = getattr(measured, name, None)
        record = found.get(name, {}) if value is None else _numbers(value)
        if record or not _of_scores(name):
            common = {"criterion": measured.criterion, "measure": name, "positive": measured.positive}
            why = measured.undefined.get(name) or (measured.reason or None)
            yield common | {"undefined": None if record else why} | record


def _of_scores(name: str) -> bool:
    """Whether a measure is of scores alone: labels have no row of it."""
    return name in {"spearman", "kendall", "quadratic_kappa", "mean_absolute_error", "root_mean_squared_error", "bias"}


def _numbers(value: Any) -> dict[str, Any]:
    """Return what a rate, an estimate or a kappa says."""
    numbers = {name: getattr(value, name, None) for name in ("value", "low", "high", "se", "successes")}
    trials = getattr(value, "trials", None)
    return numbers | {"n": value.n if trials is None else trials}


def _errors(measured: CriterionCalibration) -> dict[str, dict[str, Any]]:
    errors = measured.errors
    if errors is None:
        return {}
    found: dict[str, dict[str, Any]] = {}
    for name in ("mean_absolute_error", "root_mean_squared_error", "bias"):
        low, high = getattr(errors, f"{name}_interval", None) or (None, None)
        found[name] = {"value": getattr(errors, name), "low": low, "high": high, "n": errors.n}
    return found


_REPLAYED: Final[Columns] = {
    "judge": "text",
    "criterion": "text",
    "rule": "text",
    "rule_fixed": "text",
    "kind": "text",
    "cases": "count",
    "decided": "count",
    "abstained": "count",
    "not_graded": "count",
    "coverage": "number",
    "labelled": "count",
    "correct": "count",
    "accuracy": "number",
    "accuracy_low": "number",
    "accuracy_high": "number",
    "tie_decisions": "count",
    "consistency_rate": "number",
    "position_consistency": "number",
    "first_slot_rate": "number",
    "always_first": "count",
    "always_second": "count",
    "position_bias_p": "number",
    "pairs": "count",
    "unparsed": "count",
    "within_case_sd": "number",
    "mean_absolute_error": "number",
    "curtailed": "count",
    "censored": "count",
    "rows": "count",
}
_RANKED: Final[Columns] = {
    "judge": "text",
    "rank": "count",
    "rank_best": "count",
    "rank_worst": "count",
    "place": "text",
    "elo": "number",
    "se": "number",
    "elo_low": "number",
    "elo_high": "number",
    "elo_published": "number",
    "se_published": "number",
    "elo_conditional": "number",
    "se_conditional": "number",
    "elo_conditional_low": "number",
    "elo_conditional_high": "number",
    "eip": "number",
    "correct": "number",
    "n": "count",
    "right_of_labelled": "number",
    "right_of_labelled_low": "number",
    "right_of_labelled_high": "number",
    "agreement": "number",
    "consistency": "number",
    "first_slot_rate": "number",
    "prefers_longer": "number",
    "prefers_longer_pairs": "count",
    "better_longer": "number",
    "better_longer_pairs": "count",
    "agreement_with_judges": "number",
    "unparsed": "count",
    "failed": "count",
    "rows": "count",
    "tokens": "number",
    "input_tokens": "number",
    "output_tokens": "number",
    "cost": "number",
    "provider": "text",
    "open": "flag",
}


def replay_frame(report: ReplayReport) -> pd.DataFrame:
    """Return one row a judge and criterion, with the 95 % Wilson interval of its accuracy; see `JudgeReplay`.

    The accuracy of single calls has a column a perturbation: `single_call_accuracy[none]`.

    Raises:
        NotInstalledError: pandas is not installed.

    """
    calls: dict[str, Kind] = {_call(name): "number" for one in report.judges for name in one.single_call_accuracy or {}}
    facts = {"rule": report.rule, "rule_fixed": report.rule_fixed}
    return frame((_replayed(one) | facts for one in report.judges), {**_REPLAYED, **calls})


def _call(perturbation: str) -> str:
    return f"single_call_accuracy[{perturbation}]"


def _replayed(one: JudgeReplay) -> dict[str, Any]:
    calls = {_call(name): value for name, value in (one.single_call_accuracy or {}).items()}
    return {name: getattr(one, name, None) for name in _REPLAYED} | _ends("accuracy", one.accuracy_interval) | calls


def rank_frame(report: RankReport) -> pd.DataFrame:
    """Return one row a judge, by rank, those without one last; see `JudgeRank` and `JudgeMeasures`.

    Every group of the `by` column has a column of ratings: `elo[coding]`, by EIP `eip[coding]`.

    Raises:
        NotInstalledError: pandas is not installed.

    """
    what = "eip" if report.method == "eip" else "elo"
    groups: dict[str, Kind] = {f"{what}[{name}]": "number" for one in report.judges for name in one.groups}
    return frame((_ranked(one, what) for one in report.judges), {**_RANKED, **groups})


def _ranked(one: JudgeRank, what: str) -> dict[str, Any]:
    best, worst = one.rank_range or (None, None)
    return {
        **{name: getattr(one, name, getattr(one.measures, name, None)) for name in _RANKED},
        "rank_best": best,
        "rank_worst": worst,
        **_ends("elo", one.ci95),
        **_ends("elo_conditional", one.ci95_conditional),
        **_ends("right_of_labelled", one.measures.right_of_labelled_ci95),
        **{f"{what}[{name}]": value for name, value in one.groups.items()},
    }


def _ends(name: str, interval: tuple[float, float] | None) -> dict[str, float | None]:
    low, high = interval or (None, None)
    return {f"{name}_low": low, f"{name}_high": high}


_RESULTS_COLUMNS: Final[Columns] = {
    "case_id": "text",
    "judge": "text",
    "judge_model": "text",
    "criterion": "text",
    "verdict": "text",
    "score": "number",
    "status": "text",
    "reason": "text",
    "planned": "count",
    "taken": "count",
    "ok": "count",
    "unparsed": "count",
    "refused": "count",
    "error": "count",
    "consistency_rate": "number",
    "chance_consistency": "number",
    "agreement": "number",
    "unbiased_rate": "number",
    "sd": "number",
    "largest_flip_rate": "number",
    "effective_samples": "count",
    "samples": "text",
    "censored": "flag",
    "aggregation_rule": "text",
    "rule_fixed": "text",
    "perturbations": "text",
    "repetitions": "count",
    "informal": "flag",
    "state": "text",
    "calibration": "text",
    "calibration_source": "text",
    "calibrated_precision": "number",
    "calibrated_recall": "number",
    "calls": "count",
    "attempts": "count",
    "input_tokens": "count",
    "output_tokens": "count",
    "latency_s": "number",
    "cached_input_tokens": "count",
    "cache_write_tokens": "count",
    "fingerprint": "text",
}


def results_frame(results: Iterable[HarnessResult]) -> pd.DataFrame:
    """Return one row a case, judge and criterion.

    `verdict` is text, ABSTAIN when abstained and NA when not graded; `score` is the same as a number where it is one.
    Counts of samples are by outcome. `largest_flip_rate` is that of the perturbation that flips most. `calibration` is
    `valid`, `expired`, `unverifiable` or, of a model's labels, `agreement with` it, NA without one. What a case used
    stands in the row of its first criterion, so that sums are right.

    Raises:
        NotInstalledError: pandas is not installed.

    """
    return frame((record for result in results for record in _records(result)), _RESULTS_COLUMNS)


def result_frame(result: HarnessResult) -> pd.DataFrame:
    """Return one row a criterion of a result, as `results_frame` does."""
    return results_frame([result])


def report_frame(report: RunReport) -> pd.DataFrame:
    """Return one row a judge, case and criterion of a report, as `results_frame` does."""
    return results_frame(report.results)


def _records(result: HarnessResult) -> Iterator[dict[str, Any]]:
    used: dict[str, Any] = {name: getattr(result.usage, name) for name in _USED}
    for measured in result.criteria.values():
        yield _case(result) | _criterion(measured) | _calibrated(result, measured.criterion) | _folding(result) | used
        used = {}


_USED = ("calls", "attempts", *TOKENS, "latency_s")


def _case(result: HarnessResult) -> dict[str, Any]:
    return {name: getattr(result, name) for name in ("case_id", "judge", "judge_model", "state", "fingerprint")}


def _criterion(measured: CriterionResult) -> dict[str, Any]:
    verdict, score = label_and_score(measured.verdict)
    flips = [p.flip_rate for p in measured.perturbations if p.flip_rate is not None]
    names = ("criterion", "status", "reason", "planned", "taken", "agreement", "unbiased_rate", "sd", "censored")
    return {
        **{name: getattr(measured, name) for name in names},
        **measured.outcomes,
        "verdict": verdict,
        "score": score,
        "largest_flip_rate": max(flips, default=None),
        "effective_samples": measured.independence.effective,
        "samples": measured.independence.status,
        "consistency_rate": measured.consistency_rate,
        "chance_consistency": measured.chance_consistency,
    }


def _calibrated(result: HarnessResult, criterion: str) -> dict[str, Any]:
    word, rates = calibration_word(result, criterion), result.calibrated(criterion)
    return {
        "calibration": None if word == "none" else word,
        "calibration_source": result.calibration_source,
        "calibrated_precision": None if rates is None or rates.precision is None else rates.precision.value,
        "calibrated_recall": None if rates is None or rates.recall is None else rates.recall.value,
    }


def _folding(result: HarnessResult) -> dict[str, Any]:
    """Return how the samples were taken and folded; of a single one nothing was folded, nor is it consistent."""
    taken = {
        "perturbations": ", ".join(result.perturbations),
        "repetitions": result.repetitions,
        "informal": result.informal,
    }
    if result.informal:
        return taken | {"consistency_rate": None, "chance_consistency": None}
    return taken | {"aggregation_rule": result.aggregation_rule, "rule_fixed": result.rule_fixed}


_ROWS_COLUMNS: Final[Columns] = {
    "run": "text",
    "case_id": "text",
    "judge": "text",
    "criterion": "text",
    "perturbation": "text",
    "repetition": "count",
    "swapped": "flag",
    "outcome": "text",
    "verdict": "text",
    "score": "number",
    "gold": "text",
    "gold_score": "number",
    "call_id": "text",
    "model": "text",
    "input_tokens": "count",
    "output_tokens": "count",
    "cached_input_tokens": "count",
    "cache_write_tokens": "count",
    "service_tier": "text",
    "finish_reason": "text",
    "latency_s": "number",
    "attempts": "count",
    "error": "text",
    "asked_at": "text",
    "reasoning": "text",
    "raw": "text",
    "probe_hash": "text",
    "probabilities": "text",
}


def rows_frame(rows: Iterable[VerdictRow]) -> pd.DataFrame:
    """Return one row a row of the log; an attribute named like a column gets a `_` behind it.

    `verdict` and `gold` are text, `score` and `gold_score` the same as numbers where they are, `probabilities` JSON.
    An attribute's column holds numbers if all its values are numbers, else text.

    Raises:
        NotInstalledError: pandas is not installed.

    """
    listed = list(rows)
    return frame(map(_record, listed), {**_ROWS_COLUMNS, **_attributes(listed)})


def _record(row: VerdictRow) -> dict[str, Any]:
    known: dict[str, Any] = {name: getattr(row, name, None) for name in _ROWS_COLUMNS}
    known["verdict"], known["score"] = label_and_score(row.verdict)
    known["gold"], known["gold_score"] = label_and_score(row.gold)
    known["probabilities"] = None if row.probabilities is None else json.dumps(dict(row.probabilities))
    return known | {_column(name): value for name, value in row.attributes.items()}


def _attributes(rows: Sequence[VerdictRow]) -> dict[str, Kind]:
    kinds: dict[str, Kind] = {}
    for row in rows:
        for name, value in row.attributes.items():
            column = _column(name)
            if isinstance(value, str):
                kinds[column] = "text"
            else:
                kinds.setdefault(column, "number")
    return kinds


def _column(name: str) -> str:
    """Return the column of an attribute: one of its own."""
    return f"{name}_" if name.rstrip("_") in _ROWS_COLUMNS else name
