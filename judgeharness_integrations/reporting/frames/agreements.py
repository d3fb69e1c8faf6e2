"""Alternative annotator tests and tables of agreement as data frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from judgeharness_integrations.reporting.frames.building import Columns, frame

if TYPE_CHECKING:
    import pandas as pd

    from judgeharness_integrations.agreement.alttest.report import AltTest, AltTestReport
    from judgeharness_integrations.agreement.kappa.table import AgreementTable, PairAgreement

__all__ = ["agreement_frame", "alttest_frame"]

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
