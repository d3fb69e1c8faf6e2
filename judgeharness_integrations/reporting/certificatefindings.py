"""What a certificate, or a certified cascade, opens with: how many decisions keep which promise, or that none does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from judgeharness_integrations.analysis.certifying.certificate import promise_text
from judgeharness_integrations.verdictlog.encoding import counted, safe_text

from .sections import Finding

if TYPE_CHECKING:
    from judgeharness_integrations.analysis.certifying.cascade import Cascade
    from judgeharness_integrations.analysis.certifying.certificate import Certificate


def certificate_finding(certificate: Certificate, *, before: Sequence[str] = (), following: str = "") -> Finding:
    """Return what a certificate opens with.

    Args:
        certificate: what was certified, or refused.
        before: what is to be done before the command that comes next.
        following: that command; empty where none is known.

    """
    return Finding(answer=_answer(certificate), reasons=(*_reasons(certificate), *before), next=following)


def _answer(certificate: Certificate) -> str:
    judge = safe_text(certificate.judge)
    if not certificate.granted:
        return f"{judge}: no decision is certified: these labels do not show that any {promise_text(certificate)}"
    covered, cases = (sum(getattr(one, name) for one in certificate.selections) for name in ("covered", "cases"))
    return f"{judge}: {covered:,} of {counted(cases, 'decision')} need no second look: they {promise_text(certificate)}"


def _reasons(certificate: Certificate) -> list[str]:
    granted = [one for one in certificate.selections if one.threshold is not None]
    told = []
    if granted and len(granted) < len(certificate.selections):
        what = "criteria" if certificate.stratum is None else "strata"
        told.append(f"refused for {len(certificate.selections) - len(granted)} of {len(certificate.selections)} {what}")
    if any(one.untold for one in granted):
        told.append("agreement is no sign here that the judge tells anything: see the warning")
    return told


def cascade_finding(cascade: Cascade, *, before: Sequence[str] = (), following: str = "") -> Finding:
    """Return what a cascade opens with once it was certified: how many of its steps decide, or that it is refused.

    Args:
        cascade: the cascade.
        before: what is to be done before the command that comes next.
        following: that command; empty where none is known.

    """
    names = safe_text(", then ".join(step.judge for step in cascade.steps))
    granted, steps = sum(step.granted for step in cascade.steps), counted(len(cascade.steps), "step")
    answer = f"{names}: refused, as no step is certified and every case would wait for people"
    if granted:
        promise = cascade_promise(cascade.agreement, cascade.delta)
        answer = f"{names}: {granted} of {steps} are certified: decided cases {promise}"
    return Finding(answer=answer, reasons=tuple(before), next=following)


def cascade_promise(agreement: float, delta: float) -> str:
    """Return what a cascade promises of the cases it decides."""
    return (
        f"agree with their labels at least {100 * agreement:g} % of the time, with {100 * (1 - delta):g} % confidence"
    )
