"""One judge in full: its rates, what changed its verdicts, its calibration, its bill, and what was not measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from judgeharness_integrations.calibration.rates import Rate
from judgeharness_integrations.reporting.calibrationtext import calibration_text
from judgeharness_integrations.reporting.markdown.escaping import details, escaped, preformatted, table
from judgeharness_integrations.reporting.markdown.headlines import interval, share
from judgeharness_integrations.verdictlog.row import verdict_text

if TYPE_CHECKING:
    from judgeharness_integrations.reporting.runs.report import JudgeSection
    from judgeharness_integrations.reporting.runs.summary import CriterionSummary

__all__ = ["judge_lines"]

_MOST_LABELS = 20


def judge_lines(section: JudgeSection) -> list[str]:
    """Return everything about a judge, folded away."""
    models = f" ({', '.join(section.models)})" if section.models else ""
    return details(escaped(f"Judge {section.judge}{models}", 160), _lines(section))


def _lines(section: JudgeSection) -> Iterator[str]:
    for summary in section.criteria:
        yield f"**{escaped(summary.criterion)}**"
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
    yield _bill(section)
    for warning in section.warnings:
        yield f"- warning: {escaped(warning, 300)}"
    if section.not_measured:
        yield ""
        yield "Not measured:"
        yield ""
        for sentence, cases in section.not_measured.items():
            yield f"- {escaped(sentence, 300)} ({cases} of {section.cases} cases)"


def _rates(summary: CriterionSummary) -> Iterator[tuple[str, str]]:
    for label, count in list(summary.verdicts.items())[:_MOST_LABELS] if summary.mean_score is None else ():
        rate = summary.positive_rate if label == summary.positive else Rate.of(count, summary.cases)
        yield f"decided {escaped(verdict_text(label), 60)}", share(rate)
    if (mean := summary.mean_score) is not None:
        yield "mean score of decided cases", f"{mean.value:.3f} {interval(mean.low, mean.high)} of {mean.n}"
    yield "decided", share(summary.coverage)
    yield "abstained", share(summary.abstention)
    yield "not graded", f"{summary.replay.not_graded} of {summary.cases}"
    yield "right, of decided with gold", share(summary.accuracy)
    for name in ("consistency_rate", "chance_consistency", "agreement"):
        value = getattr(summary, name)
        yield f"{name.replace('_', ' ')}, mean over cases", "-" if value is None else f"{value:.3f}"
    for flip in summary.flips:
        found = f"{100 * flip.value:.1f} % {interval(flip.low, flip.high, scale=100, digits=1)} of {flip.cases}"
        yield f"flips under {escaped(flip.perturbation, 80)}", found


def _anchor(section: JudgeSection) -> Iterator[str]:
    report, state = section.calibration, section.calibration_state
    if report is None or state is None:
        yield "Uncalibrated: how often this rule is right was not measured. Label some cases and calibrate on them."
        return
    yield f"Calibration: {escaped(str(state), 300)}."
    if state.valid:
        yield ""
        yield from preformatted(calibration_text(report))


def _bill(section: JudgeSection) -> str:
    used = section.usage
    tokens = (
        "tokens unknown" if used.input_tokens is None else f"{used.input_tokens} + {used.output_tokens or 0} tokens"
    )
    parts = [f"{used.calls} calls", f"{used.attempts} attempts", f"{used.rewrites} rewrites", tokens]
    parts += [f"{used.reused} answers re-used"] if used.reused else []
    parts += [f"{used.latency_s:.1f} s of waiting for the judge"] if used.latency_s is not None else []
    parts.append("no prices given" if section.cost is None else f"cost {section.cost:.4f} by the prices given")
    never = f" {section.not_asked} cases were never asked." if section.not_asked else ""
    return f"Cost: {', '.join(parts)}.{never}"
