"""A measurement as text: in one line, and the report of one case."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from judgeharness_integrations.analysis.aggregation.curtailing import positive_label
from judgeharness_integrations.analysis.calibration.measure import CriterionCalibration
from judgeharness_integrations.analysis.certifying.certificate import held_text
from judgeharness_integrations.analysis.result import CriterionResult, HarnessResult, boundary
from judgeharness_integrations.analysis.usage import Usage, reused_from, tokens_of
from judgeharness_integrations.verdictlog.encoding import SENTENCE, distribution_text, number_text, safe_text
from judgeharness_integrations.verdictlog.row import CutOff, Verdict, VerdictRow, verdict_text

from .calibrationtext import calibration_section

_LONGEST_QUOTE = 300
_DOT = " · "
_INVERTED = "reliably wrong by its labels"
_UNTOLD = "its labels cannot tell it from a constant judge"
_AS_LONGEST = "its labels do not show it to be right more often than the longer answer"


def headline(result: HarnessResult, criterion: str, *, decided: str | None = None, anchor: str | None = None) -> str:
    """Return one line: samples, rule, consistency, calibration; first of all `ABSTAIN` or `NOT GRADED`.

    Args:
        result: the measurement.
        criterion: which of its criteria.
        decided: what stands first where there is a decision.
        anchor: what to say of calibration instead of what the result says.

    """
    measured = result.criteria[criterion]
    parts = [_samples(measured)]
    if measured.status != "decided":
        parts.insert(0, "ABSTAIN" if measured.status == "abstained" else "NOT GRADED")
    elif decided is not None:
        parts.insert(0, decided)
    if result.informal:
        parts.append("one sample, informal")
    else:
        parts.append(result.aggregation_rule)
        parts.append(f"consistency {_rate(measured.consistency_rate)}")
    samples = measured.independence
    if samples.status == "collapsed":
        parts.append(f"{samples.effective} of them independent ({', '.join(samples.evidence)})")
    if result.skipped:
        parts.append(f"without {', '.join(result.skipped)}")
    parts.append(anchor or _calibrated(result, criterion))
    if measured.status == "not_graded":
        parts.append(measured.reason)
    return safe_text(_DOT.join(parts))


def _samples(measured: CriterionResult) -> str:
    counts = [f"{count} {verdict_text(verdict)}" for verdict, count in measured.sample_distribution.items()]
    failed = [f"{count} {name}" for name, count in measured.outcomes.items() if name != "ok" and count]
    asked = sum(measured.outcomes.values())
    text = f"{', '.join(counts + failed) or 'no sample'} of {measured.planned}"
    if asked == measured.planned:
        return text
    return f"{text} (stopped early after {asked})" if measured.censored else f"{text} ({asked} asked)"


def under_passport(result: HarnessResult, criterion: str) -> str | None:
    """Return what the passport that decided a result promises of a criterion, or why nothing; None without one."""
    if result.design.passport is None:
        return None
    passport, state = result.design.passport
    if not state.valid:
        return f"passport {state}"
    trust = next((one.trust for one in passport.questions if one.criterion == criterion and one.certified), None)
    if trust is None:
        return f"the passport on {passport.name} certifies no answer to it"
    whom = "people" if passport.calibrated else passport.source.removeprefix("model:")
    return f"passport on {passport.name}: decisions agree with {whom} at least {100 * trust.agreement:g} % of the time"


def _calibrated(result: HarnessResult, criterion: str) -> str:
    report, state = result.calibration, result.calibration_state
    if report is None or state is None:
        return under_passport(result, criterion) or "uncalibrated"
    if not state.valid:
        return f"calibration {state}"
    rates = report.criteria.get(criterion)
    if rates is None:
        return f"uncalibrated: {report.name} holds no labels of this criterion"
    untold = _INVERTED if rates.inverted else _AS_LONGEST if rates.as_longest else _UNTOLD
    told = f"{_rates(rates)}; {untold}" if rates.untold else _rates(rates)
    return told if report.calibrated else f"{report.word}: {told}"


def _rates(rates: CriterionCalibration) -> str:
    precision, recall = (None if rate is None else rate.value for rate in (rates.precision, rates.recall))
    return f"precision {_rate(precision)}, recall {_rate(recall)} (n={rates.n})"


def _rate(value: float | None) -> str:
    return "none" if value is None else f"{value:.2f}"


def _reasoned(result: HarnessResult, criterion: str, verdicts: Sequence[Verdict]) -> VerdictRow | None:
    """Return a row with reasons for the first of the verdicts that has one, unswapped rows first."""
    if not verdicts:
        return None
    rows = [row for row in result.rows if row.criterion == criterion and _is_text(row.reasoning or row.raw)]
    for verdict in verdicts:
        matching = [row for row in rows if row.verdict == verdict]
        if matching:
            return min(matching, key=lambda row: row.swapped)
    return None


def _is_text(reasons: str | None) -> bool:
    return bool(reasons) and not str(reasons).startswith("sha256:")  # kept as a hash


def _side(measured: CriterionResult) -> tuple[list[Verdict], list[Verdict]]:
    """Return the verdicts of the decision's side, strongest first, and those against it."""
    by_count = list(measured.sample_distribution)
    if measured.numeric:
        far = {verdict: abs(float(verdict) - _center(measured)) for verdict in by_count}  # type: ignore[arg-type]
        near = sorted(by_count, key=far.__getitem__)
        return near, [verdict for verdict in reversed(near) if far[verdict] > (measured.tolerance or 0.0)]
    mine = [verdict for verdict in by_count if verdict == measured.verdict] or by_count[:1]
    return mine, [verdict for verdict in by_count if verdict not in mine]


def _center(measured: CriterionResult) -> float:
    if isinstance(measured.verdict, (int, float)):
        return float(measured.verdict)
    counts = measured.sample_distribution.items()
    return math.fsum(float(score) * count for score, count in counts) / measured.valid  # type: ignore[arg-type]


def rationale(result: HarnessResult, criterion: str) -> VerdictRow | None:
    """Return a sample that gives reasons for the decision (for the leading verdict when there is none)."""
    return _reasoned(result, criterion, _side(result.criteria[criterion])[0])


def dissent(result: HarnessResult, criterion: str) -> VerdictRow | None:
    """Return a sample that gives reasons for the strongest verdict against the decision."""
    return _reasoned(result, criterion, _side(result.criteria[criterion])[1])


def undecided_reason(result: HarnessResult, criterion: str) -> str:
    """Return why a criterion is not decided; of one not graded, with what the first answer without a verdict said."""
    measured = result.criteria[criterion]
    parts = [f"{measured.status.replace('_', ' ')}: {measured.reason}", _first_failure(result, measured)]
    return "; ".join(filter(None, parts))


def _first_failure(result: HarnessResult, measured: CriterionResult) -> str | None:
    """Return what the first answer without a verdict said, of a criterion that is not graded."""
    rows = (row for row in result.rows if row.criterion == measured.criterion)
    failed = (row for row in rows if row.outcome in ("unparsed", "refused") and _is_text(row.reasoning))
    if measured.status != "not_graded" or (first := next(failed, None)) is None:
        return None
    return f"first {first.outcome}: {' '.join(str(first.reasoning).split())[:_LONGEST_QUOTE]}"


def shown_order(row: VerdictRow) -> str:
    """Return a note for a rationale whose letters name the texts in swapped order."""
    return " (shown in swapped order)" if row.swapped else ""


def tokens_text(used: Usage | Mapping[str, Any], *, number: Callable[[int], str] = str) -> str | None:
    """Return `1200 + 30 (800 cached)`: tokens read and written; None where no call reported them.

    Those in brackets are among the tokens read: the provider read them from its prompt cache, or wrote them to it.
    """
    found = used if isinstance(used, Mapping) else tokens_of([used])
    if found["input_tokens"] is None:
        return None
    parts = (("cached_input_tokens", "cached"), ("cache_write_tokens", "written to the cache"))
    told = ", ".join(f"{number(count)} {what}" for name, what in parts if (count := found.get(name)))
    return f"{number(found['input_tokens'])} + {number(found['output_tokens'] or 0)}" + (f" ({told})" if told else "")


def cost_text(cost: float | None, remarks: Sequence[str] = ()) -> str | None:
    """Return `cost 0.0033 by the prices given` with what is to be said of it; None without prices."""
    if cost is None:
        return f"cost not known ({'; '.join(remarks)})" if remarks else None
    return f"cost {cost:.4f} by the prices given" + (f" ({'; '.join(remarks)})" if remarks else "")


def text_report(result: HarnessResult) -> str:
    """Return the whole measurement as text: ten lines a criterion, then what stands behind them."""
    lines: list[str] = []
    for measured in result.criteria.values():
        if len(result.criteria) > 1:
            lines.append(f"criterion: {safe_text(measured.criterion)}")
        lines += _informal(result, measured) if result.informal else _headline(result, measured)
        lines.append("")
        lines += _details(result, measured)
        lines.append("")
    lines += _case(result)
    return "\n".join(lines) + "\n"


def _informal(result: HarnessResult, measured: CriterionResult) -> Iterator[str]:
    yield f"judge_model: {safe_text(result.judge_model or 'unknown')}"
    yield f"verdict: {_decision(measured)}"
    yield "informal: one sample as the judge gave it, not a measurement"


def _headline(result: HarnessResult, measured: CriterionResult) -> Iterator[str]:
    calibrated = result.calibration.criteria.get(measured.criterion) if result.calibration is not None else None
    if calibrated is None or result.calibration_source is None:
        source, precision, recall = f"none ({_why_uncalibrated(result, measured.criterion)})", None, None
    else:
        source, precision, recall = result.calibration_source, calibrated.precision, calibrated.recall
    yield f"judge_model: {safe_text(result.judge_model or 'unknown')}"
    unknown = "unknown" if result.counts_alone else None
    yield f"perturbations: {unknown or ', '.join(map(safe_text, result.perturbations))}"
    yield f"repetitions_per_perturbation: {unknown or result.repetitions}"
    yield f"aggregation_rule: {safe_text(result.aggregation_rule)}"
    yield f"sample_distribution: {distribution_text(measured.sample_distribution)}"
    yield f"verdict: {_decision(measured)}"
    yield f"consistency_rate: {number_text(measured.consistency_rate)}"
    yield f"calibration_source: {safe_text(source)}"
    yield f"calibrated_precision: {number_text(precision.value if precision else None)}"
    yield f"calibrated_recall: {number_text(recall.value if recall else None)}"


def _decision(measured: CriterionResult) -> str:
    return "NOT GRADED" if measured.verdict is None else safe_text(verdict_text(measured.verdict))


def _why_uncalibrated(result: HarnessResult, criterion: str) -> str:
    report, state = result.calibration, result.calibration_state
    if report is None or state is None:
        return "unknown" if result.counts_alone else under_passport(result, criterion) or "uncalibrated"
    if not state.valid:
        return f"calibration {state}"
    return f"{report.name} holds no label for it" if report.calibrated else f"{report.word} on {report.name}"


def _details(result: HarnessResult, measured: CriterionResult) -> Iterator[str]:
    told = measured.reason and not (result.informal and measured.status == "decided")
    yield f"status: {measured.status}" + (f" ({safe_text(measured.reason)})" if told else "")
    failures = ", ".join(f"{count} {outcome}" for outcome, count in measured.outcomes.items())
    yield f"samples: {measured.planned} planned: {failures}"
    if (failure := _first_failure(result, measured)) is not None:
        yield safe_text(failure, _LONGEST_QUOTE)
    if not result.informal:
        yield from _stopping(measured)
        yield _consistency(measured, fixed=not result.design.curtail)
        yield f"independence: {measured.independence.status}, {measured.independence.effective} effective samples"
        yield "by perturbation:"
        names = [safe_text(p.name, 60) for p in measured.perturbations]
        width = max(map(len, names), default=0)
        for name, p in zip(names, measured.perturbations, strict=True):
            flips = "" if p.flip_rate is None else f"  flip rate against none {number_text(p.flip_rate)}"
            moved = (
                "" if p.probability_change is None else f"  probability moves by {number_text(p.probability_change)}"
            )
            samples = distribution_text(p.sample_distribution)
            yield f"  {name:<{width}}  {p.valid}/{p.asked} valid  {samples}{flips}{moved}"
        for name, rate in measured.prompt_sensitivity.items():
            yield f"sensitivity to prompting: {safe_text(name, 60)} {number_text(rate)}"
    if (row := rationale(result, measured.criterion)) is not None:
        other = "" if measured.numeric or row.verdict == measured.verdict else f", {_verdict(row)}"
        yield f"rationale{other}{shown_order(row)}: {_reasons(row)}"
    if (row := dissent(result, measured.criterion)) is not None:
        yield f"strongest dissent, {_verdict(row)}{shown_order(row)}: {_reasons(row)}"


def _verdict(row: VerdictRow) -> str:
    return safe_text(verdict_text(row.verdict), 60)


def _reasons(row: VerdictRow) -> str:
    return safe_text(row.reasoning or row.raw or "")


def _stopping(measured: CriterionResult) -> Iterator[str]:
    if measured.censored:
        yield f"stopped early: {measured.taken} of {measured.planned} planned samples; distribution censored"
    if measured.unbiased_rate is not None:
        label = positive_label(measured.sample_distribution)
        yield f"unbiased rate of {label}: {number_text(measured.unbiased_rate)}"


def _consistency(measured: CriterionResult, *, fixed: bool) -> str:
    """Return how consistent the samples are; `fixed`: their number was, as a chance level and agreement presume."""
    rate, n = number_text(measured.consistency_rate), measured.valid
    if measured.numeric:
        center = "decision" if measured.status == "decided" else "median"
        near = f"{rate} of {n} scores within {number_text(measured.tolerance)} of the {center}"
        return f"consistency: {near}; SD {number_text(measured.sd)}"
    if not fixed:
        return f"consistency: {rate} over {n} valid samples; with early stopping it has no chance level"
    chance = (
        f"a judge guessing among {measured.label_count} labels would show {number_text(measured.chance_consistency)}"
    )
    null = "" if measured.label_count is None else f" {chance};"
    return f"consistency: {rate} over {n} valid samples;{null} agreement of pairs {number_text(measured.agreement)}"


def _reused(result: HarnessResult) -> str:
    runs, many = [safe_text(run, 60) for run in reused_from(result.rows)], result.usage.reused
    return f"{many} call{'s' if many > 1 else ''} re-used from run{'s' if len(runs) > 1 else ''} {', '.join(runs)}"


def _case(result: HarnessResult) -> Iterator[str]:
    yield f"case: {safe_text(result.case_id)}"
    yield f"judge: {safe_text(result.judge)}"
    if not (result.informal or result.counts_alone):
        fixed = "before the samples" if result.rule_fixed == "before" else "after the samples: exploratory"
        yield f"rule chosen: {fixed}"
    report = result.calibration if result.calibration_valid else None
    if report is not None and not report.criteria.keys().isdisjoint(result.criteria):
        from .terminal import section_lines  # noqa: PLC0415 - brings rich

        yield from (*section_lines(calibration_section(report)), "")
    if result.certificate is not None:
        yield held_text(result.certificate, result.certificate_state)
    usage = result.usage
    counts = tokens_text(usage)
    tokens = "tokens unknown" if counts is None else f"{counts} tokens"
    reused = f", {_reused(result)}" if usage.reused else ""
    if not result.counts_alone:
        yield f"usage: {usage.calls} calls, {usage.attempts} attempts, {usage.rewrites} rewrites, {tokens}{reused}"
    cut_off = CutOff()
    cut_off.add(result.rows)
    for warning in filter(None, (cut_off.alert, *result.warnings)):
        yield f"warning: {safe_text(warning, SENTENCE)}"
    yield "not measured:"
    for sentence in boundary(result):
        yield f"  - {safe_text(sentence)}"


_UNTRACED: Final = (None, "", "None")


def traces_text(rows: Iterable[VerdictRow]) -> str:
    """Return the runs under which LangSmith or LangChain traced a case, or its samples; empty where rows name none.

    Samples are called what their traces are: `position_swap#0`.
    """
    runs: dict[str, list[str]] = {}
    for row in rows:
        if (run := row.attributes.get("run_id")) not in _UNTRACED:
            runs.setdefault(str(run), []).append(f"{row.perturbation}#{row.repetition}")
    if len(runs) == 1:
        return f"run {next(iter(runs))}"
    return "; ".join(f"{', '.join(dict.fromkeys(samples))}: run {run}" for run, samples in runs.items())
