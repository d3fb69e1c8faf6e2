"""One judge in full: its rates, what changed its verdicts, its calibration, its bill, and what was not measured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from judgeharness_integrations.reporting.billtext import cost_text, tokens_text
from judgeharness_integrations.reporting.calibrationtext import alike, anchor_text, calibration_text
from judgeharness_integrations.reporting.certificatetext import held_text
from judgeharness_integrations.reporting.markdown.escaping import details, escaped, preformatted, table
from judgeharness_integrations.reporting.markdown.headlines import interval, share
from judgeharness_integrations.reporting.runs.designs import design_key, designs_apart
from judgeharness_integrations.verdictlog.row import verdict_text

if TYPE_CHECKING:
    from judgeharness_integrations.reporting.runs.report import JudgeSection
    from judgeharness_integrations.reporting.runs.summary import CriterionSummary, FlipRate
    from judgeharness_integrations.usage import Usage

__all__ = ["judge_lines"]

_MOST_LABELS = 20


def judge_lines(section: JudgeSection) -> list[str]:
    """Return everything about a judge, folded away."""
    models = f" ({', '.join(section.models)})" if section.models else ""
    return details(escaped(f"Judge {section.judge}{models}", 160), _lines(section))


def _lines(section: JudgeSection) -> Iterator[str]:
    designs = designs_apart(one.design for one in section.criteria)
    for summary in section.criteria:
        design = designs[design_key(summary.design)]
        yield f"**{escaped(summary.criterion)}**" + (f" · {escaped(design, 160)}" if design else "")
        yield ""
        yield from table(("measure", "value"), _rates(summary), texts=1)
        yield ""
        failed = {name: count for name, count in summary.outcomes.items() if name != "ok" and count}
        if failed:
            asked = sum(summary.outcomes.values())
            yield f"Failed samples: {', '.join(f'{n} {name}' for name, n in failed.items())} of {asked}."
            yield ""
    yield from _anchor(section)
    yield ""
    for certificate in section.certificates:
        yield f"{escaped(held_text(*certificate), 600)}."
        yield ""
    yield _bill(section)
    if section.calibration_usage is not None:
        spent = ", ".join(_spent(section.calibration_usage, section.calibration_cost, section.cost_remarks))
        yield ""
        yield f"Calibrating it, beside that: {spent}."
    for warning in section.warnings:
        yield f"- warning: {escaped(warning, 300)}"
    if section.not_measured:
        yield ""
        yield "Not measured:"
        yield ""
        for sentence, cases in section.not_measured.items():
            yield f"- {escaped(sentence, 300)} ({cases} of {section.cases} cases)"


def _rates(summary: CriterionSummary) -> Iterator[tuple[str, str]]:
    for label in list(summary.verdicts)[:_MOST_LABELS] if summary.mean_score is None else ():
        yield f"decided {escaped(verdict_text(label), 60)}", share(summary.rate_of(label))
    if (mean := summary.mean_score) is not None:
        yield "mean score of decided cases", f"{mean.value:.3f} {interval(mean.low, mean.high)} of {mean.n}"
    yield "decided", share(summary.coverage)
    yield "abstained", share(summary.abstention)
    yield "not graded", f"{summary.replay.not_graded} of {summary.cases}"
    yield "right, of decided with gold", share(summary.accuracy)
    if (error := summary.replay.mean_absolute_error) is not None:
        yield "mean absolute error of decided with gold", f"{error:.3f} of {summary.replay.labelled}"
    if (controls := summary.controls) is not None:
        for one in controls.shown:
            told = escaped(one.reason, 120) if one.value is None else f"{one.value:.3f} of {one.n}"
            yield f"control: {escaped(one.says, 80)}, {'mean error' if controls.scored else 'right'}", told
        yield "beside its controls", escaped(controls.sentence, 300)
    for name in ("consistency_rate", "chance_consistency", "agreement"):
        value = getattr(summary, name)
        yield f"{name.replace('_', ' ')}, mean over cases", "-" if value is None else f"{value:.3f}"
    for flip in summary.flips:
        yield f"verdicts differ between none and {escaped(flip.perturbation, 80)}, share of pairs", _flip(flip)
    if summary.noise is not None:
        yield "verdicts differ between two samples of none, share of pairs", _flip(summary.noise)


def _flip(flip: FlipRate) -> str:
    ends = interval(flip.low, flip.high, scale=100, digits=1)
    return f"{100 * flip.value:.1f} % {ends}, mean of {flip.cases}"


def _anchor(section: JudgeSection) -> Iterator[str]:
    report, state = section.calibration, section.calibration_state
    if report is None or state is None:
        yield "Uncalibrated: how often this rule is right was not measured. Label some cases and calibrate on them."
        return
    yield f"Calibration: {'. '.join(escaped(text, 600) for text in (anchor_text(report, state), *alike(section)))}."
    if state.valid:
        yield ""
        yield from preformatted(calibration_text(report))


def _bill(section: JudgeSection) -> str:
    never = f" {section.not_asked} cases were never asked." if section.not_asked else ""
    return f"Cost: {', '.join(_spent(section.usage, section.cost, section.cost_remarks))}.{never}"


def _spent(used: Usage, cost: float | None, remarks: Sequence[str]) -> Iterator[str]:
    yield f"{used.calls} calls"
    yield f"{used.attempts} attempts"
    yield f"{used.rewrites} rewrites"
    tokens = tokens_text(used)
    yield "tokens unknown" if tokens is None else f"{tokens} tokens"
    if used.reused:
        yield f"{used.reused} answers re-used"
    if used.latency_s is not None:
        yield f"{used.latency_s:.1f} s of waiting for the judge"
    yield escaped(cost_text(cost, remarks) or "no prices given", 600)
