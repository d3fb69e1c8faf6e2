"""The certificate card: from which score on decisions agree with people, or why nobody can promise it, as text."""

from __future__ import annotations

from collections.abc import Iterator

from judgeharness_integrations.analysis.calibration.saved import CalibrationState
from judgeharness_integrations.analysis.calibration.strata import stratum_text
from judgeharness_integrations.analysis.certifying.certificate import Certificate, Refusal, Selection, Step
from judgeharness_integrations.analysis.statistics import POWER
from judgeharness_integrations.verdictlog.plain import SENTENCE, number_text, safe_text

_LONGEST = 1000  # characters: of a run that is shifted, three features with what differs


def promise_text(certificate: Certificate) -> str:
    """Return what is promised of certified decisions."""
    near = f" within {certificate.tolerance:g}" if any(one.of_scores for one in certificate.selections) else ""
    return (
        f"agree with {safe_text(certificate.whom)}{near} at least {100 * certificate.agreement:g} % of the time, "
        f"with {100 * (1 - certificate.delta):g} % confidence"
    )


def held_text(certificate: Certificate, state: CalibrationState | None) -> str:
    """Return in a line which certificate decisions stand under, and what is promised of them, or why nothing is."""
    promise = str(state)
    if state is not None and state.valid:
        promise = (
            f"decided cases {promise_text(certificate)}{_at_once(certificate)}, if cases are like the labelled ones"
        )
        promise += f"; {state.reason}" if state.reason else ""
    elif state is not None and state.status == "shifted":
        promise += "; decisions stand, without its promise"
    return f"certificate: {safe_text(certificate.name)}: {safe_text(promise, _LONGEST)}"


def _at_once(certificate: Certificate) -> str:
    """Return whether the confidence is that of all strata at once, or of each of an earlier certificate by itself."""
    if certificate.stratum is None:
        return ""
    column = safe_text(certificate.stratum)
    return f", each {column} by itself" if certificate.tests is None else f", in each certified {column} at once"


def terms_text(certificate: Certificate, state: CalibrationState) -> str:
    """Return what tells a certificate in use from another one: its name, whether it holds, and its thresholds."""
    score = safe_text(certificate.score.removeprefix("column:"))
    levels = (
        f"{_where(one, certificate)} "
        + ("refused" if one.threshold is None else f"from {score} {number_text(one.threshold)} on")
        for one in certificate.selections
    )
    return (
        f"{safe_text(certificate.name)} ({state.status}): {', '.join(levels)}; {100 * certificate.agreement:g} % "
        f"agreement, of {certificate.measured_at}"
    )


def certificate_text(certificate: Certificate) -> Iterator[str]:
    """Yield the card: the promise, and of each criterion and stratum threshold, coverage, tests, or the refusal."""
    yield f"asked for: decisions that {promise_text(certificate)}"
    ties = f"{certificate.excluded_ties} ties left out"
    yield f"labels: {safe_text(certificate.name)} ({safe_text(certificate.source)}, {ties})"
    if certificate.candidates > 1:
        yield (
            f"one of {certificate.candidates} candidates on these labels: each is tested at a level of "
            f"{certificate.delta:g} / {certificate.candidates}"
        )
    if certificate.tests is not None and certificate.tests > 1:
        what = "criteria" if certificate.stratum is None else f"strata ({safe_text(certificate.stratum)})"
        yield (
            f"{certificate.tests} {what} have enough labels for a test and share the level equally: all that are "
            "certified keep the promise at once"
        )
    if certificate.curtailed:
        yield "samples were stopped early: the certificate holds for such samples alone"
    for selection in certificate.selections:
        yield from _selection(selection, certificate)
    if certificate.stratum is not None and certificate.tests is None:
        yield (
            f"each {safe_text(certificate.stratum)} is certified by itself: that all of them hold at once has "
            "less confidence"
        )
    if certificate.granted:
        split = "; cases that people are evenly split on are none of them" if certificate.excluded_ties else ""
        yield f"it holds for cases like the labelled ones, which have to be a random sample of them{split}"


def _selection(selection: Selection, certificate: Certificate) -> Iterator[str]:
    where = _where(selection, certificate)
    score = safe_text(certificate.score.removeprefix("column:"))
    shared = selection.clusters is not None and selection.clusters < selection.labelled
    clusters = f" in {selection.clusters} clusters" if shared else ""
    size = f"{selection.labelled} labelled{clusters} of {selection.cases} cases"
    if selection.refusal is None:
        kept = f"coverage {selection.coverage:.3f} ({selection.covered}/{selection.cases})"
        yield f"{where}: certified from {score} {number_text(selection.threshold)} on: {kept}; {size}"
    else:
        yield f"{where}: refused: {selection.refusal.reason}; {size}"
        if selection.steps or not selection.levels:  # labels selected by verdict: the reason says what to do
            yield f"  {_remedy(selection.refusal, selection)}"
    yield from (f"  {_step(step, score)}" for step in selection.steps if step.p is not None)
    if selection.untold:
        yield f"  warning: {safe_text(selection.untold, SENTENCE)}"
    if selection.thin:
        thin = "1 case has" if selection.thin == 1 else f"{selection.thin} cases have"
        yield f"  {thin} fewer than {selection.samples} graded samples: not certified, however sure"
    if selection.levels == 1:
        yield "  all decisions are equally sure: the certificate is for all of them or none"


def _where(selection: Selection, certificate: Certificate) -> str:
    where = safe_text(selection.criterion)
    if selection.stratum is not None:
        where += f", {safe_text(certificate.stratum or '')} {stratum_text(selection.stratum)}"
    return where


def _step(step: Step, score: str) -> str:
    clusters = "" if step.clusters == step.labelled else f" in {step.clusters} clusters"
    return (
        f"{score} >= {number_text(step.threshold)}: {step.covered} cases, {step.wrong} of {step.labelled} labelled"
        f"{clusters} disagree, p {step.p:.2g}"
    )


def _remedy(refusal: Refusal, selection: Selection) -> str:
    labels = None if refusal.labels is None else f"about {refusal.labels} labels in place of {selection.labelled}"
    votes = None if refusal.votes is None else f"about {refusal.votes} votes a case with as many labels"
    ways = " or ".join(filter(None, (labels, votes)))
    if not ways and selection.clusters is not None and selection.clusters < selection.labelled:
        return "how many more labels would do is not told, as labelled cases share clusters: label more clusters"
    if not ways:
        wrong = any(step.wrong for step in selection.steps)
        return f"no number of labels up to 20,000 would do{': the surest decisions are wrong too often' * wrong}"
    return f"{ways} would do in {100 * POWER:.0f} % of studies"
