"""What a certificate takes, by a labelled pilot: the part of `judgeharness plan` that `--certify` adds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.text import Text

from judgeharness_integrations._errors import UsageError
from judgeharness_integrations.aggregation.grouping import by_case, cluster_of
from judgeharness_integrations.aggregation.rules import Rule
from judgeharness_integrations.calibration.simultaneous import check_candidates, simultaneous_alpha
from judgeharness_integrations.certifying.pricing import CertificatePrice, agreed_votes, certificate_prices
from judgeharness_integrations.cli._printing import console, percent, table
from judgeharness_integrations.verdictlog.row import VerdictRow

__all__ = ["CertificatePlan", "certificate_plan", "print_certificate"]

_PRICED: Final = "majority"


@dataclass(frozen=True, kw_only=True)
class CertificatePlan:
    """What a certificate takes: `by_votes` a case; `labels` is how many the pilot holds.

    `assurance` is the share of studies in which it is to be granted, `candidates` of how many it is the chosen one.
    """

    agreement: float
    delta: float
    assurance: float
    candidates: int
    labels: int
    by_votes: tuple[CertificatePrice, ...]


def certificate_plan(
    rows: Sequence[VerdictRow], *, agreement: float, delta: float, assurance: float, candidates: int, rule: Rule | None
) -> CertificatePlan:
    """Return what a certificate takes by the votes of one criterion of a pilot.

    Raises:
        UsageError: the pilot does not tell, labelled cases share clusters, as prices are of independent ones, or the
            rule is not the one that is priced.

    """
    check_candidates(candidates)
    if rule is not None and rule.name != _PRICED:
        raise UsageError(
            f"--certify prices decisions of the rule {_PRICED}, not of {rule.name}: give --rule {_PRICED}, or certify "
            "a labelled log under your rule, whose refusal says how many labels would do."
        )
    cases = by_case(rows)
    clusters = [
        cluster_of(case_id, mine) for (_, case_id), mine in cases.items() if any(row.gold is not None for row in mine)
    ]
    if len(set(clusters)) < len(clusters):
        raise UsageError(
            f"{len(clusters)} labelled cases of the pilot are in {len(set(clusters))} clusters, and --certify tells "
            "what a certificate takes of independent cases: give a --pilot LOG with one labelled case a cluster."
        )
    agreed = agreed_votes(cases.values())
    prices = certificate_prices(
        agreed,
        agreement=agreement,
        delta=simultaneous_alpha(delta, candidates),
        labels=len(agreed),
        share=assurance,
    )
    if not prices:
        raise UsageError(
            "--certify needs a pilot with gold labels and several votes a case, which differ within cases and between "
            "them: give such a --pilot LOG."
        )
    return CertificatePlan(
        agreement=agreement,
        delta=delta,
        assurance=assurance,
        candidates=candidates,
        labels=len(agreed),
        by_votes=prices,
    )


def print_certificate(plan: CertificatePlan) -> None:
    """Print what a certificate takes."""
    screen = console()
    promise = f"decisions agree with labels {100 * plan.agreement:g} % of the time, with {100 * (1 - plan.delta):g} %"
    screen.print(Text(f"certificate that {promise} confidence, the pilot's votes taken for certain:"), soft_wrap=True)
    if plan.candidates > 1:
        each = f"the chosen one of {plan.candidates} candidates, each tested at a level of {plan.delta:g} / "
        screen.print(Text(f"{each}{plan.candidates}"), soft_wrap=True)
    columns = (
        "votes\na case",
        f"labels for {100 * plan.assurance:g} %\nof studies",
        "calls",
        "coverage, %",
        f"granted with\n{plan.labels} labels, %",
    )
    rows = [
        (
            str(one.votes),
            "-" if one.labels is None else str(one.labels),
            "-" if one.calls is None else str(one.calls),
            percent(one.coverage),
            percent(one.chance),
        )
        for one in plan.by_votes
    ]
    screen.print(table("what a certificate takes", columns, rows, texts=0))
    screen.print(Text(_cheapest(plan)), soft_wrap=True)


def _cheapest(plan: CertificatePlan) -> str:
    calls, _, best = min(((one.calls, one.votes, one) for one in plan.by_votes if one.calls), default=(0, 0, None))
    if best is None:
        return "no number of labels up to 20,000 does with up to 60 votes a case"
    return f"fewest calls: {best.labels} labelled cases of {best.votes} votes, {calls} calls"
