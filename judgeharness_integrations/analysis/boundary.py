"""What a measurement did not measure, derived from its own facts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from judgeharness_integrations.analysis.calibration.population import column_text
from judgeharness_integrations.analysis.result import CriterionResult, HarnessResult
from judgeharness_integrations.verdictlog.row import Verdict, is_number, verdict_text

NO_VERDICT = "hold no verdict"
UNCALIBRATED = "uncalibrated: how often this rule is right was not measured"
EXPLORATORY = "rule chosen after the samples: exploratory"
COUNTS_ALONE = "read from its counts alone: perturbations, rows, single answers, cost and calibration are not known"
_PAIRWISE = frozenset({"A", "B", "TIE"})


def boundary(result: HarnessResult) -> tuple[str, ...]:
    """Return one sentence for everything this result does not stand on."""
    if result.counts_alone:
        return (COUNTS_ALONE,)
    sentences = [*_anchor(result), *_probing(result), *_samples(result)]
    judge, *authors = result.model_families or (None,)
    if judge is not None and judge in authors:
        sentences.append(f"judge and author share a model family ({judge}): self-preference was not measured")
    sentences += result.untested
    return tuple(dict.fromkeys(sentences))


def _anchor(result: HarnessResult) -> Iterator[str]:
    report, state = result.calibration, result.calibration_state
    if report is None or state is None:
        yield UNCALIBRATED
    elif not state.valid:
        yield f"uncalibrated: the calibration on {report.name} is {state}"
    elif not report.calibrated:
        yield f"uncalibrated: {report.word}, the labels are a model's, not people's"
    else:
        column = None if report.population is None else report.population.column
        if column is not None and (where := report.unlabelled_stratum(column_text(result.rows, column))):
            yield where
        for criterion in result.criteria:
            if criterion not in report.criteria:
                yield f"{criterion} is uncalibrated: {report.name} holds no label for it"
            elif why := report.untold(criterion):
                yield f"{criterion}: {why}" if len(result.criteria) > 1 else why
    if result.rule_fixed == "after":
        yield EXPLORATORY


def _probing(result: HarnessResult) -> Iterator[str]:
    asked = {part.partition("(")[0] for name in result.perturbations for part in name.split("+")}
    pairwise = any(_PAIRWISE & set(map(str, c.sample_distribution)) for c in result.criteria.values())
    if pairwise and not any(p.swapped for c in result.criteria.values() for p in c.perturbations):
        yield "position bias was not measured: the order of the answers was never swapped"
    if not asked & {"format_change", "whitespace", "typography"}:
        yield "sensitivity to formatting was not measured"
    if not asked & {"paraphrase", "prompt_variant"}:
        yield "sensitivity to wording was not measured"
    if result.design.curtail and len(result.perturbations) > 1:
        yield "what a perturbation changes was not measured: early stopping asks later ones only where it is still open"
    for name, reason in result.skipped.items():
        yield f"{name} was skipped: {reason.rstrip('.')}"


def _samples(result: HarnessResult) -> Iterator[str]:
    if result.repetitions == 1 and not result.informal:
        yield "the judge's own noise was not measured: one sample per perturbation"
    if result.informal:
        yield "one sample: neither noise nor bias of the judge was measured"
    if result.state != "complete":
        yield f"the run did not finish: {result.state.replace('_', ' ')}"
    for criterion in result.criteria.values():
        yield from _criterion(criterion)


def _criterion(measured: CriterionResult) -> Iterator[str]:
    asked = measured.taken if measured.censored else measured.planned
    if failed := max(asked - measured.valid, 0):
        yield f"{failed} of {asked} samples of {measured.criterion} {NO_VERDICT}"
    if measured.censored:
        yield f"consistency of all {measured.planned} samples of {measured.criterion}: {asked} settled the decision"
    independence = measured.independence
    if independence.status == "collapsed":
        evidence = ", ".join(independence.evidence)
        yield f"repetitions collapsed ({evidence}): {independence.effective} effective of {measured.valid} samples"
    elif independence.status == "cannot tell":
        yield "whether the repetitions are independent cannot be told from short identical or missing texts"
    if measured.parser_conflicts:
        yield f"the evaluator's own parser read {measured.parser_conflicts} answers differently"


_GRADES: dict[str, Literal["passed", "failed"]] = {"PASS": "passed", "FAIL": "failed"}


@dataclass(frozen=True, kw_only=True)
class CaseOutcome:
    """`outcome` of a decision with the `reason`; `ungraded` says why one that passed is no real pass."""

    outcome: Literal["passed", "failed", "abstained", "not_graded"]
    reason: str
    ungraded: str = ""


def case_outcome(measured: CriterionResult, gold: Verdict | None) -> CaseOutcome:
    """Return what a case comes to.

    PASS passes and FAIL fails, whatever people say. Any other label passes where it equals the gold label and fails
    where it does not; without gold it is no pass or fail, nor is a score without `pass_at`: such a case counts as
    passed, and `ungraded` says so.

    Args:
        measured: the measurement of a case and criterion.
        gold: people's label; None without one.

    """
    if measured.status != "decided":
        return CaseOutcome(outcome=measured.status, reason=f"{measured.status.replace('_', ' ')}: {measured.reason}")
    decision = measured.verdict
    verdict = verdict_text(decision)
    if isinstance(decision, str) and decision in _GRADES:
        return CaseOutcome(outcome=_GRADES[decision], reason=f"verdict {verdict}")
    if is_number(decision):
        why = "a score is no pass or fail without pass_at"
        return CaseOutcome(outcome="passed", reason=f"score {verdict}", ungraded=why)
    if gold is None or is_number(gold):  # a score is neither the right label nor a wrong one
        why = f"{verdict} is no pass or fail without a gold label"
        return CaseOutcome(outcome="passed", reason=f"verdict {verdict}", ungraded=why)
    if decision == gold:
        return CaseOutcome(outcome="passed", reason=f"verdict {verdict}, as people say")
    return CaseOutcome(outcome="failed", reason=f"verdict {verdict}, people say {verdict_text(gold)}")
