"""What an opened case shows, as data that the page's script turns into elements, text by text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from judgeharness_integrations.aggregation.grouping import EVERY_CRITERION
from judgeharness_integrations.reporting.billtext import tokens_text
from judgeharness_integrations.reporting.boundary import boundary
from judgeharness_integrations.reporting.html.caserows import CaseRow
from judgeharness_integrations.reporting.html.tones import Tones
from judgeharness_integrations.reporting.html.wording import grouped, percent, plural
from judgeharness_integrations.reporting.plain import number_text
from judgeharness_integrations.reporting.rationales import dissent
from judgeharness_integrations.result import CriterionResult, HarnessResult, PerturbationSummary
from judgeharness_integrations.usage import reused_from
from judgeharness_integrations.verdictlog.row import Verdict, VerdictRow, verdict_text

__all__ = ["case_details"]

_HASH = "sha256:"  # what stands for a text that was not kept

Document = dict[str, Any]


def case_details(row: CaseRow, tones: Tones, shared: Iterable[str] = ()) -> Document:
    """Return what the opened case shows.

    Args:
        row: its line in the table.
        tones: the page's colours.
        shared: sentences of the boundary that hold for every case; they stand at the end of the page.

    """
    result, measured = row.result, row.measured
    known = set(shared)
    rows = [one for one in result.rows if one.criterion in (measured.criterion, EVERY_CRITERION)]
    return {
        "facts": _facts(row),
        "bar": [[one.label, one.count, one.tone] for one in row.samples.segments],
        "parts": [] if result.informal else [_part(one, measured, tones) for one in measured.perturbations],
        "reasons": _reasons(rows, row, tones),
        "failures": [_failure(one) for one in rows if one.verdict is None],
        "warnings": list(result.warnings),
        "limits": [sentence for sentence in boundary(result) if sentence not in known],
    }


def _facts(row: CaseRow) -> list[list[str]]:
    result, measured = row.result, row.measured
    found = [["Decision", f"{row.decision} ({measured.status.replace('_', ' ')})"]]
    if measured.reason:
        found.append(["Why", measured.reason])
    if row.gold:
        word = {None: "", True: ", the decision is right", False: ", the decision differs"}[row.right]
        found.append(["Gold label", row.gold + word])
    outcomes = ", ".join(f"{count} {name}" for name, count in measured.outcomes.items() if count)
    asked = "" if measured.taken == measured.planned else f", {measured.taken} asked"
    found.append(["Samples", f"{measured.planned} planned{asked}: {outcomes or 'none'}"])
    if not result.informal:
        found += [["Consistency", _consistency(measured)], ["Independence", _independence(measured)]]
    if measured.unbiased_rate is not None:
        found.append(["Unbiased rate", f"{percent(measured.unbiased_rate)}, without the bias of stopping early"])
    found.append(["Judge", result.judge + (f" ({result.judge_model})" if result.judge_model else "")])
    if result.test is not None:
        found.append(["Test", result.test])
    found.append(["Cost", _cost(result)])
    if result.skipped:
        found.append(["Skipped", "; ".join(f"{name}: {reason}" for name, reason in result.skipped.items())])
    return found


def _consistency(measured: CriterionResult) -> str:
    rate = percent(measured.consistency_rate)
    if measured.numeric:
        near = f"{rate} of {measured.valid} scores within {number_text(measured.tolerance)} of the decision"
        return near + ("" if measured.sd is None else f"; standard deviation {number_text(measured.sd)}")
    words = [f"{rate} of {plural(measured.valid, 'valid sample')}"]
    if measured.chance_consistency is not None:
        words.append(f"a guessing judge shows {percent(measured.chance_consistency)}")
    if measured.agreement is not None:
        words.append(f"pairs agree {percent(measured.agreement)}")
    return "; ".join(words)


def _independence(measured: CriterionResult) -> str:
    found = measured.independence
    evidence = f" ({', '.join(found.evidence)})" if found.evidence else ""
    return f"{found.status}{evidence}: {found.effective} effective of {measured.valid}"


def _cost(result: HarnessResult) -> str:
    usage = result.usage
    words = [plural(usage.calls, "call"), plural(usage.attempts, "attempt")]
    tokens = tokens_text(usage, number=grouped)
    words.append("tokens unknown" if tokens is None else f"{tokens} tokens")
    if usage.latency_s is not None:
        words.append(f"{usage.latency_s:,.1f} s")
    if usage.rewrites:
        words.append(plural(usage.rewrites, "rewrite"))
    if usage.reused:
        words.append(f"{usage.reused} re-used from {', '.join(reused_from(result.rows))}")
    return ", ".join(words)


def _part(part: PerturbationSummary, measured: CriterionResult, tones: Tones) -> list[Any]:
    counts = [
        [verdict_text(verdict), count, tones.of(measured.criterion, verdict)]
        for verdict, count in part.sample_distribution.items()
    ]
    flip = "" if part.flip_rate is None else percent(part.flip_rate)
    return [part.name, part.swapped, part.asked, part.valid, counts, flip]


def _reasons(rows: Sequence[VerdictRow], row: CaseRow, tones: Tones) -> list[Document]:
    """Return every sample with a verdict, by verdict: the decision first, then what speaks against it."""
    groups: dict[Verdict, list[VerdictRow]] = {verdict: [] for verdict in _ordered(row.measured)}
    for one in rows:
        if one.verdict is not None:
            groups.setdefault(one.verdict, []).append(one)
    against = dissent(row.result, row.measured.criterion)
    return [
        {
            "verdict": verdict_text(verdict),
            "tone": tones.of(row.measured.criterion, verdict),
            "decided": verdict == row.measured.verdict,
            "samples": [_sample(one, strongest=one is against) for one in given],
        }
        for verdict, given in groups.items()
    ]


def _ordered(measured: CriterionResult) -> list[Verdict]:
    verdicts = list(measured.sample_distribution)
    if measured.numeric:
        return sorted(verdicts, key=float)  # type: ignore[arg-type]
    return sorted(verdicts, key=lambda verdict: verdict != measured.verdict)


def _sample(row: VerdictRow, *, strongest: bool) -> list[Any]:
    text = row.reasoning or row.raw or ""
    return [row.perturbation, row.repetition + 1, row.swapped, strongest, *_kept(text)]


def _kept(text: str) -> tuple[str, str]:
    """Return a text, and a word about one that was not kept."""
    if not text:
        return "", "no reasons in the log"
    return ("", "only a hash was kept") if text.startswith(_HASH) else (text, "")


def _failure(row: VerdictRow) -> list[Any]:
    return [row.perturbation, row.repetition + 1, row.swapped, row.outcome, row.error or "", *_kept(row.raw or "")[:1]]


def texts_of(case_texts: Mapping[str, str]) -> list[list[str]]:
    """Return a case's texts, field by field, without empty ones."""
    return [[name, text] for name, text in case_texts.items() if text]
